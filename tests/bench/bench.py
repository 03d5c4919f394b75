#!/usr/bin/env python3
"""The benchmark: `millrace backfill` of a generated stream beside the database alone, in alternating pairs of one run.

Both sides of a pair start from the same copy of a seeded database and bring the same changes in; at the end their tables must be the same.
The database alone is for PostgreSQL bench_raw: rows that are decoded already, binary COPY into a temporary table and INSERT … ON CONFLICT over
one connection; for MariaDB bench_raw_mariadb: INSERT … ON DUPLICATE KEY UPDATE with its rows bound as arrays. Servers of their own with fsync
on are started for it and removed again.

What is printed per case: rows/s of both sides (medians; millrace with its start, the database alone without), their ratio within the
pairs (median, least and greatest), CPU per event of the client (millrace, user and system), of the server under millrace and under the raw
client, and millrace's largest resident size. See docs/performance.md.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from bench_mariadb import MariaSide
from measure import FORM, HEAD, measured, report
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
MARIADB_CASES = [
    ("MariaDB, narrow 50/50", "narrow", "mixed", 200_000, SEEDED, 1),
    ("MariaDB, narrow 50/50, 2 app.", "narrow", "mixed", 200_000, SEEDED, 2),
    ("MariaDB, narrow inserts", "narrow", "insert", 200_000, 0, 1),
    ("MariaDB, narrow 10 % deletes", "narrow", "delete", 200_000, SEEDED, 1),
    ("MariaDB, narrow hot keys", "narrow", "hot", 200_000, SEEDED, 1),
    ("MariaDB, with schema 50/50", "narrow-schema", "mixed", 150_000, SEEDED, 1),
    ("MariaDB, wide 50/50", "wide", "mixed", 60_000, SEEDED // 4, 1),
    ("MariaDB, MongoDB 50/50", "mongo", "mixed", 150_000, SEEDED, 1),
]
KAFKA_CASE = ("narrow 50/50 from Kafka", "narrow", "mixed", 200_000, SEEDED, 1)
# name, shape, load, events, seeded rows
SQLITE_CASES = [
    ("SQLite, narrow 50/50", "narrow", "mixed", 200_000, SEEDED),
    ("SQLite, MongoDB 50/50", "mongo", "mixed", 100_000, SEEDED),
]
SCHEMA, TABLE = "shop", "t"


class PostgresSide:
    """PostgreSQL under millrace (database bench_mr) and under the raw client (bench_raw), both copies of a seeded template."""

    def __init__(self, bench):
        self.bench = bench
        self.server = Server()
        self.templates = {}

    def template(self, shape, seeded):
        """A database with the seeded table, as millrace makes it."""
        name = f"seed_{shape}_{seeded}".replace("-", "_")
        if name not in self.templates:
            self.server.create(name)
            events, _ = self.bench.stream(shape, "seed", 0, seeded)
            self.bench.millrace(self.server.url(name), [events])
            self.server.sql(name, f'ALTER TABLE "{SCHEMA}"."{TABLE}" SET (autovacuum_enabled = off)', f'VACUUM ANALYZE "{SCHEMA}"."{TABLE}"')
            self.templates[name] = True
        return name

    def fresh(self, name, template, emptied=False):
        self.server.drop(name)
        self.server.create(name, template)
        if emptied:
            self.server.sql(name, f'TRUNCATE "{SCHEMA}"."{TABLE}"')
        self.server.sql("postgres", "CHECKPOINT")

    def raw(self, shape, rows_file, template, emptied):
        self.fresh("bench_raw", template, emptied)
        run, text = measured([self.bench.tools.raw, self.server.url("bench_raw"), SCHEMA, TABLE, rows_file], self.server)
        run.seconds = float(text.split()[1]) # without reading the file
        return run

    def loaded(self, source, template, appliers):
        self.fresh("bench_mr", template)
        return self.bench.millrace(self.server.url("bench_mr"), source, f"target.appliers={appliers}", server=self.server)

    def contents(self, database):
        """Number and hash of the table's rows, whatever the order of rows and columns."""
        columns = self.server.sql(database, "SELECT string_agg(quote_ident(column_name), ', ' ORDER BY column_name) FROM "
                                  f"information_schema.columns WHERE table_schema = '{SCHEMA}' AND table_name = '{TABLE}'")
        return self.server.sql(database, f'SELECT count(*), sum(hashtextextended(ROW({columns})::text, 0)) FROM "{SCHEMA}"."{TABLE}"')

    def close(self):
        self.server.stop()


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
        self.sides = {}
        self.broker = None
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

    def side(self, kind):
        """The servers start when they are needed."""
        if kind not in self.sides:
            self.sides[kind] = kind(self)
        return self.sides[kind]

    def millrace(self, url, source, *settings, server=None):
        """One backfill; `source` are the arguments that name it."""
        command = [self.tools.millrace, "backfill", "--log-level", "warn", "--to", url]
        for setting in settings:
            command += ["--set", setting]
        return measured(command + source, server)[0]

    def case(self, kind, name, shape, load, events, seeded, appliers):
        side = self.side(kind)
        events, seeded = self.scaled(events), self.scaled(seeded)
        events_file, rows_file = self.stream(shape, load, events, seeded)
        source = [events_file]
        if self.broker:
            source = ["--group", "bench", "--from", self.broker.url()]
        if load == "insert": # millrace makes the table; the raw client needs one, an empty one
            ours, theirs = None, side.template(shape, max(seeded, 100))
        else:
            ours = theirs = side.template(shape, seeded)
        runs = {"bench_raw": lambda: side.raw(shape, rows_file, theirs, load == "insert"),
                "bench_mr": lambda: side.loaded(source, ours, appliers)}
        pairs = []
        for i in range(self.pairs):
            done, contents = {}, {}
            for database in ("bench_raw", "bench_mr") if i % 2 == 0 else ("bench_mr", "bench_raw"):
                done[database] = runs[database]()
                if i == 0:
                    contents[database] = side.contents(database)
            if i == 0 and (contents["bench_mr"] != contents["bench_raw"] or contents["bench_mr"].startswith("0|")):
                sys.exit(f"{name}: the tables differ: {contents['bench_mr']} by millrace, {contents['bench_raw']} by the raw client")
            pairs.append((done["bench_mr"], done["bench_raw"]))
        report(name, events, pairs)

    def kafka_case(self, kind, name, shape, load, events, seeded, appliers):
        messages = os.path.join(self.folder, "messages")
        subprocess.run([self.tools.gen, shape, load, str(self.scaled(events)), str(self.scaled(seeded)), "--messages", messages],
                       check=True)
        self.broker = Broker(self.folder, messages)
        os.remove(messages)
        try:
            self.case(kind, name, shape, load, events, seeded, appliers)
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
        for side in self.sides.values():
            side.close()


