"""docs/c-api.md is made of include/tomoprof.h: every comment with what it describes. `--write` makes it again."""

import re
import sys

from sources import ROOT, report

HEADER = ROOT / "include/tomoprof.h"
PAGE = ROOT / "docs/c-api.md"
TOP = """# tomoprof.h, the C library

<!-- Made from include/tomoprof.h by tests/lint/test_c_api.py --write -->

`cmake --install` puts `libtomoprof.so.0`, `tomoprof.h`, a pkg-config file and a CMake package into the prefix:

    cc -std=c11 program.c $(pkg-config --cflags --libs tomoprof)

    find_package(tomoprof REQUIRED)
    target_link_libraries(program PRIVATE tomoprof::tomoprof)

[examples/](../examples) holds a reconstruction in C and a class in C++.
"""


def prose(comment):
    """The text of a comment: a paragraph on one line, indented lines as they are."""
    lines = [line if i == 0 else re.sub(r"^ ?\*? ?", "", line) for i, line in enumerate(comment[2:-2].strip().split("\n"))]
    out = []
    for line in map(str.rstrip, lines):
        if not line.startswith(" "):
            line = line.replace("*", "\\*")
        if line and not line.startswith(" ") and out and out[-1] and not out[-1].startswith(" "):
            out[-1] += " " + line
        else:
            out.append(line)
    return "\n".join(out).strip("\n")


def chunks(header):
    """(comment or None, code) in order; a comment in the first column, and an empty line, end what is before."""
    body = header[header.index('extern "C" {') :]
    lines = body[body.index("#endif") + 6 : body.rindex("#ifdef __cplusplus")].split("\n")
    comment, code = None, []
    at = 0
    while at < len(lines):
        line = lines[at]
        if (line.startswith("/*") or not line) and (comment or code):
            yield comment, "\n".join(code)
            comment, code = None, []
        if line.startswith("/*"):
            end = next(i for i in range(at, len(lines)) if lines[i].endswith("*/"))
            comment, at = "\n".join(lines[at : end + 1]), end
        elif line:
            code.append(line)
        at += 1


def page(header):
    first = re.match(r"/\*(.*?)\*/", header, re.S)[0]
    out = [TOP, prose(first).partition("\n\n")[2]]
    for comment, code in chunks(header):
        title = comment and re.fullmatch(r"/\* ---- (.*) ---- \*/", comment)
        if title:
            out.append(f"## {title[1]}")
        elif comment:
            out.append(prose(comment))
        if code:
            code = re.sub(r"^TOMOPROF_API ", "", code, flags=re.M)
            out.append(f"```c\n{code}\n```")
    return "\n\n".join(part.strip("\n") for part in out) + "\n"


def main():
    header = HEADER.read_text()
    made = page(header)
    functions = set(re.findall(r"\b(tomoprof_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.S)))
    if "--write" in sys.argv:
        PAGE.write_text(made)
    problems = [f"{name} is not on the page: the test itself is broken" for name in sorted(functions) if f"{name}(" not in made]
    if made == page(header.replace("sinogram", "view")):
        problems.append("the test itself is broken: another header makes the same page")
    if not PAGE.is_file() or PAGE.read_text() != made:
        problems.append("docs/c-api.md is not what include/tomoprof.h says: run tests/lint/test_c_api.py --write")
    return report(problems)


if __name__ == "__main__":
    sys.exit(main())
