"""MariaDB in the benchmark: a server of its own with fsync on, unix socket alone, and the two clients on it. As root the server runs as nobody."""
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

from measure import measured

SETTINGS = {
    "innodb-buffer-pool-size": "512M", "innodb-log-file-size": "1G", "innodb-flush-log-at-trx-commit": "1", "innodb-doublewrite": "ON",
    "innodb-flush-method": "O_DIRECT", "max-allowed-packet": "64M", "character-set-server": "utf8mb4",
}
START_SECONDS = 60
FEW_DIRTY_PAGES = 50
TICKS = os.sysconf("SC_CLK_TCK")
DATABASE, TABLE = "shop", "t"  # what the stream names


class MariaServer:
    def __init__(self):
        self.owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self.home = tempfile.mkdtemp(prefix="millrace-bench-my.", dir="/tmp")
        self.socket = os.path.join(self.home, "s.sock")
        with open(os.path.join(self.home, "init.sql"), "w", encoding="ascii") as file:
            file.write("CREATE USER millrace@localhost;\nGRANT ALL ON *.* TO millrace@localhost;\n")
        os.chmod(self.home, 0o755)
        if self.owner:
            os.chown(self.home, self.owner.pw_uid, self.owner.pw_gid)
        self.start()

    def as_owner(self, command, **more):
        if self.owner:
            more.update(user=self.owner.pw_uid, group=self.owner.pw_gid, extra_groups=[])
        return subprocess.Popen(command, cwd=self.home, start_new_session=True, stdin=subprocess.DEVNULL, **more)

    def start(self):
        data, path = os.path.join(self.home, "data"), os.environ["PATH"] + ":/usr/sbin"
        with open(os.path.join(self.home, "log"), "wb") as log:
            install = self.as_owner(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal",
                                     "--skip-test-db"], stdout=log, stderr=log)
            if install.wait() != 0:
                sys.exit(f"mariadb-install-db failed; see {self.home}/log")
            command = [shutil.which("mariadbd", path=path) or "mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={self.socket}", "--skip-networking",
                       f"--init-file={self.home}/init.sql", f"--tmpdir={self.home}"]
            self.process = self.as_owner(command + [f"--{n}={v}" for n, v in SETTINGS.items()], stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while self.client("SELECT 1").returncode != 0:
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit(f"the server does not answer; see {self.home}/log")
            time.sleep(0.1)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def url(self, database):
        return f"mysql://millrace@localhost/{database}?socket={self.socket}"

    def client(self, sql):
        return subprocess.run(["mariadb", "--no-defaults", "-S", self.socket, "-u", "millrace", "-N", "-B", "-e", sql], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)

    def sql(self, *statements):
        """The last one's result, a line a row."""
        done = self.client(";\n".join(statements))
        if done.returncode != 0:
            sys.exit(f"{statements}: {done.stderr}")
        return done.stdout.strip()

    def flush(self):
        """What the last run has left is written, so that the next one does not pay for it."""
        self.sql("SET GLOBAL innodb_io_capacity_max = 40000, innodb_io_capacity = 20000", "SET GLOBAL innodb_max_dirty_pages_pct = 0")
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if int(self.sql("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'").split()[1]) < FEW_DIRTY_PAGES:
                break
            time.sleep(0.05)
        self.sql("SET GLOBAL innodb_max_dirty_pages_pct = 90, innodb_io_capacity = 200, innodb_io_capacity_max = 2000")

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


class MariaSide:
    """Both clients work on a database of one name, made anew for every run from a copy of the seeded one: Millrace's control tables stand in it
    and name it."""

    def __init__(self, bench):
        self.bench = bench
        self.server = MariaServer()
        self.templates = {}

    def copy(self, source, target, emptied=False):
        tables = self.server.sql(f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{source}'").split()
        statements = [f"DROP DATABASE IF EXISTS {target}", f"CREATE DATABASE {target} CHARACTER SET utf8mb4"]
        for table in tables:
            statements.append(f"CREATE TABLE {target}.{table} LIKE {source}.{table}")
            if not (emptied and table == TABLE):
                statements.append(f"INSERT INTO {target}.{table} SELECT * FROM {source}.{table}")
        self.server.sql(*statements)

    def template(self, shape, seeded):
        name = f"seed_{shape}_{seeded}".replace("-", "_")
        if name not in self.templates:
            self.fresh(None)
            events, _ = self.bench.stream(shape, "seed", 0, seeded)
            self.bench.millrace(self.server.url(DATABASE), [events])
            self.copy(DATABASE, name)
            self.templates[name] = True
        return name

    def fresh(self, template, emptied=False):
        if template is None:
            self.server.sql(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
        else:
            self.copy(template, DATABASE, emptied)
        self.server.flush()

    def raw(self, shape, rows_file, template, emptied):
        self.fresh(template, emptied)
        run, text = measured([self.bench.tools.raw_mariadb, self.server.socket, "millrace", DATABASE, TABLE, shape, rows_file], self.server)
        run.seconds = float(text.split()[1])  # without reading the file
        return run

    def loaded(self, source, template, appliers):
        self.fresh(template)
        return self.bench.millrace(self.server.url(DATABASE), source, f"target.appliers={appliers}", server=self.server)

    def contents(self, _):
        """Number and hash of the table's rows, whatever the order of rows and columns and the blanks of JSON (which alone is utf8mb4_bin)."""
        columns = self.server.sql("SELECT GROUP_CONCAT(CONCAT('IFNULL(CAST(', IF(collation_name = 'utf8mb4_bin', 'JSON_COMPACT', ''), '(`', column_name, "
                                  "'`) AS BINARY), ''NULL'')') ORDER BY column_name) FROM information_schema.columns "
                                  f"WHERE table_schema = '{DATABASE}' AND table_name = '{TABLE}'")
        return self.server.sql(f"SELECT CONCAT_WS('|', COUNT(*), SUM(CAST(CONV(LEFT(MD5(CONCAT_WS('|', {columns})), 15), 16, 10) AS UNSIGNED))) "
                               f"FROM {DATABASE}.{TABLE}")

    def close(self):
        self.server.stop()
