#!/usr/bin/env python3
"""The commands of an operator: test_operator.py sqlite|postgresql|mariadb|mysql [test_NAME…].

plan, check, status, schema and dead-letters over small loads: what they say, what they leave alone, their exit codes."""
import base64
import json
import os
import subprocess
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
from harness import MILLRACE, TARGETS, Failure, millrace  # noqa: E402

TEXT_POLICY = 'types.policies={"shop.t.v": text}'


def envelope(op, key, before=None, after=None, table="t"):
    source = {"connector": "mysql", "db": "shop", "table": table, "ts_ms": 1700000000000}
    return {"topic": f"s.shop.{table}", "partition": 0, "timestamp": 1700000000123, "key": key,
            "value": {"op": op, "before": before, "after": after, "source": source, "ts_ms": 1700000000456}}


def row(id, v, table="t", **more):
    return envelope("c", {"id": id}, None, {"id": id, "v": v, **more}, table)


def want(condition, text=""):
    if not condition:
        raise Failure(text)


def same(have, wanted):
    want(have == wanted, f"wanted {wanted}\n  has    {have}")


def holds(text, *parts):
    for part in parts:
        want(part in text, f"{part!r} is not in\n{text}")


class Bench:
    """One target and the program on it."""

    def __init__(self, target):
        self.target = target
        self.work = tempfile.TemporaryDirectory(prefix="millrace-operator-")
        self.files = 0

    def file(self, records, name=None):
        self.files += 1
        path = os.path.join(self.work.name, name or f"f{self.files}.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            for i, r in enumerate(records):
                f.write((r if isinstance(r, str) else json.dumps({"offset": self.files * 1000 + i, **r})) + "\n")
        return path

    def run(self, *args, code=0):
        done = millrace(*args, *self.target.args(), check=False)
        want(done.returncode == code, f"{' '.join(args)}: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
        return done

    def load(self, records, *args, code=0):
        path = self.file(records)
        self.run("backfill", path, *args, code=code)
        return path

    def out(self, *args, code=0):
        return self.run(*args, code=code).stdout

    def json(self, *args, code=0):
        return json.loads(self.out(*args, "--json", code=code))

    def values(self, table="t"):
        return sorted((int(r["id"].value), r["v"].value if r["v"].value is None else str(r["v"].value)) for r in self.target.rows(table))

    def dead(self, *args):
        return [(d["id"], d["code"], d["state"]) for d in self.json("dead-letters", "list", *args)]

    def is_untouched(self):
        if self.target.name == "sqlite":
            return not os.path.exists(self.target.path)
        return self.target.query("SELECT count(*) FROM information_schema.schemata WHERE schema_name IN (%s, %s)",
                                 (self.target.schema, self.target.schema + "_c")) == [(0,)]


# ---- plan ----

def test_plan_on_a_new_target_shows_everything_and_writes_nothing(b):
    path = b.file([row(1, 7, note="x"), row(2, 1.5), row(3, "seven"), row(4, 9, "u")])
    text = b.out("plan", path)
    holds(text, "CREATE TABLE", "(new; 3 changes, 1 that would be dead letters)", "widened int64 → decimal by s.shop.t[0]@1001",
          "type_conflict", "s.shop.t[0]@1002", "cost: catalog only", "Nothing has been written")
    want(b.is_untouched(), "plan has written something")
    b.run("plan", path, "--check", code=7)


def test_plan_tells_the_evidence_for_scripts(b):
    plan = b.json("plan", b.file([row(1, 7), row(2, 1.5), row(3, "seven"), {"topic": "s.shop.t", "key": None, "value": "{"}]))
    table = plan["tables"][0]
    column = next(c for c in table["columns"] if c["name"] == "v")
    same((table["exists"], plan["records"], plan["dead_letters"]["count"]), (False, 4, 2))
    same((column["change"], column["type"], column["origin"], column["widened_from"]), ("new", "decimal", "observed", "int64"))
    same((column["seen"], column["conflicts"]), ({"int64": 1, "decimal": 1}, 1))
    same((column["first"]["offset"], column["widened"]["offset"], column["widened"]["topic"]), (1000, 1001, "s.shop.t"))
    same([d["code"] for d in plan["dead_letters"]["first"]], ["type_conflict", "bad_json"])
    same([s["allowed"] for s in table["statements"]], [True] * len(table["statements"]))


def test_plan_on_a_loaded_target_shows_only_what_would_change(b):
    first = b.load([row(1, 7), row(2, 8, "u")])
    same(b.out("plan", first, "--check"), "There is nothing new to read: the stored positions are at the end of the input "
         "(--again plans from its start).\n")
    holds(b.out("plan", first, "--again", "--check"), "Without change:", "No table changes. 2 records read.")
    more = b.file([row(3, 1.25, city="Kyoto"), row(4, 1, "u")])
    text = b.out("plan", more, "--check", code=7)
    holds(text, "(altered; 1 change)", "~  v", "+  city", "widened int64 → decimal by s.shop.t[0]@2000", "Without change:\n")
    same(b.values(), [(1, "7")])
    b.run("backfill", more)
    holds(b.out("plan", more, "--again", "--check"), "No table changes")
    holds(b.out("plan", b.file([row(5, "a text")]), "--check", code=7), "No table changes", "type_conflict")


def test_a_setting_that_matches_nothing_is_told(b):
    path = b.file([row(1, 7)])
    wrong = ("--set", "tables.shop.tt.delete=soft", "--set", "types.columns.shop.t.vv=text", "--set", "types.policies.t.v=text")
    holds(b.out("plan", path, *wrong), "The setting tables.shop.tt matches nothing", "The setting types.columns.shop.t.vv matches nothing")
    same(b.json("plan", path, *wrong)["unmatched_settings"], ["tables.shop.tt", "types.columns.shop.t.vv"])
    told = b.run("backfill", path, *wrong).stderr
    holds(told, "setting=tables.shop.tt", "setting=types.columns.shop.t.vv")
    want("setting=types.policies.t.v" not in told, told)


def test_plan_says_what_evolve_forbids(b):
    b.load([row(1, 7)])
    plan = b.json("plan", b.file([row(2, 1.5)]), "--set", "target.evolve=none")
    same((plan["forbidden"], plan["statements"]), (1, 1))
    holds(b.out("plan", b.file([row(2, 1.5)]), "--set", "target.evolve=none"), "forbidden by target.evolve")


def test_plan_shows_a_table_that_cannot_be_used_and_goes_on(b):
    name = "t" if b.target.name == "sqlite" else f'"{b.target.schema}"."t"'
    if b.target.name != "sqlite":
        b.target.execute(f'CREATE SCHEMA "{b.target.schema}"')
    b.target.execute(f"CREATE TABLE {name} (id integer, v integer)")
    done = b.run("plan", b.file([row(1, 7), row(1, 7, "u")]), code=3)
    holds(done.stdout, "cannot be loaded as it is", "hint: run: ", "CREATE TABLE")


def test_plan_lists_the_first_ten_dead_letters_and_counts_the_rest(b):
    text = b.out("plan", b.file([row(1, 7)] + [row(i, "x") for i in range(2, 16)]))
    holds(text, "14 records would become dead letters", "… and 4 more")
    same(text.count("type_conflict: "), 10)


# ---- schema ----

def test_schema_tells_types_and_how_they_came_to_be(b):
    b.load([row(1, 7), row(2, 8)])
    b.load([row(3, 1.5)])
    native = {"sqlite": "DECIMAL_BLOB", "postgresql": "numeric", "mariadb": "double", "mysql": "double"}[b.target.name]
    holds(b.out("schema"), "(from t; key id)" if b.target.name != "sqlite" else "(from ", native, "2 int64, 1 decimal",
          "widened int64 → decimal by s.shop.t[0]@2000")
    history = b.out("schema", "--history", "t")
    holds(history, "created  int64", "widened  int64 → decimal", "s.shop.t[0]@1000", "s.shop.t[0]@2000", "CREATE TABLE",
          "v: decimal after int64")
    tables = b.json("schema", "t", "--history")
    column = next(c for c in tables["tables"][0]["columns"] if c["name"] == "v")
    same((column["type"], column["native_type"], column["widened"]["offset"], column["seen"]),
         ("decimal", native, 2000, {"int64": 2, "decimal": 1}))
    same([(h["column"], h["event"], h["from"], h["to"], h["cause"]["offset"]) for h in tables["type_history"]],
         [("id", "created", "", "int64", 1000), ("v", "created", "", "int64", 1000), ("v", "widened", "int64", "decimal", 2000)])
    want(len(tables["ddl_history"]) >= 2, "the DDL history is short")


def test_schema_of_an_unknown_table_names_the_nearest(b):
    b.load([row(1, 7, "orders")])
    done = b.run("schema", "ordres", code=1)
    holds(done.stderr, "Millrace loads no table", "orders")
    same(len(b.json("schema", "orders")["tables"]), 1)


def test_numbers_keep_their_digits_in_json(b):
    b.load([row(9007199254740993, 9223372036854775807)])
    column = next(c for c in b.json("schema")["tables"][0]["columns"] if c["name"] == "v")
    same(column["facts"]["largest_whole_number"], 9223372036854775807)


# ---- status ----

def test_status_before_and_after(b):
    holds(b.out("status"), "Millrace has not loaded anything into it yet")
    same((b.json("status")["has_control_tables"], b.json("status")["positions"]), (False, []))
    same((b.json("schema")["tables"], b.json("dead-letters", "list")), ([], []))
    want(b.is_untouched(), "looking has written something")
    path = b.load([row(1, 7), row(2, "x"), row(3, "y")])
    text = b.out("status")
    holds(text, "Pipeline millrace", os.path.realpath(path), "line 3", "type_conflict", "Last change of a table", "CREATE TABLE")
    status = b.json("status")
    same([(p["pipeline"], p["position"], p["lane"], p["behind"]) for p in status["positions"]], [("millrace", 3, 0, None)])
    same([(t["table"], t["columns"], t["key"]) for t in status["tables"]], [("t", 2, "id")])
    same([(d["code"], d["open"]) for d in status["dead_letters"]], [("type_conflict", 2)])
    want(status["positions"][0]["updated"].endswith("Z"), "no time of the last change")


def test_status_of_a_pipeline_shows_only_that_one(b):
    b.load([row(1, 7), row(2, "x")])
    b.load([row(3, 7), row(4, "x")], "--set", "pipeline=other")
    same(len(b.json("status")["positions"]), 2)
    same([p["pipeline"] for p in b.json("status", "--set", "pipeline=other")["positions"]], ["other"])
    same([d["pipeline"] for d in b.json("status", "--set", "pipeline=other")["dead_letters"]], ["other"])


# ---- dead letters ----

def test_dead_letters_are_listed_and_shown(b):
    b.load([row(1, 7), {**row(2, "seven"), "headers": [["trace", "abc"]]}, {"topic": "s.shop.t", "partition": 0, "key": None, "value": "\x1b[31m"},
            row(4, 8, "u")])
    text = b.out("dead-letters", "list")
    holds(text, "s.shop.t[0]@1001", "s.shop.t[0]@1002", "type_conflict", 'field "v"')
    same("seven" in text, False)
    holds(b.out("dead-letters", "list", "--with-values"), '"v":"seven"')
    show = b.out("dead-letters", "show", "1")
    holds(show, "Dead letter 1 (open)", 'key (8 bytes)\n    {"id":2}', '"v":"seven"', "s.shop.t[0]@1001", "2023-11-14 22:13:20",
          "trace", "what to do", "types.policies", "millrace dead-letters replay 1")
    letter = b.json("dead-letters", "show", "1")
    same((letter["field"], letter["offset"], letter["rows"], json.loads(letter["value"])["after"]["v"]), ("v", 1001, [{"id": 2}], "seven"))
    same(letter["headers"], [["trace", base64.b64encode(b"abc").decode()]])
    shown = b.out("dead-letters", "show", "2")
    holds(shown, "bad_json", "\\u001b[31m")
    same("\x1b" in shown, False)
    b.run("dead-letters", "show", "99", code=1)
    b.run("dead-letters", "show", "one", code=2)


def test_bytes_that_are_no_text_are_shown_as_base64(b):
    raw = base64.b64encode(b"\xff\x00{").decode()
    b.load([row(1, 7), {"topic": "s.shop.t", "key": {"id": 2}, "value_base64": raw}])
    holds(b.out("dead-letters", "show", "1"), "value (3 bytes, base64)", raw)
    same(b.json("dead-letters", "show", "1")["value_base64"], raw)


def test_list_filters_limits_and_says_that_there_is_more(b):
    b.load([row(1, 7), row(2, "x"), row(3, "x"), row(1, 7, "u"), row(2, "x", "u"), {"topic": "s.shop.u", "key": None, "value": "{"}])
    same(len(b.dead()), 4)
    same(len(b.dead("--table", "u")), 1)
    same(len(b.dead("--topic", "s.shop.u")), 2)
    same([c for _, c, _ in b.dead("--code", "bad_json")], ["bad_json"])
    holds(b.out("dead-letters", "list", "--limit", "2"), "There are more than these 2: --limit 0 shows all.")
    same(len(b.dead("--limit", "0")), 4)


def test_replay_succeeds_when_the_policy_has_changed(b):
    b.load([row(1, 7), row(2, "seven")])
    text = b.out("dead-letters", "replay", "1", code=6)
    holds(text, "stays open", "type_conflict", "0 replayed, 1 stays open")
    same(b.dead(), [(1, "type_conflict", "open")])
    holds(b.out("dead-letters", "replay", "1", "--set", TEXT_POLICY), "replayed    1 row", "1 replayed, 0 stay open")
    same(b.values(), [(1, "7"), (2, "seven")])
    same(b.dead(), [])
    same(b.dead("--all"), [(1, "type_conflict", "replayed")])
    position = b.json("status")["positions"][0]["position"]
    same(position, 2)
    holds(b.out("dead-letters", "replay", "1", code=1), "it has been replayed already")
    b.load([row(3, 9)], "--set", TEXT_POLICY)
    same(b.values(), [(1, "7"), (2, "seven"), (3, "9")])


def test_replay_leaves_a_row_that_is_there_alone_and_no_table_changes_for_it(b):
    b.load([row(1, 7), row(2, "old"), row(2, 9)])
    before = b.json("schema")
    text = b.out("dead-letters", "replay", "--all", "--set", TEXT_POLICY, code=6)
    holds(text, "row exists in t (id = 2), left alone; --overwrite forces")
    same(b.values(), [(1, "7"), (2, "9")])
    same([c["native_type"] for c in b.json("schema")["tables"][0]["columns"]], [c["native_type"] for c in before["tables"][0]["columns"]])
    same(len(b.json("schema", "--history")["type_history"]), 2)
    same(b.dead(), [(1, "type_conflict", "open")])
    b.out("dead-letters", "replay", "--all", "--overwrite", "--set", TEXT_POLICY)
    same(b.values(), [(1, "7"), (2, "old")])


def test_replay_of_a_delete_needs_overwrite(b):
    b.load([row(1, 7), row(5, 8), envelope("d", {"id": "five"}, {"id": 5, "v": 8}, None)])
    same([c for _, c, _ in b.dead()], ["type_conflict"])
    letters = {"sqlite": "millrace_dead_letter", "postgresql": '"{}_c".dead_letter'}.get(b.target.name, '"{}_c".millrace_dead_letter')
    key = {"sqlite": "CAST('{\"id\":5}' AS BLOB)", "postgresql": "'{\"id\":5}'::bytea"}.get(b.target.name, "'{\"id\":5}'")
    b.target.execute(f"UPDATE {letters.format(getattr(b.target, 'schema', ''))} SET record_key = {key}")
    holds(b.out("dead-letters", "replay", "1", code=6), "deletes a row of", "--overwrite applies it")
    same(b.values(), [(1, "7"), (5, "8")])
    b.out("dead-letters", "replay", "1", "--overwrite")
    same(b.values(), [(1, "7")])


def test_replay_appends_rows_without_key_once(b):
    rows = [envelope("c", None, None, {"v": v}) for v in (1, "one")]
    b.load(rows)
    b.out("dead-letters", "replay", "--code", "type_conflict", "--set", TEXT_POLICY)
    holds(b.out("dead-letters", "replay", "--code", "type_conflict", "--set", TEXT_POLICY), "No open dead letter matches")
    same(sorted(str(r["v"].value) for r in b.target.rows("t")), ["1", "one"])


def test_two_replays_at_the_same_time_append_once(b):
    b.load([envelope("c", None, None, {"v": 1})] + [envelope("c", None, None, {"v": f"v{i}"}) for i in range(60)])
    command = [MILLRACE, "dead-letters", "replay", "--all", "--set", TEXT_POLICY, *b.target.args()]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    codes = {p.wait(120) for p in both}
    want(codes <= {0, 6}, f"exit codes {codes}") # 6: the other was faster with a letter
    same(sorted(str(r["v"].value) for r in b.target.rows("t")), sorted(["1"] + [f"v{i}" for i in range(60)]))
    same(b.dead(), [])


def test_replay_of_bare_events_finds_format_and_table_again(b):
    bare = [json.dumps({"id": 1, "v": 7}), json.dumps({"id": 2, "v": "seven"})]
    settings = ["--set", "format=json", "--set", "tables.*.primary_key=[id]"]
    path = b.file(bare, "goods.jsonl")
    b.run("backfill", path, *settings)
    b.run("backfill", b.file(bare, "other.jsonl"), "--topic", "s.shop.t", *settings)
    same([c for _, c, _ in b.dead()], ["type_conflict"] * 2)
    policies = 'types.policies={"shop.t.v": text, "goods.v": text}'
    done = b.run("dead-letters", "replay", "--all", *settings, "--set", policies)
    holds(done.stdout, "2 replayed")
    same((b.values("goods"), b.values("t")), ([(1, "7"), (2, "seven")],) * 2)


def test_a_broken_line_stays_open(b):
    b.load([row(1, 7), "{ no json"])
    holds(b.out("dead-letters", "replay", "1", code=6), "stays open", "bad_line")
    same("Then: millrace" in b.out("dead-letters", "show", "1"), False)


def test_a_letter_of_another_pipeline_is_passed_over(b):
    b.load([row(1, 7), row(2, "x")], "--set", "pipeline=other")
    holds(b.out("dead-letters", "replay", "1", "--set", TEXT_POLICY, code=1), 'belongs to the pipeline "other"')
    b.out("dead-letters", "replay", "1", "--set", TEXT_POLICY, "--set", "pipeline=other")
    same(b.values(), [(1, "7"), (2, "x")])


def test_many_letters_are_replayed_in_order(b):
    b.load([row(0, 0)] + [row(i % 50 + 1, f"v{i}") for i in range(1, 151)])
    done = b.json("dead-letters", "replay", "--all", "--overwrite", "--set", TEXT_POLICY)
    same((done["replayed"], done["open"]), (150, 0))
    same(dict(b.values())[7], "v106")
    same(len(b.dead("--all", "--limit", "0")), 150)


def test_replay_stops_nothing_when_one_letter_fails(b):
    b.load([row(1, 7), row(2, "x"), {"topic": "s.shop.t", "key": None, "value": "{"}, row(3, "y")])
    done = b.json("dead-letters", "replay", "--all", "--set", TEXT_POLICY, code=6)
    same([l["outcome"] for l in done["letters"]], ["replayed", "failed", "replayed"])
    same(b.values(), [(1, "7"), (2, "x"), (3, "y")])


def test_a_refusal_of_the_target_leaves_the_letter_open(b):
    b.load([row(1, 7), row(2, "x")])
    table = "t" if b.target.name == "sqlite" else f'"{b.target.schema}"."t"'
    if b.target.name == "sqlite":
        b.target.execute("CREATE TRIGGER no BEFORE INSERT ON t WHEN NEW.id = 2 BEGIN SELECT RAISE(ABORT, 'not this one'); END")
    else:
        b.target.execute(f"ALTER TABLE {table} ADD CONSTRAINT no CHECK (id <> 2)")
    holds(b.out("dead-letters", "replay", "1", "--set", TEXT_POLICY, code=6), "stays open", "constraint")
    same((b.values(), b.dead()), ([(1, "7")], [(1, "type_conflict", "open")]))


def test_purge_removes_what_was_asked_for(b):
    b.load([row(1, 7)] + [row(i, "x") for i in range(2, 6)] + [{"topic": "s.shop.t", "key": None, "value": "{"}])
    b.out("dead-letters", "replay", "1", "--set", TEXT_POLICY)
    b.run("dead-letters", "purge", code=2)
    b.run("dead-letters", "purge", "--all", code=2)
    b.run("dead-letters", "purge", "3", "--all", code=2)
    same(b.json("dead-letters", "purge", "3"), {"removed": 1})
    b.run("dead-letters", "purge", "3", code=1)
    same(b.json("dead-letters", "purge", "--code", "bad_json"), {"removed": 1})
    same([i for i, _, _ in b.dead("--all")], [1, 2, 4])
    same(b.json("dead-letters", "purge", "--table", "t"), {"removed": 2})
    same(b.json("dead-letters", "purge", "--all", "--yes"), {"removed": 1})
    same(b.dead("--all"), [])


def test_dead_letters_of_a_target_without_any(b):
    for words in (["list"], ["replay", "--all"], ["purge", "--all", "--yes"]):
        b.run("dead-letters", *words)
    b.run("dead-letters", "show", "1", code=1)
    b.run("dead-letters", "replay", "1", code=1)
    want(b.is_untouched(), "something was written")


# ---- check ----

def test_check_of_what_is_fine(b):
    path = b.file([row(1, 7)])
    text = b.out("check", path)
    holds(text, "ok      file", "ok      target", "Everything is in place")
    want(b.is_untouched(), "check has written something")
    b.run("backfill", path)
    found = b.json("check", path)
    same((found["ok"], found["exit_code"]), (True, 0))


def test_check_of_what_is_not_there(b):
    path = b.file([row(1, 7)])
    holds(b.out("check", path + ".gz", code=3), "failed  file", "No such file")
    holds(b.out("check", "--from", "kafka://127.0.0.1:1/s.shop.t", code=4), "failed  source", "no Kafka broker answers")
    holds(b.out("check", code=3), "nothing to read")
    holds(millrace("check", path, "--to", "oracle://x", check=False).stdout, "failed  target", "known schemes")
    same(millrace("check", path, "--to", "oracle://x", check=False).returncode, 3)
    same(millrace("check", path, "--to", "postgresql://nobody@127.0.0.1:1/x", check=False).returncode, 5)
    same(millrace("check", path, "--to", f"sqlite:{b.work.name}/none/x.db", check=False).returncode, 5)
    same(millrace("check", path, "--set", "target.evolv=none", check=False).returncode, 3)


def test_check_names_the_rights_that_are_missing(b):
    path = b.file([row(1, 7)])
    if b.target.name == "sqlite":
        with open(os.path.join(b.work.name, "text.db"), "w", encoding="utf-8") as f:
            f.write("this is no database, although it is long enough to be read as one\n" * 30)
        done = millrace("check", path, "--to", f"sqlite:{b.work.name}/text.db", check=False)
        same(done.returncode != 0, True)
        holds(done.stdout, "failed  target")
        return
    role = f"r{os.getpid()}"
    is_pg = b.target.name == "postgresql"
    b.target.execute(f"CREATE ROLE {role} LOGIN" if is_pg else f"CREATE USER {role} IDENTIFIED BY 'x'")
    try:
        if is_pg:
            url = b.target.url.replace("//millrace@", f"//{role}@")
        else:
            url = b.target.url.replace("//millrace:millrace@", f"//{role}:x@")
            b.target.execute(f"GRANT SELECT ON test.* TO {role}")
        args = ["--to", url, *b.target.args()[2:]]
        done = millrace("check", path, *args, check=False)
        same(done.returncode, 5)
        if is_pg:
            holds(done.stdout, "may not create schemas", "GRANT CREATE ON DATABASE")
        else:
            holds(done.stdout, f"may not create database `{b.target.schema}`", f"GRANT ALL ON `{b.target.schema}`.* TO '{role}'@'%'")
        b.run("backfill", path)
        done = millrace("check", path, *args, check=False)
        same(done.returncode, 5)
        holds(done.stdout, "GRANT USAGE" if is_pg else "denied")
        if not is_pg:
            for schema in (b.target.schema, b.target.schema + "_c"):
                b.target.execute(f"GRANT ALL ON \"{schema}\".* TO {role}")
            done = millrace("check", path, *args, check=False)
            same(done.returncode, 0)
    finally:
        if is_pg:
            b.target.execute(f"DROP OWNED BY {role}")
        b.target.execute(f"DROP ROLE {role}" if is_pg else f"DROP USER {role}")


def main():
    target_class, wanted = TARGETS[sys.argv[1]], sys.argv[2:]
    tests = {n: f for n, f in globals().items() if n.startswith("test_") and (not wanted or n in wanted)}
    failed = 0
    for name, test in tests.items():
        bench = Bench(target_class())
        try:
            test(bench)
        except Failure as why:
            failed += 1
            print(f"FAILED {name}: {why}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED {name}:\n{traceback.format_exc()}", flush=True)
        finally:
            bench.target.close()
    print(f"{sys.argv[1]}: {len(tests)} tests, {failed} failures")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
