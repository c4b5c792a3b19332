"""Reads and writes of known size, number and place: by file, by line, and in sum what the kernel counted."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, newest, profile, run

SOURCE = (pathlib.Path(__file__).parents[1] / "targets" / "io.c").read_text()
MIB = 1 << 20

# mark: (file, op, calls of the kernel, bytes); calls None where the C library chooses them
C_TRUTH = {
    "sequential": ("sequential", "read", 129, 8 * MIB),
    "strided": ("strided", "read", 20, 20000),
    "random": ("random", "read", 500, 500 * 4096),
    "seek": ("random", "seek", 500, 0),
    "again": ("again", "read", 5, 10 * MIB),
    "vector": ("vector", "read", 100, 400000),
    "mapped": ("mapped", "map", 1, 8 * MIB),
    "direct": ("direct", "read", 8, 8 * MIB),
    "sendfile": ("sent", "read", 1, 8 * MIB),
    "copy": ("copied", "read", 1, 8 * MIB),
    "shared": ("shared", "read", 16, MIB),
    "fread": ("stdio", "read", 245, 245 * 4096),
    "fread_large": ("stdio_large", "read", None, 8 * MIB),
    "getc": ("getc", "read", None, MIB),
    "fgets": ("lines", "read", 256, MIB),
    "fseek": ("fseek", "read", 100, 100 * 4096),
    "tiles": ("tiles", "read", None, None),
    "child": ("child", "read", 4, 4 * MIB),
    "parent": ("child", "read", 1, MIB),
    "refused": ("missing_size", "read", 1, 0),
}

# sequential share of the bytes read, bytes read at least once
ACCESS = {"sequential": (1, 8 * MIB), "strided": (0.05, 20 * 1000), "again": (1, 2 * MIB), "vector": (1, 400000),
          "shared": (1, MIB), "stdio_large": (1, 8 * MIB), "child": (1, 5 * MIB)}

PYTHON = """
import mmap, os, sys
import numpy as np
os.chdir(sys.argv[1])
def whole():
    return len(open("sequential", "rb").read())         # @whole
def pieces():
    with open("strided", "rb", buffering=0) as f:
        for i in range(50):
            f.seek(i * 150000)                          # @seek
            f.read(2000)                                # @pieces
def quadratic():
    for i in range(8):
        with open("again", "rb", buffering=0) as f:
            f.read((i + 1) << 20)                       # @quadratic
def arrays():
    a = np.fromfile("stdio", np.uint8)                  # @fromfile
    np.save("array.npy", a)                             # @save
    return np.load("array.npy")                         # @load
def mapped():
    a = np.memmap("mapped", np.uint8, "r")              # @memmap
    return int(a[: 2 << 20 : 4096].sum())
