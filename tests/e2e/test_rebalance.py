#!/usr/bin/env python3
"""Instances that share a group come and go while a producer goes on writing: nothing is lost, nothing applied twice.

A topic of eight partitions feeds a table with keys and one that is only appended to. Two or four instances are started, stopped and killed at
will, with both protocols of the group; one sleeps past its session. In the end the table with keys must equal the model, and the other must
hold every event exactly once. test_rebalance.py [postgresql|mariadb|mysql] [test_NAME…]"""
import json
import os
import random
import signal
import subprocess
import threading
import time

from admin import admin_of, has_open_transaction
from e2e import ALL, Broker, Instance, check, main, wait_for

PARTITIONS = 8
SESSION_MS = 4000
KEYS = 400


def envelope(table, op, before=None, after=None):
    return json.dumps({"before": before, "after": after, "op": op, "ts_ms": 1, "source": {"connector": "mysql", "db": "shop", "table": table}})


class Producer(threading.Thread):
    """Writes until told to stop, and knows what it has written. The key decides the partition, so order is kept per key."""
    count = 0

    def __init__(self, broker, seed, rate=1500):
        super().__init__(daemon=True)
        Producer.count += 1
        self.topic = f"rebalance{os.getpid()}-{Producer.count}.shop.mixed"
        broker.create(self.topic, PARTITIONS)
        self.rnd, self.rate = random.Random(seed), rate
        self.rows, self.seq = {}, 0
        self.done = threading.Event()
        self.kcat = subprocess.Popen(["kcat", "-P", "-b", broker.bootstrap, "-t", self.topic, "-K", "\x01", "-X", "linger.ms=20"],
                                     stdin=subprocess.PIPE, text=True)
        self.start()

    def message(self):
        rnd = self.rnd
        if rnd.random() < 0.5:
            self.seq += 1
            return {"seq": self.seq}, envelope("audit", "c", after={"seq": self.seq, "n": rnd.randrange(9)})
        k = rnd.randrange(KEYS)
        before = self.rows.get(k)
        if before is not None and rnd.random() < 0.2:
            del self.rows[k]
            return {"id": k}, envelope("items", "d", before=before)
        row = {"id": k, "v": rnd.randrange(10**6), "name": f"n{rnd.randrange(50)}"}
        self.rows[k] = row
        return {"id": k}, envelope("items", "u" if before else "c", before, row)

    def run(self):
        while not self.done.is_set():
            for _ in range(max(1, self.rate // 50)):
                key, value = self.message()
                self.kcat.stdin.write(f"{json.dumps(key)}\x01{value}\n")
            self.kcat.stdin.flush()
            time.sleep(0.02)

    def finish(self):
        self.done.set()
        self.join()
        self.kcat.stdin.close()
        check(self.kcat.wait(60) == 0, "the producer failed")


class Group:
    def __init__(self, target, producer, broker, strategy, appliers=1):
        self.target, self.producer, self.broker = target, producer, broker
        self.strategy, self.appliers = strategy, appliers
        self.members = []

    def start(self):
        args = ["run", *self.broker.source(self.producer.topic), *self.target.args(), "--group", self.producer.topic,
                "--set", f"source.kafka.properties.session.timeout.ms={SESSION_MS}", "--set", "source.kafka.properties.heartbeat.interval.ms=500",
                "--set", f"source.kafka.properties.partition.assignment.strategy={self.strategy}",
                "--set", "tables.audit.primary_key=none", "--set", "batch.interval=20ms", "--set", "batch.rows=200",
                "--set", f"target.appliers={self.appliers}"]
        self.members.append(Instance(*args))
        return self.members[-1]

    def audit_count(self):
        if "audit" not in self.target.tables():
            return 0
        return self.target.query(f'SELECT count(*) FROM "{self.target.schema}".audit')[0][0]

    def end_by(self, member, number, codes=(0,)):
        self.members.remove(member)
        member.signal(number)
        code = member.wait(40)
        check(code in codes, f"ended with {code} after signal {number}\n{member.tail()}")

    def all_alive(self):
        for member in self.members:
            check(member.is_running(), f"ended by itself with {member.proc.returncode}\n{member.tail()}")

    def expect_everything(self):
        """The producer has stopped: within a while all is there, exactly once."""
        target, producer = self.target, self.producer
        place = f'"{target.schema}"'
        have = lambda: (self.audit_count(), sorted(target.query(f"SELECT id, v, name FROM {place}.items")))
        want = (producer.seq, sorted((r["id"], r["v"], r["name"]) for r in producer.rows.values()))
        end = time.monotonic() + 60
        while have() != want and time.monotonic() < end:
            self.all_alive()
            time.sleep(0.2)
        count, rows = have()
        seqs = [r[0] for r in target.query(f"SELECT seq FROM {place}.audit")]
        twice = len(seqs) - len(set(seqs))
        lost = set(range(1, producer.seq + 1)) - set(seqs)
        check(count == producer.seq and not twice and not lost, f"audit: {count} of {producer.seq}, {twice} twice, lost {sorted(lost)[:10]}")
        check(rows == want[1], f"items: {len(set(rows) ^ set(want[1]))} rows differ: {sorted(set(rows) ^ set(want[1]))[:6]}")
        check(not target.control("dead_letter", "id, message"), "there are dead letters")
        for member in list(self.members):
            self.end_by(member, signal.SIGTERM)


def hold_lock(admin, seconds):
    """Nobody writes the tables for so long: batches wait, and a rebalance finds them under way."""
    held = admin.lock_for_writers("items")
    time.sleep(seconds)
    held.end()


def come_and_go(target, instances, strategy, seconds, seed, appliers=1, locks=False):
    broker, rnd, admin = Broker(), random.Random(seed), admin_of(target)
    producer = Producer(broker, seed)
    group = Group(target, producer, broker, strategy, appliers)
    for _ in range(instances):
        group.start()
    wait_for("nothing arrives", lambda: group.audit_count() > 500)
    end = time.monotonic() + seconds * (4 if ALL else 1 if target.name == "postgresql" else 0.6)
    kills = stops = 0
    while time.monotonic() < end or not (kills and stops):
        if locks:
            threading.Thread(target=hold_lock, args=(admin, rnd.uniform(1.5, 4)), daemon=True).start()
        time.sleep(rnd.uniform(0.2, 2.5))
        group.all_alive()
        member = rnd.choice(group.members)
        if rnd.random() < 0.5:
            group.end_by(member, signal.SIGKILL, (-signal.SIGKILL,))
            kills += 1
        else:
            group.end_by(member, signal.SIGTERM)
            stops += 1
        time.sleep(rnd.choice((0, 0.1, 1)))
        group.start()
    producer.finish()
    group.expect_everything()
    check(kills > 0 and stops > 0, f"{kills} kills, {stops} stops")


def test_two_instances_come_and_go_cooperatively(target):
    come_and_go(target, 2, "cooperative-sticky", 10, 1)


def test_two_instances_come_and_go_eagerly(target):
    come_and_go(target, 2, "range", 10, 2)


def test_four_instances_come_and_go_cooperatively(target):
    come_and_go(target, 4, "cooperative-sticky", 10, 3)


def test_four_instances_with_two_appliers_come_and_go_eagerly(target):
    come_and_go(target, 4, "roundrobin", 10, 4, appliers=2)


def test_instances_come_and_go_while_locks_hold_up_the_batches(target):
    come_and_go(target, 3, "cooperative-sticky", 10, 5, locks=True)


def test_partitions_are_taken_while_the_batches_wait(target):
    """The first instance waits for room for its next batch when the group takes half of its partitions."""
    broker, admin = Broker(), admin_of(target)
    producer = Producer(broker, 6)
    group = Group(target, producer, broker, "range")
    group.start()
    wait_for("nothing arrives", lambda: group.audit_count() > 500)
    for _ in range(4 if ALL else 2):
        holder = threading.Thread(target=hold_lock, args=(admin, 5), daemon=True)
        holder.start()
        time.sleep(2.5)
        other = group.start()
        other.expect_log("partition assigned", 40)
        holder.join()
        time.sleep(1)
        group.all_alive()
        group.end_by(other, signal.SIGTERM)
    producer.finish()
    group.expect_everything()


# ---- One that sleeps ----

def put_to_sleep(admin, member, in_transaction):
    """SIGSTOP, between two transactions or in the midst of one: there the statement waits for a lock, and its answer finds the client asleep."""
    for _ in range(60):
        holder = None
        if in_transaction:
            holder = threading.Thread(target=hold_lock, args=(admin, 1.5), daemon=True)
            holder.start()
            time.sleep(1)
        member.signal(signal.SIGSTOP)
        if holder:
            holder.join()
        if has_open_transaction(admin, member) == in_transaction:
            return
        member.signal(signal.SIGCONT)
        time.sleep(0.03)
    check(False, "it cannot be stopped at the wanted place")


def sleeper(target, strategy, in_transaction):
    """One instance sleeps past its session; the other takes over; the sleeper wakes and must do no harm."""
    broker, admin = Broker(), admin_of(target)
    producer = Producer(broker, 5)
    group = Group(target, producer, broker, strategy)
    first, second = group.start(), group.start()
    for member in (first, second):
        member.expect_log("partition assigned")
    wait_for("nothing arrives", lambda: group.audit_count() > 500)
    for _ in range(3 if ALL else 1):
        assigned = second.log.count("partition assigned")
        put_to_sleep(admin, first, in_transaction)
        if in_transaction: # its locks may hold up the other as long as the server keeps the transaction
            time.sleep(SESSION_MS / 1000 + 2)
        else:
            wait_for("the other does not take over", lambda: second.log.count("partition assigned") > assigned)
            count = group.audit_count()
            wait_for("the other does not go on", lambda: group.audit_count() > count + 1000)
        first.signal(signal.SIGCONT)
        time.sleep(3)
        check(first.is_running() or first.proc.returncode in (0, 8), f"the sleeper ended with {first.proc.returncode}\n{first.tail()}")
        if not first.is_running():
            group.members.remove(first)
            first = group.start()
            first.expect_log("partition assigned")
    producer.finish()
    group.expect_everything()


def test_a_sleeper_is_fenced_cooperatively(target):
    sleeper(target, "cooperative-sticky", False)


def test_a_sleeper_is_fenced_eagerly(target):
    sleeper(target, "range", False)


def test_a_sleeper_with_an_open_transaction_does_no_harm(target):
    sleeper(target, "cooperative-sticky", True)


if __name__ == "__main__":
    main()
