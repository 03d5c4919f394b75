#!/usr/bin/env python3
"""Starting, stopping and refusing: signals and their deadlines, going on where it stopped, starting over, positions that are gone, and what each
exit code stands for. test_shutdown.py [postgresql|mariadb|mysql] [test_NAME…]"""
import json
import os
import re
import shutil
import signal
import tempfile
import threading
import time
from datetime import datetime, timezone

from admin import admin_of
from e2e import TARGETS, Broker, Instance, check, main, millrace, wait_for
from servers import OWN

DEADLINE = ["--set", "shutdown.timeout=4s"]


def event(table, row, op="c", before=None):
    return {"before": before, "after": row, "op": op, "ts_ms": 1, "source": {"connector": "mysql", "db": "shop", "table": table}}


class Folder:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="millrace-shutdown-")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def write(self, name, rows, table="items", mode="w", key="id"):
        path = os.path.join(self.dir, name)
        with open(path, mode, encoding="utf-8") as f:
            for row in rows:
                f.write(json.dumps({"topic": f"s.shop.{table}", "partition": 3, "offset": 1000 + row[key], "key": {key: row[key]},
                                    "value": event(table, row)}) + "\n")
        return path


def rows(n, start=0):
    return [{"id": i, "v": i * 7} for i in range(start, start + n)]


def ids(target, table="items"):
    if table not in target.tables():
        return []
    return sorted(r[0] for r in target.query(f'SELECT id FROM "{target.schema}"."{table}"'))


def progress(target):
    return sum(max(r[0], 0) for r in target.control("position", "position"))


def ends_within(instance, number, seconds, code=0):
    began = time.monotonic()
    instance.signal(number)
    instance.expect(code, seconds + 10)
    took = time.monotonic() - began
    check(took <= seconds, f"it took {took:.1f} s to end, not {seconds}\n{instance.tail()}")


# ---- Signals ----

def test_a_signal_ends_a_run_after_the_open_batch(target):
    for number in (signal.SIGTERM, signal.SIGINT):
        with Folder() as folder:
            path = folder.write("in.jsonl", rows(50, number * 1000))
            # The batch stays open for a minute; the signal must close it, not drop it.
            instance = Instance("run", path, *target.args(), "--set", "batch.interval=60s")
            instance.expect_log("partition assigned")
            time.sleep(0.5)
            check(set(ids(target)).isdisjoint(range(number * 1000, number * 1000 + 50)), "the batch was not open")
            ends_within(instance, number, 3)
            check(set(ids(target)) >= set(range(number * 1000, number * 1000 + 50)), "the open batch is lost")


def test_a_signal_ends_a_run_on_kafka(target):
    broker, topic = Broker(), f"stop{os.getpid()}.shop.items"
    broker.create(topic, 4)
    for p in range(4):
        broker.produce(topic, p, [(json.dumps({"id": i}), json.dumps(event("items", {"id": i}))) for i in range(p, 400, 4)])
    instance = Instance("run", *broker.source(topic), *target.args(), "--group", topic)
    wait_for("nothing arrives", lambda: len(ids(target)) == 400)
    ends_within(instance, signal.SIGTERM, 5)


def test_a_signal_is_heard_while_the_target_is_down(kind):
    server = OWN[kind]()
    target = TARGETS[kind](server.url)
    with Folder() as folder:
        path = folder.write("in.jsonl", rows(100))
        instances = [Instance("run", path, *target.args(), *DEADLINE, "--set", f"pipeline=p{k}") for k in range(2)]
        wait_for("nothing arrives", lambda: progress(target) == 200)
        server.stop()
        folder.write("in.jsonl", rows(1000, 100), mode="a")
        time.sleep(1.5)
        ends_within(instances[0], signal.SIGTERM, 6)
        ends_within(instances[1], signal.SIGINT, 6)
        # One that has never reached it.
        third = Instance("run", path, *target.args(), *DEADLINE)
        time.sleep(0.7)
        ends_within(third, signal.SIGTERM, 3)
    server.close()


