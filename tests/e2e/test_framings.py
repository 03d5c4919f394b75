#!/usr/bin/env python3
"""How a message says which schema it was written with: every framing with every kind of schema, through the program. What Confluent's serializers
write by themselves (an id, a GUID, headers), what Apicurio's do, and messages without framing whose schema is configured: by id, by GUID, in a file."""
import base64
import json
import os
import uuid

from e2e import Sqlite, check, main, millrace
from registry_server import Registry

GUID = "89791762-2336-4186-9674-299b90a802e2"
ID, LONG = b"\0\0\0\0\x05", b"\0" + (2**40 + 5).to_bytes(8, "big")
BY_GUID = b"\x01" + uuid.UUID(GUID).bytes
AVRO = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}]}
JSON = {"type": "object", "properties": {"id": {"type": "integer", "connect.type": "int64"}}}
PROTO = 'syntax = "proto3"; message First { string other = 1; } message Outer { message In { int64 id = 1; } }'
# schema, payload, message indexes of a row with id 7
KINDS = {"avro": (AVRO, b"\x0e", b""), "json_sr": (JSON, b'{"id": 7}', b""), "protobuf": (PROTO, b"\x08\x07", b"\x04\x02\x00")}
TYPES = {"avro": "AVRO", "json_sr": "JSON", "protobuf": "PROTOBUF"}


