#!/usr/bin/env python3
"""Names in partial updates that are no paths, through the whole program: test_update_names.py sqlite|postgresql|mariadb|mysql. MongoDB writes a member
of a document, a member whose own name has dots, and a position in an array alike; where what the table has does not tell which is meant, the update is
refused, and never a wrong value."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from test_arrays import Pipe, TARGETS, equal  # noqa: E402
from test_within import change  # noqa: E402


def row(p, key=1):
    return {n: str(v) for n, v in p.rows()[key].items() if v is not None}


def test_a_member_whose_name_has_dots_keeps_its_column(cls):
    for encoding in ("json", "document", "table"):
        with Pipe(cls, f"unwrap.array.encoding={encoding}") as p:
            p.load({"_id": 1, "a.b": 1, "x": {"c.d": {"e": 2}}, "gone.too": 3})
            p.load((1, change({"a.b": 10, "x.c.d.e": 20, "x.c.d.f": 30}, ["gone.too"])))
            equal(p.why(), [])
            equal(row(p), {"a.b": "10", "x_c.d_e": "20", "x_c.d_f": "30"})
            p.load((1, change({"x.c.d": 5})))
            equal(row(p), {"a.b": "10", "x_c.d": "5"})
    with Pipe(cls, "unwrap.flatten.struct=false") as p:
        p.load({"_id": 1, "a.b": 1, "c.d": {"e": 2}, "l.m": [1, 2, 3]})
        p.load((1, change({"a.b": 10, "c.d.f": 3, "l.m.0": 4}, ["c.d.e"], {"l.m": 2})))
        equal(p.why(), [])
        equal([row(p)["a.b"], p.column("c.d")[1], p.column("l.m")[1]], ["10", {"f": 3}, [4, 2]])
    with Pipe(cls) as p:
        p.load({"_id": 1, "l.m": [1, {"n": 2}, 3]}).load((1, change({"l.m.1.n": 4}, None, {"l.m": 2})))
        equal(p.why(), [])
        equal(p.column("l.m")[1], [1, {"n": 4}])


def test_a_name_that_may_be_either_is_refused(cls):
    for flatten in ("true", "false"):
        with Pipe(cls, f"unwrap.flatten.struct={flatten}") as p:
            p.load({"_id": 1, "a.b": 1}, {"_id": 2, "a": {"b": 2, "c": 2}, "k": 2})
            p.load((1, change({"a.b": 10})), (2, change(None, ["a.b"])), (2, change({"a.c": 20, "k": 3})))
            equal(p.dead(), ["unsupported"] * 2)
            equal(row(p), {"a.b": "1"})
            equal(row(p, 2)["k"], "3")
    with Pipe(cls) as p:  # a number is no place that a path leads through
        p.load({"_id": 1, "a.b": 1}, {"_id": 2, "a": 5}).load((1, change({"a.b": 10})))
        equal(p.why(), [])
        equal(row(p), {"a.b": "10"})


def test_names_with_dots_of_and_in_arrays_that_are_tables_are_refused(cls):
    """No element of another array is hit, and no table made for one that is not there."""
    with Pipe(cls, "unwrap.array.encoding=table") as p:
        p.load({"_id": 1, "a.b": [1, 2], "l": [{"c.d": 1, "e": 2}], "k": 1})
        before = {t: p.target.rows(t) for t in p.target.tables()}
        equal(len(before), 3)
        refused = [change({"a.b.0": 9}), change({"a.b": [3]}), change({"a.b": 5}), change(None, ["a.b"]), change(None, None, {"a.b": 1}),
                   change({"a.b.1.c": 9}), change({"l.0.c.d": 3}), change(None, ["l.0.c.d"])]
        p.load(*((1, c) for c in refused))
        equal(p.dead(), ["unsupported"] * len(refused))
        equal(str({t: p.target.rows(t) for t in p.target.tables()}), str(before))
        p.load((1, change({"l.0.e": 4, "k": 2})), {"_id": 1, "a.b": [7], "l": [{"c.d": 5}]})
        equal(len(p.dead()), len(refused))
        equal([[int(r["value"].value) for r in p.target.rows(t)] for t in p.target.tables() if "a.b" in t], [[7]])


def test_members_without_a_name_are_members(cls):
    doc = {"_id": 1, "": {"a": 1, "": {"b": 2}}, "a": 3, "b": {"": {"c": 4}}}
    for encoding in ("json", "document", "table"):
        with Pipe(cls, f"unwrap.array.encoding={encoding}") as p:
            p.load(doc)
            equal(row(p), {"_a": "1", "__b": "2", "a": "3", "b__c": "4"})
            p.load((1, change({".a": 10, "..b": 20, "b..c": 40})))
            equal(row(p), {"_a": "10", "__b": "20", "a": "3", "b__c": "40"})
            p.load((1, change({"b.": 5}, [""])))
            equal(p.why(), [])
            equal(row(p), {"a": "3", "b_": "5"})
    with Pipe(cls, "unwrap.flatten.struct=false") as p:
        p.load(doc).load((1, change({".a": 10, "..b": 20, "b..c": 40})))
        equal([row(p)["a"], p.column("_")[1], p.column("b")[1]], ["3", {"a": 10, "": {"b": 20}}, {"": {"c": 40}}])
    with Pipe(cls) as p:
        p.load({"_id": 1, "": [1, 2, 3]}).load((1, change({".0": 5}, None, {"": 2})))
        equal(p.why(), [])
        equal(p.column("_")[1], [5, 2])


def test_an_array_that_has_left_no_trace_is_no_document(cls):
    """Empty arrays have no column under `document` and `table`, nor where names are adjusted; a document with numbers for names does."""
    for setting in ("unwrap.array.encoding=document", "unwrap.array.encoding=table", "unwrap.field.name.adjustment.mode=avro"):
        with Pipe(cls, setting) as p:
            p.load({"_id": 1, "m": {"x": 1}, "n": {"7": 1}}, {"_id": 2, "m": [], "k": 1}).load((2, change({"m.0": 5})), (1, change({"n.8": 2, "n.7": 3})))
            equal(p.dead(), ["unsupported"])
            equal(row(p, 2), {"k": "1"})
            equal(sorted(row(p).values()), ["1", "2", "3"])
    with Pipe(cls) as p:
        p.load({"_id": 1, "m": {"x": 1}}, {"_id": 2, "m": []}).load((2, change({"m.0": 5})))
        equal(p.why(), [])
        equal(p.column("m")[2], [5])


def test_a_field_is_in_one_of_its_columns(cls):
    """Under `variant`; an update that sets it empties the others."""
    for flatten in ("true", "false"):
        with Pipe(cls, f"unwrap.flatten.struct={flatten}", "types.policy=variant") as p:
            p.load({"_id": 1, "a": 1, "k": 1}, {"_id": 2, "a": "x", "k": 1}, {"_id": 3, "a": True, "k": 1})
            p.load((1, change({"a": "y"})), (2, change({"a": True})), (3, change({"a": 3})))
            equal(p.why(), [])
            equal([sorted(row(p, key)) for key in (1, 2, 3)], [["a__text", "k"], ["a__boolean", "k"], ["a", "k"]])
            p.load((1, change(None, ["a"])), (2, change({"k": 2})))
            equal([sorted(row(p, key)) for key in (1, 2)], [["k"], ["a__boolean", "k"]])


def test_an_array_that_may_be_elsewhere_is_not_guessed(cls):
    """Under `variant` it may be in the second column, under `null` it is nowhere; a document's columns beside it do not make its elements members."""
    for flatten in ("true", "false"):
        with Pipe(cls, f"unwrap.flatten.struct={flatten}", "types.policy=variant") as p:
            p.load({"_id": 1, "a": "x"}, {"_id": 2, "a": [1, {"b": 2}, 3], "k": 1}, {"_id": 3, "a": {"c": 1}})
            p.load((2, change({"a.1.b": 4})), (2, change(None, ["a.1.b"])), (2, change(None, None, {"a": 1})), (2, change({"k": 2})))
            equal(p.dead(), ["unsupported"] * 3)
            equal(p.column("a__json")[2], [1, {"b": 2}, 3])
            equal(sorted(row(p, 2)), ["a__json", "k"])
    with Pipe(cls, "types.policy=null") as p:
        p.load({"_id": 1, "a": 5}, {"_id": 2, "a": [1, 2], "k": 1}, {"_id": 3, "a": {"c": 1}}).load((2, change({"a.1": 4})))
        equal(p.dead(), ["unsupported"])
        equal(sorted(row(p, 2)), ["k"])


def main():
    cls = TARGETS[sys.argv[1]]
    failed = 0
    for name, fn in list(globals().items()):
        if not name.startswith("test_") or sys.argv[2:] and name not in sys.argv[2:]:
            continue
        try:
            fn(cls)
        except AssertionError as e:
            failed += 1
            print(f"{sys.argv[1]}: {name}: {e}"[:3000])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
