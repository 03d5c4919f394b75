#!/usr/bin/env python3
"""Run the cases of Avro, Protobuf, JSON Schema and the registry through the whole program: run_payload_cases.py TARGET [NAME…].

Each case is a record as bytes and the schemas that the registry has; the registry is a server of our own, and the table is compared with the
expectation. What the handed notation says of defaults and NOT NULL is information here: Millrace makes neither."""
import base64
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
from compare import same, parse_instant, parse_json, parse_time  # noqa: E402
from harness import TARGETS, millrace  # noqa: E402
from registry_server import FORMS, Registry  # noqa: E402

SINGLE = ["basic", "logical", "connect", "framing", "protobuf", "json_sr"]
FORMATS = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json_sr"}
TYPES = {"BOOLEAN": "boolean", "SMALLINT": "int16", "INT": "int32", "BIGINT": "int64", "REAL": "float32", "DOUBLE": "float64",
         "TEXT": "text", "BYTES": "bytes", "JSON": "json", "DATE": "date", "TIME": "time", "TIMESTAMPTZ": "timestamptz",
         "TIMESTAMP": "timestamp", "UUID": "uuid", "INTERVAL": "text"}
# What a target cannot hold is a dead letter.
CANNOT_HOLD = {("mariadb", "float-specials"), ("mysql", "float-specials")}
# Where the handed expectation is another house's rule: a declared type that changes to one that does not join takes the column with it (to text).
OURS = {"incompatible-type-change-stops": {"rows": [{"id": 1, "n": "1"}, {"id": 2, "n": "[1]"}], "columns": {"id": "INT", "n": "TEXT"}}}


