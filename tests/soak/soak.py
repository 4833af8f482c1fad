#!/usr/bin/env python3
"""A daemon under mixed load that is hurt all the time. Needs nothing but Python and the program (CUZK).

soak.py kills N     kill -9 of the daemon and of its workers, N times at random moments
soak.py soak SEC    failing allocations and devices, dying workers, clients that vanish, cancelled jobs; then wrong proofs
soak.py check       a short run of both

Every proof is verified by its client; every job ends once, as asked for or with an error that is stated in daemon.md.
Keys are made once and kept (--keys). Ends with `N passed, N failed`.
"""
import argparse
import atexit
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from measure import Sampler, cpu_seconds, latency_table, process_children
from outcome import check_journal, check_left_over

CUZK = os.environ.get("CUZK", "cuzk")
# name: kind, sector size
KINDS = {
    "winning": ("winning", "2KiB"),
    "winning-32g": ("winning", "32GiB"),
    "window": ("window", "2KiB"),
    "update": ("update", "2KiB"),
    "porep": ("porep", "2KiB"),
}
LARGE = ("update", "porep")  # take longer than a daemon lives between two kills: never urgent, few at a time
# A job that is not over then is stuck. One of low priority may wait for three times the aging, and for its turn.
AGING = "60s"
STUCK = 1200
HANG = 300  # for what takes no time but the machine's
HERE = os.path.dirname(os.path.abspath(__file__))
TOXIC = os.path.join(HERE, "..", "vectors", "toxic.json")
# What a job may fail with while faults are injected: the errors that docs/daemon.md and docs/internals/engine.md state.
STATED = re.compile(
    r"given up after \d+ attempts: the worker process died|device error of a test|no memory|out of memory|[Mm]emory: ")
STATED_WRONG = re.compile(r"all were retired|does not verify|does not hold|finds what the worker did not")


class Report:
    def __init__(self):
        self.lock, self.passed, self.failed = threading.Lock(), 0, 0

    def say(self, good, text):
        with self.lock:
            self.passed += good
            self.failed += not good
            print(("ok " if good else "FAIL ") + text, flush=True)

    def bad(self, text):
        self.say(False, text)


class Daemon:
    """One journal, many lives."""

    def __init__(self, work, keys, options=()):
        self.work, self.keys, self.options = work, keys, list(options)
        self.address = "unix://%s/cuzk.sock" % work
        self.journal = work + "/journal.db"
        self.log_path = work + "/daemon.log"
        self.process = None
        self.lives = 0
        atexit.register(self.kill)

    def start(self, *more):
        self.lives += 1
        begin = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        log = open(self.log_path, "a")
        self.process = subprocess.Popen(
            [CUZK, "daemon", "--listen", self.address, "--journal", self.journal, "--srs.param_cache", self.keys,
             *self.options, *more], stdout=log, stderr=log)
        log.close()
        self.begin = begin

    def log(self):
        with open(self.log_path, errors="replace") as f:
            f.seek(self.begin)
            return f.read()

    def wait_ready(self, limit=HANG):
        until = time.time() + limit
        while time.time() < until:
            if "msg=ready" in self.log():
                return True
            if self.process.poll() is not None:
                return False
            time.sleep(0.02)
        return False

    def workers(self):
        return process_children(self.process.pid) if self.process else []

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self):
        self.process.terminate()
        code = self.process.wait(HANG)
        self.process = None
        return code

    def client(self, *arguments, timeout=HANG):
        """Exit code (None: it took too long), standard output, standard error."""
        try:
            p = subprocess.run([CUZK, *arguments, "--connect", self.address], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout)
            return p.returncode, p.stdout, p.stderr
        except subprocess.TimeoutExpired as e:
            return None, "", "no answer within %d s: %s" % (timeout, e)