class Case:
    def __init__(self):
        self.target = Sqlite()
        self.loads = 0

    def write(self, name, text):
        path = os.path.join(self.target.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def load(self, value, *args, headers=(), key=None, check=True):
        """One record into an empty table; the rows afterwards."""
        self.loads += 1
        record = {"topic": f"t{self.loads}", "partition": 0, "offset": 1, "value_base64": base64.b64encode(value).decode(),
                  "headers_base64": [[k, base64.b64encode(v).decode()] for k, v in headers]}
        if key is not None:
            record["key_base64"] = base64.b64encode(key).decode()
        path = self.write(f"in{self.loads}.jsonl", json.dumps(record) + "\n")
        done = millrace("backfill", path, *self.target.args(), "--set", "registry.missing.id.wait.ms=0", "--set", "target.connect_timeout=1s", *args,
                        check=check)
        if not check:
            return done
        table = f"t{self.loads}"
        return [{n: c.value for n, c in r.items()} for r in self.target.rows(table)] if table in self.target.tables() else []

    def dead(self):
        return [r[1] for r in self.target.control("dead_letter", "id, code")]

    def close(self):
        self.target.close()


def registry_of(kind, **more):
    return Registry(schemas={str(i): {"schemaType": TYPES[kind], "schema": KINDS[kind][0], "guid": GUID} for i in (5, 2**40 + 5)}, **more)


def test_every_framing_of_confluent_goes_with_every_kind_of_schema():
    case = Case()
    for kind, (_, payload, indexes) in KINDS.items():
        with registry_of(kind) as registry:
            args = ["--format", kind, "--set", f"registry.url={registry.url}"]
            for prefix in (ID, BY_GUID):
                rows = case.load(prefix + indexes + payload, *args)
                check(rows == [{"id": 7}], f"{kind}, {prefix}: {rows} {case.dead()}")
                rows = case.load(payload, *args, headers=[("__value_schema_id", b"\xff"), ("__value_schema_id", prefix + indexes)])
                check(rows == [{"id": 7}], f"{kind}, header {prefix}: {rows} {case.dead()}")
                rows = case.load(prefix + indexes + payload, "--set", f"registry.url={registry.url}")
                check(rows == [{"id": 7}], f"auto, {kind}, {prefix}: {rows} {case.dead()}")
    check(not case.dead(), f"{case.dead()}")
    case.close()


def test_texts_of_kafkas_serializer_have_the_encoding_that_is_said():
    case = Case()
    form = ["--set", "format={key: kafka, value: json}", "--set", "key.columns=id STRING", "--set"]
    check(case.load(b'{"v":1}', *form, "key.deserializer.encoding=ISO-8859-1", key=b"K\xf6ln") == [{"id": "Köln", "v": 1}], "latin 1")
    check(case.load(b'{"v":1}', *form, "key.deserializer.encoding=us-ascii", key=b"Bonn") == [{"id": "Bonn", "v": 1}], "ascii")
    check(case.load(b'{"v":1}', *form, "key.deserializer.encoding=US-ASCII", key=b"K\xf6ln") == [], "no ascii")
    check(case.load(b'{"v":1}', *form, "topics.t*.key_deserializer_encoding=ISO-8859-1", key=b"\xdf") == [{"id": "ß", "v": 1}], "by topic")
    check(case.load(b"\xe9", "--set", "format.value=kafka", "--set", "value.columns=t STRING", "--set", "value.deserializer.encoding=ISO-8859-1")
          == [{"t": "é"}], "a value")
    check(case.dead() == ["bad_utf8"], f"{case.dead()}")
    for wrong in (["key.deserializer.encoding=UTF-16", *form[:-1]], ["value.deserializer.encoding=ISO-8859-1", *form[:-1]]):
        done = case.load(b"{}", "--set", *wrong, check=False)
        check(done.returncode == 3 and "deserializer.encoding" in done.stderr, f"{wrong}: {done.stderr}")
    case.close()


def test_members_that_the_schema_does_not_name_are_told_or_kept():
    case = Case()
    value = ID + b'{"x": 1.50, "id": 7, "y": {"z": [2]}, "x": 2}'
    with registry_of("json_sr") as registry:
        args = ["--format", "json_sr", "--set", f"registry.url={registry.url}"]
        done = case.load(value, *args, check=False)
        check(done.returncode == 0 and "they are left out" in done.stderr and "member=x" in done.stderr, done.stderr)
        check([{n: c.value for n, c in r.items()} for r in case.target.rows(f"t{case.loads}")] == [{"id": 7}], "left out")
        keep = ["--set", "json.additional=column"]
        check(case.load(ID + b'{"id": 7}', *args, *keep) == [{"id": 7}], "no member, no column")
        rows = case.load(value, *args, *keep)
        check(len(rows) == 1 and rows[0]["id"] == 7 and json.loads(rows[0]["additional"]) == {"x": 2, "y": {"z": [2]}}, f"{rows} {case.dead()}")
    taken = {"type": "object", "properties": {"id": {"type": "integer"}, "additional": {"type": "string"}}}
    with Registry(schemas={"5": {"schemaType": "JSON", "schema": taken}}) as registry:
        rows = case.load(ID + b'{"id": 7, "additional": "a", "x": 1}', "--format", "json_sr", "--set", f"registry.url={registry.url}", *keep)
        check(rows == [{"id": 7, "additional": "a"}], f"the name is taken: {rows}")
    check(not case.dead(), f"{case.dead()}")
    case.close()


def test_a_json_key_is_an_envelope_or_not_as_is_said():
    case = Case()
    key = b'{"schema":null,"payload":{"id":5}}'
    form = ["--set", "format={key: json, value: json}", "--set", "unwrap.flatten.struct=false", "--set"]
    check(case.load(b'{"v":1}', *form, "key.json.envelope=auto", key=key) == [{"id": 5, "v": 1}], "auto")
    check(case.load(b'{"v":1}', *form, "key.json.envelope=true", key=key) == [{"id": 5, "v": 1}], "true")
    check(case.load(b'{"v":1}', *form, "key.json.envelope=true", key=b'{"id":5}') == [], "true, and there is none")
    check(case.dead() == ["bad_value"], f"{case.dead()}")
    rows = case.load(b'{"v":1}', *form, "key.json.envelope=false", "--set", "key.columns=schema STRING, payload STRING", "--set", "mode=append", key=key)
    check(rows == [{"schema": None, "payload": '{"id":5}', "v": 1}], f"false: {rows} {case.dead()}")
    done = case.load(b"{}", "--set", "key.json.envelope=true", check=False)
    check(done.returncode == 3 and "key.json.envelope" in done.stderr, done.stderr)
    case.close()


def test_keys_are_framed_as_values_are():
    case = Case()
    for kind, (_, payload, indexes) in KINDS.items():
        with registry_of(kind) as registry:
            args = ["--set", f"format={{key: {kind}, value: json}}", "--set", f"registry.url={registry.url}"]
            rows = case.load(b'{"a": 1}', *args, key=payload, headers=[("__key_schema_id", BY_GUID + indexes)])
            check(rows == [{"id": 7, "a": 1}], f"{kind}: {rows} {case.dead()}")
    case.close()


def test_damaged_framings_are_told_by_name():
    case = Case()
    with registry_of("protobuf") as registry:
        args = ["--format", "protobuf", "--set", f"registry.url={registry.url}"]
        for value, headers in ((ID[:4], []), (BY_GUID[:9], []), (b"", [("__value_schema_id", ID)]), (ID, []), (ID + b"\x04\x02", []),
                               (b"\x08\x07", [("__value_schema_id", ID[:3])])):
            case.load(value, *args, headers=headers)
        check(case.dead() == ["truncated"] * 6, f"{case.dead()}")
        for indexes in (b"\x03\x02", b"\x02\x0a", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x04\x02\x01"):
            case.load(ID + indexes + b"\x08\x07", *args)
        check(case.dead()[6:] == ["corrupt"] * 4, f"{case.dead()}")
        case.load(b"\x02\0\0\0\x05\x0e", *args)
        check(case.dead()[10:] == ["bad_magic"], f"{case.dead()}")
    case.close()


def test_messages_without_framing_have_a_schema_by_configuration():
    case = Case()
    for kind, (_, payload, _) in KINDS.items():
        more = ["--set", "value.use.message.indexes=1,0"] if kind == "protobuf" else []
        with registry_of(kind) as registry:
            args = ["--format", kind, "--set", f"registry.url={registry.url}", *more]
            for named in ("value.use.schema.id=5", f"value.use.schema.guid={GUID}"):
                rows = case.load(payload, *args, "--set", named)
                check(rows == [{"id": 7}], f"{kind}, {named}: {rows} {case.dead()}")
    with registry_of("protobuf") as registry:  # the first message where no indexes are said
        rows = case.load(b"\x0a\x01x", "--format", "protobuf", "--set", f"registry.url={registry.url}", "--set", "value.use.schema.id=5")
        check(rows == [{"other": "x"}], f"{rows} {case.dead()}")
    case.close()


def test_schemas_in_files_need_no_registry():
    case = Case()
    avro = case.write("row.avsc", json.dumps(AVRO))
    rows = case.load(b"\x0e", "--set", "format.value=avro", "--set", f"value.schema.file={avro}")
    check(rows == [{"id": 7}], f"{rows} {case.dead()}")
    money = case.write("money.proto", 'syntax = "proto3"; package m; message Money { int64 units = 1; }')
    row = case.write("row.proto", 'syntax = "proto3"; import "money.proto"; message Row { int64 id = 1; m.Money price = 2; }')
    rows = case.load(b"\x08\x07\x12\x02\x08\x05", "--set", "format.value=protobuf", "--set", f"value.schema.file={money}, {row}")
    check(rows == [{"id": 7, "price_units": 5}], f"{rows} {case.dead()}")
    part = case.write("part.json", json.dumps({"type": "string"}))
    whole = case.write("whole.json", json.dumps({"type": "object", "properties": {"id": {"type": "integer"}, "p": {"$ref": "part.json"}}}))
    rows = case.load(b'{"id": 7, "p": "x"}', "--set", "format.value=json_sr", "--set", f"value.schema.file={part},{whole}")
    check(rows == [{"id": 7, "p": "x"}], f"{rows} {case.dead()}")
    config = case.write("m.yaml", f"topics: {{\"t*\": {{key: avro, key_schema_file: {avro}, value: json}}}}\n")
    rows = case.load(b'{"a": 1}', "-c", config, key=b"\x0e")
    check(rows == [{"id": 7, "a": 1}] and not case.dead(), f"{rows} {case.dead()}")
    case.close()


def test_framings_that_cannot_be_are_refused_at_the_start():
    case = Case()
    bad = case.write("bad.avsc", "{")
    url = ["--set", "registry.url=http://127.0.0.1:1"]
    for args, part in ((["--set", "format.value=avro", "--set", "value.schema.file=/nowhere.avsc"], "cannot open the schema"),
                       (["--set", "format.value=avro", "--set", f"value.schema.file={bad}"], "bad.avsc"),
                       (["--set", "format.value=avro"], "value.schema.file"),
                       (["--format", "avro", "--set", f"value.schema.file={bad}"], "key.schema.file"),
                       (["--format", "json", "--set", "value.use.schema.id=5"], "must be avro"),
                       (["--format", "avro", "--set", "value.use.schema.id=five", *url], "no schema's id"),
                       (["--format", "avro", "--set", "value.use.schema.guid=5", *url], "no GUID"),
                       (["--format", "avro", "--set", "value.use.schema.id=5", "--set", f"value.use.schema.guid={GUID}", *url], "leave all but one"),
                       (["--format", "avro", "--set", "value.use.schema.id=5", "--set", "value.use.message.indexes=0", *url], "protobuf"),
                       (["--format", "protobuf", "--set", "value.use.schema.id=5", "--set", "value.use.message.indexes=0,,1", *url], "list of indexes"),
                       (["--format", "avro", "--set", "registry.schema.id.size=5", *url], "registry.schema.id.size")):
        done = case.load(b"\x0e", *args, check=False)
        check(done.returncode == 3 and part in done.stderr and not case.target.tables(), f"{args}: {done.returncode} {done.stderr[-400:]}")
    config = case.write("m.yaml", f"topics: {{\"t*\": {{value: avro}}, \"t?\": {{value_schema_file: {case.write('row.avsc', json.dumps(AVRO))}}}}}\n")
    case.loads = 98  # t99, which the second pattern does not fit
    done = case.load(ID + b"\x0e", "-c", config, check=False)
    check(done.returncode == 3 and "registry.url" in done.stderr, f"{done.returncode} {done.stderr[-400:]}")
    case.close()


def test_message_indexes_of_older_clients_are_read_on_request():
    case = Case()
    with registry_of("protobuf") as registry:
        args = ["--format", "protobuf", "--set", f"registry.url={registry.url}", "--set", "protobuf.use.deprecated.format=true"]
        rows = case.load(ID + b"\x02\x01\x00\x08\x07", *args) + case.load(ID + b"\x00\x0a\x01x", *args)
        check(rows == [{"id": 7}, {"other": "x"}], f"{rows} {case.dead()}")
    case.close()


def test_ids_of_eight_bytes_are_read_on_request():
    case = Case()
    with registry_of("avro") as registry:
        for format_name in ("avro", "auto"):
            rows = case.load(LONG + b"\x0e", "--format", format_name, "--set", f"registry.url={registry.url}", "--set", "registry.schema.id.size=8")
            check(rows == [{"id": 7}], f"{format_name}: {rows} {case.dead()}")
    case.close()


def test_headers_of_apicurio_lead_to_its_own_interface():
    case = Case()
    for kind, (schema, payload, indexes) in KINDS.items():
        with Registry() as registry:
            text = (schema if kind == "protobuf" else json.dumps(schema)).encode()
            for name in ("contentId", "globalId"):
                registry.by_path[f"/apis/registry/v3/ids/{name}s/{2**40 + 5}"] = (200, "application/octet-stream", text)
                args = ["--format", kind, "--set", f"registry.url={registry.url}/apis/ccompat/v7", "--set", "registry.apicurio.headers=true"]
                rows = case.load(indexes + payload, *args, headers=[(f"apicurio.value.{name}", LONG[1:])])
                check(rows == [{"id": 7}], f"{kind}, {name}: {rows} {case.dead()}")
    with Registry() as registry:
        registry.by_path["/apis/registry/v3/ids/contentIds/9"] = (404, "application/json", b'{"status": 404, "name": "ContentNotFoundException"}')
        args = ["--format", "avro", "--set", f"registry.url={registry.url}/apis/ccompat/v7", "--set", "registry.apicurio.headers=true"]
        for header in ((9).to_bytes(8, "big"), b"\0\0\0\x09"):
            case.load(b"\x0e", *args, headers=[("apicurio.value.contentId", header)])
    check(case.dead() == ["unknown_schema_id", "truncated"], f"{case.dead()}")
    case.close()


def test_records_of_dts_are_not_taken_for_framed_ones():
    """Their first byte is 00, too (a version), and the next four would be an id."""
    case = Case()
    corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz", "corpus", "dts")
    with registry_of("avro") as registry:
        for name in ("insert0", "update0", "full_load_init0"):
            with open(os.path.join(corpus, name), "rb") as f:
                value = f.read()[1:]  # the first byte is the fuzzer's
            check(value[0] == 0, "the record does not look framed")
            case.load(value, "--set", f"registry.url={registry.url}")
        check(not registry.requests and not case.dead() and "t1" in case.target.tables(), f"{registry.requests} {case.dead()} {case.target.tables()}")
        rows = case.load(ID + b"\x0e", "--set", f"registry.url={registry.url}")
        check(rows == [{"id": 7}] and len(registry.requests) == 1, f"{rows} {registry.requests}")
    case.close()


def test_json_values_have_declared_columns_or_are_one():
    case = Case()
    value = lambda text, *sets, **kw: case.load(text.encode(), "--set", "format.value=json", *(a for s in sets for a in ("--set", s)), **kw)
    columns = "value.columns=id BIGINT, price DECIMAL(9,2), day DATE"
    rows = value('{"ID": "7", "price": 1.5, "day": 3, "other": 1}', columns)
    check([{n: str(v) for n, v in r.items()} for r in rows] == [{"id": "7", "price": "1.5", "day": "1970-01-04"}], f"{rows} {case.dead()}")
    check(value("21.5", "value.columns=deg DOUBLE") == [{"deg": 21.5}] and value('{"deg": 21.5}', "value.columns=deg DOUBLE") == [{"deg": 21.5}],
          "one column, wrapped or not")
    check(value("21.5", "wrap.single.value=false") == [{"ROWVAL": 21.5}] and value("null", "wrap.single.value=false") == [], f"{case.dead()}")
    check(value('{"schema": {"type": "int64"}, "payload": 5}', "wrap.single.value=false") == [{"ROWVAL": 5}], f"{case.dead()}")
    check(value('[1, 2]', "wrap.single.value=false") == [{"ROWVAL": "[1,2]"}], f"{case.dead()}")
    check(value('{"deg": 1}', "value.columns=deg STRING", "wrap.single.value=false") == [{"deg": '{"deg":1}'}] and not case.dead(), f"{case.dead()}")
    value("21.5", "value.columns=deg DOUBLE", "wrap.single.value=true")
    value('{"id": 1.5}', "value.columns=id INT")
    value("21.5")
    value('{"id": ', columns)
    check(case.dead() == ["bad_value", "bad_value", "ambiguous", "bad_json"], f"{case.dead()}")
    for sets, part in ((["format=auto", "value.columns=id INT"], "value.columns are declared"), (["format.value=kafka", "value.columns=a INT",
                       "wrap.single.value=true"], "never objects"), (["format.value=json", "wrap.single.value=auto"], "none of true, false")):
        done = case.load(b"1", *(a for s in sets for a in ("--set", s)), check=False)
        check(done.returncode == 3 and part in done.stderr, f"{sets}: {done.returncode} {done.stderr[-300:]}")
    case.close()


if __name__ == "__main__":
    main()
