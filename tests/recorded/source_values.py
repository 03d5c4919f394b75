"""Values of final.json, and of a target's cells, as comparable Python values, by the source's own type.

Where the stream has schemas the target's column has a type of its own. In a stream without schemas numbers, dates and bytes travel in disguise (a decimal
as base64 of its unscaled integer, a date as days): they are undone here by the source's type, so that what arrived is compared whole."""
import base64
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "py"))
from compare import DAY_US, as_float32, parse_instant, parse_json, parse_time, to_decimal  # noqa: E402

INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "year")
BINARY = ("binary", "varbinary", "blob", "tinyblob", "mediumblob", "longblob")
GEOMETRY = ("point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geomcollection", "geometrycollection", "geometry")


def kind_of(source_type):
    word = re.match(r"[a-z]+", source_type.lower())[0]
    if word in INTEGERS:
        return "int"
    if word in BINARY:
        return "bytes"
    if word in GEOMETRY:
        return "geometry"
    if word in ("decimal", "numeric"):
        return "decimal"
    if word == "duration":
        return word
    if word in ("datetime", "timestamp", "date", "time", "json", "vector", "float", "double", "bit", "uuid"):
        return word
    if word == "boolean":
        return "int"
    return "text"


def digits_of(source_type):
    """The figures in the type's parentheses."""
    found = re.search(r"\(([\d,]+)\)", source_type)
    return [int(n) for n in found[1].split(",")] if found else []


def float_json(text):
    """A document whose numbers are doubles (what MySQL's own numbers in JSON are)."""
    return json.loads(text, parse_float=float, parse_int=lambda t: int(t) if abs(int(t)) < 2**63 else float(t))


def source_value(source_type, text):
    """A cell of final.json."""
    if text is None:
        return None
    kind = kind_of(source_type)
    if kind in ("int", "bit"):
        return int(text)
    if kind == "duration": # Protobuf's, as a document
        return (json.loads(text)["seconds"] * 10**9 + json.loads(text)["nanos"]) // 1000
    if kind == "decimal":
        return to_decimal(text)
    if kind == "float":
        return as_float32(float(text))
    if kind == "double":
        return float(text)
    if kind == "bytes":
        return bytes.fromhex(text)
    if kind in ("date", "datetime", "timestamp"):
        if re.match(r"\d{4}-(00-\d\d|\d\d-00)", text):  # no date; what the stream has instead is null, or stands under `lost`
            return None
        us = parse_instant(text)
        return us if us is not None else ("no date", text)
    if kind == "time":
        return parse_time(text)
    if kind == "json":
        return float_json(text)
    if kind == "vector":
        return [as_float32(float(x)) for x in text.strip("[]").split(",")]
    if kind == "geometry":
        srid, wkb = text.split(":")
        return int(srid), wkb
    return text


def undisguise_int(kind, source_type, number):
    if kind == "date":
        return number * DAY_US
    if kind == "time":
        return number
    precision = (digits_of(source_type) or [0])[0]
    return number * 1000 if precision <= 3 else number


def bytes_of(cell, encoding):
    if isinstance(cell.value, bytes):
        return cell.value
    return bytes.fromhex(cell.value) if encoding == "hex" else base64.b64decode(cell.value, validate=True)


def target_number(cell):
    text = str(cell.value)
    return {"true": "1", "t": "1", "false": "0", "f": "0"}.get(text, text)


def target_value(source_type, cell, encoding):
    """What the target holds. `encoding`: how the stream writes bytes where it has no type for them ("hex", "base64")."""
    if cell is None or cell.value is None:
        return None
    kind = kind_of(source_type)
    text = cell.value if isinstance(cell.value, bytes) else str(cell.value)
    if kind == "int":
        return int(to_decimal(target_number(cell)))
    if kind == "bit":
        if isinstance(cell.value, bytes) or text.endswith("=") or not re.fullmatch(r"[01]+|true|false|t|f", text):
            return int.from_bytes(bytes_of(cell, "base64"), "little")
        return int(target_number(cell), 2)
    if kind == "decimal":
        number = to_decimal(text)
        if number is not None and "text" not in cell.native.split("_")[0]:
            return number
        if number is not None and encoding != "base64":
            return number
        scale = (digits_of(source_type) + [0, 0])[1]
        return to_decimal(int.from_bytes(base64.b64decode(text, validate=True), "big", signed=True)).scaleb(-scale)
    if kind == "float":
        return as_float32(float(text))
    if kind == "double":
        return float(text)
    if kind == "bytes":
        return bytes_of(cell, encoding)
    if kind in ("date", "datetime", "timestamp", "time", "duration"):
        if re.fullmatch(r"-?\d+", text):
            return undisguise_int(kind, source_type, int(text))
        return parse_time(text) if kind in ("time", "duration") else parse_instant(text)
    if kind == "json":
        return float_json(text)
    if kind == "vector":
        return [as_float32(float(x)) for x in parse_json(text)]
    if kind == "geometry":
        doc = parse_json(text)
        return int(doc.get("srid") or 0), base64.b64decode(doc["wkb"]).hex()
    return text
