"""What the end-to-end tests share beside tests/support/py/harness.py: running programs, waiting, Kafka, servers of a test's own.

Environment: MILLRACE, MILLRACE_TEST_PG, MILLRACE_TEST_KAFKA as the harness has them; MILLRACE_KAFKA_TOPIC (the program that makes topics);
MILLRACE_TESTED_FAULTS=1 if the program has fault points; MILLRACE_ALL_TESTS=1 for more of everything."""
import inspect
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(HERE, "..", "support")
sys.path.insert(0, os.path.join(SUPPORT, "py"))
from harness import MILLRACE, TARGETS, Failure, Postgres, Sqlite, from_env, millrace  # noqa: E402, F401

ALL = os.environ.get("MILLRACE_ALL_TESTS") == "1"
HAS_FAULTS = os.environ.get("MILLRACE_TESTED_FAULTS") == "1"


def check(condition, text):
    if not condition:
        raise Failure(text)


def wait_for(what, condition, timeout=30, every=0.05):
    """Poll until condition() is true; its value."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        check(time.monotonic() < end, f"waited {timeout} s in vain: {what() if callable(what) else what}")
        time.sleep(every)


class Instance:
    """A running millrace. Its log is kept in a file, for conditions and for failures."""
    running = []

    def __init__(self, *args, env=None, wrapper=()):
        self.args = args
        self.out = tempfile.TemporaryFile(mode="w+", prefix="millrace-out-")
        self.log_file = tempfile.NamedTemporaryFile(mode="w+", prefix="millrace-log-", suffix=".log")
        self.proc = subprocess.Popen([*wrapper, MILLRACE, *args], stdout=self.out, stderr=self.log_file, stdin=subprocess.DEVNULL,
                                     env={**os.environ, **(env or {})})
        Instance.running.append(self)

    @property
    def log(self):
        with open(self.log_file.name, encoding="utf-8", errors="replace") as f:
            return f.read()

    def signal(self, number):
        if self.proc.poll() is None:
            self.proc.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        return self.wait()

    def stop(self, timeout=30):
        """SIGTERM; the exit code must be 0."""
        self.signal(signal.SIGTERM)
        self.expect(0, timeout)

    def is_running(self):
        return self.proc.poll() is None

    def wait(self, timeout=60):
        try:
            code = self.proc.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failure(f"does not end within {timeout} s: {' '.join(self.args)}\n{self.tail()}") from None
        if self in Instance.running:
            Instance.running.remove(self)
        return code

    def expect(self, code, timeout=60):
        have = self.wait(timeout)
        check(have == code, f"exit code {have}, not {code}: {' '.join(self.args)}\n{self.tail()}")

    def expect_log(self, text, timeout=30):
        wait_for(lambda: f"no {text!r} in the log\n{self.tail()}", lambda: text in self.log, timeout)

    def tail(self):
        return self.log[-4000:]


def end_all():
    for instance in list(Instance.running):
        instance.signal(signal.SIGCONT)
        instance.kill()


# ---- Kafka ----

class Broker:
    """The fixture's broker, or (with a folder) one of the test's own that can be stopped and started."""

    def __init__(self, bootstrap=None):
        self.bootstrap = bootstrap or from_env("MILLRACE_TEST_KAFKA")

    def tool(self, *args):
        subprocess.run([os.environ["MILLRACE_KAFKA_TOPIC"], self.bootstrap, *map(str, args)], check=True)

    def create(self, topic, partitions):
        self.tool("create", topic, partitions)

    def produce(self, topic, partition, messages):
        """(key text or None, value text or None), in this order."""
        lines = "".join(f"{k or ''}\x01{v or ''}\n" for k, v in messages)
        if lines:
            subprocess.run(["kcat", "-P", "-b", self.bootstrap, "-t", topic, "-p", str(partition), "-K", "\x01", "-Z", "-X", "acks=all",
                            "-X", "batch.num.messages=5000"], input=lines, text=True, check=True)

    def source(self, *topics):
        return ["--from", f"kafka://{self.bootstrap}/{','.join(topics)}"]


# ---- The tests of a file ----

def main(module_name="__main__"):
    """Run every test_* function of the calling file, or those named on the command line, against the target that its first word names
    (PostgreSQL if none does). Functions may ask for a target by a parameter of the name `target`, which is made and removed for them, or
    for its name by `kind`."""
    module = sys.modules[module_name]
    kind = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] in TARGETS else "postgresql"
    names = [n for n in vars(module) if n.startswith("test_") and callable(getattr(module, n))]
    wanted = [n for n in sys.argv[1:] if n.startswith("test_")]
    failed = 0
    for name in wanted or names:
        began = time.monotonic()
        target = None
        try:
            kwargs = {}
            if "target" in inspect.signature(getattr(module, name)).parameters:
                target = kwargs["target"] = TARGETS[kind]()
            if "kind" in inspect.signature(getattr(module, name)).parameters:
                kwargs["kind"] = kind
            getattr(module, name)(**kwargs)
            print(f"ok {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except (Failure, subprocess.SubprocessError, AssertionError) as why:
            failed += 1
            print(f"FAILED {name}: {why}", flush=True)
            for instance in Instance.running:
                print(f"--- still running: {' '.join(instance.args)}\n{instance.tail()}", flush=True)
        finally:
            end_all()
            if target is not None:
                target.close()
    sys.exit(1 if failed else 0)
