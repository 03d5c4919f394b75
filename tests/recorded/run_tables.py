#!/usr/bin/env python3
"""Recorded MongoDB streams under array.encoding=table: run_tables.py sqlite|postgresql|mariadb [STREAM…].

Every collection and every array in it must be a table that holds exactly the documents of final.json exploded: from whole documents (envelope) as from
updates that bring only what has changed (partial)."""
import json
import os
import sys
import tempfile

import run_recorded
from documents import flatten, leaf, wrapper
from harness import TARGETS, millrace
from run_recorded import HERE, document_differs, events, read

SETTINGS = {
    "unwrap.array.encoding": "table",
    "tables.anykey.primary_key": "record_key_text",  # _id of every type there is
    "tables.anykey.policy": "json",
    "tables.odd.policy": "json",
    "tables.mixed.policy": "json",
    "tables.types.policy": "json",  # one array of every type there is
}
STREAMS = ["debezium-mongodb-envelope", "debezium-mongodb-partial"]


def is_document(value):
    return isinstance(value, dict) and wrapper(value) is None


def as_document(value):
    """A DBPointer is a document of two members."""
    return value["$dbPointer"] if wrapper(value) == "$dbPointer" else value


def take_arrays(document, prefix=""):
    """The document without its arrays, and the arrays by the name of their column. The _id is not taken apart."""
    rest, arrays = {}, {}
    for name, value in document.items():
        if prefix + name == "_id":
            rest[name] = value
        elif isinstance(value, list):
            arrays[prefix + name] = value
        elif is_document(value):
            inner, below = take_arrays(value, prefix + name + "_")
            rest[name] = inner
            arrays.update(below)
        else:
            rest[name] = value
    return rest, arrays


def explode(tables, table, key, pos, elements):
    for at, element in enumerate(elements):
        here, row, arrays, element = pos + (at,), {}, {}, as_document(element)
        if is_document(element):
            rest, arrays = take_arrays(element)
            row = flatten(rest, leaf)
        elif isinstance(element, list):
            arrays = {"value": element}
        elif element is not None and wrapper(element) != "$undefined":
            row = flatten({"value": element}, leaf)
        row.update(key)
        row.update({"_pos" if i == 0 else f"_pos{i + 1}": p for i, p in enumerate(here)})
        tables.setdefault(table, []).append(row)
        for name, inner in arrays.items():
            explode(tables, f"{table}__{name}", key, here, inner)


def exploded(name, documents):
    tables = {name: []}
    for document in documents:
        rest, arrays = take_arrays(document)
        row = flatten(rest, leaf)
        tables[name].append(row)
        key = {c: v for c, v in row.items() if c == "_id" or c.startswith("_id_")}
        for array, elements in arrays.items():
            explode(tables, f"{name}__{array}", key, (), elements)
    return tables


def compare(table, want, have):
    have, problems = list(have), []
    for row in want:
        match = next((h for h in have if document_differs(row, h) is None), None)
        if match is None:
            near = [h for h in have if all(str(h[k].value) == str(row[k]) for k in row if k.startswith("_pos") and k in h)]
            problems.append(f"{table}: no row for {row}: {[document_differs(row, h) for h in near][:2]}")
        else:
            have.remove(match)
    return problems + [f"{table}: a row too many: { {k: v.value for k, v in r.items() if v.value is not None} }" for r in have]


def limits_of(target):
    """Documents that the target cannot hold (NaN, dates), by their _id: in either stream they are the same."""
    with open(os.path.join(HERE, "cannot_hold.json"), encoding="utf-8") as f:
        return run_recorded.limits_of(json.load(f), target, STREAMS[0])["rows"]


def run(stream, target):
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "events.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(events(stream))
        millrace("backfill", path, *target.args(), *[a for k, v in SETTINGS.items() for a in ("--set", f"{k}={v}")])
    skip, problems = limits_of(target), []
    for letter in target.control("dead_letter", "id, topic, record_key, code, message"):
        name = letter[1].split(".", 1)[1]
        if name not in skip:
            problems.append(f"dead letter: {letter}")
        elif stream == "debezium-mongodb-partial":  # what comes after a refused event changes a document that is not there
            skip[name].append(json.loads(bytes(letter[2]) if not isinstance(letter[2], str) else letter[2])["id"])
    found = target.tables()
    for full_name, table in read(stream, "final.json")["tables"].items():
        name, skipped = full_name.split(".")[-1], skip.get(full_name, [])
        want = exploded(name, table["documents"])
        for each in sorted(set(want) | {t for t in found if t.startswith(name + "__")}):
            have = target.rows(each) if each in found else []
            problems += compare(each, [r for r in want.get(each, []) if repr(r.get("_id")) not in skipped],
                                [r for r in have if "_id" not in r or not {str(r["_id"].value), repr(r["_id"].value)} & set(skipped)])
    return problems


def main():
    failed, only = 0, sys.argv[2:]
    for stream in only or STREAMS:
        target = TARGETS[sys.argv[1]]()
        try:
            problems = run(stream, target)
        finally:
            if not os.environ.get("MILLRACE_KEEP"):
                target.close()
        failed += bool(problems)
        for line in problems[:40]:
            print(f"{stream}: {line}"[:700])
        if len(problems) > 40:
            print(f"{stream}: and {len(problems) - 40} more")
    print(f"{sys.argv[1]}: {len(only or STREAMS) - failed} streams equal, {failed} differ")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
