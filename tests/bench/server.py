"""A PostgreSQL server for the benchmark: data checksums and fsync on, unix socket alone, its own folder. As root it runs as postgres or
nobody, since it refuses to run as root. Its CPU time is that of its processes, ended ones included."""
import glob
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

SETTINGS = {
    "listen_addresses": "", "shared_buffers": "512MB", "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
    "wal_level": "replica", "max_wal_size": "4GB", "checkpoint_timeout": "15min", "work_mem": "32MB", "temp_buffers": "32MB",
    "autovacuum": "on", "log_min_messages": "warning",
}
START_SECONDS = 60
TICKS = os.sysconf("SC_CLK_TCK")


def newest_bin():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: float(path.split("/")[4]))
    if not found:
        sys.exit("no /usr/lib/postgresql/*/bin: install postgresql")
    return found[-1]


def owner():
    """Who runs the server: None for ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    sys.exit("root may not run PostgreSQL, and there is neither postgres nor nobody")


class Server:
    def __init__(self):
        self.bin = newest_bin()
        self.owner = owner()
        self.home = tempfile.mkdtemp(prefix="millrace-bench-pg.", dir="/tmp")
        self.data = os.path.join(self.home, "data")
        if self.owner:
            os.chown(self.home, self.owner.pw_uid, self.owner.pw_gid)
        os.chmod(self.home, 0o755)
        self.start()

    def as_owner(self, command, **more):
        if self.owner:
            more.update(user=self.owner.pw_uid, group=self.owner.pw_gid, extra_groups=[])
        return subprocess.Popen(command, cwd=self.home, start_new_session=True, stdin=subprocess.DEVNULL, **more)

    def start(self):
        with open(os.path.join(self.home, "log"), "wb") as log:
            init = self.as_owner([f"{self.bin}/initdb", "-D", self.data, "-U", "millrace", "-A", "trust", "-E", "UTF8", "--locale=C",
                                  "--data-checksums"], stdout=log, stderr=log)
            if init.wait() != 0:
                sys.exit(f"initdb failed; see {self.home}/log")
            command = [f"{self.bin}/postgres", "-D", self.data, "-k", self.home]
            for name, value in SETTINGS.items():
                command += ["-c", f"{name}={value}"]
            self.process = self.as_owner(command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit(f"the server does not answer; see {self.home}/log")
            time.sleep(0.1)

    def answers(self):
        return subprocess.run([f"{self.bin}/psql", "-qAtX", "-c", "SELECT 1", self.url("postgres")], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def stop(self):
        self.process.terminate() # waits for sessions; there are none
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def url(self, database):
        return f"postgresql://millrace@/{database}?host={self.home}"

    def sql(self, database, *statements):
        """Each in a transaction of its own; the last one's result, a line a row."""
        command = [f"{self.bin}/psql", "-qAtX", "-v", "ON_ERROR_STOP=1", self.url(database)]
        for statement in statements:
            command += ["-c", statement]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{statements}: {done.stderr}")
        return done.stdout.strip()

    def create(self, database, template=None):
        more = f' TEMPLATE "{template}" STRATEGY file_copy' if template else ""
        self.sql("postgres", f'CREATE DATABASE "{database}"{more}')

    def drop(self, database):
        self.sql("postgres", f'DROP DATABASE IF EXISTS "{database}"')

    def children(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return file.read().split()

    def has_sessions(self):
        for child in self.children():
            try:
                with open(f"/proc/{child}/cmdline", "rb") as file:
                    if b"[local]" in file.read():
                        return True
            except OSError:
                continue
        return False

    def cpu_seconds(self):
        """Of the sessions that have ended and of the server's own processes."""
        deadline = time.monotonic() + 5
        while self.has_sessions() and time.monotonic() < deadline:
            time.sleep(0.01)
        total = 0
        for pid in [str(self.process.pid)] + self.children():
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            total += sum(int(fields[i]) for i in (11, 12))
            if pid == str(self.process.pid):
                total += sum(int(fields[i]) for i in (13, 14)) # its children that have ended
        return total / TICKS
