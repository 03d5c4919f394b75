#!/usr/bin/env python3
"""Arrays under unwrap.array.encoding, through the whole program: test_arrays.py sqlite|postgresql|mariadb|mysql. Each load is a run of its own, so what
was learned comes from the control tables and the catalog every time."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
from harness import TARGETS, millrace  # noqa: E402


class Pipe:
    """One table `c` of MongoDB documents in a target of its own."""

    def __init__(self, target_class, *settings):
        self.target = target_class()
        self.work = getattr(self.target, "dir", None) or os.path.join(os.environ.get("TMPDIR", "/tmp"), f"mr-arrays-{os.getpid()}")
        os.makedirs(self.work, exist_ok=True)
        self.settings = [a for s in settings for a in ("--set", s)]
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.target.close()

    def load(self, *events, more=(), check=True):
        """Documents, or (id, update) pairs of a text `_id` and an updateDescription."""
        path = os.path.join(self.work, f"in{self.count}.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            for offset, ev in enumerate(events):
                value = {"op": "c", "ts_ms": 1, "source": {"connector": "mongodb", "db": "d", "collection": "c", "ts_ms": 1}}
                if isinstance(ev, tuple):
                    key, update = ev
                    value.update(op="u", after=None, updateDescription=update)
                else:
                    key = json.loads(ev)["_id"] if isinstance(ev, str) else ev["_id"]
                    value.update(after=ev if isinstance(ev, str) else json.dumps(ev))
                f.write(json.dumps({"topic": f"t{self.count}", "partition": 0, "offset": offset, "key": json.dumps({"id": json.dumps(key)}),
                                    "value": json.dumps(value)}) + "\n")
        self.count += 1
        done = millrace("backfill", path, "--format", "debezium", *self.target.args(), *self.settings, *more, check=False)
        self.code = done.returncode
        assert not check or done.returncode == 0, done.stderr
        return self

    def rows(self):
        table = self.target.tables()[0]
        rows = {r["_id"].value: {n: c.value for n, c in r.items() if n != "_id"} for r in self.target.rows(table)}
        return {int(k): v for k, v in rows.items()}

    def column(self, name):
        """{_id: value}, arrays and JSON parsed."""
        return {k: None if r.get(name) is None else json.loads(r[name]) for k, r in self.rows().items()}

    def type(self, name):
        return dict(self.target.columns(self.target.tables()[0]))[name]

    def why(self):
        return self.target.control("dead_letter", "code, message")

    def dead(self):
        return [r[1] for r in self.target.control("dead_letter", "id, code")]


def equal(have, want):
    assert have == want, f"line {sys._getframe(1).f_lineno}: have {have!r}, want {want!r}"


def natives(target_class):
    return target_class.name == "postgresql"


def test_an_array_column_widens_with_its_elements(cls):
    with Pipe(cls, "unwrap.array.encoding=array") as p:
        p.load({"_id": 1, "a": [], "t": ["x", None]})
        if natives(cls):
            equal(p.type("a"), "text[]")
            equal(p.type("t"), "text[]")
        p.load({"_id": 2, "a": [1, 2]})
        if natives(cls):
            equal(p.type("a"), "bigint[]")
        p.load({"_id": 3, "a": [], "t": []}, {"_id": 4, "a": [1.5]}, {"_id": 5, "a": None})
        if natives(cls):
            equal(p.type("a"), "double precision[]")
        equal(p.why(), [])
        equal(p.column("a"), {1: [], 2: [1, 2], 3: [], 4: [1.5], 5: None})
        equal(p.column("t"), {1: ["x", None], 2: None, 3: [], 4: None, 5: None})
        p.load('{"_id": 6, "a": [9007199254740993]}')
        if natives(cls):
            equal(p.type("a"), "numeric[]")
            equal(p.rows()[6]["a"], "[9007199254740993]")
        equal(p.why(), [])


def test_what_is_no_array_of_one_type_is_for_the_policy(cls):
    mixed = {"_id": 2, "a": [1, "x"]}
    with Pipe(cls, "unwrap.array.encoding=array") as p:
        p.load({"_id": 1, "a": [1]}, mixed, {"_id": 3, "b": [1, "x"]}, {"_id": 4, "a": ["x"]}, {"_id": 5, "a": {"k": 1}})
        assert p.dead()[:2] == ["mixed_array", "mixed_array"], p.dead()
        assert p.dead()[2] == "type_conflict", p.dead()
        equal(p.column("a")[1], [1])
    with Pipe(cls, "unwrap.array.encoding=array", "types.policy=json") as p:
        p.load({"_id": 1, "a": [1]}, mixed).load(mixed, {"_id": 3, "a": [2]}, {"_id": 4, "b": [1, None]})
        equal(p.why(), [])
        equal(p.column("a"), {1: [1], 2: [1, "x"], 3: [2], 4: None})
        equal(p.column("b")[4], [1, None])
    with Pipe(cls, "unwrap.array.encoding=array", "types.policy=variant") as p:
        p.load({"_id": 1, "a": [1]}, mixed, {"_id": 3, "a": ["x"]})
        equal(p.why(), [])
        equal(p.column("a"), {1: [1], 2: None, 3: None})
        equal(p.column("a__json")[2], [1, "x"])
        equal(p.column("a__text_array")[3], ["x"])
    with Pipe(cls, "unwrap.array.encoding=array", "types.policy=null") as p:
        p.load({"_id": 1, "a": [1]}, mixed, {"_id": 3, "b": [True, 1]})
        equal(p.why(), [])
        equal(p.column("a"), {1: [1], 2: None, 3: None})
    with Pipe(cls, "unwrap.array.encoding=array", "types.policy=text") as p:
        p.load({"_id": 1, "a": [1]}, mixed)
        equal(p.why(), [])
        equal(p.column("a"), {1: [1], 2: [1, "x"]})


def test_an_empty_array_is_no_first_type(cls):
    with Pipe(cls, "unwrap.array.encoding=array", "types.policy=strict") as p:
        p.load({"_id": 1, "a": []}, {"_id": 2, "a": [1]}, {"_id": 3, "a": [2]}).load({"_id": 4, "a": ["x"]}, {"_id": 5, "a": []})
        equal(p.dead(), ["type_conflict"])
        equal(p.column("a"), {1: [], 2: [1], 3: [2], 5: []})


def test_texts_in_arrays_are_repaired_where_that_is_asked_for(cls):
    with Pipe(cls, "unwrap.array.encoding=array", "text.invalid=replace") as p:
        p.load('{"_id": 1, "t": ["a\\u0000b", "\\ud800", "ok"]}')
        equal(p.why(), [])
        have = p.column("t")[1]
        equal(have[2], "ok")
        if natives(cls):
            equal(have, ["a\ufffdb", "\ufffd", "ok"])


def test_the_encoding_may_change_while_the_table_stays(cls):
    with Pipe(cls) as p:
        p.load({"_id": 1, "a": [1, 2], "b": ["x"]})
        p.load({"_id": 2, "a": [3], "b": []}, {"_id": 3, "c": [1]}, more=("--set", "unwrap.array.encoding=array"))
        p.load({"_id": 4, "a": [4], "c": [2, None]}, {"_id": 5, "c": []})
        equal(p.why(), [])
        equal(p.column("a"), {1: [1, 2], 2: [3], 3: None, 4: [4], 5: None})
        equal(p.column("c"), {1: None, 2: None, 3: [1], 4: [2, None], 5: []})
        if natives(cls):
            equal(p.type("c"), "bigint[]")


def test_array_columns_that_were_there_are_written(cls):
    if not natives(cls):
        return
    with Pipe(cls, "unwrap.array.encoding=array") as p:
        p.target.execute(f'CREATE SCHEMA "{p.target.schema}"')
        p.target.execute(f'CREATE TABLE "{p.target.schema}".c (_id bigint PRIMARY KEY, i integer[], n numeric(10,2)[], v varchar(5)[], d date[], '
                         'f real[], z timestamptz[], x bytea[], u text[][])')
        p.load({"_id": 1, "i": [1, 2], "n": [{"$numberDecimal": "1.5"}], "v": ["abc"], "f": [0.5], "z": [{"$date": 0}],
                "x": [{"$binary": "AQID", "$type": "00"}], "u": ["q"]},
               {"_id": 2, "i": [3000000000]}, {"_id": 3, "v": ["too long a text"]}, {"_id": 4, "n": [{"$numberDecimal": "1.505"}]})
        rows = p.rows()
        equal(json.loads(rows[1]["i"]), [1, 2])
        equal(rows[1]["n"], "[1.50]")
        equal(json.loads(rows[1]["v"]), ["abc"])
        equal(json.loads(rows[1]["x"]), ["\\x010203"])
        equal(p.type("i"), "integer[]")
        equal(sorted(rows), [1])
        equal(len(p.dead()), 3)


def test_types_columns_may_name_arrays(cls):
    with Pipe(cls, "unwrap.array.encoding=json", 'types.columns."c.d"=date[]', 'types.columns."c.n"=decimal(10,2)[]') as p:
        p.load({"_id": 1, "d": ["2020-01-02", None], "n": ["1.5", "2"]}, {"_id": 2, "d": []}, {"_id": 3, "d": ["no date"]}, {"_id": 4, "d": "2020-01-02"})
        if natives(cls):
            equal(p.type("d"), "date[]")
            equal(p.type("n"), "numeric(10,2)[]")
            equal(p.rows()[1]["d"], '["2020-01-02", null]')
            equal(len(p.dead()), 2)


def test_every_scalar_goes_in_bulk_and_alone_alike(cls):
    """Many rows at once take the bulk path, one at a time the small one: the same cells."""
    doc = ('{"_id": %d, "b": [true, false], "i": [1, -9223372036854775808], "f": [0.1, 1e300], "m": [{"$numberDecimal": "1.50"}, '
           '{"$numberDecimal": "-0.001"}], "t": ["", "a\\"b\\\\c,{}", "\\u00e4", null], "z": [{"$date": -1}, {"$date": 1580122032311}], '
           '"x": [{"$binary": "", "$type": "00"}, {"$binary": "AQID", "$type": "00"}], "e": [], "n": [null]}')
    seen = []
    for rows in (1, 500):
        with Pipe(cls, "unwrap.array.encoding=array", f"batch.rows={rows}") as p:
            p.load(*[doc % i for i in range(300 if rows > 1 else 3)])
            equal(p.why(), [])
            cells = list(p.rows().values())
            assert all(c == cells[0] for c in cells)
            seen.append(cells[0])
    equal(seen[0], seen[1])


def test_positions_reach_the_columns_of_elements(cls):
    first = {"_id": 1, "items": [{"sku": "a", "price": 1}, {"sku": "b", "price": 2}, {"sku": "c", "price": 3}], "m": {"2": "two", "x": 1}, "t": ["p", "q"]}
    with Pipe(cls, "unwrap.array.encoding=document") as p:
        p.load(first)
        p.load((1, {"updatedFields": json.dumps({"items.1.price": 20, "m.2": "zwei", "t.0": "P"}), "removedFields": ["items.0.sku"], "truncatedArrays": None}))
        row = p.rows()[1]
        equal([str(row[c]) for c in ("items__0_price", "items__1_price", "items__1_sku", "m_2", "t__0", "t__1")], ["1", "20", "b", "zwei", "P", "q"])
        equal(row["items__0_sku"], None)
        p.load((1, {"updatedFields": json.dumps({"items.0": {"price": 9}, "t.2": "r"}), "removedFields": None, "truncatedArrays": [{"field": "items", "size": 2}]}))
        row = p.rows()[1]
        equal([str(row[c]) for c in ("items__0_price", "items__1_price", "t__2")], ["9", "20", "r"])
        equal([row[c] for c in ("items__2_price", "items__2_sku", "items__0_sku")], [None, None, None])
        p.load((1, {"updatedFields": json.dumps({"items": [{"sku": "z"}]}), "removedFields": None}))
        row = p.rows()[1]
        equal(row["items__0_sku"], "z")
        equal([row[c] for c in ("items__0_price", "items__1_price", "items__1_sku")], [None, None, None])
        equal(p.why(), [])
        p.load((1, {"updatedFields": json.dumps({"unknown.0": 1})}), (1, {"updatedFields": "{}", "truncatedArrays": [{"field": "m", "size": 1}]}),
               (1, {"updatedFields": json.dumps({"t.0.1": 1})}))
        equal(p.dead(), ["unsupported"] * 3)
        assert "unknown__0" not in p.rows()[1] and "unknown_0" not in p.rows()[1]
        equal(sorted(p.rows()), [1])


def test_large_arrays_arrive_whole(cls):
    with Pipe(cls, "unwrap.array.encoding=array") as p:
        many, long = list(range(100000)), ["x" * 1000] * 8000
        p.load({"_id": 1, "a": many}, {"_id": 2, "s": long}, {"_id": 3, "a": many[::-1]})
        equal(p.why(), [])
        equal(p.column("a")[1], many)
        equal(p.column("a")[3], many[::-1])
        equal(p.column("s")[2], long)


def test_elements_that_the_target_cannot_hold_are_dead_letters(cls):
    with Pipe(cls, "unwrap.array.encoding=array") as p:
        p.load({"_id": 1, "t": ["ok"]}, '{"_id": 2, "t": ["a\\u0000b"]}', '{"_id": 3, "t": ["\\ud800"]}', '{"_id": 4, "f": [NaN, Infinity, 1.5]}',
               '{"_id": 5, "z": [{"$date": {"$numberLong": "-9223372036854775808"}}]}', '{"_id": 6, "z": [{"$date": "nonsense"}]}',
               '{"_id": 7, "m": [{"$numberDecimal": "NaN"}, {"$numberDecimal": "1E+6000"}]}')
        rows, dead = p.rows(), p.dead()
        assert 5 not in rows and 6 not in rows, rows
        assert 1 in rows
        if natives(cls):
            assert 2 not in rows and 3 not in rows
            equal(json.loads(rows[4]["f"]), ["NaN", "Infinity", 1.5])
        assert len(rows) + len(dead) == 7, (rows.keys(), dead)


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
            print(f"{sys.argv[1]}: {name}: {e}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
