"""Each way to read a file, against what the program moved and what the kernel counted for it."""

import json
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from injected import target
from recorded import command, compiled, main, need_library, newest, profile, run

MIB = 1 << 20
SIZE = 4 * MIB
EXACT = dict(os.environ, TOMOPROF_CAPTURE_CALLS="1")  # none is taken out of the way

STREAM = """
#include <fstream>
#include <iostream>
#include <string>
#include <vector>
int main(int, char **argv)
{
    std::vector<char> room(50000);
    std::ifstream in(argv[1], std::ios::binary);
    long sum = 0;
    while (in.read(room.data(), (long)room.size()) || in.gcount())
        sum += in.gcount();
    std::ifstream lines(argv[2]);
    for (std::string line; std::getline(lines, line);)
        sum += (long)line.size();
    std::cout << sum << std::endl;
}
"""

PYTHON = """
import io, os, sys
room = bytearray(100000)
with open(sys.argv[1], "rb", buffering=0) as f:
    while f.readinto(room):
        pass
with open(sys.argv[2], "rb") as f:      # a BufferedReader
    while f.readinto(room):
        pass
fd = os.open(sys.argv[3], os.O_RDONLY)
while os.readv(fd, [room[:1000], memoryview(room)[1000:]]):
    pass
"""

OLD = """
#include <fcntl.h>
#include <stdio.h>
__asm__(".symver old_llseek,llseek@GLIBC_2.2.5");
extern long long old_llseek(int fd, long long offset, int from);
int main(void)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    printf("%lld\\n", old_llseek(fd, 64, SEEK_SET));
    return fd < 0;
}
"""


def moved(files, name, way):
    return round(files[name][way]["mb"] * MIB) if name in files else None


def close_to(found, truth):
    return found is not None and abs(found - truth) <= 0.02 * truth


def test_c(check, folder):
    work = folder / "work"
    flags = ["-pthread"]
    if os.path.exists("/usr/include/liburing.h"):
        flags += ["-DWITH_LIBURING", "-Wl,--no-as-needed", "-luring"]
    else:
        print("skipped: liburing, not installed")
    program = target(folder, "access", *flags)
    if not program:
        return print("skipped: no compiler")
    work.mkdir()
    done = run(command(folder / "out", "--", program, work), env=EXACT)
    check.must(done.returncode == 0, f"the program ended with {done.returncode}: {done.stderr[-300:]}")
    io = profile(folder / "out")["io"]
    files = {f["path"].rpartition("/")[2]: f for f in io["files"]}
    requests = 0
    for line in done.stdout.decode().splitlines():
        way, total, rchar, wchar = line.split()[0], *map(int, line.split()[1:])
        if total < 0:
            print(f"skipped: {way}: {os.strerror(-total)}")
            continue
        check.that(total == SIZE, f"{way}: the program moved {total} bytes itself")
        if way == "mmap":
            check.that(close_to(round(files[way]["touched_mb"] * MIB), SIZE), f"mmap: {files[way]['touched_mb']} MiB touched")
            continue
        found = moved(files, way, "read")
        check.that(found == total, f"{way}: {found} bytes instead of {total}")
        if rchar > MIB:  # the kernel counts this way
            check.that(close_to(found, rchar), f"{way}: {found} bytes read, by the kernel {rchar}")
        if way + "_to" in files:
            to = moved(files, way + "_to", "write")
            check.that(to == total and (wchar < MIB or close_to(to, wchar)), f"{way}: {to} bytes written, by the kernel {wchar}")
        check.that((files[way]["reread"] or 9) < 1.02, f"{way}: each byte {files[way]['reread']} times")
        if way not in ("read", "pread", "readv", "stdio"):
            check.that(any((p["file"] or "").endswith("access.c") and p["op"] == "read" for p in files[way]["lines"]), f"{way}: no line")
        if way in ("aio", "io_uring", "io_uring_fixed", "liburing"):
            requests += 64
            check.that(files[way]["read"]["calls"] == 64, f"{way}: {files[way]['read']['calls']} requests instead of 64")
    check.that(io["ring_requests"] == requests and io["ring_lost"] == 0, f"{io['ring_requests']} requests in {io['ring_calls']} calls, "
               f"{io['ring_lost']} lost; {requests} were made")
    for way in ("read", "write"):
        check.that(abs(io[f"unseen_{way}_mb"]) < 0.02 * io[f"kernel_{way}_mb"], f"{io[f'unseen_{way}_mb']} MiB of {way} are unseen")
    return work


