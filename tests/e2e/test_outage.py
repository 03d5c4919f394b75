#!/usr/bin/env python3
"""Servers go away, refuse and come back: the program waits, puts nothing into the dead letters for it, and goes on by itself. Nothing is lost
and nothing applied twice. test_outage.py [postgresql|mariadb|mysql] [test_NAME…]"""
import json
import os
import random
import shutil
import signal
import tempfile
import time

from admin import FULL, admin_of
from e2e import ALL, TARGETS, Broker, Instance, Sqlite, check, main, wait_for
from servers import OWN, OwnBroker


def envelope(table, op, before=None, after=None):
    return {"before": before, "after": after, "op": op, "ts_ms": 1, "source": {"connector": "mysql", "db": "shop", "table": table}}


class Input:
    """A file of events for a table with keys and one that is appended to; more can be added."""

    def __init__(self, seed=1):
        self.dir = tempfile.mkdtemp(prefix="millrace-outage-")
        self.path = os.path.join(self.dir, "in.jsonl")
        self.rnd = random.Random(seed)
        self.rows, self.seq, self.lines = {}, 0, 0

    def messages(self, count):
        for _ in range(count):
            if self.rnd.random() < 0.5:
                self.seq += 1
                yield {"seq": self.seq}, envelope("audit", "c", after={"seq": self.seq})
                continue
            k = self.rnd.randrange(500)
            before = self.rows.get(k)
            if before is not None and self.rnd.random() < 0.2:
                del self.rows[k]
                yield {"id": k}, envelope("items", "d", before=before)
            else:
                self.rows[k] = {"id": k, "v": self.rnd.randrange(10**6)}
                yield {"id": k}, envelope("items", "u" if before else "c", before, self.rows[k])

    def add(self, count):
        with open(self.path, "a", encoding="utf-8") as f:
            for key, value in self.messages(count):
                f.write(json.dumps({"topic": "s.shop." + value["source"]["table"], "key": key, "value": value}) + "\n")
        self.lines += count
        return self

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)


ARGS = ["--set", "tables.audit.primary_key=none", "--set", "batch.rows=100", "--set", "batch.interval=10ms"]


def counts(target):
    return {t: len(target.rows(t)) for t in ("items", "audit") if t in target.tables()}


def progress(target):
    return sum(max(r[0], 0) for r in target.control("position", "position"))


def everything(target, data):
    rows = {int(r["id"].value): int(r["v"].value) for r in target.rows("items")}
    want = {k: r["v"] for k, r in data.rows.items()}
    check(rows == want, f"items: {len(set(rows.items()) ^ set(want.items()))} differences")
    seqs = sorted(int(r["seq"].value) for r in target.rows("audit"))
    check(seqs == list(range(1, data.seq + 1)), f"audit: {len(seqs)} rows, {len(set(seqs))} different, {data.seq} wanted")
    check(not target.control("dead_letter", "id, message"), f"dead letters: {target.control('dead_letter', 'id, message')[:3]}")


# ---- The target goes away ----

class Own:
    """A server of our own and a target in it."""

    def __init__(self, kind):
        self.kind = kind

    def __enter__(self):
        self.server = OWN[self.kind]()
        self.target = TARGETS[self.kind](self.server.url)
        return self

    def __exit__(self, *_):
        self.server.close()


def stop_and_start(kind, is_crash, appliers):
    data = Input().add(6000)
    with Own(kind) as own:
        instance = Instance("run", data.path, *own.target.args(), *ARGS, "--set", f"target.appliers={appliers}")
        wait_for("nothing arrives", lambda: progress(own.target) > 500)
        for _ in range(4 if ALL else 2):
            own.server.stop(*((own.server.crash,) if is_crash else ()))
            data.add(6000)
            time.sleep(1.5)
            check(instance.is_running(), f"it does not wait\n{instance.tail()}")
            own.server.start()
            own.target.reconnect()
            before = progress(own.target)
            wait_for(lambda: f"it does not go on\n{instance.tail()}", lambda: progress(own.target) > before + 1000 * appliers)
        wait_for(lambda: f"it does not come to the end\n{instance.tail()}", lambda: progress(own.target) == data.lines * appliers, 60)
        instance.stop()
        everything(own.target, data)
    data.close()