def test_a_signal_is_heard_while_a_lock_holds_up_the_batch(target):
    """It ends in time, without what the lock holds up; the next start brings it."""
    admin = admin_of(target)
    with Folder() as folder:
        path = folder.write("in.jsonl", rows(100))
        instance = Instance("run", path, *target.args(), *DEADLINE, "--set", "batch.rows=50")
        wait_for("nothing arrives", lambda: progress(target) == 100)
        held = admin.lock("items")
        folder.write("in.jsonl", rows(400, 100), mode="a")
        wait_for("it does not come to the lock", admin.waits_for_a_lock)
        ends_within(instance, signal.SIGTERM, 8)
        held.end()
        millrace("backfill", path, *target.args())
        check(ids(target) == list(range(500)), "rows are missing")


def test_a_signal_is_heard_while_somebody_holds_the_position(target):
    """A former owner that sleeps in the midst of its transaction."""
    admin = admin_of(target)
    with Folder() as folder:
        path = folder.write("in.jsonl", rows(100))
        millrace("backfill", path, *target.args())
        held = admin.hold_positions()
        instance = Instance("run", path, *target.args(), *DEADLINE)
        wait_for("it does not come to the lock", admin.waits_for_a_lock)
        try:
            ends_within(instance, signal.SIGTERM, 8)
        finally:
            held.end()


# ---- Going on ----

def test_an_interrupted_backfill_goes_on_where_it_stopped(target):
    with Folder() as folder:
        each = 60000  # seconds of work, so that it can be met in the middle of it
        paths = [folder.write(f"in{k}.jsonl", rows(each, k * each), "log") for k in range(3)]
        args = [*paths, *target.args(), "--set", "tables.log.primary_key=none", "--set", "batch.rows=50"]
        stops = 0
        for _ in range(6):
            instance = Instance("backfill", *args)
            before = progress(target)
            wait_for("nothing arrives", lambda: progress(target) > before + 500 or not instance.is_running())
            if instance.is_running():
                ends_within(instance, signal.SIGTERM, 5)
                stops += "stopped before the end of the input" in instance.log
        check(stops >= 3, f"only {stops} backfills were stopped in their middle")
        check(0 < progress(target) < 3 * each, "it was not interrupted")
        millrace(*["backfill", *args])
        check(ids(target, "log") == list(range(3 * each)), "it lost rows or applied some twice")


def test_a_finished_backfill_says_so_and_again_starts_over(target):
    with Folder() as folder:
        path = folder.write("in.jsonl", rows(300), "log")
        args = ["backfill", path, *target.args(), "--set", "tables.log.primary_key=none"]
        first = millrace(*args)
        check("had been read to its end before" not in first.stderr + first.stdout, "the first run was none")
        second = millrace(*args)
        check("had been read to its end before" in second.stderr + second.stdout, f"it does not say so: {second.stderr}")
        check(len(ids(target, "log")) == 300, "the second run applied rows again")
        millrace(*args, "--again")
        check(len(ids(target, "log")) == 600, "--again did not start over")
        folder.write("in.jsonl", rows(10, 300), "log", mode="a")
        third = millrace(*args)
        check("had been read to its end before" not in third.stderr + third.stdout, "it overlooks what was added")
        check(len(ids(target, "log")) == 610, "what was added did not arrive once")


def fence_each_other(target, args):
    """There is more to load, and a lock on the table keeps the first one at it until the second has taken over."""
    admin = admin_of(target)
    args = [*args, *target.args(), "--set", "tables.log.primary_key=none", "--set", "batch.rows=50"]
    held = admin.lock_for_writers("log")
    first = Instance(*args)
    wait_for("it does not come to the lock", admin.waits_for_a_lock)
    second = Instance(*args)
    second.expect_log("partition assigned")
    held.end()
    first.expect(8)
    check("taken it over" in first.log, f"it does not say why\n{first.tail()}")
    second.expect(0, 120)


