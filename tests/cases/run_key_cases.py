#!/usr/bin/env python3
"""Run the cases of record keys through the whole program: run_key_cases.py TARGET [NAME…].

A case is a key as bytes, the options that say what it is, and the key columns that must come of it."""
import base64
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
sys.path.insert(0, HERE)
from harness import TARGETS, millrace  # noqa: E402
from registry_server import Registry  # noqa: E402
from run_payload_cases import dead, form_args, same_value, with_forms  # noqa: E402

FILES = ["kafka", "delimited", "json", "avro", "json_sr-protobuf", "none-and-options"]
OPTIONS = {"format": "format", "key_format": "format.key", "value_format": "format.value", "default_key_format": "default.key.format",
           "key_delimiter": "key.delimiter", "key_column_name": "key.column.name", "key_wrap_single": "key.wrap.single",
           "key_window": "key.window", "null_key": "null.key", "mode": "mode"}
CONFIGURATION = {"unknown_format", "format_conflict", "no_key_format", "none_value_format", "none_with_key_columns", "unsupported_type",
                 "multi_column_unsupported", "no_primary_key", "bad_option", "registry_required"}
# A row that lacks its table's key has the engine's own words.
OURS = {"null_key_column": {"null_key_column", "null_key", "no_key"}}
# Nothing is unequal to itself in a key: neither target takes it.
CANNOT_HOLD = {("sqlite", "kafka-double-nan"), ("mariadb", "kafka-double-nan"), ("mysql", "kafka-double-nan")}


def cases(name):
    with open(os.path.join(HERE, "keys", name + ".jsonl"), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def option_args(case):
    options = dict(case["options"])
    settings = {}
    if "format" in options and options["format"] == "DELIMITED":
        settings["value.columns"] = "V_ INT"
    elif "value_format" not in options and "format" not in options:
        settings["format.value"] = "json"
    for name, value in options.items():
        if name in OPTIONS:
            settings[OPTIONS[name]] = '"%s"' % value if name == "key_delimiter" else value
    if "columns" in options:
        settings["key.columns"] = ", ".join(f"{c['name']} {c['type']}" for c in options["columns"])
    if "primary_key" in options:
        settings["tables.t.primary_key"] = "[" + ",".join(options["primary_key"]) + "]"
    return [a for k, v in settings.items() for a in ("--set", f"{k}={v}")]


def record(case, offset, value):
    out = {"topic": "t", "partition": 0, "offset": offset, "timestamp": 1700000000000}
    if case["key_hex"] is None:
        out["key"] = None
    else:
        out["key_base64"] = base64.b64encode(bytes.fromhex(case["key_hex"])).decode()
    if case.get("headers"):
        out["headers_base64"] = [[k, base64.b64encode(bytes.fromhex(v)).decode()] for k, v in case["headers"].items()]
    out["value"] = None if value is None else value if isinstance(value, str) else json.dumps(value)
    return out


def load(target, case, records, registry, again=0):
    work = getattr(target, "dir", None) or os.path.join(os.environ.get("TMPDIR", "/tmp"), f"mr-cases-{os.getpid()}")
    os.makedirs(work, exist_ok=True)
    path = os.path.join(work, f"case{again}.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        for r in records:
            f.write(json.dumps(r) + "\n")
    args = [] if registry is None else ["--set", f"registry.url={registry.url}"]
    return millrace("backfill", path, *target.args(), *option_args(case), *args, *form_args(case.get("form")), "--set", "target.connect_timeout=2s", check=False)


def key_difference(want, row):
    for name, value in want.items():
        if name not in row:
            if value is None:
                continue
            return f"no column {name}, there are {sorted(row)}"
        if value == "NaN" and str(row[name].value).lower() == "nan":
            continue
        if not same_value(value, row[name]):
            return f"{name}: wanted {value!r}, holds {row[name]!r}"
    return None


def check_rows(target, case, done):
    expect, op = case["expect"], case["expect"].get("op", "upsert")
    if done.returncode != 0 or dead(target):
        return f"exit {done.returncode}, dead letters {target.control('dead_letter', 'code, message')}: {done.stderr[-300:] if done.returncode else ''}"
    rows = target.rows("t") if "t" in target.tables() else []
    if op in ("skip", "delete"):
        return f"rows {rows}" if rows else None
    if len(rows) != 1:
        return f"{len(rows)} rows"
    return key_difference(expect["key"] or {}, rows[0])


def check(target, case, registry):
    expect = case["expect"]
    value = case["value"] if "value" in case else {"v__": 1}
    if case["options"].get("format") == "DELIMITED":
        value = "1"
    if expect.get("op") == "delete":
        seed = load(target, case, [record(case, 0, {"v__": 1})], registry, again=1)
        if seed.returncode != 0 or not target.tables():
            return f"the seed failed: {seed.stderr[-300:]}"
    done = load(target, case, [record(case, 1, value)], registry)
    if "error" not in expect:
        if (target.name, case["name"]) in CANNOT_HOLD:
            return None if dead(target) else "wanted a dead letter"
        return check_rows(target, case, done)
    wanted = set(expect["error"] if isinstance(expect["error"], list) else [expect["error"]])
    if wanted & CONFIGURATION or (wanted == {"map_in_key"} and "columns" in case["options"]):
        return None if done.returncode == 3 and not target.tables() else f"wanted exit 3, got {done.returncode}: {dead(target)}"
    codes = dead(target)
    accepted = set().union(*(OURS.get(w, {w}) for w in wanted))
    return None if codes and codes[0] in accepted else f"wanted {wanted}, dead letters {target.control('dead_letter', 'code, message')}, exit {done.returncode} {done.stderr[-200:]}"


def main():
    target_name, only = sys.argv[1], sys.argv[2:]
    failed = count = 0
    for case in (c for f in FILES for c in with_forms(target_name, cases(f))):
        if only and case["name"].split(" ")[0] not in only:
            continue
        count += 1
        target = TARGETS[target_name]()
        registry = None if case["options"].get("registry") is False or not case.get("schemas") else Registry(schemas=case["schemas"], form=case.get("form", "text"))
        try:
            why = check(target, case, registry)
        finally:
            target.close()
            if registry:
                registry.close()
        if why:
            failed += 1
            print(f"{case['name']}: {why}"[:500])
    print(f"{target_name}: {count - failed} of {count} cases hold")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
