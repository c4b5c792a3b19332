"""What the time of a line went to, against programs whose work is known: each phase is one line that does one kind of work, or
two whose times its own clock divides. And the advice of the line that takes most."""

import importlib.util
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, of_samples, profile, run

# rounds(f, s): calls f, which is one marked line, for s seconds of CPU time.
HEAD = """import json, time
T = {}
def clock(name, f, *a):
    b = time.thread_time(); x = f(*a); T[name] = T.get(name, 0) + time.thread_time() - b
    return x
def rounds(f, s=0.7):
    end = time.process_time() + s
    while time.process_time() < end:
        f()
"""
STANDARD = HEAD + """import logging, pickle, random, re, zlib
packed = zlib.compress(bytes(random.Random(1).choices(range(40), k=200000)), 1)   # small: without new pages
text = "".join(f"key{i}=2021-0{i % 9 + 1}-11; " for i in range(4000))
data = {"a": [i * 0.37 for i in range(9000)]}
log = logging.getLogger("x"); log.addHandler(logging.NullHandler()); log.setLevel("DEBUG")
rows = [(i, str(i)) for i in range(9000)]
def inflate():
    zlib.decompress(packed)                                   # @decode
def search():
    re.findall(r"(\\d{4})-(\\d\\d)-(\\d\\d)", text)               # @regex
def write():
    json.dumps(data)                                          # @json
def send():
    pickle.loads(pickle.dumps(rows))                          # @pickle
def tell():
    [log.debug("value %d of %s", i, "x") for i in range(500)] # @log
def count():
    [i * i for i in range(20000)]                             # @python
for f in (inflate, search, write, send, tell, count):
    rounds(f)
"""
# With a second thread OpenBLAS spins for it while it waits for a CPU: beside other work that is half of a small product.
ARRAYS = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'\n" + HEAD + """import zlib
import numpy as np
rng = np.random.default_rng(1)
small, large = rng.random(20000), rng.random(3000000)
whole = rng.integers(0, 40, 400000).astype(np.uint16)
packed = zlib.compress(whole.tobytes(), 1)
square = rng.random((300, 300))
plane = rng.random((512, 512))
def loop():
    return sum(small[i] * small[i] + small[i] for i in range(14000)) # @scalar
def cast():
    np.copyto(out, whole)                                     # @cast
def fresh():
    np.full(9000000, 1.5)                                     # @fault
def order():
    np.sort(large)                                            # @sort
def product():
    square @ square                                           # @blas
def transform():
    np.fft.fft2(plane)                                        # @fft
def draw():
    rng.standard_normal(out=out)                              # @random
def both():
    b = np.frombuffer(clock("decode", zlib.decompress, packed), np.uint16); clock("cast", np.copyto, out, b)   # @both
out = np.empty(400000)
for f in (loop, cast, fresh, order, product, transform, draw, both):
    rounds(f)
print(json.dumps(T))
"""
# New pages and libc alone: a page fault is told by the kernel's account, not by a name.
NATIVE = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static volatile double sum;
int main(void)
{
    static int numbers[300000];
    for (double end = now() + 0.7; now() < end;) {
        char *p = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(p, 1, 1 << 24); /* @fault */
        munmap(p, 1 << 24);
    }
    for (double end = now() + 0.7; now() < end;) {
        for (int i = 0; i < 300000; i++)
            numbers[i] = (int)((unsigned)i * 2654435761u >> 4);
        qsort(numbers, 300000, sizeof *numbers, by_value); /* @sort */
    }
    for (double end = now() + 0.7; now() < end;)
        for (int i = 0; i < 100000; i++)
            sum += 1.0 / (i + 1); /* @self */
}
"""


def marked(source):
    return {line.rsplit("@", 1)[1].split()[0]: n for n, line in enumerate(source.splitlines(), 1) if "@" in line.rsplit("# ", 1)[-1] or "/* @" in line}


def works_of(model, line):
    """{kind: share} of a line with the lines that it calls."""
    own, works = model["own"], model["works"]
    below = []
    for i, parent in enumerate(own["parent"]):
        below.append(own["line"][i] == line or (parent is not None and 0 <= parent < i and below[parent]))
    sums = {}
    for at, kind, ns in zip(works["own"], works["kind"], works["cpu_ns"]):
        if below[at]:
            sums[kind] = sums.get(kind, 0) + ns
    return {kind: ns / sum(sums.values()) for kind, ns in sums.items()}


