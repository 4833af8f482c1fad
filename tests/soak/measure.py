"""Memory and CPU of a daemon and its workers, and how long jobs took."""
import glob
import os
import re
import threading
import time


def process_children(pid):
    pids = []
    for task in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            with open(task) as f:
                pids += [int(p) for p in f.read().split()]
        except OSError:
            pass
    return pids


def _stat(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None


def cpu_seconds(pid):
    """Of the daemon, of its workers, and of those that ended."""
    tick = os.sysconf("SC_CLK_TCK")
    own = _stat(pid)
    total = sum(int(v) for v in own[11:15]) if own else 0
    for child in process_children(pid):
        s = _stat(child)
        total += sum(int(v) for v in s[11:13]) if s else 0
    return total / tick


def _kib(pid, file, names):
    """Lines of these names of a file of the process; zeros where it is gone."""
    try:
        with open("/proc/%d/%s" % (pid, file)) as f:
            text = f.read()
        return [int(re.search(r"^%s:\s*(\d+)" % name, text, re.M).group(1)) for name in names]
    except (OSError, AttributeError):
        return [0] * len(names)


def _rollup(pid):
    return _kib(pid, "smaps_rollup", ("Rss", "Pss"))


def least_squares(points):
    """Slope and value at the first point of the line through (t, value)."""
    n = len(points)
    mt, mv = sum(t for t, _ in points) / n, sum(v for _, v in points) / n
    var = sum((t - mt) ** 2 for t, _ in points)
    slope = sum((t - mt) * (v - mv) for t, v in points) / var if var else 0
    return slope, mv + slope * (points[0][0] - mt)


def _parts(pid):
    """RSS without and of files, KiB."""
    return _kib(pid, "status", ("RssAnon", "RssFile"))


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


WARM_UP = 600  # seconds at most; a fifth of a shorter run
WINDOW = 600  # whose medians are compared, seconds; a quarter of a shorter run


class Sampler(threading.Thread):
    """A line every few seconds: t, RSS and PSS of the daemon, threads, open files, PSS of the workers, their number;
    RSS of the daemon without files, and of files; its heap, allocated and free, as heap() says (two numbers)."""

    def __init__(self, pid, path, period, heap):
        super().__init__(daemon=True)
        self.pid, self.path, self.period, self.heap = pid, path, period, heap
        self.rows, self.over = [], threading.Event()
        self.begin = time.time()
        self.start()

    def run(self):
        with open(self.path, "w") as out:
            print("t,daemon_rss_kib,daemon_pss_kib,threads,files,workers_pss_kib,workers,anon_kib,file_kib,"
                  "heap_live_kib,heap_free_kib", file=out)
            while not self.over.wait(self.period):
                rss, pss = _rollup(self.pid)
                if not rss:
                    return
                workers = process_children(self.pid)
                row = (round(time.time() - self.begin, 1), rss, pss, len(os.listdir("/proc/%d/task" % self.pid)),
                       len(os.listdir("/proc/%d/fd" % self.pid)), sum(_rollup(p)[1] for p in workers), len(workers),
                       *_parts(self.pid), *(round(n / 1024, 1) for n in self.heap()))
                self.rows.append(row)
                print(",".join(str(v) for v in row), file=out, flush=True)

    def stop(self):
        self.over.set()
        self.join()

    def report(self):
        """Growth of the daemon's RSS in percent, after the warm-up: of the least-squares line over all of it, and between
        the medians of the first and of the last minutes. The larger of the two counts."""
        end = self.rows[-1][0] if self.rows else 0
        warm, window = min(WARM_UP, end / 5), min(WINDOW, end / 4)
        rows = [r for r in self.rows if r[0] >= warm]
        if len(rows) < 4:
            return 0.0
        growth = 0.0
        print("   from second %.0f to %.0f; medians of the first and the last %.0f s" % (rows[0][0], end, window))
        for column, what in ((1, "RSS of the daemon"), (7, "without files"), (8, "files"), (9, "heap, allocated"),
                             (10, "heap, free"), (5, "PSS of the workers")):
            slope, first = least_squares([(r[0], r[column]) for r in rows])
            change = slope * (end - rows[0][0])
            percent = 100 * change / first if first > 0 else 0.0
            values = [r[column] for r in rows]
            m = [median([r[column] for r in rows if r[0] <= rows[0][0] + window]),
                 median([r[column] for r in rows if r[0] >= end - window])]
            step = 100 * (m[1] - m[0]) / m[0] if m[0] else 0.0
            print("   %s: %.2f MiB (%.2f to %.2f); line %+.3f MiB, %+.2f %%; medians %.2f, %.2f MiB, %+.2f %%" % (
                what, sum(values) / len(values) / 1024, min(values) / 1024, max(values) / 1024, change / 1024, percent,
                m[0] / 1024, m[1] / 1024, step))
            if column == 1:
                growth = max(percent, step, key=abs)
        print("   threads %d to %d, open files %d to %d" % (min(r[3] for r in rows), max(r[3] for r in rows),
                                                            min(r[4] for r in rows), max(r[4] for r in rows)))
        return growth


def _quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


def latency_table(jobs):
    groups = {}
    for job in jobs:
        if job.outcome == "COMPLETED" and job.times:
            groups.setdefault((job.name, job.priority or "default"), []).append(job.times)
    text = "%-12s %-9s %5s   %-28s %-28s\n" % ("kind", "priority", "n", "queue wait s: 50 % 95 % max",
                                              "time to proof s: 50 % 95 % max")
    for (name, priority), times in sorted(groups.items()):
        cells = []
        for member in ("queue_wait_ms", "total_ms"):
            v = [t[member] / 1000 for t in times]
            cells.append("%8.2f %8.2f %8.2f" % (_quantile(v, 0.5), _quantile(v, 0.95), max(v)))
        text += "%-12s %-9s %5d   %-28s %-28s\n" % (name, priority, len(times), *cells)
    return text
