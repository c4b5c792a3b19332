#!/usr/bin/env python3
"""The table of ptxas' work: what the machine code of every kernel needs, for each architecture (docs/internals/cuda.md):

    cuda/ptxas.py [--all] OBJECT [CUOBJDUMP] > ptxas.tsv

OBJECT: libtomoprof_cuda13.so, or one of the objects it is linked from. Kernels of other objects keep the row that they have in
cuda/ptxas.tsv; --all: the table is made of this object alone. A cell holds a number for each architecture of the first line, or one
that holds for all. Columns: registers; bytes of stack; local: loads and stores of local memory (spills); fp64: instructions in float64,
with those that convert to and from it; loads: most loads of global memory that are issued before the first of them is waited
for; instructions, stalls (cycles that one warp needs at least, by ptxas' own control codes) and waits (instructions that wait for a
scoreboard) of the innermost loop with most arithmetic."""

import pathlib
import re
import subprocess
import sys

import sass

COLUMNS = ["registers", "stack", "local", "fp64", "loads", "instructions", "stalls", "waits"]
TABLE = pathlib.Path(__file__).resolve().parent / "ptxas.tsv"
FP64 = re.compile(r"D(FMA|ADD|MUL|SETP|MNMX)\b|MUFU\.\w*64H?|(F2F|I2F|F2I|FRND)\S*\.F64")
LOAD = re.compile(r"LDG\b")


def plain_names(names):
    """Mangled names -> names as they are written, without parameters."""
    out = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return [re.sub(r"\(.*", "", name).replace("void ", "") for name in out.splitlines()]


def control(high):
    """Upper half of an instruction: (stall cycles, scoreboard that it sets when it has written or None, those it waits for)."""
    code = high >> 41
    write = code >> 5 & 7
    return code & 15, None if write == 7 else write, code >> 11 & 63


def functions(text):
    """Output of cuobjdump -sass: {architecture: {kernel: [(address, instruction, control)]}}"""
    found, code, step = {}, None, None
    for line in text.splitlines():
        if line.startswith("\tcode for "):
            kernels = found.setdefault(line.split()[-1], {})
        elif "Function : " in line:
            code = kernels[line.split()[-1]] = []
        else:
            first = re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line)
            half = re.search(r"/\* 0x([0-9a-f]{16}) \*/", line)
            if first:
                step = (int(first[1], 16), first[2])
            elif half and step and code is not None:
                code.append((*step, control(int(half[1], 16))))
                step = None
    return found


def in_flight(code):
    """Most global loads that are issued before one instruction waits for any of them, along the code as it lies."""
    most, now, boards = 0, 0, 0
    for _, text, (_, write, wait) in code:
        if wait & boards:
            now = boards = 0
        if LOAD.match(sass.word(text)):
            now += 1
            boards |= 1 << write if write is not None else 0
            most = max(most, now)
    return most


def row_of(code, registers, stack):
    words = [sass.word(text) for _, text, _ in code]
    spans = sass.loops([(at, text) for at, text, _ in code])
    hot = max(spans, key=lambda span: sass.mix(span[2])["float32"] + sass.mix(span[2])["float64"], default=(0, -1, {}))
    turn = [c for at, _, c in code if hot[0] <= at <= hot[1]]
    return [registers, stack, sum(bool(re.match("LDL|STL", w)) for w in words), sum(bool(FP64.match(w)) for w in words), in_flight(code),
            len(turn), sum(c[0] for c in turn), sum(bool(c[2]) for c in turn)]


def read_usage(text):
    """Output of cuobjdump --dump-resource-usage: {architecture: {kernel: (registers, stack)}}. A cubin does not name its own."""
    found, used, name = {}, {}, None
    for line in text.splitlines():
        kernel, numbers = re.match(r"\s+Function (\S+):", line), re.search(r"REG:(\d+) STACK:(\d+)", line)
        if line.startswith("arch = "):
            used = found.setdefault(line.split()[-1], {})
        elif kernel:
            name = kernel[1]
        elif numbers and name:
            used[name] = (int(numbers[1]), int(numbers[2]))
    return found


def read_object(tool, path, architecture=None):
    """{kernel: {architecture: numbers in the order of COLUMNS}}; all architectures of the object, or one."""
    only = ["-arch", architecture] if architecture else []
    used = read_usage(sass.dump(tool, *only, "--dump-resource-usage", path))
    code = functions(sass.dump(tool, *only, "-sass", path))
    found = {}
    for arch, kernels in code.items():
        for name, plain in zip(kernels, plain_names(kernels)):
            found.setdefault(plain, {})[arch] = row_of(kernels[name], *used[arch][name])
    return found


def read_table(text):
    """(architectures, {kernel: {architecture: numbers in the order of COLUMNS}})"""
    lines = text.splitlines()
    architectures = lines[0].split(":")[1].split()
    rows = {}
    for line in lines[2:]:
        name, *cells = line.split("\t")
        each = [c.split() * (len(architectures) if " " not in c else 1) for c in cells]
        rows[name] = dict(zip(architectures, ([int(n) for n in numbers] for numbers in zip(*each))))
    return architectures, rows


def write_table(architectures, rows, out):
    print(f"# made by cuda/ptxas.py, nvcc 13.0: {' '.join(architectures)}", file=out)
    print("kernel", *COLUMNS, sep="\t", file=out)
    for name in sorted(rows):
        cells = zip(*(rows[name][a] for a in architectures))
        print(name, *(" ".join(map(str, c if len(set(c)) > 1 else c[:1])) for c in cells), sep="\t", file=out)


def main():
    words = [w for w in sys.argv[1:] if w != "--all"]
    if not words:
        print(__doc__, file=sys.stderr)
        return 2
    rows = read_object(words[1] if len(words) > 1 else "cuobjdump", words[0])
    architectures = sorted({a for row in rows.values() for a in row}, key=lambda a: int(re.sub(r"\D", "", a)))
    if "--all" not in sys.argv:
        before, kept = read_table(TABLE.read_text())
        if before != architectures:
            sys.exit(f"cuda/ptxas.py: the object is for {' '.join(architectures)}, the table for {' '.join(before)}")
        rows = {**kept, **rows}
    write_table(architectures, rows, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
