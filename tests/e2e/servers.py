"""Servers of a test's own, which it may stop and start: the fixtures' scripts make them, their data outlives a stop."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

from e2e import SUPPORT, Broker, check, wait_for


def wait_gone(pid):
    def gone():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f: # one that nobody has waited for yet
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    wait_for(f"process {pid} does not end", gone)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read().strip()


class OwnPostgres:
    script = os.path.join(SUPPORT, "pg_fixture.sh")

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="millrace-own-pg-")
        subprocess.run([self.script, "start", self.dir], check=True, stdout=subprocess.DEVNULL)
        self.url = read(os.path.join(self.dir, "url"))
        self.home = read(os.path.join(self.dir, "home"))
        with open(f"/proc/{self.pid()}/cmdline", encoding="utf-8") as f:
            self.command = f.read().split("\0")[:-1]
        self.owner = os.stat(os.path.join(self.home, "data"))

    def pid(self):
        return int(read(os.path.join(self.home, "data", "postmaster.pid")).split("\n", maxsplit=1)[0])

    def stop(self, number=signal.SIGINT):
        """SIGINT ends sessions in order, SIGQUIT is a crash."""
        pid = self.pid()
        os.kill(pid, number)
        wait_gone(pid)

    def start(self):
        ids = {"user": self.owner.st_uid, "group": self.owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        with open(os.path.join(self.dir, "again.log"), "ab") as log:
            proc = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/", **ids)
        status = os.path.join(self.home, "data", "postmaster.pid")
        def ready():
            check(proc.poll() is None, "the server does not start: " + read(os.path.join(self.dir, "again.log"))[-1000:])
            return os.path.exists(status) and len(read(status).split("\n")) >= 8 and read(status).split("\n")[7].strip() in ("ready", "standby")
        wait_for("the server does not answer", ready)

    def make_standby(self):
        """From the next start on it is read-only, until pg_promote()."""
        path = os.path.join(self.home, "data", "standby.signal")
        with open(path, "w", encoding="utf-8"):
            pass
        os.chown(path, self.owner.st_uid, self.owner.st_gid)

    def close(self):
        subprocess.run([self.script, "stop", self.dir], check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


class OwnBroker(Broker):
    script = os.path.join(SUPPORT, "kafka", "kafka_fixture.sh")

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="millrace-own-kafka-")
        subprocess.run([self.script, "start", self.dir], check=True, stdout=subprocess.DEVNULL)
        super().__init__(read(os.path.join(self.dir, "bootstrap")))
        with open(f"/proc/{self.pid()}/cmdline", encoding="utf-8") as f:
            self.command = f.read().split("\0")[:-1]

    def pid(self):
        return int(read(os.path.join(self.dir, "pid")))

    def stop(self):
        pid = self.pid()
        os.kill(pid, signal.SIGTERM)
        wait_gone(pid)

    def start(self):
        with open(os.path.join(self.dir, "broker.log"), "ab") as log:
            proc = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        with open(os.path.join(self.dir, "pid"), "w", encoding="utf-8") as f:
            f.write(f"{proc.pid}\n")
        def answers():
            return subprocess.run(["kcat", "-L", "-m", "1", "-b", self.bootstrap], capture_output=True, check=False).returncode == 0
        wait_for("the broker does not answer", answers, 60)
        time.sleep(0.5)

    def close(self):
        subprocess.run([self.script, "stop", self.dir], check=False)
        shutil.rmtree(self.dir, ignore_errors=True)
