#!/usr/bin/env python3
"""Kill it anywhere, start it anywhere: no row lost, none applied twice, none going back in time.

    test_kill.py sqlite|postgresql|mariadb|mysql [KILLS [SEED]]

One long stream (stream.py) is loaded while the program is killed with SIGKILL, at every fault point that its source names and at random times.
After each kill every table is compared with what the stored positions say that it must hold: the model replays the stream up to them.
Several appliers leave their lanes at different positions; then a row must be what one of them says. Settings that must not matter (the size
of batches, the number of appliers, run or backfill) change from start to start.

But on SQLite, three quarters of the kills read files and the rest Kafka, where twelve partitions mix."""
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback

from admin import admin_of
from e2e import ALL, HAS_FAULTS, HERE, TARGETS, Broker, Failure, Instance, check, end_all, wait_for
from stream import KEYS, PARTITIONS, TABLES, Generator, Model

SOURCE = os.path.join(HERE, "..", "..", "src")
FILES = 6
# Where DDL commits by itself: what goes before it.
COMMITS_DDL = ("mariadb", "mysql")
BEFORE_DDL = "before_ddl"
# This stream does not come to them; test_ddl_events.py and test_status_topic.py kill there.
ELSEWHERE = ("source_ddl", "status_")
ENOUGH = 10000 # events that the next start will hardly come to the end of


def fault_points(target):
    points = set()
    for folder, _, names in os.walk(SOURCE):
        for name in names:
            if name.endswith(".c"):
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    points.update(re.findall(r'MR_FAULT\("(\w+)"\)', f.read()))
    points = {p for p in points if not any(word in p for word in ELSEWHERE)}
    return sorted(points if target.name in COMMITS_DDL else points - {BEFORE_DDL})


# ---- Where the stream is read from ----