def recorded(folder, name, *words):
    out = folder / f"out_{name}"
    done = run(command(out, "--", *words))
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return profile(out), done.stdout.decode().strip()


def check_kinds(check, model, lines, least):
    for kind, line in lines.items():
        found = works_of(model, line)
        check.that(found.get(kind, 0) >= least.get(kind, 0.6), f"line {line} should be {kind}: {found}")


@of_samples
def lines_of_python_s_library_have_their_kind(check, folder):
    (folder / "p.py").write_text(STANDARD)
    model, _ = recorded(folder, "standard", sys.executable, folder / "p.py")
    # Formatting is a part of logging, and pickling makes objects that the collector looks at.
    check_kinds(check, model, marked(STANDARD), {"pickle": 0.4})


@of_samples
def lines_of_arrays_have_their_kind(check, folder):
    if not importlib.util.find_spec("numpy"):
        return print("  skipped: no NumPy")
    (folder / "a.py").write_text(ARRAYS)
    model, said = recorded(folder, "arrays", sys.executable, folder / "a.py")
    lines, truth = marked(ARRAYS), json.loads(said)
    both = lines.pop("both")
    check_kinds(check, model, lines, {"scalar": 0.5})
    found = works_of(model, both)
    for kind in truth:
        share = truth[kind] / sum(truth.values())
        check.that(abs(found.get(kind, 0) - share) < 0.15, f"{kind} by its own clock {share:.2f}, found {found}")


@of_samples
def compiled_lines_have_their_kind(check, folder):
    program = compiled(folder, "native", NATIVE, "-O2")
    if not program:
        return print("  skipped: no compiler")
    model, _ = recorded(folder, "native", program)
    # The comparison of two numbers is code of the program's own: 43 % of the sort on an Intel Xeon.
    check_kinds(check, model, marked(NATIVE), {"sort": 0.5})


@of_samples
def the_sentence_and_the_advice_tell_the_largest_part(check, folder):
    source = HEAD + "import re\ntext = 'key=2021-03-11; ' * 4000\ndef search():\n    re.findall(r'(\\d{4})-(\\d\\d)', text)\nrounds(search, 1.5)\n"
    (folder / "s.py").write_text(source)
    model, _ = recorded(folder, "sentence", sys.executable, folder / "s.py")
    first = model["answers"][0]
    check.that("% regular expressions" in first["text"] and "Test with `in`" in first["advice"], f"the first answer: {first}")


# Several types, one line each: each first call compiles. The clock around each tells how long.
COMPILES = """import json, time
import numpy as np
import numba
@numba.njit
def total(a):
    s = a[0] * 0
    for i in range(a.size):
        for j in range(a.size):
            s += a[i] * a[j] + np.sqrt(np.abs(a[j]))
    return s
T = 0.0
def first(dtype):
    global T
    a = np.ones(60, dtype); b = time.process_time(); total(a); T += time.process_time() - b
first(np.float64)
first(np.float32)
first(np.complex128)
first(np.complex64)
print(json.dumps(T))
"""


@of_samples
def compilation_is_an_answer(check, folder):
    if not importlib.util.find_spec("numba"):
        return print("  skipped: no numba")
    (folder / "c.py").write_text(COMPILES)
    model, said = recorded(folder, "compiles", sys.executable, folder / "c.py")
    truth = json.loads(said)
    works = model["works"]
    found = sum(ns for own, kind, ns in zip(works["own"], works["kind"], works["cpu_ns"])
                if kind.startswith("compile.") and model["own"]["kind"][own] != "import") / 1e9
    check.that(0.6 * truth < found <= 1.1 * truth + 0.2, f"compiled for {found} s, by its own clock {truth} s")
    text = " ".join(f"{a['text']} {a['advice']}" for a in model["answers"][:2])
    check.that("ompiling (numba)" in text and "cache=True" in text, f"the answers: {model['answers'][:2]}")


need_library()
main(lines_of_python_s_library_have_their_kind, lines_of_arrays_have_their_kind, compiled_lines_have_their_kind,
     the_sentence_and_the_advice_tell_the_largest_part, compilation_is_an_answer)
