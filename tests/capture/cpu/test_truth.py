"""What profile.json says of programs whose costs are known: by construction, or by their own clocks.

The sampler's smallest step is a tick of the kernel (4 ms at 250 Hz), and several where other work gets between. Work comes
in few blocks of many ticks, so that a share is off by about one step per block, at random: 0.2 points of 100 over 4 s, 0.5
where a step takes 10 ms. No two blocks are of one length, so that none keeps step with the kernel's ticks. The tolerance is 2 points; 5 beside other work, where a thread may run for many blocks' length between
two ticks that meet it (3 points were seen on two CPUs with twelve times as much to do).
"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, of_samples, profile, run

SHARES = """#include <stdio.h>
#include <time.h>
#define WORK(n) for (long i = 0; i < (n); i++) x = x * 1.0000001 + 1e-9 /* latency of multiply and add: equal work */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
int main(int argc, char **argv)
{
    double x = argc, s[3] = {0};
    unsigned dice = 1;
    for (int block = 0; block < 8; block++) {
        dice = dice * 1664525u + 1013904223u;
        long n = 10000000 + (long)(dice >> 8) % 10000000;
        double begin = now();
        WORK(7 * n); /* 70 % */
        double second = now();
        WORK(2 * n); /* 20 % */
        double third = now();
        WORK(1 * n); /* 10 % */
        s[0] += second - begin;
        s[1] += third - second;
        s[2] += now() - third;
    }
    printf("[%.6f, %.6f, %.6f]\\n", s[0], s[1], s[2] + 0 * x);
    return 0;
}
"""

THREADS = """#include <pthread.h>
#include <stdio.h>
#include <time.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static void *heavy(void *out)
{
    double x = 1;
    for (long i = 0; i < 300000000; i++) x = x * 1.0000001 + 1e-9; /* heavy */
    *(double *)out = now() + 0 * x;
    return NULL;
}
static void *light(void *out)
{
    double x = 1;
    for (long i = 0; i < 100000000; i++) x = x * 1.0000001 + 1e-9; /* light */
    *(double *)out = now() + 0 * x;
    return NULL;
}
int main(void)
{
    pthread_t a, b;
    double s[2];
    pthread_create(&a, NULL, heavy, &s[0]);
    pthread_create(&b, NULL, light, &s[1]);
    pthread_join(a, NULL); /* waits */
    pthread_join(b, NULL);
    printf("{\\"heavy\\": %.6f, \\"light\\": %.6f}\\n", s[0], s[1]);
    return 0;
}
"""

RECURSION = """#include <stdio.h>
#include <stdlib.h>
static volatile double sink;
__attribute__((noinline)) static void leaf(void)
{
    double x = 1;
    for (long i = 0; i < 4000000; i++) x = x * 1.0000001 + 1e-9; /* leaf */
    sink = x;
}
__attribute__((noinline)) static int descend(int depth)
{
    if (!depth) {
        leaf(); /* bottom */
        return 1;
    }
    int below = descend(depth - 1); /* again */
    sink += below; /* or the compiler makes a loop of it */
    return below + 1;
}
int main(void)
{
    int n = 0;
    for (int i = 0; i < 100; i++)
        n += descend(30); /* outside */
    printf("%d\\n", n);
    return 0;
}
"""

SLEEP = """#include <stdio.h>
#include <time.h>
int main(void)
{
    double x = 1;
    nanosleep(&(struct timespec){1, 500000000}, NULL); /* sleeps */
    for (long i = 0; i < 400000000; i++) x = x * 1.0000001 + 1e-9; /* spins */
    printf("%.3g\\n", x);
    return 0;
}
"""

FAULTS = """#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
static double in(const struct timeval *t) { return t->tv_sec + 1e-6 * t->tv_usec; }
static struct rusage now(void) { struct rusage u; getrusage(RUSAGE_THREAD, &u); return u; }
int main(void)
{
    double x = 1, kernel = 0, own = 0;
    for (int k = 0; k < 1000 && kernel < 0.6; k++) {
        char *p = mmap(0, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(p, 16 << 20, MADV_NOHUGEPAGE);
        struct rusage begin = now();
        for (size_t i = 0; i < 16 << 20; i += 4096) p[i] = 1; /* touches */
        struct rusage end = now();
        kernel += in(&end.ru_stime) - in(&begin.ru_stime);
        own += in(&end.ru_utime) - in(&begin.ru_utime);
        munmap(p, 16 << 20);
    }
    for (long i = 0; i < 300000000; i++) x = x * 1.0000001 + 1e-9; /* computes */
    printf("{\\"kernel\\": %.6f, \\"own\\": %.6f, \\"x\\": %.3g}\\n", kernel, own, x);
    return 0;
}
"""

MEMORY = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *volatile p;
static char from[64 << 20], to[64 << 20];
int main(void)
{
    for (int i = 0; i < 2000000; i++) {
        p = malloc(1000); /* small */
        free(p);
    }
    for (int i = 0; i < 100; i++) {
        p = malloc(3 << 20); /* large */
        free(p);
    }
    for (int i = 0; i < 8; i++)
        p = malloc(5 << 20); /* kept */
    for (int i = 0; i < 100; i++)
        memcpy(to, from + i, (64 << 20) - 100 - argc_of(i)); /* copied */
    printf("%p %d\\n", p, to[5]);
    return 0;
}
""".replace("argc_of(i)", "(i & 1)")

PLUGIN = """#include <stdlib.h>
double work(long n) { double x = 1;{0}
    for (long i = 0; i < n; i++) x = x * 1.0000001 + 1e-9; /* hot */
    char *volatile p;
    for (int i = 0; i < n / 1000000; i += 4) { p = malloc(2 << 20); free(p); } /* allocates */
    return x; }
"""

PLUGINS = """#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
int main(int argc, char **argv)
{
    double x = 0, used[2] = {0};
    long allocated[2] = {0};
    unsigned dice = 1;
    void *place[2];
    for (int round = 0; round < 40; round++) {
        int b = round & 1;
        void *opened = dlopen(argv[1 + b], RTLD_NOW);
        double (*work)(long) = (double (*)(long))dlsym(opened, "work");
        dice = dice * 1664525u + 1013904223u;
        long n = (b ? 24 : 8) * (500000 + (long)(dice >> 8) % 1000000);
        double begin = now();
        x += work(n);
        used[b] += now() - begin;
        allocated[b] += 2 * ((n / 1000000 + 3) / 4);
        place[b] = (void *)work;
        dlclose(opened);
    }
    printf("{\\"one\\": %.6f, \\"other\\": %.6f, \\"same\\": %d, \\"mb\\": [%ld, %ld], \\"x\\": %.3g}\\n",
           used[0], used[1], place[0] == place[1], allocated[0], allocated[1], x);
    return 0;
}
"""

PYTHON_SHARES = """
from time import thread_time as now

def a(n):
    for i in range(n): pass  # 70 %

def b(n):
    for i in range(n): pass  # 20 %

def c(n):
    for i in range(n): pass  # 10 %

took = [0, 0, 0]
for block in (0.8, 1.3, 0.6, 1.1, 0.95, 1.25):
    for which, function, n in ((0, a, 17500000), (1, b, 5000000), (2, c, 2500000)):
        begin = now()
        function(int(block * n))
        took[which] += now() - begin
print(took)
"""

PYTHON_SPLIT = """
import time
import hashlib
data = bytes(200 << 20)
begin = time.thread_time()
for i in range(12000000): pass  # interpreter
middle = time.thread_time()
hashlib.sha256(data).hexdigest()  # compiled
end = time.thread_time()
time.sleep(1.2)  # sleeps
print('{"interpreter": %.6f, "compiled": %.6f}' % (middle - begin, end - middle))
"""

PYTHON_MEMORY = """
kept = [bytearray(4 << 20) for i in range(16)]  # kept
for i in range(200):
    gone = bytearray(10 << 20)  # gone
print(len(kept))
"""


def lines_of(data, name):
    """Number of line -> its record, of the file whose path ends in `name`."""
    found = [f for path, f in data["files"].items() if path.split("/")[-1] == name]
    return {line["line"]: line for f in found for line in f["lines"]}


def marked(text, mark):
    """Number of the line that ends in a comment `mark`."""
    numbers = [i for i, line in enumerate(text.splitlines(), 1) if re.search(rf"(/\* |# ){re.escape(mark)}\b", line)
               or re.search(rf"(/\* |# ){re.escape(mark)}( \*/)?$", line)]
    assert len(numbers) == 1, (mark, numbers)
    return numbers[0]


def busy(line):
    return (line["cpu"]["user"] or 0) + (line["cpu"]["sys"] or 0) if line else 0


def waited(line):
    return (line["cpu"]["wait"] or 0) if line else 0


def recorded(check, folder, words, *options):
    """Profile and output of a run."""
    done = run(command(folder / "runs", *options, "--", *words))
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr.decode()}")
    return profile(folder / "runs"), done.stdout.decode()


