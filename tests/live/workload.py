"""A random workload on a MariaDB source: rows, transactions, key changes, definitions that change. Everything follows from the seed, but for what the
server's clock decides."""
import json
import random
import threading
import time
import uuid
from urllib.parse import urlsplit

import pymysql

# The tables. What each is there for:
#   items   a column of every type; definitions change while rows flow
#   orders  a key of two columns
#   words   keys that a careless collation merges: case, accents, trailing blanks
#   journal truncated now and then
#   audit   only ever inserted into, and appended to in the target: an event applied twice is a row too many there
#   loose   no key at all: rows are found by their content
TABLES = {
    "items": """CREATE TABLE items (id BIGINT NOT NULL PRIMARY KEY, tiny TINYINT, small SMALLINT, medium MEDIUMINT UNSIGNED, i INT, big BIGINT,
        ubig BIGINT UNSIGNED, dec_a DECIMAL(20,5), f FLOAT, dbl DOUBLE, flag BOOLEAN NOT NULL, bits BIT(11), c CHAR(10), v VARCHAR(60), txt MEDIUMTEXT,
        bin VARBINARY(40), blb MEDIUMBLOB, day DATE, tm TIME(6), wall DATETIME(6), instant TIMESTAMP(3) NULL, y YEAR, word ENUM('a','b''c','ü'),
        words SET('x','y','z'), doc JSON, uid UUID)""",
    "orders": """CREATE TABLE orders (customer INT NOT NULL, no SMALLINT NOT NULL, amount DECIMAL(12,2), state VARCHAR(12), PRIMARY KEY (customer, no))""",
    "words": """CREATE TABLE words (w VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL PRIMARY KEY, n INT)""",
    "journal": """CREATE TABLE journal (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, line VARCHAR(80))""",
    "audit": """CREATE TABLE audit (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40), at DATETIME(6))""",
    "loose": """CREATE TABLE loose (a INT, b VARCHAR(20), c DATE)""",
}
SINGLE_PARTITION = ("journal", "loose")

# Definitions that change, in this order, one at a time. None gives a value to rows that are there: no event would tell of it.
CHANGES = [
    "ALTER TABLE items ADD COLUMN extra INT NULL",
    "ALTER TABLE items MODIFY small INT NULL",
    "ALTER TABLE items MODIFY v VARCHAR(400) NULL",
    "ALTER TABLE items ADD COLUMN note VARCHAR(50) NULL AFTER id",
    "CREATE TABLE late (id INT NOT NULL PRIMARY KEY, v VARCHAR(30))",
    "ALTER TABLE items MODIFY dec_a DECIMAL(30,8) NULL",
    "ALTER TABLE orders ADD COLUMN paid DECIMAL(6,1) NULL",
    "ALTER TABLE items MODIFY i BIGINT NULL",
    "ALTER TABLE items DROP COLUMN c",
    "ALTER TABLE items MODIFY f DOUBLE NULL",
    "ALTER TABLE orders MODIFY paid DECIMAL(14,4) NULL",
    "ALTER TABLE items MODIFY extra VARCHAR(30) NULL",
]

CONFUSABLE = ["a", "A", "á", "Á", "a ", "a  ", "ä", "a\u0308", "", " ", "ß", "ss", "SS", "İ", "i", "I", "ı", "🦀", "🦞", "\u00a0", "a\u200b", "Ａ", "'", "\\", '"', "\t", "a\n"]


def text_of(rnd, longest):
    alphabet = "abcXYZ 019,;'\"\\\t\n\räßЖ漢🙂"
    return "".join(rnd.choice(alphabet) for _ in range(rnd.randrange(longest + 1)))


def random_float(rnd):
    """Of six digits, since the connector's snapshot gets no more of a FLOAT, and whole in binary, since a FLOAT that becomes a DOUBLE at the source gets
    digits of which no event tells."""
    return rnd.randrange(-199999, 200000) / 2


def random_uuid(rnd):
    """No zero byte at the end: the binary log leaves it out, and the connector puts it in front."""
    return str(uuid.UUID(int=rnd.getrandbits(128) | 1, version=4))


def time_of(rnd, hours):
    sign = "-" if hours > 24 and rnd.random() < 0.3 else ""
    return f"{sign}{rnd.randrange(hours):02}:{rnd.randrange(60):02}:{rnd.randrange(60):02}.{rnd.randrange(10**6):06}"


