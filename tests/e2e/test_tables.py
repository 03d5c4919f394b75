#!/usr/bin/env python3
"""What becomes of tables under the settings: test_tables.py sqlite|postgresql|mariadb|mysql [test_NAME…].

Keys, deletes, policies, evolving, names, metadata columns, tables that were there before: each test loads a few events with the program and looks at
the tables. Batches of one and of all must give the same, so every load is done both ways."""
import json
import os
import re
import sys
import tempfile
import traceback
from decimal import Decimal

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
from harness import TARGETS, Failure, millrace  # noqa: E402


def envelope(op, table, key, before=None, after=None, db="shop", **more):
    source = {"connector": "mysql", "db": db, "table": table, "ts_ms": 1700000000000}
    value = {"op": op, "before": before, "after": after, "source": source, "ts_ms": 1700000000456, **more}
    return {"topic": f"t.{db}.{table}", "partition": 0, "key": key, "value": value}


def create(table, row, key=("id",), **more):
    return envelope("c", table, {k: row[k] for k in key} if key else None, None, row, **more)


def update(table, before, after, key=("id",)):
    return envelope("u", table, {k: after[k] for k in key} if key else None, before, after)


def delete(table, row, key=("id",)):
    return envelope("d", table, {k: row[k] for k in key} if key else None, row, None)


def tombstone(table, key, db="shop"):
    return {"topic": f"t.{db}.{table}", "partition": 0, "key": key, "value": None}


