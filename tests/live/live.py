#!/usr/bin/env python3
"""The whole way, live: live.py postgresql|mariadb|mysql…

A MariaDB source under a random workload → Debezium's connector → the broker → for each target a pipeline of two instances of `millrace run` in one
consumer group, killed (SIGKILL, SIGTERM, named points) and started again at random. Then the workload stops, everything drains, and the tables of
every target hold exactly the rows of the source's. What differs is printed with the seed; MILLRACE_LIVE_SEED repeats the workload and the kills
(their timing is the machine's), MILLRACE_LIVE_SECONDS is the length of the workload, MILLRACE_KEEP leaves logs and tables."""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "..", "support", "py"), os.path.join(HERE, "..", "recorded"), HERE):
    sys.path.insert(0, folder)
from connector import Connector  # noqa: E402
from harness import MILLRACE, TARGETS, Failure, from_env  # noqa: E402
from run_recorded import compare_table  # noqa: E402
from workload import SINGLE_PARTITION, Workload  # noqa: E402

CONNECTOR_SECONDS = 90  # until the connector streams
DRAIN_SECONDS = 90      # after the workload's end
STOP_SECONDS = 40       # after SIGTERM; the program promises 30
FAULTS = ["after_claim", "after_begin", "after_apply", "before_dead_letters", "before_positions", "before_commit", "after_commit",
          "before_ddl", "after_ddl_statement", "after_ddl_step", "after_ddl"]


