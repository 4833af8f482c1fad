"""Memory of the daemon and its workers, all together (proportional set sizes), while a large message is taken and its
content read and checked.

memory.py CUZK WORK_DIR [MIB]: a PoRep of 32 GiB whose JSON has as much white space as makes a message of that size (200
MiB). There are no keys of that size here: the job fails when they should be loaded, after all that this is about. Exit
code 1 if the largest sum is more than 1.3 times the message.
"""
import glob
import os
import re
import subprocess
import sys
import threading
import time

cuzk, work = sys.argv[1:3]
size = int(sys.argv[3] if len(sys.argv) > 3 else "200") << 20
sock = "unix://%s/cuzk.sock" % work
os.makedirs(work + "/keys", exist_ok=True)


def tree(pid):
    pids = [pid]
    for task in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            with open(task) as f:
                for child in f.read().split():
                    pids += tree(int(child))
        except OSError:
            pass
    return pids


def pss(pid):
    try:
        with open("/proc/%d/smaps_rollup" % pid) as f:
            return int(re.search(r"^Pss:\s*(\d+)", f.read(), re.M).group(1)) * 1024
    except (OSError, AttributeError):
        return 0


class Sampler(threading.Thread):
    """The largest sum so far, and what the processes had then."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.parts, self.ended = pid, 0, {}, False

    def run(self):
        while not self.ended:
            parts = {p: pss(p) for p in tree(self.pid)}
            if sum(parts.values()) > self.peak:
                self.peak, self.parts = sum(parts.values()), parts
            time.sleep(0.01)

    def phase(self):
        peak, parts = self.peak, self.parts
        self.peak, self.parts = 0, {}
        return peak, parts


def client(*arguments):
    p = subprocess.run([cuzk, *arguments, "--connect", sock], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return p.stdout


request = work + "/large.json"
if not os.path.exists(request):
    subprocess.run([cuzk, "sample", "porep", "--sector-size", "32GiB", "--c1", "-o", request], check=True)
    with open(request, "rb") as f:
        text = f.read()
    blanks = max(size - len(text), 0) // text.count(b",")
    text = text.replace(b",", b"," + blanks * b" ")
    with open(request, "wb") as f:
        f.write(text + max(size - len(text), 0) * b" ")
log = open(work + "/daemon.log", "w")
daemon = subprocess.Popen([cuzk, "daemon", "--listen", sock, "--journal", work + "/journal.db", "--srs.param_cache",
                           work + "/keys"], stdout=log, stderr=log)
try:
    while not os.path.exists(work + "/cuzk.sock"):
        time.sleep(0.05)
    name = re.search(r"v28-\S+\.params", client("preload", "porep-32g")).group(0)
    with open(work + "/keys/" + name, "w") as f:
        f.write("no keys")
    time.sleep(1)
    sampler = Sampler(daemon.pid)
    sampler.start()
    time.sleep(0.5)
    idle = sampler.phase()[0]
    submitted = client("submit", "--c1", request, "--miner", "1193", "--sector", "117")
    job = re.search(r"job-[0-9a-f-]+", submitted).group(0)
    receiving = sampler.phase()
    spool = os.path.getsize("%s/journal.db.spool/%s.spool" % (work, job))
    outcome = client("await", job)
    reading = sampler.phase()
    sampler.ended = True
finally:
    daemon.terminate()
    daemon.wait()
mib = 1 << 20
print("message %.1f MiB; idle %.1f MiB" % (spool / mib, idle / mib))
worst = 0
for what, (peak, parts) in (("while it is sent", receiving), ("while it is read and checked", reading)):
    worst = max(worst, peak)
    print("%s: %.1f MiB, %.2f times the message (daemon %.1f, workers %.1f)" % (
        what, peak / mib, peak / spool, parts.get(daemon.pid, 0) / mib,
        sum(v for p, v in parts.items() if p != daemon.pid) / mib))
print("job: " + outcome.strip().splitlines()[-1])
sys.exit(0 if worst <= 1.3 * spool and name in outcome else 1)
