#!/usr/bin/env python3
"""A property: events in Avro load exactly what the same events in JSON with schemas load: run_avro_equals_json.py TARGET.

Every case of tests/cases/debezium and every recorded stream whose messages carry a Connect schema is written again as Avro, as Connect's converter
does it (the schema's annotations, unions for what is optional, each named type defined once), and loaded twice. Tables, types and dead letters must
be the same. A message whose payload contradicts its own schema cannot be written in Avro and is left out of both."""
import base64
import decimal
import gzip
import json
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
from compare import as_float32  # noqa: E402
from harness import TARGETS, millrace  # noqa: E402
from registry_server import Registry  # noqa: E402

STREAMS = ["debezium-mysql-types", "debezium-mysql-types-modes", "debezium-mysql-types-iso", "debezium-mysql-ddl"]
CASES = ["mysql", "dtle", "flattened", "sequences", "mongodb-types"]
SCALARS = {"int8": "int", "int16": "int", "int32": "int", "int64": "long", "float": "float", "double": "double", "float32": "float",
           "float64": "double", "boolean": "boolean", "string": "string", "bytes": "bytes"}


class CannotWrite(Exception):
    pass


# ---- schemas ----

class Writer:
    """The Avro schema of one Connect schema."""

    def __init__(self):
        self.named, self.unnamed = {}, 0

    def base(self, schema):
        kind, name = schema.get("type"), schema.get("name")
        if kind == "struct":
            return self.record(schema, name)
        if kind == "array":
            out = {"type": "array", "items": self.type(schema["items"])}
        elif kind == "map":
            if schema["keys"]["type"] != "string":
                raise CannotWrite("a map whose keys are no texts")
            out = {"type": "map", "values": self.type(schema["values"])}
        elif kind in SCALARS:
            out = {"type": SCALARS[kind]}
            if kind in ("int8", "int16"):
                out["connect.type"] = kind
        else:
            raise CannotWrite(f"type {kind}")
        if name == "org.apache.kafka.connect.data.Decimal":
            out.update(logicalType="decimal", scale=int(schema.get("parameters", {}).get("scale", 0)), precision=64)
        return self.annotate(out, schema)

    def annotate(self, out, schema):
        for member in ("name", "version", "parameters"):
            if schema.get(member) is not None:
                out["connect." + member] = schema[member]
        return out

    def record(self, schema, name):
        text = json.dumps(schema.get("fields"), sort_keys=True)
        full = name
        if full is None or (full in self.named and self.named[full] != text):
            self.unnamed += 1
            full = f"ConnectDefault{self.unnamed}"
        if full in self.named:
            return full
        self.named[full] = text
        space, _, short = full.rpartition(".")
        out = self.annotate({"type": "record", "name": short, "namespace": space}, schema)
        out["fields"] = [{"name": f["field"], "type": self.type(f)} for f in schema.get("fields", [])]
        return out

    def type(self, schema):
        inner = self.base(schema)
        if not schema.get("optional"):
            return inner
        return [inner, "null"] if schema.get("default") is not None else ["null", inner]


# ---- data ----

def number(n):
    n = (n << 1) ^ (n >> 63)
    if not 0 <= n < 1 << 64:
        raise CannotWrite("a number of more than 64 bits")
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def block(raw):
    return number(len(raw)) + raw


def want(value, kind):
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise CannotWrite(f"{value!r} is no {kind}")
    return value


def datum(schema, value):
    if schema.get("optional"):
        branch = 1 if schema.get("default") is None else 0
        if value is None:
            return number(1 - branch)
        return number(branch) + datum({**schema, "optional": False}, value)
    kind = schema["type"]
    if kind in ("int8", "int16", "int32", "int64"):
        bits = int(kind[3:])
        if not -(1 << (bits - 1)) <= want(value, int) < 1 << (bits - 1):
            raise CannotWrite("beyond its type")
        return number(value)
    if kind in ("float", "float32", "double", "float64"):
        if value in ("NaN", "Infinity", "-Infinity"):
            value = float(value)
        value = float(want(value, (int, float)))
        try:
            return struct.pack("<f" if kind in ("float", "float32") else "<d", value)
        except OverflowError:
            raise CannotWrite("beyond its type") from None
    if kind == "boolean":
        return b"\1" if want(value, bool) else b"\0"
    if kind == "string":
        try:
            return block(want(value, str).encode())
        except UnicodeEncodeError:
            raise CannotWrite("a lone surrogate") from None
    if kind == "bytes":
        try:
            return block(base64.b64decode(want(value, str), validate=True))
        except ValueError:
            raise CannotWrite("no base64") from None
    if kind == "array":
        items = b"".join(datum(schema["items"], v) for v in want(value, list))
        return (number(len(value)) + items if value else b"") + b"\0"
    if kind == "map":
        items = b"".join(block(k.encode()) + datum(schema["values"], v) for k, v in want(value, dict).items())
        return (number(len(value)) + items if value else b"") + b"\0"
    names = [f["field"] for f in schema.get("fields", [])]
    if any(n not in names for n in want(value, dict)):
        raise CannotWrite("a member that the schema does not have")
    if any(n not in value and not f.get("optional") for n, f in zip(names, schema.get("fields", []))):
        raise CannotWrite("a member is missing")
    if list(value) != [n for n in names if n in value] or len(value) != len(names):
        raise CannotWrite("members in another order, or left out")
    return b"".join(datum(f, value[n]) for n, f in zip(names, schema.get("fields", [])))