def digits(rnd, whole, fraction):
    return f"{rnd.choice(['', '-'])}{rnd.randrange(10 ** rnd.randrange(1, whole + 1))}.{rnd.randrange(10 ** fraction):0{fraction}}"


def date_of(rnd, first=1000, last=9999):
    return f"{rnd.randrange(first, last + 1):04}-{rnd.randrange(1, 13):02}-{rnd.randrange(1, 29):02}"


class Items:
    """Values of items' columns, by name; columns come, go and widen."""

    def __init__(self, rnd):
        self.rnd = rnd
        edge = lambda low, high: lambda: rnd.choice([low, high, 0, rnd.randint(low, high), rnd.randint(-9, 9) if low < 0 else rnd.randint(0, 9)])
        self.make = {
            "tiny": edge(-128, 127), "small": edge(-2**15, 2**15 - 1), "medium": edge(0, 2**24 - 1), "i": edge(-2**31, 2**31 - 1),
            "big": edge(-2**63, 2**63 - 1), "ubig": edge(0, 2**64 - 1), "dec_a": lambda: digits(rnd, 15, 5), "f": lambda: random_float(rnd),
            "dbl": lambda: rnd.choice([0.1, 1e300, -1e-300, rnd.random()]), "flag": lambda: rnd.randrange(2), "bits": edge(0, 2**11 - 1),
            "c": lambda: text_of(rnd, 10), "v": lambda: text_of(rnd, 60), "txt": lambda: text_of(rnd, rnd.choice([0, 20, 300])) * rnd.choice([1, 1, 1, 200]),
            "bin": lambda: rnd.randbytes(rnd.randrange(41)), "blb": lambda: rnd.randbytes(rnd.choice([0, 10, 1000])), "day": lambda: date_of(rnd),
            "tm": lambda: time_of(rnd, 24), "wall": lambda: f"{date_of(rnd)} {time_of(rnd, 24)}",
            "instant": lambda: f"{date_of(rnd, 1971, 2037)} {time_of(rnd, 24)[:12]}", "y": lambda: rnd.randrange(1901, 2156),
            "word": lambda: rnd.choice(["a", "b'c", "ü"]), "words": lambda: ",".join(w for w in "xyz" if rnd.random() < 0.5),
            "doc": lambda: json.dumps({"n": rnd.randrange(10**12), "t": text_of(rnd, 9), "a": [1, None, True]}, ensure_ascii=False),
            "uid": lambda: random_uuid(rnd),
        }

    def row(self, columns=None):
        """{column: value} with NULLs among them."""
        return {c: self.make[c]() if c == "flag" or self.rnd.random() < 0.85 else None for c in columns or self.make}

    def some(self):
        return self.row(self.rnd.sample(sorted(self.make), self.rnd.randrange(1, 6)))

    def changed(self, statement):
        """The definition has changed: values follow."""
        rnd = self.rnd
        if "ADD COLUMN extra" in statement:
            self.make["extra"] = lambda: rnd.randrange(-1000, 1000)
        elif "MODIFY small" in statement:
            self.make["small"] = lambda: rnd.randint(-2**31, 2**31 - 1)
        elif "MODIFY v" in statement:
            self.make["v"] = lambda: text_of(rnd, 400)
        elif "ADD COLUMN note" in statement:
            self.make["note"] = lambda: text_of(rnd, 50)
            self.make["tm"] = lambda: time_of(rnd, 838)  # what fits a time of day no longer
        elif "MODIFY dec_a" in statement:
            self.make["dec_a"] = lambda: digits(rnd, 22, 8)
        elif "MODIFY i " in statement:
            self.make["i"] = lambda: rnd.randint(-2**63, 2**63 - 1)
        elif "DROP COLUMN c" in statement:
            del self.make["c"]
        elif "MODIFY f" in statement:
            self.make["f"] = lambda: rnd.uniform(-1e9, 1e9)
        elif "MODIFY extra" in statement:
            self.make["extra"] = lambda: text_of(rnd, 30)


