"""Layers: who may include whom, that the link edges of CMakeLists.txt say the same, and who may print or exit."""

import re
import sys

from sources import ROOT, TOPS, c_files, report, strip

from layers import FOREIGN, INSIDE, MAY_INCLUDE, folder_of, may_include, sub_folder_of

# Printing and ending the process belong to cli and the log. What stands here is allowed besides, by file.
OUTPUT = r"\b(printf|puts|putchar|perror|vprintf)\s*\(|\b(?:fprintf|fputs|putc|fputc|fwrite|vfprintf)\s*\([^;]*\b(stdout|stderr)\b"
EXIT = r"\b(exit|_exit|_Exit|quick_exit)\s*\("
MAY_PRINT = {
    "base/log.c": "the log itself",
    "base/options.c": "opt_help prints --help",
    "profiler/fpga/main.c": "the main of a program of its own",
}
MAY_EXIT = {
    "base/child.c": "ends the child that it forked",
    "profiler/capture/hooks/process.c": "stands before _exit and quick_exit, which end the process as asked",
    "profiler/record/launch.c": "the child of its fork, when it cannot become the program",
    "profiler/record/witness.c": "the child of its fork, which becomes no other program",
}
# The capture library lives in other processes: no lock or heap of theirs, no end that they did not ask for.
FOREIGN_PROCESS = r"(?<![\w.>])(malloc|calloc|realloc|reallocarray|free|strdup|strndup|asprintf|getline|fopen|opendir|abort|assert|raise)\s*\("
MAY_ALLOCATE = {
    "profiler/capture/hooks/malloc.c": "stands before the program's malloc",
    "profiler/capture/hooks/task_count.c": "stands before the program's opendir",
}


def check_includes(name, text):
    problems = []
    folder = folder_of(name)
    if folder is None or sub_folder_of(name) is None:
        return [f"{name}: its folder is not in the table of layers"]
    depth, seen_own = 0, False
    for number, line in enumerate(strip(text, strings=False).splitlines(), 1):
        where = f"{name}:{number}"
        if re.match(r"\s*#\s*if", line):
            depth += 1
        elif re.match(r"\s*#\s*endif", line):
            depth -= 1
        own = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        system = re.match(r"\s*#\s*include\s*<([^>]+)>", line)
        if own:
            seen_own = True
            target = own.group(1)
            if not (ROOT / target).is_file():
                problems.append(f'{where}: "{target}" is no path from the top of the repository')
            elif not may_include(name, target):
                problems.append(f"{where}: {name.rsplit('/', 1)[0]} may not include {target}")
        if system:
            guard = 1 if name.endswith(".h") else 0
            if seen_own and depth <= guard:
                problems.append(f"{where}: <{system.group(1)}> after an own header")
            for pattern, folders in FOREIGN.items():
                if re.fullmatch(pattern, system.group(1)) and folder not in folders:
                    problems.append(f"{where}: {folder} may not use <{system.group(1)}>")
    return problems


def check_output(name, text):
    problems = []
    if folder_of(name) == "cli":
        return problems
    code = strip(text)
    for pattern, allowed, verb in ((OUTPUT, MAY_PRINT, "prints"), (EXIT, MAY_EXIT, "ends the process")):
        if name in allowed:
            continue
        for match in re.finditer(pattern, code):
            line = code.count("\n", 0, match.start()) + 1
            problems.append(f"{name}:{line}: {verb} ({match.group(0).split('(')[0].strip()}); only cli and the log may")
    return problems


def check_capture(name, text):
    if folder_of(name) != "profiler/capture" or name in MAY_ALLOCATE:
        return []
    code = strip(text)
    return [
        f"{name}:{code.count(chr(10), 0, m.start()) + 1}: {m.group(1)}: the capture library takes no heap, lock or end"
        for m in re.finditer(FOREIGN_PROCESS, code)
    ]


