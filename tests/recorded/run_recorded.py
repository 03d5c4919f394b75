#!/usr/bin/env python3
"""Load recorded streams and compare the tables with the source's: run_recorded.py sqlite|postgresql|mariadb|mysql file|kafka [STREAM…].

Every table of final.json must hold exactly its rows; where meta.json says that the bytes carry something else (`lost`), exactly that. What a target
cannot hold must be a dead letter: cannot_hold.json names those events, and exactly they must be there."""
import base64
import contextlib
import decimal
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
sys.path.insert(0, HERE)
from compare import Cell, same  # noqa: E402
from documents import flat_leaf, flatten, leaf  # noqa: E402
from harness import TARGETS, from_env, millrace  # noqa: E402
from registry_server import Registry  # noqa: E402
from source_values import source_value, target_value  # noqa: E402

# Settings an operator would make for the stream.
SETTINGS = {
    "debezium-mongodb-envelope": {
        "tables.shop.anykey.primary_key": "record_key_text",  # _id of every type there is
        "tables.shop.anykey.policy": "json",
        "tables.shop.odd.policy": "json",
        'types.policies."shop.types.ref.$id"': "json",
    },
    "debezium-mysql-flat-drop": {"format": "flat"},
    "canal-ddl": {"ddl": "apply"},  # tables are renamed, and dropped and made again
    "canal-types": {"source_time_zone": "Asia/Shanghai"},  # of the producer's process
    "debezium-mongodb-flat-rewrite": {
        "format": "flat",
        "types.columns.shop.types.dbl": "double",  # NaN is a text in JSON
        'types.policies."shop.types.ref_$id"': "json",
    },
}
SETTINGS.update({"json-sr-rows": {"format": "json_sr", "unwrap.flatten.struct": "false"},
                 "protobuf-rows": {"format": "protobuf", "unwrap.flatten.struct": "false",
                                   "tables.pb.deep.primary_key": "[id]"}})  # its keys are of the values' own type
STREAMS = ["debezium-mysql-shop", "debezium-mysql-types", "debezium-mysql-types-plain", "debezium-mysql-types-modes", "debezium-mysql-types-iso",
           "debezium-mysql-ddl", "debezium-mysql-flat", "debezium-mysql-flat-drop", "debezium-mysql-minimal", "debezium-mariadb-shop",
           "debezium-mongodb-envelope", "debezium-mongodb-flat-rewrite", "canal-shop", "canal-partitioned", "canal-types", "canal-types-mysql", "canal-ddl",
           "canal-unicode-db", "debezium-mariadb-avro", "debezium-mariadb-avro-flat", "json-sr-rows", "protobuf-rows"]
BYTES_AS = {"debezium-mysql-types-modes": "hex"}  # how a stream without a bytes type spells bytes; else base64
NO_ROW = "no such row"
# Columns that came to be with a default: the server gave it to the rows it had without an event. Millrace makes no defaults, so they hold NULL.
ADDED_WITH_DEFAULT = {
    "debezium-mariadb-avro": {("shop.orders", "note"): "none"},
    "debezium-mariadb-avro-flat": {("shop.orders", "note"): "none"},
    "canal-ddl": {("ddl2.moved", "c4"): 10, ("ddl2.moved", "kind"): "y", ("ddl2.moved", "d_one"): 7, ("ddl2.typ", "q"): "q", ("ddl.elsewhere", "w"): 5,
                  ("ddl2.weird t", "Ünï"): 3},
}


def read(stream, name):
    with open(os.path.join(HERE, stream, name), encoding="utf-8") as f:
        return json.load(f)


def events(stream):
    plain = os.path.join(HERE, stream, "events.jsonl")
    if os.path.exists(plain):
        with open(plain, encoding="utf-8") as f:
            return f.read()
    with gzip.open(os.path.join(HERE, stream, "events.jsonl.gz"), "rt", encoding="utf-8") as f:
        return f.read()


# A TIME of MySQL ends at 838 hours; a duration of Protobuf does not.
LONG_DURATIONS = {"types.columns.pb.rows.lasted": "text", "types.columns.pb.text.lasted": "text"}


def set_args(stream, target):
    more = LONG_DURATIONS if stream == "protobuf-rows" and target.name in ("mariadb", "mysql") else {}
    if os.environ.get("TRANSACTIONS") == "source":
        more = {**more, "transactions": "source"}
    return [a for k, v in {**SETTINGS.get(stream, {}), **more}.items() for a in ("--set", f"{k}={v}")]


