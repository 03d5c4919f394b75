#!/usr/bin/env python3
"""Partial updates of what lies within one column, through the whole program: test_within.py sqlite|postgresql|mariadb|mysql. Documents are kept here as
MongoDB would keep them, and every table must be what the documents are."""
import json
import os
import random
import signal
import sys
from decimal import Decimal

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
sys.path.insert(0, HERE)
from harness import TARGETS, millrace  # noqa: E402
from test_arrays import Pipe, equal, natives  # noqa: E402

ENCODINGS = ("array", "json")


def change(sets=None, removed=None, cuts=None):
    return {"updatedFields": json.dumps(sets or {}), "removedFields": removed,
            "truncatedArrays": [{"field": f, "size": n} for f, n in (cuts or {}).items()] or None}


# ---- Single rules ----

def test_elements_members_and_lengths_of_arrays(cls):
    for encoding in ENCODINGS:
        with Pipe(cls, f"unwrap.array.encoding={encoding}") as p:
            p.load({"_id": 1, "a": [1, 2, 3], "k": "old", "l": [{"sku": "x", "n": 1}, {"sku": "y"}], "d": {"t": ["p", "q"], "z": 1}})
            p.load((1, change({"a.1": 20, "k": "new", "l.1.n": 7, "l.2": {"sku": "z"}, "d.t.0": "P", "d.z": 2}, ["l.0.n"])))
            equal(p.why(), [])
            equal(p.column("a")[1], [1, 20, 3])
            equal(p.column("l")[1], [{"sku": "x"}, {"sku": "y", "n": 7}, {"sku": "z"}])
            equal(p.column("d_t")[1], ["P", "q"])
            equal([str(p.rows()[1][c]) for c in ("k", "d_z")], ["new", "2"])
            p.load((1, change({"a.5": 6}, None, {"l": 1})), (1, change(None, None, {"a": 5, "d.t": 0})), (1, change({"d.t.0": "r"}, ["a.0"])))
            equal(p.why(), [])
            equal(p.column("a")[1], [None, 20, 3, None, None])
            equal(p.column("l")[1], [{"sku": "x"}])
            equal(p.column("d_t")[1], ["r"])
            if natives(cls) and encoding == "array":
                equal([p.type(c) for c in ("a", "d_t", "l")], ["bigint[]", "text[]", "jsonb"])


def test_members_of_documents_that_are_one_column(cls):
    for encoding in (*ENCODINGS, "document"):
        with Pipe(cls, "unwrap.flatten.struct=false", f"unwrap.array.encoding={encoding}") as p:
            p.load({"_id": 1, "d": {"city": "Ulm", "geo": {"lat": 1}, "l": [1, {"x": 2}], "m": {"2": "two"}}, "k": 1})
            p.load((1, change({"d.city": "Bonn", "d.geo.alt": 1.5, "d.l.1.x": 3, "d.l.2": "new", "d.m.2": "zwei", "k": 2}, ["d.geo.lat"])))
            equal(p.why(), [])
            array = {"_0": 1, "_1": {"x": 3}, "_2": "new"} if encoding == "document" else [1, {"x": 3}, "new"]
            equal(p.column("d")[1], {"city": "Bonn", "geo": {"alt": 1.5}, "l": array, "m": {"2": "zwei"}})
            p.load((1, change(None, ["d.city", "d.nothing.there"], {"d.l": 1})))
            equal(p.column("d")[1], {"geo": {"alt": 1.5}, "l": {"_0": 1} if encoding == "document" else [1], "m": {"2": "zwei"}})
            p.load((7, change({"new.in.here": 5, "k": 3}, ["new.gone"])))
            equal(p.column("new")[7], {"in": {"here": 5}})
            equal(p.column("d")[7], None)
            equal(p.why(), [])


def test_all_digits_stay(cls):
    doc = '{"_id": 1, "l": [{"a": 9007199254740993, "b": 1.5}, {"c": 2}]}'
    for encoding in ENCODINGS:
        with Pipe(cls, f"unwrap.array.encoding={encoding}") as p:
            p.load(doc).load((1, {"updatedFields": '{"l.1.c": 9223372036854775807, "l.2": {"$numberDecimal": "1.10"}}'}))
            equal(p.why(), [])
            have = json.loads(p.rows()[1]["l"], parse_float=Decimal)
            equal(have, [{"a": 9007199254740993, "b": Decimal("1.5")}, {"c": 9223372036854775807}, "1.10"])