whole(), pieces(), quadratic(), arrays(), mapped()
os.write(1, b"done\\n")
"""


EXACT = dict(os.environ, TOMOPROF_CAPTURE_CALLS="1")  # a stack for each call, however long that takes


def marks(source):
    return {line.split("@")[1].split()[0]: number for number, line in enumerate(source.splitlines(), 1) if "@" in line}


def rows(model, kind="files"):
    return {r["path"].rpartition("/")[2]: r for r in model["io"][kind]}


def at_line(row, op, line):
    """(calls, bytes) of one place"""
    found = [p for p in row["lines"] if p["op"] == op and p["line"] == line]
    return sum(p["calls"] for p in found), round(sum(p["mb"] for p in found) * MIB)


def check_balance(check, what, io):
    for way in ("read", "write"):
        kernel, seen, unseen = (io[f"{k}_{way}_mb"] for k in ("kernel", "seen", "unseen"))
        check.that(kernel > 1, f"{what}: the kernel counted {kernel} MiB of {way}")
        check.that(abs(kernel - seen) <= 0.02 * kernel, f"{what}: {way}: seen {seen} MiB, by the kernel {kernel}")
        check.that(abs(kernel - seen - unseen) < 1e-6, f"{what}: {way}: {unseen} MiB are said to be unseen")


def test_c(check, folder):
    work, runs, marked = folder / "c", folder / "runs_c", marks(SOURCE)
    program = compiled(folder, "io", SOURCE, "-O1", "-pthread")
    if not program:
        print("skipped: no C compiler")
        return
    work.mkdir()
    done = run(command(runs, "--", program, work), env=EXACT)
    check.must(done.returncode == 0, f"the program ended with {done.returncode}: {done.stderr[-300:]}")
    model = profile(runs)
    found, io = rows(model), model["io"]
    for mark, (name, op, calls, size) in C_TRUTH.items():
        n, moved = at_line(found[name], op, marked[mark])
        check.that(moved == size or size is None and moved >= 20 * 300000, f"@{mark}: {moved} bytes instead of {size}")
        check.that(n == calls or calls is None and n > 0, f"@{mark}: {n} calls instead of {calls}")
    for name, (share, unique) in ACCESS.items():
        r = found[name]
        check.that(abs(r["read"]["sequential_share"] - share) < 0.01, f"{name}: {r['read']['sequential_share']} in order")
        check.that(abs(r["unique_mb"] * MIB - unique) < 0.01 * unique + 128, f"{name}: {r['unique_mb'] * MIB} bytes once")
    check.that(found["random"]["read"]["sequential_share"] < 0.3, "random reads are said to be in order")
    check.that(abs(found["again"]["reread"] - 5) < 0.05, f"read {found['again']['reread']} times instead of 5")
    check.that(abs(found["mapped"]["touched_mb"] - 4) < 0.3, f"{found['mapped']['touched_mb']} MiB touched instead of 4")
    check.that(found["direct"]["direct"] and not found["random"]["direct"], "O_DIRECT is not told apart")
    check.that(found["direct"]["read"]["waited"] > 0, "direct reads did not wait")
    check.that(found["child"]["processes"] == 2, f"{found['child']['processes']} processes instead of 2")
    check.that(found["missing_size"]["read"]["errors"] == 1, "a failed read is not counted")
    check.that(round(found["written"]["write"]["mb"] * MIB) == 3000100, f"{found['written']['write']['mb']} MiB by fwrite")
    check.that(found["random"]["file_system"], "the file system is not named")
    check.that(io["storage_read_mb"] >= 8, f"{io['storage_read_mb']} MiB from storage: the direct file alone has 8")
    check_balance(check, "C", io)
    port = done.stdout.split()[1].decode()
    ends = {r["path"]: r for r in io["endpoints"]}
    asked, served = ends[f"127.0.0.1:{port}"], ends[f"clients of port {port}"]
    check.that(asked["requests"] == 50 and asked["connects"] == 1, f"{asked['requests']} requests, {asked['connects']} connections")
    for name, r, inward, outward in (("client", asked, 50 * 65536, 5000), ("server", served, 5000, 50 * 65536)):
        check.that(round(r["read"]["mb"] * MIB) == inward and round(r["write"]["mb"] * MIB) == outward,
                   f"{name}: {r['read']['mb']} MiB in, {r['write']['mb']} out")
    check.that(asked["first_byte_ms"] > 0, "no time to the first byte")
    for file in (newest(runs) / "trace").iterdir():
        check.that(b"secret" not in file.read_bytes(), f"{file.name} holds what was sent")
    check.that([c["calls"] > 500 for c in model["quality"]["overhead"] if c["part"] == "io"] == [True], "its own cost is not told")
    text = run([command(runs, "--")[0], "report", "--text", newest(runs)]).stdout.decode()
    check.that("Input and output" in text and "clients of port" in text, "report --text has no files")
    return work


def test_python(check, folder, work):
    script, runs, marked = folder / "reads.py", folder / "runs_python", marks(PYTHON)
    script.write_text(PYTHON)
    done = run(command(runs, "--", sys.executable, script, work), env=EXACT)
    check.must(done.stdout == b"done\n", f"the program said {done.stdout!r} {done.stderr[-300:]!r}")
    model = profile(runs)
    found = rows(model)
    truth = {"whole": ("sequential", "read", 8 * MIB), "pieces": ("strided", "read", 100000), "quadratic": ("again", "read", 36 * MIB),
             "fromfile": ("stdio", "read", 8 * MIB), "memmap": ("mapped", "map", 8 * MIB)}
    for mark, (name, op, size) in truth.items():
        n, moved = at_line(found[name], op, marked[mark])
        check.that(moved == size, f"python @{mark}: {moved} bytes in {n} calls instead of {size}")
    check.that(at_line(found["strided"], "read", marked["pieces"])[0] == 50, "python @pieces: not 50 calls")
    check.that(abs(found["again"]["reread"] - 36 / 8) < 0.1, f"python @quadratic: {found['again']['reread']} times")
    loaded = found["array.npy"]
    check.that(8 * MIB <= round(loaded["read"]["mb"] * MIB) <= 8 * MIB + 16384, f"np.load: {loaded['read']['mb']} MiB")
    check.that(8 * MIB < round(loaded["write"]["mb"] * MIB) <= 8 * MIB + 16384, f"np.save: {loaded['write']['mb']} MiB")
    check_balance(check, "Python", model["io"])
    lines = {line["line"]: line["io"] for path, f in model["files"].items() if path.endswith("reads.py")
             for line in f["lines"]}
    check.that(lines[marked["whole"]] and round(lines[marked["whole"]]["read_mb"]) == 8, f"the line has {lines.get(marked['whole'])}")


def test_exec_and_modes(check, folder, work):
    """What was read before an exec is kept; without the mode nothing is known."""
    script = "import os, sys; os.read(os.open(sys.argv[1], 0), 1 << 20); os.execv('/bin/true', ['true'])"
    done = run(command(folder / "runs_exec", "--", sys.executable, "-c", script, work / "sequential"))
    check.must(done.returncode == 0, "exec")
    found = rows(profile(folder / "runs_exec"))
    check.that(round(found["sequential"]["read"]["mb"] * MIB) == MIB, "what was read before an exec is lost")
    done = run(command(folder / "runs_off", "--modes", "cpu,wait", "--", sys.executable, "-c", "open('/dev/null').read()"))
    io = profile(folder / "runs_off")["io"]
    check.that(io["read"]["calls"] is None and not io["files"], f"without the mode: {json.dumps(io)[:200]}")


ENDING = """
import os, subprocess, sys, threading
def work(size):
    file = os.open(sys.argv[1], os.O_RDONLY)
    os.pread(file, size, 0)
    os.close(file)
