"""Servers of a test's own, which it may stop and start: the fixtures' scripts make them, their data outlives a stop."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

from e2e import SUPPORT, TARGETS, Broker, check, wait_for


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

    def make_read_only(self):
        """As a standby, which refuses whatever writes."""
        self.stop()
        self.make_standby()
        self.start()

    def make_writable(self, target):
        target.execute("SELECT pg_promote()")

    crash = signal.SIGQUIT
    read_only = "during recovery"

    def close(self):
        subprocess.run([self.script, "stop", self.dir], check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


class OwnMariaDb:
    script = os.path.join(SUPPORT, "mariadb_fixture.sh")
    crash = signal.SIGKILL
    read_only = "read-only"

    def __init__(self):
        self.proc = None
        self.dir = tempfile.mkdtemp(prefix="millrace-own-my-")
        subprocess.run([self.script, "start", self.dir], check=True, stdout=subprocess.DEVNULL)
        self.url = read(os.path.join(self.dir, "url"))
        pid = read(os.path.join(self.dir, "pid"))
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
            self.command = f.read().split("\0")[:-1]
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            ids = {line.split(":")[0]: int(line.split()[1]) for line in f if line.startswith(("Uid:", "Gid:"))}
        root = os.readlink(f"/proc/{pid}/root")
        self.how = {"user": ids["Uid"], "group": ids["Gid"], "extra_groups": []} if os.geteuid() == 0 else {}
        if root != "/": # it gives up its rights by itself
            self.command, self.how = ["chroot", root, *self.command], {}
        self.make_durable()

    def make_durable(self):
        """The fixture's servers may lose the last second when they crash."""
        db = TARGETS["mysql"].connect(self.url)
        with db.cursor() as cur:
            cur.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
        db.close()

    def pid(self):
        return int(read(os.path.join(self.dir, "pid")))

    def stop(self, number=signal.SIGTERM):
        pid = self.pid()
        os.kill(pid, number)
        wait_gone(pid)
        if self.proc is not None: # else the next server finds its pid in the lock of the socket, and takes it for alive
            self.proc.wait()

    def start(self, *more):
        with open(os.path.join(self.dir, "again.log"), "ab") as log:
            proc = self.proc = subprocess.Popen([*self.command, *more], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
                                    **self.how)
        with open(os.path.join(self.dir, "pid"), "w", encoding="utf-8") as f:
            f.write(f"{proc.pid}\n")
        def answers():
            check(proc.poll() is None, "the server does not start: " + read(os.path.join(self.dir, "again.log"))[-1000:])
            try:
                TARGETS["mysql"].connect(self.url).close()
            except Exception: # noqa: BLE001: not yet
                return False
            return True
        wait_for("the server does not answer", answers, 60)
        self.make_durable()

    def make_read_only(self):
        self.stop()
        self.start("--read-only=1")

    def make_writable(self, target):
        target.execute("SET GLOBAL read_only = 0")

    def close(self):
        subprocess.run([self.script, "stop", self.dir], check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


class OwnMySql(OwnMariaDb):
    script = os.path.join(SUPPORT, "mysql_fixture.sh")


OWN = {"postgresql": OwnPostgres, "mariadb": OwnMariaDb, "mysql": OwnMySql}


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