def test_scalars_of_all_types_in_native_arrays(cls):
    doc = {"_id": 1, "b": [True], "f": [0.1, 1e300], "m": [{"$numberDecimal": "1.50"}], "t": ["", "a\"b\\c,{}", "ä", None],
           "z": [{"$date": -1}, {"$date": 1580122032311}], "x": [{"$binary": "AQID", "$type": "00"}], "i": [-9223372036854775808, 1]}
    later = {"b.1": False, "f.0": 2.5, "m.1": {"$numberDecimal": "-0.001"}, "t.1": "NULL", "z.0": {"$date": 5}, "x.1": {"$binary": "", "$type": "00"}, "i.1": 2}
    whole = {**doc, "b": [True, False], "f": [2.5, 1e300], "m": [{"$numberDecimal": "1.50"}, {"$numberDecimal": "-0.001"}], "t": ["", "NULL", "ä", None],
             "z": [{"$date": 5}, {"$date": 1580122032311}], "x": [{"$binary": "AQID", "$type": "00"}, {"$binary": "", "$type": "00"}],
             "i": [-9223372036854775808, 2]}
    for encoding in ENCODINGS:
        with Pipe(cls, f"unwrap.array.encoding={encoding}") as p, Pipe(cls, f"unwrap.array.encoding={encoding}") as q:
            p.load(doc).load((1, change(later)))
            q.load(whole)
            equal(p.why(), [])
            equal({k: json.loads(v) for k, v in p.rows()[1].items()}, {k: json.loads(v) for k, v in q.rows()[1].items()})
            p.load({**whole, "_id": 2}, (2, change({"t.0": "same"})))  # nothing has to be read
            equal(json.loads(p.rows()[2]["t"]), ["same", "NULL", "ä", None])


def test_values_that_do_not_fit_are_for_the_policy(cls):
    first, text, fraction = {"_id": 1, "a": [1, 2]}, (1, change({"a.1": "x"})), (1, change({"a.1": 2.5}))
    with Pipe(cls, "unwrap.array.encoding=array") as p:
        p.load(first).load(text)
        equal(p.dead(), ["type_conflict"])
        equal(p.column("a")[1], [1, 2])
        p.load(fraction)
        equal(p.column("a")[1], [1, 2.5])
        if natives(cls):
            equal(p.type("a"), "double precision[]")
        p.load((1, change({"a.0": {"k": 1}})), (1, change({"a.0.k": 1})))
        equal(p.dead(), ["type_conflict"] * 3)
    with Pipe(cls, "unwrap.array.encoding=array", "types.policy=strict") as p:
        p.load(first).load(text, fraction, (1, change({"a.0": 7})))
        equal(p.dead(), ["type_conflict"] * 2)
        equal(p.column("a")[1], [7, 2])
    with Pipe(cls, "unwrap.array.encoding=array", "types.policy=json") as p:
        p.load(first).load(text, (1, change({"a.3": {"k": [1]}})), (1, change({"a.3.k.0": 2})))
        equal(p.why(), [])
        equal(p.column("a")[1], [1, "x", None, {"k": [2]}])
    with Pipe(cls, "unwrap.array.encoding=array", "types.policy=text") as p:
        p.load(first).load(text).load((1, change({"a.0": "y"}, None, {"a": 1})))
        equal(p.why(), [])
        equal(p.column("a")[1], ["y"])
    with Pipe(cls, "unwrap.array.encoding=array", "types.policy=null") as p:
        p.load(first).load(text)
        equal(p.why(), [])
        equal(p.column("a")[1], None)
    with Pipe(cls, "unwrap.array.encoding=array", "types.policy=variant") as p:
        p.load(first).load(text, (1, change({"a.0": 5})))
        equal(p.dead(), ["unsupported"])
        equal(p.column("a")[1], [5, 2])
    with Pipe(cls, "unwrap.array.encoding=array", "types.policy=fail") as p:
        p.load(first)
        code = p.load(text, check=False).code
        equal(code, 6)
        equal(p.column("a")[1], [1, 2])


