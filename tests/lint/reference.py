#!/usr/bin/env python3
"""Compare docs/configuration.md and docs/man/ with what the program's own tables say, or write them anew.

Usage: reference.py PROGRAM [ROOT] [--write]; exit code 1 with the first difference if a page has drifted.
"""
import difflib
import os
import re
import subprocess
import sys


def ask(program, *words):
    return subprocess.run([program, *words], check=True, stdout=subprocess.PIPE, timeout=60).stdout.decode("utf-8")


def commands(program):
    listed = ask(program, "--help").split("Commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z-]+) ", listed, re.M)


def pages(program):
    """Path → content of every generated page."""
    made = {
        os.path.join("docs", "configuration.md"): ask(program, "config", "--reference"),
        os.path.join("docs", "man", "millrace.1"): ask(program, "help", "--man"),
    }
    for name in commands(program):
        made[os.path.join("docs", "man", f"millrace-{name}.1")] = ask(program, "help", name, "--man")
    return made


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    if not words:
        print(__doc__)
        return 2
    root = words[1] if len(words) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    made = pages(words[0])
    man = os.path.join(root, "docs", "man")
    stale = sorted(set(os.listdir(man) if os.path.isdir(man) else []) - {os.path.basename(path) for path in made})

    if "--write" in sys.argv:
        os.makedirs(man, exist_ok=True)
        for path, text in made.items():
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        for name in stale:
            os.remove(os.path.join(man, name))
        return 0

    for path, text in made.items():
        now = read(os.path.join(root, path))
        if now != text:
            diff = difflib.unified_diff(now.splitlines(), text.splitlines(), path, "the program", lineterm="")
            print("\n".join(list(diff)[:20]))
            stale.append(path)
    if stale:
        print(f"not as the program says: {', '.join(stale)}; tests/lint/reference.py PROGRAM --write renews the pages")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
