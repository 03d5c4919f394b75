#!/usr/bin/env python3
"""The benchmark: `millrace backfill` of a generated stream beside the database alone, in alternating pairs of one run.

Both sides of a pair start from the same copy of a seeded database and bring the same changes in; at the end their tables must be the same.
The database alone is bench_raw: rows that are decoded already, binary COPY into a temporary table and INSERT … ON CONFLICT over one
connection. A server of its own with fsync on is started for it and removed again.

What is printed per case: rows/s of both sides (medians; millrace with its start, the database alone without), their ratio within the
pairs (median, least and greatest), CPU per event of the client (millrace, user and system), of the server under millrace and under the raw
client, and millrace's largest resident size. See docs/performance.md.
"""
import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from server import Server

SEEDED = 200_000
# name, shape, load, events, seeded rows, appliers
CASES = [
    ("narrow 50/50", "narrow", "mixed", 200_000, SEEDED, 1),
    ("narrow 50/50, 2 appliers", "narrow", "mixed", 200_000, SEEDED, 2),
    ("narrow inserts", "narrow", "insert", 200_000, 0, 1),
    ("narrow 10 % deletes", "narrow", "delete", 200_000, SEEDED, 1),
    ("narrow hot keys", "narrow", "hot", 200_000, SEEDED, 1),
    ("narrow with schema 50/50", "narrow-schema", "mixed", 150_000, SEEDED, 1),
    ("wide 50/50", "wide", "mixed", 60_000, SEEDED // 4, 1),
    ("MongoDB 50/50", "mongo", "mixed", 150_000, SEEDED, 1),
]
KAFKA_CASE = ("narrow 50/50 from Kafka", "narrow", "mixed", 200_000, SEEDED, 1)
# name, shape, load, events, seeded rows
SQLITE_CASES = [
    ("SQLite, narrow 50/50", "narrow", "mixed", 200_000, SEEDED),
    ("SQLite, MongoDB 50/50", "mongo", "mixed", 100_000, SEEDED),
]
SCHEMA, TABLE = "shop", "t"


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


class Broker:
    """The tests' Kafka broker, with one topic."""

    TOPIC = "bench.shop.t"

    def __init__(self, folder, messages_file):
        self.folder = os.path.join(folder, "kafka")
        self.fixture = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "kafka", "kafka_fixture.sh")
        subprocess.run([self.fixture, "start", self.folder], check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(self.folder, "bootstrap"), encoding="ascii") as file:
            self.address = file.read().strip()
        subprocess.run(["kcat", "-P", "-b", self.address, "-t", self.TOPIC, "-K", "\t", "-l", messages_file], check=True)

    def url(self):
        return f"kafka://{self.address}/{self.TOPIC}"

    def stop(self):
        subprocess.run([self.fixture, "stop", self.folder], check=True)


