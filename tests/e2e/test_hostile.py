#!/usr/bin/env python3
"""Input and targets that mean harm: test_hostile.py sqlite|postgresql|mariadb|mysql [test_NAME…].

Whatever comes, the program ends in time, says what it did not take, and takes everything else."""
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
from harness import MILLRACE, TARGETS, Failure, millrace  # noqa: E402
from servers import OWN  # noqa: E402

SECONDS = 60


def want(condition, text=""):
    if not condition:
        raise Failure(text)


def same(have, wanted):
    want(have == wanted, f"wanted {wanted}\n  has    {have}")


def event(key, value, topic="shop.t"):
    """A record line. Texts are the message text itself."""
    return json.dumps({"topic": topic, "key": key if isinstance(key, str) or key is None else json.dumps(key),
                       "value": value if isinstance(value, str) or value is None else json.dumps(value)})


def rows_of(n, **more):
    return [event({"id": i}, {"id": i, "a": i, **more}) for i in range(n)]


class Bench:
    def __init__(self, target):
        self.target = target
        self.is_pg = target.name == "postgresql"
        self.is_my = target.name in ("mariadb", "mysql")
        self.schema = None if target.name == "sqlite" else target.schema
        self.work = tempfile.TemporaryDirectory(prefix="millrace-hostile-")
        self.files = 0

    def prepare(self, *statements, pg=(), sqlite=(), my=()):
        """Statements of somebody else in the target, before Millrace."""
        if self.is_pg:
            self.target.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.target.schema}"')
            self.target.execute(f'SET search_path = "{self.target.schema}"')
        if self.is_my:
            self.target.execute(f'CREATE DATABASE IF NOT EXISTS "{self.target.schema}"')
            self.target.execute(f'USE "{self.target.schema}"')
        for sql in (*statements, *(pg if self.is_pg else my if self.is_my else sqlite)):
            self.target.execute(sql)

    def file(self, lines):
        self.files += 1
        path = os.path.join(self.work.name, f"f{self.files}.jsonl")
        with open(path, "wb") as f:
            for line in lines:
                f.write((line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")) + b"\n")
        return path

    def run(self, command, *args, code=0, format="flat"):
        done = millrace(command, *self.target.args(), *(["--format", format] if format else []), *args, check=False, timeout=SECONDS)
        want(done.returncode == code, f"exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr[-4000:]}")
        return done.stdout + done.stderr

    def load(self, lines, *args, **kwargs):
        return self.run("backfill", self.file(lines), *args, **kwargs)

    def ids(self, table="t"):
        return sorted(json.loads(cell.value) if isinstance(cell.value, str) else cell.value
                      for cell in (row["id"] for row in self.target.rows(table)))

    def dead(self):
        """[code] in the order of the dead letters."""
        return [r[1] for r in self.target.control("dead_letter", "id, code")]

    def messages(self):
        return [r[1] for r in self.target.control("dead_letter", "id, message")]


# ---- names ----

def test_tables_named_like_the_targets_own_or_the_control_tables(b):
    names = ["millrace_position", "sqlite_master", "sqlite_sequence", "pg_class", "select", "xmin", 'q"x', "'; DROP TABLE t; --", "n\0x",
             "x" * 300, "x" * 299 + "y", "MILLRACE_META", "#mysql50#t", "#sql-1_2", "a/b", "q`x", "t ", "t\t", "t\n"]
    b.load([event({"id": 1}, {"id": 1, "a": i}, f"shop.{name}") for i, name in enumerate(names)])
    same(b.dead(), [])
    same(len(b.target.tables()), len(names))
    same(sorted(int(str(b.target.rows(t)[0]["a"].value)) for t in b.target.tables()), list(range(len(names))))
    b.load([event({"id": 1}, {"id": 1, "a": i + 100}, f"shop.{name}") for i, name in enumerate(names)])
    same(sorted(int(str(b.target.rows(t)[0]["a"].value)) for t in b.target.tables()), list(range(100, 100 + len(names))))


def test_columns_named_like_the_targets_own(b):
    names = ["xmin", "ctid", "tableoid", "xmax", "cmin", "cmax", "oid", "rowid", "_rowid_", "", "n\0l", "a.b", 'q"', "\U0001F600", "x" * 70,
             "x" * 71, "t ", "t\t", "`"]
    b.load([event({"id": 1}, {"id": 1, **{n: i for i, n in enumerate(names)}})])
    same(b.dead(), [])
    cells = [int(str(c.value)) for n, c in b.target.rows("t")[0].items() if n != "id"]
    same(sorted(cells), list(range(len(names))))


def drop_schemas(b, *patterns):
    """Those whose name is like one of these."""
    where = " OR ".join("schema_name LIKE %s" for _ in patterns)
    for (name,) in b.target.query(f"SELECT schema_name FROM information_schema.schemata WHERE {where}", patterns):
        name = name.replace('"', '""')
        b.target.execute(f'DROP SCHEMA "{name}"' + (" CASCADE" if b.is_pg else ""))


def test_schemas_named_like_the_servers_own(b):
    if not b.schema:
        return
    names = ["information_schema", f"{b.schema}_c", "y" * 80 + "1", "y" * 80 + "2"]
    names += ["pg_mine"] if b.is_pg else ["mysql", "performance_schema", "Sys", "#mysql50#pg_mine", "q`x", "..", "yyyyyyyyyy "]
    lines = [event({"id": 1}, {"op": "c", "before": None, "after": {"id": 1, "a": i}, "source": {"connector": "mysql", "db": n, "table": t}})
             for i, n in enumerate(names) for t in ("position", "t")]
    try:
        for i in range(2):
            b.load(lines, "--set", "target.schema={db}", "--set", f"pipeline=p{i}", format="debezium")
            same(b.dead(), [])
    finally:
        drop_schemas(b, "%pg\\_mine%", "yyyyyyyyyy%", "information\\_schema\\_\\_%", "mysql\\_%", "performance\\_schema\\_%", "Sys\\_%", "q`x%",
                     "..%")


# ---- files ----

def test_a_folder_that_does_not_exist_is_told_at_once(b):
    done = millrace("backfill", "--to", f"sqlite:{b.work.name}/nowhere/x.db", "--format", "flat", "--topic", "shop.t", b.file(rows_of(1)), check=False,
                    timeout=20)
    same(done.returncode, 3)
    want("its folder does not exist" in done.stderr, done.stderr)


def test_an_endless_line_can_be_stopped(b):
    began = time.monotonic()
    proc = subprocess.Popen([MILLRACE, "backfill", *b.target.args(), "--topic", "shop.t", "/dev/zero"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        with open(f"/proc/{proc.pid}/status", encoding="ascii") as f:
            peak = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
        proc.terminate()
        same(proc.wait(SECONDS), 0)
        want(time.monotonic() - began < 20, "it took too long")
        want(peak < 400 << 10, f"{peak} KiB for a line of at most 64 MiB")
    finally:
        proc.kill()


# ---- rows ----

def test_rows_without_any_value_are_not_lost_in_silence(b):
    b.load([event(None, {}), event(None, {"a": None}), event(None, {"a": 1}), event(None, {}), event(None, {"a": None})])
    same(b.dead(), ["no_table", "no_table"])
    same(len(b.target.rows("t")), 3)


def test_the_keys_value_counts_where_the_row_contradicts_it(b):
    b.load([event({"id": 5}, {"id": 80, "a": 1}), event({"id": 5}, {"a": 2}), event({"id": 80}, {"id": 5, "a": 3}), event({"id": 7}, {"id": 80, "a": 4}),
            event({"id": 7}, None)])
    same(b.dead(), [])
    same(sorted((int(str(r["id"].value)), int(str(r["a"].value))) for r in b.target.rows("t")), [(5, 2), (80, 3)])


def test_a_column_that_is_widened_after_a_restart_takes_the_wider_values(b):
    b.load([event({"id": 1}, {"id": 1, "a": 60, "t": 1, "j": 1})])
    policies = ["--set", 'types.policies={"shop.t.t": text, "shop.t.j": json}']
    b.load([event({"id": 2}, {"id": 2, "a": 2**70, "t": "x", "j": [1e300]}), event({"id": 3}, {"id": 3, "a": 12345678901234567890123, "t": 5, "j": 5})], *policies)
    same(b.dead(), [])
    same(sorted((int(str(r["id"].value)), int(str(r["a"].value)), str(r["t"].value)) for r in b.target.rows("t")),
         [(1, 60, "1"), (2, 2**70, "x"), (3, 12345678901234567890123, "5")])


# ---- tables that refuse ----

def test_a_type_that_cannot_be_altered_kills_only_what_needs_it(b):
    b.prepare(pg=["CREATE TABLE t (id bigint PRIMARY KEY, a bigint)", "CREATE VIEW v AS SELECT a FROM t"],
              sqlite=["CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER) STRICT"],
              my=["CREATE TABLE t (id bigint PRIMARY KEY, a bigint, UNIQUE KEY (a))",
                  "CREATE TABLE v (id int PRIMARY KEY, a bigint, CONSTRAINT v_a FOREIGN KEY (a) REFERENCES t (a))"])
    b.load([event({"id": 1}, {"id": 1, "a": 1}), event({"id": 2}, {"id": 2, "a": 1.5}), event({"id": 3}, {"id": 3, "a": 3, "b": 1})])
    same(b.dead(), ["type_conflict"])
    same(b.ids(), [1, 3])
    want("the target refused to alter the column" in b.messages()[0], b.messages()[0])
    b.prepare(pg=["DROP VIEW v"], my=["DROP TABLE v"], sqlite=["DROP TABLE t", "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER)"])
    b.run("dead-letters", "replay", "--all", format=None)
    want(2 in b.ids())


def test_a_column_that_may_not_grow_kills_only_what_is_too_long(b):
    if not b.is_my: # the others' texts have no length unless somebody gives them one
        return
    b.prepare("CREATE TABLE t (id varchar(100) COLLATE " + ("utf8mb4_nopad_bin" if b.target.name == "mariadb" else "utf8mb4_0900_bin") +
              " PRIMARY KEY, a int) ROW_FORMAT=COMPACT CHARACTER SET utf8mb4") # an index of 767 bytes
    b.load([event({"id": "x" * n}, {"id": "x" * n, "a": n}) for n in (50, 100, 300, 60, 400)])
    same(b.dead(), ["out_of_range"] * 2)
    same(sorted(int(str(row["a"].value)) for row in b.target.rows("t")), [50, 60, 100])


def test_a_key_that_the_rows_forbid_kills_only_its_events(b):
    b.load([event({"id": 1}, {"v": 1}), event({"id": {"x": 1}}, {"v": 2}), event({"id": 2}, {"v": 3})])
    same(b.dead(), ["refused"])
    same(b.ids(), [1, 2])
    b.load([event(None, {"id": 7}, "shop.n"), event(None, {"v": 8}, "shop.n"), event({"id": 7}, {"id": 7, "v": 9}, "shop.n")])
    same(b.dead(), ["refused"] * 2)
    same(sorted(str(row["id"].value) for row in b.target.rows("n")), ["7", "None"]) # none has got a value from nowhere
    keyless = [event(None, {"id": 1, "v": 1}, "shop.k"), event(None, {"id": 1, "v": 1}, "shop.k"), event({"id": 1}, {"id": 1, "v": 2}, "shop.k"),
               event(None, {"id": 3, "v": 3}, "shop.k")]
    before = len(b.dead())
    b.load(keyless)
    same(b.dead()[before:], ["refused"])
    same(b.ids("k"), [1, 1, 3])


def test_a_table_without_room_for_more_columns(b):
    limit = 1600 if b.is_pg else 1017 if b.is_my else 2000
    gone = ", ".join(f"c{i} int" for i in range(limit - 11))
    b.prepare(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {gone})")
    if b.is_pg: # dropped columns count for ever
        b.prepare("ALTER TABLE t " + ", ".join(f"DROP COLUMN c{i}" for i in range(500)))
    b.load([event({"id": i}, {"id": i, f"n{i}": i}) for i in range(40)] + [event({"id": 99}, {"id": 99, "n0": 1, f"c{limit - 12}": 1})])
    same(b.dead(), ["too_large"] * 30)
    same(b.ids(), [*range(10), 99])


def test_a_target_that_forbids_all_ddl(b):
    if not b.is_pg: # the others can forbid it only by rights, which somebody may grant at any time
        return
    trigger = f"{b.schema}_no_ddl"
    b.prepare("CREATE TABLE t (id bigint PRIMARY KEY, a bigint)",
              "CREATE FUNCTION no_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN "
              f"IF TG_TAG = 'ALTER TABLE' AND current_query() LIKE '%{b.schema}%' THEN RAISE EXCEPTION 'no DDL'; END IF; END$$",
              f"CREATE EVENT TRIGGER {trigger} ON ddl_command_start EXECUTE FUNCTION no_ddl()")
    try:
        b.load(rows_of(5) + [event({"id": i}, {"id": i, f"n{i}": i}) for i in range(5, 200)] + [event({"id": 999}, {"id": 999, "a": 1})])
        same(b.dead(), ["refused"] * 195)
        same(b.ids(), [0, 1, 2, 3, 4, 999])
    finally:
        b.target.execute(f"DROP EVENT TRIGGER {trigger}")


# ---- triggers and constraints of others ----

def test_a_trigger_that_raises_a_state_of_its_own(b):
    b.prepare(pg=["CREATE TABLE t (id bigint PRIMARY KEY, a bigint)",
                  "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF NEW.a = 2 THEN RAISE EXCEPTION 'not two' USING ERRCODE = "
                  "'ZZ001'; END IF; RETURN NEW; END$$",
                  "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()"],
              sqlite=["CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)",
                      "CREATE TRIGGER x BEFORE INSERT ON t WHEN NEW.a = 2 BEGIN SELECT RAISE(ABORT, 'not two'); END"],
              my=["CREATE TABLE t (id bigint PRIMARY KEY, a bigint)",
                  "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN IF NEW.a = 2 THEN SIGNAL SQLSTATE '45007' SET MESSAGE_TEXT = 'not two', "
                  "MYSQL_ERRNO = 30001; END IF; END"])
    b.load(rows_of(5))
    same(len(b.dead()), 1)
    want("not two" in b.messages()[0], b.messages()[0])
    same(b.ids(), [0, 1, 3, 4])


def test_a_trigger_that_rolls_everything_back_stops_the_run(b):
    if b.schema:
        return
    b.prepare("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)",
              "CREATE TRIGGER x BEFORE INSERT ON t WHEN NEW.a = 2 BEGIN SELECT RAISE(ROLLBACK, 'not two'); END")
    want("let it ABORT instead" in b.load(rows_of(5), code=3))
    same(b.ids(), [])


# ---- the target's own trouble ----

def poor_user(b, role):
    """One who owns the control tables and may look at t, and no more; its URL."""
    if b.is_pg:
        b.prepare("CREATE TABLE t (id bigint PRIMARY KEY, a bigint)", f"CREATE ROLE \"{role}\" LOGIN",
                  f'CREATE SCHEMA "{b.schema}_c" AUTHORIZATION "{role}"', f'GRANT USAGE ON SCHEMA "{b.schema}" TO "{role}"')
        return b.target.url.replace("//millrace@", f"//{role}@")
    b.prepare("CREATE TABLE t (id bigint PRIMARY KEY, a bigint)", f"CREATE USER \"{role}\" IDENTIFIED BY 'x'", f'GRANT SELECT ON test.* TO "{role}"',
              f'CREATE DATABASE "{b.schema}_c"', f'GRANT ALL ON "{b.schema}_c".* TO "{role}"', f'GRANT SELECT ON t TO "{role}"')
    return b.target.url.replace("//millrace:millrace@", f"//{role}:x@")


def test_a_backfill_without_rights_ends(b):
    if not b.schema:
        return
    role = f"{b.schema}_poor"
    try:
        url = poor_user(b, role)
        out = b.load(rows_of(3), "--to", url, code=3) # may not write the table
        want(("permission denied" if b.is_pg else "command denied") in out and "grant the missing right" in out, out)
        b.prepare(f'GRANT SELECT, INSERT, UPDATE, DELETE ON t TO "{role}"')
        b.load(rows_of(3), "--to", url)
        out = b.load([event({"id": 9}, {"id": 9, "new": 1})], "--to", url, code=3) # may not alter it
        want(("must be owner" if b.is_pg else "ALTER command denied") in out, out)
        same(b.ids(), [0, 1, 2])
    finally:
        if b.is_pg:
            b.target.execute(f'DROP OWNED BY "{role}" CASCADE')
        b.target.execute(f'DROP ROLE "{role}"' if b.is_pg else f'DROP USER "{role}"')


def test_a_control_table_that_is_gone_stops_the_run_and_kills_no_row(b):
    b.load(rows_of(2))
    lines = rows_of(3) + [event({"id": 7}, {"id": 7, "a": "no number"})]
    b.prepare(pg=[f'DROP TABLE "{b.schema}_c".dead_letter'], sqlite=["DROP TABLE millrace_dead_letter"],
              my=[f'DROP TABLE "{b.schema}_c".millrace_dead_letter'])
    want("the control tables are not whole" in b.load(lines, code=3))
    same(b.ids(), [0, 1])


# What a server may be told to do in every session that does not say otherwise.
STRANGE = ["sql_select_limit = 1", "max_join_size = 1", "sql_big_selects = 0", "sql_safe_updates = 1", "completion_type = 1", "autocommit = 0",
           "sql_auto_is_null = 1", "foreign_key_checks = 0", "sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT'",
           "default_storage_engine = MyISAM", "character_set_server = latin1", "time_zone = '+05:30'", "innodb_default_row_format = compact",
           "max_prepared_stmt_count = 80"]


def test_a_server_that_takes_small_packets_and_is_set_up_strangely(b):
    if not b.is_my:
        return
    server = OWN[b.target.name]()
    db = type(b.target).connect(server.url)
    with db.cursor() as cur:
        cur.execute("SET GLOBAL max_allowed_packet = 1048576")
    db.close()
    small = Bench(type(b.target)(server.url))
    try:
        for setting in STRANGE:
            small.target.execute(f"SET GLOBAL {setting}")
        wide = {f"column_with_a_long_name_{c}": c for c in range(700)}
        lines = [event({"id": 0}, {"id": 0, "v": 1, "w": "x", **wide})]
        lines += [event({"id": i}, {"id": i, "v": "no number" * 500}) for i in range(1, 700)]  # dead letters of 3 MB
        lines += [event({"id": 1000}, {"id": 1000, "w": "x" * 2000000}), event({"id": 1001}, {"id": 1001, "w": "x" * 900000}), event({"id": 1002}, {"id": 1002})]
        small.load(lines)
        same(small.ids(), [0, 1001, 1002])
        same(small.dead(), ["type_conflict"] * 699 + ["too_large"])
        want("the first are kept" in small.messages()[-1], small.messages()[-1])
        out = small.run("dead-letters", "replay", "--code", "too_large", format=None, code=6)
        want("stays open" in out, out)
        lines = [event({"id": i}, {"id": i, "v": "no number"}) for i in range(2000, 6000)]
        small.load(lines, "--set", 'types.policy="null"', "--set", "batch.rows=10000", "--set", "batch.interval=5s")  # as many notes in the history
        same(len(small.ids()), 4003)
        lines = [event({"id": i}, {"id": i, **{f"s{c}": i for c in range(8) if i >> c & 1}}, "shop.sets") for i in range(1, 256)]
        small.load(lines, "--set", "tables.*.missing=keep")  # a statement for each set of columns
        same(len(small.ids("sets")), 255)
    finally:
        small.target.close()
        server.close()


# ---- bombs ----

def peak_of(b, lines, *args):
    """Peak memory of a backfill in MiB."""
    path = b.file(lines)
    proc = subprocess.Popen([MILLRACE, "backfill", *b.target.args(), "--format", "flat", *args, path], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=4:detect_leaks=0"})
    _, status, usage = os.wait4(proc.pid, 0)
    proc.returncode = os.waitstatus_to_exitcode(status)
    same(proc.returncode, 0)
    return usage.ru_maxrss // 1024


def test_short_numbers_that_are_long_when_written_out(b):
    columns = ",".join(f'"c{c}":1e20000' for c in range(300))
    lines = [f'{{"topic":"shop.t","value":{{"id":{i},{columns}}}}}' for i in range(16)]
    small = peak_of(b, lines[:2])
    large = peak_of(b, lines[2:], "--set", "batch.bytes=256KiB")
    same((b.ids(), b.dead()), ([], ["out_of_range"] * 16) if b.is_my else (list(range(16)), []))
    want(large < small + 40, f"{small} MiB for 2 rows, {large} MiB for 14")


def test_narrow_events_for_a_wide_table(b):
    wide = {f"c{c}": c % 2 == 0 for c in range(1000)}
    small = peak_of(b, [event(None, {"id": 0, **wide})] + [event(None, {"id": i}) for i in range(1, 50)])
    large = peak_of(b, [event(None, {"id": i}) for i in range(50, 4000)], "--set", "batch.bytes=256KiB")
    same(len(b.target.rows("t")), 4000)
    want(large < small + 40, f"{small} MiB for 50 rows, {large} MiB for 3,950")


def main():
    wanted = sys.argv[2:]
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        began = time.monotonic()
        target = TARGETS[sys.argv[1]]()
        try:
            test(Bench(target))
            print(f"ok {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except Exception as why:  # noqa: BLE001
            failed += 1
            print(f"FAILED {name}: {why}", flush=True)
            if not isinstance(why, (Failure, AssertionError)):
                traceback.print_exc()
        finally:
            target.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
