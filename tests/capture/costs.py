"""What recording costs programs of many small calls and of many short processes, and what the page says that it cost. On request:

    TOMOPROF=build/tomoprof python3 tests/capture/costs.py [--pairs 7] [--only WORD] [--parts] [--docs docs/internals/capture.md]

Bare and recorded runs in turn; CPU time is that of the program with its children, by the kernel (of a recorded run: as the launcher reads
it, so neither `record` nor the analysis is in it). *more* is what the least of both differ by, *page* the sum of `quality.overhead`, median;
*factor* divides it by *more*, and is left out where that is within the spread of the bare runs. Programs of many calls take 1.5 to 2 s, so that
their ratio is that of the calls; what a start takes has rows of its own. `--docs` puts
the table between that page's costs marks; with `--only`, rows by their first cell."""

import argparse
import ctypes
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from recorded import TOMOPROF as GIVEN, newest

HERE = pathlib.Path(__file__).resolve().parent
TOMOPROF = str(pathlib.Path(GIVEN).resolve())  # runs start in a folder of their own
FILES = 2000
OPENS = """
import os, sys
for k in range(int(sys.argv[1])):
    for i in range(500):
        fd = os.open(f"files/{i}.dat", os.O_RDONLY)
        os.read(fd, 300)
        os.close(fd)
"""
SPILLS = """
import os, sqlite3, sys
if os.path.exists("spill.db"): os.remove("spill.db")
db = sqlite3.connect("spill.db", isolation_level=None)
for pragma in ("page_size=4096", "cache_size=40", "journal_mode=off", "synchronous=off"): db.execute("pragma " + pragma)
db.execute("create table t (k integer primary key, v text)")
db.execute("begin")
x = 1
for i in range(int(sys.argv[1])):
    x = x * 1103515245 + 12345 & 0x7fffffff
    db.execute("insert or replace into t values (?, ?)", (x, "x" * 100))
db.execute("commit")
print(db.execute("select count(*) from t").fetchone()[0])
"""
SMALL = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
int main(int n, char **arg)
{
    long count = atol(arg[2]);
    char *line = NULL;
    size_t room = 0;
    FILE *f = fopen("/dev/null", "w"), *lines = fopen("lines.txt", "w+");
    int fd = open("out.dat", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 400000; i++) fputs("twelve bytes\\n", lines);
    if (n < 3 || !f || fd < 0) return 2;
    for (long i = 0; i < count; i++)
        if (!strcmp(arg[1], "getline")) {
            if (i % 400000 == 0) rewind(lines);
            if (getline(&line, &room, lines) != 13) return 1;
        } else if (!strcmp(arg[1], "fwrite") ? fwrite("twelve bytes", 12, 1, f) != 1 : write(fd, "twelve bytes", 12) != 12) return 1;
    return 0;
}
"""
LOCKS = """
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static long rounds, sum;
static void *lock_work(void *own)
{
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(own);
        sum += i & 1;
        pthread_mutex_unlock(own);
        if (i % 64) continue;
        pthread_mutex_lock(&shared);
        sum++;
        pthread_mutex_unlock(&shared);
    }
    return NULL;
}
int main(int n, char **arg)
{
    static struct { pthread_mutex_t lock; char rest[256]; } own[2] = {{PTHREAD_MUTEX_INITIALIZER}, {PTHREAD_MUTEX_INITIALIZER}};
    pthread_t t;
    rounds = n > 1 ? atol(arg[1]) : 0;
    pthread_create(&t, NULL, lock_work, &own[0].lock);
    lock_work(&own[1].lock);
    pthread_join(t, NULL);
    return 0;
}
"""
THREADS = """
import sys, threading
def work(): sum(range(3000))
for i in range(int(sys.argv[1])):
    some = [threading.Thread(target=work) for _ in range(16)]
    for t in some: t.start()
    for t in some: t.join()
"""
NUMPY = """
import numpy
x = numpy.random.default_rng(1).standard_normal((512, 512))
for i in range(100):
    y = numpy.fft.ifft2(numpy.fft.fft2(x) * (1 + 0.001 * i)).real
    x = numpy.sort(y, axis=1)[:, ::-1] + y.T * 1e-3