class Run:
    """One target, and how records get into it."""

    def __init__(self, target, batch_rows):
        self.target, self.batch_rows, self.loads = target, batch_rows, 0
        self.work = tempfile.TemporaryDirectory(prefix="millrace-tables-")

    def load(self, records, *settings, expect=0, reject=None):
        self.loads += 1
        path = os.path.join(self.work.name, f"load{self.loads}.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            for i, r in enumerate(records):
                f.write(json.dumps({"offset": self.loads * 1000 + i, **r}) + "\n")
        sets = [a for s in (f"batch.rows={self.batch_rows}", *settings) for a in ("--set", s)]
        done = millrace("backfill", path, *self.target.args(), *sets, check=False)
        if done.returncode != expect:
            raise Failure(f"exit code {done.returncode}, not {expect}\n{done.stderr[-1500:]}")
        if reject is not None and reject not in done.stderr:
            raise Failure(f"{reject!r} is not in\n{done.stderr[-1500:]}")
        return done

    def table(self, name):
        """[{column: text or None}], without columns that are NULL, in a fixed order."""
        rows = []
        for row in self.target.rows(name):
            cells = {}
            for column, cell in row.items():
                if cell.value is not None:
                    value = cell.value if isinstance(cell.value, str) else str(cell.value)
                    cells[column] = {"true": "1", "false": "0"}.get(value, value) if "bool" in cell.native else value
            rows.append(cells)
        return sorted(rows, key=lambda r: sorted(r.items()))

    def native(self, name, column):
        return self.target.rows(name)[0][column].native

    def dead(self):
        return [(code, field) for _, code, field in self.target.control("dead_letter", "id, code, field")]


def same(have, want):
    if have != want:
        raise Failure(f"wanted {want}\n  holds {have}")


# ---- keys ----

def test_a_composite_key_identifies_rows(run):
    run.load([create("l", {"a": 1, "b": "x", "v": 1}, ("a", "b")), create("l", {"a": 1, "b": "y", "v": 2}, ("a", "b")),
              update("l", {"a": 1, "b": "x", "v": 1}, {"a": 1, "b": "x", "v": 3}, ("a", "b"))])
    same(run.table("l"), [{"a": "1", "b": "x", "v": "3"}, {"a": "1", "b": "y", "v": "2"}])


def test_primary_key_fields_follow_the_row_not_the_record_key(run):
    rows = [create("t", {"id": 1, "sku": "a", "v": 1}), update("t", {"id": 1, "sku": "a", "v": 1}, {"id": 1, "sku": "b", "v": 2}),
            create("t", {"id": 2, "sku": "c", "v": 3}), delete("t", {"id": 2, "sku": "c", "v": 3})]
    run.load(rows, "tables.shop.t.primary_key=[sku]")
    same(run.table("t"), [{"id": "1", "sku": "b", "v": "2"}])


def test_a_tombstone_that_lacks_the_key_has_nothing_to_do_behind_its_delete(run):
    row = {"id": 2, "sku": "c", "v": 3}
    run.load([create("t", {"id": 1, "sku": "b", "v": 2}), create("t", row), delete("t", row), tombstone("t", {"id": 2})],
             "tables.shop.t.primary_key=[sku]")
    same(run.table("t"), [{"id": "1", "sku": "b", "v": "2"}])
    same(run.dead(), [])
    # Where tombstones alone come, one that cannot be applied is told.
    run.load([{"topic": "u", "key": {"id": 2}, "value": {"id": 2, "sku": "c"}}, {"topic": "u", "key": {"id": 2}, "value": None}],
             "tables.u.primary_key=[sku]")
    same([code for code, _ in run.dead()], ["no_key"])


def test_a_struct_that_no_envelope_has_is_told(run):
    done = run.load([create("t", {"id": 1})], "unwrap.add.fields=op,foo.bar,source.db", reject="in a struct that Debezium's events do not have")
    same(done.stderr.count("do not have"), 1)
    same(run.table("t"), [{"id": "1", "__op": "c", "__source_db": "shop"}])


def test_record_key_text_holds_keys_of_any_type(run):
    rows = [envelope("c", "t", {"id": k}, None, {"v": i}) for i, k in enumerate([1, "1", None, True, {"a": [1]}])]
    run.load(rows, "tables.shop.t.primary_key=record_key_text")
    same([r["_key"] for r in run.table("t")], sorted(['{"id":1}', '{"id":"1"}', '{"id":null}', '{"id":true}', '{"id":{"a":[1]}}']))


def test_primary_key_none_appends_every_event(run):
    rows = [create("t", {"id": 1, "v": 1}), update("t", {"id": 1, "v": 1}, {"id": 1, "v": 2}), delete("t", {"id": 1, "v": 2}),
            create("t", {"id": 1, "v": 1})]
    run.load(rows, "tables.shop.t.primary_key=none")
    same(run.table("t"), [{"id": "1", "v": "1"}, {"id": "1", "v": "1"}, {"id": "1", "v": "2"}])


def test_mode_append_makes_tables_without_key_but_those_that_are_named(run):
    rows = [create("t", {"id": 1, "v": 1}), update("t", {"id": 1, "v": 1}, {"id": 1, "v": 2}), create("k", {"id": 1, "v": 1}),
            update("k", {"id": 1, "v": 1}, {"id": 1, "v": 2})]
    run.load(rows, "mode=append", "tables.shop.k.primary_key=record_key")
    same(run.table("t"), [{"id": "1", "v": "1"}, {"id": "1", "v": "2"}])
    same(run.table("k"), [{"id": "1", "v": "2"}])


def test_mode_upsert_refuses_rows_without_key_but_where_none_is_named(run):
    rows = [create("t", {"id": 1, "v": 1}), create("t", {"id": 2, "v": 1}, ()), create("n", {"v": 1}, ())]
    run.load(rows, "mode=upsert", "tables.shop.n.primary_key=none")
    same(run.table("t"), [{"id": "1", "v": "1"}])
    same(run.table("n"), [{"v": "1"}])
    same([code for code, _ in run.dead()], ["no_key"])


def test_rows_without_key_are_matched_by_their_before_image(run):
    a, b = {"v": 1, "w": "x"}, {"v": 1, "w": None}
    rows = [create("t", a, ()), create("t", a, ()), create("t", b, ()), update("t", a, {"v": 2, "w": "x"}, ()), delete("t", b, ()),
            delete("t", {"v": 9, "w": "nowhere"}, ()), tombstone("t", None)]
    run.load(rows)
    same(run.table("t"), [{"v": "1", "w": "x"}, {"v": "2", "w": "x"}])


def test_a_key_change_at_the_source_replaces_the_primary_key(run):
    run.load([create("t", {"id": 1, "b": 1, "v": "a"}), create("t", {"id": 2, "b": 1, "v": "b"}),
              create("t", {"id": 2, "b": 2, "v": "c"}, ("id", "b")), update("t", None, {"id": 1, "b": 1, "v": "d"}, ("id", "b"))])
    same(run.table("t"), [{"b": "1", "id": "1", "v": "d"}, {"b": "1", "id": "2", "v": "b"}, {"b": "2", "id": "2", "v": "c"}])


def test_a_null_key_column_is_a_dead_letter(run):
    run.load([create("t", {"id": 1, "v": 1}), create("t", {"id": None, "v": 2}), create("t", {"id": 3, "v": 3})])
    same(run.table("t"), [{"id": "1", "v": "1"}, {"id": "3", "v": "3"}])
    same(run.dead(), [("null_key", "id")])


# ---- deletes ----

def test_hard_deletes_and_tombstones_remove_rows(run):
    run.load([create("t", {"id": i, "v": i}) for i in (1, 2, 3)] + [delete("t", {"id": 1, "v": 1}), tombstone("t", {"id": 1}),
                                                                   tombstone("t", {"id": 2}), tombstone("nowhere", {"id": 2})])
    same(run.table("t"), [{"id": "3", "v": "3"}])
    same(run.target.tables(), ["t"])


def test_soft_deletes_set_the_mark_and_nothing_else(run):
    rows = [create("t", {"id": 1, "v": "keep"}), create("t", {"id": 2, "v": "x"}), delete("t", {"id": 1, "v": None}), tombstone("t", {"id": 1}),
            delete("t", {"id": 9, "v": None})]
    run.load(rows, "tables.shop.t.delete=soft")
    same(run.table("t"), [{"__deleted": "0", "id": "2", "v": "x"}, {"__deleted": "1", "id": "1", "v": "keep"}, {"__deleted": "1", "id": "9"}])


def test_a_row_that_comes_back_after_a_soft_delete_is_not_deleted(run):
    run.load([create("t", {"id": 1, "v": "a"}), delete("t", {"id": 1}), create("t", {"id": 1, "v": "b"})], "tables.*.delete=soft")
    same(run.table("t"), [{"__deleted": "0", "id": "1", "v": "b"}])


def test_ignored_deletes_leave_the_rows(run):
    run.load([create("t", {"id": 1, "v": "a"}), delete("t", {"id": 1}), tombstone("t", {"id": 1}), envelope("t", "t", None)], "tables.shop.t.delete=ignore")
    same(run.table("t"), [{"id": "1", "v": "a"}])


def test_truncate_empties_the_table_in_its_place_in_the_order(run):
    run.load([create("t", {"id": 1, "v": 1}), create("u", {"id": 1, "v": 1}), envelope("t", "t", None), create("t", {"id": 2, "v": 2})])
    same(run.table("t"), [{"id": "2", "v": "2"}])
    same(run.table("u"), [{"id": "1", "v": "1"}])


# ---- columns ----

def test_a_complete_row_without_a_known_column_sets_it_to_null(run):
    run.load([create("t", {"id": 1, "a": 1, "b": 2}), update("t", None, {"id": 1, "a": 5})])
    same(run.table("t"), [{"a": "5", "id": "1"}])


def test_missing_keep_leaves_the_old_value_of_plain_rows(run):
    rows = [{"topic": "x.db.t", "partition": 0, "key": {"id": 1}, "value": {"id": 1, "a": 1, "b": 2}},
            {"topic": "x.db.t", "partition": 0, "key": {"id": 1}, "value": {"id": 1, "a": 5}}]
    run.load(rows, "format=json", "tables.db.t.missing=keep")
    same(run.table("t"), [{"a": "5", "b": "2", "id": "1"}])


def test_a_field_that_has_only_been_null_has_no_column(run):
    run.load([create("t", {"id": 1, "later": None})])
    same(sorted(run.target.rows("t")[0]), ["id"])
    run.load([create("t", {"id": 2, "later": 5})])
    same(run.table("t"), [{"id": "1"}, {"id": "2", "later": "5"}])


def test_nested_documents_become_columns_and_arrays_json(run):
    run.load([create("t", {"id": 1, "a": {"b": 1, "c": {"d": "x"}}, "l": [1, {"e": 2}]})], 'unwrap."flatten.struct.delimiter"=-')
    same(run.table("t"), [{"a-b": "1", "a-c-d": "x", "id": "1", "l": run.table("t")[0]["l"]}])
    same(json.loads(run.table("t")[0]["l"]), [1, {"e": 2}])


def test_colliding_names_are_never_merged(run):
    run.load([create("t", {"id": 1, "a_b": "plain", "a": {"b": "nested"}})])
    row = run.table("t")[0]
    same(row["a_b"], "plain")
    same(sorted(row.values()), ["1", "nested", "plain"])
    run.load([create("t", {"id": 1, "a_b": "plain2", "a": {"b": "nested2"}})])
    same({**row, "a_b": "plain2", [k for k in row if row[k] == "nested"][0]: "nested2"}, run.table("t")[0])


def test_metadata_columns_on_request(run):
    rows = [create("t", {"id": 1, "v": 1})]
    run.load(rows, 'unwrap."add.fields"=op,source.ts_ms,source.table:src,topic,partition,offset')
    same(run.table("t"), [{"__offset": "1000", "__op": "c", "__partition": "0", "__source_ts_ms": "1700000000000", "__src": "t", "__topic": "t.shop.t",
                           "id": "1", "v": "1"}])


def test_unavailable_values_keep_what_is_there(run):
    run.load([create("t", {"id": 1, "big": "old", "v": 1}), update("t", None, {"id": 1, "big": "__debezium_unavailable_value", "v": 2}),
              create("t", {"id": 2, "big": "__debezium_unavailable_value", "v": 3})])
    same(run.table("t"), [{"big": "old", "id": "1", "v": "2"}, {"id": "2", "v": "3"}])


# ---- types and policies ----

MIXED = [create("t", {"id": 1, "x": 1}), create("t", {"id": 2, "x": "word"}), create("t", {"id": 3, "x": 3})]


def test_integers_widen_to_decimals_without_loss(run):
    run.load([create("t", {"id": 1, "x": 9007199254740993}), create("t", {"id": 2, "x": 1.10}), create("t", {"id": 3, "x": 18446744073709551616})])
    same([Decimal(r["x"]) for r in run.table("t")], [Decimal("9007199254740993"), Decimal("1.1"), Decimal("18446744073709551616")])
    same(run.dead(), [])


def test_policy_widen_puts_a_conflict_into_the_dead_letters(run):
    run.load(MIXED)
    same([r["x"] for r in run.table("t")], ["1", "3"])
    same(run.dead(), [("type_conflict", "x")])


def test_policy_strict_refuses_even_a_widening(run):
    run.load([create("t", {"id": 1, "x": 1}), create("t", {"id": 2, "x": 1.5})], "types.policies.shop.t.x=strict")
    same(run.table("t"), [{"id": "1", "x": "1"}])
    same(run.dead(), [("type_conflict", "x")])


def test_policy_text_turns_the_column_into_text(run):
    run.load(MIXED, "tables.shop.t.policy=text")
    same([r["x"] for r in run.table("t")], ["1", "word", "3"])
    run.load([create("t", {"id": 4, "x": 2.50}), create("t", {"id": 5, "x": True})], "tables.shop.t.policy=text")
    same([r["x"] for r in run.table("t")], ["1", "word", "3", "2.5", "true"])


def test_policy_json_turns_the_column_into_json(run):
    run.load(MIXED, "types.policy=json")
    same([json.loads(r["x"]) for r in run.table("t")], [1, "word", 3])


def test_policy_variant_gives_the_conflict_a_column_of_its_own(run):
    run.load(MIXED, "types.policy=variant")
    same(run.table("t"), [{"id": "1", "x": "1"}, {"id": "2", "x__text": "word"}, {"id": "3", "x": "3"}])
    run.load([create("t", {"id": 2, "x": 5}), create("t", {"id": 1, "x": "w"})], "types.policy=variant")
    same(run.table("t"), [{"id": "1", "x__text": "w"}, {"id": "2", "x": "5"}, {"id": "3", "x": "3"}])


def test_policy_null_leaves_the_value_out_and_records_it(run):
    run.load(MIXED, 'types.policy="null"')
    same(run.table("t"), [{"id": "1", "x": "1"}, {"id": "2"}, {"id": "3", "x": "3"}])
    same(run.dead(), [])
    same(len([e for _, e in run.target.control("type_history", "id, event") if e == "nulled"]), 1)


def test_policy_fail_stops_and_names_everything(run):
    run.load(MIXED, "types.policy=fail", expect=6, reject='field "x"')
    same([r["x"] for r in run.table("t")], ["1"])


def test_configured_types_hold_from_the_first_row(run):
    run.load([create("t", {"id": 1, "p": 12, "d": "2024-02-29", "n": "7"}), create("t", {"id": 2, "p": 12.345, "d": "nonsense", "n": "8"})],
             "types.columns.shop.t.p=decimal(10,2)", "types.columns.shop.t.d=date", "types.columns.shop.t.n=int64")
    same([(r["id"], r["d"], r["n"]) for r in run.table("t")], [("1", "2024-02-29", "7")])
    same(len(run.dead()), 1)


# ---- evolving ----

def test_evolve_none_exits_with_6_and_prints_what_to_run(run):
    run.load([create("t", {"id": 1})], "target.evolve=none", expect=6, reject="CREATE TABLE")
    same(run.target.tables(), [])
    run.load([create("t", {"id": 1})])
    run.load([create("t", {"id": 2, "x": 1})], "target.evolve=none", expect=6, reject="ADD COLUMN")
    same(run.table("t"), [{"id": "1"}])


def test_evolve_add_takes_a_widening_for_a_conflict(run):
    run.load([create("t", {"id": 1, "x": 1}), create("t", {"id": 2, "x": 1})], "target.evolve=add")
    run.load([create("t", {"id": 3, "x": 1.5, "y": 1}), create("t", {"id": 4, "x": 2, "y": 2})], "target.evolve=add")
    same(run.table("t"), [{"id": "1", "x": "1"}, {"id": "2", "x": "1"}, {"id": "4", "x": "2", "y": "2"}])
    same(run.dead(), [("type_conflict", "x")])


def qualified(run, table):
    return f'"{table}"' if run.target.name == "sqlite" else f'"{run.target.schema}"."{table}"'


def test_a_table_that_was_there_is_used_and_its_own_columns_are_left_alone(run):
    run.load([create("warm", {"id": 1})])  # makes the schema
    run.target.execute(f'CREATE TABLE {qualified(run, "t")} (id bigint PRIMARY KEY, v text, mine varchar(20) DEFAULT \'hand\')')
    run.load([create("t", {"id": 1, "v": "a"}), create("t", {"id": 2, "v": "b", "new": 1})])
    run.load([update("t", None, {"id": 1, "v": "c"}), delete("t", {"id": 2})])
    same(run.table("t"), [{"id": "1", "mine": "hand", "v": "c"}])


def test_a_table_without_a_matching_key_is_refused_with_the_remedy(run):
    run.load([create("warm", {"id": 1})])
    run.target.execute(f'CREATE TABLE {qualified(run, "t")} (id bigint, v text)')
    run.load([create("t", {"id": 1, "v": "a"})], expect=3, reject="hint:")
    same(run.table("t"), [])


def hint(done):
    """The statement that a refusal asks for."""
    return re.search(r"run: (ALTER TABLE [^\"\n]*)", done.stderr)[1]


def test_a_text_key_that_would_merge_rows_is_refused_with_the_remedy(run):
    if run.target.name not in ("mariadb", "mysql"):
        return
    keys = ["a", "A", "á", "a ", "ss", "ß"]
    rows = [create("t", {"k": k, "l": k, "v": i}, ("k", "l")) for i, k in enumerate(keys)]
    run.load([create("warm", {"id": 1})])
    run.target.execute(f'CREATE TABLE {qualified(run, "t")} (k varchar(20), l varchar(30), v bigint, w varchar(5), PRIMARY KEY (k, l)) COLLATE utf8mb4_general_ci')
    done = run.load(rows, expect=3, reject="takes texts for equal that differ")
    same(run.table("t"), [])
    run.target.execute(hint(done))
    run.load(rows)
    same(sorted(r["k"] for r in run.table("t")), sorted(keys))
    # A table of numbers has nothing to merge, whatever its collation.
    run.target.execute(f'CREATE TABLE {qualified(run, "n")} (id varchar(20) PRIMARY KEY, v text) COLLATE utf8mb4_general_ci')
    run.load([create("n", {"id": 1, "v": "a"}), update("n", None, {"id": 1, "v": "b"})])
    same(run.table("n"), [{"id": "1", "v": "b"}])


def test_a_unique_index_that_merges_texts_refuses_the_row_and_changes_no_other(run):
    if run.target.name not in ("mariadb", "mysql"):
        return
    run.load([create("warm", {"id": 1})])
    run.target.execute(f'CREATE TABLE {qualified(run, "t")} (id bigint PRIMARY KEY, u varchar(20), UNIQUE (u)) COLLATE utf8mb4_general_ci')
    run.load([create("t", {"id": 1, "u": "a"}), create("t", {"id": 2, "u": "A"}), create("t", {"id": 3, "u": "b"}),
              update("t", None, {"id": 1, "u": "A "}), update("t", None, {"id": 3, "u": "B"})])
    same(run.table("t"), [{"id": "1", "u": "A "}, {"id": "3", "u": "B"}])
    same([code for code, _ in run.dead()], ["constraint"])


def test_a_table_without_transactions_is_refused_with_the_remedy(run):
    if run.target.name not in ("mariadb", "mysql"):
        return
    run.load([create("warm", {"id": 1}), create("t", {"id": 1})])
    run.target.execute(f'ALTER TABLE {qualified(run, "t")} ENGINE=MyISAM')
    done = run.load([create("t", {"id": 2})], expect=3, reject="no transactions")
    same(run.table("t"), [{"id": "1"}])
    found = millrace("check", os.path.join(run.work.name, "load2.jsonl"), *run.target.args(), check=False)
    same(found.returncode, 3)
    if "ENGINE=InnoDB" not in found.stdout:
        raise Failure(found.stdout)
    plan = millrace("plan", os.path.join(run.work.name, "load2.jsonl"), *run.target.args(), check=False)
    if plan.returncode != 3 or "ENGINE=InnoDB" not in plan.stdout + plan.stderr:
        raise Failure(f"{plan.returncode}\n{plan.stdout}{plan.stderr}")
    run.target.execute(hint(done))
    run.load([create("t", {"id": 2})])
    same(run.table("t"), [{"id": "1"}, {"id": "2"}])


def test_two_rows_exchange_a_unique_value(run):
    run.load([create("t", {"id": 1, "u": "a"}), create("t", {"id": 2, "u": "b"})])
    column = "u(50)" if run.target.name in ("mariadb", "mysql") else "u"  # there a text has to be cut for an index
    run.target.execute(f'CREATE UNIQUE INDEX t_u ON {qualified(run, "t")} ({column})')
    run.load([update("t", {"id": 1, "u": "a"}, {"id": 1, "u": "tmp"}), update("t", {"id": 2, "u": "b"}, {"id": 2, "u": "a"}),
              update("t", {"id": 1, "u": "tmp"}, {"id": 1, "u": "b"})])
    same(run.table("t"), [{"id": "1", "u": "b"}, {"id": "2", "u": "a"}])
    same(run.dead(), [])


def test_a_row_that_changes_a_unique_value_loses_nothing_on_the_way(run):
    """What others keep in the row, rows that refer to the value, and a check that would not have it NULL for a moment."""
    def table(name, columns):
        run.target.execute(f'CREATE TABLE {qualified(run, name)} ({columns})')
    run.load([create("warm", {"id": 1})])
    table("h", "id bigint PRIMARY KEY, u varchar(9) NOT NULL UNIQUE, mine varchar(9) DEFAULT 'new'")
    table("r", "id bigint PRIMARY KEY, u varchar(9) UNIQUE")
    parent = '"r"' if run.target.name == "sqlite" else qualified(run, "r")
    table("child", f"id bigint PRIMARY KEY, u varchar(9), FOREIGN KEY (u) REFERENCES {parent} (u) ON UPDATE CASCADE")
    table("k", "id bigint PRIMARY KEY, u varchar(9) UNIQUE, CHECK (u IS NOT NULL)")
    names = "hrk"
    run.load([create(t, {"id": i, "u": u}) for t in names for i, u in enumerate("abc")])
    run.target.execute(f"UPDATE {qualified(run, 'h')} SET mine = 'kept'")
    run.target.execute(f"INSERT INTO {qualified(run, 'child')} VALUES (1, 'a')")
    run.load([update(t, None, {"id": i, "u": u}) for t in names for i, u in ((0, "x"), (1, "a"), (2, "b"), (0, "c"))])
    same(run.dead(), [])
    for t in names:
        same([(r["id"], r["u"], r.get("mine")) for r in run.table(t)], [(i, u, "kept" if t == "h" else None) for i, u in zip("012", "cab")])
    same(run.table("child"), [{"id": "1", "u": "c"}])


def test_a_row_that_the_target_refuses_is_a_dead_letter_and_the_others_go_on(run):
    run.load([create("warm", {"id": 1})])
    run.target.execute(f'CREATE TABLE {qualified(run, "t")} (id bigint PRIMARY KEY, v bigint CHECK (v < 100))')
    rows = [create("t", {"id": i, "v": i}) for i in range(80)] + [create("t", {"id": 90, "v": 1000}), update("t", None, {"id": 5, "v": 7}),
                                                                  update("t", None, {"id": 5, "v": 5000}), create("t", {"id": 91, "v": 1})]
    run.load(rows)
    table = {r["id"]: r["v"] for r in run.table("t")}
    same((len(table), table["5"], table["91"]), (81, "7", "1"))
    same(run.dead(), [("constraint", ""), ("constraint", "")])


# ---- names ----

def test_hostile_names_become_tables_and_columns_of_that_name(run):
    names = ['select', 'a"b', "o'x; DROP TABLE t --", "ünï", "a.b", "x" * 200]
    run.load([create("t", {"id": 1, **{n: i for i, n in enumerate(names)}})])
    row = run.table("t")[0]
    same([row[n] for n in names[:5]], ["0", "1", "2", "3", "4"])
    same(len(row), 7)


def test_templates_name_schema_and_table(run):
    run.load([create("t", {"id": 1}, db="one"), create("t", {"id": 2}, db="two")], "target.table={db}__{table}")
    same(run.target.tables(), ["one__t", "two__t"])


def test_other_templates_make_another_table(run):
    run.load([create("t", {"id": 1})], "target.table={db}_{table}")
    run.load([create("t", {"id": 2})], "target.table=x_{table}")
    run.load([create("t", {"id": 3})], "target.table={db}_{table}")
    same(run.target.tables(), ["shop_t", "x_t"])
    same((run.table("shop_t"), run.table("x_t")), ([{"id": "1"}, {"id": "3"}], [{"id": "2"}]))


def test_substitute_names_are_found_again(run):
    long = ["x" * 100 + end for end in "ab"]
    for _ in range(2):
        run.load([create(name, {"id": i}) for i, name in enumerate(long + ["Case", "case"])])
    tables = run.target.tables()
    same((len(tables), [len(run.table(t)) for t in tables]), (4, [1, 1, 1, 1]))


def test_sources_that_agree_in_the_templates_variables_share_a_table(run):
    run.load([create("t", {"id": 1}, db="one"), create("t", {"id": 2}, db="two")], "target.table={table}")
    same(run.table("t"), [{"id": "1"}, {"id": "2"}])


def main():
    target_class, wanted = TARGETS[sys.argv[1]], sys.argv[2:]
    tests = {n: f for n, f in globals().items() if n.startswith("test_") and (not wanted or n in wanted)}
    failed = 0
    for name, test in tests.items():
        for batch_rows in (1, 5000):
            run = Run(target_class(), batch_rows)
            try:
                test(run)
            except Failure as why:
                failed += 1
                print(f"FAILED {name}, batches of {batch_rows}: {why}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED {name}, batches of {batch_rows}:\n{traceback.format_exc()}", flush=True)
            finally:
                run.target.close()
    print(f"{sys.argv[1]}: {len(tests)} tests, {failed} failures")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