class Requests:
    """A few requests a kind, made once and kept beside the keys."""

    def __init__(self, keys, work, kinds, variants):
        self.by_kind = {}
        os.makedirs(keys + "/requests", exist_ok=True)
        for name in kinds:
            kind, size = KINDS[name]
            self.by_kind[name] = []
            for i in range(variants):
                sectors = (1 if i == 1 else 2) if kind == "window" else 0  # a partition holds two
                path = "%s/requests/%s%s-%d.json" % (keys, name, "-of-%d" % sectors if sectors else "", i)
                if not os.path.exists(path):
                    more = ["--sectors", str(sectors)] if sectors else []
                    subprocess.run([CUZK, "sample", kind, "--sector-size", size, "--seed", "soak %d" % i, "--miner",
                                    str(1000 + i), *more, "-o", path], check=True, stdout=subprocess.DEVNULL)
                self.by_kind[name].append(path)
        self.bad = work + "/bad.json"
        with open(self.by_kind["window"][0]) as f:
            request = json.load(f)
        proof = request["vanilla_proofs"][0]
        at = len(proof) // 2
        request["vanilla_proofs"][0] = proof[:at] + ("A" if proof[at] != "A" else "B") + proof[at + 1:]
        with open(self.bad, "w") as f:
            json.dump(request, f)


class Job:
    def __init__(self, name, path, request_id, priority):
        self.name, self.path, self.request_id, self.priority = name, path, request_id, priority
        self.id = None
        self.cancelled = False  # somebody asked for that
        self.proof = None
        self.outcome = None  # COMPLETED, FAILED, CANCELLED
        self.message = ""
        self.times = {}

    def __str__(self):
        return "%s (%s, %s)" % (self.id, self.request_id, self.priority or "default")


