#!/usr/bin/env python3
"""Run the cases of the formats that bring their own notation of actions: run_format_cases.py TARGET [FOLDER|NAME…].

A case is one message, or a list of them, and the actions that must come of it (upsert, delete, truncate, ddl, event, ignore, error). The messages
are written to a file and loaded with `millrace backfill`; the tables must then be what the actions make of the rows that were there before. Rows
that an action needs (what a delete removes, what a partial row keeps, the old row of a changed key) are put there first, by the same program, with
a further column that the message does not name.

A folder beside this file is run if it is listed in FOLDERS; its cases name their format themselves. Options of a case are settings of the same name
but for those in `settings_of`."""
import base64
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
from compare import Cell, same  # noqa: E402
from harness import TARGETS, millrace  # noqa: E402

FOLDERS = ["canal", "maxwell", "dts", "shareplex", "prostore", "own"]  # own: not handed, made for what was found here
FORMATS = {"canal": "canal", "maxwell": "maxwell", "dts-avro": "dts-avro", "shareplex": "shareplex", "prostore": "prostore", "auto": None}
KEEP = "kept_by_a_partial_row"
TYPE_WORDS = {"set": "text", "geometry": "text"}  # Maxwell's sets become text, its geometries are well-known text


# ---- the message ----

def part_of(message, part, out):
    """Key or value as the record of a file: text, bytes in base64, or null."""
    if part + "_hex" in message:
        out[part + "_base64"] = base64.b64encode(bytes.fromhex(message[part + "_hex"])).decode()
    elif part + "_raw" in message:
        out[part] = message[part + "_raw"]
    else:
        value = message.get(part)
        out[part] = None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def record(message, offset):
    out = {"topic": message["topic"], "partition": 0, "offset": offset, "timestamp": 1700000000000, "headers": []}
    part_of(message, "key", out)
    part_of(message, "value", out)
    return out


def messages_of(case):
    return case["messages"] if "messages" in case else [case]


def quoted(name):
    return '"' + name + '"'


def settings_of(case):
    settings = {}
    for name, value in (case.get("options") or {}).items():
        if name == "keys":
            for table, columns in value.items():
                settings[f"tables.{quoted(table)}.primary_key"] = "[" + ",".join(columns) + "]"
        elif name == "types":
            for table, columns in value.items():
                for column, word in columns.items():
                    settings[f"types.columns.{quoted(table + '.' + column)}"] = TYPE_WORDS.get(word, word)
        elif name == "table":
            settings["target.table"] = value
        else:
            settings[name] = json.dumps(value) if isinstance(value, bool) else str(value)
    return settings


def load(target, name, records, settings, form):
    path = os.path.join(target.work, name + ".jsonl")
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in records)
    args = [a for k, v in settings.items() for a in ("--set", f"{k}={v}")]
    return millrace("backfill", path, *(["--format", form] if form else []), *target.args(), *args, check=False)


# ---- the tables that the actions make ----

def bare(table):
    return table.split(".")[-1]


def same_key(row, key):
    return all(row.get(c) == v for c, v in key.items())


def apply_upsert(rows, action):
    row, key = dict(action["row"]), action["key"]
    if key is None:
        rows.append(row)
        return
    row.update(key)
    keys = [action["old_key"], key] if "old_key" in action else [key]  # a changed key that has come before: the row is there already
    old = next((r for k in keys for r in rows if same_key(r, k)), None)
    if old is not None and (action.get("partial") or "old_key" in action):
        row = {**old, **row}
    rows[:] = [r for r in rows if r is not old and not same_key(r, key)] + [row]


def apply_delete(rows, action):
    match = action["key"] or action["match"]
    found = next((r for r in rows if same_key(r, match)), None)
    if found is not None:
        rows.remove(found)


def apply_action(tables, action):
    kind = action["action"]
    if kind in ("ignore", "error", "ddl"):
        return
    rows = tables.setdefault(action["table"], [])
    if kind == "upsert":
        apply_upsert(rows, action)
    elif kind == "delete":
        apply_delete(rows, action)
    elif kind == "truncate":
        rows.clear()
    elif kind == "event":
        if not any(same_key(r, action["key"]) for r in rows if action["key"]):
            rows.append({**(action["key"] or {}), **action["row"]})
    else:
        raise ValueError(f"unknown action {kind}")


# ---- rows that are there before ----

def seeds_of(case):
    """Table → rows, from the first action that touches each row."""
    seeds, made = {}, set()

    def spot(table, key):
        return table, json.dumps(key, sort_keys=True)

    for action in case["expect"]:
        table, kind = action.get("table"), action["action"]
        rows = seeds.setdefault(table, [])
        if kind == "delete" and action["key"] is None:
            rows += [dict(action["match"]), dict(action["match"])]  # of two equal rows one stays
        elif kind == "delete" or action.get("partial"):
            key = action.get("old_key") or action["key"]
            if spot(table, key) not in made:
                rows.append({**key, KEEP: "k"})
        elif kind == "truncate":
            rows.append({"id": 1, KEEP: "k"})
        if kind == "upsert" and action["key"]:
            made.add(spot(table, action["key"]))
    return {table: rows for table, rows in seeds.items() if rows}


