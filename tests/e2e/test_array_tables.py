#!/usr/bin/env python3
"""Arrays as tables: random documents, changed whole and in parts, loaded one by one, in batches of every size, by several appliers, and killed on the
way; the tables must always be the documents exploded.

    test_array_tables.py sqlite|postgresql|mariadb|mysql [SEED]"""
import os
import random
import sys
import tempfile

from array_stream import COLLECTION, Stream, exploded
from e2e import ALL, HAS_FAULTS, Failure, millrace
from harness import TARGETS

TABLE = ["--set", "unwrap.array.encoding=table"]
KILLS = ["after_apply", "before_positions", "before_commit", "after_commit", "after_ddl_step", "after_ddl"]


def plain(row):
    """A row without its nulls; the element's own _id under the name that the model gives it."""
    out = {}
    for name, cell in row.items():
        if cell.value is None:
            continue
        value = cell.value
        if name.startswith("_id_"):
            name = "element _id"
        number = isinstance(value, int) or (isinstance(value, str) and ("int" in cell.native or "numeric" in cell.native))
        out[name] = int(value) if number else value
    return out


def as_set(rows):
    return sorted(repr(sorted(r.items())) for r in rows)


def differences(target, docs):
    want, problems = exploded(docs), []
    found = target.tables()
    for name in sorted(set(want) | {t for t in found if t.startswith(COLLECTION)}):
        wanted = as_set(want.get(name, []))
        have = as_set(plain(r) for r in target.rows(name)) if name in found else []
        problems += [f"{name}: lacks {r}" for r in wanted if r not in have][:3]
        problems += [f"{name}: has {r}" for r in have if r not in wanted][:3]
        if len(wanted) != len(have) and wanted and have:
            problems.append(f"{name}: {len(have)} rows, wanted {len(wanted)}")
    return problems + [f"dead letter: {d}" for d in target.control("dead_letter", "id, message")[:3]]


class Run:
    def __init__(self, name, seed):
        self.name, self.seed = name, seed

    def load(self, stream, settings, kills=()):
        """Load the lines in several starts, each killed at a point, the last one not."""
        target = TARGETS[self.name]()
        try:
            with tempfile.TemporaryDirectory() as work:
                path = os.path.join(work, "events.jsonl")
                with open(path, "w", encoding="utf-8") as f:
                    f.write("\n".join(stream.lines) + "\n")
                args = ["backfill", path, *target.args(), *TABLE, *settings]
                for point, time in kills:
                    millrace(*args, check=False, env={"MILLRACE_FAULT": f"{point}:{time}"})
                millrace(*args)
            return differences(target, stream.docs)
        finally:
            target.close()

    def check(self, stream, settings, kills=()):
        problems = self.load(stream, settings, kills)
        if problems:
            raise Failure(f"seed {self.seed}, {' '.join(settings)}, {kills}:\n" + "\n".join(problems[:12]))


def test_batches_of_any_size_give_the_exploded_documents(run):
    for i in range(12 if ALL else 4):
        run.seed += 1
        stream = Stream(random.Random(run.seed), 150)
        for rows in ("1", "7", "5000"):
            run.check(stream, ["--set", f"batch.rows={rows}"])


def test_several_appliers_give_the_same(run):
    if run.name == "sqlite":
        return
    for i in range(3):
        run.seed += 1
        run.check(Stream(random.Random(run.seed), 300), ["--set", "target.appliers=3", "--set", f"batch.rows={10 + 30 * i}"])


def test_small_bulk_thresholds_give_the_same(run):
    for bulk in ("1", "100000"):
        run.seed += 1
        run.check(Stream(random.Random(run.seed), 200), ["--set", f"target.bulk_rows={bulk}", "--set", "batch.rows=60"])


def test_kills_lose_nothing(run):
    if not HAS_FAULTS:
        return
    for i, point in enumerate(KILLS if ALL or run.name == "sqlite" else KILLS[1:4]):
        run.seed += 1
        kills = [(point, 1 + i % 2), ("before_commit", 2), (point, 2)]
        lanes = [] if run.name == "sqlite" else ["--set", "target.appliers=3"]
        run.check(Stream(random.Random(run.seed), 200), ["--set", "batch.rows=25", *lanes], kills)


def main():
    run = Run(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    failed = 0
    for name, test in [(n, f) for n, f in globals().items() if n.startswith("test_")]:
        try:
            test(run)
            print(f"ok {name}", flush=True)
        except Failure as why:
            failed += 1
            print(f"FAILED {name}: {why}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