print(float(x.sum()))
"""
SHELL = 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i | tr 1 2; done | sort | md5sum'
TRUES = 'i=0; while [ $i -lt 200 ]; do i=$((i+1)); /bin/true; done'
SPAWN = """
import multiprocessing
def work(n): return n
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(4) as pool: print(sum(pool.map(work, range(8))))
"""


def compiled(folder, name, source, *flags):
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["cc", "-O2", "-g", *flags, "-o", folder / name, folder / f"{name}.c"], check=True)
    return folder / name


def programs(folder):
    """Name, words: in the folder in which they run."""
    (folder / "files").mkdir()
    for i in range(FILES):
        (folder / "files" / f"{i}.dat").write_bytes(bytes(200))
    opens, storm, processes = (compiled(folder, name, (HERE / f"targets/{name}.c").read_text(), "-pthread", "-fno-builtin-malloc")
                               for name in ("opens", "storm", "processes"))
    small, locks = compiled(folder, "small", SMALL), compiled(folder, "locks", LOCKS, "-pthread")
    nothing = compiled(folder, "nothing", "int main(void) { return 0; }\n")
    yield "start: a C program that does nothing", [nothing]
    yield "start: Python that does nothing", [sys.executable, "-c", "pass"]
    yield "1.5 M opens, reads and closes of 2,000 files in C", [opens, FILES, 750, "files"]
    yield "1.2 M of 500 files in Python", [sys.executable, "-c", OPENS, 2400]
    yield "7 M `write` of 12 bytes", [small, "write", 7000000]
    yield "100 M `fwrite` of 12 bytes", [small, "fwrite", 100000000]
    yield "90 M lines of 13 bytes by `getline`", [small, "getline", 90000000]
    yield "sqlite3 that spills: 400,000 rows in random order", [sys.executable, "-c", SPILLS, 400000]
    yield "200 M mallocs", [storm, "malloc", 200000000]
    yield "8 M locks on each of 2 threads", [locks, 8000000]
    yield "Python: 14,400 threads", [sys.executable, "-c", THREADS, 900]
    if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode == 0:
        yield "NumPy: 100 transforms and sorts of 512 x 512", [sys.executable, "-c", NUMPY]
    for kind, what in (("fork", "fork, `_exit`"), ("write", "fork, open, `write`, `_exit`"), ("exec", "fork, exec of `/bin/true`"),
                       ("spawn", "`posix_spawn` of `/bin/true`")):
        yield f"400 children: {what}", [processes, kind, 400]
    yield "sh: 200 times `/bin/true`", ["sh", "-c", TRUES]
    yield "sh: 300 times `echo \\| tr`", ["sh", "-c", SHELL]
    repository = folder / "repository"
    made = "git init -q . && for i in 1 2 3 4 5 6 7 8; do seq $i 400 > $i; git add . && git -c user.name=x -c user.email=x@x commit -qm $i; done"
    repository.mkdir()
    if shutil.which("git") and not subprocess.run(["sh", "-c", made], cwd=repository).returncode:
        yield "git log --stat", ["git", "-C", repository, "log", "--stat", "--no-color"]
        yield "git gc", ["git", "-C", repository, "gc", "-q", "--prune=now"]
    (folder / "spawn.py").write_text(SPAWN)
    yield "Python's multiprocessing by spawn, 4 processes", [sys.executable, "spawn.py"]


def finished(words, folder):
    """CPU seconds of a program with its children, orphans as well: the launcher counts those of a recorded run."""
    process = subprocess.Popen(list(map(str, words)), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{words}: exit {process.returncode}")
    spent = usage.ru_utime + usage.ru_stime
    while True:
        try:
            usage = os.wait4(-1, 0)[2]
        except ChildProcessError:
            return spent
        spent += usage.ru_utime + usage.ru_stime


def recorded(words, folder):
    """The same of a recorded one, and what the page says that recording took."""
    shutil.rmtree(folder / "runs", ignore_errors=True)
    finished([TOMOPROF, "record", "--out", folder / "runs", "--", *words], folder)
    run = newest(folder / "runs")
    end, page = json.loads((run / "record.json").read_text()), json.loads((run / "profile.json").read_text())
    parts = {row["part"]: row["s"] for row in page["quality"]["overhead"]}
    return end["end"]["user_s"] + end["end"]["system_s"], parts


def row_of(name, words, folder, pairs, show):
    bare, with_it, told, parts = [], [], [], {}
    for _ in range(pairs):
        bare.append(finished(words, folder))
        cpu, says = recorded(words, folder)
        with_it.append(cpu)
        told.append(sum(says.values()))
        parts = {part: parts.get(part, []) + [s] for part, s in says.items()}
    middle, page = min(with_it) - min(bare), statistics.median(told)
    if show:
        print({part: round(statistics.median(s), 4) for part, s in parts.items() if statistics.median(s) > 5e-5}, flush=True)
    quarters = statistics.quantiles(bare, n=4) if pairs > 1 else [0, 0, 0]
    is_known = middle > quarters[2] - quarters[0]
    digits = 3 if min(bare) > 0.1 else 4
    return (f"| {name} | {min(bare):.{digits}f}, {statistics.median(bare):.{digits}f} | {min(with_it) / min(bare):.2f}, "
            f"{statistics.median(b / a for a, b in zip(bare, with_it)):.2f} | {middle:.{digits}f} | {page:.{digits}f} | {f'{page / middle:.2f}' if is_known else ''} |")


def with_rows(text, lines, some):
    """The page with this table, or with `some` of its rows replaced."""
    head = "| program | bare, s: least, median | recorded over bare: least, median | more, s | by the page, s | factor |\n|---|---|---|---|---|---|"

    def put(found):
        new = {line.split(" | ")[0]: line for line in lines}
        rows = [new.get(line.split(" | ")[0], line) for line in found[2].splitlines()[2:]] if some else lines
        return found[1] + "\n".join([head, *rows]) + "\n" + found[3]

    return re.sub(r"(<!-- costs -->\n)(.*?)(<!-- costs end -->)", put, text, flags=re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--only", default="", help="programs whose names have this word")
    parser.add_argument("--parts", action="store_true", help="print the parts of quality.overhead too")
    parser.add_argument("--docs", type=pathlib.Path)
    asked = parser.parse_args()
    lines = []
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: finished()
    with tempfile.TemporaryDirectory(prefix="tomoprof-costs-") as place:
        folder = pathlib.Path(place)
        for name, words in programs(folder):
            if asked.only in name:
                lines.append(row_of(name, words, folder, asked.pairs, asked.parts))
                print(lines[-1], flush=True)
    if asked.docs:
        asked.docs.write_text(with_rows(asked.docs.read_text(), lines, bool(asked.only)))


if __name__ == "__main__":
    main()