def check_transactions(done):
    """All were kept together, and none lacked records."""
    if os.environ.get("TRANSACTIONS") == "source" and not re.search("whole=[1-9][0-9]* split=0 incomplete=0", done.stderr):
        print(done.stderr)
        sys.exit("transactions were not kept")


def registry_of(stream):
    """A registry that gives the recorded answers, some of them only after an error that passes."""
    if not os.path.exists(os.path.join(HERE, stream, "registry.json")):
        return contextlib.nullcontext()
    return Registry(recorded=read(stream, "registry.json"), faults=["503", None, "cut", "404", "refuse", "slow", "redirect", "html", "type"])


def registry_args(registry):
    return [] if registry is None else ["--set", f"registry.url={registry.url}", "--set", "registry.retries.wait.ms=10"]


def load_file(stream, target):
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "events.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(events(stream))
        with registry_of(stream) as registry:
            # Serialized schemas of this registry lack things, and those with references are answered with 500: the texts serve all the same.
            form = ["--set", "registry.protobuf.schema=descriptor"] if stream == "protobuf-rows" else []
            check_transactions(millrace("backfill", path, *target.args(), *set_args(stream, target), *registry_args(registry), *form))
            if form and not any("format=serialized" in r for r in registry.requests):
                raise AssertionError("the serialized schemas have not been asked for")


def load_kafka(stream, target):
    """Topics of their own under a prefix; the program reads them by a regular expression."""
    broker = from_env("MILLRACE_TEST_KAFKA")
    prefix = f"{target.name}{os.getpid()}-{stream}."
    subprocess.run([os.environ["KAFKA_LOAD"], broker, prefix], input=events(stream), text=True, check=True)
    with registry_of(stream) as registry:
        done = millrace("backfill", "--from", f"kafka://{broker}/^{prefix.replace('.', '[.]')}.*", "--group", prefix + "group", *target.args(), *set_args(stream, target),
                        *registry_args(registry))
    check_transactions(done)


# ---- relational tables ----

def cell_of(row, column, source_type):
    """The cell; a struct without schema (a geometry) has become columns of its own."""
    if column in row:
        return row[column]
    if column + "_wkb" in row:
        wkb, srid = row[column + "_wkb"].value, row.get(column + "_srid", Cell("", None)).value
        return Cell("json", None if wkb is None else json.dumps({"wkb": wkb, "srid": srid}))
    return None


def spelled(value):
    return repr(value.normalize() if isinstance(value, decimal.Decimal) else value)


def row_key(key_columns, types, values):
    return tuple(spelled(values[c]) for c in key_columns)


def arrives(entry):
    return entry["arrives"] if "arrives" in entry else entry["stream"]


def wanted_rows(name, table, lost):
    """The source's rows; by key and column what the bytes carry instead; keys of rows that the bytes leave over, and of those they lack. A loader may
    know better than the bytes (an enum's label whose escapes the schema explains): what the source holds is always right."""
    types = dict(table["columns"])
    key = table["key"]
    rows = [dict(zip(types, row)) for row in table["rows"]]
    instead, over, lacking = {}, [], []
    for entry in lost:
        if entry["table"] != name:
            continue
        k = tuple(spelled(source_value(types[c], v)) for c, v in zip(key or types, entry["key"]))
        if "column" in entry:
            instead[k, entry["column"]] = source_value(types[entry["column"]], arrives(entry))
        else:
            (lacking if arrives(entry) == NO_ROW else over).append(k)
    return rows, instead, over, lacking


def lost_columns(meta, name):
    """What the producer destroyed, where meta.json lists it as `db.table.column` or `db.table.column[key]`: columns of the whole table, and columns by
    the first part of the key."""
    whole, single = [], {}
    for entry in meta["lost"] if isinstance(meta.get("lost"), dict) else []:
        if entry.startswith(name + "."):
            column, bracket, key = entry[len(name) + 1:].partition("[")
            if bracket:
                single.setdefault(key[:-1], []).append(column)
            else:
                whole.append(column)
    return whole, single


def unordered_keys(meta, name, types, key):
    """Keys whose changes stand in several partitions, so that no order of the stream tells their rows. None: all of the table."""
    listed = meta.get("order_dependent", {}).get(name, [])
    if listed == "all":
        return None
    return {tuple(spelled(source_value(types[c], v)) for c, v in zip(key, k)) for k in listed}


def have_row(row, types, encoding):
    out = {}
    for column, source_type in types.items():
        try:
            out[column] = target_value(source_type, cell_of(row, column, source_type), encoding)
        except (ValueError, TypeError, KeyError, ArithmeticError) as why:
            out[column] = ("unreadable", str(why), repr(cell_of(row, column, source_type)))
    return out