class Load:
    def __init__(self, daemon, requests, report, seed, weights, restarts):
        self.daemon, self.requests, self.report, self.restarts = daemon, requests, report, restarts
        self.random = random.Random(seed)
        self.weights = weights
        self.jobs, self.n_asked, self.lock = [], 0, threading.Lock()
        self.tag = "%s-%d" % (time.strftime("%H%M%S"), seed)
        self.stated = STATED
        self.n_joined = self.n_vanished = 0
        self.hurting = True  # the daemon is killed all the time

    def new_job(self, name=None, priority=None):
        with self.lock:
            names, w = zip(*self.weights.items())
            name = name or self.random.choices(names, w)[0]
            if name in LARGE and sum(j.name in LARGE and j.outcome is None for j in self.jobs) >= 2:
                name = "window" if "window" in self.weights else name
            path = self.random.choice(self.requests.by_kind[name])
            self.n_asked += 1
            if priority is None:
                priority = self.random.choice(["", "low"] if name in LARGE else
                                              ["", "", "low", "normal", "high", "critical"])
            job = Job(name, path, "%s-%s-%d" % (name, self.tag, self.n_asked), priority)
            self.jobs.append(job)
            return job

    def submit(self, job, limit=HANG):
        """Until it is accepted; a daemon that is away is asked again with the same request id."""
        until = time.time() + limit
        while True:
            more = ["--priority", job.priority] if job.priority else []
            code, out, err = self.daemon.client("submit", "--request", job.path, "--request-id", job.request_id, *more)
            found = re.search(r"job-[0-9a-f-]+", out)
            if code == 0 and found:
                job.id = found.group(0)
                return True
            away = self.restarts and (code is None or "UNAVAILABLE" in err)
            if not away or time.time() > until:
                self.report.bad("submit of %s: exit %s, %s" % (job.request_id, code, err.strip()))
                return False
            time.sleep(0.1)

    def wait(self, job, proof_path=None):
        """Until it is over; notes the outcome. Another daemon may take over meanwhile."""
        until = time.time() + STUCK
        path = proof_path or "%s/%s.proof" % (self.daemon.work, job.id)
        while True:
            code, out, err = self.daemon.client("await", job.id, "--json", "-o", path, timeout=STUCK)
            try:
                answer = json.loads(out)
            except ValueError:
                answer = {}
            outcome = answer.get("status")
            if outcome in ("COMPLETED", "FAILED", "CANCELLED"):
                return self.ended(job, outcome, answer, path)
            away = self.restarts and (code is None or "UNAVAILABLE" in err)
            if away and self.hurting:
                until = time.time() + STUCK  # it may be thrown back again and again
            if not away or time.time() > until:
                self.report.bad("await of %s: exit %s, %s %s" % (job, code, out.strip(), err.strip()))
                return False
            time.sleep(0.1)

    def ended(self, job, outcome, answer, path):
        proof = None
        if outcome == "COMPLETED":
            with open(path, "rb") as f:
                proof = f.read()
        if job.outcome and (job.outcome, job.proof) != (outcome, proof):
            self.report.bad("%s ended twice: %s, then %s" % (job, job.outcome, outcome))
        first = job.outcome is None
        job.outcome, job.proof, job.message, job.times = outcome, proof, answer.get("error_message", ""), answer
        if outcome == "CANCELLED" and not job.cancelled:
            self.report.bad("%s is cancelled; nobody asked for that" % job)
        if outcome == "FAILED" and not self.may_fail(job):
            self.report.bad("%s failed: %s" % (job, job.message))
        if first and outcome == "COMPLETED":
            self.verify(job, path)
        return True

    def may_fail(self, job):
        if job.path == self.requests.bad and re.search("does not hold", job.message):
            return True
        return self.stated.search(job.message) is not None

    def verify(self, job, path):
        p = subprocess.run([CUZK, "verify", "--request", job.path, "--params", self.daemon.keys, "--threads", "1", path],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if p.returncode != 0 or job.path == self.requests.bad:
            self.report.bad("a wrong proof of %s: %s" % (job, p.stdout.strip()))
        job.verified = p.returncode == 0

    # what clients do

    def plain(self, job):
        if self.submit(job):
            self.wait(job)

    def forgetful(self, job):
        self.submit(job)  # asked for at the end

    def cancelling(self, job):
        if not self.submit(job):
            return
        time.sleep(self.random.random() ** 2 * 3)
        job.cancelled = True
        self.daemon.client("cancel", job.id)
        self.wait(job)

    def vanishing(self, job):
        """Submits and waits, and is killed at some moment of that."""
        more = ["--priority", job.priority] if job.priority else []
        p = subprocess.Popen([CUZK, "submit", "--wait", "--request", job.path, "--request-id", job.request_id, *more,
                              "--connect", self.daemon.address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.random.random() ** 2 * 2)
        p.kill()
        p.wait()
        self.n_vanished += 1
        self.plain(job)  # the same request: joins what was accepted

    def doubled(self, job):
        """Two clients with one request get one proof."""
        twin = Job(job.name, job.path, job.request_id, job.priority)
        other = threading.Thread(target=self.plain, args=(twin,))
        other.start()
        self.plain(job)
        other.join()
        if twin.outcome == job.outcome == "COMPLETED":
            self.n_joined += 1
            if twin.proof != job.proof:
                self.report.bad("two clients of %s got two proofs" % job)
        elif twin.id != job.id:
            with self.lock:
                self.jobs.append(twin)

    def broken(self, job):
        job.path = self.requests.bad
        self.plain(job)

    def settle(self):
        """Every job that was accepted is over, as it was before if that was known."""
        for job in list(self.jobs):
            if job.id:
                self.wait(job)
        over = [j for j in self.jobs if j.id]
        n = {o: sum(j.outcome == o for j in over) for o in ("COMPLETED", "FAILED", "CANCELLED")}
        unsure = [j for j in over if j.outcome is None]
        self.report.say(not unsure, "%d accepted jobs are over: %d completed, %d failed as stated, %d cancelled" % (
            len(over), n["COMPLETED"], n["FAILED"], n["CANCELLED"]))
        good = sum(getattr(j, "verified", False) for j in over)
        self.report.say(good == n["COMPLETED"] > 0, "%d of %d proofs verify" % (good, n["COMPLETED"]))
        why = {}
        for j in over:
            if j.outcome == "FAILED":
                text = re.sub(r"job-\S+|\d+", "N", j.message)[:150]
                why[text] = why.get(text, 0) + 1
        for text, count in sorted(why.items(), key=lambda item: -item[1]):
            print("   failed %d times: %s" % (count, text))


# ---- kill -9 ----


def hurt_with_kills(daemon, load, report, n):
    """Kills the daemon or one of its workers, n times."""
    chance = load.random
    done = {"daemon": 0, "worker": 0}
    while sum(done.values()) < n:
        daemon_dies = chance.random() < 0.5
        x = chance.random()
        time.sleep(chance.random() * (0.3 if x < 0.3 else 4 if x < 0.8 else 15 if x < 0.98 else 60))
        workers = daemon.workers()
        if not daemon_dies and workers:
            try:
                os.kill(chance.choice(workers), signal.SIGKILL)
                done["worker"] += 1
            except ProcessLookupError:
                pass
            continue
        if daemon.process.poll() is not None:
            report.bad("the daemon ended by itself: exit %s" % daemon.process.returncode)
        daemon.kill()
        done["daemon"] += 1
        left = check_left_over(workers, HANG)
        if left:
            report.bad("workers that outlive their daemon: %s" % left)
        daemon.start()
        if chance.random() < 0.8 and not daemon.wait_ready():
            report.bad("the daemon does not start:\n" + daemon.log())
            return
    report.say(True, "killed: the daemon %d times, workers %d times" % (done["daemon"], done["worker"]))


def run_kills(work, arguments, n, weights, cores):
    report = Report()
    daemon = Daemon(work, arguments.keys, ["--gpus.gpu_threads", "1", "--gpus.gpu_workers_per_device", "2",
                                           "--scheduler.aging", AGING])
    requests = Requests(arguments.keys, work, list(weights), 3)
    load = Load(daemon, requests, report, arguments.seed, weights, True)
    over = threading.Event()

    def client(number):
        scenarios = [load.plain, load.forgetful, load.cancelling, load.vanishing, load.doubled, load.broken]
        while not over.is_set():
            open_jobs = sum(1 for j in load.jobs if j.outcome is None)
            if open_jobs > 16:
                time.sleep(0.2)
                continue
            chosen = load.random.choices(scenarios, [50, 20, 10, 10, 7, 3])[0]
            chosen(load.new_job("window" if chosen == load.broken else None))

    daemon.start()
    if not daemon.wait_ready():
        report.bad("the daemon does not start:\n" + daemon.log())
        return report
    clients = [threading.Thread(target=client, args=(i,), daemon=True) for i in range(6)]
    for c in clients:
        c.start()
    hurt_with_kills(daemon, load, report, n)
    over.set()
    load.hurting = False
    daemon.wait_ready()
    for c in clients:
        c.join(3 * STUCK)
        if c.is_alive():
            report.bad("a client is stuck")
    load.settle()
    finish(daemon, load, report)
    return report


def finish(daemon, load, report, evidence=False):
    """A clean end, and what is left of it all."""
    workers = daemon.workers()
    code = daemon.stop()
    report.say(code == 0, "SIGTERM ends the daemon: exit %s" % code)
    left = check_left_over(workers, HANG, daemon.work)
    report.say(not left, "no process is left %s" % (left or ""))
    spool = os.listdir(daemon.journal + ".spool")
    report.say(not spool, "no spool file is left %s" % " ".join(spool))
    for text in check_journal(daemon.journal, [j for j in load.jobs if j.id]):
        report.bad(text)
    kept = os.path.isdir(daemon.journal + ".evidence") and os.listdir(daemon.journal + ".evidence")
    report.say(bool(kept) == evidence, "evidence of wrong proofs: %d files" % len(kept or []))


# ---- faults ----


def run_soak(work, arguments, seconds, weights, cores):
    report = Report()
    daemon = Daemon(work, arguments.keys, ["--gpus.gpu_threads", "1", "--gpus.gpu_workers_per_device", "2",
                                           "--memory.total_budget", "4GiB", "--scheduler.aging", AGING])
    requests = Requests(arguments.keys, work, list(weights), 3)
    load = Load(daemon, requests, report, arguments.seed, weights, False)
    scenarios = [load.plain, load.cancelling, load.vanishing, load.doubled, load.broken]
    running = []

    def drive(seconds):
        start, used = time.time(), cpu_seconds(daemon.process.pid)
        while time.time() - start < seconds:
            running[:] = [t for t in running if t.is_alive()]
            ahead = cpu_seconds(daemon.process.pid) - used - cores * (time.time() - start)
            if len(running) >= 16 or ahead > 0:
                time.sleep(0.1)
                continue
            chosen = load.random.choices(scenarios, [60, 12, 12, 12, 4])[0]
            job = load.new_job("window" if chosen == load.broken else None)
            running.append(threading.Thread(target=chosen, args=(job,), daemon=True))
            running[-1].start()
            time.sleep(min(load.random.expovariate(2.0), 3) if seconds > 60 else 0.05)
            if daemon.process.poll() is not None:
                report.bad("the daemon ended by itself: exit %s" % daemon.process.returncode)
                return
        for t in running:
            t.join(2 * STUCK)
            if t.is_alive():
                report.bad("a client is stuck")

    daemon.start("--test-worker-fault", arguments.faults)
    if not daemon.wait_ready():
        report.bad("the daemon does not start:\n" + daemon.log())
        return report

    def heap():
        text = daemon.client("metrics")[1]
        found = [re.search(r'^cuzk_daemon_heap_bytes\{state="%s"\} (\d+)' % s, text, re.M) for s in ("live", "free")]
        return [int(m.group(1)) if m else 0 for m in found]

    sampler = Sampler(daemon.process.pid, work + "/memory.csv", 10 if seconds > 120 else 1, heap)
    if seconds >= 600:  # one of each kind, so that what a first one leaves belongs to the warm-up
        for name in weights:
            running.append(threading.Thread(target=load.plain, args=(load.new_job(name, ""),), daemon=True))
            running[-1].start()
    drive(seconds)
    sampler.stop()
    load.settle()
    print("joined requests %d, vanished clients %d" % (load.n_joined, load.n_vanished))
    code, text, _ = daemon.client("metrics")
    for name in ("cuzk_worker_crashes_total", "cuzk_partition_retries_total", "cuzk_wrong_proofs_total"):
        for line in text.splitlines():
            if line.startswith(name + " "):
                print("   " + line)
    print(latency_table(load.jobs), end="")
    growth = sampler.report()
    if seconds >= 600:
        report.say(abs(growth) <= 2, "resident memory of the daemon is flat: %+.2f %%" % growth)
    finish(daemon, load, report)

    # devices that are wrong, and workers that say otherwise: nothing of it leaves; they are retired
    load.stated = re.compile(STATED.pattern + "|" + STATED_WRONG.pattern)
    daemon.start("--test-worker-fault", "random,wrong=0.02,lie=0.05")
    daemon.wait_ready()
    drive(max(5, min(60, seconds / 20)))
    until = time.time() + 2 * HANG
    while "a proof does not verify" not in daemon.log() and time.time() < until:  # until some were
        drive(1)
    load.settle()
    finish(daemon, load, report, evidence=True)
    return report


def make_keys(keys, kinds):
    os.makedirs(keys, exist_ok=True)
    for name in kinds:
        kind, size = KINDS[name]
        marker = "%s/.%s" % (keys, name)
        if os.path.exists(marker):
            continue
        subprocess.run([CUZK, "setup", kind, "--sector-size", size, "--out", keys, "--test-toxic", TOXIC], check=True,
                       stdout=subprocess.DEVNULL)
        open(marker, "w").close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", nargs="?", default="check", choices=["kills", "soak", "check"])
    parser.add_argument("amount", nargs="?", type=int, help="kills: how many; soak: seconds")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("--keys", default=os.environ.get("CUZK_SOAK_KEYS", "keys"), help="folder; what is missing is made")
    parser.add_argument("--kinds", help="NAME=WEIGHT,... of " + ", ".join(KINDS))
    parser.add_argument("--cores", type=float, default=0.5, help="soak: CPU that daemon and workers take on average")
    parser.add_argument("--faults", default="random,alloc=0.01,device=0.001,crash=0.003", help="soak: see worker.h")
    parser.add_argument("--keep", action="store_true", help="the folder of the run is not removed")
    a = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # not without ending the daemon
    help_text = subprocess.run([CUZK, "daemon", "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "daemon.listen" not in help_text.stdout:
        print("0 passed, 0 failed (no daemon in this build)")
        return 0
    usual = {"kills": "winning=6,window=10,update=0.7,porep=0.7", "soak": "winning=6,window=8,winning-32g=3,update=0.15,porep=0.1",
             "check": "winning=1,window=3"}
    weights = {k: float(w) for k, w in (pair.split("=") for pair in (a.kinds or usual[a.mode]).split(","))}
    weights.setdefault("window", 0)  # for requests that are broken
    a.keys = os.path.abspath(a.keys)
    make_keys(a.keys, weights)
    print("seed %d" % a.seed, flush=True)
    runs = {"kills": [(run_kills, a.amount or 20)], "soak": [(run_soak, a.amount or 60)],
            "check": [(run_kills, 5), (run_soak, 8)]}[a.mode]
    passed = failed = 0
    for run, amount in runs:
        work = tempfile.mkdtemp(prefix="cuzk-soak-")
        cores = 8 if a.mode == "check" else a.cores
        report = run(work, a, amount, weights, cores)
        passed, failed = passed + report.passed, failed + report.failed
        if a.keep or report.failed:
            print("kept: %s" % work)
        else:
            shutil.rmtree(work)
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