def test_the_target_is_stopped_and_started(kind):
    stop_and_start(kind, False, 1)


def test_the_target_crashes_under_three_appliers(kind):
    stop_and_start(kind, True, 3)


def test_connections_are_cut_under_load(target):
    """Also in the midst of commits, whose outcome must then be found out."""
    admin = admin_of(target)
    data = Input(2).add(120000 if ALL else 60000)
    instance = Instance("backfill", data.path, *target.args(), *ARGS, "--set", "target.appliers=2")
    rnd = random.Random(1)
    cut = 0
    while instance.is_running():
        time.sleep(rnd.uniform(0, 0.05))
        if cut > 40:
            continue  # enough; it must come to its end, too
        cut += admin.cut_some()
    instance.expect(0)
    check(cut > 5, f"only {cut} connections were cut")
    everything(target, data)
    data.close()


def set_back(target, data, args, add, appliers):
    """As a standby that takes over without the last transactions: tables and positions as they were some time ago."""
    instance = Instance("run", *args, *target.args(), *ARGS, "--set", f"target.appliers={appliers}", "--group", f"back{os.getpid()}")
    wait_for("nothing arrives", lambda: progress(target) == data.lines * appliers)
    admin = admin_of(target)
    schema = f'"{target.schema}"'
    tables = (f"{schema}.items", f"{schema}.audit", f'"{target.schema}_c".{admin.position}')
    kept = [(table, f'"{target.schema}_c".kept{k}') for k, table in enumerate(tables)]
    for table, copy in kept:
        target.execute(f"CREATE TABLE {copy} AS SELECT * FROM {table}")
    add(1000)
    wait_for(lambda: f"it does not go on\n{instance.tail()}", lambda: progress(target) == data.lines * appliers)
    admin.put_back(kept)
    add(1000)
    wait_for(lambda: f"it does not read again\n{instance.tail()}", lambda: progress(target) == data.lines * appliers)
    check("has lost transactions" in instance.log, "it says nothing of it")
    instance.stop()
    everything(target, data)


def test_what_the_target_has_lost_is_read_again_from_files(target):
    data = Input(11).add(1000)
    set_back(target, data, [data.path], data.add, 2)
    data.close()


def test_what_the_target_has_lost_is_read_again_from_kafka(target):
    data, broker, topic = Input(12), Broker(), f"back{os.getpid()}.shop.mixed"
    broker.create(topic, 1)
    def add(count):
        broker.produce(topic, 0, [(json.dumps(k), json.dumps(v)) for k, v in data.messages(count)])
        data.lines += count
    add(1000)
    set_back(target, data, broker.source(topic), add, 2)
    data.close()


# ---- The target refuses for a while ----

def while_it_waits(target, data, refuse, allow, words, appliers=1, more=()):
    """`refuse` makes the target refuse; the program must wait and say why; after `allow` it must go on."""
    instance = Instance("run", data.path, *target.args(), *ARGS, "--set", f"target.appliers={appliers}", *more)
    wait_for("nothing arrives", lambda: progress(target) >= data.lines * appliers)
    refuse()
    data.add(2000)
    instance.expect_log(words)
    before = counts(target)
    time.sleep(1)
    check(instance.is_running(), f"it does not wait\n{instance.tail()}")
    check(counts(target) == before, "rows arrive although they are refused")
    allow()
    wait_for(lambda: f"it does not go on\n{instance.tail()}", lambda: progress(target) == data.lines * appliers, 40)
    instance.stop()
    everything(target, data)
    data.close()


def test_a_full_disk_is_waited_for(target):
    admin = admin_of(target)
    while_it_waits(target, Input(3).add(500), lambda: admin.fill_disk("audit"), lambda: admin.free_disk("audit"), FULL)


def test_a_missing_right_is_waited_for(target):
    """The program works under a user of its own, who loses a right."""
    admin = admin_of(target)
    with admin.loader() as role:
        while_it_waits(target, Input(4).add(500), lambda: admin.may_insert(role, "audit", False), lambda: admin.may_insert(role, "audit", True),
                       admin.denied)


