"""Stacks deeper than is kept of one: the callers near the root and the lines near the leaf still get their shares."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from pythons import pythons, version
from recorded import command, compiled, main, need_library, of_samples, profile, run

# Below two lines of main, 6,000 and 20,000 frames deep: their shares by its own clock. No two rounds are of one length.
NATIVE = """#include <stdio.h>
#include <time.h>
static volatile double sink;
__attribute__((noinline)) static double leaf(long n)
{
    double x = 1;
    for (long i = 0; i < n; i++) x = x * 1.0000001 + 1e-9; /* leaf */
    return x;
}
__attribute__((noinline)) static double descend(int depth, long n)
{
    double below = depth ? descend(depth - 1, n) : leaf(n); /* again */
    sink += below; /* or the compiler makes a loop of it */
    return below;
}
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
int main(void)
{
    double s[2] = {0};
    unsigned dice = 1;
    while (s[0] + s[1] < 1.1) {
        dice = dice * 1664525u + 1013904223u;
        long n = 500000 + (long)(dice >> 8) % 1000000;
        double begin = now();
        descend(6000, 40 * n); /* less */
        double middle = now();
        descend(20000, 60 * n); /* more */
        s[0] += middle - begin;
        s[1] += now() - middle;
    }
    printf("%.6f %.6f %.3g\\n", s[0], s[1], sink);
    return 0;
}
"""

# Frames of Python below one another, and with C between them (key functions of sorted).
PYTHON = """import json, sys, time
from time import thread_time as now
sys.setrecursionlimit(20000)

def work(seconds):
    end = now() + seconds
    while now() < end:  # a call of the kernel: beside shorter sums up to 4 % of the time
        sum(range(400000))  # leaf

def plain(depth):
    if depth:
        return plain(depth - 1)
    work(0.3)

def through_c(depth):
    if depth:
        return sorted([depth], key=lambda n: through_c(n - 1) or 0)
    work(0.3)

def main():
    took = [0, 0, 0]
    for block in range(2):
        a = now()
        plain(1900)  # plain
        b = now()
        through_c(330)  # through C: three frames of C and two of Python in each
        c = now()
        work(0.4)  # straight
        for i, seconds in enumerate((b - a, c - b, now() - c)):
            took[i] += seconds
    print(json.dumps(took))

main()
"""

# Recursions whose way to the root is long, on a thread with a large stack, for frames of Python 3.9 and 3.10 are frames of C too.
FAR = """import json, sys, threading, time
from time import thread_time as now
sys.setrecursionlimit(200000)
threading.stack_size(int(sys.argv[1]) << 20)

def work(seconds):
    end = now() + seconds
    while now() < end:
        sum(range(400000))  # leaf

def plain(depth, seconds):
    if depth:
        plain(depth - 1, seconds)
    else:
        work(seconds)

def generator(depth, seconds):
    if depth:
        yield from generator(depth - 1, seconds)
    else:
        work(seconds)
        yield 1

def main():
    took = [0, 0, 0, 0]
    for block in range(2):
        a = now()
        plain(9000, 0.15)  # nine thousand
        b = now()
        plain(int(sys.argv[2]), 0.3)  # a hundred thousand
        c = now()
        list(generator(int(sys.argv[3]), 0.2))  # generators
        d = now()
        work(0.35)  # straight
        for i, seconds in enumerate((b - a, c - b, d - c, now() - d)):
            took[i] += seconds
    print(json.dumps(took))

thread = threading.Thread(target=main)
thread.start()
thread.join()
"""

DEPTH = 45  # packages that import the next one, each through half a dozen frames of the import system
IMPORTED = "import time\nend = time.thread_time() + 0.7\nwhile time.thread_time() < end:\n    sum(range(400000))\n"
IMPORTS = """import time
begin = time.thread_time()
import chain_0  # imports
middle = time.thread_time()
while time.thread_time() < middle + 0.3:
    sum(range(400000))
