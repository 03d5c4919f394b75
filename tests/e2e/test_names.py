#!/usr/bin/env python3
"""Names of fields, however odd, become columns: test_names.py sqlite|postgresql|mariadb|mysql.

Documents with the same fields in different orders come in one process after another. No two fields may share a column, each must find its own again,
whatever unwrap.field.name.adjustment.mode makes of the names, and `plan` must tell of every name that is not the wanted one."""
import json
import os
import random
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
from harness import TARGETS, millrace  # noqa: E402

NAMES = ["a_b", "A_B", "a.b", "a-b", "$x", "x$", " ", "x ", "\u00e9", "e\u0301", "\U0001f600", "L" * 70 + "1", "L" * 70 + "2", "select", 'a"b', "a`b",
         "a'b", "\\", "a\\.b", "__deleted", "_key", "xmin", "ctid", "rowid", "ROWID", "a_b_9ad68c62", "%s", "?", "a;b--", "\n", "\t", "\u0000",
         "\ufb01", "\u00df", "\u1e9e", "SS", "\u0131", "I", "i", "\u0130", "K", "\u212a", "_id_", "1st", "_1st", "\u00b5", "\u03bc", "\u03c2", "\u03c3", "\u017f", "s"]
NESTED = {"a": {"b": 1, "": 2, ".": {"x": 3}}, "": {"a": {"b": 4}, "": {"select": 6}}, "deep": {"L" * 40: {"M" * 40: {"N" * 40: 5}}}}
WANT = sorted([1, 2, 3, 4, 5, 6, *range(1000, 1000 + len(NAMES))])


def document(key):
    order = NAMES[:]
    random.Random(key).shuffle(order)
    return {"_id": key, **{n: 1000 + NAMES.index(n) for n in order}, **NESTED}


def write(work, key):
    path = os.path.join(work, f"{key}.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        f.write(json.dumps({"topic": "p.shop.n", "key": {"id": str(key)}, "value": {
            "before": None, "after": json.dumps(document(key)), "source": {"connector": "mongodb", "db": "shop", "collection": "n"}, "op": "c"}}))
    return path


def fields(row):
    return {n: int(c.value) for n, c in row.items() if c.value is not None and n not in ("_id", "_u005fid")}


def run(target, mode, work):
    option = ["--set", f"unwrap.field.name.adjustment.mode={mode}"]
    problems, layouts = [], set()
    plan = json.loads(millrace("plan", write(work, 0), "--json", *target.args(), *option).stdout)
    planned = {c["name"]: c["name_substituted"] for c in plan["tables"][0]["columns"]}
    for key in range(4):
        millrace("backfill", write(work, key), *target.args(), *option)
    for row in target.rows("n"):
        have = fields(row)
        layouts.add(tuple(sorted(have.items())))
        if sorted(have.values()) != WANT:
            problems.append(f"{mode}: lost or doubled: {sorted(set(WANT) ^ set(have.values()))}")
        if set(have) - set(planned):
            problems.append(f"{mode}: columns that plan did not tell: {set(have) - set(planned)}")
        plain = [n for n, v in have.items() if v >= 1000 and mode == "none" and n != NAMES[v - 1000] and not planned[n]]
        problems += [f"{mode}: plan does not mark {plain}"] if plain else []
    if len(layouts) != 1:
        problems.append(f"{mode}: {len(layouts)} layouts of the same fields")
    return problems + [f"{mode}: dead letter {d}" for d in target.control("dead_letter", "id, code, message")]


def main():
    problems = []
    for mode in ("none", "avro", "avro_unicode"):
        target = TARGETS[sys.argv[1]]()
        try:
            with tempfile.TemporaryDirectory() as work:
                problems += run(target, mode, work)
        finally:
            target.close()
    for line in problems:
        print(line[:500])
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
