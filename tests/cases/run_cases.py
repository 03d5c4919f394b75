#!/usr/bin/env python3
"""Run the handed cases through the whole program: run_cases.py sqlite|postgresql|mariadb|mysql [NAME…].

Each case is a message and what must come of it. It is written to a file, loaded with `millrace backfill`, and the tables are compared with the
expectation. Where a case says that something is kept or goes away, a row is put there first, by the same program, so that doing
nothing would be noticed. Cases that need options of later versions are listed in pending.txt; a pending case that passes is a failure, so
that the list stays true."""
import base64
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
from compare import same  # noqa: E402
from harness import TARGETS, Failure, millrace  # noqa: E402

FILES = ["mysql", "dtle", "flattened", "mongodb-types", "mongodb-ops", "mongodb-arrays-flatten", "sequences"]
FORMATS = {"mysql": "debezium", "dtle": "debezium", "mongodb": "debezium", "flat": "flat"}
KEEP = "kept-by-a-partial-row"

# What a target cannot hold is a dead letter, never another value: the case must end so there.
CANNOT_HOLD = {
    ("sqlite", "double-nan-inf-bare-tokens"): "out_of_range",  # SQLite turns NaN into NULL
    ("sqlite", "double-nan-inf-canonical"): "out_of_range",
    ("mariadb", "double-nan-inf-bare-tokens"): "out_of_range",  # no NaN and no infinities there
    ("mariadb", "double-nan-inf-canonical"): "out_of_range",
    ("mariadb", "decimal128-special"): "out_of_range",
    ("mysql", "double-nan-inf-bare-tokens"): "out_of_range",
    ("mysql", "double-nan-inf-canonical"): "out_of_range",
    ("mysql", "decimal128-special"): "out_of_range",
}


def text_of(case, part):
    if part + "_raw" in case:
        return case[part + "_raw"]
    value = case.get(part)
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def record(case, offset):
    headers = [[k, v] for k, v in (case.get("headers") or {}).items()]
    return {"topic": case["topic"], "partition": 0, "offset": offset, "timestamp": 1700000000000, "key": text_of(case, "key"),
            "value": text_of(case, "value"), "headers": headers}


def option_args(case):
    settings = {"unwrap.flatten.struct": "false", "unwrap.array.encoding": "array"}
    for name, value in (case.get("options") or {}).items():
        settings["unwrap." + name] = value
    return [a for k, v in settings.items() for a in ("--set", f"{k}={v}")]


def load(target, case, records, name, *more):
    path = os.path.join(target.work, name + ".jsonl")
    with open(path, "w", encoding="utf-8", errors="surrogatepass") as f:
        for r in records:
            f.write(json.dumps(r) + "\n")
    return millrace("backfill", path, "--format", FORMATS[case["format"]], *target.args(), *option_args(case), *more, check=False)


def key_of(case, expect):
    """Columns and values of the message's key."""
    if expect.get("key"):
        return expect["key"]
    return {"_id": json.loads(case["key"]["id"])} if case["format"] == "mongodb" else {"id": 1}


def seed_row(case, expect):
    """A row that is there before the message: its key, values that must go, one that must stay."""
    row = {k: v for k, v in key_of(case, expect).items() if not isinstance(v, dict)}
    for k, v in (expect.get("row") or {}).items():
        if v is None and expect.get("partial"):
            row[k] = 7
    return row


def kept_columns(case, expect):
    """Columns that the message must leave alone: for relational rows those it marks as unavailable, else one that it does not name."""
    value = case.get("value") or {}
    after = (value.get("payload") or value).get("after")
    if case["format"] == "mysql" and isinstance(after, dict) and expect.get("partial"):
        return [c for c in after if c not in expect["row"] and c not in expect["key"]]
    return [KEEP]


def nested(case, row):
    """The row as a document: what the case removes by a path lies at that path."""
    value = case.get("value") or {}
    description = (value.get("payload") or value).get("updateDescription") or {}
    delimiter = (case.get("options") or {}).get("flatten.struct.delimiter", "_")
    for path in description.get("removedFields") or []:
        names, column = path.split("."), path.replace(".", delimiter)
        if len(names) < 2 or column not in row:
            continue
        last = row.pop(column)
        at = row
        for name in names[:-1]:
            at = at.setdefault(name, {})
        at[names[-1]] = last
    return row


