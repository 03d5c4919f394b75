"""Random documents with arrays, changed in every way that MongoDB's change events can tell, and what the tables of array.encoding=table must then hold.

The events are Debezium's envelopes, whole documents and partial updates mixed; the model is the documents themselves, exploded at the end."""
import copy
import json

DB, COLLECTION, TOPIC = "d", "docs", "p.d.docs"


# ---- documents ----

def a_text(rng):
    return rng.choice(["a", "b", "", "ü", "long " * 5, "0"])


def a_list(rng, make, most=4):
    return [make(rng) for _ in range(rng.randrange(most + 1))]


def a_sub(rng):
    return some(rng, {"x": lambda: rng.randrange(9), "ys": lambda: a_list(rng, lambda r: r.randrange(9), 3)})


def some(rng, members):
    """Each member with its chance; sometimes null."""
    out = {}
    for name, make in members.items():
        if rng.random() < 0.7:
            out[name] = make() if rng.random() < 0.9 else None
    return out


def an_item(rng):
    kind = rng.random()
    if kind < 0.08:
        return None
    if kind < 0.16:
        return rng.randrange(100)  # a scalar among documents
    return some(rng, {"sku": lambda: a_text(rng), "qty": lambda: rng.randrange(1000), "_id": lambda: rng.randrange(50),
                      "dim": lambda: some(rng, {"w": lambda: rng.randrange(9), "marks": lambda: a_list(rng, a_text, 2)}),
                      "tags": lambda: a_list(rng, a_text, 3), "subs": lambda: a_list(rng, a_sub, 3)})


def a_member(rng, name):
    return {
        "name": lambda: a_text(rng),
        "n": lambda: rng.randrange(1000),
        "addr": lambda: some(rng, {"city": lambda: a_text(rng), "lines": lambda: a_list(rng, a_text, 3)}),
        "items": lambda: a_list(rng, an_item, 5) if rng.random() < 0.93 else rng.randrange(5),
        "nums": lambda: a_list(rng, lambda r: r.randrange(9)),
        "grid": lambda: a_list(rng, lambda r: a_list(r, lambda q: q.randrange(9), 3), 3),
        "map": lambda: {str(rng.randrange(4)): some(rng, {"v": lambda: rng.randrange(9), "hs": lambda: a_list(rng, a_text, 2)}) for _ in range(2)},
    }[name]()


MEMBERS = ["name", "n", "addr", "items", "nums", "grid", "map"]


def a_document(rng, key):
    doc = {"_id": key}
    for name in MEMBERS:
        if rng.random() < 0.8:
            doc[name] = a_member(rng, name) if rng.random() < 0.95 else None
    return doc


def full_document(key):
    """Everything there is, so that the tables know from the beginning what is an array and what a document with numbers for names."""
    subs = [{"x": 1, "ys": [1]}]
    return {"_id": key, "name": "first", "n": 1, "addr": {"city": "c", "lines": ["l"]},
            "items": [{"sku": "s", "qty": 1, "_id": 9, "dim": {"w": 1, "marks": ["m"]}, "tags": ["t"], "subs": subs}, 7],
            "nums": [1, 2], "grid": [[1], [2, 3]], "map": {str(i): {"v": 1, "hs": ["h"]} for i in range(4)}}


# ---- partial updates ----

