#!/usr/bin/env python3
"""Arrays as tables, by rows of every shape: scalars, documents, arrays and nulls under one name, names that collide, keys that change, rows deleted,
marked, emptied and read anew. Whatever the size of the batches, the number of appliers and the moment of a kill, the tables are those of a load that
takes row by row; and where names and types do not depend on the order, those of a load of the last state.

    test_array_shapes.py sqlite|postgresql|mariadb [SEED]"""
import json
import os
import random
import re
import sys
import tempfile
from decimal import Decimal

from e2e import ALL, HAS_FAULTS, Failure, check, millrace
from harness import TARGETS

WILD = ["a", "b", "a_b", "a__b", "_pos", "value", "id", "_id", "a.b", "$x", "", "A", "é", "value__value", "_pos2"]
TAME = ["a", "b", "x"]
KILLS = ["after_apply", "before_positions", "before_commit", "after_commit", "after_ddl_step", "after_ddl"]


def a_scalar(rng, is_tame):
    return rng.choice([1, 2, 7, -3, 2.5, "x", "y", "", None, 10**15] + ([] if is_tame else [True]))


def a_value(rng, is_tame, depth=0):
    kind = rng.random()
    if depth > 4 or kind < 0.35:
        return a_scalar(rng, is_tame)
    if kind < 0.7:
        return [a_value(rng, is_tame, depth + 1) for _ in range(rng.randrange(4))]
    return a_row(rng, is_tame, depth + 1, 4)


def a_row(rng, is_tame, depth=0, most=5):
    return {rng.choice(TAME if is_tame else WILD): a_value(rng, is_tame, depth) for _ in range(rng.randrange(most))}


class Stream:
    """Debezium's events of one table with the key `code`. `tells_before`: a key that changes is seen in the image before."""

    def __init__(self, rng, count, is_tame, tells_before, keys=5):
        self.rng, self.is_tame, self.tells_before, self.keys = rng, is_tame, tells_before, [str(i) for i in range(keys)]
        self.rows, self.lines = {}, []
        while len(self.lines) < count:
            self.step()

    def put(self, op, after=None, before=None, key=None):
        value = None if op is None else json.dumps({"op": op, "before": before if self.tells_before else None, "after": after,
                                                    "source": {"db": "d", "table": "t", "ts_ms": 1}, "ts_ms": 1})
        self.lines.append(json.dumps({"topic": "p.d.t", "partition": 0, "offset": len(self.lines),
                                      "key": None if key is None else json.dumps({"code": key}), "value": value}))

    def step(self):
        rng, key, what = self.rng, self.rng.choice(self.keys), self.rng.random()
        have = self.rows.get(key)
        free = [k for k in self.keys if k not in self.rows]
        if what < 0.01:
            self.put("t")
            self.rows = {}
        elif have is not None and what < 0.15:
            self.put("d", before=self.rows.pop(key), key=key)
            if rng.random() < 0.5:
                self.put(None, key=key)
        elif have is not None and free and self.tells_before and what < 0.35:
            new = rng.choice(free)
            row = dict(have) if rng.random() < 0.5 else a_row(rng, self.is_tame)
            row["code"] = new
            self.put("u", row, self.rows.pop(key), new)
            self.rows[new] = row
        else:
            row = {**a_row(rng, self.is_tame), "code": key}
            self.put("u" if have is not None else rng.choice("cr"), row, have, key)
            self.rows[key] = row

    def last_state(self):
        self.lines = []
        for key, row in self.rows.items():
            self.put("r", row, key=key)
        return self.lines


def spelled(cell):
    """A column may be of doubles in one load and of texts in another; a server spells 1000000000000000 as 1e15 in the former."""
    text = str(cell.value)
    return format(Decimal(text), "f") if re.fullmatch(r"-?\d+(\.\d+)?[eE][+-]?\d+", text) and "text" not in cell.native else text


def content(target):
    """Rows that hold something, by table; a substitute's hash is of the database's name too, which differs from load to load."""
    out = {}
    for name in target.tables():
        rows = [repr(sorted((c, spelled(v)) for c, v in row.items() if v.value is not None)) for row in target.rows(name)]
        if rows:
            out.setdefault(re.sub(r"_[0-9a-f]{8}(?=_|$)", "_HASH", name), []).extend(rows)
    return {name: sorted(rows) for name, rows in out.items()}, sorted(d[1] for d in target.control("dead_letter", "id, code"))


