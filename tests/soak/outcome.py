"""What a daemon that has ended may leave: no process, and a journal that agrees with what its clients saw."""
import glob
import os
import sqlite3
import time

STATES = {1: "COMPLETED", 2: "FAILED", 3: "CANCELLED"}


def _alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def _of_folder(folder):
    """Processes other than this one whose command line names the folder."""
    pids = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        pid = int(path.split("/")[2])
        try:
            with open(path, "rb") as f:
                if pid != os.getpid() and folder.encode() in f.read():
                    pids.append(pid)
        except OSError:
            pass
    return pids


def check_left_over(pids, seconds, folder=None):
    """Processes that are still there after some seconds."""
    until = time.time() + seconds
    while True:
        left = [p for p in pids if _alive(p)] + (_of_folder(folder) if folder else [])
        if not left or time.time() > until:
            return left
        time.sleep(0.05)


def check_journal(path, jobs):
    """What is wrong with it, as texts."""
    bad = []
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        bad.append("the journal is damaged")
    rows = {r[0]: r for r in db.execute("SELECT id, request_id, state, proof FROM jobs")}
    for id_, request_id, state, proof in rows.values():
        if state not in STATES:
            bad.append("journal: %s (%s) is not over" % (id_, request_id))
        if (state == 1) != bool(proof):
            bad.append("journal: %s (%s): state %s, %d bytes of proof" % (id_, request_id, state, len(proof or b"")))
    for job in jobs:
        row = rows.get(job.id)
        if row is None:
            bad.append("journal: accepted job %s is not there" % job)
        elif STATES.get(row[2]) != job.outcome or (job.proof or b"") != (row[3] or b""):
            bad.append("journal: %s ended otherwise than its client saw: %s, %s" % (job, STATES.get(row[2]), job.outcome))
    twice = db.execute("SELECT request_id, COUNT(*) FROM jobs WHERE state = 1 GROUP BY request_id, digest"
                       " HAVING COUNT(*) > 1").fetchall()
    bad += ["journal: request %s was proved %d times" % r for r in twice]
    n = db.execute("SELECT COUNT(*) FROM partitions").fetchone()[0]
    if n:
        bad.append("journal: %d partitions of jobs that are over" % n)
    db.close()
    return bad