def test_two_backfills_of_one_pipeline_fence_each_other(target):
    """The later one takes over; the earlier ends with 8 and does no harm."""
    with Folder() as folder:
        path = folder.write("in.jsonl", rows(100), "log")
        millrace("backfill", path, *target.args(), "--set", "tables.log.primary_key=none")
        folder.write("in.jsonl", rows(19900, 100), "log", mode="a")
        fence_each_other(target, ["backfill", path])
        check(ids(target, "log") == list(range(20000)), "rows are lost or twice there")


def test_backfills_of_one_topic_fence_each_other(target):
    broker, topic = Broker(), f"fence{os.getpid()}.shop.log"
    source = [*broker.source(topic), "--group", topic]
    broker.create(topic, 2)
    for p in range(2):
        fill(broker, topic, range(p, 100, 2), p)
    millrace("backfill", *source, *target.args(), "--set", "tables.log.primary_key=none")
    for p in range(2):
        fill(broker, topic, range(100 + p, 20000, 2), p)
    fence_each_other(target, ["backfill", *source])
    check(ids(target, "log") == list(range(20000)), "rows are lost or twice there")


# ---- Positions that are gone ----

def fill(broker, topic, numbers, partition=0, table="log"):
    broker.produce(topic, partition, [(json.dumps({"id": i}), json.dumps(event(table, {"id": i}))) for i in numbers])


def test_a_topic_that_was_made_anew_stops_with_a_message(target):
    broker, topic = Broker(), f"anew{os.getpid()}.shop.log"
    source = [*broker.source(topic), *target.args(), "--group", topic, "--set", "tables.log.primary_key=none"]
    broker.create(topic, 1)
    fill(broker, topic, range(100))
    millrace("backfill", *source)
    broker.tool("delete", topic)
    def made():
        try:
            broker.create(topic, 1)
            return True
        except Exception: # noqa: BLE001: the old one is not gone yet
            return False
    wait_for("the topic cannot be made anew", made, every=0.5)
    fill(broker, topic, range(100, 130))
    done = millrace("backfill", *source, check=False)
    check(done.returncode == 3, f"exit code {done.returncode}\n{done.stderr}")
    check(re.search(r"\[0\].*stored position 100 is beyond the end.*0 to 30", done.stderr), done.stderr)
    check("--reset-position" in done.stderr, done.stderr)
    # A run says the same and stays, for the sake of other partitions.
    instance = Instance("run", *source)
    instance.expect_log("stored position 100 is beyond the end")
    time.sleep(0.5)
    ends_within(instance, signal.SIGTERM, 5)
    check(len(ids(target, "log")) == 100, "rows were applied although the position is gone")
    millrace("backfill", *source, "--reset-position")
    check(ids(target, "log") == list(range(130)), "the new topic was not read from its start")


def test_a_trimmed_topic_stops_with_a_message(target):
    broker, topic = Broker(), f"trim{os.getpid()}.shop.log"
    source = [*broker.source(topic), *target.args(), "--group", topic, "--set", "tables.log.primary_key=none"]
    broker.create(topic, 1)
    fill(broker, topic, range(50))
    millrace("backfill", *source)
    fill(broker, topic, range(50, 200))
    broker.tool("trim", topic, 0, 120)
    done = millrace("backfill", *source, check=False)
    check(done.returncode == 3, f"exit code {done.returncode}\n{done.stderr}")
    check(re.search(r"stored position 50 is before the start.*120 to 200", done.stderr), done.stderr)
    millrace("backfill", *source, "--reset-position")
    check(ids(target, "log") == list(range(50)) + list(range(120, 200)), "it did not go on at the topic's start")


