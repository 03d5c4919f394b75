"""A long stream of change events, made from a seed, and a model that says what the tables must hold after any part of it.

The stream has everything that has ever made loaders lose or double rows: creates, updates, deletes and tombstones, partial updates, truncates,
changes of keys, columns that appear later, integer columns that widen to decimals, values that are not there, poisoned events, an
append-only table and a table without any key. Tables that a truncate or the order of all events concerns live in one partition."""
import json
import random

PARTITIONS = 4
TABLES = ("customers", "orders", "docs", "session", "audit", "log")
KEYS = {"customers": ("id",), "orders": ("region", "id"), "docs": ("_id",), "session": ("sid",)}
UNAVAILABLE = "__debezium_unavailable_value"
REFUSED_QTY = 666         # a CHECK constraint that the test puts on customers.qty refuses it
REFUSED_FROM = 2000       # from this event on


class Event:
    """One message, and what it does to the model."""
    __slots__ = ("partition", "topic", "key", "value", "effects", "is_dead")

    def __init__(self, partition, topic, key, value, effects=(), is_dead=False):
        self.partition, self.topic, self.key, self.value = partition, topic, key, value
        self.effects, self.is_dead = effects, is_dead

    @property
    def refused(self):
        return any(e[0] == "refused" for e in self.effects)

    def key_text(self):
        return None if self.key is None else json.dumps(self.key, separators=(",", ":"))

    def value_text(self):
        return self.value if self.value is None or isinstance(self.value, str) else json.dumps(self.value, separators=(",", ":"))

    def line(self, offset):
        """As a record in a file."""
        return json.dumps({"topic": self.topic, "partition": self.partition, "offset": offset, "key": self.key, "value": self.value},
                          separators=(",", ":"))


def envelope(table, op, before=None, after=None):
    return {"before": before, "after": after, "op": op, "ts_ms": 1700000000000,
            "source": {"connector": "mysql", "name": "shop", "db": "shop", "table": table, "ts_ms": 1700000000000}}


def mongo_envelope(op, after=None, description=None):
    return {"before": None, "after": after, "updateDescription": description, "op": op, "ts_ms": 1700000000000,
            "source": {"connector": "mongodb", "name": "mongo", "db": "shop", "collection": "docs", "ts_ms": 1700000000000}}


