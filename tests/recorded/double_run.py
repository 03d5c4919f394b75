#!/usr/bin/env python3
"""The double run: double_run.py sqlite|postgresql|mariadb|mysql [FLAT…].

What Debezium's MongoDB connector wrote is loaded into one database, with Millrace's own options set as the transform's were; what the transform made of
the same source is loaded into another. Both must hold the same tables, row for row, and both those of final.json, flattened as the options say. It
is done with whole documents, with schemas, and with updates that bring only what changed; where the transform kept arrays, also with Millrace's own
way to keep them (array.encoding=json)."""
import base64
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
sys.path.insert(0, HERE)
import run_recorded  # noqa: E402
from compare import json_equal, parse_instant, parse_json, same, to_decimal  # noqa: E402
from documents import flat_leaf, flatten, leaf, rendered, wrapper  # noqa: E402
from harness import TARGETS, Failure, millrace  # noqa: E402

ENVELOPES = ["debezium-mongodb-envelope", "debezium-mongodb-envelope-schema", "debezium-mongodb-partial"]
ENCODINGS = {"array": ["array", "json"], "document": ["document"]}
# Updates that bring only what changed are loaded a few at a time, so that most of what they change has to be read from the target.
BATCHES = {"debezium-mongodb-partial": {"batch.rows": "3"}}
DEFAULTS = {"array.encoding": "array", "flatten.struct": "false"}  # the transform's, where they are not Millrace's
WRAP = 2**32 * 1000  # the transform reads the seconds of a timestamp as signed
# What an operator would set for these collections, for both databases and, since JSON does not tell it, for the transform's output.
SETTINGS = {f"types.policies.{path}": "json" for path in (
    '"shop.types.ref.$id"', '"shop.types.ref_$id"', '"shop.types.arr*"', '"shop.types.doc.arr*"', '"shop.types.doc_arr*"', '"shop.mixed.a*"')}
# Values that only PostgreSQL can hold are left out elsewhere, not refused with their rows; each NULL is looked at (cannot_hold).
LEFT_OUT = {f"types.policies.{path}": "null" for path in (
    "shop.types.dbl", "shop.types.dec", "shop.types.date", "shop.types.doc.x", "shop.types.doc_x", "shop.types.doc.a.b.x", "shop.types.doc_a_b_x")}
# Its document had vanished when the connector looked it up, and the transform makes a row of what the update says, without a mark that there was
# more (NOTES.md): columns are NULL there that were not touched.
PARTIAL_ROWS = {"shop.customers": "697c65085a17c0ffee000008"}
FLAT_SETTINGS = {"format": "flat", "types.columns.shop.types.dbl": "double"}


def settings_of(opts, target, more=()):
    settings = {**SETTINGS, **dict(more), **{f"unwrap.{k}": v for k, v in opts.items()}}
    return settings if target.name == "postgresql" else {**settings, **LEFT_OUT}


def options(flat):
    return {**DEFAULTS, **run_recorded.read(flat, "meta.json")["producer"]["transform_settings"]}


def load(stream, collections, settings, target):
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "events.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in run_recorded.events(stream).split("\n")
                         if line and json.loads(line)["topic"].split(".", 1)[-1] in collections)
        args = [a for k, v in settings.items() for a in ("--set", f"{k}={v}")]
        millrace("backfill", path, *target.args(), *args)


# ---- final.json as columns ----

def flat_schema_leaf(value):
    """A value as the transform's output has it where a schema tells its type: all but decimals, and timestamps as it has read them."""
    kind = wrapper(value)
    if kind == "$timestamp":
        return {"$epoch_ms": flat_leaf(value)}
    return flat_leaf(value) if kind == "$numberDecimal" else leaf(value)


def leaf_of(flat):
    has_schemas = run_recorded.read(flat, "meta.json")["converters"]["value"].endswith("schemas.enable=true")
    return flat_schema_leaf if has_schemas else flat_leaf


def arrays_as_documents(value):
    """array.encoding=document."""
    if isinstance(value, list):
        return {f"_{i}": arrays_as_documents(v) for i, v in enumerate(value)}
    if isinstance(value, dict) and wrapper(value) is None:
        return {k: arrays_as_documents(v) for k, v in value.items()}
    return value


