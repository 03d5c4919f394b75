#!/usr/bin/env python3
"""Debezium's rows without schemas, typed by the schema topic: read before the rows, followed while they flow, kept over restarts and kills."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import HAS_FAULTS, Broker, Instance, Sqlite, check, main, millrace, wait_for  # noqa: E402

ID = {"name": "id", "typeName": "INT", "optional": False}


def column(name, type, length=None, scale=None):
    return {"name": name, "typeName": type, "length": length, "scale": scale, "optional": True}


def source(prefix, pos):
    return {"connector": "mysql", "name": prefix, "db": "shop", "table": "t", "file": "bin.000001", "pos": pos, "server_id": 1, "ts_ms": 1000 + pos}


def change(prefix, pos, *columns):
    return '{"databaseName":"shop"}', json.dumps({
        "source": source(prefix, pos), "ts_ms": 1, "databaseName": "shop", "ddl": "ALTER TABLE t …",
        "tableChanges": [{"type": "ALTER", "id": '"shop"."t"', "table": {"primaryKeyColumnNames": ["id"], "columns": [ID, *columns]}}]})


def row(prefix, pos, **values):
    return json.dumps({"id": values["id"]}), json.dumps({"before": None, "after": values, "source": source(prefix, pos), "op": "c", "ts_ms": 1})


def rows(target):
    """By id; every cell as text."""
    if "t" not in target.tables():
        return []
    have = [tuple(None if c.value is None else str(c.value) for c in r.values()) for r in target.rows("t")]
    return sorted(have, key=lambda r: int(r[0]))


def fresh(name, broker, with_topic=True):
    prefix = f"{name}{os.getpid()}"
    broker.create(f"{prefix}.shop.t", 1)
    if with_topic:
        broker.create(prefix, 1)
    return prefix


def with_target(test):
    target = Sqlite()
    try:
        test(target, Broker())
    finally:
        target.close()


def test_the_schema_topic_is_found_by_itself_and_followed():
    def run(target, broker):
        prefix = fresh("follow", broker)
        topic = f"{prefix}.shop.t"
        broker.produce(prefix, 0, [change(prefix, 10, column("d", "DECIMAL", 5, 1))])
        broker.produce(topic, 0, [row(prefix, 20, id=1, d="Cg==")])
        loader = Instance("run", *broker.source(topic), "--group", prefix, *target.args())
        wait_for("the first row", lambda: rows(target) == [("1", "1")] or rows(target) == [("1", "1.0")])
        # The row is there before what explains it: it waits.
        broker.produce(topic, 0, [row(prefix, 40, id=2, d="Cg==", day=1)])
        loader.expect_log("a row waits for the schema topic")
        time.sleep(0.3)
        check(len(rows(target)) == 1, rows(target))
        broker.produce(prefix, 0, [change(prefix, 30, column("d", "DECIMAL", 5, 1), column("day", "DATE"))])
        wait_for(lambda: rows(target), lambda: len(rows(target)) == 2 and rows(target)[1][2] == "1970-01-02")
        loader.stop()
        check(target.control("dead_letter", "code") == [], target.control("dead_letter", "code, message"))
        check(len(target.control("source_type", "topic")) == 2, target.control("source_type", "topic, record_offset"))
    with_target(run)


def test_a_column_that_is_never_told_of_becomes_a_dead_letter_after_the_wait():
    def run(target, broker):
        prefix = fresh("never", broker)
        topic = f"{prefix}.shop.t"
        broker.produce(prefix, 0, [change(prefix, 10)])
        broker.produce(topic, 0, [row(prefix, 20, id=1, odd="AQ=="), row(prefix, 20, id=2)])
        args = [*broker.source(topic), *target.args(), "--group", prefix, "--set", "debezium.schema_wait=300ms"]
        millrace("backfill", *args)
        check(rows(target) == [("2",)], rows(target))
        check([r[0] for r in target.control("dead_letter", "code")] == ["no_type"], target.control("dead_letter", "code, message"))
        # With the type set by hand the letter can be replayed.
        millrace("dead-letters", "replay", "--all", *target.args(), "--set", f"pipeline={prefix}", "--set", "types.columns.shop.t.odd=bytes")
        have = [(r["id"].value, r["odd"].value) for r in target.rows("t")]
        check(sorted(have) == [(1, b"\x01"), (2, None)], have)
    with_target(run)


def test_a_topic_that_is_named_must_be_there_and_a_found_one_need_not():
    def run(target, broker):
        prefix = fresh("named", broker, with_topic=False)
        topic = f"{prefix}.shop.t"
        broker.produce(topic, 0, [row(prefix, 20, id=1, v="AQ==")])
        args = [*broker.source(topic), *target.args(), "--group", prefix]
        done = millrace("backfill", *args, "--set", "debezium.schema_topic={prefix}-changes", check=False)
        check(done.returncode == 3 and f'there is no topic "{prefix}-changes"' in done.stderr, done.stderr)
        done = millrace("backfill", *args)
        check("taken as they look" in done.stderr and rows(target) == [("1", "AQ==")], done.stderr)
    with_target(run)


def test_plan_reads_the_schema_topic_too():
    def run(target, broker):
        prefix = fresh("plan", broker)
        topic = f"{prefix}.shop.t"
        broker.produce(prefix, 0, [change(prefix, 10, column("d", "DATE"))])
        broker.produce(topic, 0, [row(prefix, 20, id=1, d=5)])
        plan = json.loads(millrace("plan", *broker.source(topic), *target.args(), "--json").stdout)
        types = {c["name"]: c["type"] for c in plan["tables"][0]["columns"]}
        check(types == {"id": "int32", "d": "date"}, types)
    with_target(run)


def file_of(target, lines):
    path = os.path.join(target.dir, "in.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        for topic, offset, (key, value) in lines:
            f.write(json.dumps({"topic": topic, "partition": 0, "offset": offset, "timestamp": 1, "key": key, "value": value}) + "\n")
    return path


def test_kills_lose_no_types():
    if not HAS_FAULTS:
        return
    lines = [("p", 0, change("p", 10, column("d", "DECIMAL", 5, 1)))]
    lines += [("p.shop.t", i, row("p", 20 + i, id=i, d="Cg==")) for i in range(20)]
    lines += [("p", 1, change("p", 100, column("d", "DECIMAL", 5, 1), column("day", "DATE")))]
    lines += [("p.shop.t", i, row("p", 100 + i, id=i, d="Cg==", day=i)) for i in range(20, 40)]
    for fault in ("before_commit", "after_commit", "after_ddl", "after_ddl_step"):
        for nth in (1, 2, 3):
            def run(target, broker):
                args = ["backfill", file_of(target, lines), *target.args(), "--set", "batch.rows=4"]
                for _ in range(60):
                    done = millrace(*args, check=False, env={"MILLRACE_FAULT": f"{fault}:{nth}"})
                    if done.returncode == 0:
                        break
                millrace(*args)
                have = rows(target)
                check(len(have) == 40, (fault, nth, len(have)))
                check(all(r[1] in ("1", "1.0") for r in have), have)
                check(sorted(r[2] for r in have if r[2] is not None)[:2] == ["1970-01-21", "1970-01-22"], have)
                check(target.control("dead_letter", "code") == [], target.control("dead_letter", "code, message"))
                check(len(target.control("source_type", "topic")) == 2, target.control("source_type", "topic, record_offset"))
            target = Sqlite()
            try:
                run(target, None)
            finally:
                target.close()


if __name__ == "__main__":
    main()
