#!/usr/bin/env python3
"""The schema registry as an operator meets it: down at the start, down in between, just started, behind a password, behind TLS, wrong. No record is
lost for its sake, and none becomes a dead letter that need not."""
import base64
import json
import os
import socket
import ssl
import subprocess
import tempfile
import time

from e2e import Failure, Instance, Sqlite, check, main, millrace, wait_for
from registry_server import Registry

SCHEMAS = {str(i): {"schema": {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}, {"name": f"v{i}", "type": "string"}]}}
           for i in (1, 2, 3)}
ARGS = ["--format", "avro", "--set", "tables.t.primary_key=[id]", "--set", "registry.retries.wait.ms=10", "--set", "registry.max.retries=1"]


def zigzag(n):
    out, n = bytearray(), n * 2
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def row(schema, number):
    text = f"text {number}".encode()
    value = b"\0" + schema.to_bytes(4, "big") + zigzag(number) + zigzag(len(text)) + text
    return json.dumps({"topic": "t", "partition": 0, "offset": number, "value_base64": base64.b64encode(value).decode()}) + "\n"


class Case:
    def __init__(self):
        self.target = Sqlite()
        self.path = os.path.join(self.target.dir, "in.jsonl")

    def add(self, schema, numbers):
        with open(self.path, "a", encoding="utf-8") as f:
            f.writelines(row(schema, n) for n in numbers)
        return self

    def ids(self):
        return sorted(int(r["id"].value) for r in self.target.rows("t")) if "t" in self.target.tables() else []

    def dead(self):
        return [r[1] for r in self.target.control("dead_letter", "id, code")]

    def backfill(self, url, *args, **kw):
        return millrace("backfill", self.path, *self.target.args(), *ARGS, "--set", f"registry.url={url}", *args, **kw)

    def close(self):
        self.target.close()


def free_port():
    with Registry() as registry:
        return registry.server.server_address[1]


def test_registry_that_comes_later_is_waited_for():
    case, port = Case().add(1, range(50)), free_port()
    loader = Instance("backfill", case.path, *case.target.args(), *ARGS, "--set", f"registry.url=http://127.0.0.1:{port}")
    wait_for("the wait", lambda: "waiting for the schema registry" in loader.log)
    with Registry(schemas=SCHEMAS, port=port):
        loader.expect(0)
    check(case.ids() == list(range(50)) and not case.dead(), f"{case.ids()}, {case.dead()}")
    case.close()


def test_registry_that_goes_away_loses_nothing():
    case = Case().add(1, range(10))
    registry = Registry(schemas=SCHEMAS)
    port = registry.server.server_address[1]
    loader = Instance("run", *case.target.args(), *ARGS, "--set", f"registry.url={registry.url}", "--set", f"source.file.paths={case.path}",
                      "--set", "batch.interval=10ms")
    wait_for("the first rows", lambda: case.ids() == list(range(10)))
    registry.close()
    case.add(1, range(10, 20)).add(2, range(20, 30)).add(1, range(30, 40))
    wait_for("the wait", lambda: "waiting for the schema registry" in loader.log)
    check(not case.dead() and loader.is_running(), "it should wait")
    with Registry(schemas=SCHEMAS, port=port):
        wait_for("all rows", lambda: case.ids() == list(range(40)))
        loader.stop()
    check(not case.dead(), f"{case.dead()}")
    case.close()


def test_registry_that_has_just_started_is_asked_again():
    case = Case().add(1, range(3)).add(3, range(3, 6))
    with Registry(schemas=SCHEMAS, faults=["404", "404", None, "404"]) as registry:
        case.backfill(registry.url)
    check(case.ids() == list(range(6)) and not case.dead(), f"{case.ids()}, {case.dead()}")
    case.close()


def test_unknown_id_is_a_dead_letter_and_the_rest_is_loaded():
    case = Case().add(1, range(3)).add(99, range(3, 6)).add(98, range(6, 7)).add(2, range(7, 9))
    with Registry(schemas=SCHEMAS) as registry:
        case.backfill(registry.url, "--set", "registry.missing.id.wait.ms=600")
        asked = [r for r in registry.requests if r == "/schemas/ids/98"]
    check(case.dead() == ["unknown_schema_id"] * 4 and case.ids() == [0, 1, 2, 7, 8], f"{case.ids()}, {case.dead()}")
    check(len(asked) == 1, "once waiting has been in vain, another unknown id is believed")
    case.close()