def nested(document, make):
    """The columns of a document that is not flattened."""
    return {k: {"$json": rendered(v)} if isinstance(v, dict) and wrapper(v) is None else make(v) for k, v in document.items()
            if wrapper(v) != "$undefined"}


def columns(document, opts, make):
    if opts["array.encoding"] == "document":
        document = arrays_as_documents(document)
    return flatten(document, make) if opts["flatten.struct"] == "true" else nested(document, make)


def is_deleted(row):
    return "__deleted" in row and same(True, row["__deleted"])


def cannot_hold(target, text):
    """NaN in SQLite; no special numbers, no years but 1 to 9999 and no number beyond DECIMAL(65,30) in MySQL and MariaDB. An instant may be a number of
    milliseconds here, which holds for no number that is too large."""
    number = to_decimal(text)
    if target == "postgresql" or number is None or number.is_nan():
        return target != "postgresql" and text == "NaN"
    if target == "sqlite":
        return False
    too_long = number.is_finite() and (abs(number) >= 10**35 or number.normalize().as_tuple().exponent < -30)
    return not number.is_finite() or too_long or not -62135596800000 <= number < 253402300800000


def text_of(want):
    """A value in the notation of compare.same, as text; an instant as milliseconds."""
    if isinstance(want, dict):
        return str(want.get("$float", want.get("$epoch_ms", "")))
    return str(want)


def held(target, want, row):
    """What the target can hold of it, if that is all that is missing."""
    return {k: v for k, v in want.items() if k in row and row[k].value is not None or not cannot_hold(target, text_of(v))}


def compare_final(target, name, documents, opts, make, rows):
    left = [r for r in rows if not is_deleted(r)]
    problems = []
    for document in documents:
        want = columns(document, opts, make)
        match = next((r for r in left if run_recorded.document_differs(held(target, want, r), r) is None), None)
        if match is None:
            problems.append(f"{name}: no row for {json.dumps(want)[:300]}")
        else:
            left.remove(match)
    return problems + [f"{name}: a row too many { {k: c.value for k, c in r.items() if c.value is not None} }"[:400] for r in left]


# ---- two tables ----

def milliseconds(cell):
    us = parse_instant(str(cell.value))
    return None if us is None else us // 1000


def same_cells(a, b):
    """`a` is typed, as BSON is; `b` is what JSON has left of it."""
    if a is None or a.value is None or b is None or b.value is None:
        return (a is None or a.value is None) and (b is None or b.value is None)
    if isinstance(a.value, bytes) or isinstance(b.value, bytes):
        return spelled(a) == spelled(b)
    if "bytea[]" in a.native:
        return [base64.b64encode(bytes.fromhex(e[2:])).decode() for e in json.loads(a.value)] == json.loads(b.value)
    if "json" in a.native and "json" not in b.native and a.value.startswith('"'):  # other documents have other types there; a schema's columns become text instead
        return json.loads(a.value) == spelled(b)
    x, y = str(a.value), str(b.value)
    if x == y:
        return True
    ms = milliseconds(a)
    if ms is not None and to_decimal(y) is not None:
        return ms == to_decimal(y) or ms == to_decimal(y) + WRAP
    if ms is not None and milliseconds(b) is not None:
        return ms == milliseconds(b) or ms == milliseconds(b) + WRAP
    if to_decimal(x) is not None and to_decimal(y) is not None:
        return to_decimal(x) == to_decimal(y) or float(x) == float(y) or (to_decimal(x).is_nan() and to_decimal(y).is_nan())
    try:
        return json_equal(parse_json(x), parse_json(y))
    except (ValueError, TypeError):
        return False


def spelled(cell):
    return base64.b64encode(cell.value).decode() if isinstance(cell.value, bytes) else str(cell.value)


