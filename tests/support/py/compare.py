"""Comparing what a target holds with what a case or a recorded table says it must hold.

The notations are those of tests/cases/README.md and tests/recorded/README.md: a value is compared as what it is (number, instant, document),
never as the text in which one database happens to print it."""
import base64
import datetime
import decimal
import json
import re
import struct

decimal.getcontext().prec = 20000
decimal.getcontext().Emax = 100000
decimal.getcontext().Emin = -100000

DAY_US = 86400 * 1000000


def to_decimal(text):
    try:
        return decimal.Decimal(text)
    except (decimal.InvalidOperation, ValueError, TypeError):
        return None


def days(year, month, day):
    """Days since 1970-01-01, proleptic Gregorian, any year (astronomical)."""
    year -= month <= 2
    era = year // 400
    yoe = year - era * 400
    doy = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + yoe * 365 + yoe // 4 - yoe // 100 + doy - 719468


INSTANT = re.compile(r"^([+-]?\d{4,6})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?( BC)?$")


def parse_instant(text):
    """Microseconds since 1970 of a date, a wall clock or an instant; None if the text is none."""
    m = INSTANT.match(text)
    if not m:
        return None
    year = int(m[1])
    if m[9]:
        year = 1 - year
    us = days(year, int(m[2]), int(m[3])) * DAY_US
    us += ((int(m[4] or 0) * 60 + int(m[5] or 0)) * 60 + int(m[6] or 0)) * 1000000
    us += int(((m[7] or "") + "000000")[:6])
    if m[8] and m[8] != "Z":
        zone = m[8].replace(":", "")
        minutes = int(zone[1:3]) * 60 + int(zone[3:5] or 0)
        us -= (1 if zone[0] == "+" else -1) * minutes * 60000000
    return us


TIME = re.compile(r"^(-)?(\d{1,12}):(\d\d):(\d\d)(?:\.(\d{1,6}))?$")
INTERVAL_DAYS = re.compile(r"^(?:(-?\d+) days? ?)?(.*)$")


def parse_time(text):
    """Microseconds of a time of day or duration; None if the text is none."""
    m = INTERVAL_DAYS.match(text)
    if m is None:
        return None
    extra, rest = int(m[1] or 0) * DAY_US, m[2] or "00:00:00"
    t = TIME.match(rest)
    if not t:
        return None
    us = ((int(t[2]) * 60 + int(t[3])) * 60 + int(t[4])) * 1000000 + int(((t[5] or "") + "000000")[:6])
    return extra + (-us if t[1] else us)


def as_float32(value):
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def to_float(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def same_float(want, have, single=False):
    have = to_float(have)
    if have is None:
        return False
    if want != want:
        return have != have
    return want == have or (single and as_float32(want) == as_float32(have))


def json_equal(a, b):
    """Documents: a member that is null equals a missing one; numbers by value."""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = {k for k, v in a.items() if v is not None} | {k for k, v in b.items() if v is not None}
        return all(json_equal(a.get(k), b.get(k)) for k in keys)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(json_equal(x, y) for x, y in zip(a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float, decimal.Decimal)) and isinstance(b, (int, float, decimal.Decimal)):
        return a == b or float(a) == float(b)
    return type(a) is type(b) and a == b


def same_element(want, have):
    """One element of a native array: a JSON document of the case has instants as epoch milliseconds, bytes as base64, decimals as text."""
    if isinstance(want, (int, float)) and isinstance(have, str) and parse_instant(have) is not None:
        return parse_instant(have) == want * 1000
    if isinstance(want, str) and isinstance(have, str) and have.startswith("\\x"):
        return base64.b64decode(want) == bytes.fromhex(have[2:])
    if isinstance(want, str) and isinstance(have, (int, decimal.Decimal)) and not isinstance(have, bool):
        return to_decimal(want) == have
    return json_equal(want, have)


def same_array(want, text):
    have = parse_json(text)
    return isinstance(want, list) and len(want) == len(have) and all(same_element(w, h) for w, h in zip(want, have))


def parse_json(text):
    if isinstance(text, bytes):
        text = text.decode()
    return json.loads(text, parse_float=decimal.Decimal)


class Cell:
    """One value as the target holds it: `text` (or bytes, or None) and the column's native type."""

    def __init__(self, native, value):
        self.native = (native or "").lower()
        self.value = value

    def __repr__(self):
        return f"{self.value!r}::{self.native}"

    @property
    def is_single(self):
        return self.native in ("real", "float32")


def bytes_of(cell):
    if isinstance(cell.value, bytes):
        return cell.value
    return None


def same_special(want, cell):
    """The {"$…": …} notations."""
    if "$float" in want:
        return cell.value is not None and same_float(float(want["$float"].replace("Infinity", "inf")), str(cell.value).replace("Infinity", "inf"))
    if "$hex" in want:
        raw = bytes.fromhex(want["$hex"])
        if "uuid" in cell.native and isinstance(cell.value, str):
            return cell.value.replace("-", "").lower() == want["$hex"].lower()
        return bytes_of(cell) == raw
    if "$bits" in want:
        return str(cell.value) == want["$bits"]
    if "$wkb" in want:
        try:
            doc = parse_json(cell.value)
        except (ValueError, TypeError):
            return False
        return base64.b64decode(doc["wkb"]).hex() == want["$wkb"] and (doc.get("srid") or 0) == (want.get("srid") or 0)
    if "$epoch_ms" in want:
        return cell.value is not None and parse_instant(str(cell.value)) == want["$epoch_ms"] * 1000
    if "$json" in want:
        try:
            if cell.native in ("array",) or cell.native.endswith("[]"):
                return same_array(want["$json"], cell.value)
            return json_equal(want["$json"], parse_json(cell.value))
        except (ValueError, TypeError):
            return False
    raise ValueError(f"unknown notation {want}")


def same(want, cell):
    """Does the cell hold the wanted value?"""
    have = cell.value
    if want is None:
        return have is None
    if have is None:
        return False
    if isinstance(want, dict):
        return same_special(want, cell)
    if isinstance(want, bool):
        return str(have).lower() in (("true", "t", "1") if want else ("false", "f", "0"))
    if isinstance(want, int):
        return to_decimal(have) == want
    if isinstance(want, (float, decimal.Decimal)):
        return same_float(float(want), have, cell.is_single)
    if isinstance(have, bytes):
        return False
    have = str(have)
    if want == have:
        return True
    if "uuid" in cell.native:
        return want.lower() == have.lower()
    if "text" in cell.native and "_" not in cell.native and cell.native != "text":
        return False
    for parse in (parse_instant, parse_time):
        if parse(want) is not None and parse(want) == parse(have):
            return True
    if want in ("true", "false") and same(want == "true", cell) and "text" not in cell.native:
        return True
    if any(word in cell.native for word in ("numeric", "decimal", "int", "double", "real", "float")):
        a, b = to_decimal(want), to_decimal(have)
        return a is not None and b is not None and (a == b or (a.is_nan() and b.is_nan()))
    return False