class Workload(threading.Thread):
    """Runs until stop(); then `error` is None, or what went wrong. Definitions change, and tables are truncated, only while `may_change` is
    set: a connector that is taking its snapshot cannot bear it."""

    def __init__(self, url, database, seed, change_every):
        super().__init__(name="workload", daemon=True)
        self.rnd = random.Random(seed)
        parts = urlsplit(url)
        self.connect_args = {"host": parts.hostname, "port": parts.port, "user": parts.username, "password": parts.password, "charset": "utf8mb4"}
        self.database, self.change_every = database, change_every
        self.items = Items(self.rnd)
        self.tables = list(TABLES)
        self.keys = {"items": set(), "orders": set(), "words": set()}
        self.fresh = 0
        self.changes = list(CHANGES)
        self.transactions = self.statements = self.truncates = 0
        self.may_change, self.stopping = threading.Event(), threading.Event()
        self.error = None
        self.db = pymysql.connect(**self.connect_args, conv=pymysql.converters.encoders, autocommit=True)
        self.execute(f"CREATE DATABASE `{database}` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        self.execute(f"USE `{database}`")
        self.execute("SET time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES'")
        for statement in TABLES.values():
            self.execute(statement)

    def execute(self, sql, args=None):
        self.statements += 1
        with self.db.cursor() as cursor:
            cursor.execute(sql, args)
            return cursor.fetchall()

    def drop(self):
        self.execute(f"DROP DATABASE `{self.database}`")
        self.db.close()

    # ---- rows of each table ----

    def pick(self, table):
        keys = self.keys[table]
        return self.rnd.choice(sorted(keys)) if keys else None

    def new_id(self):
        self.fresh += 1
        return self.fresh * 7919 % 1000003 - (self.fresh % 3) * 10**9

    def insert(self, table, row):
        columns = ", ".join(f"`{c}`" for c in row)
        self.execute(f"INSERT INTO {table} ({columns}) VALUES ({', '.join(['%s'] * len(row))})", list(row.values()))

    def touch_items(self):
        key, dice = self.pick("items"), self.rnd.random()
        if key is None or dice < 0.35:
            new = self.new_id()
            self.insert("items", {"id": new, **self.items.row()})
            self.keys["items"].add(new)
        elif dice < 0.75:
            row = self.items.some()
            self.execute(f"UPDATE items SET {', '.join(f'`{c}` = %s' for c in row)} WHERE id = %s", [*row.values(), key])
        elif dice < 0.80:
            self.execute("UPDATE items SET flag = 1 - flag WHERE id BETWEEN %s AND %s", [key, key + 20000])
        elif dice < 0.90:
            self.execute("DELETE FROM items WHERE id = %s", [key])
            self.keys["items"].discard(key)
        else:
            new = self.new_id()
            self.execute("UPDATE items SET id = %s WHERE id = %s", [new, key])
            self.keys["items"].symmetric_difference_update({key, new})
            if self.rnd.random() < 0.5:  # and another row takes the place
                self.insert("items", {"id": key, **self.items.row()})
                self.keys["items"].add(key)

    def touch_orders(self):
        key, dice = self.pick("orders"), self.rnd.random()
        if key is None or dice < 0.5:
            new = (self.rnd.randrange(40), self.rnd.randrange(30000))
            if new not in self.keys["orders"]:
                self.insert("orders", {"customer": new[0], "no": new[1], "amount": digits(self.rnd, 8, 2), "state": "new"})
                self.keys["orders"].add(new)
        elif dice < 0.7:
            self.execute("UPDATE orders SET state = %s WHERE customer = %s", [self.rnd.choice(["paid", "sent", None]), key[0]])
            if self.change_is_done("ADD COLUMN paid"):
                wide = self.change_is_done("MODIFY paid")
                self.execute("UPDATE orders SET paid = %s WHERE customer = %s AND no = %s", [digits(self.rnd, 9 if wide else 5, 4 if wide else 1), *key])
        elif dice < 0.85:
            self.execute("DELETE FROM orders WHERE customer = %s AND no = %s", key)
            self.keys["orders"].discard(key)
        else:
            new = (self.rnd.randrange(40), key[1])
            if new not in self.keys["orders"]:
                self.execute("UPDATE orders SET customer = %s WHERE customer = %s AND no = %s", [new[0], *key])
                self.keys["orders"].symmetric_difference_update({key, new})

    def touch_words(self):
        word = self.rnd.choice(CONFUSABLE) + self.rnd.choice(["", "", "x"])
        if word not in self.keys["words"]:
            self.insert("words", {"w": word, "n": self.rnd.randrange(1000)})
            self.keys["words"].add(word)
        elif self.rnd.random() < 0.5:
            self.execute("UPDATE words SET n = n + 1 WHERE w = %s", [word])
        else:
            self.execute("DELETE FROM words WHERE w = %s", [word])
            self.keys["words"].discard(word)

    def touch_journal(self):
        self.execute("INSERT INTO journal (line) VALUES (%s)", [text_of(self.rnd, 80)])
        if self.rnd.random() < 0.2:
            self.execute("UPDATE journal SET line = CONCAT('again ', LEFT(line, 40)) ORDER BY id DESC LIMIT 3")

    def touch_audit(self):
        self.execute("INSERT INTO audit (what, at) VALUES (%s, NOW(6))", [text_of(self.rnd, 40)])

    def touch_loose(self):
        dice, small = self.rnd.random(), self.rnd.randrange(12)
        count = int(self.execute("SELECT COUNT(*) FROM loose")[0][0])
        if count < 150 and dice < 0.5:
            self.insert("loose", {"a": self.rnd.choice([small, None]), "b": self.rnd.choice(["", "x", None, "y"]), "c": self.rnd.choice([None, "2026-02-03"])})
        elif dice < 0.75:
            self.execute("UPDATE loose SET a = %s WHERE a <=> %s LIMIT 2", [self.rnd.randrange(12), self.rnd.choice([small, None])])
        else:
            self.execute("DELETE FROM loose WHERE a <=> %s LIMIT 1", [self.rnd.choice([small, None])])

    def touch_late(self):
        if self.rnd.random() < 0.8:
            self.execute("REPLACE INTO late VALUES (%s, %s)", [self.rnd.randrange(500), text_of(self.rnd, 30)])
        else:
            self.execute("DELETE FROM late WHERE id = %s", [self.rnd.randrange(500)])

    # ---- transactions, definitions ----

    def change_is_done(self, words):
        return not any(words in change for change in self.changes)

    def transaction(self):
        length = self.rnd.choice([1, 1, 2, 5, 20, 120])
        weights = {"items": 6, "orders": 3, "words": 2, "journal": 1, "audit": 2, "loose": 1, "late": 2}
        tables = self.rnd.choices(self.tables, [weights[t] for t in self.tables], k=length)
        kept = {table: set(keys) for table, keys in self.keys.items()}
        self.execute("START TRANSACTION")
        for table in tables:
            getattr(self, "touch_" + table)()
        if self.rnd.random() < 0.08:
            self.execute("ROLLBACK")
            self.keys = kept
        else:
            self.execute("COMMIT")
        self.transactions += 1

    def change(self):
        statement = self.changes.pop(0)
        self.execute(statement)
        self.items.changed(statement)
        if statement.startswith("CREATE TABLE late"):
            self.tables.append("late")

    def fill(self, transactions):
        """Rows that are there before the connector looks."""
        for _ in range(transactions):
            self.transaction()

    def run(self):
        next_change = None
        try:
            while not self.stopping.is_set() or (self.changes and self.may_change.is_set()):
                if self.may_change.is_set():
                    now = time.monotonic()
                    next_change = next_change or now
                    if self.changes and (now >= next_change or self.stopping.is_set()):
                        self.change()
                        next_change = now + self.rnd.uniform(0.5, 1.5) * self.change_every
                self.transaction()
                if self.rnd.random() < 0.01 and self.may_change.is_set():
                    self.execute("TRUNCATE TABLE journal")
                    self.truncates += 1
                time.sleep(self.rnd.choice([0, 0.01, 0.05, 0.2]))
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def stop(self):
        self.stopping.set()
        self.join()

    # ---- what the tables hold, in the notation of tests/recorded/README.md ----

    def content(self):
        columns = {}
        for table, column, kind in self.execute("SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s "
                                                "ORDER BY TABLE_NAME, ORDINAL_POSITION", [self.database]):
            columns.setdefault(table, []).append([column, kind])
        key_rows = self.execute("SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s AND INDEX_NAME = 'PRIMARY' "
                                "ORDER BY TABLE_NAME, SEQ_IN_INDEX", [self.database])
        out = {}
        for table, described in columns.items():
            selected = ", ".join(select_text(name, kind) for name, kind in described)
            rows = self.execute(f"SELECT {selected} FROM `{table}`")
            out[table] = {"key": [c for t, c in key_rows if t == table], "columns": described, "rows": [list(row) for row in rows]}
        return out


def select_text(name, kind):
    quoted = f"`{name}`"
    if "binary" in kind or "blob" in kind:
        return f"LOWER(HEX({quoted}))"
    if kind.startswith("bit"):
        return f"{quoted} + 0"
    if kind.startswith("float"):
        return f"CAST({quoted} AS DOUBLE)"
    return quoted