def same_value(want, have):
    if isinstance(want, float) and isinstance(have, float) and want != want:
        return have != have
    return want == have and type(want is None) is type(have is None)


def row_difference(want, have, types, optional, instead=None, key=None):
    for column in types:
        if column in optional or same_value(want[column], have[column]):
            continue
        if instead and (key, column) in instead and same_value(instead[key, column], have[column]):
            continue
        return f"{column}: wanted {want[column]!r}, holds {have[column]!r}"
    return None


def compare_keyless(name, want, have, types, dropped, skip):
    left, problems = list(have), []
    for row in want:
        if list(row.values())[0] in skip:
            continue
        match = next((h for h in left if row_difference(row, h, types, dropped) is None), None)
        if match is None:
            problems.append(f"{name}: no row {row}")
        else:
            left.remove(match)
    return problems + [f"{name}: a row too many {h}" for h in left]


def compare_table(stream, name, table, meta, target, skip_keys):
    lost = meta.get("lost") if isinstance(meta.get("lost"), list) else []
    types = dict(table["columns"])
    encoding = BYTES_AS.get(stream, "base64")
    rows, instead, over, lacking = wanted_rows(name, table, lost)
    want = [{c: source_value(types[c], v) for c, v in row.items()} for row in rows]
    found = target.rows(name.split(".")[-1]) if name.split(".")[-1] in target.tables() else []
    have = [have_row(row, types, encoding) for row in found]
    key = table["key"]
    whole, single = lost_columns(meta, name)
    dropped = table.get("dropped", []) + whole
    unordered = unordered_keys(meta, name, types, key)
    if unordered is None:
        return []
    if not key:
        return compare_keyless(name, want, have, types, dropped, skip_keys.get(name, []))
    problems = []
    by_key = {row_key(key, types, h): h for h in have}
    if len(by_key) != len(have):
        problems.append(f"{name}: keys are not unique")
    for row in want:
        k = row_key(key, types, row)
        h = by_key.pop(k, None)
        if k[0] in skip_keys.get(name, []) or k in unordered:
            continue
        if h is None:
            problems += [f"{name}: no row with key {k}"] if k not in lacking else []
            continue
        for (table_name, column), default in ADDED_WITH_DEFAULT.get(stream, {}).items():
            if table_name == name and h[column] is None and row[column] == default:
                row = {**row, column: None}
        why = row_difference(row, h, types, dropped + single.get(k[0].strip("'"), []), instead, k)
        if why:
            problems.append(f"{name} {k}: {why}")
    return problems + [f"{name}: a row too many, key {k}" for k in by_key if k not in over and k not in unordered]


# ---- documents ----

def document_differs(want, row):
    for column, value in want.items():
        cell = row.get(column)
        if cell is None:
            if value is not None:
                return f"column {column} is missing"
        elif not same(value, cell) and not same_in_json(value, cell):
            return f"{column}: wanted {value!r}, holds {cell!r}"
    for column, cell in row.items():
        if column not in want and not column.startswith("__") and column != "_key" and cell.value is not None:
            return f"{column} should be NULL, holds {cell!r}"
    return None


def same_in_json(value, cell):
    """A scalar in a column that has become JSON, because other documents hold other types there."""
    if "json" not in cell.native or cell.value is None:
        return False
    held = json.loads(cell.value)
    if isinstance(value, dict) and "$hex" in value:
        try:
            return isinstance(held, str) and base64.b64decode(held, validate=True).hex() == value["$hex"]
        except ValueError:  # some other document's text
            return False
    if isinstance(value, dict) and "$json" in value:
        return False
    return held is not None and same(value, Cell("json", held if isinstance(held, (str, bool)) else str(held)))


def compare_documents(stream, name, table, target, skip_keys):
    make = flat_leaf if "-flat-" in stream else leaf
    want = [flatten(d, make) for d in table["documents"]]
    left = list(target.rows(name.split(".")[-1]))
    problems = []
    for doc in want:
        if repr(doc.get("_id")) in skip_keys.get(name, []):
            left = [r for r in left if document_differs({"_id": doc["_id"]}, {"_id": r["_id"]}) is not None]
            continue
        match = next((r for r in left if document_differs(doc, r) is None), None)
        if match is None:
            near = [document_differs(doc, r) for r in left if "_id" in r and document_differs({k: v for k, v in doc.items() if k.startswith("_id")}, {k: v for k, v in r.items() if k.startswith("_id")}) is None]
            problems.append(f"{name}: no row for {json.dumps(doc)[:300]}: {near[:2]}")
        else:
            left.remove(match)
    return problems + [f"{name}: a row too many: { {k: v for k, v in r.items() if v.value is not None} }"[:400] for r in left]


