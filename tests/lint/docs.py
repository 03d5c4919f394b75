#!/usr/bin/env python3
"""Hold the manual against the tree and the program: every *.md but those that tests/recorded and tests/cases were handed.

* relative links, and the headings they point at, exist; every page of docs/ is in docs/README.md
* every option key that is named exists (`millrace config --reference`), and every --set KEY=VALUE is taken by `millrace config`
* YAML blocks that are configurations are read by `millrace config -c`
* flags of commands that are typed in exist (`millrace COMMAND --help`)
* every semantic type that src/decode/connect_schema.c knows stands in docs/debezium.md

Usage: docs.py PROGRAM [ROOT]; exit code 1 and one line a finding if something is wrong.
"""
import os
import re
import subprocess
import sys
import tempfile

# Made by the program, or not ours to judge.
SKIPPED = (os.path.join("docs", "configuration.md"), os.path.join("tests", "recorded"), os.path.join("tests", "cases"), "build", ".git")
# Stand for something in a sentence.
PLACEHOLDERS = {"KEY", "key", "key.path", "k"}
TABLE_MEMBERS = ("primary_key", "delete", "policy", "missing")
MAPS = ("tables", "types.columns", "types.policies", "source.kafka.properties")
# What `millrace …` may name beside commands: connections in the server's list.
CONNECTIONS = {"control", "applier"}
# Members of Debezium's `source` that are named like options of ours.
# Options of Kafka Connect that begin like options of ours.
CONNECT_GROUPS = ("key.converter", "value.converter")
SOURCE_GROUPS = ("kafka", "file", "reset_position")

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NAMED = re.compile(r"`([a-z_]+(?:\.(?:[A-Za-z0-9_*]+|\"[^\"`]+\"))+)(?:[=:][^`]*)?`")
SET = re.compile(r"--set[ =](?:'([^']*)'|\"([^\"]*)\"|([^\s`'\"]+(?:\"[^\"]*\"[^\s`'\"]*)*))")
COMMAND = re.compile(r"\bmillrace ([a-z]+(?:-[a-z]+)*)((?:[^|#`\n]|\\\n)*)")


def pages(root):
    for folder, folders, names in os.walk(root):
        here = os.path.relpath(folder, root)
        folders[:] = [f for f in sorted(folders) if not skipped(os.path.normpath(os.path.join(here, f)))]
        for name in sorted(names):
            path = os.path.normpath(os.path.join(here, name))
            if name.endswith(".md") and not skipped(path):
                yield path


def skipped(path):
    return any(path == s or path.startswith(s + os.sep) for s in SKIPPED)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def without_code(text):
    """Blocks and code in back quotes blanked."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"`[^`\n]*`", blank, re.sub(r"^```.*?^```$", blank, text, flags=re.S | re.M))


def anchors(text):
    """The names by which a page's headings can be linked to."""
    found = set()
    for line in re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line).replace("`", "").lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-"))
    return found


def number(text, at):
    return text.count("\n", 0, at) + 1


def check_links(root, path, text):
    for match in LINK.finditer(without_code(text)):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        there = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(os.path.join(root, there)):
            yield number(text, match.start()), f"link to {match.group(1)}: there is no {there}"
        elif anchor and there.endswith(".md") and anchor not in anchors(read(root, there)):
            yield number(text, match.start()), f"link to {match.group(1)}: {there} has no such heading"


class Program:
    def __init__(self, program):
        self.program = program
        self.keys = set(re.findall(r"^### `([^`]+)`", self.ask("config", "--reference").stdout, re.M))
        self.roots = {key.split(".")[0] for key in self.keys}
        self.helps = {}

    def ask(self, *words, env=None):
        return subprocess.run([self.program, *words], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, **(env or {})})

    def flags(self, command):
        """The flags of a command, None if there is no such command."""
        if command not in self.helps:
            done = self.ask(command, "--help")
            self.helps[command] = set(re.findall(r"(--[a-z-]+|-[a-z]\b)", done.stdout)) if done.returncode == 0 else None
        return self.helps[command]

    def knows(self, key):
        if key in self.keys or any(known.startswith(key + ".") for known in self.keys):
            return True
        for name in MAPS:
            if key.startswith(name + "."):
                return name != "tables" or key.split(".")[-1].strip('"') in TABLE_MEMBERS
        return False