def test_a_run_resets_its_position_and_goes_on(target):
    broker, topic = Broker(), f"trimrun{os.getpid()}.shop.log"
    source = [*broker.source(topic), *target.args(), "--group", topic, "--set", "tables.log.primary_key=none", "--set", "target.appliers=2"]
    broker.create(topic, 2)
    fill(broker, topic, range(50), 0)
    fill(broker, topic, range(1000, 1050), 1)
    millrace("backfill", *source)
    fill(broker, topic, range(50, 200), 0)
    broker.tool("trim", topic, 0, 120)
    instance = Instance("run", *source)
    instance.expect_log("stored position 50 is before the start")
    fill(broker, topic, range(1050, 1060), 1)
    wait_for(lambda: f"the other partition stands still\n{instance.tail()}", lambda: 1059 in ids(target, "log"))
    check(50 not in ids(target, "log") and 150 not in ids(target, "log"), "the partition is read all the same")
    ends_within(instance, signal.SIGTERM, 5)
    instance = Instance("run", *source, "--reset-position")
    wait_for(lambda: f"it does not go on\n{instance.tail()}", lambda: 199 in ids(target, "log"))
    fill(broker, topic, range(200, 210), 0)
    wait_for(lambda: f"it does not go on\n{instance.tail()}", lambda: 209 in ids(target, "log"))
    ends_within(instance, signal.SIGTERM, 5)
    check(ids(target, "log") == list(range(50)) + list(range(120, 210)) + list(range(1000, 1060)), "rows are lost or twice there")


# ---- Where to begin ----

def test_start_latest_and_start_at_a_time(target):
    broker, topic = Broker(), f"start{os.getpid()}.shop.log"
    broker.create(topic, 1)
    fill(broker, topic, range(100))
    time.sleep(1.2)
    between = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    time.sleep(0.2)
    fill(broker, topic, range(100, 150))
    common = [*broker.source(topic), *target.args(), "--set", "tables.log.primary_key=none"]
    millrace("backfill", *common, "--group", topic + "t", "--set", f"source.kafka.start={between}")
    check(ids(target, "log") == list(range(100, 150)), "it did not begin at the time")
    target.execute(f'TRUNCATE TABLE "{target.schema}".log')

    millrace("backfill", *common, "--group", topic + "l", "--set", "source.kafka.start=latest")
    check(not ids(target, "log"), "it did not begin at the end")
    instance = Instance("run", *common, "--group", topic + "r", "--set", "source.kafka.start=latest")
    instance.expect_log("partition assigned")
    time.sleep(1)
    fill(broker, topic, range(150, 160))
    wait_for(lambda: f"nothing arrives\n{instance.tail()}", lambda: len(ids(target, "log")) == 10)
    ends_within(instance, signal.SIGTERM, 5)
    # With a position in the target, `start` counts no more.
    fill(broker, topic, range(160, 170))
    millrace("backfill", *common, "--group", topic + "r", "--set", "source.kafka.start=latest")
    check(ids(target, "log") == list(range(150, 170)), "it did not go on from its position")


# ---- What is refused ----

def test_the_breaker_ends_a_run_with_six(target):
    with Folder() as folder:
        path = folder.write("in.jsonl", rows(1500))
        good = len(rows(1500))
        with open(path, "a", encoding="utf-8") as f:
            for i in range(1500):
                f.write(json.dumps({"topic": "s.shop.items", "key": {"id": i}, "value": event("items", {"id": i, "v": "not a number"})}) + "\n")
        instance = Instance("run", path, *target.args(), "--set", "batch.rows=500")
        instance.expect(6)
        check("dead_letters.max_rate" in instance.log, f"it does not say why\n{instance.tail()}")
        # A backfill takes it to the end.
        done = millrace("backfill", path, *target.args())
        check("1500 dead letters" in done.stdout or "dead_letters=" in done.stderr, done.stdout + done.stderr)
        check(len(target.control("dead_letter", "id")) == 1500, "the dead letters are not all there, once")
        check(len(ids(target)) == good, "rows are missing")


def test_policy_fail_names_place_field_and_types(target):
    with Folder() as folder:
        path = folder.write("in.jsonl", rows(20))
        with open(path, "a", encoding="utf-8") as f:
            f.write(json.dumps({"topic": "s.shop.items", "partition": 3, "offset": 7777, "key": {"id": 99},
                                "value": event("items", {"id": 99, "v": "twelve"})}) + "\n")
        for command in ("backfill", "run"):
            instance = Instance(command, path, *target.args(), "--set", "types.policy=fail")
            instance.expect(6)
            for word in ("s.shop.items", "[3]", "7777", '"v"', "text", "int64"):
                check(word in instance.log, f"{command} does not name {word}\n{instance.tail()}")
            check(99 not in ids(target), "the row arrived")