class FileSource:
    """The stream cut into files, which are read one after another. A part is a file; its position is its line."""

    def __init__(self, generator, work):
        self.generator, events = generator, generator.events()
        cuts = [len(events) * k // FILES for k in range(FILES + 1)]
        self.parts = {k: events[cuts[k]:cuts[k + 1]] for k in range(FILES)}
        self.paths = []
        for k, part in self.parts.items():
            path = os.path.join(work, f"stream-{k}.jsonl")
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(e.line(i) + "\n" for i, e in enumerate(part))
            self.paths.append(path)

    def extend(self):
        """The last file grows."""
        last, events = self.parts[FILES - 1], self.generator.events()
        with open(self.paths[-1], "a", encoding="utf-8") as f:
            f.writelines(e.line(i) + "\n" for i, e in enumerate(events, len(last)))
        last.extend(events)

    def args(self, only=None): # pylint: disable=unused-argument
        return self.paths

    def part_of(self, topic, _partition):
        return int(re.search(r"/stream-(\d+)\.jsonl", topic)[1])

    @staticmethod
    def group(_table, _row):
        return 0

    def check(self, vector):
        """A file is begun when the one before is done."""
        for k in range(1, FILES):
            check(vector[k] == 0 or vector[k - 1] == len(self.parts[k - 1]), f"file {k} was begun before {k - 1} was done: {vector}")


class KafkaSource:
    """One topic a table, so that what has to stay in order is in one partition. A part is a partition."""

    def __init__(self, generator, broker, prefix):
        self.generator, self.broker, self.prefix = generator, broker, prefix
        self.parts = {(t, p): [] for t in TABLES for p in range(self.partitions(t))}
        for t in TABLES:
            broker.create(f"{prefix}.{t}", self.partitions(t))
        self.extend()

    def extend(self):
        grown = {place: [] for place in self.parts}
        for ev in self.generator.events():
            grown[ev.topic.rsplit(".", 1)[1], ev.partition].append(ev)
        for (t, p), events in grown.items():
            self.parts[t, p].extend(events)
            if events:
                self.broker.produce(f"{self.prefix}.{t}", p, [(e.key_text(), e.value_text()) for e in events])

    @staticmethod
    def partitions(table):
        return 1 if table in ("session", "log") else PARTITIONS

    def args(self, only=None):
        return self.broker.source(*(f"{self.prefix}.{t}" for t in TABLES if only in (None, t)))

    def part_of(self, topic, partition):
        return topic.rsplit(".", 1)[1], partition

    @staticmethod
    def group(table, row):
        """Parts are independent: what is compared as a whole is one partition's share."""
        return dict(row).get("seq", 0) % PARTITIONS if table == "audit" else 0

    def check(self, vector):
        pass


# ---- The target, as it is ----

def control(target, table, columns):
    """A control table; nothing if the program was killed before it was made."""
    try:
        return target.control(table, columns)
    except sqlite3.OperationalError as why:
        check("no such table" in str(why), str(why))
        return []


def read_positions(target, source):
    """Vectors (part -> position), from the least to the most advanced lane. All lanes take batches in the same order, so sorting each part's
    positions gives the lanes; a part whose rows are still for fewer lanes stands where its most advanced one does."""
    found = {p: [] for p in source.parts}
    for topic, partition, position in control(target, "position", 'topic, "partition", position'):
        found[source.part_of(topic, partition)].append(max(position, 0))
    lanes = max(map(len, found.values()))
    for positions in found.values():
        positions.sort()
        positions += (positions[-1:] or [0]) * (lanes - len(positions))
    return [{p: positions[k] for p, positions in found.items()} for k in range(lanes)]


def read_table(target, table):
    """Rows without their nulls."""
    is_file = target.name == "sqlite"
    place = f'"{table}"' if is_file else f'"{target.schema}"."{table}"'
    db = target.connect() if is_file else target.db
    cur = db.cursor()
    cur.execute(f"SELECT * FROM {place}")
    found, columns = cur.fetchall(), [d[0] for d in cur.description]
    cur.close()
    if is_file:
        db.close()
    tags = columns.index("tags") if "tags" in columns else None
    rows = []
    for values in found:
        row = {c: v for c, v in zip(columns, values) if v is not None}
        if tags is not None and isinstance(row.get("tags"), str):
            row["tags"] = json.loads(row["tags"])
        rows.append(row)
    return rows


def without_nulls(row):
    return None if row is None else {c: v for c, v in row.items() if v is not None}


# ---- Holding the target against the model ----

def compare_keyed(table, rows, models, problems):
    have = {}
    for row in rows:
        key = tuple(row.get(c) for c in KEYS[table])
        if key in have:
            problems.append(f"{table} {key}: twice")
        have[key] = row
    for key in set(have).union(*(m.keyed[table] for m in models)):
        allowed = [without_nulls(m.keyed[table].get(key)) for m in models]
        if have.get(key) not in allowed:
            problems.append(f"{table} {key}: wanted {allowed}, holds {have.get(key)}")


def bag_of(rows):
    bag = {}
    for row in rows:
        frozen = tuple(sorted(row.items()))
        bag[frozen] = bag.get(frozen, 0) + 1
    return bag


def difference(have, want):
    more = {k: n - want.get(k, 0) for k, n in have.items() if n != want.get(k, 0)}
    more.update({k: -n for k, n in want.items() if k not in have})
    return f"{len(more)} differ; too many (+) or too few (-): {dict(list(more.items())[:5])}"


def split(bag, group, table):
    groups = {}
    for row, n in bag.items():
        groups.setdefault(group(table, row), {})[row] = n
    return groups


def compare_bag(table, group, have, wanted, problems):
    """A table without key is in one lane, so it is what that lane says, as a whole."""
    have, wanted = split(have, group, table), [split(w, group, table) for w in wanted]
    for g in set(have).union(*wanted):
        if have.get(g, {}) not in [w.get(g, {}) for w in wanted]:
            problems.append(f"{table}: {difference(have.get(g, {}), wanted[-1].get(g, {}))}")


def compare(target, source, models):
    tables = target.tables()
    problems = []
    for table in KEYS:
        compare_keyed(table, read_table(target, table) if table in tables else [], models, problems)
    for table in ("audit", "log"):
        rows = read_table(target, table) if table in tables else []
        compare_bag(table, source.group, bag_of(rows), [m.bags[table] for m in models], problems)
    dead = {}
    for topic, partition, position in control(target, "dead_letter", 'position_topic, "partition", position'):
        place = source.part_of(topic, partition), position - 1
        dead[place] = dead.get(place, 0) + 1
    for place in set(dead).union(*(m.dead for m in models)):
        allowed = [n for m in models for n in ((0, 1) if place in m.maybe_dead else (m.dead.get(place, 0),))]
        if dead.get(place, 0) not in allowed:
            problems.append(f"dead_letter {place}: {dead.get(place, 0)} times")
    return problems


class Campaign:
    """One target, one source, one stream; kills until enough."""

    def __init__(self, target, source, rnd, label):
        self.target, self.source, self.rnd, self.label = target, source, rnd, label
        self.admin = None if target.name == "sqlite" else admin_of(target)
        self.model = Model(refuses=target.name != "sqlite")
        self.vector = {p: 0 for p in source.parts}
        self.refusing = target.name == "sqlite"
        self.kills = 0
        self.last = None

    def left(self):
        return sum(len(p) for p in self.source.parts.values()) - sum(self.vector.values())

    # ---- checking ----

    def advance(self, model, frm, to):
        for part, events in self.source.parts.items():
            check(to[part] >= frm[part], f"{part} went back from {frm[part]} to {to[part]}")
            check(to[part] <= len(events), f"{part} is at {to[part]} of {len(events)}")
            for at in range(frm[part], to[part]):
                model.apply(events[at], (part, at))

    def verify(self):
        """The client is dead; the server may still be at its last statement, and no snapshot hides a TRUNCATE, or a table that is being altered."""
        if self.admin:
            wait_for("the server goes on with the work of a dead client", lambda: not self.admin.sessions(), 60, 0.01)
        self.make_refuse(self.compare_all()[-1])

    def compare_all(self):
        vectors = read_positions(self.target, self.source) or [dict(self.vector)]
        self.advance(self.model, self.vector, vectors[0])
        self.vector = vectors[0]
        models = [self.model]
        for before, vector in zip(vectors, vectors[1:]):
            if vector != before:
                models.append(models[-1].fork())
                self.advance(models[-1], before, vector)
        for vector in vectors:
            self.source.check(vector)
        problems = compare(self.target, self.source, models)
        check(not problems, f"{len(problems)} differences\n" + "\n".join(problems[:10]))
        return vectors

    def make_refuse(self, vector):
        """From now on the target refuses rows that nothing before it minds."""
        if self.refusing or "customers" not in self.target.tables():
            return
        past = [e for part, events in self.source.parts.items() for e in events[:vector[part]] if e.refused]
        check(not past, "the constraint comes too late")
        self.target.execute(f'ALTER TABLE "{self.target.schema}".customers ADD CONSTRAINT few CHECK (qty <> 666)')
        self.refusing = True

    # ---- killing ----

    def start(self, fault=None, appliers=1):
        rnd = self.rnd
        rows = rnd.choice((7, 20, 50, 50, 120)) if self.refusing else 1
        args = ["backfill" if fault or self.label == "kafka" or rnd.random() < 0.5 else "run",
                *self.source.args(None if self.refusing else "customers"), *self.target.args(),
                "--set", f"batch.rows={rows}", "--set", "batch.interval=5ms", "--set", "target.bulk_rows=15",
                "--set", "tables.audit.primary_key=none", "--set", "dead_letters.max_rate=0", "--log-level", "info"]
        if self.target.name != "sqlite":
            args += ["--set", f"target.appliers={appliers}"]
        env = {"MILLRACE_FAULT": fault} if fault else None
        self.last = Instance(*args, env=env)
        return self.last

    def kill_at(self, point, appliers):
        """At the n-th passing of a fault point. DDL is rarer than batches, claims come once. False if it was done before."""
        n = 1 if point == "after_claim" or not self.refusing else self.rnd.randrange(1, 3) if "ddl" in point else self.rnd.randrange(1, 20)
        instance = self.start(f"{point}:{n}", appliers)
        code = instance.wait(60)
        check(code in (0, -signal.SIGKILL), f"{point}:{n} did not kill it, exit code {code}\n{instance.tail()}")
        return code != 0

    def kill_sometime(self, appliers):
        """At any time, but mostly when it is at work. False if it was done before."""
        instance = self.start(None, appliers)
        if self.rnd.random() < 0.8:
            instance.expect_log("partition assigned")
        time.sleep(self.rnd.uniform(0, 0.2))
        if not instance.is_running():
            check(instance.proc.returncode == 0, f"ended by itself with {instance.proc.returncode}\n{instance.tail()}")
            return False
        instance.kill()
        return True

    def stop_in_order(self, appliers):
        """Not a kill: SIGTERM. It may come while the lanes that a kill left behind still catch up."""
        instance = self.start(None, appliers)
        instance.expect_log("target connected")
        time.sleep(self.rnd.uniform(0, 0.2))
        instance.stop()

    def one(self, point, appliers):
        step = f"{self.label}: kill {self.kills + 1} at {point or 'random'}, {appliers} appliers"
        try:
            killed = self.kill_at(point, appliers) if point else self.kill_sometime(appliers)
            self.verify()
            if not killed: # only having read everything is a reason to end
                check(self.left() == 0 or not self.refusing, f"it ended, and {self.left()} events are left\n{self.last.tail()}")
                self.source.extend()
                return self.one(point, appliers)
            self.kills += 1
            if self.left() < ENOUGH:
                self.source.extend()
            if self.rnd.random() < 0.08:
                step = "stopping in order after " + step
                self.stop_in_order(appliers)
                self.verify()
            return None
        except Failure as why:
            raise Failure(f"{step}: {why}\n{self.last.args}\n--- last log\n{self.last.tail()}") from None

    def run(self, kills, lanes_too):
        points = fault_points(self.target) if HAS_FAULTS else []
        while not self.refusing: # small steps until the table is there whose rows the target is to refuse
            self.one("after_ddl" if points else None, 1)
        plan = [points[k // 2 % len(points)] if points and k % 2 == 0 else None for k in range(kills - self.kills)]
        self.rnd.shuffle(plan)
        for point in plan:
            self.one(point, self.rnd.choice((1, 2, 3, 3, 16)) if lanes_too and self.rnd.random() < 0.3 else 1)

    def finish(self):
        """The rest at once; everything must be there."""
        instance = Instance("backfill", *self.source.args(), *self.target.args(), "--set", "tables.audit.primary_key=none", "--set",
                            "batch.rows=2000")
        self.last = instance
        instance.expect(0, 300)
        self.verify()
        check(self.left() == 0, f"{self.left()} events were not read")


def campaign(name, target, source, kills, seed, lanes_too):
    began = time.monotonic()
    c = Campaign(target, source, random.Random(seed), name)
    c.run(kills, lanes_too)
    done, left = sum(c.vector.values()), c.left()
    c.finish()
    print(f"ok {name}: {c.kills} kills over {done} events, {left} more at once, {time.monotonic() - began:.0f} s", flush=True)


def main():
    kind = sys.argv[1] if len(sys.argv) > 1 else "sqlite"
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else (200 if kind == "postgresql" else 50) * (4 if ALL else 1)
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**6) if ALL else 1
    print(f"seed {seed}", flush=True)
    work = tempfile.mkdtemp(prefix="millrace-kill-")
    targets = []
    try:
        if kind == "sqlite":
            targets.append(TARGETS[kind]())
            campaign("files", targets[-1], FileSource(Generator(seed, kills * 1100 + 10000, 2000), work), kills, seed, False)
        else:
            by_kafka = kills // 4
            targets.append(TARGETS[kind]())
            generator = Generator(seed, (kills - by_kafka) * 1200 + 10000)
            campaign("files", targets[-1], FileSource(generator, work), kills - by_kafka, seed, True)
            targets.append(TARGETS[kind]())
            generator = Generator(seed + 1, by_kafka * 1200 + 10000)
            campaign("kafka", targets[-1], KafkaSource(generator, Broker(), f"kill{os.getpid()}"), by_kafka, seed + 1, True)
    except Failure as why:
        print(f"FAILED (seed {seed}): {why}", flush=True)
        sys.exit(1)
    except Exception: # noqa: BLE001: a fault of the test itself; its processes must still be ended
        traceback.print_exc()
        sys.exit(1)
    finally:
        end_all()
        for target in targets:
            target.close()
        shutil.rmtree(work, ignore_errors=True)


main()
