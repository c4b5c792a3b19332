"""Known bytes on known lines: what is allocated, live at the peak and at the end, in C, C++ and Python; and malloc
under the recorder does what it does bare."""

import collections
import math
import os
import pathlib
import shutil
import sys

from memory_trace import LOST_ALLOCATIONS, MALLOC, MMAP, PYTHON, processes
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import LONG, command, compiled, main, need_library, newest, of_samples, run

MEAN = 65536  # bytes between samples: 100 MiB are 1600 samples, 2.5 % standard error
MIB = 1 << 20

C_LINES = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static char *volatile keep[2000], *volatile one;
static void again(int n, size_t bytes) { for (int i = 0; i < n; i++) { one = malloc(bytes); free(one); } } /* @helper 200 */
int main(void)
{
    for (int i = 0; i < 13107200; i++) { one = malloc(16); free(one); }               /* @small 200 */
    for (int i = 0; i < 2097152; i++) { one = malloc(100); free(one); }               /* @hundred 200 */
    for (int i = 0; i < 51200; i++) { one = calloc(64, 64); free(one); }              /* @calloc 200 */
    for (int i = 0; i < 2000; i++) { one = malloc(100 << 10); free(one); }            /* @big 195.3125 */
    for (int i = 0; i < 50; i++) { one = malloc(4 << 20); free(one); }                /* @huge 200 */
    for (int i = 0; i < 3; i++) { one = malloc(64 << 20); free(one); }                /* @giant 192 */
    for (int i = 0; i < 20480; i++) { one = aligned_alloc(64, 10240); free(one); }    /* @aligned 200 */
    for (int i = 0; i < 20480; i++) { void *p; if (!posix_memalign(&p, 32, 10240)) free(p); } /* @posix 200 */
    for (int i = 0; i < 20480; i++) { one = reallocarray(NULL, 10, 1024); free(one); } /* @array 200 */
    for (int i = 0; i < 10240; i++) { one = malloc(8192); one = realloc(one, 1 << 14); free(one); } /* @realloc 240 */
    again(20480, 10240);
    for (int i = 0; i < 2000; i++) keep[i] = malloc(50 << 10);                        /* @peak 97.65625 */
    for (int i = 0; i < 1000; i++) free(keep[i]);
    one = malloc(40 << 20);  /* recorded for certain, however far the distances have doubled */ /* @leak 40 */
    return 0;
}
"""

CXX_LINES = """
#include <list>
#include <memory>
#include <vector>
static double *volatile kept;
int main()
{
    for (int i = 0; i < 26214; i++) { kept = new double[1000]; delete[] kept; }          /* @array 199.997 */
    for (int i = 0; i < 2000; i++) { std::vector<float> v(25600); kept = (double *)v.data(); } /* @vector 195.3125 */
    std::list<int> l;
    for (int i = 0; i < 4000000; i++) l.push_back(i);                                    /* @list 91.553 */
    for (int i = 0; i < 1000; i++) { struct alignas(128) A { double c[16384]; }; auto *a = new A; kept = a->c; delete a; } /* @aligned 125 */
    return (int)l.size() == 3;
}
"""

PYTHON_LINES = """
import sys
def work():
    for i in range(2000): b = bytes(100_000)            # @bytes 190.804
    x = [None] * 2_000_000                              # @list 15.259
    for i in range(2_000_000):
        x[i] = float(i)                                 # @floats 45.776
    for i in range(1_000_000):
        x[i] = (i, i)                                   # @tuples 53.406
    for i in range(1_000_000):
        x[i] = bytes(200)                               # @small 222.206
    del x