def test_others(check, folder, work):
    words = [sys.executable, "-c", PYTHON, work / "read", work / "pread", work / "readv"]
    done = run(command(folder / "python", "--", *words), env=EXACT)
    check.must(done.returncode == 0, done.stderr.decode()[-300:])
    io = profile(folder / "python")["io"]
    files = {f["path"].rpartition("/")[2]: f for f in io["files"]}
    for name in ("read", "pread", "readv"):
        check.that(moved(files, name, "read") == SIZE, f"Python: {moved(files, name, 'read')} bytes of {name}")
    check.that(close_to(io["seen_read_mb"], io["kernel_read_mb"]), f"Python: {io['seen_read_mb']} MiB, by the kernel {io['kernel_read_mb']}")
    compiler = shutil.which("c++") or shutil.which("g++")
    program = compiled(folder, "stream", STREAM, "-xc++", "-O1", compiler=compiler) if compiler else None
    if not program:
        return print("skipped: ifstream, no C++ compiler")
    done = run(command(folder / "cpp", "--", program, work / "read", work / "pread"), env=EXACT)
    check.must(done.stdout.split() == [str(2 * SIZE).encode()], f"{done.stdout!r} {done.stderr[-300:]!r}")
    io = profile(folder / "cpp")["io"]
    files = {f["path"].rpartition("/")[2]: f for f in io["files"]}
    for name in ("read", "pread"):
        check.that(close_to(moved(files, name, "read"), SIZE), f"ifstream: {moved(files, name, 'read')} bytes of {name}")
    check.that(close_to(io["seen_read_mb"], io["kernel_read_mb"]), f"ifstream: {io['seen_read_mb']} MiB, by the kernel {io['kernel_read_mb']}")


MAPS = """
import mmap, sys
with open(sys.argv[1], "rb") as f:
    for _ in range(4001):
        with mmap.mmap(f.fileno(), 4096, mmap.MAP_SHARED, mmap.PROT_READ) as m: m[0]
"""


def test_many_small_mappings(check, folder):
    """The first 64 are looked at, then one in 32, which stands for all: the standard error is 11 %."""
    (folder / "small").write_bytes(bytes(4096))
    done = run(command(folder / "maps", "--", sys.executable, "-c", MAPS, folder / "small"), env=EXACT)
    check.must(done.returncode == 0, done.stderr.decode()[-300:])
    row = next(f for f in profile(folder / "maps")["io"]["files"] if f["path"].endswith("/small"))
    pages = row["touched_mb"] * MIB / 4096
    check.must(abs(pages - 4001) < 5 * (31 * 3937) ** 0.5, f"{pages} pages were touched instead of 4001")
    check.must(round(pages) != 4001, "each of them was looked at")


def test_old(check, folder):
    """A program built long ago calls a function that no program can be linked with any more by its plain name."""
    if os.uname().machine != "x86_64":
        return print("skipped: llseek of old programs, of x86-64 alone")
    program = compiled(folder, "old", OLD)
    if not program:
        return print("skipped: no compiler")
    done = run(command(folder / "old_runs", "--", program), env=EXACT)
    check.that((done.returncode, done.stdout) == (0, b"64\n"), f"llseek: {done.returncode}, {done.stdout!r} {done.stderr[-300:]!r}")


def test(check, folder):
    work = test_c(check, folder)
    test_old(check, folder)
    test_many_small_mappings(check, folder)
    if work:
        test_others(check, folder, work)
    print(json.dumps({"run": newest(folder / "out").name if work else None}))


need_library()
main(test)