class Instance:
    """One `millrace run`, again and again."""

    def __init__(self, name, args, rnd, log_path):
        self.name, self.args, self.rnd, self.log_path = name, args, rnd, log_path
        self.process, self.act_at, self.may_die, self.ends = None, 0.0, False, 0

    def start(self, hostile=True):
        env = dict(os.environ)
        env.pop("MILLRACE_FAULT", None)
        self.may_die = hostile and os.environ.get("MILLRACE_TESTED_FAULTS") and self.rnd.random() < 0.4
        if self.may_die:
            env["MILLRACE_FAULT"] = f"{self.rnd.choice(FAULTS)}:{self.rnd.randrange(1, 30)}"
        settings = [a for s in (f"batch.rows={self.rnd.choice([20, 200, 3000])}", f"batch.interval={self.rnd.choice([10, 100, 400])}ms",
                                f"target.bulk_rows={self.rnd.choice([2, 50, 1000])}") for a in ("--set", s)]
        with open(self.log_path, "a", encoding="utf-8") as log:
            log.write(f"---- {time.strftime('%T')} {' '.join(settings)} {env.get('MILLRACE_FAULT', '')}\n")
            log.flush()
            self.process = subprocess.Popen([MILLRACE, "run", *self.args, *settings], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        self.act_at = time.monotonic() + self.rnd.uniform(0.3, 7)

    def fail(self, why):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            raise Failure(f"{self.name}: {why}\n{f.read()[-3000:]}")

    def gone(self):
        """After its end: was it one of the ends it may come to?"""
        code = self.process.returncode
        self.process, self.act_at = None, time.monotonic() + self.rnd.uniform(0, 2)
        self.ends += 1
        if code != -signal.SIGKILL or not self.may_die:
            self.fail(f"ended by itself with {code}")

    def stop(self):
        """A polite end: it must take it with exit code 0, in time."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.fail(f"does not stop within {STOP_SECONDS} s of SIGTERM")
        if code != 0 and not (code == -signal.SIGKILL and self.may_die):
            self.fail(f"ended with {code} after SIGTERM")
        self.process = None
        self.ends += 1

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
            self.ends += 1

    def disturb(self):
        """Called often: what is due happens."""
        if self.process is not None and self.process.poll() is not None:
            self.gone()
        if time.monotonic() < self.act_at:
            return
        if self.process is None:
            self.start()
        elif self.rnd.random() < 0.6:
            self.kill()
            self.act_at = time.monotonic() + self.rnd.uniform(0, 2)
        else:
            self.stop()
            self.act_at = time.monotonic() + self.rnd.uniform(0, 2)


class Pipeline:
    """A target, and the two instances that load it."""

    def __init__(self, target, broker, prefix, database, rnd, work):
        self.target = target
        settings = [f"tables.{database}.audit.primary_key=none", "dead_letters.max_rate=0", "target.appliers=2",
                    "source.kafka.properties.session.timeout.ms=3000", "source.kafka.properties.heartbeat.interval.ms=500",
                    "source.kafka.properties.topic.metadata.refresh.interval.ms=1000"]
        args = ["--from", f"kafka://{broker}/^(__debezium-heartbeat[.])?{prefix}([.].*)?$", "--group", f"{prefix}-{target.name}", *target.args(),
                *(a for s in settings for a in ("--set", s))]
        self.instances = [Instance(f"{target.name} {i}", args, random.Random(rnd.random()), os.path.join(work, f"{target.name}-{i}.log")) for i in (1, 2)]

    def calm(self):
        """Both run, and nothing befalls them any more."""
        for instance in self.instances:
            instance.kill()
            instance.start(hostile=False)

    def still_runs(self):
        for instance in self.instances:
            if instance.process.poll() is not None:
                instance.gone()

    def stop(self):
        for instance in self.instances:
            instance.stop()

    def kill(self):
        for instance in self.instances:
            instance.kill()

    def differences(self, content):
        problems = [f"dead letter {d}" for d in self.target.control("dead_letter", "id, topic, partition, record_offset, code, field, message")]
        for name, table in content.items():
            problems += compare_table("live", name, table, {}, self.target, {})
        return [f"{self.target.name}: {p}"[:700] for p in problems]


class Live:
    """The run as a whole."""

    def __init__(self, target_names, seed, seconds, work):
        self.work, self.seconds = work, seconds
        self.rnd = random.Random(seed ^ 0x5EED)
        source, broker = from_env("MILLRACE_TEST_SOURCE"), from_env("MILLRACE_TEST_KAFKA")
        self.prefix, self.database = f"live{os.getpid()}", f"live{os.getpid()}"
        self.workload = Workload(source, self.database, seed, seconds / 16)
        self.connector = Connector(work, broker, source, self.prefix, self.database, SINGLE_PARTITION)
        self.targets = [TARGETS[name]() for name in target_names]
        self.pipelines = [Pipeline(t, broker, self.prefix, self.database, self.rnd, work) for t in self.targets]

    def check(self):
        why = self.connector.failure()
        if why:
            raise Failure(why)
        if self.workload.error is not None:
            raise Failure(f"the workload has failed: {self.workload.error!r}")

    def disturb_until(self, is_done, seconds):
        """Kills go on until the condition holds; False if it does not in time."""
        deadline = time.monotonic() + seconds
        while not is_done():
            if time.monotonic() > deadline:
                return False
            self.check()
            for pipeline in self.pipelines:
                for instance in pipeline.instances:
                    instance.disturb()
            time.sleep(0.05)
        return True

    def drain(self):
        """Until every target equals the source."""
        content = self.workload.content()
        for pipeline in self.pipelines:
            pipeline.calm()
        deadline, waiting = time.monotonic() + DRAIN_SECONDS, list(self.pipelines)
        while waiting:
            problems = []
            for pipeline in list(waiting):
                pipeline.still_runs()
                found = pipeline.differences(content)
                problems += found
                if not found:
                    waiting.remove(pipeline)
            self.check()
            if waiting and time.monotonic() > deadline:
                raise Failure("\n".join([f"{len(problems)} differences after {DRAIN_SECONDS} s:", *problems[:40]]))
            time.sleep(0.5)
        # What only shows when the last transactions are in: a row applied once more, a stop that is not clean.
        for pipeline in self.pipelines:
            pipeline.stop()
        late = [p for pipeline in self.pipelines for p in pipeline.differences(content)]
        if late:
            raise Failure("\n".join(["equal, and then no longer:", *late[:40]]))
        return content

    def run(self):
        started = time.monotonic()
        self.workload.fill(150)
        self.connector.start()
        self.workload.start()
        if not self.disturb_until(self.connector.is_streaming, CONNECTOR_SECONDS):
            raise Failure(f"the connector does not stream after {CONNECTOR_SECONDS} s\n{self.connector.log()[-5000:]}")
        self.workload.may_change.set()
        streaming = time.monotonic()
        self.disturb_until(lambda: False, self.seconds)
        self.workload.stop()
        self.check()
        drained = time.monotonic()
        content = self.drain()
        ends = sum(i.ends for p in self.pipelines for i in p.instances)
        rows = sum(len(t["rows"]) for t in content.values())
        print(f"{', '.join(t.name for t in self.targets)}: {rows} rows of {len(content)} tables equal after {self.workload.statements} statements in "
              f"{self.workload.transactions} transactions, {self.workload.truncates} truncates, all changes of definitions, {ends} ends of instances; "
              f"streaming after {streaming - started:.0f} s, drained in {time.monotonic() - drained:.0f} s")
        if self.workload.changes or ends < 4 * len(self.pipelines):
            raise Failure(f"too little has happened: changes left {self.workload.changes}, {ends} ends")

    def close(self, keep):
        for pipeline in self.pipelines:
            pipeline.kill()
        self.connector.stop()
        self.workload.stopping.set()
        self.workload.may_change.clear()
        if self.workload.is_alive():
            self.workload.join(30)
        if not keep:
            self.workload.drop()
            for target in self.targets:
                target.close()


def main():
    seed = int(os.environ.get("MILLRACE_LIVE_SEED") or random.SystemRandom().randrange(2**31))
    seconds = float(os.environ.get("MILLRACE_LIVE_SECONDS") or 60)
    keep = bool(os.environ.get("MILLRACE_KEEP"))
    work = tempfile.mkdtemp(prefix="millrace-live-")
    live = Live(sys.argv[1:], seed, seconds, work)
    try:
        live.run()
    except Failure as failure:
        print(f"seed {seed}: {failure}")
        sys.exit(1)
    finally:
        live.close(keep)
        if keep:
            print(f"kept: {work}, source database {live.database}")
        else:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
