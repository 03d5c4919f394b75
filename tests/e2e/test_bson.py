#!/usr/bin/env python3
"""Every BSON type at its edges, through the whole program: test_bson.py sqlite|postgresql|mariadb|mysql. The rule: the value arrives exactly, or the
document is a dead letter; never another value, never none."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from test_arrays import TARGETS, Pipe, equal  # noqa: E402
from compare import same  # noqa: E402

PG, LITE, MY = {"postgresql"}, {"sqlite"}, {"mariadb", "mysql"}
ALL = PG | LITE | MY


def ms(n):
    return {"$epoch_ms": n}


# Extended JSON, the value, and where it can be held; elsewhere the document is a dead letter. None as the value: only that it is exact is asked.
VALUES = [
    ('{"$date": -62135596800000}', ms(-62135596800000), ALL),  # 0001-01-01
    ('{"$date": {"$numberLong": "-62135596800001"}}', ms(-62135596800001), PG | LITE),  # the millisecond before
    ('{"$date": {"$numberLong": "253402300799999"}}', ms(253402300799999), ALL),  # 9999-12-31T23:59:59.999
    ('{"$date": {"$numberLong": "253402300800000"}}', ms(253402300800000), PG | LITE),
    ('{"$date": {"$numberLong": "9223372036854775"}}', ms(9223372036854775), PG | LITE),  # the last of 64-bit microseconds
    ('{"$date": {"$numberLong": "9223372036854775807"}}', None, set()),
    ('{"$date": {"$numberLong": "-9223372036854775808"}}', None, set()),
    ('{"$date": "-0001-01-01T00:00:00Z"}', ms(-62198755200000), PG | LITE),
    ('{"$date": "2020-01-27T10:47:12.3119Z"}', ms(1580122032311), ALL),
    ('{"$timestamp": {"t": 4294967295, "i": 1}}', ms(4294967295000), ALL),
    ('{"$numberDecimal": "9.999999999999999999999999999999999E+6144"}', "9999999999999999999999999999999999" + "0" * 6111, PG | LITE),
    ('{"$numberDecimal": "1E-6176"}', "0." + "0" * 6175 + "1", PG | LITE),
    ('{"$numberDecimal": "-0"}', "0", ALL),
    ('{"$numberDecimal": "12345678901234567890123456789012345.1"}', "12345678901234567890123456789012345.1", ALL),  # more digits than a Decimal128 has
    ('{"$numberDecimal": "0.1000000000000000000000000000000001"}', "0.1000000000000000000000000000000001", PG | LITE),
    ('{"$numberDecimal": "12345678901234567890123456789.12345"}', "12345678901234567890123456789.12345", ALL),
    ('{"$numberDecimal": "NaN"}', "NaN", PG | LITE),
    ('{"$numberDecimal": "-Infinity"}', "-Infinity", PG | LITE),
    ("NaN", {"$float": "NaN"}, PG),
    ('{"$numberDouble": "-Infinity"}', {"$float": "-Infinity"}, PG | LITE),
    ('{"$numberDouble": "4.9E-324"}', 5e-324, ALL),
    ("1.7976931348623157E308", 1.7976931348623157e308, ALL),
    ('{"$numberLong": "-9223372036854775808"}', -9223372036854775808, ALL),
    ('{"$numberLong": "9007199254740993"}', 9007199254740993, ALL),
    ('{"$binary": "", "$type": "00"}', {"$hex": ""}, ALL),
    ('{"$binary": {"base64": "AP8", "subType": "FF"}}', {"$hex": "00ff"}, ALL),
    ('{"$uuid": "00112233-4455-6677-8899-aabbccddeeff"}', {"$hex": "00112233445566778899aabbccddeeff"}, ALL),
    ('{"$oid": "596E275826F08B2730779E1F"}', "596e275826f08b2730779e1f", ALL),
    ('{"$symbol": "s"}', "s", ALL),
    ('{"$code": "f()"}', "f()", ALL),
    ('{"$code": "f()", "$scope": {"d": {"$date": 5}}}', {"$json": {"code": "f()", "scope": {"d": 5}}}, ALL),
    ('{"$minKey": 1}', {"$json": {"$minKey": 1}}, ALL),
    ('{"$maxKey": 1}', {"$json": {"$maxKey": 1}}, ALL),
    ('{"$dbPointer": {"$ref": "c", "$id": {"$oid": "596e275826f08b2730779e1f"}}}', {"$json": {"$ref": "c", "$id": "596e275826f08b2730779e1f"}}, ALL),
    ('{"$regularExpression": {"pattern": "^a", "options": "im"}}', {"$json": {"regex": "^a", "options": "im"}}, ALL),
    ('"a\\u0000b"', "a\0b", LITE | MY),
    ('"\\ud800"', None, set()),
    ('{"$date": "yesterday"}', None, set()),
    ("123456789012345678901234567890", 123456789012345678901234567890, ALL),
    ("true", True, ALL),
    ("{}", {"$json": {}}, ALL),
]


def test_each_value_alone(cls):
    for text, want, where in VALUES:
        with Pipe(cls, "unwrap.flatten.struct=false") as p:
            p.load('{"_id": 1, "v": %s}' % text)
            cells = [r["v"] for t in p.target.tables() for r in p.target.rows(t) if "v" in r]
            if cls.name not in where:
                assert not cells and len(p.dead()) == 1, f"{text}: should be a dead letter, holds {cells}, {p.why()}"
                continue
            assert cells and not p.dead(), f"{text}: {p.why()}"
            assert same(want, cells[0]), f"{text}: wanted {want!r}, holds {cells[0]!r}"


def test_each_value_as_the_key(cls):
    """As `_id`: one row for one key, however often it comes; or a dead letter each time."""
    for text, want, where in VALUES:
        is_held = cls.name in where and not (cls.name in PG and text == '"a\\u0000b"')
        with Pipe(cls, "unwrap.flatten.struct=false") as p:
            path = os.path.join(p.work, "key.jsonl")
            value = {"op": "c", "ts_ms": 1, "after": '{"_id": %s, "x": 1}' % text, "source": {"connector": "mongodb", "db": "d", "collection": "c", "ts_ms": 1}}
            with open(path, "w", encoding="utf-8") as f:
                for i in range(2):
                    f.write(json.dumps({"topic": "t", "partition": 0, "offset": i, "key": json.dumps({"id": text}), "value": json.dumps(value)}) + "\n")
            from harness import millrace
            done = millrace("backfill", path, "--format", "debezium", *p.target.args(), *p.settings, check=False)
            assert done.returncode == 0, done.stderr
            rows = [r for t in p.target.tables() for r in p.target.rows(t)]
            assert len(rows) + len(p.dead()) in ((1, 2) if is_held else (2,)), f"{text}: {rows}, {p.why()}"
            if not is_held or p.dead():
                assert not rows and len(p.dead()) == 2, f"{text}: {rows}, {p.why()}"
            elif want is not None:
                assert same(want, rows[0]["_id"]), f"{text}: wanted {want!r}, holds {rows[0]['_id']!r}"


def main():
    cls, failed = TARGETS[sys.argv[1]], 0
    for test in (test_each_value_alone, test_each_value_as_the_key):
        try:
            test(cls)
        except AssertionError as e:
            failed += 1
            print(f"{sys.argv[1]}: {test.__name__}: {e}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