def threads(n):
    for _ in range(n):
        t = threading.Thread(target=work, args=(200000,))
        t.start()
        t.join()
def child():
    if not os.fork():
        work(8 << 20)
        os._exit(0)
    os.wait()
threads(200)  # by the process's counters
child()       # whose reads they have from now on
threads(100)
child()
"""


def test_threads_that_end(check, folder, work):
    """Their counters go with them; a child's, which is waited for, come to its parent's and are not the parent's reads."""
    (folder / "large").write_bytes(bytes(8 << 20))
    done = run(command(folder / "runs_ending", "--", sys.executable, "-c", ENDING, folder / "large"), env={**os.environ, "TOMOPROF_CAPTURE_CALLS": "0.99"})
    check.must(done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-300:]}")
    io = profile(folder / "runs_ending")["io"]
    kernel, wanted = io["kernel_read_mb"] * MIB, 300 * 200000 + 2 * (8 << 20)
    check.that(0.98 * wanted < kernel < 1.02 * wanted + 2 * MIB, f"the kernel counted {kernel}, read were {wanted}")


FEW_BYTES = """
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int file;
static void *work(void *p)
{
    char some[100] = {0};
    for (int i = 0; i < 20; i++)
        if (pwrite(file, some, 100, 0) != 100 || pread(file, some, 100, 0) != 100)
            abort();
    return p;
}
int main(int count, char **words)
{
    pthread_t t;
    file = open(words[count - 1], O_CREAT | O_RDWR, 0644);
    if (!fork())
        _exit(0);
    wait(NULL); /* each thread counts itself from now on */
    for (int i = 0; i < 1000; i++)
        if (pthread_create(&t, NULL, work, NULL) || pthread_join(t, NULL))
            abort();
    return 0;
}
"""


def test_what_the_library_moves_is_taken_off(check, folder):
    """Also what a thread writes for it, and reads, at its end: 64 KiB of a trace at a time, 100 bytes of /proc a thread."""
    program = compiled(folder, "few_bytes", FEW_BYTES, "-pthread")
    done = run(command(folder / "runs_few", "--", program, folder / "few"))
    check.must(done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-300:]}")
    io = profile(folder / "runs_few")["io"]
    for way in ("read", "write"):
        seen, kernel = io[f"seen_{way}_mb"] * MIB, io[f"kernel_{way}_mb"] * MIB
        check.that(abs(seen - 2e6) < 4096, f"{way}: {seen} bytes were seen of 2000000")
        check.that(abs(kernel - seen) < 4096, f"{way}: the kernel counted {kernel} bytes, {seen} were seen")


