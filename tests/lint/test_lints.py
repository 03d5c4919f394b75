#!/usr/bin/env python3
"""The lints find what they are there for: small trees with one sin each, and one without."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def findings(script, files):
    """What the script prints of a tree made of path → text; "" if it is content."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, os.path.join(HERE, script), root], stdout=subprocess.PIPE, timeout=60)
        text = done.stdout.decode("utf-8")
        assert (done.returncode == 0) == (text == ""), (script, done.returncode, text)
        return text


GOOD = {
    "src/base/a.c": '#include "a.h"\n#include <stdio.h>\n#include <millrace/base/mem.h>\n',
    "src/base/a.h": "",
    "src/sink/postgres/x.c": '#include "../common.h"\n#include <libpq-fe.h>\n#include <millrace/schema/name.h>\n',
    "src/sink/common.h": "/* strcpy(a, b) */\n",
    "src/cli/c.c": '#include "../engine/e.h"\n#include <millrace/engine.h>\n',
    "src/engine/e.h": 'int strcpy_count; /* "sprintf(" */\nx.free(y); p->free(z);\nmr_xfree(a);\n',
}
BAD_INCLUDES = [
    ("src/base/b.c", "#include <millrace/model/type.h>\n", "base may not include <millrace/model/type.h>"),
    ("src/source/b.c", "#include <millrace/engine.h>\n", "source may not include <millrace/engine.h>"),
    ("src/source/b.c", '#include "../engine/e.h"\n', "belongs to engine"),
    ("src/sink/sqlite/b.c", '#include "../postgres/x.c"\n', "belongs to sink/postgres"),
    ("src/sink/sqlite/b.c", "#include <libpq-fe.h>\n", "may be included in src/sink/postgres/ only"),
    ("src/config/load.c", "#include <yaml.h>\n", "may be included in src/config/yaml.c only"),
    ("src/base/b.c", "#include <curses.h>\n", "is in no table"),
    ("src/base/b.c", '#include "none.h"\n', "does not exist"),
    ("include/millrace/base/b.h", "#include <millrace/config/config.h>\n", "base may not include"),
    ("src/other/b.c", "#include <millrace/base/str.h>\n", "is in no layer"),
]
BAD_SOURCES = [
    ("src/base/b.c", "x = malloc(3);\n", "malloc is not used here"),
    ("src/base/b.c", "/* a\n b */ strcpy (a, b);\n", "b.c:2: strcpy"),
    ("src/base/b.c", "map_destroy(map, free);\n", "free is not used here"),
    ("src/base/b.c", 'y = "\\"" + atoi(z);\n', "atoi is not used here"),
    ("tests/unit/b.c", "\n" * 901, "901 lines"),
]


def main():
    for script in ("includes.py", "sources.py"):
        assert findings(script, GOOD) == "", findings(script, GOOD)
    for script, cases in (("includes.py", BAD_INCLUDES), ("sources.py", BAD_SOURCES)):
        for path, text, wanted in cases:
            got = findings(script, {**GOOD, path: text})
            assert wanted in got and got.count("\n") == 1, (path, text, got)
    return 0


if __name__ == "__main__":
    sys.exit(main())
