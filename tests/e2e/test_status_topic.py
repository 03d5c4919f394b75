#!/usr/bin/env python3
"""What Millrace tells about its own work (status.kafka.topic): every delta once, in order, as the format says, and none that was not; also when it is
killed anywhere, when the topic cannot be reached, and with several instances: test_status_topic.py TARGET."""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import HAS_FAULTS, Broker, Instance, check, main, millrace  # noqa: E402

PARTITION = 1
COMMITS_DDL = ("mariadb", "mysql")
# The text of an event, as the format has it.
MEMBERS = {"DATAMART_SCHEMA_CHANGED": ["changeDateTime", "datamart"], "DELTA_OPEN": ["deltaNum"], "DELTA_CLOSE": ["deltaNum", "deltaDate"],
           "DELTA_CANCEL": ["deltaNum"], "WRITE_OK": ["entity", "cn", "ts", "rowsAffected"], "WRITE_CANCEL": ["entity", "cn"]}
SECONDS = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
FORMS = {"datetime": SECONDS, "changeDateTime": SECONDS, "deltaDate": SECONDS + r"\.\d{6}", "ts": SECONDS + r"\.\d{6}",
         "eventLogId": r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"}


class StatusTopic:
    def __init__(self):
        self.broker = Broker()
        self.name = f"status-{os.getpid()}-{time.monotonic_ns()}"
        self.broker.create(self.name, 2)

    def args(self, bootstrap=None):
        return ["--set", f"status.kafka.topic={self.name}", "--set", f"status.kafka.brokers={bootstrap or self.broker.bootstrap}",
                "--set", f"status.kafka.partition={PARTITION}", "--set", "status.datamart=mart", "--set", "status.takeover=1s"]

    def read(self, datamart="mart"):
        """(event, value), checked to the byte as far as one can know them."""
        done = subprocess.run(["kcat", "-C", "-b", self.broker.bootstrap, "-t", self.name, "-o", "beginning", "-e", "-q", "-f", "%p %k\x01%s\n"],
                              capture_output=True, text=True, check=True)
        events, ids = [], set()
        for line in done.stdout.splitlines():
            partition, rest = line.split(" ", 1)
            check(int(partition) == PARTITION, f"in the wrong partition: {line}")
            key, value = (json.loads(text) for text in rest.split("\x01"))
            compact = "\x01".join(json.dumps(x, separators=(",", ":"), ensure_ascii=False) for x in (key, value))
            check(compact == rest, f"not the exact text: {rest}")
            check(list(key) == ["datamart", "datetime", "event", "eventLogId"] and list(value) == MEMBERS[key["event"]], f"members: {rest}")
            for name, text in {**key, **value}.items():
                check(name not in FORMS or re.fullmatch(FORMS[name], text), f"{name}: {rest}")
            check(key["datamart"] == datamart and value.get("datamart", datamart) == datamart, f"datamart: {rest}")
            check(key["eventLogId"] not in ids, f"twice: {rest}")
            ids.add(key["eventLogId"])
            events.append((key["event"], value))
        return events


def short(events):
    return [(name, value.get("entity", value.get("deltaNum")), value.get("cn")) for name, value in events if name != "DATAMART_SCHEMA_CHANGED"]


def assert_deltas(events, count, writes=None):
    """Deltas 0…count-1, one after another, each with its writes inside; writes numbered without a gap."""
    delta, cn, is_open, wrong = 0, 0, False, None
    for name, value in events:
        if name == "DELTA_OPEN":
            wrong = is_open or value["deltaNum"] != delta
            is_open = True
        elif name in ("DELTA_CLOSE", "DELTA_CANCEL"):
            wrong = not is_open or value["deltaNum"] != delta
            is_open, delta = False, delta + 1
        elif name.startswith("WRITE"):
            wrong = not is_open or value["cn"] != cn
            cn += 1
        if wrong:
            check(False, f"{name} {value} does not follow: {events}")
    check(not is_open and delta == count, f"{delta} deltas, wanted {count}: {events[-50:]}")
    check(writes is None or cn == writes, f"{cn} writes, wanted {writes}: {events[-50:]}")


def lines(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)
    return path


def load(target, topic, path, *more, name="shop.orders", env=None, bootstrap=None, command="backfill"):
    return Instance(command, path, *target.args(), *topic.args(bootstrap), "--topic", name, "--format", "json",
                    "--set", f'tables."{name}".primary_key=[id]', "--set", "batch.rows=10", "--set", "batch.interval=1h", *more, env=env)


def waiting(target):
    return len(target.control("status_outbox", "event_id"))


def assert_readable(topic, count):
    """What is written can be read as what it is."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "events.db")
        reading = [*topic.broker.source(topic.name), "--to", f"sqlite:{path}"]
        done = millrace("backfill", *reading, "--set", f"status.kafka.topic={topic.name}", check=False)
        check(done.returncode == 3 and "would feed on its own events" in done.stderr, f"it may read what it writes: {done.stderr}")
        other = StatusTopic() # by the brokers that are read from
        millrace("backfill", *reading, "--set", f"status.kafka.topic={other.name}", "--set", f"status.kafka.partition={PARTITION}")
        told = [(name, value.get("entity")) for name, value in other.read("events")]
        check(told == [("DATAMART_SCHEMA_CHANGED", None), ("DELTA_OPEN", None), ("WRITE_OK", "prostore_status_event"), ("DELTA_CLOSE", None)], f"told: {told}")
        with sqlite3.connect(path) as db:
            rows = db.execute("SELECT count(*), count(DISTINCT event_log_id), max(cn) FROM prostore_status_event WHERE datamart = 'mart'").fetchall()
    check(rows == [(count, count, 5)], f"read: {rows}, written: {count}")


# ---- Kills ----

def test_every_delta_is_told_once_and_in_order_wherever_it_is_killed(target):
    topic = StatusTopic()
    points = ["before_commit:2", "after_commit", "before_status_send:2", "after_status_send:2", "after_status_mark:2", "after_status_send"]
    # Where DDL commits by itself: planned and not run, run and not told, told.
    ddl = ["before_ddl", "after_ddl_statement", "after_ddl"] if target.name in COMMITS_DDL else ["after_ddl_statement", "after_ddl"]
    with tempfile.TemporaryDirectory() as folder:
        # the second half has another column; the first row of each half is the one that changes the table
        path = lines(os.path.join(folder, "in.jsonl"), [{"id": i, "v": "x", **({"w": 1} if i >= 30 else {})} for i in range(60)])
        for point in (ddl[:1] + points + ddl) if HAS_FAULTS else []:
            killed = load(target, topic, path, env={"MILLRACE_FAULT": point}).wait()
            check(killed in (-9, 0), f"exit code {killed} at {point}")
        load(target, topic, path, "--set", "shutdown.timeout=20s").expect(0)
    check(len(target.rows("orders")) == 60, "rows are missing")
    check(waiting(target) == 0, "events are left in the outbox")
    events = topic.read()
    assert_deltas(events, 6, 6)
    check(all(name in ("DATAMART_SCHEMA_CHANGED", "DELTA_OPEN", "WRITE_OK", "DELTA_CLOSE") for name, _ in events), f"something else: {events}")
    changes = [i for i, (name, _) in enumerate(events) if name == "DATAMART_SCHEMA_CHANGED"]
    first_write = [next(i for i, e in enumerate(events) if e[0] == "WRITE_OK" and e[1]["cn"] == cn) for cn in (0, 3)]
    if target.name == "sqlite":
        assert_readable(topic, len(events))
    check(len(changes) == 2 and changes[0] < first_write[0] < changes[1] < first_write[1], f"one for CREATE, one for ADD COLUMN: {events}")


# ---- What is told of what ----

def test_rows_that_are_refused_and_batches_that_are_made_anew_are_told(target):
    topic = StatusTopic()
    place = ""
    if target.name != "sqlite":
        place = f'"{target.schema}".'
        target.execute(f'CREATE SCHEMA "{target.schema}"')
    for table in ("one", "two"):
        target.execute(f"CREATE TABLE {place}{table} (id BIGINT NOT NULL PRIMARY KEY, v BIGINT CHECK (v < 100))")
    with tempfile.TemporaryDirectory() as folder:
        # Two changes of one row: the merged one is refused, so the batch is rolled back, and made anew one by one.
        path = lines(os.path.join(folder, "one.jsonl"), [{"id": 1, "v": 1}, {"id": 1, "v": 1000}])
        load(target, topic, path, name="shop.one").expect(0)
        # The only row of the table is refused: the transaction holds a dead letter and no row of it.
        path = lines(os.path.join(folder, "two.jsonl"), [{"id": 1, "v": 1000}])
        load(target, topic, path, name="shop.two").expect(0)
        # Nothing but dead letters is no delta.
        path = os.path.join(folder, "bad.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.write("{bad\n")
        load(target, topic, path, name="shop.two").expect(0)
    check(short(topic.read()) == [("DELTA_OPEN", 0, None), ("WRITE_CANCEL", "one", 0), ("DELTA_CANCEL", 0, None),
                                  ("DELTA_OPEN", 1, None), ("WRITE_OK", "one", 1), ("DELTA_CLOSE", 1, None),
                                  ("DELTA_OPEN", 2, None), ("WRITE_CANCEL", "two", 2), ("DELTA_CLOSE", 2, None)], f"told: {topic.read()}")


def test_replayed_dead_letters_are_told_and_write_events_can_be_left_out(target):
    topic = StatusTopic()
    quiet = ["--set", "status.write_operations=false"]
    with tempfile.TemporaryDirectory() as folder:
        path = lines(os.path.join(folder, "in.jsonl"), [{"id": 1, "v": 1}, {"id": 2, "v": "text"}])
        load(target, topic, path, *quiet).expect(0)
        millrace("dead-letters", "replay", "--all", *target.args(), *topic.args(), *quiet, "--set", "types.policy=text",
                 "--set", 'tables."shop.orders".primary_key=[id]', "--set", "format=json")
    check(len(target.rows("orders")) == 2, f"not replayed: {target.rows('orders')}")
    names = [name for name, _ in topic.read()]
    check(names == ["DATAMART_SCHEMA_CHANGED", "DELTA_OPEN", "DELTA_CLOSE"] * 2, f"told: {names}")


def canal(number, table, data=None, sql="", kind="INSERT"):
    event = {"data": data, "database": "shop", "es": 1718000000000 + number, "id": number, "isDdl": data is None, "old": None, "sql": sql, "table": table,
             "mysqlType": data and {"id": "int", "a": "int"}, "pkNames": data and ["id"], "sqlType": data and {}, "ts": 1, "type": kind}
    return {"topic": "canal", "partition": 0, "offset": number, "timestamp": 1, "key": None, "value": json.dumps(event)}


def test_ddl_of_the_source_that_is_followed_is_told_once_wherever_it_is_killed(target):
    topic = StatusTopic()
    row = [{"id": "1", "a": "2"}]
    with tempfile.TemporaryDirectory() as folder:
        path = lines(os.path.join(folder, "in.jsonl"), [
            canal(0, "t", row), canal(1, "t", sql="ALTER TABLE t DROP COLUMN a", kind="ALTER"), canal(2, "u", row),
            canal(3, "u", sql="RENAME TABLE u TO w", kind="RENAME"), canal(4, "w", sql="DROP TABLE w", kind="ERASE")])
        args = ["backfill", path, *target.args(), *topic.args(), "--set", "ddl=apply"]
        for point in ("before_source_ddl", "after_source_ddl_statement", "before_source_ddl_commit", "after_source_ddl_commit:2") if HAS_FAULTS else ():
            check(Instance(*args, env={"MILLRACE_FAULT": point}).wait() in (-9, 0), f"another end at {point}")
        Instance(*args).expect(0)
    changes = [name for name, _ in topic.read()].count("DATAMART_SCHEMA_CHANGED")
    check(changes == 5, f"{changes} changes of tables are told, not two that are made, a column, a name and a table that go: {topic.read()}")
    check(target.tables() == ["t"] or "w" not in target.tables(), f"tables: {target.tables()}")


# ---- Several, and none that answers ----

def test_instances_and_appliers_side_by_side_number_without_a_gap(target):
    topic = StatusTopic()
    more = [] if target.name == "sqlite" else ["--set", "target.appliers=3"]
    with tempfile.TemporaryDirectory() as folder:
        paths = [lines(os.path.join(folder, f"{t}.jsonl"), [{"id": i, "v": t} for i in range(200)]) for t in ("a", "b")]
        both = [load(target, topic, p, *more, "--set", f"pipeline={p[-7:]}", name=f"shop.{p[-7:-6]}") for p in paths]
        for instance in both:
            instance.expect(0)
    check(waiting(target) == 0, "events are left in the outbox")
    numbers = target.control("status_datamart", "next_delta, next_cn")
    check(len(numbers) == 1 and numbers[0][0] >= 40, f"numbers: {numbers}")
    events = topic.read()
    assert_deltas(events, *numbers[0])
    closed = sum(name == "DELTA_CLOSE" for name, _ in events)
    check(closed == 40 if target.name == "sqlite" else closed >= 40, f"{closed} of {numbers[0][0]} closed: {events}")


def test_while_the_topic_cannot_be_reached_events_wait_and_then_the_load_does(target):
    if target.name != "sqlite": # nothing of it is the target's
        return
    topic = StatusTopic()
    with tempfile.TemporaryDirectory() as folder:
        path = lines(os.path.join(folder, "in.jsonl"), [{"id": i} for i in range(100)])
        instance = load(target, topic, path, "--set", "status.max_pending=13", "--set", "shutdown.timeout=1s", bootstrap="127.0.0.1:1")
        instance.expect_log("the load waits")
        loaded = len(target.rows("orders"))
        check(13 <= waiting(target) <= 22 and loaded < 100, f"{waiting(target)} events wait, {loaded} rows are loaded")
        instance.stop()
        told = millrace("status", *target.args()).stdout
        check("Status events that are not sent yet" in told and topic.name in told, told)
        check(topic.read() == [], "something came after all")
        load(target, topic, path).expect(0)
    check(waiting(target) == 0 and len(target.rows("orders")) == 100, "not all has come")
    assert_deltas(topic.read(), 10, 10)


def test_a_topic_that_is_not_there_is_told_by_check(target):
    if target.name != "sqlite":
        return
    topic = StatusTopic()
    other = f"{topic.name}-not-there"
    for _ in range(2): # it is not made by being asked for
        done = millrace("check", *target.args(), *topic.args(), "--topic", "shop.a", "--set", f"status.kafka.topic={other}", os.devnull, check=False)
        check(done.returncode == 3 and f'there is no topic "{other}"' in done.stdout, done.stdout + done.stderr)
    done = millrace("check", *target.args(), *topic.args(), "--topic", "shop.a", "--set", "status.kafka.partition=2", os.devnull, check=False)
    check(done.returncode == 3 and "has no partition 2" in done.stdout, done.stdout + done.stderr)


main()