def c_program(check, folder, name, source, *options, flags=("-O2", "-fomit-frame-pointer", "-pthread")):
    program = compiled(folder, name, source, *flags)
    if program is None:
        print("skipped: no C compiler")
        sys.exit(77)
    data, said = recorded(check, folder, [program], *options)
    return data, lines_of(data, f"{name}.c"), said


def disturbed(data, slept=0):
    """Whether this very run, of one thread that computes but for `slept` seconds, had to wait for a CPU."""
    return data["meta"]["wall_s"] - slept > 1.1 * busy(data["totals"]) + 0.05


def late(data, slept):
    """Seconds that a look at sleeping threads may come late: the thread that looks needs a CPU too, and what was before
    its first look is nobody's."""
    return 0.6 if disturbed(data, slept) else 0.15


def points(data):
    """Of 100, by which a share may be off."""
    return 5 if disturbed(data) else 2


def near(check, value, expected, tolerance, what):
    check.that(value is not None and abs(value - expected) <= tolerance, f"{what}: {value}, expected {expected} +- {tolerance:.3g}")


@of_samples
def shares_of_lines(check, folder):
    data, lines, said = c_program(check, folder, "shares", SHARES, "--rate", 1000)
    total, truth = busy(data["totals"]), json.loads(said)
    for mark, seconds in zip(("70 %", "20 %", "10 %"), truth):
        near(check, 100 * busy(lines.get(marked(SHARES, mark))) / total, 100 * seconds / sum(truth), points(data), f"share of the line with {mark}")
    near(check, data["quality"]["cpu_sample_coverage"], 1, 0.05, "sampled of the kernel's CPU time")