def test_dead_letters_are_replayed_when_the_registry_knows_the_schema():
    case = Case().add(1, range(2)).add(99, range(2, 4))
    with Registry(schemas=SCHEMAS) as registry:
        case.backfill(registry.url, "--set", "registry.missing.id.wait.ms=0")
    check(case.dead() == ["unknown_schema_id"] * 2, f"{case.dead()}")
    with Registry(schemas={"99": SCHEMAS["2"]}) as registry:
        millrace("dead-letters", "replay", "--all", *case.target.args(), "--set", "format=avro", *ARGS[2:], "--set", f"registry.url={registry.url}")
    check(case.ids() == [0, 1, 2, 3], f"{case.ids()}")
    case.close()


def test_answers_that_are_spoilt_on_the_way_are_asked_for_again():
    case = Case().add(1, range(3)).add(2, range(3, 6)).add(3, range(6, 9))
    with Registry(schemas=SCHEMAS, faults=["cut", "slow", "500", "redirect", None, "refuse", "html", "type"]) as registry:
        case.backfill(registry.url)
    check(case.ids() == list(range(9)) and not case.dead(), f"{case.ids()}, {case.dead()}")
    case.close()


def test_wrong_url_ends_with_a_message():
    case = Case().add(1, range(3))
    with Registry() as registry: # a server, but none that knows schemas
        registry.by_path["/schemas/ids/1"] = (200, "text/html", b"<html>hello</html>")
        done = case.backfill(registry.url, "--set", "target.connect_timeout=1s", check=False)
    check(done.returncode == 3 and "registry.url" in done.stderr and not case.dead(), f"{done.returncode}: {done.stderr[-300:]}")
    case.close()


def test_credentials_reach_the_registry_and_nothing_else():
    case = Case().add(1, range(3))
    with Registry(schemas=SCHEMAS, user="lo ader:p:w") as registry:
        refused = case.backfill(registry.url, check=False)
        check(refused.returncode == 3 and not case.dead(), f"without password: {refused.returncode}")
        case.backfill(registry.url, "--set", "registry.basic.auth.user.info=lo ader:p:w")
        check(case.ids() == [0, 1, 2], f"{case.ids()}")
        url = registry.url.replace("//", "//lo%20ader:p%3Aw@")
        case.add(1, range(3, 4))
        done = case.backfill(url)
        check("p%3Aw" not in done.stderr and "p:w" not in done.stderr, "the password stands in the log")
    shown = millrace("config", "--set", f"registry.url={url}", "--set", "registry.bearer.auth.token=hush1",
                     "--set", "registry.basic.auth.user.info=lo ader:hush2", "--set", "registry.request.header.Authorization=hush3").stdout
    check("p%3Aw" not in shown and "hush" not in shown, shown)
    case.close()


def test_credentials_do_not_follow_a_redirect_to_another_host():
    case = Case().add(1, range(3))
    with Registry(schemas=SCHEMAS) as far:
        for option in ("registry.basic.auth.user.info=me:secret", "registry.bearer.auth.token=secret", "registry.request.header.X-Api-Key=secret",
                       "registry.request.header.Cookie=k=secret"):
            with Registry() as near:
                near.elsewhere = far.url
                case.add(1, range(3, 4)).backfill(near.url, "--set", option, "--set", "source.file.again=true")
                check("secret" in str(near.headers[0]) or "Basic" in str(near.headers[0]), f"the registry itself gets them: {near.headers[0]}")
                check("secret" not in str(far.headers) and "Authorization" not in str(far.headers), f"{option}: {far.headers[-1]}")
                near.elsewhere, near.faults = None, ["redirect"]
                near.by_path.update(far.by_path)
                case.add(1, range(4, 5)).backfill(near.url, "--set", option, "--set", "source.file.again=true")
                check(near.requests[-1].startswith("/moved") and ("secret" in str(near.headers[-1]) or "Basic" in str(near.headers[-1])),
                      f"on its own redirects, too: {near.requests[-1]} {near.headers[-1]}")
    check(len(far.headers) == 4, f"{far.headers}")
    case.close()


def test_redirects_without_end_are_waited_out_and_refused():
    case = Case().add(1, range(3))
    with Registry() as registry:
        registry.elsewhere = registry.url
        done = case.backfill(registry.url, "--set", "target.connect_timeout=1s", check=False)
        check(done.returncode == 3 and not case.dead() and len(registry.requests) < 100, f"{done.returncode} {len(registry.requests)} {done.stderr[-300:]}")
    case.close()


