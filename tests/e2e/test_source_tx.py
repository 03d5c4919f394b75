#!/usr/bin/env python3
"""Under `transactions: source` no reader ever sees half of a transaction of the source: test_source_tx.py TARGET.

Every transaction moves money between accounts of two tables, so that the sum is always 0. A reader asks for it all the time, while the stream is loaded
and the program killed. Debezium spreads the rows over topics and partitions and tells each end in a topic of its own; Maxwell writes them one after the
other. In the end the balances are the source's, and a log of what was moved holds every move once."""
import json
import os
import random
import sys
import tempfile
import threading
import time

from e2e import ALL, HAS_FAULTS, Broker, Failure, Instance, Sqlite, check, main

ACCOUNTS = 20
TABLES = ("left_side", "right_side")
SUM = "SELECT {} FROM " + ", ".join(f"(SELECT COALESCE(SUM(v), 0) AS s FROM {{}}{t}) AS x{i}" for i, t in enumerate(TABLES))


class Source:
    """Transactions: lists of (table, row)."""

    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.balance = {(t, i): 0 for t in TABLES for i in range(ACCOUNTS)}
        self.moves = 0

    def transaction(self):
        rows = []
        for _ in range(self.rnd.choice((1, 1, 2, 3, 30))):
            amount = self.rnd.randrange(1, 100)
            for sign in (-1, 1):
                account = self.rnd.choice(TABLES), self.rnd.randrange(ACCOUNTS)
                self.balance[account] += sign * amount
                rows.append((account[0], {"id": account[1], "v": self.balance[account]}))
            self.moves += 1
            rows.append(("moves", {"n": self.moves}))
        return rows

    def begin(self):
        return [(t, {"id": i, "v": 0}) for t in TABLES for i in range(ACCOUNTS)]


def debezium(source, prefix, count):
    """(topic, partition, key, value), in the order of the connector."""
    out = []

    def put(table, partition, key, value):
        out.append((f"{prefix}.{table}", partition, json.dumps(key) if key else None, json.dumps(value)))
    for n in range(count):
        rows = source.begin() if n == 0 else source.transaction()
        name, counts = f"{prefix}:{n}", {}
        put("transaction", 0, {"id": name}, {"status": "BEGIN", "id": name, "event_count": None, "data_collections": None, "ts_ms": 1})
        for order, (table, row) in enumerate(rows, 1):
            collection = f"bank.{table}"
            counts[collection] = counts.get(collection, 0) + 1
            value = {"before": None, "after": row, "source": {"connector": "mysql", "name": prefix, "db": "bank", "table": table}, "op": "c", "ts_ms": 1,
                     "transaction": {"id": name, "total_order": order, "data_collection_order": counts[collection]}}
            put(collection, row.get("id", 0) % 2, {"id": row["id"]} if "id" in row else None, value)
        put("transaction", 0, {"id": name}, {"status": "END", "id": name, "event_count": len(rows), "ts_ms": 1, "data_collections": [
            {"data_collection": c, "event_count": k} for c, k in counts.items()]})
    return out


def maxwell(source, count):
    out = []
    for n in range(count):
        rows = source.begin() if n == 0 else source.transaction()
        for i, (table, row) in enumerate(rows):
            mark = {"commit": True} if i == len(rows) - 1 else {"xoffset": i}
            key = {"database": "bank", "table": table, "pk.id": row["id"]} if "id" in row else {"database": "bank", "table": table, "_uuid": str(row["n"])}
            out.append(("maxwell", 0, json.dumps(key), json.dumps({"database": "bank", "table": table, "type": "insert", "ts": 1, "xid": n, **mark, "data": row})))
    return out


class Reader:
    """Asks for the sum, over a connection of its own, until it is stopped."""

    def __init__(self, target):
        self.target, self.over, self.sums, self.looks = target, False, set(), 0
        schema = "" if isinstance(target, Sqlite) else f"{target.schema}."
        self.sql = SUM.format("x0.s + x1.s", schema, schema)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def ask(self):
        if isinstance(self.target, Sqlite):
            db = self.target.connect()
            try:
                return db.execute(self.sql).fetchone()[0]
            finally:
                db.close()
        return self.mine.query(self.sql)[0][0]

    def run(self):
        if not isinstance(self.target, Sqlite):
            self.mine = type(self.target)()
        while not self.over:
            try:
                self.sums.add(int(self.ask()))
                self.looks += 1
            except Exception: # noqa: BLE001: no table yet, or it has just been altered
                time.sleep(0.02)
            time.sleep(0.001)
        if not isinstance(self.target, Sqlite):
            self.mine.close()

    def end(self):
        self.over = True
        self.thread.join()
        check(self.sums == {0}, f"in {self.looks} looks the sum was {sorted(self.sums)[:20]}")
        check(self.looks > 20, f"only {self.looks} looks")


