#!/usr/bin/env python3
"""The rules of array.encoding=table, one by one, as the manual tells them.

    test_array_rules.py sqlite|postgresql|mariadb [TEST…]"""
import json
import os
import sys
import tempfile
import traceback

from e2e import Failure, check, millrace
from harness import TARGETS

TABLE = ["unwrap.array.encoding=table"]


class Run:
    """Lines loaded one start after another into one target."""

    def __init__(self, target):
        self.target, self.starts = target, 0
        self.work = tempfile.TemporaryDirectory()

    def load(self, lines, *settings, check_exit=True, command="backfill"):
        self.starts += 1
        path = os.path.join(self.work.name, f"events{self.starts}.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.write("".join(json.dumps(line) + "\n" for line in lines))
        args = [a for s in [*TABLE, *settings] for a in ("--set", s)]
        return millrace(command, path, *self.target.args(), *args, check=check_exit)

    def table(self, name):
        """Rows without their nulls, all texts, in the order of the key."""
        if name not in self.target.tables():
            return None
        rows = [{n: str(c.value) for n, c in r.items() if c.value is not None} for r in self.target.rows(name)]
        return sorted(rows, key=lambda r: [r.get(k, "") for k in ("id", "_id", "code", "_pos", "_pos2")])

    def dead(self):
        return [d[1] for d in self.target.control("dead_letter", "id, code")]

    def quoted(self, name):
        schema = getattr(self.target, "schema", None)
        return f'"{schema}"."{name}"' if schema else f'"{name}"'

    def close(self):
        self.work.cleanup()
        self.target.close()


def event(op, after=None, before=None, key=1, table="t", topic=None, **source):
    key_text = None if key is None else json.dumps(key if isinstance(key, dict) else {"id": key})
    value = {"op": op, "before": before, "after": after, "source": {"db": "d", "table": table, "ts_ms": 1, **source}, "ts_ms": 1}
    return {"topic": topic or f"p.d.{table}", "partition": 0, "offset": 0, "key": key_text, "value": json.dumps(value)}


def tombstone(key, table="t"):
    return {"topic": f"p.d.{table}", "partition": 0, "offset": 0, "key": json.dumps({"id": key}), "value": None}


def same(have, want):
    check(have == want, f"wanted {want}\nholds  {have}")


def row(**columns):
    return {k: str(v) for k, v in columns.items()}


# ---- shapes ----

def test_documents_scalars_and_nulls_in_one_array(run):
    run.load([event("c", {"id": 1, "a": [{"x": 1}, 7, None, {}, [8]]})])
    same(run.table("t"), [row(id=1)])
    same(run.table("t__a"), [row(id=1, _pos=0, x=1), row(id=1, _pos=1, value=7), row(id=1, _pos=2), row(id=1, _pos=3), row(id=1, _pos=4)])
    same(run.table("t__a__value"), [row(id=1, _pos=4, _pos2=0, value=8)])


def test_an_array_in_a_document_is_named_by_its_path(run):
    run.load([event("c", {"id": 1, "d": {"e": {"f": [1]}}})])
    same(run.table("t__d_e_f"), [row(id=1, _pos=0, value=1)])


def test_names_that_collide_get_substitutes(run):
    run.load([event("c", {"id": 1, "a": [{"b": [1]}], "a__b": [2], "a_b": [3], "_pos": 9}),
              event("c", {"id": 2, "c": [{"id": 5, "_pos": 6, "value": 7}, 8]}, key=2)])
    tables = [t for t in run.target.tables() if t.startswith("t__a__b")]
    check(len(tables) == 2, f"two tables for two arrays: {tables}")
    same(sorted(r["value"] for t in tables for r in run.table(t)), ["1", "2"])
    same(run.table("t__a_b"), [row(id=1, _pos=0, value=3)])
    first, second = run.table("t__c")
    same([first["id"], first["_pos"], second["id"], second["_pos"]], ["2", "0", "2", "1"])
    same(sorted(v for k, v in first.items() if k not in ("id", "_pos")), ["5", "6", "7"])
    same(sorted(v for k, v in second.items() if k not in ("id", "_pos")), ["8"])
    run.load([event("u", {"id": 1, "a": [{"b": [11]}], "a__b": [12]}), event("u", {"id": 2, "c": [9]}, key=2)])
    same(sorted(r["value"] for t in tables for r in run.table(t)), ["11", "12"])
    same(run.dead(), [])


def test_an_array_with_an_empty_name_is_one_after_a_restart_too(run):
    run.load([event("c", {"id": i, "": [1, {"": [2], "b": [3]}]}, key=i) for i in (1, 2)])
    run.load([event("u", {"id": 1, "": [4]}), event("d", key=2)])
    same(run.table("t__"), [row(id=1, _pos=0, value=4)])
    same([run.table(t) for t in run.target.tables() if t not in ("t", "t__")], [[], []])
    same(run.dead(), [])


def test_deep_arrays_stay_json_beyond_eight_levels(run):
    value = 1
    for _ in range(10):
        value = [value]
    run.load([event("c", {"id": 1, "a": value})])
    deepest = "t__a" + "__value" * 7
    same([json.loads(r["value"]) for r in run.table(deepest)], [[[1]]])
    same(run.dead(), [])


def test_a_composite_key_goes_along(run):
    run.load([event("c", {"k": 1, "l": "x", "a": [1]}, key={"k": 1, "l": "x"}), event("c", {"k": 1, "l": "y", "a": [2]}, key={"k": 1, "l": "y"}),
              event("d", key={"k": 1, "l": "x"})])
    same(run.table("t__a"), [row(k=1, l="y", _pos=0, value=2)])


# ---- changes ----

def test_shorter_empty_null_and_absent_arrays_lose_their_rows(run):
    for i, instead in enumerate(([1], [], None, "absent")):
        after = {"id": i, "n": 0, "a": [1, 2, 3]}
        run.load([event("c", after, key=i)])
        after = {"id": i, "n": 1, "a": instead}
        if instead == "absent":
            del after["a"]
        run.load([event("u", after, key=i)])
    same(run.table("t__a"), [row(id=0, _pos=0, value=1)])


def test_a_delete_takes_the_elements_along_after_a_restart_too(run):
    run.load([event("c", {"id": i, "a": [{"b": [1, 2]}]}, key=i) for i in range(4)])
    run.load([event("d", key=1), tombstone(1), tombstone(2)])
    same([r["id"] for r in run.table("t")], ["0", "3"])
    same([r["id"] for r in run.table("t__a")], ["0", "3"])
    same([r["id"] for r in run.table("t__a__b")], ["0", "0", "3", "3"])


def test_a_soft_delete_leaves_the_elements(run):
    run.load([event("c", {"id": 1, "a": [1, 2]}), event("d", before={"id": 1})], "tables.t.delete=soft")
    same([r["_pos"] for r in run.table("t__a")], ["0", "1"])
    run.load([event("c", {"id": 1, "a": [3]})], "tables.t.delete=soft")
    same(run.table("t__a"), [row(id=1, _pos=0, value=3)])


def test_a_truncate_empties_all(run):
    run.load([event("c", {"id": 1, "a": [{"b": [1]}]}), event("t", key=None), event("c", {"id": 2, "a": [{"b": [2]}]}, key=2)])
    same(run.table("t__a"), [row(id=2, _pos=0)])
    same(run.table("t__a__b"), [row(id=2, _pos=0, _pos2=0, value=2)])
    run.load([event("t", key=None)])
    same([run.table(t) for t in ("t", "t__a", "t__a__b")], [[], [], []])


def test_elements_move_with_a_key_that_changes(run):
    setting = 'tables.t.primary_key=[code]'
    run.load([event("c", {"code": "x", "a": [1, 2]}), event("u", {"code": "y", "a": [1, 2]}, before={"code": "x"})], setting)
    same([(r["code"], r["_pos"]) for r in run.table("t__a")], [("y", "0"), ("y", "1")])
    run.load([event("u", {"code": "z", "a": [5]}, before={"code": "y"})], setting)
    same([(r["code"], r["value"]) for r in run.table("t__a")], [("z", "5")])


def test_an_array_becomes_a_scalar_and_an_array_again(run):
    run.load([event("c", {"id": 1, "a": [1, 2]}), event("u", {"id": 1, "a": 5})])
    same([run.table("t"), run.table("t__a")], [[row(id=1, a=5)], []])
    run.load([event("u", {"id": 1, "a": [7]})])
    same([run.table("t"), run.table("t__a")], [[row(id=1)], [row(id=1, _pos=0, value=7)]])


def test_an_array_that_the_event_does_not_know_stays(run):
    unknown = ["__debezium_unavailable_value"]
    run.load([event("c", {"id": 1, "n": 1, "a": [1, 2], "b": [3]}), event("u", {"id": 1, "n": 2, "a": unknown, "b": []})])
    same([r["value"] for r in run.table("t__a")], ["1", "2"])
    same([run.table("t"), run.table("t__b")], [[row(id=1, n=2)], []])


def test_a_key_that_changes_takes_unknown_arrays_along(run):
    setting = 'tables.t.primary_key=[code]'
    unknown = ["__debezium_unavailable_value"]
    run.load([event("c", {"code": "x", "n": 1, "a": [{"b": [1, 2]}], "c": [5, 6]}),
              event("u", {"code": "y", "n": 2, "a": unknown, "c": [7]}, before={"code": "x"})], setting)
    same([(r["code"], r["_pos"]) for r in run.table("t__a")], [("y", "0")])
    same([(r["code"], r["value"]) for r in run.table("t__a__b")], [("y", "1"), ("y", "2")])
    run.load([event("u", {"code": "z", "n": 3, "a": unknown, "c": unknown}, before={"code": "y"})], setting)
    same([(r["code"], r["value"]) for r in run.table("t__a__b")], [("z", "1"), ("z", "2")])
    same([(r["code"], r["value"]) for r in run.table("t__c")], [("z", "7")])
    same([run.table("t"), run.dead()], [[row(code="z", n=3)], []])


def keep_lines():
    """x is known; y has been left over from before; then x becomes y, and the event does not tell of a, nor of m and d."""
    return [event("c", {"code": "x", "n": 1, "m": 7, "a": [1, {"k": [2]}], "b": [3], "d": {"e": [4]}}),
            event("c", {"code": "y", "n": 5, "a": [8, 9, {"k": [10, 11]}], "d": {"e": [12, 13]}}),
            event("u", {"code": "y", "n": 2, "b": [4]}, before={"code": "x"})]


def moved(run):
    same(run.dead(), [])
    same(run.table("t"), [row(code="y", n=2, m=7)])
    same([(r["code"], r["_pos"], r.get("value")) for r in run.table("t__a")], [("y", "0", "1"), ("y", "1", None)])
    same([(r["code"], r["_pos"], r["_pos2"], r["value"]) for r in run.table("t__a__k")], [("y", "1", "0", "2")])
    same([(r["code"], r["value"]) for r in run.table("t__b")], [("y", "4")])
    same([(r["code"], r["value"]) for r in run.table("t__d_e")], [("y", "4")])


def test_missing_keep_takes_arrays_along_with_the_key(run):
    settings = ("tables.t.primary_key=[code]", "tables.t.missing=keep")
    run.load(keep_lines(), *settings)
    moved(run)


def test_missing_keep_takes_arrays_along_batch_by_batch(run):
    settings = ("tables.t.primary_key=[code]", "tables.t.missing=keep")
    for line in keep_lines():
        run.load([line], *settings)
    moved(run)


def test_what_comes_after_a_key_that_changes_counts(run):
    settings = ("tables.t.primary_key=[code]", "tables.t.missing=keep")
    run.load([event("c", {"code": "x", "a": [1, 2, 3], "b": [1]}), event("u", {"code": "x", "a": [4, 5]}),
              event("u", {"code": "y", "b": [2]}, before={"code": "x"}), event("u", {"code": "y", "a": [4, 6, 7]}),
              event("c", {"code": "x", "a": [9], "b": [9]}), event("d", key={"code": "x"}, before={"code": "x"}),
              event("u", {"code": "z", "b": []}, before={"code": "y"}), event("c", {"code": "x", "b": [8]})], *settings)
    same(run.dead(), [])
    same([(r["code"], r["value"]) for r in run.table("t__a")], [("z", "4"), ("z", "6"), ("z", "7")])
    same([(r["code"], r["value"]) for r in run.table("t__b")], [("x", "8")])
    same([r["code"] for r in run.table("t")], ["x", "z"])


def test_a_key_that_changes_back_and_forth_keeps_the_elements(run):
    settings = ("tables.t.primary_key=[code]", "tables.t.missing=keep")
    lines = [event("c", {"code": "k0", "a": [1, 2]})]
    lines += [event("u", {"code": f"k{(i + 1) % 3}"}, before={"code": f"k{i % 3}"}) for i in range(7)]
    run.load(lines, *settings)
    same([(r["code"], r["value"]) for r in run.table("t__a")], [("k1", "1"), ("k1", "2")])
    same([r["code"] for r in run.table("t")], ["k1"])


def test_a_marked_row_keeps_its_elements_so_that_they_cannot_go_along(run):
    settings = ("tables.t.primary_key=[code]", "tables.t.missing=keep", "tables.t.delete=soft")
    run.load([event("c", {"code": "x", "n": 1, "a": [1]}), event("u", {"code": "y", "n": 2}, before={"code": "x"})], *settings)
    same(run.dead(), ["unsupported"])
    same([(r["code"], r["value"]) for r in run.table("t__a")], [("x", "1")])
    same([(r["code"], r["n"]) for r in run.table("t")], [("x", "1")])
    run.load([event("u", {"code": "z", "n": 3, "a": [4]}, before={"code": "x"})], *settings[:1], "tables.t.delete=soft")
    same([(r["code"], r["value"]) for r in run.table("t__a")], [("x", "1"), ("z", "4")])


def test_several_appliers_move_elements_in_one_transaction(run):
    if run.target.name == "sqlite":
        return
    settings = ("tables.t.primary_key=[code]", "tables.t.missing=keep", "target.appliers=3")
    codes = [f"c{i}" for i in range(12)]
    run.load([event("c", {"code": c, "n": 1, "m": 7, "a": [1, 2]}) for c in codes], *settings)
    run.load([event("u", {"code": c + "x", "n": 2}, before={"code": c}) for c in codes], *settings)
    same(run.dead(), [])
    same(sorted((r["code"], r["value"]) for r in run.table("t__a")), sorted((c + "x", v) for c in codes for v in "12"))
    same(sorted((r["code"], r["n"], r["m"]) for r in run.table("t")), sorted((c + "x", "2", "7") for c in codes))


def test_missing_keep_leaves_arrays_that_a_row_lacks(run):
    settings = ("format=json", "tables.t.primary_key=[id]", "tables.t.missing=keep", "source.file.topic=d.t")
    run.load([{"id": 1, "a": [1, 2], "b": [3]}], *settings)
    run.load([{"id": 1, "b": []}], *settings)
    same([r["value"] for r in run.table("t__a")], ["1", "2"])
    same(run.table("t__b"), [])


def test_types_widen_in_a_child_table(run):
    run.load([event("c", {"id": 1, "a": [1]}), event("u", {"id": 1, "a": [1, 2.5]})])
    same([float(r["value"]) for r in run.table("t__a")], [1.0, 2.5])
    run.load([event("c", {"id": 12345678901234567890123, "a": [3]}, key=12345678901234567890123)])
    same(run.dead(), [])
    check(len(run.table("t__a")) == 3, "the key has widened in the child table too")


def test_a_type_set_for_the_key_holds_in_the_tables_of_its_arrays(run):
    run.load([event("c", {"id": 1, "a": [1]}), event("c", {"id": "x", "a": [2]}, key="x")], "types.columns.t.id=text")
    same(run.dead(), [])
    same([(r["id"], r["value"]) for r in run.table("t__a")], [("1", "1"), ("x", "2")])


def test_a_conflict_under_variant_has_a_column_of_its_own(run):
    run.load([event("c", {"id": 1, "a": [1, "x"]})], "tables.t.policy=variant")
    same(run.table("t__a"), [row(id=1, _pos=0, value=1), row(id=1, _pos=1, value__text="x")])


def test_a_new_snapshot_puts_elements_right(run):
    docs = {i: {"id": i, "a": list(range(i % 5)), "b": [{"c": [i, i + 1]}] * (i % 3)} for i in range(300)}
    run.load([event("r", d, key=i) for i, d in docs.items()])
    for i, doc in docs.items():
        doc["a"], doc["b"] = list(range(i % 4)), [{"c": [i]}] * (i % 2)
    for settings in ((), ("batch.rows=10",)):
        run.load([event("r", d, key=i) for i, d in docs.items()], *settings)
        same(sorted((int(r["id"]), int(r["_pos"]), int(r["value"])) for r in run.table("t__a")), [(i, p, v) for i, d in docs.items() for p, v in enumerate(d["a"])])
        same(sorted((int(r["id"]), int(r["_pos"]), int(r["_pos2"]), int(r["value"])) for r in run.table("t__b__c")),
             [(i, p, q, v) for i, d in docs.items() for p, e in enumerate(d["b"]) for q, v in enumerate(e["c"])])
        same([len(run.table("t__b")), run.dead()], [150, []])


def test_a_table_of_the_source_may_be_called_as_that_of_an_array(run):
    run.load([event("c", {"id": 1, "a": [1]}), event("c", {"id": 1, "v": "root"}, table="t__a"), event("c", {"id": 2, "v": "u"}, table="u__a", key=2),
              event("c", {"id": 2, "a": [2]}, table="u", key=2)])
    run.load([event("u", {"id": 1, "a": [3]}), event("u", {"id": 1, "v": "root 2"}, table="t__a"), event("d", table="u__a", key=2)])
    same(run.dead(), [])
    tables = {name: run.table(name) for name in run.target.tables()}
    same(tables["t__a"], [row(id=1, _pos=0, value=3)])
    same(tables["u__a"], [])
    others = sorted(str(rows) for name, rows in tables.items() if name not in ("t", "u", "t__a", "u__a"))
    same(others, sorted(map(str, [[row(id=1, v="root 2")], [row(id=2, _pos=0, value=2)]])))


# ---- MongoDB's partial updates ----

def mongo(op, after=None, key=1, updated=None, removed=None, truncated=None):
    """The document as a whole, or what an update has changed in it."""
    described = None
    if updated is not None or removed or truncated:
        described = {"updatedFields": json.dumps(updated or {}), "removedFields": removed,
                     "truncatedArrays": [{"field": f, "size": n} for f, n in (truncated or {}).items()] or None}
    value = {"op": op, "before": None, "after": None if after is None else json.dumps(after), "updateDescription": described,
             "source": {"connector": "mongodb", "db": "d", "collection": "t", "ts_ms": 1}, "ts_ms": 1}
    return {"topic": "p.d.t", "partition": 0, "offset": 0, "key": json.dumps({"id": json.dumps(key)}), "value": json.dumps(value)}


def elements(run, table, *columns):
    return [tuple(r.get(c) for c in columns) for r in run.table(table)]


ORDER = {"_id": 1, "n": 1, "items": [{"sku": "a", "price": 1, "tags": ["x", "y"]}, {"sku": "b", "price": 2}, 7], "nums": [1, 2, 3], "grid": [[1, 2], [3]]}


def test_a_partial_update_changes_a_field_of_an_element(run):
    run.load([mongo("c", ORDER)])
    before = versions(run, "t__items")
    run.load([mongo("u", updated={"items.1.price": 5, "items.0.tags.1": "z", "nums.2": 30, "grid.1.0": 33})])
    same(elements(run, "t__items", "_pos", "sku", "price", "value"), [("0", "a", "1", None), ("1", "b", "5", None), ("2", None, None, "7")])
    same(elements(run, "t__items__tags", "_pos", "_pos2", "value"), [("0", "0", "x"), ("0", "1", "z")])
    same(elements(run, "t__nums", "value"), [("1",), ("2",), ("30",)])
    same(elements(run, "t__grid__value", "_pos", "_pos2", "value"), [("0", "0", "1"), ("0", "1", "2"), ("1", "0", "33")])
    if run.target.name == "postgresql":
        after = versions(run, "t__items")
        same([p for p in before if before[p] != after[p]], [1])
    same([run.table("t"), run.dead()], [[row(_id=1, n=1)], []])


def test_a_partial_update_replaces_an_element_with_all_that_it_holds(run):
    run.load([mongo("c", ORDER), mongo("u", updated={"items.0": {"sku": "c", "tags": ["q"]}, "items.1": [4, 5], "items.2": {"sku": "d"}, "grid.0": []})])
    same(elements(run, "t__items", "_pos", "sku", "price", "value"), [("0", "c", None, None), ("1", None, None, None), ("2", "d", None, None)])
    same(elements(run, "t__items__tags", "_pos", "_pos2", "value"), [("0", "0", "q")])
    same(elements(run, "t__items__value", "_pos", "_pos2", "value"), [("1", "0", "4"), ("1", "1", "5")])
    same(elements(run, "t__grid__value", "_pos", "_pos2", "value"), [("1", "0", "3")])
    same(run.dead(), [])


def test_an_element_beyond_the_end_leaves_nulls_between(run):
    run.load([mongo("c", ORDER)])
    run.load([mongo("u", updated={"nums.6": 60, "items.5.sku": "f", "grid.1.3": 9}), mongo("u", truncated={"nums": 5}, updated={"nums.7": 70})])
    same(elements(run, "t__nums", "_pos", "value"), [(str(i), v) for i, v in enumerate(["1", "2", "3", None, None, None, None, "70"])])
    same(elements(run, "t__items", "_pos", "sku", "value"), [("0", "a", None), ("1", "b", None), ("2", None, "7"), ("3", None, None), ("4", None, None), ("5", "f", None)])
    same(elements(run, "t__grid__value", "_pos", "_pos2", "value"), [("0", "0", "1"), ("0", "1", "2"), ("1", "0", "3"), ("1", "1", None), ("1", "2", None), ("1", "3", "9")])
    run.load([mongo("u", updated={"nums.2500": 1})])
    same([len(run.table("t__nums")), run.dead()], [2501, []])


def test_elements_that_are_unset_become_null_and_fields_of_them_go(run):
    run.load([mongo("c", ORDER), mongo("u", removed=["items.0.price", "items.0.tags", "nums.1", "items.2", "grid.0"])])
    same(elements(run, "t__items", "_pos", "sku", "price", "value"), [("0", "a", None, None), ("1", "b", "2", None), ("2", None, None, None)])
    same(run.table("t__items__tags"), [])
    same(elements(run, "t__nums", "value"), [("1",), (None,), ("3",)])
    same(elements(run, "t__grid", "_pos"), [("0",), ("1",)])
    same(elements(run, "t__grid__value", "_pos", "_pos2", "value"), [("1", "0", "3")])
    same(run.dead(), [])


def test_truncated_arrays_lose_their_tails_with_all_that_is_in_them(run):
    run.load([mongo("c", ORDER), mongo("u", truncated={"items": 1, "nums": 0, "grid.0": 1, "items.0.tags": 1})])
    same(elements(run, "t__items", "_pos", "sku"), [("0", "a")])
    same(elements(run, "t__items__tags", "_pos", "_pos2", "value"), [("0", "0", "x")])
    same(run.table("t__nums"), [])
    same(elements(run, "t__grid__value", "_pos", "_pos2", "value"), [("0", "0", "1"), ("1", "0", "3")])
    run.load([mongo("u", truncated={"items": 0}), mongo("u", updated={"nums.0": 9})])
    same([run.table("t__items"), run.table("t__items__tags"), elements(run, "t__nums", "value"), run.dead()], [[], [], [("9",)], []])


def test_an_array_set_by_an_update_replaces_all_of_it(run):
    run.load([mongo("c", ORDER), mongo("u", updated={"items": [{"sku": "n", "tags": []}], "nums": None, "grid": 5})])
    same(elements(run, "t__items", "_pos", "sku"), [("0", "n")])
    same([run.table("t__items__tags"), run.table("t__nums"), run.table("t__grid"), run.table("t__grid__value")], [[], [], [], []])
    same([run.table("t"), run.dead()], [[row(_id=1, n=1, grid=5)], []])
    run.load([mongo("u", updated={"grid": [[8]]}), mongo("u", removed=["items", "grid"])])
    same([run.table("t"), run.table("t__items"), run.table("t__grid__value")], [[row(_id=1, n=1)], [], []])


def test_a_position_in_an_array_that_nobody_knows_is_no_guess(run):
    run.load([mongo("c", {"_id": 1, "n": 1}), mongo("u", updated={"n": 2, "map.150000.x": 1})])
    same(run.dead(), ["unsupported"])
    same([run.table("t"), run.table("t__map")], [[row(_id=1, n=1)], None])
    run.load([mongo("u", updated={"new.0": 5, "new.1": 6, "map.20240101.x": 7})])
    same(elements(run, "t__new", "value"), [("5",), ("6",)])
    same(run.table("t"), [row(_id=1, n=1, map_20240101_x=7)])


# ---- refusals ----

def test_one_bad_element_makes_the_whole_record_a_dead_letter(run):
    run.load([event("c", {"id": 1, "n": 1, "a": [1]}), event("u", {"id": 1, "n": 2, "a": [2, "text"], "b": [1]}), event("u", {"id": 2, "n": 3, "a": [4]}, key=2)])
    same(run.dead(), ["type_conflict"])
    same(run.table("t"), [row(id=1, n=1), row(id=2, n=3)])
    same(run.table("t__a"), [row(id=1, _pos=0, value=1), row(id=2, _pos=0, value=4)])
    check(run.table("t__b") is None, "a refused record leaves no table")


def test_the_policy_of_the_table_holds_for_its_elements_unless_they_have_one(run):
    lines = [event("c", {"id": 1, "a": [1, "x"]})]
    run.load(lines, "tables.t.policy=text")
    same([r["value"] for r in run.table("t__a")], ["1", "x"])
    run.load([event("c", {"id": 2, "c": [1, "x"]}, key=2)], "tables.t.policy=text", "tables.t__c.policy=strict")
    same(run.dead(), ["type_conflict"])


def test_a_row_without_key_cannot_have_tables_of_elements(run):
    run.load([event("c", {"n": 1, "a": [1]}, key=None), event("c", {"n": 2, "a": []}, key=None)])
    same(run.dead(), ["no_key"])
    same(run.table("t"), [row(n=2)])


def test_too_many_arrays_are_a_dead_letter(run):
    run.load([event("c", {"id": 1, **{f"a{i}": [1] for i in range(300)}}), event("c", {"id": 2, "a0": [1]}, key=2)], "batch.rows=1")
    same(run.dead(), ["no_table"])
    same(run.table("t__a0"), [row(id=2, _pos=0, value=1)])


def forbid(run, table, column, limit):
    """The target refuses rows whose column is not below the limit."""
    if run.target.name == "sqlite":
        for what in ("INSERT", "UPDATE"):
            run.target.execute(f'CREATE TRIGGER no_{table}_{what} BEFORE {what} ON "{table}" WHEN NEW."{column}" >= {limit} '
                               "BEGIN SELECT RAISE(ABORT, 'too large'); END")
    else:
        run.target.execute(f'ALTER TABLE {run.quoted(table)} ADD CONSTRAINT small_{table} CHECK ("{column}" < {limit})')


def test_a_document_is_not_taken_without_an_element_that_the_target_refuses(run):
    run.load([event("c", {"id": i, "n": 0, "a": [1, {"b": [1]}]}, key=i) for i in (1, 2)])
    forbid(run, "t__a", "value", 10)
    forbid(run, "t__a__b", "value", 10)
    run.load([event("u", {"id": 1, "n": 1, "a": [2, 30, 4]}), event("u", {"id": 2, "n": 1, "a": [5]}, key=2),
              event("c", {"id": 3, "n": 1, "a": [{"b": [1, 11]}, 6]}, key=3), event("u", {"id": 2, "n": 2, "a": [5, 7]}, key=2)])
    same(run.table("t"), [row(id=1, n=0), row(id=2, n=2)])
    same([(r["id"], r["_pos"], r.get("value")) for r in run.table("t__a")], [("1", "0", "1"), ("1", "1", None), ("2", "0", "5"), ("2", "1", "7")])
    same(run.table("t__a__b"), [row(id=1, _pos=1, _pos2=0, value=1)])
    check(len(run.dead()) == 2, f"two dead letters: {run.dead()}")


def test_elements_are_not_taken_without_a_document_that_the_target_refuses(run):
    run.load([event("c", {"id": 1, "n": 0, "a": [1, 2]}), event("c", {"id": 2, "n": 0, "a": [3]}, key=2)])
    forbid(run, "t", "n", 10)
    run.load([event("u", {"id": 1, "n": 99, "a": [4]}), event("u", {"id": 2, "n": 1, "a": [5]}, key=2), event("c", {"id": 3, "n": 98, "a": [6]}, key=3),
              event("u", {"id": 1, "n": 1, "a": [1, 7]}), event("c", {"id": 4, "n": 4, "a": [8]}, key=4), event("d", key=4)])
    same(run.table("t"), [row(id=1, n=1), row(id=2, n=1)])
    same([(r["id"], r["value"]) for r in run.table("t__a")], [("1", "1"), ("1", "7"), ("2", "5")])
    check(len(run.dead()) == 2, f"two dead letters: {run.dead()}")


def test_replay_inserts_a_document_with_its_elements(run):
    bad = [event("c", {"id": 1, "a": [1]}), event("c", {"id": 2, "a": [{"b": [5]}, "x"]}, key=2)]
    run.load(bad)
    args = [a for s in [*TABLE, "tables.t.policy=text"] for a in ("--set", s)]
    out = millrace("dead-letters", "replay", "--all", *run.target.args(), *args)
    same([r.get("value") for r in run.table("t__a")], ["1", None, "x"])
    same([r["value"] for r in run.table("t__a__b")], ["5"])
    check("1" in out.stdout, out.stdout)


def test_plan_and_schema_show_the_tables(run):
    lines = [event("c", {"id": 1, "a": [{"id": 4, "b": [1]}]})]
    plan = run.load(lines, command="plan").stdout
    check("t__a" in plan and "t__a__b" in plan and "_pos2" in plan, plan)
    run.load(lines)
    schema = millrace("schema", *run.target.args()).stdout
    check("t__a__b" in schema and "key id, _pos, _pos2" in schema, schema)
    check("t__a__b" in millrace("status", *run.target.args()).stdout, "status knows the tables")


def test_flatten_struct_is_needed(run):
    done = run.load([event("c", {"id": 1})], "unwrap.flatten.struct=false", check_exit=False)
    same(done.returncode, 3)
    check("unwrap.flatten.struct" in done.stderr, done.stderr)


def test_ddl_of_the_source_leaves_tables_with_tables_of_arrays_alone(run):
    run.load([event("c", {"id": 1, "n": 1, "a": [1, 2]}, connector="mysql")])
    for ddl, kind in (("ALTER TABLE t RENAME COLUMN id TO nr", "ALTER"), ("RENAME TABLE t TO u", "ALTER"), ("DROP TABLE t", "DROP")):
        change = {"source": {"connector": "mysql", "db": "d", "table": "t", "ts_ms": 1}, "ts_ms": 1, "databaseName": "d", "ddl": ddl,
                  "tableChanges": [{"type": kind, "id": '"d"."t"', "table": None}]}
        run.load([{"topic": "p", "partition": 0, "offset": 0, "key": json.dumps({"databaseName": "d"}), "value": json.dumps(change)}], "ddl=apply")
    told = [r for r in run.target.control("ddl_history", "reason") if "not followed" in r[0]]
    check(len(told) >= 3 and all("tables of their own" in r[0] for r in told), told)
    run.load([event("d", key=1, connector="mysql")])
    same([run.table("t"), run.table("t__a"), run.dead()], [[], [], []])


# ---- only what changed ----

def versions(run, table):
    """Something of each row that every write of it changes."""
    if run.target.name == "postgresql":
        return dict(run.target.query(f'SELECT "_pos", xmin::text || ctid::text FROM {run.quoted(table)}'))
    return {}


def test_only_elements_that_changed_are_written(run):
    many = [{"sku": f"s{i}", "price": 1.5, "at": {"x": i}, "raw": [i]} for i in range(200)]
    run.load([event("c", {"id": 1, "n": 1, "a": many})])
    if run.target.name == "sqlite":
        run.target.execute('CREATE TABLE log (pos INTEGER)')
        for what in ("INSERT", "UPDATE", "DELETE"):
            place = "OLD" if what == "DELETE" else "NEW"
            run.target.execute(f'CREATE TRIGGER log_{what} AFTER {what} ON "t__a" BEGIN INSERT INTO log VALUES ({place}._pos); END')
    before = versions(run, "t__a"), versions(run, "t__a__raw")
    changed = [dict(e) for e in many]
    changed[7]["price"] = 1.75
    changed[9]["price"] = None
    run.load([event("u", {"id": 1, "n": 2, "a": changed})])
    after = versions(run, "t__a"), versions(run, "t__a__raw")
    if run.target.name == "postgresql":
        same([p for p in before[0] if before[0][p] != after[0][p]], [7, 9])
        same(before[1], after[1])
    if run.target.name == "sqlite":
        same(sorted(int(r["pos"].value) for r in run.target.rows("log")), [7, 9])
    same(run.table("t__a")[7 * 1]["sku"], "s7" if run.table("t__a")[7]["_pos"] == "7" else run.table("t__a")[7]["sku"])


def test_foreign_keys_of_a_persons_own_hold(run):
    if run.target.name == "sqlite":
        return
    run.load([event("c", {"id": i, "a": [{"b": [1]}]}, key=i) for i in range(3)])
    run.target.execute(f'ALTER TABLE {run.quoted("t__a")} ADD CONSTRAINT f1 FOREIGN KEY ("id") REFERENCES {run.quoted("t")} ("id")')
    run.target.execute(f'ALTER TABLE {run.quoted("t__a__b")} ADD CONSTRAINT f2 FOREIGN KEY ("id", "_pos") REFERENCES {run.quoted("t__a")} ("id", "_pos")')
    run.load([event("d", key=1), event("u", {"id": 2, "a": []}, key=2), event("c", {"id": 5, "a": [{"b": [1, 2]}]}, key=5)])
    same(run.dead(), [])
    same([(r["id"], r["_pos"]) for r in run.table("t__a")], [("0", "0"), ("5", "0")])
    same([r["id"] for r in run.table("t__a__b")], ["0", "5", "5"])


def main():
    target_class, wanted = TARGETS[sys.argv[1]], sys.argv[2:]
    tests = {n: f for n, f in globals().items() if n.startswith("test_") and (not wanted or n in wanted)}
    failed = 0
    for name, test in tests.items():
        run = Run(target_class())
        try:
            test(run)
        except Failure as why:
            failed += 1
            print(f"FAILED {name}: {why}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED {name}:\n{traceback.format_exc()}", flush=True)
        finally:
            run.close()
    print(f"{sys.argv[1]}: {len(tests)} tests, {failed} failures")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