class Bench:
    def __init__(self, tools, folder, scale, pairs):
        self.tools, self.folder, self.scale, self.pairs = tools, folder, scale, pairs
        self.server = Server()
        self.broker = None
        self.templates = {}
        self.files = {}

    def scaled(self, count):
        return max(int(count * self.scale), 1) if count else 0

    def stream(self, shape, load, events, seeded):
        """The events file and the rows file of a stream, made once."""
        name = f"{shape}-{load}-{events}-{seeded}"
        if name not in self.files:
            base = os.path.join(self.folder, name)
            subprocess.run([self.tools.gen, shape, load, str(events), str(seeded), "--events", base + ".jsonl", "--rows",
                            base + ".rows"], check=True)
            self.files[name] = (base + ".jsonl", base + ".rows")
        return self.files[name]

    def millrace(self, url, source, *settings, server=None):
        """One backfill; `source` are the arguments that name it."""
        command = [self.tools.millrace, "backfill", "--log-level", "warn", "--to", url]
        for setting in settings:
            command += ["--set", setting]
        return measured(command + source, server)[0]

    def template(self, shape, seeded):
        """A database with the seeded table, as millrace makes it."""
        name = f"seed_{shape}_{seeded}".replace("-", "_")
        if name not in self.templates:
            self.server.create(name)
            events, _ = self.stream(shape, "seed", 0, seeded)
            self.millrace(self.server.url(name), [events])
            self.server.sql(name, f'ALTER TABLE "{SCHEMA}"."{TABLE}" SET (autovacuum_enabled = off)', f'VACUUM ANALYZE "{SCHEMA}"."{TABLE}"')
            self.templates[name] = True
        return name

    def fresh(self, name, template, emptied=False):
        self.server.drop(name)
        self.server.create(name, template)
        if emptied:
            self.server.sql(name, f'TRUNCATE "{SCHEMA}"."{TABLE}"')
        self.server.sql("postgres", "CHECKPOINT")

    def raw(self, rows_file, template, emptied):
        self.fresh("bench_raw", template, emptied)
        run, text = measured([self.tools.raw, self.server.url("bench_raw"), SCHEMA, TABLE, rows_file], self.server)
        run.seconds = float(text.split()[1]) # without reading the file
        return run

    def loaded(self, source, template, appliers):
        self.fresh("bench_mr", template)
        return self.millrace(self.server.url("bench_mr"), source, f"target.appliers={appliers}", server=self.server)

    def contents(self, database):
        """Number and hash of the table's rows, whatever the order of rows and columns."""
        columns = self.server.sql(database, "SELECT string_agg(quote_ident(column_name), ', ' ORDER BY column_name) FROM "
                                  f"information_schema.columns WHERE table_schema = '{SCHEMA}' AND table_name = '{TABLE}'")
        return self.server.sql(database, f'SELECT count(*), sum(hashtextextended(ROW({columns})::text, 0)) FROM "{SCHEMA}"."{TABLE}"')

    def check_equal(self, name):
        ours, theirs = self.contents("bench_mr"), self.contents("bench_raw")
        if ours != theirs or ours.startswith("0|"):
            sys.exit(f"{name}: the tables differ: {ours} by millrace, {theirs} by the raw client")

    def case(self, name, shape, load, events, seeded, appliers):
        events, seeded = self.scaled(events), self.scaled(seeded)
        events_file, rows_file = self.stream(shape, load, events, seeded)
        source = [events_file]
        if self.broker:
            source = ["--group", "bench", "--from", self.broker.url()]
        if load == "insert": # millrace makes the table; the raw client needs one, an empty one
            ours, theirs = None, self.template(shape, max(seeded, 100))
        else:
            ours = theirs = self.template(shape, seeded)
        pairs = []
        for i in range(self.pairs):
            if i % 2 == 0:
                raw = self.raw(rows_file, theirs, load == "insert")
                run = self.loaded(source, ours, appliers)
            else:
                run = self.loaded(source, ours, appliers)
                raw = self.raw(rows_file, theirs, load == "insert")
            if i == 0:
                self.check_equal(name)
            pairs.append((run, raw))
        report(name, events, pairs)

    def kafka_case(self, name, shape, load, events, seeded, appliers):
        messages = os.path.join(self.folder, "messages")
        subprocess.run([self.tools.gen, shape, load, str(self.scaled(events)), str(self.scaled(seeded)), "--messages", messages],
                       check=True)
        self.broker = Broker(self.folder, messages)
        os.remove(messages)
        try:
            self.case(name, shape, load, events, seeded, appliers)
        finally:
            self.broker.stop()
            self.broker = None

    def sqlite_case(self, name, shape, load, events, seeded):
        events, seeded = self.scaled(events), self.scaled(seeded)
        events_file, _ = self.stream(shape, load, events, seeded)
        seed_file, _ = self.stream(shape, "seed", 0, seeded)
        seed_db, db = (os.path.join(self.folder, n) for n in ("seed.db", "bench.db"))
        self.millrace("sqlite:" + seed_db, [seed_file])
        runs = []
        for _ in range(min(self.pairs, 3)):
            shutil.copyfile(seed_db, db)
            runs.append((self.millrace("sqlite:" + db, [events_file]), None))
            os.remove(db)
        os.remove(seed_db)
        report(name, events, runs)

    def close(self):
        self.server.stop()


HEAD = ("case", "millrace rows/s", "raw rows/s", "ratio [least-greatest]", "client µs", "server µs", "raw server µs", "RSS MB")
FORM = "{:<26} {:>15} {:>11} {:>24} {:>9} {:>9} {:>13} {:>7}"


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


def smoke(bench):
    """The tools alone: every shape and load over a few rows, the tables compared."""
    for shape in ("narrow", "narrow-schema", "wide", "mongo"):
        for load in ("insert", "mixed", "delete", "hot"):
            bench.case(f"{shape} {load}", shape, load, 600, 0 if load == "insert" else 300, 1 + (load == "mixed"))
    bench.sqlite_case("SQLite", "narrow", "mixed", 600, 300)


def main():
    parser = argparse.ArgumentParser(description="millrace backfill beside the database alone")
    parser.add_argument("--millrace", required=True)
    parser.add_argument("--gen", required=True, help="bench_gen")
    parser.add_argument("--raw", required=True, help="bench_raw")
    parser.add_argument("--folder", help="where streams and SQLite files are put; default: a temporary one")
    parser.add_argument("--pairs", type=int, help="pairs of a case; default: 5, of the first two cases 7")
    parser.add_argument("--quick", action="store_true", help="a quarter of the events, three pairs")
    parser.add_argument("--kafka", action="store_true", help="also from a broker of the tests (Java, kcat)")
    parser.add_argument("--only", metavar="TEXT", help="only cases whose name contains it")
    parser.add_argument("--smoke", action="store_true", help="a few hundred events, to test the tools")
    args = parser.parse_args()
    scale = 0.25 if args.quick else 1.0
    pairs = args.pairs or (1 if args.smoke else 3 if args.quick else None)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)) # through the cleanup below
    folder = tempfile.mkdtemp(prefix="millrace-bench.", dir=args.folder)
    bench = Bench(args, folder, scale, pairs or 5)
    try:
        print(FORM.format(*HEAD))
        if args.smoke:
            smoke(bench)
            return
        wanted = args.only or ""
        for i, case in enumerate(CASES):
            if wanted in case[0]:
                bench.pairs = pairs or (7 if i < 2 else 5)
                bench.case(*case)
        bench.pairs = pairs or 5
        if args.kafka and wanted in KAFKA_CASE[0]:
            bench.kafka_case(*KAFKA_CASE)
        for case in SQLITE_CASES:
            if wanted in case[0]:
                bench.sqlite_case(*case)
    finally:
        bench.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