def link_closure(cmake):
    """folder -> folders that it is linked to, directly or not, from the tp_library lines."""
    direct = {}
    folders = {}
    for folder, links in re.findall(r"^tp_library\(([^\s)]+)([^)]*)\)", cmake, re.M):
        target = "tp_" + re.sub("^(host|profiler|base)/", "", folder).replace("/", "_")
        folders[target] = folder
        direct[target] = [word for word in links.split() if word.startswith("tp_")]
    cli = re.search(r"^target_link_libraries\(tomoprof PRIVATE ([^)]*)\)", cmake, re.M)
    folders["tomoprof"] = "cli"
    direct["tomoprof"] = cli.group(1).split() if cli else []

    # The part of the capture library that profiler/outside is linked to.
    stacks = re.search(r"^target_link_libraries\(tp_capture_stacks PUBLIC ([^)]*)\)", cmake, re.M)
    if stacks:
        folders["tp_capture_stacks"] = "profiler/capture"
        direct["tp_capture_stacks"] = [t for t in stacks.group(1).split() if t.startswith("tp_")]

    # A module that compiles what it needs of other folders in, and links libc alone.
    capture = re.search(r"^add_library\(tomoprof_capture MODULE([^)]*)\)", cmake, re.M)
    if capture:
        sources = set(re.findall(r"\$\{CMAKE_SOURCE_DIR\}/([\w/]+)/\w+\.c", capture.group(1)))
        linked = re.search(r"^target_link_libraries\(tomoprof_capture PRIVATE ([^)]*)\)", cmake, re.M)
        targets = linked.group(1).split() if linked else []
        folders["tomoprof_capture"] = "profiler/capture"
        direct["tomoprof_capture"] = [t for t in targets if t.startswith("tp_")]
        direct["tomoprof_capture"] += [t for t, f in folders.items() if f in sources]

    def reach(target):
        found = set()
        for link in direct[target]:
            found |= {folders[link]} | reach(link)
        return found

    found = {folders[target]: reach(target) for target in direct}
    found["profiler/capture_mpi"] = {"profiler/trace", "profiler/capture"} # types alone: it links libc
    if capture: # writer.c and sum.c do without the base that the reader needs
        found["profiler/capture"] -= {"base"}
    if stacks: # what outside needs of it is not the program's to call
        found["cli"] -= {"profiler/capture"}
    return found


def check_links(cmake):
    problems = []
    linked = link_closure(cmake)
    for folder, allowed in MAY_INCLUDE.items():
        if linked.get(folder) != allowed:
            problems.append(
                f"CMakeLists.txt: {folder} links {sorted(linked.get(folder, ()))}, the table says {sorted(allowed)}"
            )
    problems += [f"CMakeLists.txt: {f} is not in the table of layers" for f in set(linked) - set(MAY_INCLUDE)]
    return problems


def self_test():
    """Each rule must catch its own violation."""
    bad = [
        check_includes("base/x.c", '#include "host/geom/scan.h"\n'),
        check_includes("base/x.c", '#include "err.h"\n'),
        check_includes("base/x.c", '#include "base/err.h"\n#include <stdio.h>\n'),
        check_includes("host/geom/x.c", "#include <omp.h>\n"),
        check_includes("host/new/x.c", ""),
        check_includes("host/cpu/new/x.c", ""),
        check_includes("host/cpu/common/x.c", '#include "host/cpu/filter/fft.h"\n'),
        check_includes("host/cpu/cone/x.c", '#include "host/cpu/vcd/vcd.h"\n'),
        check_output("host/geom/x.c", 'void f(void) { printf("x"); }'),
        check_output("host/geom/x.c", 'void f(void) { fprintf(stderr, "x"); }'),
        check_output("host/geom/x.c", "void f(void) { exit(1); }"),
        check_capture("profiler/capture/x.c", "void f(void) { p = malloc(3); }"),
        check_capture("profiler/capture/x.c", "void f(void) { abort(); }"),
        check_links("tp_library(base m tp_geom)\ntp_library(host/geom)\n"),
    ]
    good = check_output("host/geom/x.c", '/* printf("x") */ const char *s = "exit(1)"; int my_exit(int);')
    good += check_capture("profiler/capture/x.c", "void f(void) { next.free(p); trace_abort(); }")
    return [f"the lint test does not see violation {i}" for i, found in enumerate(bad) if not found] + good


def main():
    problems = self_test()
    for path in c_files(*TOPS):
        name = str(path.relative_to(ROOT))
        text = path.read_text()
        problems += check_includes(name, text) + check_output(name, text) + check_capture(name, text)
    problems += [f"{folder}: in the table of layers, but not there" for folder in MAY_INCLUDE if not (ROOT / folder).is_dir()]
    problems += [f"{folder}/{sub}: in the table of layers, but not there"
                 for folder, subs in INSIDE.items() for sub in subs if not (ROOT / folder / sub).is_dir()]
    problems += check_links((ROOT / "CMakeLists.txt").read_text())
    return report(problems)


if __name__ == "__main__":
    sys.exit(main())
