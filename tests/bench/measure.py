"""What the benchmark measures of one run, and the line it prints of a case's pairs."""
import os
import statistics
import subprocess
import sys
import tempfile
import time


class Run:
    """What one run of a client took."""

    def __init__(self, seconds, client_cpu, server_cpu, rss_kib):
        self.seconds, self.client_cpu, self.server_cpu, self.rss_kib = seconds, client_cpu, server_cpu, rss_kib


def measured(command, server=None):
    """Run a command to its end: (Run, its standard output). The standard error is shown if it fails."""
    before = server.cpu_seconds() if server else 0
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode()
        if child.returncode != 0:
            err.seek(0)
            sys.exit(f"{' '.join(command)}\nended with {child.returncode}:\n{err.read().decode()[-4000:]}")
    cpu = usage.ru_utime + usage.ru_stime
    return Run(seconds, cpu, server.cpu_seconds() - before if server else 0, usage.ru_maxrss), text


HEAD = ("case", "millrace rows/s", "raw rows/s", "ratio [least-greatest]", "client µs", "server µs", "raw server µs", "RSS MB")
FORM = "{:<30} {:>15} {:>11} {:>24} {:>9} {:>9} {:>13} {:>7}"


def report(name, events, pairs):
    def median(values):
        return statistics.median(values)

    def micros(values):
        return f"{median(values) / events * 1e6:.1f}"

    runs, raws = [p[0] for p in pairs], [p[1] for p in pairs if p[1]]
    cells = [name, f"{events / median([r.seconds for r in runs]):,.0f}", "", "", micros([r.client_cpu for r in runs]), "", "",
             f"{max(r.rss_kib for r in runs) / 1024:.0f}"]
    if raws:
        ratios = [raw.seconds / run.seconds for run, raw in pairs]
        cells[2] = f"{events / median([r.seconds for r in raws]):,.0f}"
        cells[3] = f"{median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}]"
        cells[5] = micros([r.server_cpu for r in runs])
        cells[6] = micros([r.server_cpu for r in raws])
    print(FORM.format(*cells), flush=True)