@of_samples
def threads_are_not_mixed(check, folder):
    data, lines, said = c_program(check, folder, "threads", THREADS)
    truth = json.loads(said)
    for mark in ("heavy", "light"):
        near(check, busy(lines.get(marked(THREADS, mark))), truth[mark], 0.05 * truth[mark] + 0.02, f"CPU seconds of {mark}")
    joined = lines.get(marked(THREADS, "waits"))
    near(check, busy(joined), 0, 0.02, "CPU seconds of pthread_join")
    check.that(waited(joined) > 0.5 * truth["heavy"], f"pthread_join waited {waited(joined)} s while heavy took {truth['heavy']}")


@of_samples
def recursion_counts_once(check, folder):
    data, lines, _ = c_program(check, folder, "recursion", RECURSION)
    total = busy(data["totals"])
    near(check, busy(lines.get(marked(RECURSION, "leaf"))), total, 0.05 * total, "self of the leaf")
    for mark in ("bottom", "again", "outside"):
        line = lines.get(marked(RECURSION, mark))
        if check.that(line, f"no line for {mark}"):
            inclusive = line["cpu_incl"]["user"] + line["cpu_incl"]["sys"]
            near(check, inclusive, total, 0.05 * total, f"{mark}, with what it calls")
            near(check, busy(line), 0, 0.02 * total, f"{mark}, by itself")


@of_samples
def sleep_is_no_work(check, folder):
    data, lines, _ = c_program(check, folder, "sleep", SLEEP)
    asleep, spinning = lines.get(marked(SLEEP, "sleeps")), lines.get(marked(SLEEP, "spins"))
    near(check, waited(asleep), 1.5, late(data, 1.5), "seconds asleep")
    near(check, busy(asleep), 0, 0.02, "CPU seconds asleep")
    near(check, busy(spinning), busy(data["totals"]), 0.05, "CPU seconds of the loop")
    check.that(waited(spinning) < 0.5 * max(busy(spinning), 0.1), f"the loop waited {waited(spinning)} s")


@of_samples
def page_faults_are_the_kernels(check, folder):
    data, lines, said = c_program(check, folder, "faults", FAULTS)
    truth, touched, computed = json.loads(said), lines.get(marked(FAULTS, "touches")), lines.get(marked(FAULTS, "computes"))
    for line, key, seconds in ((touched, "sys", truth["kernel"]), (touched, "user", truth["own"])):
        near(check, line["cpu"][key] if line else None, seconds, 0.2 * truth["kernel"], f"seconds {key} of page faults")
    near(check, computed["cpu"]["sys"] if computed else None, 0, 0.05, "seconds sys of the loop")