def test_long_keys_that_look_framed_are_told_with_what_helps():
    case = Case()
    with open(case.path, "w", encoding="utf-8") as f:
        f.write(json.dumps({"topic": "t", "partition": 0, "offset": 1, "key_base64": base64.b64encode((7).to_bytes(8, "big")).decode(),
                            "value": '{"a": 1}'}) + "\n")
    with Registry(schemas=SCHEMAS) as registry:
        millrace("backfill", case.path, *case.target.args(), "--set", f"registry.url={registry.url}", "--set", "registry.missing.id.wait.ms=0")
    shown = millrace("dead-letters", "show", "--to", f"sqlite:{case.target.path}", "1", check=False).stdout
    check(case.dead() == ["unknown_schema_id"], f"{case.dead()} {shown}")
    case.close()


def test_tokens_are_issued_and_replaced():
    case = Case().add(1, range(2)).add(2, range(2, 4)).add(3, range(4, 6))
    with Registry(schemas=SCHEMAS, tokens="me:secret") as registry:
        args = ["--set", "registry.bearer.auth.credentials.source=OAUTHBEARER", "--set", f"registry.bearer.auth.issuer.endpoint.url={registry.url}/token",
                "--set", "registry.bearer.auth.client.id=me", "--set", "registry.bearer.auth.scope=a b"]
        refused = case.backfill(registry.url, *args, "--set", "registry.bearer.auth.client.secret=wrong", check=False)
        check(refused.returncode == 3 and not case.dead() and "wrong" not in refused.stderr, f"{refused.returncode} {refused.stderr[-300:]}")
        case.backfill(registry.url, *args, "--set", "registry.bearer.auth.client.secret=secret")
        check(registry.issued == 2 and case.ids() == list(range(6)), f"{registry.issued} tokens, {case.ids()}, {case.dead()}")
        inherited = ["--set", "registry.bearer.auth.credentials.source=SASL_OAUTHBEARER_INHERIT"]
        refused = case.backfill(registry.url, *inherited, check=False)
        check(refused.returncode == 3 and "sasl.oauthbearer.client.id" in refused.stderr, f"{refused.returncode} {refused.stderr[-300:]}")
        for name, value in (("token.endpoint.url", f"{registry.url}/token"), ("client.id", "me"), ("client.secret", "secret"), ("scope", "a b")):
            inherited += ["--set", f'source.kafka.properties."sasl.oauthbearer.{name}"={value}']
        case.add(2, range(6, 7)).backfill(registry.url, *inherited)
        check(registry.issued == 3 and case.ids() == list(range(7)), f"{registry.issued} tokens, {case.ids()}, {case.dead()}")
    case.close()


def test_certificate_is_checked():
    case, folder = Case().add(1, range(3)), tempfile.mkdtemp()
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with Registry(schemas=SCHEMAS, tls=context) as registry:
        refused = case.backfill(registry.url, check=False)
        check(refused.returncode == 3 and not case.dead(), f"an unknown certificate: {refused.returncode} {refused.stderr[-300:]}")
        case.backfill(registry.url, "--set", f"registry.ssl.ca.location={cert}")
        check(case.ids() == [0, 1, 2], f"{case.ids()}")
        with open(cert, encoding="utf-8") as f:
            case.add(1, range(3, 4)).backfill(registry.url, "--set", f"registry.ssl.ca.pem={f.read()}")
    check(case.ids() == [0, 1, 2, 3], f"{case.ids()}")
    case.close()


