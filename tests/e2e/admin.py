"""What the tests do to a target's server as somebody else: locks, cut connections, rights, a full disk. The same words for every kind of server."""
import contextlib
import itertools
import os
import re
import time
from urllib.parse import urlsplit

FULL = "No space left on device"
REFRESH_S = 0.15 # InnoDB's list of transactions stays as it is while it is looked at more often than every 0.1 s


class Held:
    """A transaction of somebody else that holds something until it is ended."""

    def __init__(self, db, *statements):
        self.db = db
        self.run(*statements)

    def run(self, *statements):
        with self.db.cursor() as cur:
            for sql in statements:
                cur.execute(sql)

    def end(self):
        self.db.rollback()
        self.db.close()


class PgAdmin:
    """The program's sessions have a name of the test's own, by which they are told from those of other tests. With a number for each use of the
    target's arguments it tells an instance from others."""
    denied = "permission denied"
    lock_timeout = "lock timeout"

    def __init__(self, target):
        self.target = target
        self.application = f"millrace_{target.schema}."
        self.number = itertools.count(1)
        args = target.args() # not bound: a second admin of the same target changes nothing
        target.args = lambda: ["--to", self.named(target.url), *args[2:]]

    def named(self, url):
        return f"{url}{'&' if '?' in url else '?'}application_name={self.application}{next(self.number)}"

    def place(self, table):
        return f'"{self.target.schema}"."{table}"'

    def session(self):
        import psycopg2
        return psycopg2.connect(self.target.url)

    def lock(self, table):
        """Nobody else reads or writes the table."""
        return Held(self.session(), f"LOCK TABLE {self.place(table)} IN ACCESS EXCLUSIVE MODE")

    def lock_for_writers(self, table):
        return Held(self.session(), f"LOCK TABLE {self.place(table)} IN EXCLUSIVE MODE")

    def lock_for_alters(self, table):
        """Rows go past it, an ALTER does not."""
        return Held(self.session(), f"LOCK TABLE {self.place(table)} IN ROW EXCLUSIVE MODE")

    def hold_positions(self):
        return Held(self.session(), f'SELECT * FROM "{self.target.schema}_c".position FOR UPDATE')

    def lock_rows(self, table):
        """Somebody who, once he waits for the program, is not the one whose transaction is ended: PostgreSQL ends who finds the deadlock."""
        return Held(self.session(), "SET deadlock_timeout TO '20s'", self.lock_rows_of(table))

    def lock_rows_of(self, table):
        return f"LOCK TABLE {self.place(table)} IN ACCESS EXCLUSIVE MODE"

    def waits_for_a_lock(self):
        """Does a statement on this test's own schemas wait? Other tests use the server at the same time."""
        return self.target.query("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'millrace%%' AND wait_event_type = 'Lock' "
                                 "AND strpos(query, %s) > 0", (self.target.schema,))[0][0] > 0

    def sessions(self):
        return self.target.query("SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, %s)", (self.application,))[0][0]

    def cut_some(self):
        """End some connections that are at work; their number."""
        return len(self.target.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE starts_with(application_name, %s) AND "
                                     "random() < 0.4 AND state <> 'idle'", (self.application,)))

    def sessions_of(self, instance):
        """(is it at work, has it a transaction) for each."""
        name = next(re.search("application_name=([^& ]+)", a)[1] for a in instance.args if "application_name=" in a)
        return self.target.query("SELECT state = 'active' AND wait_event IS DISTINCT FROM 'ClientRead', xact_start IS NOT NULL "
                                 "FROM pg_stat_activity WHERE application_name = %s", (name,))

    def fill_disk(self, table):
        """The state that a full disk gives, raised by a trigger."""
        place = f'"{self.target.schema}"'
        self.target.execute(f"CREATE FUNCTION {place}.full_disk() RETURNS trigger LANGUAGE plpgsql AS "
                            f"$$BEGIN RAISE EXCEPTION 'could not extend file: {FULL}' USING ERRCODE = '53100'; END$$")
        self.target.execute(f"CREATE TRIGGER full_disk BEFORE INSERT ON {self.place(table)} EXECUTE FUNCTION {place}.full_disk()")

    def free_disk(self, table):
        self.target.execute(f"DROP TRIGGER full_disk ON {self.place(table)}")

    @contextlib.contextmanager
    def loader(self):
        """A user who may only load; the target's arguments name him meanwhile."""
        role, args = f"loader{os.getpid()}", self.target.args
        self.target.execute(f"CREATE ROLE {role} LOGIN")
        try:
            self.target.execute(f"GRANT CREATE ON DATABASE postgres TO {role}")
            self.target.args = lambda: ["--to", self.named(self.target.url.replace("millrace@", role + "@")), *args()[2:]]
            yield role
        finally:
            self.target.args = args
            self.target.execute(f"DROP OWNED BY {role} CASCADE")
            self.target.execute(f"DROP ROLE {role}")

    def may_insert(self, role, table, is_allowed):
        if is_allowed:
            self.target.execute(f"GRANT INSERT ON {self.place(table)} TO {role}")
        else:
            self.target.execute(f"REVOKE INSERT ON {self.place(table)} FROM {role}")

    def put_back(self, tables):
        """One transaction; [(table, what it was)]."""
        self.target.execute("BEGIN; " + "; ".join(f"DELETE FROM {t}; INSERT INTO {t} SELECT * FROM {kept}" for t, kept in tables) + "; COMMIT")

    position = "position"