def test_a_read_only_standby_is_waited_for(kind):
    """What an address that moves with the primary shows for a while: a server that answers, and takes nothing."""
    with Own(kind) as own, admin_of(own.target).loader():
        def demote():
            own.server.make_read_only()
            own.target.reconnect()
        while_it_waits(own.target, Input(5).add(500), demote, lambda: own.server.make_writable(own.target), own.server.read_only)


def test_a_lock_on_a_table_is_waited_for(target):
    admin, data = admin_of(target), Input(6).add(500)
    instance = Instance("run", data.path, *target.args(), *ARGS)
    wait_for("nothing arrives", lambda: progress(target) >= data.lines)
    lock = admin.lock("items")
    data.add(2000)
    wait_for("it does not come to the lock", admin.waits_for_a_lock)
    time.sleep(1.5)
    check(instance.is_running(), f"it does not wait\n{instance.tail()}")
    lock.end()
    wait_for(lambda: f"it does not go on\n{instance.tail()}", lambda: progress(target) == data.lines)
    instance.stop()
    everything(target, data)
    data.close()


def test_an_alter_gives_way_to_a_lock_and_is_tried_again(target):
    """It must not queue up behind a long lock and make everybody else wait behind itself."""
    admin, data = admin_of(target), Input(7).add(500)
    instance = Instance("run", data.path, *target.args(), *ARGS, "--set", "target.lock_timeout=200ms")
    wait_for("nothing arrives", lambda: progress(target) >= data.lines)
    lock = admin.lock_for_alters("items")
    with open(data.path, "a", encoding="utf-8") as f:
        row = {"id": 900, "v": 1, "later": "x"}
        f.write(json.dumps({"topic": "s.shop.items", "key": {"id": 900}, "value": envelope("items", "c", after=row)}) + "\n")
    data.lines += 1
    instance.expect_log(admin.lock_timeout)
    time.sleep(1)
    lock.end()
    wait_for(lambda: f"it does not go on\n{instance.tail()}", lambda: progress(target) == data.lines)
    instance.stop()
    check([r["later"].value for r in target.rows("items") if int(r["id"].value) == 900] == ["x"], "the new column is not filled")
    check(not target.control("dead_letter", "id"), "there are dead letters")
    data.close()


def test_a_deadlock_is_tried_again_at_once(target):
    admin, data = admin_of(target), Input(8).add(500)
    instance = Instance("run", data.path, *target.args(), *ARGS)
    wait_for("nothing arrives", lambda: progress(target) >= data.lines)
    for _ in range(3):
        # Ours is not the one whose transaction is rolled back. Which table it takes first is its
        # own matter: one lock is tried after the other.
        for first, second in (("items", "audit"), ("audit", "items")):
            lock = admin.lock_rows(second)
            data.add(200)
            wait_for("it does not come to the lock", admin.waits_for_a_lock)
            lock.run(admin.lock_rows_of(first))
            lock.end()
            wait_for(lambda: f"it does not go on\n{instance.tail()}", lambda: progress(target) == data.lines)
    instance.stop()
    everything(target, data)
    data.close()


def test_a_row_that_is_refused_for_an_unknown_reason_becomes_a_dead_letter(target):
    """It is alone in that: the others are taken."""
    if target.name == "postgresql": # every class of its errors is known
        return
    admin, data = admin_of(target), Input(13).add(300)
    instance = Instance("run", data.path, *target.args(), *ARGS)
    wait_for("nothing arrives", lambda: progress(target) == data.lines)
    odd = data.seq + 20
    admin.refuse_oddly("audit", f"NEW.seq = {odd}")
    data.add(100)
    wait_for(lambda: f"it waits for ever\n{instance.tail()}", lambda: progress(target) == data.lines)
    instance.stop()
    letters = target.control("dead_letter", "code, native_code, message")
    check([l[:2] for l in letters] == [("refused", admin.odd_number)], f"dead letters: {letters}")
    seqs = sorted(int(r["seq"].value) for r in target.rows("audit"))
    check(seqs == [n for n in range(1, data.seq + 1) if n != odd], f"{len(seqs)} rows")
    data.close()


