#!/usr/bin/env python3
"""Updates that come as two messages: test_halves.py TARGET. No kill comes between the halves: the position stays before the first until the second is
there, and nothing is applied twice or lost."""
import json
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support", "py"))
from harness import MILLRACE, TARGETS, millrace  # noqa: E402

SEED = 20240610
TABLE = "band"
SETTINGS = ["--format", "shareplex", "--set", "name_case=lower", "--set", "tables.band.primary_key=[name]", "--set", "target.table=band"]


def message(op, row, data, transaction="1", seq=1, size=1000000):
    return {"meta": {"op": op, "table": "BAND", "trans": transaction, "rowid": row, "seq": seq, "size": size}, "data": data}


def fail(text):
    print(text)
    sys.exit(1)


def rows_of(target):
    if TABLE not in target.tables():
        return []
    def plain(cell):
        value = getattr(cell, "value", cell)
        return None if value is None else str(value)
    return sorted((tuple(plain(row.get(c)) for c in ("name", "year", "ends")) for row in target.rows(TABLE)), key=str)


def position(target):
    found = target.control("position", "position")
    return max(r[0] for r in found) if found else 0


def wait_for(what, condition, seconds=30):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            fail(f"waited in vain for {what}")
        time.sleep(0.1)


def write(path, messages, mode="w"):
    with open(path, mode, encoding="utf-8") as f:
        f.writelines(json.dumps(m) + "\n" for m in messages)


def start(target, path, *more):
    return subprocess.Popen([MILLRACE, "run", path, *target.args(), *SETTINGS, *more], stderr=subprocess.DEVNULL)


def kill(process):
    process.kill()
    process.wait()


def check_kill_between_halves(target, path):
    write(path, [message("ins", "A", {"NAME": "Yes", "YEAR": 1968}), message("umb", "A", {"NAME": "Yes", "YEAR": 1968})])
    process = start(target, path)
    wait_for("the first row", lambda: rows_of(target))
    time.sleep(1)
    kill(process)
    if position(target) != 1:
        fail(f"the position is {position(target)}: it has passed the first half")
    write(path, [message("uma", "A", {"NAME": "YES"}), message("ins", "B", {"NAME": "Rush", "YEAR": 1968})], "a")
    millrace("backfill", path, *target.args(), *SETTINGS)
    want = [("Rush", "1968", None), ("YES", "1968", None)]
    if rows_of(target) != want:
        fail(f"{rows_of(target)}, wanted {want}")
    if position(target) != 4:
        fail(f"the position is {position(target)} at the end")


def check_stop_between_halves(target, path):
    write(path, [message("umb", "B", {"NAME": "Rush", "YEAR": 1968})], "a")
    process = start(target, path)
    time.sleep(1.5)
    process.terminate()
    if process.wait() != 0:
        fail(f"stopped with {process.returncode}")
    if position(target) != 4:
        fail(f"a stop has moved the position to {position(target)}")
    write(path, [message("uma", "B", {"ENDS": 2015}, size=1)], "a")
    millrace("backfill", path, *target.args(), *SETTINGS)
    want = [("Rush", "1968", "2015"), ("YES", "1968", None)]
    if rows_of(target) != want:
        fail(f"{rows_of(target)}, wanted {want}")


def stream(rnd, count):
    """Messages of several transactions, updates whole or in halves with others between them, and the rows at the end."""
    rows, out, seq = {}, [], 0
    for row in range(8):
        rows[row] = {"NAME": f"n{row}.0", "YEAR": 0}
        out.append(message("ins", str(row), dict(rows[row])))
    while len(out) < count:
        seq += 1
        chosen = rnd.sample(sorted(rows), rnd.randint(1, 3))
        changes = {r: rnd.choice([{"YEAR": seq}, {"NAME": f"n{r}.{seq}"}, {"NAME": f"n{r}.{seq}", "ENDS": seq}]) for r in chosen}
        if rnd.random() < 0.3:
            r = chosen[0]
            out.append({**message("upd", str(r), changes[r], str(seq)), "key": {"NAME": rows[r]["NAME"]}})
            rows[r].update(changes[r])
            continue
        out += [message("umb", str(r), dict(rows[r]), str(seq)) for r in chosen]
        for r in chosen:
            out.append(message("uma", str(r), changes[r], str(seq)))
            rows[r].update(changes[r])
    return out, sorted(((v["NAME"], str(v["YEAR"]), str(v["ENDS"]) if "ENDS" in v else None) for v in rows.values()), key=str)


def check_kills_anywhere(target, path):
    rnd = random.Random(SEED)
    messages, want = stream(rnd, 1500)
    write(path, messages)
    for _ in range(6):
        process = start(target, path, "--set", f"batch.rows={rnd.choice([2, 7, 50])}")
        time.sleep(0.3 + rnd.random() * 0.7)
        kill(process)
    millrace("backfill", path, *target.args(), *SETTINGS)
    if rows_of(target) != want:
        fail(f"after kills: {rows_of(target)}, wanted {want}")
    if target.control("dead_letter", "id"):
        fail(f"dead letters: {target.control('dead_letter', 'code, message')}")


def run(check_all):
    target = TARGETS[sys.argv[1]]()
    work = getattr(target, "dir", None) or os.path.join(os.environ.get("TMPDIR", "/tmp"), f"mr-halves-{os.getpid()}")
    os.makedirs(work, exist_ok=True)
    path = os.path.join(work, "changes.jsonl")
    try:
        for check in check_all:
            check(target, path)
    finally:
        target.close()


if __name__ == "__main__":
    run([check_kill_between_halves, check_stop_between_halves])
    run([check_kills_anywhere])