class MyAdmin:
    """The program has a user of the test's own, by whom its sessions are told from those of other tests."""
    denied = "command denied"
    lock_timeout = "Lock wait timeout exceeded"
    position = "millrace_position"

    def __init__(self, target):
        self.target = target
        self.user = target.schema
        if getattr(target, "admin_url", None) is None: # the first one for this target
            target.admin_url = target.url
            parts = urlsplit(target.url)
            target.url = parts._replace(netloc=f"{self.user}:x@{parts.hostname}:{parts.port}").geturl()
            target.execute(f"CREATE USER \"{self.user}\"@'%' IDENTIFIED BY 'x'")
            target.execute(f"GRANT ALL ON *.* TO \"{self.user}\"@'%'")

    def place(self, table):
        return f'"{self.target.schema}"."{table}"'

    def session(self):
        return type(self.target).connect(self.target.admin_url, autocommit=False)

    def lock(self, table):
        return Held(self.session(), f"LOCK TABLES {self.place(table)} WRITE")

    def lock_for_writers(self, table):
        return Held(self.session(), f"LOCK TABLES {self.place(table)} READ")

    def lock_for_alters(self, table):
        return Held(self.session(), f"SELECT * FROM {self.place(table)} LIMIT 1")

    def hold_positions(self):
        return Held(self.session(), f'SELECT * FROM "{self.target.schema}_c".millrace_position FOR UPDATE')

    def lock_rows(self, table):
        """InnoDB ends the transaction that has changed less."""
        self.target.execute(f"CREATE TABLE IF NOT EXISTS {self.place('weight')} (id INT)")
        many = ",".join("(1)" for _ in range(5000))
        return Held(self.session(), f"INSERT INTO {self.place('weight')} VALUES {many}", self.lock_rows_of(table))

    def lock_rows_of(self, table):
        return f"SELECT COUNT(*) FROM {self.place(table)} FOR UPDATE"

    def waits_for_a_lock(self):
        time.sleep(REFRESH_S)
        return self.target.query("SELECT COUNT(*) FROM information_schema.processlist p LEFT JOIN information_schema.innodb_trx t "
                                 "ON t.trx_mysql_thread_id = p.id WHERE p.user = %s AND (t.trx_state = 'LOCK WAIT' OR "
                                 "p.state LIKE 'Waiting for table%%lock')", (self.user,))[0][0] > 0

    def sessions(self):
        return self.target.query("SELECT COUNT(*) FROM information_schema.processlist WHERE user = %s", (self.user,))[0][0]

    def cut_some(self):
        found = self.target.query("SELECT id FROM information_schema.processlist WHERE user = %s AND RAND() < IF(command = 'Sleep', 0.1, 0.4)",
                                  (self.user,))
        cut = 0
        for (number,) in found:
            with contextlib.suppress(Exception): # it may have ended by itself
                self.target.execute(f"KILL CONNECTION {number}")
                cut += 1
        return cut

    def sessions_of(self, instance):
        time.sleep(REFRESH_S)
        ports = local_ports(instance.proc.pid)
        return [(command != "Sleep", trx is not None) for host, command, trx in self.target.query(
            "SELECT p.host, p.command, t.trx_id FROM information_schema.processlist p LEFT JOIN information_schema.innodb_trx t "
            "ON t.trx_mysql_thread_id = p.id WHERE p.user = %s", (self.user,)) if int(host.rsplit(":", 1)[1]) in ports]

    def fill_disk(self, table):
        self.target.execute(f'CREATE TRIGGER "{self.target.schema}".full_disk BEFORE INSERT ON {self.place(table)} FOR EACH ROW '
                            f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full: {FULL}'")

    def free_disk(self, table):
        self.target.execute(f'DROP TRIGGER "{self.target.schema}".full_disk')

    odd_number = "1815" # an internal error: nothing that could be known of it

    def refuse_oddly(self, table, condition, event="INSERT"):
        self.target.execute(f'CREATE TRIGGER "{self.target.schema}".odd BEFORE {event} ON {self.place(table)} FOR EACH ROW IF {condition} THEN '
                            f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {self.odd_number}, MESSAGE_TEXT = 'something odd'; END IF")

    def refuse_no_more(self, table):
        del table
        self.target.execute(f'DROP TRIGGER "{self.target.schema}".odd')

    @contextlib.contextmanager
    def loader(self):
        role, args, schema = f"l{self.user}", self.target.args, self.target.schema
        self.target.execute(f"CREATE USER \"{role}\"@'%' IDENTIFIED BY 'x'")
        try:
            for name in (schema, schema + "_c"):
                self.target.execute(f'GRANT ALL ON "{name}".* TO "{role}"@\'%\'')
            self.target.execute(f'GRANT SELECT ON test.* TO "{role}"@\'%\'')
            self.target.args = lambda: ["--to", re.sub("//[^@]*@", f"//{role}:x@", self.target.url), *args()[2:]]
            yield role
        finally:
            self.target.args = args
            self.target.execute(f'DROP USER "{role}"')

    def may_insert(self, role, table, is_allowed):
        del table # rights on a database have no exceptions
        if is_allowed:
            self.target.execute(f'GRANT INSERT ON "{self.target.schema}".* TO "{role}"')
        else:
            self.target.execute(f'REVOKE INSERT ON "{self.target.schema}".* FROM "{role}"')

    def put_back(self, tables):
        db = self.session()
        with db.cursor() as cur:
            for table, kept in tables:
                cur.execute(f"DELETE FROM {table}")
                cur.execute(f"INSERT INTO {table} SELECT * FROM {kept}")
        db.commit()
        db.close()


def local_ports(pid):
    """Of the process's TCP connections."""
    inodes = set()
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{number}")))
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as f:
        lines = [line.split() for line in f.readlines()[1:]]
    return {int(line[1].rsplit(":", 1)[1], 16) for line in lines if line[9] in inodes}


def has_open_transaction(admin, instance, timeout=10):
    """Of an instance that is stopped: in a transaction or not, once the server has done what it had been sent."""
    end, still = time.monotonic() + timeout, 0
    while still < 3 and time.monotonic() < end:
        sessions = admin.sessions_of(instance)
        still = 0 if any(is_busy for is_busy, _ in sessions) else still + 1
        time.sleep(0.1)
    return any(has for _, has in sessions)


def admin_of(target):
    return PgAdmin(target) if target.name == "postgresql" else MyAdmin(target)