kept = work()
if sys.argv[1:] == ["numpy"]:
    import numpy as np
    for i in range(400): a = np.ones(1 << 16)           # @ones 200
    for i in range(50): a = np.zeros((1 << 20) // 2)    # @zeros 200
    a = np.ones((4 << 20) // 8)                         # @before 4
    b = a + a * a                                       # @sum 8 4
    c = np.ones((32 << 20) // 8)                        # @leak 32
"""

def marks(source):
    """{name: (line, MiB, tolerance in MiB)} of comments that say @name MiB [tolerance]."""
    found = {}
    for number, line in enumerate(source.splitlines(), 1):
        if "@" in line:
            words = line.split("@")[1].replace("*/", "").split()
            found[words[0]] = number, float(words[1]), float(words[2]) if len(words) > 2 else 0.0
    return found


def record(folder, *args, modes="memory,python,objects", mean=MEAN, env=None):
    # these programs do little else than allocate: test_overhead.py has what becomes of such
    environment = dict(os.environ, TOMOPROF_CAPTURE_ALLOC_MEAN=str(mean), TOMOPROF_CAPTURE_CALLS="1", **(env or {}))
    done = run(command(folder / "runs", "--no-analysis", "--modes", modes, "--", *args), env=environment)
    return done, processes(newest(folder / "runs"))


def sums(process, lines):
    """{line: (sum of weights, standard error)}"""
    weight, variance = collections.Counter(), collections.Counter()
    for _, _, size, stack, w, _, _ in process.allocs:
        weight[lines.get(stack)] += w
        variance[lines.get(stack)] += w * (w - size)
    return {k: (v / MIB, math.sqrt(variance[k]) / MIB) for k, v in weight.items()}


def check_sums(check, what, process, lines, source):
    found = sums(process, lines)
    for name, (line, truth, slack) in marks(source).items():
        estimate, error = found.get(line, (0.0, 0.0))
        check.that(abs(estimate - truth) <= 4 * error + slack + 0.005 * truth,
                   f"{what} @{name}: {estimate:.2f} +- {error:.2f} MiB instead of {truth}")
        # where a record takes long the distances double: 2.5 % of 100 MiB become 10 % after four times, a block of 4 MiB is drawn for
        check.that(error <= 0.25 * max(truth, 50), f"{what} @{name}: the error says {error:.2f} of {truth} MiB")
    check.that(process.lost[LOST_ALLOCATIONS] == 0, f"{what}: lost {process.lost[LOST_ALLOCATIONS]}")


def live_by_line(process, lines, until=1 << 64):
    live = collections.Counter()
    for stack, weight in process.live(until):
        live[lines.get(stack)] += weight / MIB
    return live


@of_samples
def bytes_of_c_lines(check, folder):
    for level in ("-O0", "-O2"):
        program = compiled(folder, "lines", C_LINES, level, "-fno-builtin")
        if not program:
            return print("skipped: no C compiler")
        done, (p,) = record(folder, program)
        check.must(done.returncode == 0, f"{done}")
        lines = p.native_lines({a[3] for a in p.allocs}, "lines")
        check_sums(check, f"C {level}", p, lines, C_LINES)
        live, at = live_by_line(p, lines), marks(C_LINES)
        peak = live_by_line(p, lines, p.peak())
        slack = 2 + 4 * sums(p, lines)[at["peak"][0]][1]
        check.that(abs(peak[at["peak"][0]] - 97.656) < slack and sum(peak.values()) - peak[at["peak"][0]] < 1,
                   f"{level}: at the peak {peak}")
        check.that(abs(live[at["peak"][0]] - 48.83) < slack, f"{level}: live of @peak {live[at['peak'][0]]}")
        check.that(live[at["leak"][0]] == 40, f"{level}: live of @leak {live[at['leak'][0]]}")
        check.that(all(live[at[k][0]] == 0 for k in at if k not in ("peak", "leak")), f"{level}: live {live}")
        shutil.rmtree(folder / "runs")


@of_samples
def bytes_of_cxx_lines(check, folder):
    program = compiled(folder, "cxx", CXX_LINES, "-xc++", "-std=c++17", "-O1", compiler=os.environ.get("CXX", "c++"))
    if not program:
        return print("skipped: no C++ compiler")
    done, (p,) = record(folder, program)
    check.must(done.returncode == 0, f"{done}")
    check_sums(check, "C++", p, p.native_lines({a[3] for a in p.allocs}, "cxx"), CXX_LINES)


@of_samples
def bytes_of_python_lines(check, folder):
    script = folder / "lines.py"
    script.write_text(PYTHON_LINES)
    done, found = record(folder, sys.executable, script, "numpy")
    check.must(done.returncode == 0, f"{done}")
    p = max(found, key=lambda f: len(f.allocs))
    lines = {a[3]: p.python_line(a[3], "lines.py") for a in p.allocs}
    check_sums(check, "Python", p, lines, PYTHON_LINES)
    check.that(any(a[5] == PYTHON for a in p.allocs), "no block of Python's own allocator")


MAPPINGS = """
#define _GNU_SOURCE
#include <sys/mman.h>
#define MIB (1ul << 20)
#define MAP(at, n, prot, more) mmap(at, (n) * MIB, prot, MAP_PRIVATE | MAP_ANONYMOUS | (more), -1, 0)
#define RW (PROT_READ | PROT_WRITE)
int main(void)
{
    char *a = MAP(0, 64, RW, 0);                      /* @kept 44 */
    munmap(a + 16 * MIB, 16 * MIB);
    munmap(a + 60 * MIB, 4 * MIB);
    char *b = MAP(0, 32, RW, 0);                      /* @gone 0 */
    munmap(b, 32 * MIB);
    char *c = MAP(0, 8, RW, 0);                       /* @moved 0 */
    c = mremap(c, 8 * MIB, 24 * MIB, MREMAP_MAYMOVE); /* @grown 14 */
    MAP(c + 2 * MIB, 10, RW, MAP_FIXED);              /* @over 10 */
    MAP(0, 1024, PROT_NONE, MAP_NORESERVE);           /* @reserved 0 */
    mremap(c, 4096, ~0ul - 4095, MREMAP_MAYMOVE);     /* @failed 0 */
    for (int i = 0; i < 1000; i++) MAP(0, 0, RW, 0);  /* @refused 0 */
    return 0;
}
"""


def mappings_are_followed(check, folder):
    program = compiled(folder, "mappings", MAPPINGS)
    if not program:
        return print("skipped: no C compiler")
    done, (p,) = record(folder, program)
    check.must(done.returncode == 0, f"{done}")
    live = live_by_line(p, p.native_lines({a[3] for a in p.allocs}, "mappings"))
    for name, (line, truth, _) in marks(MAPPINGS).items():
        check.that(live[line] == truth, f"mappings @{name}: {live[line]} MiB live instead of {truth}")


SEMANTICS = """
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *early;
__attribute__((constructor(101))) static void first(void) { early = realloc(strcpy(malloc(9), "earliest"), 100); }
__attribute__((destructor)) static void last(void) { free(malloc(5 << 20)); if (write(1, early, 8) < 0) abort(); free(early); }
static void at_exit(void) { free(malloc(3 << 20)); }
static void handler(int s) { (void)s; free(malloc(2 << 20)); char b[64]; memcpy(b, early, 8); }
#define SAY(x) printf("%s: %ld errno %d\\n", #x, (long)(x), errno), errno = 0
int main(int argc, char **argv)
{
    (void)argv; /* with an argument: without pvalloc, which the allocator lacks and the C library would serve */
    volatile size_t most = SIZE_MAX, zero = 0;
    void *p, *q;
    atexit(at_exit);
    errno = 0;
    SAY(malloc(most) != 0);
    SAY(calloc(most, 2) != 0);
    SAY(calloc(most / 2, 3) != 0);
    SAY(reallocarray(0, most, 2) != 0);
    SAY(aligned_alloc(4096, most) != 0);
    SAY(posix_memalign(&p, 3, 8));
    SAY(posix_memalign(&p, 4096, most));
    SAY(memalign(64, most) != 0);
    if (argc == 1) SAY(pvalloc(most) != 0);
    p = malloc(zero);
    SAY(p != 0);
    SAY(realloc(p, zero) != 0);
    SAY((p = realloc(NULL, 3 << 20)) != 0);
    memset(p, 7, 3 << 20);
    SAY(realloc(p, most) != 0);
    SAY(((char *)p)[(3 << 20) - 1]);
    errno = EAGAIN;
    p = realloc(p, 5 << 20);
    SAY(((char *)p)[(3 << 20) - 1]);
    errno = EAGAIN;
    free(p);
    free(NULL);
    SAY(0);
    for (int i = 0; i < 2000; i++) {
        size_t align = (size_t)16 << i % 9;
        p = aligned_alloc(align, align * 100), q = memalign(align, 1000 + i);
        if ((uintptr_t)p % align || (uintptr_t)q % align || malloc_usable_size(q) < (size_t)(1000 + i)) SAY(-1);
        free(p), free(q);
        p = valloc(5000), q = argc == 1 ? pvalloc(5000) : valloc(8192);
        if ((uintptr_t)p % 4096 || (uintptr_t)q % 4096 || malloc_usable_size(q) < 8192) SAY(-2);
        free(p), free(q);
        p = calloc(1000, i % 700 + 1);
        for (int k = 0; k < 1000; k++) if (((char *)p)[k]) SAY(-3);
        free(p);
    }
    signal(SIGUSR1, handler);
    for (int i = 0; i < 200; i++) raise(SIGUSR1);
    errno = EAGAIN;
    SAY(mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    SAY(munmap((void *)1, 4096));
    SAY(mremap((void *)4096, 1 << 20, 2 << 20, 0) == MAP_FAILED);
    char text[40] = "0123456789abcdefghij";
    memmove(text + 3, text, 20);
    SAY((char *)mempcpy(text, "xyz", 3) - text);
    puts(text);
    fflush(stdout);
    return 5;
}
"""


def malloc_means_the_same(check, folder):
    """Results, errno, alignment, in constructors, handlers, destructors; and behind another allocator."""
    program = compiled(folder, "semantics", SEMANTICS, "-O1", "-fno-builtin")
    if not program:
        return print("skipped: no C compiler")
    preloads = [None]
    for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4"):
        found = [p for d in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib") for p in pathlib.Path(d).glob(name)]
        preloads += found[:1]
        if not found:
            print(f"skipped behind {name}: it is not installed")
    for preload in preloads:
        env = {"LD_PRELOAD": str(preload)} if preload else {}
        words = [program, "other"] if preload else [program]
        bare = run(words, env=dict(os.environ, **env))
        check.that(bare.returncode == 5, f"bare: {bare}")
        for mean in (1, 512 << 10):
            done, (p,) = record(folder, *words, modes="memory,copies", mean=mean, env=env)
            check.that(done.returncode == 5 and done.stdout == bare.stdout, f"{preload} {mean}: {done} bare {bare}")
            check.that(len(p.allocs) > 4, f"{preload}: {len(p.allocs)} records")
            check.that(preload or not any(a[2] > 1 << 40 for a in p.allocs), "a refused allocation was recorded")
            shutil.rmtree(folder / "runs")


TORTURE = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { THREADS = 64, ROUNDS = MANY, SLOTS = 64, CHILDREN = 40 };
static void *volatile shared[SLOTS]; /* blocks that other threads free */
static size_t fill(unsigned char *p, size_t n, unsigned v) { memset(p, (int)(v & 255), n); return n; }
static int is(const unsigned char *p, size_t n, unsigned v) { return p[0] == (v & 255) && p[n - 1] == (v & 255); }
static void *work(void *seed)
{
    uint64_t r = (uintptr_t)seed, bad = 0;
    for (int i = 0; i < ROUNDS; i++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        size_t n = 1 + (r >> 40) % ((r >> 33) % 64 ? 2000 : 1500000), m = 1 + (r >> 20) % 3000;
        unsigned char *p = malloc(n);
        fill(p, n, (unsigned)r);
        p = realloc(p, n + m);
        bad += !is(p, n, (unsigned)r);
        free(__atomic_exchange_n(&shared[r >> 58], p, __ATOMIC_ACQ_REL));
    }
    return (void *)(uintptr_t)bad;
}
int main(void)
{
    pthread_t t[THREADS];
    uintptr_t bad = 0;
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (!child) {
            bad = (uintptr_t)work((void *)(uintptr_t)(i + 1000)) != 0;
            if (i % 2) _exit((int)bad);
            exit((int)bad);
        }
        int status;
        waitpid(child, &status, 0);
        bad += status != 0;
    }
    for (int i = 0; i < THREADS; i++) { void *r; pthread_join(t[i], &r); bad += (uintptr_t)r; }
    printf("bad %lu\\n", (unsigned long)bad);
    return bad != 0;
}
"""


@of_samples
def threads_and_forks_at_once(check, folder):
    program = compiled(folder, "torture", TORTURE, "-O2", "-pthread", f"-DMANY={20000 if LONG else 6000}")
    if not program:
        return print("skipped: no C compiler")
    for mean in (20000, 512 << 10):
        done, found = record(folder, program, modes="memory,copies,cpu,wait", mean=mean)
        check.must(done.returncode == 0 and done.stdout == b"bad 0\n", f"mean {mean}: {done}")
        check.must(len(found) == 41, f"{len(found)} traces")
        for p in found: # a lock that was not had may cost a record, which is counted
            check.that(strays(p) <= p.lost[LOST_ALLOCATIONS] <= 10 + 1e-3 * len(p.allocs),
                       f"mean {mean}: {strays(p)} of {len(p.frees)} FREEs are of blocks that the process did not make, "
                       f"lost {p.lost[LOST_ALLOCATIONS]}")
        shutil.rmtree(folder / "runs")


def strays(process):
    """FREEs of malloc blocks that follow no ALLOC with the same bytes."""
    live, found = {}, 0
    for _, is_alloc, address, size, heap, _, _ in process.events():
        if heap == MALLOC and is_alloc:
            live[address] = size
        elif heap == MALLOC:
            found += live.pop(address, None) != size
    return found


HANDLERS = """
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
static volatile int handled, bad;
static char a[1 << 16], b[1 << 16];
static void handler(int s)
{
    (void)s;
    char *p = malloc(3 << 20), *q = realloc(malloc(100), 2 << 20);
    memcpy(p, a, sizeof a);
    bad += memcmp(p, a, sizeof a) != 0;
    free(p), free(q);
    handled++;
}
int main(void) /* allocates nothing by malloc itself: the C library does not stand that */
{
    struct itimerval t = {{0, 300}, {0, 300}};
    struct sigaction s = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &s, NULL);
    setitimer(ITIMER_REAL, &t, NULL);
    for (int i = 0; handled < 2000; i++) {
        char *p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        p[1000] = 1;
        memcpy(b, a, sizeof a);
        p = mremap(p, 1 << 20, 2 << 20, MREMAP_MAYMOVE);
        bad += p[1000] != 1;
        munmap(p, 2 << 20);
    }
    dprintf(1, "bad %d\\n", bad);
    return 0;
}
"""


def handlers_may_allocate(check, folder):
    """They come while the library itself is at work."""
    program = compiled(folder, "handlers", HANDLERS, "-O1", "-fno-builtin")
    if not program:
        return print("skipped: no C compiler")
    done, (p,) = record(folder, program, modes="memory,copies,cpu,wait", env={"TOMOPROF_CAPTURE_COPY_MEAN": "1000"})
    check.that(done.returncode == 0 and done.stdout == b"bad 0\n", f"{done}")
    check.that(not p.live() and strays(p) == 0, f"live {p.live()[:5]}, strays {strays(p)}")
    check.that({a[5] for a in p.allocs} == {MALLOC, MMAP}, "no allocation of the handler, or none of the program")


COPIES = """
#include <string.h>
static char a[1 << 20], b[1 << 20];
int main(void)
{
    volatile size_t n = 1 << 20, few = 100;
    for (int i = 0; i < 2000; i++) memcpy(a, b, n);             /* @copy 2000 */
    for (int i = 0; i < 1000; i++) memmove(a + 1, a, n - 1);    /* @move 1000 */
    for (int i = 0; i < 10000000; i++) memcpy(a + i % 999, b, few); /* @few 953.674 */
    return a[5];
}
"""


@of_samples
def copies_by_line(check, folder):
    program = compiled(folder, "copies", COPIES, "-O1", "-fno-builtin")
    if not program:
        return print("skipped: no C compiler")
    done, (p,) = record(folder, program, modes="copies", env={"TOMOPROF_CAPTURE_COPY_MEAN": "500000"})
    lines = p.native_lines({s for s, _ in p.copies}, "copies")
    weight, count = collections.Counter(), collections.Counter()
    for stack, w in p.copies:
        weight[lines.get(stack)] += w / MIB
        count[lines.get(stack)] += 1
    for name, (line, truth, _) in marks(COPIES).items():
        error = weight[line] / math.sqrt(count[line] or 1)
        check.that(abs(weight[line] - truth) <= 4 * error and error < 0.05 * truth,
                   f"copies @{name}: {weight[line]:.0f} +- {error:.0f} MiB instead of {truth}")


need_library()
main(bytes_of_c_lines, bytes_of_cxx_lines, bytes_of_python_lines, mappings_are_followed, malloc_means_the_same,
     handlers_may_allocate, threads_and_forks_at_once, copies_by_line)