def is_option(program, key):
    """Is a dotted name in back quotes meant as one of our options?"""
    parts = key.split(".")
    if parts[0] not in program.roots or key.endswith((".md", ".c", ".h", ".py", ".sql", ".yaml", ".def")):
        return False
    if key.startswith(CONNECT_GROUPS):
        return False
    return parts[0] != "source" or parts[1] in SOURCE_GROUPS


def check_options(program, text):
    for match in NAMED.finditer(text):
        if is_option(program, match.group(1)) and not program.knows(match.group(1)):
            yield number(text, match.start()), f"there is no option {match.group(1)}"
    for match in SET.finditer(text):
        setting = next(group for group in match.groups() if group is not None)
        key, equals, _ = setting.partition("=")
        if not equals or key.rstrip("+") in PLACEHOLDERS or "$" in setting or "…" in setting:
            continue
        done = program.ask("config", "--set", setting)
        if done.returncode != 0:
            yield number(text, match.start()), f"--set {setting}: {done.stderr.strip().splitlines()[0]}"


def check_yaml(program, text):
    for match in re.finditer(r"^```yaml\n(.*?)^```$", text, re.S | re.M):
        block = match.group(1)
        tops = set(re.findall(r"^([A-Za-z_\"*][^:\s]*):", block, re.M))
        if not tops or not tops <= program.roots:
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
            file.write(block)
            file.flush()
            done = program.ask("config", "-c", file.name, env={name: "x" for name in re.findall(r"\$\{(\w+)", block)})
        if done.returncode != 0:
            yield number(text, match.start()), "configuration: " + done.stderr.strip().splitlines()[0].replace(file.name, "the block")


def check_commands(program, text):
    for match in COMMAND.finditer(text):
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        typed = line.strip() in ("", "$") or line.endswith(("`", "| ", "do ", "{ ")) or "timeout" in line
        if not typed or match.group(1) in CONNECTIONS:
            continue
        flags = program.flags(match.group(1))
        if flags is None:
            yield number(text, match.start()), f"there is no command millrace {match.group(1)}"
            continue
        rest = re.sub(r"'[^']*'|\"[^\"]*\"", "", match.group(2))
        for flag in re.findall(r"(?<=\s)(--[a-z-]+|-[a-z])(?=[\s=]|$)", rest):
            if flag not in flags:
                yield number(text, match.start()), f"millrace {match.group(1)} has no flag {flag}"


def check_index(root):
    index = read(root, os.path.join("docs", "README.md"))
    for name in sorted(os.listdir(os.path.join(root, "docs"))):
        if name.endswith(".md") and name != "README.md" and f"({name})" not in index:
            yield f"docs/README.md: {name} is not in the index"


def check_semantics(root):
    schema = os.path.join("src", "decode", "connect_schema.c")
    if not os.path.exists(os.path.join(root, schema)):
        return
    page = read(root, os.path.join("docs", "debezium.md"))
    for name in re.findall(r'\{"(?:io\.debezium|org\.apache\.kafka\.connect)\.([\w.]+)"', read(root, schema)):
        if f"`{name}`" not in page:
            yield f"docs/debezium.md: the type {name} of {schema} is missing"


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    root = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    program = Program(sys.argv[1])
    findings = [*check_index(root), *check_semantics(root)]
    for path in pages(root):
        text = read(root, path)
        for check in (check_options, check_yaml, check_commands):
            findings += [f"{path}:{line}: {what}" for line, what in check(program, text)]
        findings += [f"{path}:{line}: {what}" for line, what in check_links(root, path, text)]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
