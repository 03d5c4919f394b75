#!/usr/bin/env python3
"""The examples of the manual are true: every ```console block of the pages below is typed in and its output compared.

A line that begins with "$ " is typed, up to the end of a here-document; the lines behind it are what comes out (errors and logs are not compared).
"…" stands for anything, a time for any time. The blocks of a page share one shell and one empty folder, so a function that one defines serves all. $TARGET is the URL of an empty database (of
MariaDB for the page about it, whose client finds the server then), and $BROKERS the broker's address."""
import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

from e2e import from_env

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGES = ["README.md"] + ["docs/" + name for name in (
    "types.md", "dead-letters.md", "operations.md", "debezium.md", "mongodb.md", "flat-and-json.md", "keys.md", "avro.md", "canal.md", "maxwell.md", "dts.md", "shareplex.md", "prostore.md", "tables.md", "postgresql.md", "mysql.md",
    "sqlite.md",
    "exactly-once.md")]
MARK = "\x01"
TIME = re.compile(r"\\?\d{4}\\-\d\d\\-\d\d\\ \d\d:\d\d:\d\d")


def examples(page):
    """[(line number, command, [expected line])]"""
    found, inside, end_word = [], False, None
    with open(os.path.join(ROOT, page), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if end_word is not None:
                found[-1][1].append(line)
                end_word = None if line == end_word else end_word
            elif line == "```console":
                inside = True
            elif line == "```":
                inside = False
            elif inside and line.startswith("$ "):
                found.append((number, [line[2:]], []))
                here = re.search(r"<<'(\w+)'", line)
                end_word = here[1] if here else None
            elif inside:
                found[-1][2].append(line)
    return [(number, "\n".join(command), expected) for number, command, expected in found]


def as_pattern(line):
    return TIME.sub(lambda m: r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.escape(line)).replace("…", ".*")


def trim(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def mariadb():
    """An empty database, nothing left of the one that the page's events name, and a home where the client finds its server and user."""
    parts = urllib.parse.urlsplit(from_env("MILLRACE_TEST_MARIADB"))
    home = tempfile.mkdtemp(prefix="millrace-docs-home-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    with open(os.path.join(home, ".my.cnf"), "w", encoding="utf-8") as f:
        f.write(f"[client]\nprotocol=tcp\nhost={parts.hostname}\nport={parts.port}\nuser={parts.username}\npassword={parts.password}\n"
                "default-character-set=utf8mb4\n")
    found = {"HOME": home, "TARGET": urllib.parse.urlunsplit(parts._replace(path="/docs_mysql"))}
    subprocess.run(["mariadb", "-e", "DROP DATABASE IF EXISTS docs_mysql; CREATE DATABASE docs_mysql; DROP DATABASE IF EXISTS shop"], check=True,
                   timeout=60, env={**os.environ, **found})
    return found


def servers(page, text):
    """Environment of a page: a database of its own, and the broker, as far as its commands name them."""
    if "$TARGET" not in text:
        return {}
    if page == "docs/mysql.md":
        return mariadb()
    url = from_env("MILLRACE_TEST_PG")
    name = "docs_" + re.sub(r"\W", "_", os.path.basename(page)[:-3].lower())
    for sql in (f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}"):
        subprocess.run(["psql", url, "-q", "-c", "SET client_min_messages = error", "-c", sql], check=True, timeout=60)
    found = {"TARGET": urllib.parse.urlunsplit(urllib.parse.urlsplit(url)._replace(path="/" + name)), "PGTZ": "UTC"}
    if "$BROKERS" in text:
        found["BROKERS"] = from_env("MILLRACE_TEST_KAFKA")
        for topic in set(re.findall(r"(?:kcat -P .*-t |status.kafka.topic=)([\w.]+)", text)):  # of an earlier run
            subprocess.run([os.environ["MILLRACE_KAFKA_TOPIC"], found["BROKERS"], "delete", topic], capture_output=True, timeout=60, check=False)
    return found


def run_page(page):
    """The failures of a page, as texts."""
    commands = examples(page)
    script = "exec 2>errors\n" + "".join(f"{command}\nrc=$?; printf '{MARK}'; (exit $rc)\n" for _, command, _ in commands)
    env = {**os.environ, "PATH": os.path.dirname(os.path.abspath(os.environ["MILLRACE"])) + ":" + os.environ["PATH"], 
           **servers(page, script)}
    with tempfile.TemporaryDirectory(prefix="millrace-docs-") as folder:
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
        with open(os.path.join(folder, "errors"), encoding="utf-8") as f:
            errors = f.read()
    outputs = done.stdout.split(MARK)[:-1]
    failures = []
    if len(outputs) != len(commands):
        failures.append(f"{page}: {len(commands)} commands, {len(outputs)} ended\n{errors}")
    for (number, command, expected), output in zip(commands, outputs):
        pattern = "\n".join(as_pattern(line) for line in trim(expected))
        if not re.fullmatch(pattern, "\n".join(trim(output.split("\n")))):
            failures.append(f"{page}:{number}: {command.splitlines()[0]}\n--- the page\n" + "\n".join(expected) +
                            f"\n--- the program\n{output}--- errors so far\n{errors[-1500:]}")
    return commands, failures


def undocumented():
    """Every option of the transforms has an example: a command on the page about MongoDB that sets it."""
    shown = subprocess.run([os.environ["MILLRACE"], "config", "--json"], capture_output=True, text=True, check=True, timeout=60).stdout
    commands = [command for _, command, _ in examples("docs/mongodb.md")]
    return [f"docs/mongodb.md has no example of {key}" for key in re.findall(r'"(unwrap\.[^"]+)"', shown)
            if not any(f"--set {key}=" in command for command in commands)]


def main():
    count, failures = 0, undocumented()
    for page in PAGES:
        commands, wrong = run_page(page)
        count += len(commands)
        failures += wrong
        if not commands:
            failures.append(f"{page} has no example")
    for text in failures:
        print(text)
    print(f"{count} examples, {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