def test_what_has_no_place_is_a_dead_letter(cls):
    for encoding in ENCODINGS:
        with Pipe(cls, f"unwrap.array.encoding={encoding}") as p:
            p.load({"_id": 1, "a": [1], "l": [{"x": 1, "y": 5}, None]}, {"_id": 2, "k": 1})
            p.load((1, change({"unknown.0": 1})), (1, change(None, None, {"unknown": 1})), (2, change({"a.1": 1})), (3, change({"a.0": 1, "k": 9})),
                   (1, change({"l.0.y.z": 1})), (1, change({"l.1.x": 1})), (1, change({"a.99999999": 1})), (1, change(None, None, {"l.0.x": 1})),
                   (2, change({"k": 2})), (1, change({"l.0.x": 2})))
            equal(sorted(p.dead()), ["too_large"] + ["unsupported"] * 7)
            rows = p.rows()
            equal(sorted(rows), [1, 2])
            equal(str(rows[2]["k"]), "2")
            equal(p.column("a"), {1: [1], 2: None})
            equal(p.column("l")[1], [{"x": 2, "y": 5}, None])


def test_a_table_without_a_key_takes_no_part_of_a_document(cls):
    with Pipe(cls, "tables.c.primary_key=none") as p:
        p.load({"_id": 1, "a": [1]}, (1, change({"a.0": 2})))
        equal(p.dead(), ["unsupported"])


def test_positions_beside_documents_of_the_same_name(cls):
    with Pipe(cls) as p:
        p.load({"_id": 1, "m": {"0": "a", "x": 1}}, {"_id": 2, "m": [1, 2]}, {"_id": 3, "n": {"y": 1}}, {"_id": 4, "n": [1]})
        p.load((1, change({"m.0": "b"})), (4, change({"n.0": 5})), (3, change({"n.0": 5})), (2, change(None, None, {"m": 1})))
        equal(p.dead(), ["unsupported", "unsupported"])  # m.0 may be either; the target has no array n in row 3
        equal(p.column("n")[4], [5])
        equal(p.column("m")[2], [1])


def test_names_are_adjusted_within_columns_too(cls):
    for flatten in ("true", "false"):
        with Pipe(cls, "unwrap.field.name.adjustment.mode=avro", f"unwrap.flatten.struct={flatten}") as p:
            p.load({"_id": 1, "l": [{"a-b": 1}], "e": [], "d": {"x-y": {"p q": [1]}}})
            p.load((1, change({"l.0.a-b": 2, "l.0.c-d": 3, "d.x-y.p q.1": 4})))
            equal(p.why(), [])
            equal(p.column("l")[1], [{"a_b": 2, "c_d": 3}])
            equal(p.column("d_x_y_p_q")[1] if flatten == "true" else p.column("d")[1]["x_y"]["p_q"], [1, 4])


def test_columns_that_are_json_by_configuration(cls):
    with Pipe(cls, "types.columns.c.d=json") as p:
        p.load({"_id": 1, "d": {"a": 1}, "e": 1}).load((1, change({"d.b": 2, "e": 2})))
        equal(p.why(), [])
        if "d" in p.rows()[1] and p.rows()[1]["d"] is not None:
            equal(p.column("d")[1], {"a": 1, "b": 2})
            assert "d_b" not in p.rows()[1]


def test_texts_are_repaired_in_parts_too(cls):
    for encoding in ENCODINGS:
        with Pipe(cls, f"unwrap.array.encoding={encoding}", "text.invalid=replace") as p:
            p.load({"_id": 1, "t": ["a"], "l": [{"x": 1}]}).load((1, {"updatedFields": '{"t.1": "b\\u0000c", "l.0.x": "\\ud800"}'}))
            equal(p.why(), [])
            if natives(cls):
                equal(p.column("t")[1], ["a", "b\ufffdc"])
                equal(p.column("l")[1], [{"x": "\ufffd"}])
        with Pipe(cls, f"unwrap.array.encoding={encoding}") as p:
            p.load({"_id": 1, "t": ["a"], "l": [{"x": 1}]}).load((1, {"updatedFields": '{"t.1": "b\\u0000c"}'}))
            if natives(cls):
                equal(p.dead(), ["text_invalid"])
                equal(p.column("t")[1], ["a"])


def test_a_refused_part_is_found_among_the_others(cls):
    """In one batch, folded with good updates of the same rows: the good ones count."""
    with Pipe(cls, "batch.rows=500") as p:
        p.load(*[{"_id": i, "l": [{"n": 0}], "k": 0} for i in range(20)])
        p.load(*[(i, change({"l.0.n": 1, "k": 1})) for i in range(20)], (3, change({"l.0.n.x": 5, "k": 2})), (7, change({"l.5.0": 5})),
               *[(i, change({"l.1": i})) for i in range(20)])
        equal(p.dead(), ["unsupported"] * 2)
        equal(p.column("l"), {i: [{"n": 1}, i] for i in range(20)})
        equal({str(r["k"]) for r in p.rows().values()}, {"1"})


