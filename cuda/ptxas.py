#!/usr/bin/env python3
"""The table of ptxas: registers, stack, spills and static shared memory of every kernel, from the output of a build of one
architecture with -DTP_CUDA_PTXAS=ON: cuda/ptxas.py BUILD_LOG > cuda/ptxas.tsv (docs/internals/cuda.md)."""

import re
import subprocess
import sys

COLUMNS = ["kernel", "registers", "stack", "spill_stores", "spill_loads", "static_shared"]


def plain(names):
    """Mangled names -> names as they are written, without parameters."""
    out = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return [re.sub(r"\(.*", "", name).replace("void ", "") for name in out.splitlines()]


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def read_log(text):
    """(architecture, rows in the order of COLUMNS, sorted by kernel)"""
    rows, architectures = [], set()
    for part in re.split(r"Compiling entry function ", text)[1:]:
        head = re.match(r"'(\S+)' for '(\S+)'", part)
        properties = part[part.index("Function properties for " + head[1]):]
        architectures.add(head[2])
        rows.append([head[1], number(r"Used (\d+) registers", part), number(r"(\d+) bytes stack frame", properties),
                     number(r"(\d+) bytes spill stores", properties), number(r"(\d+) bytes spill loads", properties),
                     number(r"(\d+) bytes smem", part)])
    if len(architectures) != 1:
        sys.exit(f"cuda/ptxas.py: the log holds {len(architectures)} architectures, one is needed: -DTP_CUDA_ARCH=90")
    for row, name in zip(rows, plain([row[0] for row in rows])):
        row[0] = name
    return architectures.pop(), sorted(rows)


def read_table(text):
    """(architecture, {kernel: {column: number}})"""
    lines = text.splitlines()
    return lines[0].split()[1].rstrip(","), {
        cells[0]: dict(zip(COLUMNS[1:], map(int, cells[1:]))) for cells in (line.split("\t") for line in lines[2:])}


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as f:
        architecture, rows = read_log(f.read())
    print(f"# {architecture}, made by cuda/ptxas.py")
    print("\t".join(COLUMNS))
    for row in rows:
        print("\t".join(map(str, row)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
