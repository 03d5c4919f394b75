"""A schema registry of our own for tests: answers from a recorded registry.json, from a dictionary of schemas, or from a script of requests.

Faults (a list of words, each spoiling one answer, in order): "500", "503", "404" (40403), "cut" (the connection ends inside the body), "slow"
(the body comes in two parts), "html" (a page of another server), "redirect" (to the same answer, by another path), "refuse" (the connection is closed)."""
import base64
import contextlib
import http.server
import json
import socket
import threading
import time
import urllib.parse


# How a registry may give Protobuf schemas: as text; as text, and serialized on request; in a text that nobody can read, and serialized; or as the
# descriptor in base64 alone.
FORMS = ["text", "both", "garbled", "base64"]


def schema_body(entry, form="text"):
    schema_type = entry.get("schemaType", "AVRO")
    schema = entry["schema"] if schema_type == "PROTOBUF" or entry.get("is_text") else json.dumps(entry["schema"])
    if schema_type == "PROTOBUF" and form == "garbled":
        schema = schema.replace("message", "massage")
    if schema_type == "PROTOBUF" and form == "base64":
        schema = entry["descriptor_b64"]
    body = {"schema": schema}
    if schema_type != "AVRO":
        body["schemaType"] = schema_type
    if entry.get("guid"):
        body["guid"] = entry["guid"]
    return body


class Registry:
    """recorded: the content of a registry.json; schemas: id (text) → schema as in the case files; script: expected requests."""

    def __init__(self, recorded=None, schemas=None, script=None, faults=(), port=0, user=None, tls=None, tokens=None, form="text"):
        self.by_path = {}
        self.script = list(script) if script is not None else None
        self.requests, self.headers, self.problems, self.faults = [], [], [], list(faults)
        self.elsewhere = None  # a URL that every request is sent on to
        self.connections = []
        self.tokens, self.issued = tokens, 0  # client's `id:secret`: tokens are issued at /token and each is good for two requests
        self.user, self.scheme = user, "https" if tls else "http"
        for r in (recorded or {}).get("responses", []):
            if r["method"] == "GET" and "accept" not in r:
                self.by_path.setdefault(r["path"], (r["status"], r["content_type"], r["body"].encode()))
        for schema_id, entry in (schemas or {}).items():
            body = json.dumps(schema_body(entry, form)).encode()
            self.by_path[f"/schemas/ids/{schema_id}"] = (200, "application/json", body)
            if "descriptor_b64" in entry and form in ("both", "garbled"):
                serialized = json.dumps({"schema": entry["descriptor_b64"], "schemaType": "PROTOBUF"}).encode()
                self.by_path[f"/schemas/ids/{schema_id}?format=serialized"] = (200, "application/json", serialized)
            if entry.get("guid"):
                self.by_path[f"/schemas/guids/{entry['guid']}"] = (200, "application/json", body)
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                registry.connections.append(self.request)
                super().setup()

            def do_GET(self):
                registry.handle(self)

            def do_POST(self):
                registry.issue(self)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:  # those that are kept open between requests
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()

    # ---- answers ----

    def find(self, path):
        """The recorded answer; the options of a path (?deleted=true) do not count where only the bare path was recorded."""
        bare = path.split("?")[0]
        if path in self.by_path:
            return self.by_path[path]
        if bare in self.by_path:
            return self.by_path[bare]
        if bare.startswith("/schemas/ids/"):
            return 404, "application/json", json.dumps({"error_code": 40403, "message": "Schema not found"}).encode()
        return 404, "application/json", b'"Not Found"'

    def issue(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        wanted = "Basic " + base64.b64encode((self.tokens or "").encode()).decode()
        if handler.headers.get("Authorization") != wanted or b"grant_type=client_credentials" not in body:
            return self.send(handler, 401, "application/json", b"{}")
        self.issued += 1
        self.left = 2
        self.send(handler, 200, "application/json", json.dumps({"access_token": f"token{self.issued}", "expires_in": 3600}).encode())

    def takes_token(self, handler):
        self.left -= 1
        return handler.headers.get("Authorization") == f"Bearer token{self.issued}" and self.left >= 0

    def handle(self, handler):
        self.requests.append(handler.path)
        self.headers.append(dict(handler.headers))
        if self.script is not None:
            return self.play(handler)
        if self.tokens and not (self.issued and self.takes_token(handler)):
            return self.send(handler, 401, "application/json", b'{"error_code": 401, "message": "Unauthorized"}')
        if self.user and handler.headers.get("Authorization") != "Basic " + base64.b64encode(self.user.encode()).decode():
            return self.send(handler, 401, "application/json", b'{"error_code": 401, "message": "Unauthorized"}')
        fault = self.faults.pop(0) if self.faults else None
        path = handler.path.replace("/moved", "", 1) if handler.path.startswith("/moved") else handler.path
        status, content_type, body = self.find(path)
        if fault in ("500", "503"):
            status, content_type, body = int(fault), "text/plain", b"Internal Server Error"
        elif fault == "404":
            status, content_type, body = 404, "application/json", b'{"error_code": 40403, "message": "Schema not found"}'
        elif fault == "html":
            status, content_type, body = 200, "text/html", b"<html>please log in</html>"
        elif fault == "type":
            content_type = "text/plain"
        elif fault == "refuse":
            handler.close_connection = True
            return handler.connection.close()
        elif fault == "redirect" or self.elsewhere:
            handler.send_response(302)
            handler.send_header("Location", (self.elsewhere or "") + "/moved" + path)
            handler.send_header("Content-Length", "0")
            return handler.end_headers()
        self.send(handler, status, content_type, body, fault)

    def send(self, handler, status, content_type, body, fault=None):
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if fault == "cut":
            handler.wfile.write(body[: len(body) // 2])
            handler.close_connection = True
            return
        if fault == "slow":
            handler.wfile.write(body[: len(body) // 2])
            handler.wfile.flush()
            time.sleep(0.3)
            body = body[len(body) // 2:]
        handler.wfile.write(body)

    # ---- scripts ----

    def play(self, handler):
        """The next step of the script; one with `repeat` may come again and again."""
        method, path = "GET", urllib.parse.urlsplit(handler.path).path
        step = self.script[0] if self.script else None
        if step is not None and step.get("repeat"):
            if step["request"] != f"{method} {path}" and len(self.script) > 1:
                self.script.pop(0)
                step = self.script[0]
        elif step is not None:
            self.script.pop(0)
        if step is None or step["request"] != f"{method} {path}":
            self.problems.append(f"request {method} {path}, the script wants {step and step['request']}")
            return self.send(handler, 400, "text/plain", b"")
        for name, value in step.get("request_headers", {}).items():
            if handler.headers.get(name) != value:
                self.problems.append(f"{path}: header {name} is {handler.headers.get(name)!r}, wanted {value!r}")
        reply = step["reply"]
        if reply.get("connect_error"):
            handler.close_connection = True
            return handler.connection.close()
        body = reply["body_text"].encode() if "body_text" in reply else json.dumps(reply["body"]).encode() if reply.get("body") != "" else b""
        self.send(handler, reply["status"], "application/json", body)

    def finish(self):
        """What the script still wants."""
        left = [s for s in self.script or [] if not s.get("repeat")]
        return self.problems + [f"request missing: {s['request']}" for s in left]

