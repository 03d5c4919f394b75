#!/usr/bin/env python3
"""Hold every #include of src/ and include/ to the table of layers (ARCHITECTURE.md).

A room is a folder of src/ (base, model, …, sink/postgres). Public headers of other layers may be included only as the
table says, private headers only inside the room, and each library's header only where the library lives.

Usage: includes.py [ROOT]; exit code 1 and one line a finding if something is wrong.
"""
import os
import re
import sys

# Layer → what it may include of <millrace/…>: folders, and contract headers by name.
LAYERS = {
    "base": {"base"},
    "model": {"base", "model"},
    "config": {"base", "model", "config"},
    "schema": {"base", "model", "config", "schema", "dialect.h"},
    "source": {"base", "model", "config", "source.h", "producer.h"},
    "decode": {"base", "model", "config", "decoder.h"},
    "sink": {"base", "model", "config", "schema", "sink.h", "dialect.h", "sink_queries.def"},
    "serve": {"base", "model", "config", "engine.h"},
    "engine": {"base", "model", "config", "schema", "source.h", "producer.h", "decoder.h", "sink.h", "dialect.h", "engine.h"},
    "cli": None,  # everything: the only place that wires parts together
}

# The contract headers themselves.
CONTRACTS = {
    "base": LAYERS["base"],
    "model": LAYERS["model"],
    "config": LAYERS["config"],
    "schema": LAYERS["schema"],
    "source.h": {"base", "model", "config"},
    "producer.h": {"base", "config"},
    "decoder.h": {"base", "model", "config"},
    "dialect.h": {"base", "model", "config", "schema"},
    "sink.h": {"base", "model", "config", "schema", "dialect.h", "sink_queries.def"},
    "engine.h": LAYERS["engine"],
}

# A library's header → the paths under src/ that may include it.
LIBRARIES = {
    "librdkafka/rdkafka.h": ["source/"],
    "libpq-fe.h": ["sink/postgres/"],
    "mysql.h": ["sink/mysql/"],
    "errmsg.h": ["sink/mysql/"],
    "sqlite3.h": ["sink/sqlite/"],
    "yaml.h": ["config/yaml.c"],
    "zlib.h": ["source/"],
    "zstd.h": ["source/"],
    "zstd_errors.h": ["source/"],
    "jansson.h": ["source/", "engine/", "cli/"],
    "curl/curl.h": ["decode/registry_parts.h", "decode/registry_oauth.c"],
    "iconv.h": ["decode/charset.c"],
    "microhttpd.h": ["serve/"],
}

LIBC = set(
    "assert ctype dirent endian errno fcntl fenv float fnmatch getopt glob inttypes limits locale malloc math poll pthread "
    "regex sched semaphore setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string "
    "strings termios threads time unistd wchar wctype xlocale".split()
)

# The compiler's own: vector instructions, the sanitizers' interface.
COMPILER = {"emmintrin.h", "sanitizer/asan_interface.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def sources(root):
    for top in ("src", "include"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def layer_of(path):
    """The layer of a file under src/, or the contract of a header under include/."""
    parts = path.split(os.sep)
    return parts[1] if parts[0] == "src" else parts[2]


def room_of(path):
    """The folder under src/ whose private headers a file may use: sink/postgres is a room of its own within sink."""
    parts = path.split(os.sep)[1:-1]
    return "/".join(parts[:2] if parts[0] == "sink" else parts[:1])


def check_public(path, target):
    """A <millrace/…> header from `path`."""
    layer = layer_of(path)
    table = LAYERS if path.startswith("src") else CONTRACTS
    if layer not in table:
        return f"is in no layer of the table ({layer})"
    allowed = table[layer]
    wanted = target.split("/")[1]
    if allowed is not None and wanted not in allowed:
        return f"{layer} may not include <{target}>"
    return None


def check_private(root, path, target):
    """A "…" header: inside the own room, or in a room around it; the command line may look everywhere."""
    if path.startswith("include"):
        return f'a public header may not include "{target}"'
    full = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if not os.path.exists(os.path.join(root, full)):
        return f'"{target}" does not exist'
    if layer_of(path) == "cli":
        return None
    mine, theirs = room_of(path), room_of(full)
    if mine != theirs and not mine.startswith(theirs + "/"):
        return f'"{target}" belongs to {theirs}'
    return None


def check_system(path, target):
    if target in LIBRARIES:
        inside = os.path.relpath(path, "src")
        if any(inside == room or (room.endswith("/") and inside.startswith(room)) for room in LIBRARIES[target]):
            return None
        return f"<{target}> may be included in src/{', src/'.join(LIBRARIES[target])} only"
    if target in COMPILER or target.startswith(("sys/", "netinet/")) or target.removesuffix(".h") in LIBC:
        return None
    return f"<{target}> is in no table; a new library gets its room in tests/lint/includes.py"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    findings = 0
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                kind, target = match.groups()
                if kind == '"':
                    problem = check_private(root, path, target)
                elif target.startswith("millrace/"):
                    problem = check_public(path, target)
                else:
                    problem = check_system(path, target)
                if problem:
                    print(f"{path}:{number}: {problem}")
                    findings += 1
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