# ---- dead letters ----

def compare_dead(stream, target, allowed):
    have = sorted((t, int(p), int(o), c) for _, t, p, o, c in target.control("dead_letter", "id, topic, partition, record_offset, code"))
    have = [(t.split("|")[-1], p, o, c) for t, p, o, c in have]
    want = sorted((e["topic"], e["partition"], e["offset"], e["code"]) for e in allowed)
    strip = lambda t: t[t.index(".") + 1:] if t.startswith(target.name) else t
    have = sorted((strip(t), p, o, c) for t, p, o, c in have)
    problems = [f"dead letter not expected: {h}" for h in have if h not in want]
    return problems + [f"dead letter missing: {w}" for w in want if w not in have]


def limits_of(limits, target, stream):
    """What the target cannot hold of the stream; an old PostgreSQL has no infinite numeric besides."""
    names = [target.name]
    if target.name == "postgresql" and target.db.server_version < 140000:
        names.append("postgresql before 14")
    out = {"events": [], "rows": {}}
    for found in (limits.get(name, {}).get(stream, {}) for name in names):
        out["events"] += found.get("events", [])
        for table, keys in found.get("rows", {}).items():
            out["rows"].setdefault(table, []).extend(keys)
    return out


def relational_type(said):
    """Types of JSON Schema and of Protobuf as the server's type whose values are spelled the same way."""
    words = {"integer": "bigint", "number": "double", "string": "text", "boolean": "tinyint(1)", "int32": "int", "sint32": "int", "sfixed32": "int",
             "uint32": "int unsigned", "fixed32": "int unsigned", "int64": "bigint", "sint64": "bigint", "sfixed64": "bigint",
             "uint64": "bigint unsigned", "fixed64": "bigint unsigned", "float": "float", "double": "double", "bool": "tinyint(1)",
             "bytes": "blob", "enum": "text", "google.protobuf.Timestamp": "timestamp(6)", "google.protobuf.Int64Value": "bigint",
             "google.protobuf.StringValue": "text", "google.protobuf.Duration": "duration"}
    if said.startswith("{"):
        schema = json.loads(said)
        if "oneOf" in schema:
            schema = next(s for s in schema["oneOf"] if s.get("type") != "null")
        kind = schema.get("type", "string" if "enum" in schema else "object")
        kind = next(k for k in kind if k != "null") if isinstance(kind, list) else kind
        title = schema.get("title", "").split(".")[-1]
        named = {"Decimal": "decimal(30,10)", "Date": "date", "Timestamp": "timestamp(3)"}.get(title)
        if named or schema.get("connect.type") == "bytes":
            return named or "blob"
        return "json" if kind in ("object", "array") else {**words, "integer": "int" if schema.get("connect.type") == "int32" else "bigint"}[kind]
    for prefix in ("optional ", "oneof "):
        said = said[len(prefix):] if said.startswith(prefix) else said
    return words.get(said, said if "(" in said and not said.startswith("map") else "json")


def run(stream, source, target):
    final, meta = read(stream, "final.json"), read(stream, "meta.json")
    if stream in ("json-sr-rows", "protobuf-rows"):
        for table in final["tables"].values():
            table["columns"] = [[n, relational_type(t)] for n, t in table["columns"]]
    with open(os.path.join(HERE, "cannot_hold.json"), encoding="utf-8") as f:
        limits = limits_of(json.load(f), target, stream)
    (load_file if source == "file" else load_kafka)(stream, target)
    problems = compare_dead(stream, target, limits.get("events", []))
    skip = limits.get("rows", {})
    for name, table in final["tables"].items():
        if name in meta.get("not_compared", []):
            continue
        if "documents" in table:
            problems += compare_documents(stream, name, table, target, skip)
        else:
            problems += compare_table(stream, name, table, meta, target, skip)
    return problems


def main():
    """TRANSACTIONS=source loads the stream with that setting: the same tables."""
    target_name, source, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    failed = 0
    streams = only or STREAMS
    for stream in streams:
        target = TARGETS[target_name]()
        try:
            problems = run(stream, source, target)
        finally:
            if not os.environ.get("MILLRACE_KEEP"):
                target.close()
        failed += bool(problems)
        for line in problems[:40]:
            print(f"{stream}: {line}"[:700])
        if len(problems) > 40:
            print(f"{stream}: and {len(problems) - 40} more")
    print(f"{target_name}, {source}: {len(streams) - failed} streams equal, {failed} differ")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