class Converter:
    """Messages to Avro, and the registry's content that goes with them."""

    def __init__(self):
        self.ids, self.schemas = {}, {}

    def message(self, text):
        """Framed bytes; None for no message. A message without schema cannot be written."""
        if text is None:
            return None
        doc = json.loads(text)
        if doc is None or not isinstance(doc, dict) or set(doc) != {"schema", "payload"} or not isinstance(doc["schema"], dict):
            raise CannotWrite("no schema")
        if doc["payload"] is None:
            return None
        body = datum(doc["schema"], doc["payload"])
        avro = Writer().type(doc["schema"])
        key = json.dumps(avro)
        if key not in self.ids:
            self.ids[key] = len(self.ids) + 1
            self.schemas[str(self.ids[key])] = {"schema": avro}
        return b"\0" + self.ids[key].to_bytes(4, "big") + (body if avro != "bytes" else body)

    def record(self, r):
        out = {k: v for k, v in r.items() if k not in ("key", "value")}
        for part in ("key", "value"):
            raw = self.message(r.get(part))
            if raw is None:
                out[part] = None
            else:
                out[part + "_base64"] = base64.b64encode(raw).decode()
        return out


# ---- comparing ----

def document(cell):
    """A number in a document may be spelled in several ways: 1.0E300, 1e+300; 16777216.0, 16777216."""
    if "json" not in cell.native or cell.value is None:
        return cell.value
    digits = lambda text: f"number {decimal.Decimal(text).normalize(decimal.Context(prec=5000))}" # noqa: E731
    return json.dumps(json.loads(cell.value, parse_float=digits, parse_int=digits))


def floats(native):
    """Java's text of a float may have more digits than are needed, and then looks like a double; Avro has the float itself."""
    return "float" if native in ("real", "float4", "double precision", "float32", "float64") else native


def load(target, records, *args):
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "events.jsonl")
        with open(path, "w", encoding="utf-8", errors="surrogatepass") as f:
            f.writelines(json.dumps(r) + "\n" for r in records)
        millrace("backfill", path, *target.args(), *args, "--set", "unwrap.add.fields=op,source.ts_ms")
        tables = {t: sorted([{n: (floats(c.native), document(c)) for n, c in row.items()} for row in target.rows(t)], key=repr) for t in target.tables()}
        types = sorted(((t, n, floats(of), k) for t, n, of, k in target.control("tracked_column", "target_table, column_name, type, is_key")))
        dead = sorted(target.control("dead_letter", "topic, record_offset, code"))
        return tables, types, [d[1:] for d in dead]


def same_row(x, y):
    return x.keys() == y.keys() and all(x[c] == y[c] or (x[c][0] == y[c][0] == "float" and None not in (x[c][1], y[c][1]) and
                                                         as_float32(float(x[c][1])) == as_float32(float(y[c][1]))) for c in x)


def same_tables(x, y):
    return x.keys() == y.keys() and all(len(x[t]) == len(y[t]) and all(map(same_row, x[t], y[t])) for t in x)


def difference(records, target_class, args):
    """None, or where the two loads differ; how many records were compared."""
    converter, both = Converter(), []
    for r in records:
        try:
            both.append((r, converter.record(r)))
        except CannotWrite:
            continue
    if not both:
        return None, 0
    a, b = target_class(), target_class()
    try:
        plain = load(a, [p for p, _ in both], *args)
        with Registry(schemas=converter.schemas) as registry:
            avro = load(b, [x for _, x in both], *args, "--set", f"registry.url={registry.url}")
    finally:
        a.close()
        b.close()
    for name, x, y in zip(("tables", "types", "dead letters"), plain, avro):
        if x == y or (name == "tables" and same_tables(x, y)):
            continue
        for t in x if isinstance(x, dict) else []:
            for r, s in zip(x[t], y.get(t, [])):
                if not same_row(r, s):
                    return f"{name} {t}: JSON { {k: v for k, v in r.items() if s.get(k) != v} }, Avro { {k: v for k, v in s.items() if r.get(k) != v} }", len(both)
        return f"{name}: JSON {[i for i in x if i not in y][:3]}, Avro {[i for i in y if i not in x][:3]}", len(both)
    return None, len(both)


def case_records():
    for name in CASES:
        with open(os.path.join(HERE, "..", "cases", "debezium", name + ".jsonl"), encoding="utf-8") as f:
            for line in f:
                case = json.loads(line)
                messages = case.get("messages") or case.get("steps") or [case]
                records = []
                for i, m in enumerate(messages):
                    text = lambda part: m[part + "_raw"] if part + "_raw" in m else None if m.get(part) is None else json.dumps(m[part])
                    records.append({"topic": m.get("topic", case.get("topic")), "partition": 0, "offset": i, "timestamp": 1700000000000,
                                    "key": text("key"), "value": text("value"), "headers": list((m.get("headers") or {}).items())})
                yield case["name"], records


def main():
    target = TARGETS[sys.argv[1]]
    failed = compared = 0
    for stream in STREAMS:
        with gzip.open(os.path.join(HERE, stream, "events.jsonl.gz"), "rt", encoding="utf-8") as f:
            records = [json.loads(line) for line in f]
        why, count = difference(records, target, [])
        compared += count
        failed += bool(why)
        print(f"{stream}: {count} of {len(records)} records" + (f": {why}"[:900] if why else ", the same"))
    of_cases = 0
    for name, records in case_records():
        why, count = difference(records, target, ["--set", "unwrap.flatten.struct=false"])
        of_cases += bool(count)
        if why:
            failed += 1
            print(f"{name}: {why}"[:600])
    print(f"{sys.argv[1]}: {of_cases} cases and {compared} recorded events in both forms, {failed} differences")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
