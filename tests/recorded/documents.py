"""MongoDB's documents (canonical Extended JSON) as the columns that Millrace makes of them: nested documents become a_b, arrays one JSON column.

Two renderings: `envelope` (Extended JSON arrived, every BSON type is known) and `flat` (the transform has rendered it: decimals, ObjectIds and binaries are
text, dates are milliseconds)."""
import base64

MS = "ms"


def wrapper(value):
    """The Extended JSON keyword of a value, or None for an ordinary document."""
    if not isinstance(value, dict):
        return None
    first = next(iter(value), "")
    names = ("$numberInt", "$numberLong", "$numberDouble", "$numberDecimal", "$oid", "$binary", "$date", "$timestamp", "$regularExpression", "$code",
             "$symbol", "$minKey", "$maxKey", "$undefined", "$dbPointer")
    return first if first in names else None


def number(text):
    return float(text.replace("Infinity", "inf"))


def date_ms(value):
    inner = value["$date"]
    return int(inner["$numberLong"]) if isinstance(inner, dict) else None


def rendered(value):
    """A value inside a JSON column, as Kafka Connect renders it."""
    kind = wrapper(value)
    if isinstance(value, list):
        return [rendered(v) for v in value if wrapper(v) != "$undefined"]
    if kind is None:
        if isinstance(value, dict):
            return {k: rendered(v) for k, v in value.items() if wrapper(v) != "$undefined"}
        return value
    if kind in ("$numberInt", "$numberLong"):
        return int(value[kind])
    if kind == "$numberDouble":
        text = value[kind]
        return text if text in ("NaN", "Infinity", "-Infinity") else number(text)
    if kind == "$date":
        return date_ms(value)
    if kind == "$timestamp":
        return value[kind]["t"] * 1000
    if kind == "$binary":
        return value[kind]["base64"]
    if kind == "$regularExpression":
        return {"regex": value[kind]["pattern"], "options": value[kind]["options"]}
    if kind == "$code":
        return {"code": value["$code"], "scope": rendered(value["$scope"])} if "$scope" in value else value["$code"]
    if kind in ("$minKey", "$maxKey"):
        return value
    if kind == "$dbPointer":
        return {"$ref": value[kind]["$ref"], "$id": rendered(value[kind]["$id"])}
    return value[kind]  # $oid, $symbol, $numberDecimal: text


def leaf(value):
    """A scalar at the level of columns, in the notation of compare.same."""
    kind = wrapper(value)
    if isinstance(value, list):
        return {"$json": rendered(value)}
    if kind is None or kind in ("$oid", "$symbol", "$numberDecimal"):
        return value if kind is None else value[kind]
    if kind in ("$numberInt", "$numberLong"):
        return int(value[kind])
    if kind == "$numberDouble":
        text = value[kind]
        return {"$float": text} if text in ("NaN", "Infinity", "-Infinity") else number(text)
    if kind == "$date":
        return {"$epoch_ms": date_ms(value)}
    if kind == "$timestamp":
        return {"$epoch_ms": value[kind]["t"] * 1000}
    if kind == "$binary":
        return {"$hex": base64.b64decode(value[kind]["base64"]).hex()}
    if kind == "$code" and "$scope" not in value:
        return value["$code"]
    return {"$json": rendered(value)}


def flat_leaf(value):
    """The same as the transform's output shows it."""
    kind = wrapper(value)
    if kind == "$date":
        return date_ms(value)
    if kind == "$timestamp":
        seconds = value[kind]["t"]
        return (seconds - 2**32 if seconds >= 2**31 else seconds) * 1000
    if kind == "$binary":
        return value[kind]["base64"]
    if kind == "$numberDouble" and value[kind] in ("NaN", "Infinity", "-Infinity"):
        return value[kind]
    return leaf(value)


def flatten(document, make=leaf, prefix=""):
    columns = {}
    for name, value in document.items():
        kind = wrapper(value)
        path = prefix + name
        if kind == "$undefined":
            continue
        if kind == "$regularExpression":
            columns[path + "_regex"], columns[path + "_options"] = value[kind]["pattern"], value[kind]["options"]
        elif kind == "$dbPointer":
            columns[path + "_$ref"], columns[path + "_$id"] = value[kind]["$ref"], rendered(value[kind]["$id"])
        elif path == "_id" and value == {}:
            columns[path] = {"$json": {}}  # a key must leave a column
        elif kind is None and isinstance(value, dict):
            columns.update(flatten(value, make, path + "_"))
        else:
            columns[path] = make(value)
    return columns