def load(name, lines, settings, kills=()):
    target = TARGETS[name]()
    try:
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "events.jsonl")
            with open(path, "w", encoding="utf-8") as f:
                f.write("".join(line + "\n" for line in lines))
            args = ["backfill", path, *target.args(), "--set", "unwrap.array.encoding=table"]
            args += [a for s in settings for a in ("--set", s)]
            for point, time in kills:
                millrace(*args, check=False, env={"MILLRACE_FAULT": f"{point}:{time}"})
            millrace(*args)
        return content(target)
    finally:
        target.close()


def compare(what, want, have):
    lines = []
    for name in sorted(set(want[0]) | set(have[0])):
        a, b = want[0].get(name, []), have[0].get(name, [])
        lines += [f"{name}: lacks {r}" for r in a if r not in b][:3] + [f"{name}: has {r}" for r in b if r not in a][:3]
        lines += [f"{name}: {len(b)} rows, wanted {len(a)}"] if len(a) != len(b) else []
    lines += [f"dead letters {have[1]}, wanted {want[1]}"] if want[1] != have[1] else []
    if lines:
        raise Failure(what + "\n" + "\n".join(lines[:12]))


def settings_of(rng, policies):
    tells_before = rng.random() < 0.6
    settings = ["types.policy=" + rng.choice(policies)] + (["tables.t.primary_key=[code]"] if tells_before else [])
    settings += ["tables.t.missing=keep"] if rng.random() < 0.3 else []
    settings += ["tables.t.delete=soft"] if rng.random() < 0.2 else []
    return settings, tells_before


def runs(name):
    """How many streams; a table costs a server much more than SQLite."""
    return 30 if ALL else 8 if name == "sqlite" else 3


def loads(name):
    """Ways to load that must not matter."""
    yield ["batch.rows=5000"], ()
    yield ["batch.rows=7"], ()
    if name != "sqlite":
        yield ["batch.rows=20", "target.appliers=3"], ()
        yield ["batch.rows=5000", "target.bulk_rows=1"], ()


def test_batches_and_appliers_do_not_matter(name, seed):
    for i in range(runs(name)):
        rng = random.Random(seed + i)
        settings, tells_before = settings_of(rng, ["text", "json", "variant", "widen"])
        stream = Stream(rng, rng.choice([15, 60]), False, tells_before)
        want = load(name, stream.lines, settings + ["batch.rows=1"])
        for ways, _ in loads(name):
            compare(f"seed {seed + i}, {settings}, {ways}", want, load(name, stream.lines, settings + ways))


def test_the_last_state_is_that_of_a_load_from_scratch(name, seed):
    for i in range(runs(name)):
        rng = random.Random(seed + i)
        tells_before = rng.random() < 0.6
        settings = ["types.policy=text"] + (["tables.t.primary_key=[code]"] if tells_before else [])
        stream = Stream(rng, 60, True, tells_before)
        have = load(name, stream.lines, settings)
        compare(f"seed {seed + i}, {settings}", load(name, stream.last_state(), settings), have)


def test_kills_do_not_matter(name, seed):
    if not HAS_FAULTS:
        return
    for i, point in enumerate(KILLS if ALL or name == "sqlite" else KILLS[2:4]):
        rng = random.Random(seed + i)
        settings = ["types.policy=text", "tables.t.primary_key=[code]"] + (["tables.t.missing=keep"] if i % 2 else [])
        stream = Stream(rng, 60, False, True)
        lanes = [] if name == "sqlite" else ["target.appliers=3"]
        kills = [(point, 1 + i % 2), ("before_commit", 2), (point, 2)]
        compare(f"seed {seed + i}, {settings}, {kills}", load(name, stream.lines, settings + ["batch.rows=1"]),
                load(name, stream.lines, settings + ["batch.rows=10", *lanes], kills))


def main():
    check(len(sys.argv) > 1, __doc__)
    failed = 0
    for test_name, test in [(n, f) for n, f in globals().items() if n.startswith("test_")]:
        try:
            test(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
            print(f"ok {test_name}", flush=True)
        except Failure as why:
            failed += 1
            print(f"FAILED {test_name}: {why}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