def test_our_own_certificate_is_shown_in_each_form():
    case, folder = Case().add(1, range(3)), tempfile.mkdtemp()
    files = {name: os.path.join(folder, name) for name in ("cert.pem", "key.pem", "store.p12")}
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", files["key.pem"], "-out", files["cert.pem"]], check=True, capture_output=True)
    subprocess.run(["openssl", "pkcs12", "-export", "-in", files["cert.pem"], "-inkey", files["key.pem"], "-out", files["store.p12"], "-passout",
                    "pass:hush"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files["cert.pem"], files["key.pem"])
    context.load_verify_locations(files["cert.pem"])
    context.verify_mode = ssl.CERT_REQUIRED
    texts = {name: open(files[name], encoding="utf-8").read() for name in ("cert.pem", "key.pem")}
    ways = [{"certificate.location": files["cert.pem"], "key.location": files["key.pem"]},
            {"certificate.pem": texts["cert.pem"], "key.pem": texts["key.pem"]},
            {"keystore.location": files["store.p12"], "keystore.password": "hush"}]
    with Registry(schemas=SCHEMAS, tls=context) as registry:
        ca = ["--set", f"registry.ssl.ca.location={files['cert.pem']}", "--set", "target.connect_timeout=1s"]
        refused = case.backfill(registry.url, *ca, check=False)
        check(refused.returncode == 3 and not case.ids() and not case.dead(), f"without: {refused.returncode} {refused.stderr[-300:]}")
        for i, way in enumerate(ways):
            case.add(1, range(3 + i, 4 + i)).backfill(registry.url, *ca, *(a for k, v in way.items() for a in ("--set", f"registry.ssl.{k}={v}")))
            check(case.ids() == list(range(4 + i)), f"{way.keys()}: {case.ids()}")
        both = case.backfill(registry.url, *ca, *(a for w in ways for k, v in w.items() for a in ("--set", f"registry.ssl.{k}={v}")), check=False)
        check(both.returncode == 3 and "leave all but one out" in both.stderr, f"{both.returncode} {both.stderr[-300:]}")
    case.close()


def test_auto_takes_framed_and_plain_messages_by_themselves():
    case = Case().add(1, range(3))
    with open(case.path, "a", encoding="utf-8") as f:
        f.write(json.dumps({"topic": "plain", "partition": 0, "offset": 9, "key": "{\"id\": 7}", "value": "{\"id\": 7, \"a\": \"b\"}"}) + "\n")
    with Registry(schemas=SCHEMAS) as registry:
        case.backfill(registry.url, "--format", "auto")
    check(case.ids() == [0, 1, 2] and len(case.target.rows("plain")) == 1 and not case.dead(), f"{case.target.tables()} {case.dead()}")
    case.close()


def test_topics_may_have_formats_of_their_own():
    case = Case()
    with open(case.path, "w", encoding="utf-8") as f:
        f.write(json.dumps({"topic": "lab.a", "partition": 0, "offset": 1, "key_base64": "AAAABw==", "value": "{\"x\": 1}"}) + "\n")
        f.write(json.dumps({"topic": "lab.events", "partition": 0, "offset": 2, "key": "not looked at", "value": "{\"id\": 3, \"y\": 2}"}) + "\n")
        f.write(json.dumps({"topic": "lab.rows", "partition": 0, "offset": 3, "key_base64": "AAAACQ==",
                            "value_base64": json.loads(row(1, 5))["value_base64"]}) + "\n")
    config = os.path.join(case.target.dir, "m.yaml")
    with Registry(schemas=SCHEMAS) as registry:
        with open(config, "w", encoding="utf-8") as f:
            f.write(f"registry: {{url: {registry.url}}}\ntopics:\n  \"lab.*\": {{key: kafka, key_columns: \"k INT\", value: json}}\n"
                    "  lab.events: {key: json, key_columns: \"\"}\n  lab.rows: {value: avro}\n  lab.event?: {key: none}\n"
                    "tables: {events: {primary_key: [id]}}\n")
        refused = millrace("backfill", case.path, "-c", config, *case.target.args(), check=False)
        check(refused.returncode == 3, "none with the columns of another pattern is refused")
        with open(config, "w", encoding="utf-8") as f:
            f.write(f"registry: {{url: {registry.url}}}\ntopics:\n  lab.a: {{key: kafka, key_columns: \"k INT\", value: json}}\n"
                    "  lab.rows: {key: kafka, key_columns: \"k INT\", value: avro}\n  lab.e*: {key: none, value: json}\n"
                    "tables: {events: {primary_key: [id]}}\n")
        millrace("backfill", case.path, "-c", config, *case.target.args())
    cells = lambda t: [{n: c.value for n, c in r.items()} for r in case.target.rows(t)]
    check(cells("a") == [{"k": 7, "x": 1}] and cells("events") == [{"id": 3, "y": 2}] and cells("rows") == [{"k": 9, "id": 5, "v1": "text 5"}],
          f"{[cells(t) for t in case.target.tables()]}, {case.dead()}")
    case.close()


def test_new_schema_of_keys_is_told_once():
    case = Case()
    keys = {"1": {"schema": "int"}, "2": {"schema": "long"}}
    with open(case.path, "w", encoding="utf-8") as f:
        for offset, schema in enumerate([1, 1, 2, 2, 1]):
            key = base64.b64encode(b"\0" + schema.to_bytes(4, "big") + zigzag(offset)).decode()
            f.write(json.dumps({"topic": "t", "partition": 0, "offset": offset, "key_base64": key, "value": "{\"a\": 1}"}) + "\n")
    with Registry(schemas=keys) as registry:
        done = millrace("backfill", case.path, *case.target.args(), "--set", f"registry.url={registry.url}", "--set", "format={key: avro, value: json}")
    rows = sorted(int(r["ROWKEY"].value) for r in case.target.rows("t"))
    check(done.stderr.count("another schema") == 1 and rows == [0, 1, 2, 3, 4] and not case.dead(), f"{rows} {done.stderr[-400:]}")
    case.close()


def test_key_whose_members_nobody_declares_does_not_change_the_tables_key():
    case = Case()
    keys = ['{"id": 1}', '{"id": 2, "more": 1}', '{"more": 3}', '{"id": 4}', "5"]
    for values in (['{"a": 1}'] * 5, ["null"] * 5):  # rows, then deletes, by a new run
        with open(case.path, "w", encoding="utf-8") as f:
            for offset, (key, value) in enumerate(zip(keys, values)):
                f.write(json.dumps({"topic": "t", "partition": 0, "offset": offset, "key": key, "value": None if value == "null" else value}) + "\n")
        millrace("backfill", case.path, *case.target.args(), "--set", "format={key: json, value: json}")
    check(case.dead() == ["key_schema_changed"] * 6 and not case.ids(), f"{case.ids()} {case.dead()}")
    with open(case.path, "w", encoding="utf-8") as f:
        f.write("".join(json.dumps({"topic": "t", "partition": 0, "offset": 9 + i, "key": k, "value": '{"a": 1}'}) + "\n" for i, k in enumerate(keys)))
    millrace("backfill", case.path, *case.target.args(), "--set", "format={key: json, value: json}", "--set", "key.columns=id BIGINT")
    check(case.ids() == [1, 2, 4, 5] and case.dead()[6:] == ["bad_value"], f"declared: {case.ids()} {case.dead()}")
    case.close()


def test_key_whose_schema_has_another_column_replaces_the_tables_key():
    case = Case()
    fields = [{"name": "id", "type": "long"}, {"name": "more", "type": ["null", "long"]}]
    keys = {"1": {"schema": {"type": "record", "name": "K", "fields": fields[:1]}}, "2": {"schema": {"type": "record", "name": "K", "fields": fields}}}
    with open(case.path, "w", encoding="utf-8") as f:
        for offset, key in enumerate([b"\0\0\0\0\2\x02\x02\x02", b"\0\0\0\0\2\x02\x02\x04"]):
            f.write(json.dumps({"topic": "t", "partition": 0, "offset": offset, "key_base64": base64.b64encode(key).decode(), "value": '{"a": 1}'}) + "\n")
    with Registry(schemas=keys) as registry:
        args = ["--set", f"registry.url={registry.url}", "--set", "format={key: avro, value: json}"]
        millrace("backfill", case.path, *case.target.args(), *args)
        check(case.ids() == [1, 1] and not case.dead(), f"{case.ids()} {case.dead()}")
    case.close()


# A serialized Protobuf schema, piece by piece.
def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def number(field, n):
    return varint(field << 3) + varint(n)


def field(name, at, kind, type_name=None):
    return block(2, block(1, name) + number(3, at) + number(4, 1) + number(5, kind) + (block(6, type_name) if type_name else b""))


def test_serialized_schemas_serve_where_texts_cannot_be_read_with_their_references():
    money = block(1, "money.proto") + block(2, "c") + block(12, "proto3") + block(4, block(1, "Money") + field("units", 1, 3))
    root = (block(1, "root.proto") + block(2, "r") + block(3, "money.proto") + block(12, "proto3") +
            block(4, block(1, "Row") + field("id", 1, 3) + field("price", 2, 11, ".c.Money")))
    reply = lambda schema, **more: (200, "application/json", json.dumps({"schema": schema, "schemaType": "PROTOBUF", **more}).encode())
    references = [{"name": "money.proto", "subject": "com/money", "version": 3}]
    case = Case()
    value = b"\0\0\0\0\x01" + b"\0" + number(1, 7) + block(2, number(1, 1250))
    with open(case.path, "w", encoding="utf-8") as f:
        f.write(json.dumps({"topic": "t", "partition": 0, "offset": 1, "value_base64": base64.b64encode(value).decode()}) + "\n")
    with Registry(faults=[None, None, "503"]) as registry:
        registry.by_path.update({
            "/schemas/ids/1": reply("mess Row {}", references=references),
            "/schemas/ids/1?format=serialized": reply(base64.b64encode(root).decode(), references=references),
            "/subjects/com%2Fmoney/versions/3?deleted=true": reply("mess Money {}"),
            "/subjects/com%2Fmoney/versions/3?deleted=true&format=serialized": reply(base64.b64encode(money).decode())})
        case.backfill(registry.url, "--format", "protobuf", "--set", "unwrap.flatten.struct=true")
    rows = [{n: c.value for n, c in r.items()} for r in case.target.rows("t")]
    check(rows == [{"id": 7, "price_units": 1250}] and not case.dead(), f"{rows} {case.dead()}")
    case.close()


def test_check_asks_the_registry():
    with Registry(schemas=SCHEMAS, user="a:b") as registry:
        registry.by_path["/subjects"] = (200, "application/json", b"[]")
        refused = millrace("check", "--set", "source.file.paths=x", "--set", f"registry.url={registry.url}", check=False)
        check("failed  registry" in refused.stdout, refused.stdout)
        found = millrace("check", "--set", "source.file.paths=x", "--set", f"registry.url={registry.url}", "--set", "registry.basic.auth.user.info=a:b",
                         check=False)
        check("ok      registry" in found.stdout, found.stdout)


def test_a_start_without_the_registry_goes_on_with_the_schemas_in_files():
    case = Case().add(1, range(3))
    folder = os.path.join(case.target.dir, "schemas")
    with Registry(schemas=SCHEMAS, faults=["html"]) as registry:
        port = registry.server.server_address[1]
        case.backfill(registry.url, "--set", f"registry.cache.dir={folder}")
        asked = len(registry.requests)
        case.add(1, range(3, 5)).backfill(registry.url, "--set", f"registry.cache.dir={folder}")
        check(len(registry.requests) == asked + 1, "it asks first")
    check(len(os.listdir(folder)) == 1, f"one whole file: {os.listdir(folder)}")
    url = f"http://127.0.0.1:{port}"
    done = case.add(1, range(5, 8)).backfill(url, "--set", f"registry.cache.dir={folder}")
    check(case.ids() == list(range(8)) and "taken from files" in done.stderr, f"{case.ids()} {done.stderr}")
    # Of another URL nothing is known, of another schema neither; and a file that is not whole is no answer.
    done = case.add(1, [8]).backfill(url + "/other", "--set", f"registry.cache.dir={folder}", "--set", "target.connect_timeout=1s", check=False)
    check(done.returncode == 3 and case.ids() == list(range(8)), f"another URL: {done.returncode} {case.ids()}")
    with open(os.path.join(folder, os.listdir(folder)[0]), "r+", encoding="utf-8") as f:
        f.truncate(60)
    done = case.backfill(url, "--set", f"registry.cache.dir={folder}", "--set", "target.connect_timeout=1s", check=False)
    check(done.returncode == 3 and not case.dead(), f"a spoilt file: {done.returncode} {case.dead()}")
    with Registry(schemas=SCHEMAS, port=port) as registry:
        case.backfill(f"http://127.0.0.1:1,{url}", "--set", "registry.url.randomize=true", "--set", f"registry.cache.dir={case.path}", check=False)
        check(case.ids() == list(range(8)), "a file is no folder")
        case.backfill(f"http://127.0.0.1:1,{url}", "--set", "registry.url.randomize=true")
    check(case.ids() == list(range(9)) and not case.dead(), f"{case.ids()} {case.dead()}")
    case.close()


def test_stop_does_not_wait_for_the_registry():
    case = Case().add(1, range(3))
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and says nothing
        loader = Instance("run", *case.target.args(), *ARGS, "--set", f"registry.url=http://127.0.0.1:{silent.getsockname()[1]}", "--set",
                          f"source.file.paths={case.path}")
        wait_for("the file", lambda: "partition assigned" in loader.log)
        time.sleep(0.5)
        loader.stop(timeout=10)
    check(not case.dead() and not case.ids(), "nothing should have happened")
    case.close()


if __name__ == "__main__":
    main()
