"""Stacks: no function of the libraries that record injects needs more than 1 KiB of the program's stack, which may have 8 KiB in all
(a coroutine, a small thread). The compiler wrote each function's need beside its object (-fstack-usage)."""

import os
import pathlib
import sys

from sources import report

BUILD = pathlib.Path(os.environ.get("TOMOPROF") or sys.exit("TOMOPROF: the path of the program is not set")).parent
MOST = 1024
ELSEWHERE = {  # larger, and not on the program's stack
    "awaits_follow": "coroutines of another thread: the library's own thread, or tomoprof itself (--pid)",
    "python_awaits": "the same",
    "python_code_is": "the same",
}
# Arrays as long as what the program hands over: the C library's functions of these names take as much.
AS_GIVEN = {"execl", "execle", "execlp", "execve", "execveat", "execvpe", "fexecve", "posix_spawn", "posix_spawnp"}


def needs(text):
    """(place, function, bytes, kind) of each line of a .su file."""
    for line in text.splitlines():
        place, size, kind = line.rsplit("\t", 2)
        where, name = place.rsplit(":", 1)
        yield where, name.split(".")[0], int(size), kind


def check(text, seen):
    problems = []
    for where, name, size, kind in needs(text):
        if kind == "dynamic" and name in AS_GIVEN or size > MOST and name in ELSEWHERE:
            seen.add(name)
        elif kind == "dynamic":
            problems.append(f"{where}: {name} takes as much stack as its data asks for; give the array a limit, or list the function")
        if size > MOST and name not in ELSEWHERE:
            problems.append(f"{where}: {name} needs {size} bytes of stack, {MOST} at most; use the thread's scratch (core/capture.h)")
    return problems


def main():
    problems, seen, count = [], set(), 0
    for library in ("tomoprof_capture", "tomoprof_capture_mpi"):
        objects = sorted((BUILD / "CMakeFiles" / f"{library}.dir").rglob("*.o"))
        if not objects:
            problems.append(f"{BUILD}: no objects of {library}")
        for path in objects:
            usage = path.with_suffix(".su")
            if usage.is_file():
                text = usage.read_text()
                count += len(text.splitlines())
                problems += check(text, seen)
            else:
                problems.append(f"{usage} is missing: {library} is built without -fstack-usage")
    problems += [f"{name}: listed here, and needs no exception" for name in sorted((set(ELSEWHERE) | AS_GIVEN) - seen)]
    # What the rule itself must refuse and take.
    for text, good in (("a.c:1:5:large\t1040\tstatic", False), ("a.c:1:5:any\t96\tdynamic", False), ("a.c:1:5:large.part.0\t4096\tdynamic,bounded", False),
                       ("a.c:1:5:small\t1024\tstatic", True), ("a.c:1:5:execl\t112\tdynamic", True), ("a.c:1:5:execl\t1112\tdynamic", False)):
        if bool(check(text, set())) == good:
            problems.append(f"the rule judges {text!r} wrongly")
    print(f"{count} functions")
    sys.exit(report(problems))


if __name__ == "__main__":
    main()