def test_dead_letters_are_replayed_onto_what_is_there_then(cls):
    with Pipe(cls) as p:
        p.load({"_id": 1, "k": 0, "l": [1]}, {"_id": 2, "k": 0}).load((2, change({"l.1": 5})))
        equal(p.dead(), ["unsupported"])
        p.load((2, change({"l": [4]})))
        done = millrace("dead-letters", "replay", "--all", "--overwrite", *p.target.args(), *p.settings, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        equal(p.column("l")[2], [4, 5])


def test_a_value_that_grows_large_in_a_few_bytes_is_bounded(cls):
    with Pipe(cls, "batch.rows=500") as p:
        p.load(*[{"_id": i, "a": [0]} for i in range(30)])
        p.load(*[(i, change({"a.300000": 1})) for i in range(30)])
        equal(p.why(), [])
        equal({(len(a), a[-1]) for a in p.column("a").values()}, {(300001, 1)})


# ---- Many changes ----

class Source:
    """Documents that are changed at random, and the events of that."""

    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.docs = {}
        self.events = []
        for key in range(8):
            self.insert(key)

    def emit(self, key, op, after=None, update=None):
        value = {"op": op, "ts_ms": 1, "after": None if after is None else json.dumps(after), "updateDescription": update,
                 "source": {"connector": "mongodb", "db": "d", "collection": "c", "ts_ms": 1}}
        self.events.append({"topic": "t", "partition": 0, "offset": len(self.events), "key": json.dumps({"id": json.dumps(key)}),
                            "value": json.dumps(value)})

    def line(self):
        return {"sku": self.text(), "n": self.rnd.randrange(100), "in": [self.rnd.randrange(9) for _ in range(self.rnd.randrange(3))]}

    def text(self):
        return self.rnd.choice(["x", "ä", "a.b", "'\"\\", "NULL", "{}", ""])

    def insert(self, key):
        rnd = self.rnd
        self.docs[key] = {"_id": key, "s": self.text(), "a": [rnd.randrange(100) for _ in range(rnd.randrange(1, 4))],
                          "t": [self.text() for _ in range(rnd.randrange(1, 3))], "l": [self.line() for _ in range(rnd.randrange(1, 3))],
                          "d": {"x": rnd.randrange(9), "in": {"l": [1, 2], "y": self.text()}}}
        self.emit(key, "c", after=self.docs[key])

    def update(self, key):
        doc, rnd, sets, removed, cuts = self.docs[key], self.rnd, {}, [], {}
        for _ in range(rnd.randrange(1, 4)):
            what = rnd.randrange(12)
            if what == 0:
                sets["s"] = doc["s"] = self.text()
            elif what in (1, 2) and "a" not in cuts and "a" not in sets:
                at = rnd.randrange(len(doc["a"]) + 2)
                doc["a"] += [None] * (at + 1 - len(doc["a"]))
                sets[f"a.{at}"] = doc["a"][at] = rnd.randrange(1000)
            elif what == 3 and doc["t"]:
                at = rnd.randrange(len(doc["t"]))
                sets[f"t.{at}"] = doc["t"][at] = rnd.choice([self.text(), None])
            elif what == 4 and not any(k.startswith("a") for k in sets) and not cuts:
                cuts["a"] = rnd.randrange(len(doc["a"]) + 1)
                del doc["a"][cuts["a"]:]
            elif what in (5, 6) and not any(k.startswith("l") for k in [*sets, *removed, *cuts]):
                at = rnd.randrange(len(doc["l"]) + 1)
                if at == len(doc["l"]):
                    doc["l"].append(self.line())
                    sets[f"l.{at}"] = doc["l"][at]
                elif rnd.random() < 0.3:
                    doc["l"][at].pop("n", None)
                    removed.append(f"l.{at}.n")
                else:
                    doc["l"][at]["n"] = sets[f"l.{at}.n"] = rnd.randrange(1000)
                    inner = doc["l"][at]["in"]
                    inner.append(7)
                    sets[f"l.{at}.in.{len(inner) - 1}"] = 7
            elif what == 7 and not any(k.startswith("l") for k in [*sets, *removed, *cuts]):
                cuts["l"] = rnd.randrange(len(doc["l"]) + 1)
                del doc["l"][cuts["l"]:]
            elif what == 8:
                sets["d.x"] = doc["d"]["x"] = rnd.randrange(1000)
            elif what == 9:
                at = rnd.randrange(len(doc["d"]["in"]["l"]) + 1)
                doc["d"]["in"]["l"] += [None] * (at + 1 - len(doc["d"]["in"]["l"]))
                sets[f"d.in.l.{at}"] = doc["d"]["in"]["l"][at] = rnd.randrange(10)
            elif what == 10 and not any(k.startswith("a") for k in [*sets, *cuts]):
                sets["a"] = doc["a"] = [rnd.randrange(9)]
            elif what == 11 and "y" in doc["d"]["in"]:
                removed.append("d.in.y")
                del doc["d"]["in"]["y"]
        self.emit(key, "u", update=change(json.loads(json.dumps(sets)), removed or None, cuts))

    def run(self, count):
        for _ in range(count):
            key = self.rnd.choice(range(12))
            if key not in self.docs:
                self.insert(key)
            elif self.rnd.random() < 0.06:
                del self.docs[key]
                self.emit(key, "d")
            else:
                self.update(key)
        return self

    def write(self, path):
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(e) + "\n" for e in self.events)
        return path

    def compare(self, pipe, flatten):
        rows = pipe.rows()
        equal(sorted(rows), sorted(self.docs))
        for key, doc in self.docs.items():
            row = rows[key]
            want = {"s": doc["s"], "a": doc["a"], "t": doc["t"], "l": doc["l"]}
            want.update({"d_x": doc["d"]["x"], "d_in_l": doc["d"]["in"]["l"], "d_in_y": doc["d"]["in"].get("y")} if flatten else {"d": doc["d"]})
            have = {c: row[c] if c in ("s", "d_in_y") or row[c] is None else json.loads(str(row[c])) for c in want}
            equal({"_id": key, **have}, {"_id": key, **want})