@of_samples
def bytes_of_lines(check, folder):
    data, lines, _ = c_program(check, folder, "memory", MEMORY)

    def memory(mark, key):
        line = lines.get(marked(MEMORY, mark))
        return line["mem"][key] if line else None

    # 2 GB of small blocks: 3700 samples of 512 KiB on average, a standard error of 1.6 %.
    near(check, memory("small", "alloc_mb"), 2e9 / 2**20, 0.06 * 2e9 / 2**20, "MB of small blocks")
    near(check, memory("small", "n"), 2e6, 0.06 * 2e6, "number of small blocks")
    near(check, memory("large", "alloc_mb"), 300, 3, "MB of large blocks")
    near(check, memory("large", "n"), 100, 1, "number of large blocks")
    near(check, memory("kept", "alloc_mb"), 40, 0.5, "MB of blocks that were kept")
    near(check, memory("kept", "live_end_mb"), 40, 0.5, "MB never freed")
    near(check, memory("large", "live_end_mb") or 0, 0, 0.5, "MB of freed blocks never freed")
    line = lines.get(marked(MEMORY, "copied"))
    # 6.7 GB: 800 samples of 8 MiB on average at most.
    near(check, line["copy"]["host_mb"] if line else None, 6400, 0.05 * 6400, "MB copied")


@of_samples
def libraries_in_turn_at_one_place(check, folder):
    """The same code at the same addresses, of one file now and of another then."""
    sources = {name: PLUGIN.replace("{0}", "\n" * (name == "other")) for name in ("one", "other")}
    files = [compiled(folder, f"{name}.so", text, "-O2", "-shared", "-fPIC") for name, text in sources.items()]
    program = compiled(folder, "plugins", PLUGINS, "-O2", "-ldl")
    if program is None:
        print("skipped: no C compiler")
        sys.exit(77)
    data, said = recorded(check, folder, [program, *files], "--rate", 1000)
    truth = json.loads(said)
    if not truth["same"]:
        print("  the loader gave them different places: only that is tested")
    total = truth["one"] + truth["other"]
    for name, megabytes in zip(("one", "other"), truth["mb"]):
        lines = lines_of(data, f"{name}.so.c")
        near(check, busy(lines.get(marked(sources[name], "hot"))) / total, truth[name] / total, 0.06, f"share of {name}")
        line = lines.get(marked(sources[name], "allocates"))
        near(check, line["mem"]["alloc_mb"] if line else None, megabytes, 0.5, f"MB of {name}")


@of_samples
def python_lines(check, folder):
    script = folder / "shares.py"
    script.write_text(PYTHON_SHARES)
    data, said = recorded(check, folder, [sys.executable, script], "--rate", 1000)
    lines, truth = lines_of(data, "shares.py"), json.loads(said)
    total = sum(map(busy, lines.values()))
    for mark, seconds in zip(("70 %", "20 %", "10 %"), truth):
        line = lines.get(marked(PYTHON_SHARES, mark))
        near(check, 100 * busy(line) / total, 100 * seconds / sum(truth), points(data), f"share of the line with {mark}")
        if line:
            near(check, line["cpu"]["python"] / max(busy(line), 1e-9), 1, 0.1, f"interpreter's part of {mark}")


@of_samples
def python_and_native(check, folder):
    script = folder / "split.py"
    script.write_text(PYTHON_SPLIT)
    data, said = recorded(check, folder, [sys.executable, script])
    truth, lines = json.loads(said), lines_of(data, "split.py")
    for mark, part in (("interpreter", "python"), ("compiled", "native")):
        line = lines.get(marked(PYTHON_SPLIT, mark))
        if check.that(line, f"no line for {mark}"):
            near(check, busy(line), truth[mark], 0.05 * truth[mark] + 0.03, f"CPU seconds of {mark}")
            near(check, line["cpu"][part], truth[mark], 0.1 * truth[mark] + 0.03, f"{part} part of {mark}")
    near(check, waited(lines.get(marked(PYTHON_SPLIT, "sleeps"))), 1.2, late(data, 1.2), "seconds asleep")


@of_samples
def python_memory(check, folder):
    script = folder / "memory.py"
    script.write_text(PYTHON_MEMORY)
    data, _ = recorded(check, folder, [sys.executable, script])
    lines = lines_of(data, "memory.py")
    for mark, megabytes, live in (("kept", 64, None), ("gone", 2000, None)):
        line = lines.get(marked(PYTHON_MEMORY, mark))
        near(check, line["mem"]["alloc_mb"] if line else None, megabytes, 0.05 * megabytes, f"MB of {mark}")
        near(check, line["mem"]["peak_mb"] if line else None, 64 if mark == "kept" else 20, 10.1, f"most MB at once of {mark}")


need_library()
main(shares_of_lines, threads_are_not_mixed, recursion_counts_once, sleep_is_no_work, page_faults_are_the_kernels, bytes_of_lines, libraries_in_turn_at_one_place,
     python_lines,     python_and_native, python_memory)
