"""What the end-to-end tests share: the program, a target of each kind, and reading tables back.

Environment: MILLRACE (the program), MILLRACE_TEST_PG, MILLRACE_TEST_MARIADB, MILLRACE_TEST_MYSQL (URL, or a file that holds it), MILLRACE_TEST_KAFKA
(file with the broker's address). Where a server cannot be had its fixture leaves a file `skipped` with the reason: the test ends with 77 then."""
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from urllib.parse import urlsplit

from compare import Cell

MILLRACE = os.environ.get("MILLRACE", "build/debug/millrace")


def from_env(name):
    value = os.environ.get(name)
    if value is None:
        sys.exit(f"{name} is not set: run this through ctest, whose fixtures start the server")
    if os.path.exists(value):
        with open(value, encoding="utf-8") as f:
            return f.read().strip()
    reason = os.path.join(os.path.dirname(value), "skipped")
    if os.path.exists(reason):
        with open(reason, encoding="utf-8") as f:
            print("SKIPPED:", f.read().strip())
        sys.exit(77)
    return value


class Failure(Exception):
    pass


def millrace(*args, check=True, stdin=None, env=None, timeout=300):
    """Run the program; its CompletedProcess. With check, any exit code but 0 fails the test."""
    done = subprocess.run([MILLRACE, *args], input=stdin, capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **(env or {})}, check=False)
    if check and done.returncode != 0:
        raise Failure(f"millrace {' '.join(args)} exited with {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Sqlite:
    """A database file of its own."""
    name = "sqlite"

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="millrace-test-")
        self.path = os.path.join(self.dir, "t.db")

    def args(self):
        return ["--to", f"sqlite:{self.path}", "--set", "target.table={table}"]

    def connect(self):
        db = sqlite3.connect(self.path)
        db.text_factory = lambda raw: raw.decode("utf-8", "surrogatepass")
        return db

    def tables(self):
        if not os.path.exists(self.path):
            return []
        with self.connect() as db:
            rows = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return sorted(r[0] for r in rows if not r[0].startswith(("millrace_", "sqlite_")))

    def rows(self, table):
        """[{column: Cell}]"""
        db = self.connect()
        quoted = '"' + table.replace('"', '""') + '"'
        columns = [(r[1], r[2]) for r in db.execute(f"PRAGMA table_info({quoted})")]
        out = [{n: Cell(t, v) for (n, t), v in zip(columns, row)} for row in db.execute(f"SELECT * FROM {quoted}")]
        db.close()
        return out

    def control(self, table, columns):
        if not os.path.exists(self.path):
            return []
        db = self.connect()
        out = db.execute(f"SELECT {columns} FROM millrace_{table} ORDER BY 1").fetchall()
        db.close()
        return out

    def execute(self, sql, *args):
        with self.connect() as db:
            db.execute(sql, args)

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)


