#!/usr/bin/env python3
"""docs.py finds what it is there for: small manuals with one sin each, and one without, and a program that knows two options."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

PROGRAM = """#!/bin/sh
case "$*" in
"config --reference") printf '### `log.level`\\n### `target.url`\\n### `tables`\\n' ;;
"config --set log.level=debug") ;;
"config -c "*) if grep -q levle "$3"; then echo "millrace: $3:1:1: unknown key" >&2; exit 3; fi ;;
"load --help") echo "  --to URL  -c" ;;
*) echo "millrace: no" >&2; exit 3 ;;
esac
"""

GOOD = {
    "README.md": "# A b\\n[x](docs/a.md#one-two) `log.level=debug` `source.db` `tables.x.delete` `--set log.level=debug` `a.log`\\n"
                 "```sh\\nmillrace load --to x -c y | sort --reverse\\n```\\n```yaml\\nlog: {level: info}\\n```\\n"
                 "```yaml\\nother: 1\\n```\\n[y](#a-b) [z](https://example.org/)\\n",
    "docs/README.md": "[a](a.md)\\n",
    "docs/a.md": "## One, `two`\\n```\\n[no link](nowhere.md)\\n```\\n`[x](nowhere.md)`\\n",
    "docs/debezium.md": "`data.Bits`",
    "src/decode/connect_schema.c": '    {"io.debezium.data.Bits", ON_BYTES},\\n',
}
GOOD["docs/README.md"] += "[d](debezium.md)\\n"
BAD = [
    ("docs/a.md", "[x](b.md)", "docs/a.md:1: link to b.md: there is no docs/b.md"),
    ("docs/a.md", "# One two\\n\\n[x](../README.md#c)", "docs/a.md:3: link to ../README.md#c: README.md has no such heading"),
    ("docs/b.md", "", "docs/README.md: b.md is not in the index"),
    ("CHANGELOG.md", "`log.levle`", "CHANGELOG.md:1: there is no option log.levle"),
    ("CHANGELOG.md", "`tables.x.remove`", "there is no option tables.x.remove"),
    ("CHANGELOG.md", "`millrace load --set log.levle=debug`", "--set log.levle=debug: millrace: no"),
    ("CHANGELOG.md", "```yaml\\nlog: {levle: info}\\n```", "configuration: millrace: the block:1:1: unknown key"),
    ("CHANGELOG.md", "```\\n$ millrace load --too x\\n```", "CHANGELOG.md:2: millrace load has no flag --too"),
    ("CHANGELOG.md", "`millrace laod`", "there is no command millrace laod"),
    ("docs/debezium.md", "`data.Bites`", "the type data.Bits of src/decode/connect_schema.c is missing"),
]


def findings(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**files, "millrace": PROGRAM}.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text if path == "millrace" else text.replace("\\n", "\n"))
        os.chmod(os.path.join(root, "millrace"), 0o755)
        done = subprocess.run([sys.executable, os.path.join(HERE, "docs.py"), os.path.join(root, "millrace"), root], stdout=subprocess.PIPE,
                              timeout=60, check=False)
        text = done.stdout.decode("utf-8")
        assert (done.returncode == 0) == (text == ""), (done.returncode, text)
        return text


def main():
    assert findings(GOOD) == "", findings(GOOD)
    for path, text, wanted in BAD:
        got = findings({**GOOD, path: text})
        if path == "docs/a.md":  # README.md's link to its heading goes with it
            got = "".join(line for line in got.splitlines(True) if not line.startswith("README.md"))
        flagged = [line for line in got.splitlines() if wanted in line]
        assert flagged, (path, text, got)
    return 0


if __name__ == "__main__":
    sys.exit(main())