def kill_and_finish(args, kills, rnd):
    points = ["after_begin", "after_apply", "before_positions", "before_commit", "after_commit", "after_claim"]
    for k in range(kills):
        fault = {"MILLRACE_FAULT": f"{points[k % len(points)]}:{rnd.randrange(1, 12)}"} if HAS_FAULTS and k % 2 == 0 else None
        instance = Instance("backfill", *args, env=fault)
        if fault is None:
            time.sleep(rnd.uniform(0.02, 0.12))
            instance.kill()
        instance.wait(60)
        check_kept(instance)
    instance = Instance("backfill", *args)
    instance.expect(0, 120)
    check_kept(instance)


def check_kept(instance):
    check("cannot be kept together" not in instance.log, f"a transaction was split\n{instance.tail()}")
    check("fewer records" not in instance.log, f"a transaction was not waited for\n{instance.tail()}")


def check_tables(target, source):
    plain = lambda row, c: int(row[c].value)
    for table in TABLES:
        have = {plain(r, "id"): plain(r, "v") for r in target.rows(table)}
        check(have == {i: source.balance[table, i] for i in range(ACCOUNTS)}, f"{table} holds {have}")
    moves = sorted(plain(r, "n") for r in target.rows("moves"))
    check(moves == list(range(1, source.moves + 1)), f"{len(moves)} moves, {len(set(moves))} different, of {source.moves}")


SETTINGS = ["--set", "transactions=source", "--set", "tables.*.moves.primary_key=none", "--set", "tables.moves.primary_key=none"]


def play(target, source, args, kills):
    reader = Reader(target)
    try:
        kill_and_finish([*args, *target.args(), *SETTINGS, "--set", "batch.rows=60"], kills, source.rnd)
    finally:
        reader.end()
    check_tables(target, source)


def file_of(events, work):
    path = os.path.join(work, "events.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        for i, (topic, partition, key, value) in enumerate(events):
            f.write(json.dumps({"topic": topic, "partition": partition, "offset": i, "key": key, "value": value}) + "\n")
    return path


def size(kind, small, large):
    return large if kind == "sqlite" or ALL else small


def test_no_reader_sees_half_of_a_transaction_from_a_file(target, kind):
    source = Source(1)
    with tempfile.TemporaryDirectory() as work:
        play(target, source, [file_of(debezium(source, "src", size(kind, 120, 400)), work)], size(kind, 2, 5))


def test_no_reader_sees_half_of_a_transaction_of_maxwells(target, kind):
    source = Source(2)
    with tempfile.TemporaryDirectory() as work:
        play(target, source, [file_of(maxwell(source, size(kind, 120, 300)), work)], size(kind, 1, 3))


def test_no_reader_sees_half_of_a_transaction_from_topics(target, kind):
    if kind == "sqlite":
        return
    source, broker, prefix = Source(3), Broker(), f"tx{os.getpid()}{kind}"
    parts = {}
    for topic, partition, key, value in debezium(source, prefix, size(kind, 300, 2000)):
        parts.setdefault((topic, partition), []).append((key, value))
    for topic in sorted({t for t, _ in parts}):
        broker.create(topic, 1 if topic.endswith("transaction") else 2)
    for (topic, partition), messages in sorted(parts.items()):
        broker.produce(topic, partition, messages)
    play(target, source, ["--from", f"kafka://{broker.bootstrap}/^{prefix}[.].*", "--group", prefix], size(kind, 4, 20))


def test_several_appliers_are_refused(target):
    with tempfile.TemporaryDirectory() as work:
        path = file_of(maxwell(Source(4), 2), work)
        instance = Instance("backfill", path, *target.args(), *SETTINGS, "--set", "target.appliers=2")
        instance.expect(3)
        check("target.appliers" in instance.log, instance.log)


try:
    main()
except Failure as why:
    print(why)
    sys.exit(1)