def test_a_table_that_refuses_all_rows_for_an_unknown_reason_is_waited_for(target):
    if target.name == "postgresql":
        return
    admin = admin_of(target)
    while_it_waits(target, Input(14).add(300), lambda: admin.refuse_oddly("audit", "TRUE"), lambda: admin.refuse_no_more("audit"),
                   "the target refuses the rows for an unknown reason")


def test_a_change_of_a_table_that_fails_for_an_unknown_reason_ends_the_run(target):
    """Numbers become texts by an UPDATE of all rows, which a trigger does not let pass."""
    if target.name == "postgresql" or not ALL:
        return
    data = Input(15)
    def add(value):
        data.lines += 1
        with open(data.path, "a", encoding="utf-8") as f:
            row = {"id": data.lines, "v": value}
            f.write(json.dumps({"topic": "s.shop.prices", "key": {"id": data.lines}, "value": envelope("prices", "c", after=row)}) + "\n")
    add(1.5)
    instance = Instance("run", data.path, *target.args(), "--set", "types.policy=text")
    wait_for("nothing arrives", lambda: progress(target) == data.lines)
    admin_of(target).refuse_oddly("prices", "TRUE", "UPDATE")
    add("on request")
    instance.expect(3)
    check("the statement was: ALTER TABLE" in instance.log, f"it does not say what it wanted to run\n{instance.tail()}")
    check(not target.control("dead_letter", "id"), "there are dead letters")
    data.close()


def test_control_tables_that_are_dropped_end_the_run_with_what_to_do(target):
    if not ALL:
        return
    data = Input(16).add(300)
    instance = Instance("run", data.path, *target.args(), *ARGS)
    wait_for("nothing arrives", lambda: progress(target) == data.lines)
    target.execute(f'DROP SCHEMA "{target.schema}_c"' + (" CASCADE" if target.name == "postgresql" else ""))
    data.add(300)
    instance.expect(3)
    check("the control tables are gone or not whole" in instance.log, f"it does not say so\n{instance.tail()}")
    data.close()


def test_a_locked_sqlite_file_is_waited_for():
    target = Sqlite()
    data = Input(9).add(500)
    instance = Instance("run", data.path, *target.args(), *ARGS)
    wait_for("nothing arrives", lambda: os.path.exists(target.path) and "items" in target.tables() and progress(target) >= data.lines)
    other = target.connect()
    other.isolation_level = None
    other.execute("BEGIN IMMEDIATE")
    data.add(2000)
    time.sleep(4)
    check(instance.is_running(), f"it does not wait\n{instance.tail()}")
    other.execute("ROLLBACK")
    other.close()
    wait_for(lambda: f"it does not go on\n{instance.tail()}", lambda: progress(target) == data.lines)
    instance.stop()
    everything(target, data)
    data.close()
    target.close()


# ---- The broker goes away ----

def test_the_broker_is_stopped_and_started(target):
    broker = OwnBroker()
    data = Input(10)
    topic = "outage.shop.mixed"
    try:
        broker.create(topic, 2)
        def produce(count):
            parts = {0: [], 1: []}
            for key, value in data.messages(count):
                parts[list(key.values())[0] % 2].append((json.dumps(key), json.dumps(value)))
            for part, messages in parts.items():
                broker.produce(topic, part, messages)
            data.lines += count
        produce(2000)
        instance = Instance("run", *broker.source(topic), *target.args(), *ARGS, "--group", f"outage{os.getpid()}", "--set",
                            "source.kafka.properties.session.timeout.ms=6000")
        wait_for("nothing arrives", lambda: progress(target) == data.lines)
        for _ in range(2 if ALL else 1):
            broker.stop()
            time.sleep(4)
            check(instance.is_running(), f"it does not wait\n{instance.tail()}")
            broker.start()
            produce(2000)
            wait_for(lambda: f"it does not go on\n{instance.tail()}", lambda: progress(target) == data.lines, 60)
        instance.stop()
        everything(target, data)
    finally:
        data.close()
        broker.close()


if __name__ == "__main__":
    main()