def places(value, path=()):
    """All paths in a document, with their values."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in members:
        yield path + (step,), inner
        yield from places(inner, path + (step,))


def parent_of(doc, path):
    for step in path[:-1]:
        doc = doc[step]
    return doc


def fresh(rng, path):
    """A new value for the place, of the kind that belongs there."""
    names = [s for s in path if not isinstance(s, int)]
    numbers = len(path) - len(names)
    if path[0] == "map":
        return {1: lambda: a_member(rng, "map"), 2: lambda: {"v": rng.randrange(9), "hs": a_list(rng, a_text, 2)}}.get(
            len(path), lambda: a_text(rng) if numbers else a_list(rng, a_text, 2) if path[2] == "hs" else rng.randrange(9))()
    if path[0] == "addr" and len(path) > 1:
        return a_text(rng) if path[1] == "city" or numbers else a_list(rng, a_text, 3)
    if path[0] == "nums" and numbers:
        return rng.randrange(9)
    if path[0] == "grid" and numbers:
        return rng.randrange(9) if numbers > 1 else a_list(rng, lambda r: r.randrange(9), 3)
    if path[0] != "items" or len(path) == 1:
        return a_member(rng, path[0])
    if len(path) == 2:
        return an_item(rng)
    last = names[-1]
    if last == "tags":
        return a_text(rng) if numbers > 1 else a_list(rng, a_text, 3)
    if last == "marks":
        return a_text(rng) if numbers > 1 else a_list(rng, a_text, 2)
    if last == "subs":
        return a_sub(rng) if numbers > 1 else a_list(rng, a_sub, 3)
    if last == "ys":
        return rng.randrange(9) if numbers > 2 else a_list(rng, lambda r: r.randrange(9), 3)
    if last == "dim":
        return some(rng, {"w": lambda: rng.randrange(9), "marks": lambda: a_list(rng, a_text, 2)})
    return a_text(rng) if last == "sku" else rng.randrange(50)


def related(a, b):
    return a[:len(b)] == b[:len(a)]


def an_update(rng, doc):
    """Change the document; the event's description of it."""
    updated, removed, truncated, used = {}, [], [], []
    for _ in range(rng.choice([1, 1, 2, 3])):
        found = [(p, v) for p, v in places(doc) if p[0] != "_id"]
        path, value = rng.choice(found) if found else (("n",), None)
        if rng.random() < 0.2:
            path, value = (rng.choice(MEMBERS),), None
        if any(related(path, u) for u in used):
            continue
        name, holder = ".".join(map(str, path)), parent_of(doc, path)
        what = rng.random()
        if isinstance(value, list) and what < 0.5:
            if what < 0.2 and value:  # $push with $slice
                size = rng.randrange(len(value))
                del value[size:]
                truncated.append({"field": name, "size": size})
            else:  # $push: right behind the end; $set may go beyond, and what lies between is null
                value.extend([None] * rng.choice([0, 0, 0, 1, 3]))
                path, name = path + (len(value),), f"{name}.{len(value)}"
                value.append(fresh(rng, path))
                updated[name] = value[-1]
        elif what < 0.25 and not isinstance(holder, list) and path[-1] in holder:
            del holder[path[-1]]
            removed.append(name)
        elif what < 0.3 and isinstance(holder, list):  # $unset of an element
            holder[path[-1]] = None
            updated[name] = None
        else:
            holder[path[-1]] = updated[name] = fresh(rng, path)
        used.append(path)
    return {"updatedFields": json.dumps(updated), "removedFields": removed or None, "truncatedArrays": truncated or None}


# ---- events ----

class Stream:
    def __init__(self, rng, count, keys=12):
        self.rng, self.docs, self.lines = rng, {}, []
        self.put(0, "c", after=full_document(0))
        self.docs[0] = full_document(0)
        while len(self.lines) < count:
            self.step(rng.randrange(keys))

    def put(self, key, op, after=None, description=None, tombstone=False):
        value = None if tombstone else json.dumps({
            "op": op, "before": None, "after": None if after is None else json.dumps(after), "updateDescription": description,
            "source": {"db": DB, "collection": COLLECTION, "ts_ms": 1}, "ts_ms": 1})
        self.lines.append(json.dumps({"topic": TOPIC, "partition": 0, "offset": len(self.lines), "key": json.dumps({"id": json.dumps(key)}),
                                      "value": value}))

    def step(self, key):
        rng, doc = self.rng, self.docs.get(key)
        what = rng.random()
        if doc is None or what < 0.2:
            self.docs[key] = a_document(rng, key)
            self.put(key, "c" if doc is None else "u", after=self.docs[key])
        elif what < 0.3:
            del self.docs[key]
            self.put(key, "d")
            self.put(key, "d", tombstone=True)
        elif what < 0.35:
            del self.docs[key]
            self.put(key, "d", tombstone=True)
        else:
            changed = copy.deepcopy(doc)
            description = an_update(rng, changed)
            self.docs[key] = changed
            whole = rng.random() < 0.3
            self.put(key, "u", after=changed if whole else None, description=description)


# ---- what the tables must hold ----

def columns_of(doc, prefix=""):
    """Columns of a document, and its arrays by their path."""
    columns, arrays = {}, {}
    for name, value in doc.items():
        if isinstance(value, dict):
            inner, below = columns_of(value, prefix + name + "_")
            columns.update(inner)
            arrays.update(below)
        elif isinstance(value, list):
            arrays[prefix + name] = value
        elif value is not None:
            columns[prefix + name] = value
    return columns, arrays


def position_name(level):
    return "_pos" if level == 0 else f"_pos{level + 1}"


def explode(tables, table, key, pos, elements):
    for at, element in enumerate(elements):
        here = pos + (at,)
        row, arrays = {}, {}
        if isinstance(element, dict):
            row, arrays = columns_of(element)
        elif isinstance(element, list):
            arrays = {"value": element}
        elif element is not None:
            row = {"value": element}
        if "_id" in row:  # the root's key has that name
            row["element _id"] = row.pop("_id")
        row["_id"] = key
        row.update({position_name(i): p for i, p in enumerate(here)})
        tables.setdefault(table, []).append(row)
        for name, inner in arrays.items():
            explode(tables, f"{table}__{name}", key, here, inner)


def exploded(docs):
    tables = {COLLECTION: []}
    for key, doc in docs.items():
        row, arrays = columns_of(doc)
        tables[COLLECTION].append(row)
        for name, elements in arrays.items():
            explode(tables, f"{COLLECTION}__{name}", key, (), elements)
    return tables