def key_of(row):
    """`_id` and what it has been flattened to, as text."""
    found = {}
    for name, cell in row.items():
        if name.startswith("_id") and cell.value is not None:
            text = spelled(cell)
            found[name] = str(to_decimal(text).normalize()) if to_decimal(text) is not None else text
            if "json" in cell.native and text.startswith("{"):
                found[name] = json.dumps(json.loads(text), sort_keys=True)
    return json.dumps(found, sort_keys=True)


def rows_differ(target, a, b, ignored):
    for name in sorted({*a, *b} - ignored):
        is_left_out = name in b and (name not in a or a[name].value is None) and cannot_hold(target, str(b[name].value))
        if not is_left_out and not same_cells(a.get(name), b.get(name)):
            return f"{name}: {a.get(name)!r} from the envelopes, {b.get(name)!r} from the transform"
    return None


def compare_tables(target, name, ours, theirs):
    ours, theirs = {key_of(r): r for r in ours}, {key_of(r): r for r in theirs}
    problems = [f"{name}: only from the envelopes: {k}" for k in ours if k not in theirs]
    problems += [f"{name}: only from the transform: {k}" for k in theirs if k not in ours]
    for key, row in ours.items():
        other = theirs.get(key)
        if other is None:
            continue
        ignored = set()
        if "__source_ts_ms" in row and same("r", row["__op"]):
            ignored = {"__source_ts_ms"}  # of a snapshot it is the connector's clock, another in each run
        if key == json.dumps({"_id": PARTIAL_ROWS.get(name)}):
            ignored |= {c for c in row if c not in other or other[c].value is None}
        why = rows_differ(target, row, other, ignored)
        if why:
            problems.append(f"{name} {key}: {why}")
    return problems


def tables_of(target, collections):
    return {c: target.rows(c.split(".")[-1]) for c in collections}


def unexpected(target):
    return [f"dead letter {d}" for d in target.control("dead_letter", "id, topic, record_offset, code, message")]


def run_pair(envelope, opts, final, theirs, target):
    load(envelope, final, settings_of(opts, target, BATCHES.get(envelope, {})), target)
    problems = unexpected(target)
    ours = tables_of(target, final)
    for name, table in final.items():
        problems += compare_final(target.name, f"{name} from the envelopes", table["documents"], opts, leaf, ours[name])
        problems += compare_tables(target.name, name, ours[name], theirs[name])
    return problems


def in_target(target_class, work):
    """The problems that `work` finds with a target of its own."""
    target = target_class()
    try:
        return work(target)
    except Failure as why:
        return [str(why).strip().splitlines()[-1]]
    finally:
        target.close()


def run_flat(flat, encoding, target_class):
    """[(pair, its problems)]"""
    opts, final = {**options(flat), "array.encoding": encoding}, run_recorded.read(flat, "final.json")["tables"]
    theirs = {}

    def load_flat(target):
        load(flat, final, settings_of(opts, target, FLAT_SETTINGS), target)
        theirs.update(tables_of(target, final))
        problems = unexpected(target)
        for name, table in final.items():
            problems += compare_final(target.name, f"{name} from the transform", table["documents"], opts, leaf_of(flat), theirs[name])
        return problems

    broken = in_target(target_class, load_flat)
    if broken:
        return [((flat, encoding, envelope), broken) for envelope in ENVELOPES]
    return [((flat, encoding, envelope), in_target(target_class, lambda target, e=envelope: run_pair(e, opts, final, theirs, target)))
            for envelope in ENVELOPES]


FLATS = ["debezium-mongodb-flat-default", "debezium-mongodb-flat-rewrite", "debezium-mongodb-flat-document"]


def main():
    target_class, only = TARGETS[sys.argv[1]], sys.argv[2:]
    equal, failed = 0, 0
    for flat in only or FLATS:
        for encoding in ENCODINGS[options(flat)["array.encoding"]]:
            for pair, problems in run_flat(flat, encoding, target_class):
                title = " and ".join(p.removeprefix("debezium-mongodb-") for p in pair)
                failed += bool(problems)
                equal += not problems
                for line in problems[:20]:
                    print(f"{title}: {line}"[:600])
                if len(problems) > 20:
                    print(f"{title}: and {len(problems) - 20} more")
    print(f"{sys.argv[1]}: {equal} double runs equal, {failed} differ")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