def test_same(check, folder, work):
    """A program behaves as it does bare: offsets, errors, what it writes."""
    script = """
import errno, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
print(len(os.read(fd, 10)), os.lseek(fd, 0, os.SEEK_CUR), len(os.pread(fd, 10, 5)), os.lseek(fd, 5, os.SEEK_END))
other = os.dup(fd)
print(len(os.read(other, 10)), os.lseek(fd, 0, os.SEEK_CUR))
for call in (lambda: os.read(99, 1), lambda: os.open("/no/such", 0), lambda: os.write(fd, b"x"), lambda: os.close(99)):
    try:
        call()
    except OSError as e:
        print(errno.errorcode[e.errno])
with open("out", "w+") as f:
    f.write("a" * 10000), f.seek(3), f.write("b"), f.seek(0)
    print(len(f.read()), f.tell())
import subprocess
print(subprocess.run(["cat"], input=b"through", stdout=subprocess.PIPE).stdout, os.path.getsize("out"))
"""
    words = [sys.executable, "-c", script, work / "sequential"]
    bare = run(words, cwd=folder)
    recorded = run(command(folder / "runs_same", "--", *words), cwd=folder)
    check.that(bare.stdout == recorded.stdout and bare.stdout, f"bare {bare.stdout!r}, recorded {recorded.stdout!r}")


SHORT = """
import os, sys, threading, time
os.chdir(sys.argv[1])
a, b = os.pipe()
def ping():
    for i in range(60000):
        os.write(b, bytes(64))
        os.read(a, 64)
def late():
    time.sleep(0.4)
    os.write(b, bytes(64))
def places():
    fd = os.open("random", os.O_RDONLY)
    for i in range(20000):
        os.pread(fd, 100, i * 7919 % 20000 * 100)
    fd = os.open("sequential", os.O_RDONLY)
    for i in range(20000):
        os.read(fd, 100)
time.sleep(0.3)  # the rate of the processor's counter is known
ping()
waited = 0
for i in range(3):
    t = threading.Thread(target=late)
    t.start()
    before = time.monotonic()
    os.read(a, 64)
    waited += time.monotonic() - before
    t.join()
    ping()
places()
print(waited)
"""


def test_short(check, folder, work):
    """Many short calls, most of them without stacks: calls, bytes and order are exact, and so is the time of the few that wait."""
    script, runs = folder / "short.py", folder / "runs_short"
    script.write_text(SHORT)
    done = run(command(runs, "--", sys.executable, script, work), env={**os.environ, "TOMOPROF_CAPTURE_CALLS": "0.99"})
    check.must(done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-300:]}")
    model = profile(runs)
    found = rows(model)
    pipes = found["pipes"]
    for way in ("read", "write"):
        check.that(pipes[way]["calls"] >= 240003 and abs(pipes[way]["calls"] - 240003) < 100, f"{way}: {pipes[way]['calls']} calls instead of 240003")
        check.that(abs(pipes[way]["mb"] * MIB - 240003 * 64) < 10000, f"{way}: {pipes[way]['mb'] * MIB} bytes instead of {240003 * 64}")
    own = float(done.stdout)
    check.that(pipes["read"]["waited_s"] > own - 0.05, f"reads waited {pipes['read']['waited_s']} s, by the program's clock {own}")
    for name in ("random", "sequential"):
        file = found[name]["read"]
        check.that(file["calls"] == 20000 and round(file["mb"] * MIB) == 2000000, f"{name}: {file['calls']} calls, {file['mb'] * MIB} bytes")
    check.that(file["sequential_share"] > 0.999, f"{file['sequential_share']} of the bytes in order instead of all")
    check.that(abs(found["random"]["unique_mb"] * MIB - 2000000) < 20000, f"random: {found['random']['unique_mb']} MiB once")
    check_balance(check, "short calls", model["io"])


def test(check, folder):
    work = test_c(check, folder)
    if work:
        test_python(check, folder, work)
        test_exec_and_modes(check, folder, work)
        test_threads_that_end(check, folder, work)
        test_what_the_library_moves_is_taken_off(check, folder)
        test_same(check, folder, work)
        test_short(check, folder, work)


need_library()
main(test)