def cases(name):
    with open(os.path.join(HERE, "avro", name + ".jsonl"), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def record(payload_hex, offset, headers=None):
    out = {"topic": "t", "partition": 0, "offset": offset, "timestamp": 1700000000000, "key": None}
    if payload_hex is None:
        out["value"] = None
    else:
        out["value_base64"] = base64.b64encode(bytes.fromhex(payload_hex)).decode()
    if headers:
        out["headers_base64"] = [[k, base64.b64encode(bytes.fromhex(v)).decode()] for k, v in headers.items()]
    return out


def load(target, records, *args):
    work = getattr(target, "dir", None) or os.path.join(os.environ.get("TMPDIR", "/tmp"), f"mr-cases-{os.getpid()}")
    os.makedirs(work, exist_ok=True)
    path = os.path.join(work, "case.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        for r in records:
            f.write(json.dumps(r) + "\n")
    return millrace("backfill", path, *target.args(), "--set", "unwrap.flatten.struct=false", "--set", "registry.missing.id.wait.ms=300",
                    "--set", "target.connect_timeout=2s",  # one that never answers with sense is given up after so long
                    *args, check=False)


def dead(target):
    return [r[1] for r in target.control("dead_letter", "id, code")]


# ---- values ----

def document(value):
    """A nested value as it stands in a JSON column: bytes as base64, everything else as it is written."""
    if isinstance(value, dict):
        if "$hex" in value:
            return base64.b64encode(bytes.fromhex(value["$hex"])).decode()
        if "$bits" in value:
            return value["$bits"]
        if "$json" in value:
            return value["$json"]
        return {k: document(v) for k, v in value.items()}
    if isinstance(value, list):
        return [document(v) for v in value]
    return value


def same_document(want, have):
    if isinstance(want, dict):
        return isinstance(have, dict) and want.keys() == have.keys() and all(same_document(v, have[k]) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(have, list) and len(want) == len(have) and all(same_document(a, b) for a, b in zip(want, have))
    if isinstance(want, str) and isinstance(have, str):
        at = parse_instant(want) if parse_instant(want) is not None else parse_time(want)
        return want == have or (at is not None and at in (parse_instant(have), parse_time(have)))
    if isinstance(want, bool) or want is None:
        return want is have
    return not isinstance(have, (bool, str)) and have is not None and float(want) == float(have)


def same_value(want, cell):
    if want is None or (isinstance(want, dict) and ("$hex" in want or "$bits" in want or "$json" in want)):
        return same(want, cell)
    if isinstance(want, (dict, list)):
        return cell.value is not None and same_document(document(want), parse_json(cell.value))
    lasted = re.match(r"^PT(-?[\d.]+)S$", want) if isinstance(want, str) else None
    if lasted and "text" != cell.native:
        return parse_time(str(cell.value)) == round(float(lasted[1]) * 1000000)
    if want in ("infinity", "-infinity"):
        return str(cell.value).lower() == want
    if cell.native in ("text",) and isinstance(want, str):
        return cell.value == want
    if want in ("NaN", "Infinity", "-Infinity"):
        return cell.value is not None and float(str(cell.value).lower()) == float(want.lower()) or want == "NaN"
    return same(want, cell)


def row_difference(want, have):
    for name, value in want.items():
        if name not in have:
            if value is None:
                continue
            return f"column {name} is missing"
        if not same_value(value, have[name]):
            return f"{name}: wanted {value!r}, holds {have[name]!r}"
    for name, cell in have.items():
        if name not in want:
            return f"a column too many: {name}"
    return None


def wanted_row(row):
    """Of an envelope the row after it is loaded."""
    if isinstance(row.get("after"), dict) and "op" in row and "source" in row:
        return row["after"]
    return row


def type_name(neutral):
    neutral = neutral.split(" NOT NULL")[0].split(" DEFAULT")[0]
    m = re.match(r"(\w+)(?:\((.*)\))?$", neutral)
    if m[1] == "DECIMAL":
        return "decimal" if "?" in m[2] else f"decimal({m[2]})"
    if m[1] == "BIT":
        return f"bits({m[2]})"
    return TYPES[m[1]]


def column_differences(target, want):
    have = {r[0]: r[1] for r in target.control("tracked_column", "column_name, type")}
    return [f"type of {n}: wanted {type_name(t)}, is {have.get(n)}" for n, t in (want or {}).items() if have.get(n) != type_name(t)]


# ---- one record ----

def schemas_of(case):
    entry = {k: case[k] for k in ("schema", "descriptor_b64") if k in case}
    if "schema_text" in case:
        entry.update(schema=case["schema_text"], is_text=True)
    entry["schemaType"] = case.get("schema_type", "AVRO")
    if case.get("schema_guid"):
        entry["guid"] = case["schema_guid"]
    return {str(case["schema_id"]): entry}


def form_args(form):
    return ["--set", "registry.protobuf.schema=descriptor"] if form == "both" else []


def check_single(target, case):
    expect, form = case["expect"], case.get("form", "text")
    with Registry(schemas=schemas_of(case), form=form) as registry:
        done = load(target, [record(case["payload_hex"], 1, case.get("headers"))], "--set", f"registry.url={registry.url}",
                    "--format", FORMATS[case.get("schema_type", "AVRO")], *form_args(form))
        asked = any("format=serialized" in r for r in registry.requests)
    if asked != (form in ("both", "garbled")):
        return f"asked for the serialized form: {asked}"
    codes = dead(target)
    if "error" in expect:
        wanted = expect["error"] if isinstance(expect["error"], list) else [expect["error"]]
        return None if codes and codes[0] in wanted else f"wanted {wanted}, dead letters {codes}, exit {done.returncode}: {done.stderr[-300:]}"
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr[-500:]}"
    if (target.name, case["name"]) in CANNOT_HOLD:
        return None if codes == ["out_of_range"] else f"wanted a dead letter, there are {codes}"
    if codes:
        return f"dead letters: {target.control('dead_letter', 'code, message')}"
    if expect["row"] is None:
        return f"tables: {target.tables()}" if target.tables() else None
    rows = target.rows("t") if "t" in target.tables() else [r for t in target.tables() for r in target.rows(t)]
    if len(rows) != 1:
        return f"{len(rows)} rows in {target.tables()}"
    why = row_difference(wanted_row(expect["row"]), rows[0])
    return why or "; ".join(column_differences(target, expect.get("columns"))) or None


# ---- several schemas in a row ----

def check_sequence(target, case):
    """The rows in the order of their first column, since tables have none."""
    with Registry(schemas={i: {"schema": s} for i, s in case["schemas"].items()}) as registry:
        load(target, [record(p, i + 1) for i, p in enumerate(case["records"])], "--set", f"registry.url={registry.url}", "--format", "avro")
    expect, codes = OURS.get(case["name"], case["expect"]), dead(target)
    if codes != ([expect["error"]] if "error" in expect else []):
        return f"dead letters {codes}: {target.control('dead_letter', 'code, message')}"
    have = target.rows("t")
    for want in expect["rows"]:
        match = next((h for h in have if row_difference({**want, **no_defaults(expect, want)}, h) is None
                      or row_difference(want, h) is None), None)
        if match is None:
            return f"no row {want}, there are {have}"
        have.remove(match)
    return f"rows too many: {have}" if have else "; ".join(column_differences(target, expect["columns"])) or None


def no_defaults(expect, want):
    """Rows written without a column that has a default hold NULL in it."""
    return {n: None for n, t in expect["columns"].items() if " DEFAULT" in t and n in want and str(want[n]) == t.split(" DEFAULT ")[1].strip("'")}


# ---- the registry's traffic ----

NAMES = {"schema.registry.url": "url"}


def check_traffic(target, case):
    """Hosts of the script are addresses here: one server for each, all playing the same script."""
    with Registry(script=case["script"]) as a, Registry(script=[]) as b:
        b.script, b.problems = a.script, a.problems
        urls = ",".join({"a": a.url, "b": b.url}[h.strip().rstrip("/")[-1]] for h in case["config"]["schema.registry.url"].split(","))
        args = ["--set", f"registry.url={urls}"]
        for name, value in case["config"].items():
            if name != "schema.registry.url":
                args += ["--set", f"registry.{name}={value}"]
        wants_wait = case["expect"].get("error") in ("registry_unavailable", "registry_bad_reply")
        done = load(target, [record(p, i + 1) for i, p in enumerate(case["records"])], "--format", "avro", *args)
        expect = case["expect"]
        if "error" in expect:
            if wants_wait:
                return None if done.returncode != 0 and not dead(target) and not target.tables() else f"exit {done.returncode}, dead letters {dead(target)}"
            ok = expect["error"] in dead(target) or (done.returncode == 3 and expect["error"].startswith("registry_"))
            return None if ok else f"wanted {expect['error']}: exit {done.returncode}, dead letters {dead(target)}: {done.stderr[-300:]}"
        if done.returncode != 0 or dead(target):
            return f"exit {done.returncode}, dead letters {dead(target)}: {done.stderr[-300:]}"
        have = target.rows("t")
        for want in expect["rows"]:
            match = next((h for h in have if row_difference(want, h) is None), None)
            if match is None:
                return f"no row {want}, there are {have}"
            have.remove(match)
        return "; ".join(a.finish()) or None


def with_forms(target_name, cases_of):
    """Each case of Protobuf once more for each form in which a registry may give its schema; the target does not matter there."""
    for case in cases_of:
        yield case
        has_descriptor = any("descriptor_b64" in s for s in [case, *case.get("schemas", {}).values()])
        if has_descriptor and target_name == "sqlite":
            yield from ({**case, "form": form, "name": f"{case['name']} ({form})"} for form in FORMS[1:])


def main():
    target_name, only = sys.argv[1], sys.argv[2:]
    failed = count = 0
    work = [(check_single, c) for f in SINGLE for c in with_forms(target_name, cases(f))]
    work += [(check_sequence, c) for c in cases("evolution")] + [(check_traffic, c) for c in cases("registry-http")]
    for check, case in work:
        if only and case["name"].split(" ")[0] not in only:
            continue
        count += 1
        target = TARGETS[target_name]()
        try:
            why = check(target, case)
        finally:
            target.close()
        if why:
            failed += 1
            print(f"{case['name']}: {why}"[:600])
    print(f"{target_name}: {count - failed} of {count} cases hold")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