def statements_in(log):
    """What evolve: none says should be run, from the last message that does."""
    text = re.findall(r"set target\.evolve=full: (.*?;)(?:\"|$)", log, re.S | re.M)[-1]
    return text.replace("\\n", "\n").replace('\\"', '"')


def test_evolve_none_refuses_and_waits(target):
    with Folder() as folder:
        path = folder.write("in.jsonl", rows(20))
        millrace("backfill", path, *target.args())
        folder.write("in.jsonl", [{"id": 20, "v": 1, "extra": "x"}], mode="a")
        done = millrace("backfill", path, *target.args(), "--set", "target.evolve=none", check=False)
        check(done.returncode == 6, f"exit code {done.returncode}\n{done.stderr}")
        check("ADD COLUMN" in done.stderr and "extra" in done.stderr, done.stderr)
        instance = Instance("run", path, *target.args(), "--set", "target.evolve=none")
        instance.expect_log("ADD COLUMN")
        time.sleep(1)
        check(instance.is_running() and 20 not in ids(target), "it does not wait")
        target.execute(statements_in(instance.log))
        wait_for(lambda: f"it does not go on\n{instance.tail()}", lambda: 20 in ids(target))
        ends_within(instance, signal.SIGTERM, 5)
        check(target.query(f'SELECT extra FROM "{target.schema}".items WHERE id = 20') == [("x",)], "the new column is empty")
        check(not target.control("dead_letter", "id"), "there are dead letters")


def test_a_signal_is_heard_while_evolve_none_waits(target):
    with Folder() as folder:
        path = folder.write("in.jsonl", rows(20))
        instance = Instance("run", path, *target.args(), "--set", "target.evolve=none")
        instance.expect_log("CREATE TABLE")
        ends_within(instance, signal.SIGTERM, 3)


# ---- Exit codes ----

def expect_exit(code, *args, words=()):
    done = millrace(*args, check=False, timeout=60)
    check(done.returncode == code, f"{' '.join(args)}: exit code {done.returncode}, not {code}\n{done.stderr}")
    for word in words:
        check(word in done.stderr, f"{' '.join(args)}: no {word!r} in\n{done.stderr}")


def test_exit_codes_of_what_cannot_be_done(target):
    with Folder() as folder:
        path = folder.write("in.jsonl", rows(1))
        expect_exit(2, "backfil", path, words=["backfill"])
        expect_exit(2, "run", "--no-such-flag", path)
        expect_exit(3, "run", path, "--set", "batch.row=5", words=["batch.rows"])
        expect_exit(3, "run", path, "--set", "batch.rows=many")
        expect_exit(3, "backfill", os.path.join(folder.dir, "absent.jsonl"), *target.args())
        short = ["--set", "target.connect_timeout=1s"]
        nowhere = f"postgresql://nobody@/none?host={folder.dir}" if target.name == "postgresql" else f"mysql://nobody@/none?socket={folder.dir}/s"
        expect_exit(5, "backfill", path, "--to", nowhere, *short)
        for command in ("run", "backfill"):
            expect_exit(4, command, "--from", "kafka://127.0.0.1:9/shop.items", *target.args(), *short)
        broker = Broker()
        expect_exit(3, "backfill", *broker.source(f"absent{os.getpid()}"), *target.args(), words=["there is no topic"])


def test_the_target_may_come_late(kind):
    """The first connection is tried for a while."""
    server = OWN[kind]()
    target = TARGETS[kind](server.url)
    server.stop()
    threading.Timer(2, server.start).start()
    with Folder() as folder:
        path = folder.write("in.jsonl", rows(10))
        millrace("backfill", path, *target.args())
    server.close()


if __name__ == "__main__":
    main()
