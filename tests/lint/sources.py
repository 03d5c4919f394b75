#!/usr/bin/env python3
"""Reject functions that have a safe counterpart in base/, and files that are too long.

Variable length arrays are the compiler's matter (-Wvla).

Usage: sources.py [ROOT]; exit code 1 and one line a finding if something is wrong.
"""
import os
import re
import sys

MAX_LINES = 900

# Function → what to use instead.
BANNED = {
    "malloc": "mr_xmalloc",
    "calloc": "mr_xcalloc",
    "realloc": "mr_xrealloc",
    "free": "mr_xfree",
    "strdup": "mr_xstrdup",
    "strndup": "mr_xstrndup",
    "strcpy": "mr_buf or memcpy with a length",
    "strncpy": "mr_buf or memcpy with a length",
    "strcat": "mr_buf",
    "strncat": "mr_buf",
    "sprintf": "snprintf or mr_buf_printf",
    "vsprintf": "vsnprintf",
    "atoi": "mr_parse_int64",
    "atol": "mr_parse_int64",
    "atoll": "mr_parse_int64",
    "atof": "mr_parse_double",
    "strtok": "mr_str_find",
    "strtok_r": "mr_str_find",
    "gmtime": "mr_civil_from_us",
    "gmtime_r": "mr_civil_from_us",
    "localtime": "mr_civil_from_us",
    "localtime_r": "mr_civil_from_us",
    "alloca": "an arena",
    "gets": "fgets",
}
# The one file that wraps the allocator.
EXEMPT = {os.path.join("src", "base", "mem.c"): {"malloc", "calloc", "realloc", "free"}}

# Called, or handed on as a pointer; not a member of that name.
USE = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(BANNED) + r")\s*[(,;)]")
# Comments, texts and characters hold no code.
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

CODE = (".c", ".h", ".def")
LENGTH = CODE + (".py", ".sh", ".sql", ".cmake", ".txt")


def files(root, tops, endings):
    for top in tops:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(folder, name), root)


def without_noise(text):
    """The text with comments and literals blanked, line for line."""
    return NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    findings = 0
    for path in files(root, ("src", "include"), CODE):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            lines = without_noise(file.read()).split("\n")
        for number, line in enumerate(lines, 1):
            for match in USE.finditer(line):
                name = match.group(1)
                if name in EXEMPT.get(path, ()):
                    continue
                print(f"{path}:{number}: {name} is not used here; take {BANNED[name]}")
                findings += 1
    for path in files(root, ("src", "include", "sql", "cmake", "tests", "scripts"), LENGTH):
        with open(os.path.join(root, path), "rb") as file:
            count = file.read().count(b"\n")
        if count > MAX_LINES:
            print(f"{path}: {count} lines; no file has more than {MAX_LINES}")
            findings += 1
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
