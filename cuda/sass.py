#!/usr/bin/env python3
"""Registers, stack and inner loops of the CUDA kernels, from their machine code: cuda/sass.py OBJECT [CUOBJDUMP] [PART OF
A NAME]. OBJECT: libtomoprof_cuda.so, built for one architecture. A loop is what lies between a backward branch and its
target; of the loops that hold each other only the innermost is listed."""

import collections
import re
import subprocess
import sys


def dump(tool, *arguments):
    return subprocess.run([tool, *arguments], capture_output=True, text=True, check=True).stdout


def demangle(name):
    return re.sub(r"\(.*", "", subprocess.run(["c++filt", name], capture_output=True, text=True).stdout.strip()
                  ).replace("void ", "")


def resources(tool, path):
    """name -> (registers, stack)"""
    text = dump(tool, "--dump-resource-usage", path)
    found = re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\d+)", text)
    return {name: (int(registers), int(stack)) for name, registers, stack in found}


def functions(tool, path):
    """name -> [(address, instruction)]"""
    code, name = {}, None
    for line in dump(tool, "-sass", path).splitlines():
        start = re.search(r"Function : (\S+)", line)
        if start:
            name = start[1]
            code[name] = []
        step = re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?);", line)
        if step and name:
            code[name].append((int(step[1], 16), step[2]))
    return code


def opcode(text):
    return re.sub(r"^@!?U?P\w+ ", "", text).split()[0].split(".")[0]


def loops(code):
    """Innermost loops: (first, last, opcodes)."""
    spans = []
    for address, text in code:
        target = re.search(r"\bBRA\b.*?0x([0-9a-f]+)", text)
        if target and int(target[1], 16) < address:
            spans.append((int(target[1], 16), address))
    inner = [a for a in spans if not any(a[0] <= b[0] and b[1] <= a[1] and a != b for b in spans)]
    return [(first, last, collections.Counter(opcode(t) for at, t in code if first <= at <= last))
            for first, last in inner]


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    path, tool = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cuobjdump"
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    used, code = resources(tool, path), functions(tool, path)
    for name in sorted(code, key=demangle):
        plain = demangle(name)
        if part not in plain:
            continue
        registers, stack = used.get(name, (None, None))
        print(f"{plain}: {registers} registers, {stack} bytes of stack, {len(code[name])} instructions")
        for first, last, count in loops(code[name]):
            mix = ", ".join(f"{n} {op}" for op, n in count.most_common(8))
            local = count["LDL"] + count["STL"]
            print(f"    loop at {first:#06x}: {sum(count.values())} instructions, {local} of local memory: {mix}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
