"""Arrows run one way: by `nm`, no files of a target call each other in a circle, no file calls into a folder that the table of
layers (layers.py) does not let it, and inside a folder the sub-folders keep their order."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import layers
from sources import ROOT, TOPS, report

# Objects that the build makes from other files: which room they belong to.
GENERATED = {"report_assets.c": "profiler/report/page/report_assets.c", "hls_templates.c": "profiler/fpga/embed/hls_templates.c",
             "verilog_cores.c": "profiler/fpga/embed/verilog_cores.c"}
# The C library's memcpy, syscall and their like under the names that the capture library gives them (raw/memory.h), for every layer.
RENAMED = {"raw_memcpy", "raw_memmove", "raw_memset", "raw_memcmp", "raw_syscall",
           "raw_clock_gettime", "raw_getpid", "raw_getppid"}
# The capture library is alone in other people's processes: nothing calls it, and what it does not define is the C library's.
ALONE = {"tomoprof_capture", "tp_stacks"}
TARGETS = re.compile(r"(tp_\w+|tomoprof|tomoprof-fpga|tomoprof_capture)\.dir$")


def objects(build):
    """{target: {source path: object}} of our sources; the same source in two targets is in both."""
    found = {}
    for folder in sorted(p for p in build.rglob("*.dir") if TARGETS.fullmatch(p.name)):
        for path in sorted(folder.rglob("*.o")):
            name = str(path.relative_to(folder))[:-2].replace("__/", "")
            generated = name in GENERATED
            name = GENERATED.get(name, name)
            # An object whose source is gone is left over from an earlier build in the same folder.
            if name.startswith(tuple(f"{top}/" for top in TOPS)) and (generated or (ROOT / name).is_file()):
                found.setdefault(folder.name[:-4], {})[name] = path
    return found


def symbols(paths):
    """(symbol -> the source that defines it, source -> symbols that it needs) of {source: object}"""
    by_object = {str(path): name for name, path in paths.items()}
    listing = subprocess.run(["nm", "-A", *by_object], capture_output=True, text=True, check=True).stdout
    defined, needed = {}, {name: set() for name in paths}
    for line in listing.splitlines():
        path, _, rest = line.partition(":")
        words = rest.split()
        if len(words) == 2 and words[0] in "Uwv":
            needed[by_object[path]].add(words[1])
        elif len(words) == 3 and words[1].isupper():
            defined[words[2]] = by_object[path]
    return defined, needed


def arrows(paths, elsewhere=None):
    """{source: {source that it calls: one of the symbols}}"""
    defined, needed = symbols(paths)
    found = {}
    for name, wanted in needed.items():
        found[name] = {}
        for symbol in sorted(wanted):
            owner = defined.get(symbol) or (elsewhere or {}).get(symbol)
            if owner and owner != name and symbol not in RENAMED:
                found[name].setdefault(owner, symbol)
    return found


def circles(graph):
    """Sets of nodes that reach each other (Tarjan), each sorted."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph.get(node, ()):
            if target not in index:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in graph:
        if node not in index:
            visit(node)
    return found


def check(targets):
    problems, elsewhere = [], {}
    for target, paths in targets.items():
        if target not in ALONE:
            elsewhere.update(symbols(paths)[0])
    for target, paths in targets.items():
        graph = arrows(paths, None if target in ALONE else elsewhere)
        for circle in circles(graph):
            hops = [f"{a} -> {b} ({graph[a][b]})" for a in circle for b in graph[a] if b in circle]
            problems.append(f"{target}: a circle of {len(circle)} files:\n    " + "\n    ".join(hops))
        problems += [f"{name} may not call into {callee} ({symbol})"
                     for name, callees in graph.items() for callee, symbol in callees.items()
                     if not layers.may_call(name, callee)]
    return sorted(set(problems))


def self_test():
    """Planted: a circle of two files, and a call against the order of sub-folders."""
    code = {"host/cpu/common/a.c": "int b(void); int a(void) { return b(); }", "host/cpu/cone/b.c": "int a(void); int b(void) { return a(); }",
            "host/cpu/cone/c.c": "int a(void); int c(void) { return a(); }"}
    with tempfile.TemporaryDirectory(prefix="tomoprof-") as folder:
        paths = {}
        for number, (name, text) in enumerate(code.items()):
            source = pathlib.Path(folder) / f"{number}.c"
            source.write_text(text)
            paths[name] = source.with_suffix(".o")
            subprocess.run([shutil.which("cc") or "gcc", "-c", source, "-o", paths[name]], check=True)
        found = check({"tp_cpu": paths})
    wanted = ["host/cpu/common/a.c may not call into host/cpu/cone/b.c (b)", "tp_cpu: a circle of 2 files:"]
    return [] if [f.split("\n")[0] for f in found] == wanted else [f"the lint test sees {found} instead of its own violations"]


def main():
    if "TOMOPROF" not in os.environ:
        print("skipped: TOMOPROF does not name the program, whose build folder holds the objects")
        return 77
    problems = self_test()
    targets = objects(pathlib.Path(os.environ["TOMOPROF"]).resolve().parent)
    print(f"{sum(map(len, targets.values()))} objects of {len(targets)} targets")
    return report(problems + check(targets))


if __name__ == "__main__":
    sys.exit(main())