print(middle - begin, time.thread_time() - middle)
"""


def inclusive(line):
    return line["cpu_incl"]["user"] + line["cpu_incl"]["sys"] if line else 0


def recorded(check, folder, name, *program):
    """Profile, inclusive seconds of each line of the program, and what it said."""
    done = run(command(folder / "runs", "--rate", "500", "--", *program))
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr.decode()}")
    data = profile(folder / "runs")
    found = [file for path, file in data["files"].items() if path.split("/")[-1] == name]
    return data, {line["line"]: inclusive(line) for file in found for line in file["lines"]}, done.stdout.decode()


def near(check, data, lines, source, expected, total):
    """Shares of the lines that end in a comment with these words: within 3 points; 5 where the run waited for a CPU, as in test_truth.py."""
    cpu = data["totals"]["cpu"]
    within = 5 if data["meta"]["wall_s"] > 1.1 * (cpu["user"] + cpu["sys"]) + 0.05 else 3
    for mark, percent in expected.items():
        number = next(i for i, text in enumerate(source.splitlines(), 1) if mark in text)
        found = 100 * lines.get(number, 0) / total
        check.that(abs(found - percent) <= within, f"{mark}: {found:.1f} % of the CPU time, truth {percent:.1f} % +- {within}")


@of_samples
def native_roots(check, folder):
    program = compiled(folder, "deep", NATIVE, "-O1", "-fno-optimize-sibling-calls")
    data, lines, said = recorded(check, folder, "deep.c", program)
    cpu, less, more = data["totals"]["cpu"], *map(float, said.split()[:2])
    less, more = 100 * less / (less + more), 100 * more / (less + more)
    near(check, data, lines, NATIVE, {"/* less": less, "/* more": more, "/* again": 100, "/* leaf": 100}, cpu["user"] + cpu["sys"])
    said = {item["id"]: item for item in data["quality"]["items"]}
    check.that("stack.deep" in said, f"no word of stacks that are too deep: {sorted(said)}")
    check.that("stack.cut" not in said, f"stacks reach their root, and yet: {said.get('stack.cut')}")
    check.that(any("left out" in (name or "") for name in data["frames"]["function"]), "no frame says that others are left out")


@of_samples
def python_roots(check, folder):
    script = folder / "deep.py"
    script.write_text(PYTHON)
    data, lines, said = recorded(check, folder, "deep.py", sys.executable, script)
    took = json.loads(said)
    plain, through, straight = (100 * seconds / sum(took) for seconds in took)
    truth = {"# plain": plain, "# through C": through, "# straight": straight, "# leaf": 100}
    near(check, data, lines, PYTHON, truth, lines.get(len(PYTHON.splitlines()), 1e-9))


@of_samples
def far_roots(check, folder):
    script = folder / "far.py"
    script.write_text(FAR)
    for python in pythons():
        data, lines, said = recorded(check, folder, "far.py", python, script, 1000 if version(python)[1] > 10 else 2000, 100000, 5000)
        took = json.loads(said)
        truth = {mark: 100 * seconds / sum(took) for mark, seconds in zip(("# nine", "# a hundred", "# generators", "# straight"), took)}
        bottom = sum(lines.get(next(i for i, text in enumerate(FAR.splitlines(), 1) if mark in text), 0) for mark in truth)
        near(check, data, lines, FAR, truth, sum(took))
        check.that(bottom >= 0.95 * sum(took), f"{python}: {bottom:.2f} s of {sum(took):.2f} have a root")


@of_samples
def chain_of_imports(check, folder):
    for i in range(DEPTH):
        (folder / f"chain_{i}").mkdir()
        (folder / f"chain_{i}" / "__init__.py").write_text("from . import inner\n")
        (folder / f"chain_{i}" / "inner.py").write_text(f"import chain_{i + 1}\n" if i + 1 < DEPTH else IMPORTED)
    script = folder / "imports.py"
    script.write_text(IMPORTS)
    data, lines, said = recorded(check, folder, "imports.py", sys.executable, script)
    imports, rest = map(float, said.split())
    near(check, data, lines, IMPORTS, {"# imports": 100 * imports / (imports + rest)}, max(sum(lines.values()), 1e-9))


need_library()
main(native_roots, python_roots, far_roots, chain_of_imports)