class Generator:
    def __init__(self, seed, count, keys=3000):
        self.rnd = random.Random(seed)
        self.count = count
        self.keys = keys
        self.live = {"customers": {}, "orders": {}, "docs": {}, "session": {}}
        self.log = []
        self.seq = 0
        self.i = 0

    def events(self):
        """The next `count` of them, or a few more: what happens at once is not cut."""
        makers = [(self.customer, 34), (self.order, 18), (self.doc, 18), (self.session, 8), (self.audit, 14), (self.keyless, 8)]
        choices, weights = [m for m, _ in makers], [w for _, w in makers]
        out = self.first() if self.i == 0 else []
        first = self.i
        while len(out) < self.count:
            self.i = first + len(out)
            out.extend(self.rnd.choices(choices, weights)[0]())
        self.i = first + len(out)
        return out

    def first(self):
        """Every partition knows the type of `qty` before anything is poisoned."""
        out = []
        for k in range(PARTITIONS):
            row = {"id": k, "name": "first", "qty": 1}
            self.live["customers"][k] = row
            out.append(Event(k, "shop.shop.customers", {"id": k}, envelope("customers", "c", after=row), [("put", "customers", row)]))
        return out

    # ---- values ----

    def text(self):
        return "".join(self.rnd.choices("abcdefghijklmnop äöü€'\"\\,\t", k=self.rnd.randrange(0, 14)))

    def attributes(self, row, most):
        """Columns that appear all along the stream, `most` after `count` events; each holds whole numbers at first and quarters later."""
        every = self.count // most
        known = 1 + self.i // every
        for n in self.rnd.sample(range(known), min(known, 3)):
            is_old = self.i > (n + 3) * every
            row[f"attr_{n}"] = self.rnd.randrange(-10**6, 10**6) + (self.rnd.choice((0.25, 0.5, 0.75)) if is_old and self.rnd.random() < 0.5 else 0)

    # ---- tables ----

    def customer(self):
        live, rnd = self.live["customers"], self.rnd
        topic = "shop.shop.customers"
        k = rnd.randrange(self.keys)
        before = live.get(k)
        dice = rnd.random()
        if before is not None and dice < 0.12:
            del live[k]
            gone = [Event(k % PARTITIONS, topic, {"id": k}, envelope("customers", "d", before=before), [("drop", "customers", (k,))])]
            return gone + [Event(k % PARTITIONS, topic, {"id": k}, None)] * rnd.randrange(2)
        if before is not None and dice < 0.16:
            new = k + PARTITIONS * rnd.randrange(self.keys, self.keys + 50)
            if new not in live:
                row = {**before, "id": new}
                del live[k]
                live[new] = row
                return [Event(k % PARTITIONS, topic, {"id": k}, envelope("customers", "u", before, row),
                              [("drop", "customers", (k,)), ("put", "customers", row)])]
        row = {"id": k, "name": self.text(), "qty": rnd.randrange(600)}
        self.attributes(row, 60)
        if rnd.random() < 0.2:
            row["note"] = self.text()
        if self.i > 1000 and dice > 0.96:
            bad = {**row, "qty": "a text"}
            return [Event(k % PARTITIONS, topic, {"id": k}, envelope("customers", "u", before, bad), is_dead=True)]
        if self.i > REFUSED_FROM and before is not None and dice > 0.93:
            bad = {**row, "qty": REFUSED_QTY, "name": before["name"]}
            return [Event(k % PARTITIONS, topic, {"id": k}, envelope("customers", "u", before, bad), [("refused", "customers", bad)])]
        sent = dict(row)
        if before is not None and rnd.random() < 0.1:
            sent["name"] = UNAVAILABLE
            row["name"] = before["name"]
        live[k] = row
        op = "u" if before is not None else rnd.choice("cr")
        effect = "put" if sent["name"] != UNAVAILABLE else "keep_name"
        return [Event(k % PARTITIONS, topic, {"id": k}, envelope("customers", op, before, sent), [(effect, "customers", row)])]

    def order(self):
        live, rnd = self.live["orders"], self.rnd
        topic = "shop.shop.orders"
        k = (rnd.choice(("eu", "us", "ap")), rnd.randrange(self.keys // 6))
        key = {"region": k[0], "id": k[1]}
        part = k[1] % PARTITIONS
        if rnd.random() < 0.004 and self.i > 500:
            return [Event(part, topic, key, "{\"this is\": no JSON", is_dead=True)]
        before = live.get(k)
        if before is not None and rnd.random() < 0.2:
            del live[k]
            return [Event(part, topic, key, envelope("orders", "d", before=before), [("drop", "orders", k)])]
        row = {**key, "total": rnd.randrange(10**9) + (0.5 if self.i > 2500 and rnd.random() < 0.3 else 0), "state": rnd.choice(("new", "paid", None))}
        row["ship"] = {"city": self.text(), "zip": rnd.randrange(99999)} if rnd.random() < 0.6 else None
        row["tags"] = [rnd.randrange(9) for _ in range(rnd.randrange(4))]
        live[k] = row
        flat = {c: v for c, v in row.items() if c != "ship"}
        if row["ship"] is not None:
            flat.update(ship_city=row["ship"]["city"], ship_zip=row["ship"]["zip"])
        return [Event(part, topic, key, envelope("orders", "u" if before else "c", before, row), [("put", "orders", flat)])]

    def doc(self):
        live, rnd = self.live["docs"], self.rnd
        topic = "mongo.shop.docs"
        k = rnd.randrange(self.keys // 3)
        key, part = {"id": str(k)}, k % PARTITIONS
        if k in live and rnd.random() < 0.1:
            del live[k]
            return [Event(part, topic, key, mongo_envelope("d"), [("drop", "docs", (k,))]), Event(part, topic, key, None)]
        fields = {"n": rnd.randrange(10**6)}
        if rnd.random() < 0.5:
            fields["name"] = self.text()
        self.attributes(fields, 30)
        if k in live and rnd.random() < 0.7:
            removed = [c for c in ("name", "where") if rnd.random() < 0.2 and c not in fields]
            changed = dict(fields)
            effect = dict(fields)
            if "where" not in removed and rnd.random() < 0.4:
                changed["where.x"] = effect["where_x"] = rnd.randrange(100)
            text = {"updatedFields": json.dumps(changed), "removedFields": removed or None, "truncatedArrays": None}
            gone = [c for name in removed for c in {"name": ["name"], "where": ["where_x", "where_y"]}[name]]
            return [Event(part, topic, key, mongo_envelope("u", description=text), [("change", "docs", (k,), {"_id": k, **effect}, gone)])]
        doc = {"_id": k, **fields}
        flat = dict(doc)
        if rnd.random() < 0.5:
            doc["where"] = {"x": rnd.randrange(100), "y": rnd.randrange(100)}
            flat.update(where_x=doc["where"]["x"], where_y=doc["where"]["y"])
        op = "u" if k in live else "c"
        live[k] = True
        return [Event(part, topic, key, mongo_envelope(op, after=json.dumps(doc)), [("put", "docs", flat)])]

    def session(self):
        live, rnd = self.live["session"], self.rnd
        topic = "shop.shop.session"
        if rnd.random() < 0.02:
            live.clear()
            return [Event(0, topic, None, envelope("session", "t"), [("empty", "session")])]
        k = f"s{rnd.randrange(400)}"
        if k in live and rnd.random() < 0.15:
            before = live.pop(k)
            return [Event(0, topic, {"sid": k}, envelope("session", "d", before=before), [("drop", "session", (k,))])]
        row = {"sid": k, "hits": rnd.randrange(1000), "ua": self.text()}
        before, live[k] = live.get(k), row
        return [Event(0, topic, {"sid": k}, envelope("session", "u" if before else "c", before, row), [("put", "session", row)])]

    def audit(self):
        rnd = self.rnd
        out = []
        for _ in range(rnd.randrange(1, 4)):
            self.seq += 1
            row = {"seq": self.seq, "what": rnd.choice(("in", "out")), "n": rnd.randrange(5)}
            self.attributes(row, 10)
            out.append(Event(self.seq % PARTITIONS, "shop.shop.audit", {"seq": self.seq}, envelope("audit", rnd.choice("cru"), after=row),
                             [("append", "audit", row)]))
        return out

    def keyless(self):
        """Rows that repeat, so that it matters that one of them is matched and not all."""
        rnd = self.rnd
        topic = "shop.shop.log"
        row = {"a": rnd.randrange(12), "b": rnd.choice((None, "x", "y"))}
        dice = rnd.random()
        if self.log and dice < 0.25:
            before = self.log.pop(rnd.randrange(len(self.log)))
            return [Event(0, topic, None, envelope("log", "d", before=before), [("swap", "log", before, None)])]
        if self.log and dice < 0.5:
            at = rnd.randrange(len(self.log))
            before, self.log[at] = self.log[at], row
            return [Event(0, topic, None, envelope("log", "u", before, row), [("swap", "log", before, row)])]
        self.log.append(row)
        return [Event(0, topic, None, envelope("log", "c", after=row), [("append", "log", row)])]


def frozen(row):
    return tuple(sorted((k, json.dumps(v) if isinstance(v, list) else v) for k, v in row.items() if v is not None))


class Model:
    """The tables after a part of the stream. Rows are never changed in place, so a fork is cheap."""

    def __init__(self, refuses):
        self.refuses = refuses  # the target refuses REFUSED_QTY
        self.keyed = {t: {} for t in KEYS}
        self.bags = {"audit": {}, "log": {}}
        self.dead = {}          # place -> times
        self.maybe_dead = {}    # the same; refused by the target only if no later change of the row came in the same batch

    def fork(self):
        twin = Model(self.refuses)
        twin.keyed = {t: dict(rows) for t, rows in self.keyed.items()}
        twin.bags = {t: dict(rows) for t, rows in self.bags.items()}
        twin.dead, twin.maybe_dead = dict(self.dead), dict(self.maybe_dead)
        return twin

    def key_of(self, table, row):
        return tuple(row[c] for c in KEYS[table])

    def count(self, table, row, n):
        bag = self.bags[table]
        row = frozen(row)
        bag[row] = bag.get(row, 0) + n
        if bag[row] <= 0:
            del bag[row]

    def apply(self, ev, place):
        if ev.is_dead:
            self.dead[place] = 1
        for effect in ev.effects:
            getattr(self, "do_" + effect[0])(place, *effect[1:])

    def do_put(self, _place, table, row):
        self.keyed[table][self.key_of(table, row)] = row

    def do_refused(self, place, table, row):
        if self.refuses:
            self.maybe_dead[place] = 1
        else:
            self.do_put(place, table, row)

    def do_keep_name(self, _place, table, row):
        rows, key = self.keyed[table], self.key_of(table, row)
        rows[key] = {**row, "name": rows.get(key, {}).get("name")}

    def do_drop(self, _place, table, key):
        self.keyed[table].pop(key, None)

    def do_change(self, _place, table, key, changed, gone):
        row = dict(self.keyed[table].get(key, {}))
        for column in gone:
            row[column] = None
        row.update(changed)
        self.keyed[table][key] = row

    def do_empty(self, _place, table):
        self.keyed[table] = {}

    def do_append(self, _place, table, row):
        self.count(table, row, 1)

    def do_swap(self, place, table, before, after):
        if frozen(before) in self.bags[table]:
            self.count(table, before, -1)
        if after is not None:
            self.count(table, after, 1)