def seed_message(case, expect):
    """An insert of that row, in the case's own format."""
    row = {**seed_row(case, expect), **{c: "k" for c in kept_columns(case, expect)}}
    table = expect.get("table") or "customers"
    topic = case["topic"]
    source = {"version": "3.0.8.Final", "connector": "mysql", "name": "s", "ts_ms": 1, "snapshot": "false", "db": "inventory", "table": table}
    if case["format"] in ("mysql", "dtle"):
        source["db"] = "db1" if case["format"] == "dtle" else "inventory"
        return {"topic": topic, "key": {k: row[k] for k in (expect.get("key") or {})} or None,
                "value": {"before": None, "after": row, "source": source, "op": "c", "ts_ms": 1}}
    if case["format"] == "mongodb":
        del source["table"]
        source.update(connector="mongodb", collection=table)
        return {"topic": topic, "key": {"id": json.dumps(row["_id"])},
                "value": {"before": None, "after": json.dumps(nested(case, dict(row))), "source": source, "op": "c", "ts_ms": 1}}
    return {"topic": topic, "key": expect["key"], "value": row}


def needs_seed(case, expect):
    """Where nothing shall happen because of the options, there must be a row to which something could."""
    is_ignored = expect["action"] == "drop" and case.get("options")
    return expect["action"] in ("delete", "truncate") or expect.get("partial") or "old_key" in expect or is_ignored


def dead_codes(target):
    return [r[1] for r in target.control("dead_letter", "id, code")]


def find_rows(target, expect):
    names = [expect["table"], *expect.get("also_ok_table", [])]
    for table in target.tables():
        if table in names:
            return target.rows(table)
    return None


def row_differs(have, want, ignore, kept):
    """Why the row is not the wanted one, or None."""
    for name, value in want.items():
        if name not in have:
            if value is None or name in ignore:
                continue
            return f"column {name} is missing"
        if not same(value, have[name]) and not (name in ignore and have[name].value is None):
            return f"{name}: wanted {value!r}, holds {have[name]!r}"
    for name, cell in have.items():
        if name in want or name in ignore:
            continue
        if name in kept:
            if cell.value != "k":
                return "a column that the partial row does not name was changed"
        elif cell.value is not None:
            return f"{name} should be NULL, holds {cell!r}"
    return None


def check_upsert(target, case, expect, seeded):
    rows = find_rows(target, expect)
    if rows is None:
        return f"no table {expect['table']}, there are {target.tables()}; dead letters {dead_codes(target)}"
    if len(rows) != 1:
        return f"wanted 1 row, there are {len(rows)}; dead letters {dead_codes(target)}"
    want = {**(expect.get("key") or {}), **expect["row"]}
    return row_differs(rows[0], want, expect.get("optional_cols", []), kept_columns(case, expect) if seeded else [])


def check_gone(target, expect):
    rows = find_rows(target, expect)
    if rows is None:
        return "the seeded table is not there"
    return None if not rows else f"the row is still there: {rows}"


def spelled_rows(target):
    return [{n: c.value for n, c in r.items()} for t in target.tables() for r in target.rows(t)]


def check_nothing(target, seeded):
    if seeded:
        rows = spelled_rows(target)
        return None if rows == seeded else f"nothing should have happened to {seeded}, there is {rows}"
    return f"tables were made: {target.tables()}" if target.tables() else None


def check(target, case, expect, seeded, done):
    action = expect["action"]
    dead = dead_codes(target)
    if action == "error":
        if done.returncode == 3 or expect["error"] in dead:
            return None
        return f"wanted the error {expect['error']}, dead letters {dead}"
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr[-600:]}"
    if (target.name, case["name"]) in CANNOT_HOLD:
        return None if dead == [CANNOT_HOLD[target.name, case["name"]]] else f"wanted a dead letter, there are {dead}"
    if dead:
        return f"dead letters: {target.control('dead_letter', 'code, message')}"
    if action == "upsert":
        return check_upsert(target, case, expect, seeded)
    if action in ("delete", "truncate"):
        return check_gone(target, expect)
    return check_nothing(target, seeded)