def smoke(bench):
    """The tools alone: every shape and load over a few rows, the tables compared."""
    for shape in ("narrow", "narrow-schema", "wide", "mongo"):
        for load in ("insert", "mixed", "delete", "hot"):
            events, seeded = 600, 0 if load == "insert" else 300
            bench.case(PostgresSide, f"{shape} {load}", shape, load, events, seeded, 1 + (load == "mixed"))
            if load in ("insert", "delete"): # the other two are parts of it
                bench.case(MariaSide, f"MariaDB, {shape} {load}", shape, load, events, seeded, 1)
    bench.sqlite_case("SQLite", "narrow", "mixed", 600, 300)


def main():
    parser = argparse.ArgumentParser(description="millrace backfill beside the database alone")
    parser.add_argument("--millrace", required=True)
    parser.add_argument("--gen", required=True, help="bench_gen")
    parser.add_argument("--raw", required=True, help="bench_raw")
    parser.add_argument("--raw-mariadb", required=True, help="bench_raw_mariadb")
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
                bench.case(PostgresSide, *case)
        bench.pairs = pairs or 5
        for case in MARIADB_CASES:
            if wanted in case[0]:
                bench.case(MariaSide, *case)
        if args.kafka and wanted in KAFKA_CASE[0]:
            bench.kafka_case(PostgresSide, *KAFKA_CASE)
        for case in SQLITE_CASES:
            if wanted in case[0]:
                bench.sqlite_case(*case)
    finally:
        bench.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