def load_all(pipe, path, *more, env=None):
    return millrace("backfill", path, "--format", "debezium", *pipe.target.args(), *pipe.settings, *[a for m in more for a in ("--set", m)], check=False, env=env)


def test_any_batch_gives_what_the_documents_are(cls):
    """One row a batch, few, all: folded in memory, read from the target, or both; by one lane and by two."""
    seed = int(os.environ.get("MILLRACE_SEED", random.randrange(1 << 30)))
    for n, (rows, appliers) in enumerate(((1, 1), (7, 1), (500, 1), (5, 2), (60, 2))):
        if appliers > 1 and cls.name == "sqlite":
            continue
        for encoding in ENCODINGS:
            flatten = (n + (encoding == "json")) % 2 == 0
            with Pipe(cls, f"unwrap.array.encoding={encoding}", f"unwrap.flatten.struct={str(flatten).lower()}", f"batch.rows={rows}", "target.bulk_rows=10",
                      *([f"target.appliers={appliers}"] if appliers > 1 else [])) as p:
                source = Source(seed + n).run(150)
                done = load_all(p, source.write(os.path.join(p.work, "many.jsonl")))
                assert done.returncode == 0, f"seed {seed}: {done.stderr}"
                try:
                    equal(p.why(), [])
                    source.compare(p, flatten)
                except AssertionError as e:
                    raise AssertionError(f"seed {seed}, batches of {rows}, {appliers} appliers, {encoding}: {e}") from e


def test_kills_leave_no_part_undone_and_none_done_twice(cls):
    rnd = random.Random()
    for point in ("after_begin", "after_apply", "before_positions", "before_commit", "after_commit"):
        with Pipe(cls, "unwrap.array.encoding=array", "batch.rows=9") as p:
            source = Source(rnd.randrange(1 << 30)).run(120)
            path = source.write(os.path.join(p.work, "kill.jsonl"))
            code, kills = -signal.SIGKILL, 0
            while code == -signal.SIGKILL:
                fault = {"MILLRACE_FAULT": f"{point}:{rnd.randrange(2, 5)}"} if kills < 8 else None
                done = load_all(p, path, env=fault)
                code, kills = done.returncode, kills + 1
            assert code == 0, done.stderr
            equal(p.why(), [])
            source.compare(p, True)


def main():
    cls = TARGETS[sys.argv[1]]
    only = sys.argv[2:]
    failed = 0
    for name, fn in list(globals().items()):
        if not name.startswith("test_") or (only and name not in only):
            continue
        try:
            fn(cls)
        except AssertionError as e:
            failed += 1
            print(f"{sys.argv[1]}: {name}: {e}"[:3000])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