def added_headers(target_class, case):
    """The headers that add.headers yields: they are kept with a dead letter, so the record is made one."""
    target = target_class()
    target.work = getattr(target, "dir", None) or os.path.join(os.environ.get("TMPDIR", "/tmp"), f"mr-cases-{os.getpid()}")
    os.makedirs(target.work, exist_ok=True)
    try:
        load(target, case, [record(case, 1)], "headers", "--set", "tables.*.primary_key=[no_such_field]")
        letters = target.control("dead_letter", "id, headers")
        headers = letters[0][1] if len(letters) == 1 else None
    finally:
        target.close()
    if headers is None:
        return None
    if isinstance(headers, (str, bytes)):
        headers = json.loads(headers)
    return {k: None if v is None else base64.b64decode(v).decode() for k, v in headers if k not in (case.get("headers") or {})}


def check_headers(target_class, case, expect):
    if "headers_out" not in expect:
        return None
    have = added_headers(target_class, case)
    return None if have == expect["headers_out"] else f"headers: wanted {expect['headers_out']}, there are {have}"


def run_single(target_class, case):
    """Why the case fails, or None. Any of the acceptable outcomes will do."""
    why = []
    for expect in [case["expect"], *case["expect"].get("also_ok", [])]:
        target = target_class()
        target.work = getattr(target, "dir", None) or os.path.join(os.environ.get("TMPDIR", "/tmp"), f"mr-cases-{os.getpid()}")
        os.makedirs(target.work, exist_ok=True)
        try:
            seeded = needs_seed(case, expect)
            if seeded:
                seed = load(target, case, [record(seed_message(case, expect), 0)], "seed")
                if seed.returncode != 0 or dead_codes(target) or not target.tables():
                    raise Failure(f"the seed failed: {seed.stderr}")
                seeded = spelled_rows(target)
            done = load(target, case, [record(case, 1)], "case")
            reason = check(target, case, expect, seeded, done) or check_headers(target_class, case, expect)
        finally:
            target.close()
        if reason is None:
            return None
        why.append(reason)
    return "; or ".join(why)


def row_matches(have, want):
    return row_differs(have, want, [], []) is None


def compare_state(target, state):
    for table, want in state.items():
        rows = find_rows(target, {"table": table})
        if rows is None:
            return f"no table {table}"
        left = list(rows)
        for row in want:
            found = next((r for r in left if row_matches(r, row)), None)
            if found is None:
                return f"no row {row} in {rows}"
            left.remove(found)
        if left:
            return f"rows too many: {left}"
    return None


def run_sequence(target_class, case):
    """In one batch, in batches of one, and the whole list twice: the same tables."""
    records = [record(m, i) for i, m in enumerate(case["messages"])]
    twice = records + [dict(r, offset=r["offset"] + len(records)) for r in records]
    for how, recs, rows in (("one batch", records, 5000), ("batches of one", records, 1), ("twice", twice, 5000)):
        target = target_class()
        target.work = getattr(target, "dir", None) or os.path.join(os.environ.get("TMPDIR", "/tmp"), f"mr-cases-{os.getpid()}")
        os.makedirs(target.work, exist_ok=True)
        try:
            path = os.path.join(target.work, "sequence.jsonl")
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(json.dumps(r) + "\n" for r in recs)
            done = millrace("backfill", path, "--format", FORMATS[case["format"]], "--set", f"batch.rows={rows}", *target.args(),
                            *option_args(case), check=False)
            reason = f"exit code {done.returncode}: {done.stderr[-600:]}" if done.returncode else None
            reason = reason or (f"dead letters {dead_codes(target)}" if dead_codes(target) else compare_state(target, case["expect_state"]))
        finally:
            target.close()
        if reason:
            return f"{how}: {reason}"
    return None


def main():
    target_class = TARGETS[sys.argv[1]]
    only = sys.argv[2:]
    with open(os.path.join(HERE, "pending.txt"), encoding="utf-8") as f:
        pending = {line.split()[0] for line in f if line.strip() and not line.startswith("#")}
    passed, skipped, failed = 0, 0, []
    for name in FILES:
        with open(os.path.join(HERE, "debezium", name + ".jsonl"), encoding="utf-8") as f:
            cases = [json.loads(line) for line in f]
        for case in cases:
            if only and case["name"] not in only:
                continue
            reason = run_sequence(target_class, case) if "messages" in case else run_single(target_class, case)
            if case["name"] in pending and not only:
                if reason is None:
                    failed.append(f"{name}: {case['name']} passes: take it out of pending.txt")
                skipped += 1
            elif reason is None:
                passed += 1
            else:
                failed.append(f"{name}: {case['name']}: {reason}")
    for line in failed:
        print(line)
    print(f"{sys.argv[1]}: {passed} cases passed, {len(failed)} failed, {skipped} pending")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