def case_is_keyless(case, table):
    return any(a["action"] == "delete" and a.get("table") == table and a["key"] is None for a in case["expect"])


def key_of(case, table, row):
    """The key columns of a seed row, as the actions tell them."""
    if case_is_keyless(case, table):
        return None
    for action in case["expect"]:
        if action.get("table") == table and action.get("key"):
            return {c: row[c] for c in action["key"]}
    return {"id": row["id"]}


def seed(target, case, seeds):
    records = []
    for table, rows in seeds.items():
        for row in rows:
            key = key_of(case, table, row)
            records.append({"topic": table, "partition": 0, "offset": len(records), "timestamp": 1, "headers": [],
                            "key": None if key is None else json.dumps(key), "value": json.dumps(row)})
    settings = {k: v for k, v in settings_of(case).items() if k.startswith("tables.")}
    done = load(target, "seed", records, settings, "json")
    return None if done.returncode == 0 and not dead_codes(target) else f"the seed failed: {done.stderr[-600:]}"


# ---- comparing ----

def dead_codes(target):
    return [r[1] for r in target.control("dead_letter", "id, code")]


def as_wanted(value):
    """Notations that `same` does not know."""
    if isinstance(value, dict) and "$wkt" in value:
        return value["$wkt"]
    return value


def holds(value, cell):
    return same(as_wanted(value), cell)


def row_fits(have, want):
    for name, cell in have.items():
        if not holds(want.get(name), cell):
            return False
    return all(value is None or name in have for name, value in want.items())


def table_differs(have, want):
    left = list(have)
    for row in want:
        found = next((r for r in left if row_fits(r, row)), None)
        if found is None:
            return f"no row {row} in {have}"
        left.remove(found)
    return f"rows too many: {left}" if left else None


def find_table(target, table):
    there = target.tables()
    return next((t for t in (table, bare(table)) if t in there), None)


def compare_tables(target, tables):
    left = set(target.tables())
    for table, rows in tables.items():
        found = find_table(target, table)
        if found is None:
            if rows:
                return f"no table {table}, there are {sorted(left)}"
            continue
        left.discard(found)
        why = table_differs(target.rows(found), rows)
        if why:
            return f"{table}: {why}"
    return f"tables that nothing asked for: {sorted(left)}" if left else None


def compare_control(case, done):
    """What is no row is counted: schema changes, and what is passed over."""
    found = re.search(r"control_messages=(\d+)", done.stderr)
    count = int(found[1]) if found else 0
    want = sum(a["action"] in ("ddl", "ignore") for a in case["expect"])
    return None if count == want else f"{count} control messages, wanted {want}"


def check(target, case, seeds, done):
    errors = [a["error"] for a in case["expect"] if a["action"] == "error"]
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr[-600:]}"
    if dead_codes(target) != errors:
        return f"dead letters {target.control('dead_letter', 'id, code, message')}, wanted {errors}"
    tables = {t: [dict(r) for r in rows] for t, rows in seeds.items()}
    for action in case["expect"]:
        apply_action(tables, action)
    return compare_tables(target, tables) or compare_control(case, done)


def run(target_class, case, batch_rows):
    target = target_class()
    target.work = getattr(target, "dir", None) or os.path.join(os.environ.get("TMPDIR", "/tmp"), f"mr-cases-{os.getpid()}")
    os.makedirs(target.work, exist_ok=True)
    try:
        seeds = seeds_of(case)
        why = seed(target, case, seeds) if seeds else None
        if why:
            return why
        records = [record(m, i) for i, m in enumerate(messages_of(case))]
        done = load(target, "case", records, {**settings_of(case), "batch.rows": batch_rows}, FORMATS[case["format"]])
        return check(target, case, seeds, done)
    finally:
        target.close()


def main():
    target_class, only = TARGETS[sys.argv[1]], sys.argv[2:]
    passed, failed = 0, []
    for folder in FOLDERS:
        for name in sorted(os.listdir(os.path.join(HERE, folder))):
            with open(os.path.join(HERE, folder, name), encoding="utf-8") as f:
                cases = [json.loads(line) for line in f]
            for case in cases:
                if only and case["name"] not in only and folder not in only:
                    continue
                if case["format"] == "prostore-emit":  # nothing to load: tests/unit/test_status_event.c
                    continue
                for rows in (5000, 1) if "messages" in case else (5000,):
                    reason = run(target_class, case, rows)
                    if reason:
                        failed.append(f"{folder}/{name}: {case['name']}: {reason}")
                        break
                else:
                    passed += 1
    for line in failed:
        print(line)
    print(f"{sys.argv[1]}: {passed} cases passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