class Postgres:
    """Two schemas of their own in the fixture's database: one for the tables, one for the control tables."""
    name = "postgresql"
    count = 0

    def __init__(self, url=None):
        Postgres.count += 1
        self.url = url or from_env("MILLRACE_TEST_PG")
        self.schema = f"t{os.getpid()}_{Postgres.count}"
        self.reconnect()

    def reconnect(self):
        import psycopg2
        self.db = psycopg2.connect(self.url)
        self.db.autocommit = True

    def args(self):
        return ["--to", self.url, "--set", f"target.schema={self.schema}", "--set", f"target.control_schema={self.schema}_c"]

    def query(self, sql, args=None):
        with self.db.cursor() as cur:
            cur.execute(sql, args)
            return cur.fetchall() if cur.description else []

    def execute(self, sql, *args):
        self.query(sql, args or None)

    def tables(self):
        return sorted(r[0] for r in self.query("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (self.schema,)))

    def columns(self, table):
        return self.query("SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
                          "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 "
                          "AND NOT a.attisdropped ORDER BY a.attnum", (self.schema, table))

    def rows(self, table):
        columns = self.columns(table)
        ident = lambda n: '"' + n.replace('"', '""').replace("%", "%%") + '"'
        as_text = lambda n, t: ident(n) if t == "bytea" else f"to_jsonb({ident(n)})::text" if t == "ARRAY" or t.endswith("[]") else f"{ident(n)}::text"
        cells = [as_text(n, t) for n, t in columns]
        found = self.query(f"SELECT {', '.join(cells)} FROM {ident(self.schema)}.{ident(table)}", ()) if columns else []
        return [{n: Cell(t, bytes(v) if isinstance(v, memoryview) else v) for (n, t), v in zip(columns, row)} for row in found]

    def control(self, table, columns):
        if not self.query("SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = %s", (self.schema + "_c", table)):
            return []
        return self.query(f'SELECT {columns} FROM "{self.schema}_c"."{table}" ORDER BY 1')

    def close(self):
        self.execute("SET client_min_messages = error")
        self.execute(f'DROP SCHEMA IF EXISTS "{self.schema}" CASCADE')
        self.execute(f'DROP SCHEMA IF EXISTS "{self.schema}_c" CASCADE')
        self.db.close()


class MySql:
    """Two databases of their own on the fixture's server: one for the tables, one for the control tables. Names in double quotes are understood."""
    name = "mysql"
    variable = "MILLRACE_TEST_MYSQL"
    count = 0

    def __init__(self, url=None):
        MySql.count += 1
        self.url = url or from_env(self.variable)
        self.schema = f"t{os.getpid()}_{MySql.count}"
        self.reconnect()

    def reconnect(self):
        from pymysql.converters import encoders
        self.db = self.connect(self.url)
        self.plain = self.connect(self.url, conv=encoders)  # values as the server spells them

    @staticmethod
    def connect(url, **more):
        import pymysql
        parts = urlsplit(url)
        return pymysql.connect(**{"host": parts.hostname, "port": parts.port, "user": parts.username, "password": parts.password,
                                  "charset": "utf8mb4", "autocommit": True,
                                  "init_command": "SET time_zone = '+00:00', sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES'", **more})

    def args(self):
        return ["--to", self.url, "--set", f"target.schema={self.schema}", "--set", f"target.control_schema={self.schema}_c"]

    def query(self, sql, args=None, plain=False):
        with (self.plain if plain else self.db).cursor() as cur:
            cur.execute(sql, args)
            return list(cur.fetchall())

    def execute(self, sql, *args):
        self.query(sql, args or None)

    def tables(self):
        return sorted(r[0] for r in self.query("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (self.schema,)))

    def columns(self, table):
        """(name, type); MariaDB's JSON, a text with a check, is told from a text."""
        found = self.query("SELECT column_name, column_type FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
                           "ORDER BY ordinal_position", (self.schema, table))
        if not found:
            return []
        made = self.query('SHOW CREATE TABLE "{}"."{}"'.format(self.schema, table.replace('"', '""')))[0][1]
        return [(n, "json" if f'json_valid("{n}")' in made else t) for n, t in found]

    def rows(self, table):
        columns = self.columns(table)
        ident = lambda n: "`" + n.replace("`", "``") + "`"
        cells = [f"LPAD(BIN({ident(n)} + 0), {t[4:-1]}, '0')" if t.startswith("bit(") else ident(n) for n, t in columns]
        found = self.query(f"SELECT {', '.join(cells)} FROM {ident(self.schema)}.{ident(table)}", plain=True) if columns else []
        return [{n: Cell(t, v) for (n, t), v in zip(columns, row)} for row in found]

    def control(self, table, columns):
        if not self.query("SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = %s", (self.schema + "_c", "millrace_" + table)):
            return []
        columns = re.sub(r'"?\bpartition\b"?', "`partition`", columns)
        return self.query(f"SELECT {columns} FROM `{self.schema}_c`.`millrace_{table}` ORDER BY 1")

    def close(self):
        self.execute(f"DROP DATABASE IF EXISTS `{self.schema}`")
        self.execute(f"DROP DATABASE IF EXISTS `{self.schema}_c`")
        self.execute(f"DROP USER IF EXISTS `{self.schema}`")  # of the test's own: e2e/admin.py
        self.db.close()
        self.plain.close()


class MariaDb(MySql):
    name = "mariadb"
    variable = "MILLRACE_TEST_MARIADB"


TARGETS = {"sqlite": Sqlite, "postgresql": Postgres, "mariadb": MariaDb, "mysql": MySql}
