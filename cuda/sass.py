#!/usr/bin/env python3
"""Registers, stack and inner loops of the CUDA kernels, from their machine code:

    cuda/sass.py [--json] OBJECT [CUOBJDUMP] [PART OF A NAME]
    cuda/sass.py --walk "LDG=16 FFMA=16" OBJECT CUOBJDUMP PART OF A NAME

OBJECT: libtomoprof_cuda13.so, built for one architecture, or a cubin of a trace folder. A loop is what lies between a backward
branch and its target; of the loops that hold each other only the innermost is listed. --json: the mix of the busiest loop
of each kernel, as `tomoprof triage` reads it from sass.json beside a run. --walk: the shortest way around a loop that executes
exactly so many of these opcodes (a pattern of the whole word; inner loops are taken as often as that needs), its instructions
by kind, and where it leads: what one turn must load, store and compute is known from the source, and leaves one way. A way
that nothing allows is told after a search of at most LONGEST instructions."""

import collections
import heapq
import json
import pathlib
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


# What an opcode is, by the first pattern that fits, and its floating-point operations.
KINDS = [("float32", r"F(FMA|ADD|MUL|MNMX\d?|SEL|SETP|CHK|SWZADD)|H(FMA2|ADD2|MUL2)", {"FFMA": 2, "FADD": 1, "FMUL": 1, "FMNMX": 1}),
         ("float64", r"D(FMA|ADD|MUL|SETP)", {"DFMA": 2, "DADD": 1, "DMUL": 1}),
         ("special", r"MUFU|F2F|F2I|I2F|FRND|I2FP|F2FP", {}), ("loads", r"LDG?|TEX|TLD4?|SULD", {}),
         ("stores", r"STG?|RED|ATOMG?|SUST", {}), ("shared", r"LDS|STS|LDSM|ATOMS", {}), ("shuffles", r"SHFL", {}),
         ("branches", r"BRA|BRX|BSSY|BSYNC|EXIT|CALL|RET|WARPSYNC|BAR", {}),
         ("integer", r"I(ADD3?|MAD|MNMX|SETP|ABS|DP\w*)|LEA|SHF|SHL|SHR|LOP3|PRMT|VIADD\w*|VI\w*|POPC|FLO|BREV|ISCADD|U\w+", {})]


def mix(opcodes):
    """Counts by kind, and flops; the rest is `other`."""
    found = dict.fromkeys([kind for kind, _, _ in KINDS] + ["other", "flops"], 0)
    for op, n in opcodes.items():
        kind, flops = next(((k, f) for k, pattern, f in KINDS if re.fullmatch(pattern, op)), ("other", {}))
        found[kind] += n
        found["flops"] += n * flops.get(op, 0)
    return found


def busiest(code):
    """Of the inner loops that with most arithmetic; without one, all of the kernel."""
    found = [mix(count) for _, _, count in loops(code)] or [mix(collections.Counter(opcode(t) for _, t in code))]
    return max(found, key=lambda m: m["float32"] + m["float64"])


LONGEST = 2000


def word(text):
    """Opcode with its modifiers."""
    return re.sub(r"^@!?U?P\w+ ", "", text).split()[0]


def successors(code):
    """Indices that may come after each instruction. BSYNC goes where the nearest BSSY of its register leads."""
    index, joins, found = {at: i for i, (at, _) in enumerate(code)}, {}, []
    for i, (_, text) in enumerate(code):
        op, conditional = word(text), text.startswith("@")
        target = re.search(r"\b0x([0-9a-f]+)\s*$", text.strip())
        to = index.get(int(target[1], 16)) if target else None
        name, after = op.split(".")[0], [i + 1]
        if name == "BSSY":
            joins[text.split(op)[1].split(",")[0].strip()] = to
        elif name == "BRA" and ".DIV" not in op:
            conditional = conditional or re.search(r"\bU?P\d", text.split(op, 1)[1])
            after = [to] + ([i + 1] if conditional else [])
        elif name == "BSYNC":
            after = [joins.get(text.split()[-1], i + 1)]
        elif name in ("EXIT", "RET", "BRX", "CALL"):
            after = [i + 1] if conditional else []
        found.append([k for k in after if k is not None and k < len(code)])
    return found


def walk_from(head, after, counts, goal, longest):
    """The shortest way from an instruction back to it that meets the goal, at most so long: indices, or None."""
    begin = (head, counts[head])
    heap, came = [(1, begin)], {begin: None}
    while heap:
        length, state = heapq.heappop(heap)
        at, have = state
        if length > longest:
            return None
        if head in after[at] and have == goal:
            way = []
            while state:
                way.append(state[0])
                state = came[state]
            return way[::-1]
        for k in after[at]:
            step = (k, tuple(map(sum, zip(have, counts[k]))))
            if k != head and step not in came and all(h <= g for h, g in zip(step[1], goal)):
                came[step] = state
                heapq.heappush(heap, (length + 1, step))
    return None


def walk(code, wanted):
    """wanted: [(pattern, count)]"""
    after = successors(code)
    counts = [tuple(int(bool(re.match(pattern + r"(\.|$)", word(text)))) for pattern, _ in wanted) for _, text in code]
    best, goal = None, tuple(n for _, n in wanted)
    for head in sorted({k for i, to in enumerate(after) for k in to if k <= i}):
        found = walk_from(head, after, counts, goal, len(best) - 1 if best else LONGEST)
        best = found or best
    return best


def print_walk(tool, path, part, wanted):
    wanted = [(pattern, int(n)) for pattern, n in (want.split("=") for want in wanted.split())]
    for name, code in functions(tool, path).items():
        if part not in demangle(name):
            continue
        way = walk(code, wanted)
        if not way:
            print(f"{demangle(name)}: no such way")
            continue
        breaks = [0] + [i for i in range(1, len(way)) if way[i] != way[i - 1] + 1] + [len(way)]
        parts = [f"{code[way[a]][0]:#x}-{code[way[b - 1]][0]:#x}" for a, b in zip(breaks, breaks[1:])]
        opcodes = collections.Counter(opcode(code[i][1]) for i in way)
        print(f"{demangle(name)}: {len(way)} instructions: {', '.join(parts)}")
        print("    " + ", ".join(f"{n} {kind}" for kind, n in mix(opcodes).items() if n and kind != "flops"))
        print("    " + ", ".join(f"{n} {op}" for op, n in opcodes.most_common()))


def as_json(tool, path, used, code, part):
    arch = sorted(set(re.findall(r"sm_\d+\w?", dump(tool, "--list-elf", path))))
    rows = [{"kernel": demangle(name), "registers": used.get(name, (None, None))[0], "loop": busiest(steps)}
            for name, steps in sorted(code.items(), key=lambda item: demangle(item[0])) if part in demangle(name)]
    return {"schema": "tomoprof-sass/1", "object": pathlib.Path(path).name, "arch": arch[0] if len(arch) == 1 else None,
            "kernels": rows}


def main():
    wants_json = "--json" in sys.argv
    words = [argument for argument in sys.argv[1:] if argument != "--json"]
    if len(words) == 5 and words[0] == "--walk":
        print_walk(words[3], words[2], words[4], words[1])
        return 0
    if not words:
        print(__doc__, file=sys.stderr)
        return 2
    path, tool = words[0], words[1] if len(words) > 1 else "cuobjdump"
    part = words[2] if len(words) > 2 else ""
    used, code = resources(tool, path), functions(tool, path)
    if wants_json:
        print(json.dumps(as_json(tool, path, used, code, part), indent=1))
        return 0
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
