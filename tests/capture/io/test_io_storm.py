"""Programs that open more files a second than the kernel is asked for: what they do is counted exactly, and what it costs is told."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from injected import captured, target
from recorded import command, main, need_library, of_samples, profile, run

MIB = 1 << 20
FILES, ROUNDS, BYTES = 2000, 40, 200
KEPT = {**os.environ, "TOMOPROF_CAPTURE_CALLS": "0.99"}  # nothing is taken out of the way
LITTLE = {**os.environ, "TOMOPROF_CAPTURE_CALLS": "0.005"}  # soon few calls are timed
EXACT = {**os.environ, "TOMOPROF_CAPTURE_CALLS": "1"}  # the kernel is asked for each file, and each call has its stack

REPLACED = """
import os, sys
os.chdir(sys.argv[1])
def reads(n):
    for _ in range(n):
        fd = os.open("old", os.O_RDONLY)
        os.read(fd, 300)
        os.close(fd)
reads(40000)
os.rename("new", "old")
reads(30000)
os.mkdir("inner")
os.rename("old", "inner/old")
os.chdir("inner")
reads(20000)
"""


PIECES = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
for _ in range(8):
    os.lseek(fd, 0, os.SEEK_SET)
    while os.read(fd, 16):
        pass
other = os.dup(fd)
if os.fork() == 0:
    for at in range(0, 1 << 20, 32):
        os.pread(other, 16, at)
    os._exit(0)
os.wait()
for _ in range(40000):
    os.write(fd, b"x" * 50)
    os.write(fd, b"x" * 150)
"""


# After so many files that the kernel is asked for no more: three descriptors at a time in each of two threads, of files that are read in 0 to 3 pieces or from the middle on; closed in another order.
SUMS = """
import json, os, sys, threading
kinds = ("none", "one", "three", "middle")
def reads(fd, kind):
    if kind == "middle":
        os.lseek(fd, 100, os.SEEK_SET)
    return sum(len(os.read(fd, 50)) for _ in range({"none": 0, "one": 1, "three": 3, "middle": 2}[kind]))
def work(rounds, told):
    for i in range(rounds):
        some = [(kind, os.open(f"{sys.argv[1]}/{i % 40}.{kind}", os.O_RDONLY)) for kind in (kinds[(i + k) % 4] for k in range(3))]
        for kind, fd in some: told[kind] = told.get(kind, 0) + reads(fd, kind)
        for kind, fd in reversed(some): os.close(fd); told["opens"] = told.get("opens", 0) + 1
for i in range(int(sys.argv[3])):
    os.close(os.open(f"{sys.argv[2]}/{i}.dat", os.O_RDONLY))
told = [{}, {}]
threads = [threading.Thread(target=work, args=(40000, t)) for t in told]
for t in threads: t.start()
for t in threads: t.join()
print(json.dumps({key: sum(t[key] for t in told) for key in told[0]}))
"""

# Calls wait in their descriptors when it forks. The child closes a number while it is asleep, then reads itself.
INHERITED = """
import os, sys
fd, other = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[1], os.O_RDONLY)
for at in range(0, 16 * 60000, 16):
    os.pread(fd, 16, at)
if os.fork() == 0:
    os.close(other)
    os.pread(fd, 16, 0)
    os._exit(0)
os.wait()
"""

# Reads and writes that jump about in two files, go on from each other, and seek; then a child closes one and reads the other.
JUMPS = """
import json, os, random, sys
draw, told = random.Random(1), {}
fds = {name: os.open(f"{sys.argv[1]}/{name}", os.O_CREAT | os.O_RDWR, 0o600) for name in ("first", "second")}
at = dict.fromkeys(fds, 0)
for name, fd in fds.items(): os.truncate(fd, 1 << 22); told[name] = {"read": [0, 0], "write": [0, 0]}
def count(name, op, n): told[name][op][0] += n > 0; told[name][op][1] += n; return n
for i in range(100000):
    name, n = draw.choice(("first", "second")), draw.choice((10, 90, 200, 5000, 30000))
    if draw.random() < 0.6: at[name] = draw.randrange(1 << 21)
    if draw.random() < 0.3: at[name] += count(name, "write", os.pwrite(fds[name], b"x" * n, at[name]))
    else: at[name] += count(name, "read", len(os.pread(fds[name], n, at[name])))
    if draw.random() < 0.01: os.lseek(fds[name], 0, os.SEEK_SET); count(name, "read", len(os.read(fds[name], 100)))
if os.fork() == 0:
    os.close(fds["second"])
    os.pread(fds["first"], 100, 0)
    os._exit(0)
os.wait()
count("first", "read", 100)
print(json.dumps(told))
"""


def filled(folder):
    files = folder / "files"
    files.mkdir()
    for i in range(FILES):
        (files / f"{i}.dat").write_bytes(bytes(BYTES))
    return files


def test_calls(check, folder, program, files):
    """A file that is opened again and again costs a system call now and then: there were four a round (which process, which file, with which
    flags). Those that are left are of stacks, and of the share of the time in which the kernel is asked. A tracer that stops the program at
    each call made that time 17 s for 0.2 at a load of 20, and so the calls 19,000 for 1,300."""
    rounds, besides = 20000, {}
    for kind in ("calls", "checked"):
        done, traces = captured(folder, [program, kind, str(rounds), files / "0.dat"], MODES="io", CALLS="0.99")
        check.must(done.returncode == 0 and len(traces) in (2, 3), f"{kind}: ended with {done.returncode}, {len(traces)} traces: {done.stderr[-300:]!r}")
        told = json.loads(done.stdout)
        check.must(told["parts"] == 3, f"{kind}: {told['parts']} marks seen")
        check.must(0 <= told["reads"] < 0.01 * rounds, f"{kind}: {told['reads']} reads besides the program's in {rounds} rounds")
        besides[kind] = told["besides"]
    check.must(0 <= besides["calls"] < 0.5 * rounds, f"{besides['calls']} system calls besides the program's in {rounds} rounds")
    # of programs that are built with _FORTIFY_SOURCE: two a round, where the flags were not looked at
    check.must(0 <= besides["checked"] < 1.5 * besides["calls"] + 0.1 * rounds, f"system calls besides the program's in {rounds} rounds: {besides}")


def test_sums(check, folder, program, files):
    done = run(command(folder / "runs_sums", "--", program, str(FILES), str(ROUNDS), files), env=KEPT)
    check.must(done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-300:]!r}")
    model = profile(folder / "runs_sums")
    io, wanted = model["io"], FILES * ROUNDS
    calls, moved = io["read"]["calls"], round(io["read"]["mb"] * MIB)
    check.must(calls == wanted, f"{calls} reads instead of {wanted}")
    check.must(moved == wanted * BYTES, f"{moved} bytes read instead of {wanted * BYTES}")
    summed = [r for r in io["files"] if r["path"].endswith("/*.dat")]
    said = [i["severity"] for i in model["quality"]["items"] if i["id"] == "io.summed"]
    check.must(said == ["info"] * bool(summed), f"{len(summed)} rows for many files, said: {said}")
    check.must(all(r["reread"] is None and r["unique_mb"] is None for r in summed), f"an offset of many files is not a place: {summed[:1]}")
    check.that(summed, "files were not summed: the kernel was asked for all of them")


def test_replaced(check, folder):
    """A name that the process gave to another file leads to that one, also where the kernel is not asked."""
    for name in ("old", "new"):
        (folder / name).write_bytes(bytes(BYTES))
    done = run(command(folder / "runs_replaced", "--", sys.executable, "-c", REPLACED, folder), env=KEPT)
    check.must(done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-300:]!r}")
    rows = [r for r in profile(folder / "runs_replaced")["io"]["files"] if pathlib.Path(r["path"]).name in ("old", "*")]
    calls = sum(r["read"]["calls"] for r in rows)
    check.must(calls == 90000, f"{calls} reads instead of 90000")
    opens = sum(r["opens"] for r in rows)
    check.must(opens == 180000, f"{opens} opens and closes instead of 180000")
    most = max(r["read"]["calls"] for r in rows if not r["path"].endswith("*"))
    check.must(most <= 50000, f"{most} reads of one file: it was read 40000 times, the other one 50000")


def test_pieces(check, folder):
    """Calls that cost more to record than they may are counted without their times: all but these stay exact, also in a forked child."""
    pieces = folder / "pieces"
    pieces.write_bytes(bytes(MIB))
    done = run(command(folder / "runs_pieces", "--", sys.executable, "-c", PIECES, pieces))
    check.must(done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-300:]!r}")
    model = profile(folder / "runs_pieces")
    said = {i["id"] for i in model["quality"]["items"]}
    check.that("io.sampled" in said, f"each of 600,000 small calls was timed: {sorted(said)}")
    check.must("io.off" not in said, "calls were taken out of the program's way")
    rows = [r for r in model["io"]["files"] if r["path"].endswith("/pieces")]  # the child's is sometimes a row of its own
    seeks, spent = sum(r["seeks"] for r in rows), sum(r["s"] for r in rows)
    reads, writes = ({key: sum(r[op][key] or 0 for r in rows) for key in ("calls", "mb", "back")} for op in ("read", "write"))
    sizes = [sum(n) for n in zip(*(r["write"]["sizes"] for r in rows))]
    wanted = 8 * (MIB // 16 + 1) + MIB // 32
    check.that(reads["calls"] == wanted, f"{reads['calls']} reads instead of {wanted}")
    moved = round(reads["mb"] * MIB)
    check.that(moved == 8 * MIB + MIB // 2, f"{moved} bytes read instead of {8 * MIB + MIB // 2}")
    check.that(seeks == 8, f"{seeks} seeks instead of 8")
    check.that(writes["calls"] == 80000, f"{writes['calls']} writes instead of 80000")
    moved = round(writes["mb"] * MIB)
    check.that(moved == 8000000, f"{moved} bytes written instead of 8000000")
    check.that(sizes[:3] == [40000, 40000, 0], f"writes by size: {sizes}")
    check.that(reads["back"] == 7, f"{reads['back']} reads began before the one before, instead of 7")
    check.that(0 < spent < 100, f"{spent} s estimated")


def test_descriptors(check, folder, others):
    """Files that are summed under their descriptors' numbers: by row, opens, calls, bytes, sizes and places are exact."""
    files = folder / "kinds"
    files.mkdir()
    for kind in ("none", "one", "three", "middle"):
        for i in range(40):  # the page lists 300
            (files / f"{i}.{kind}").write_bytes(bytes(BYTES))
    done = run(command(folder / "runs_descriptors", "--", sys.executable, "-c", SUMS, files, others, str(FILES)), env=KEPT)
    check.must(done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-300:]!r}")
    told = json.loads(done.stdout)
    model = profile(folder / "runs_descriptors")
    opens = 0
    for kind, pieces in (("none", 0), ("one", 1), ("three", 3), ("middle", 2)):
        rows = [r for r in model["io"]["files"] if r["path"].endswith(f".{kind}")]
        calls, moved = sum(r["read"]["calls"] for r in rows), round(sum(r["read"]["mb"] or 0 for r in rows) * MIB)
        sizes = [sum(n) for n in zip(*(r["read"]["sizes"] for r in rows))] if pieces else [0]
        check.must(moved == told.get(kind, 0), f"{kind}: {moved} bytes instead of {told.get(kind, 0)}")
        check.must(calls == moved // 50, f"{kind}: {calls} reads instead of {moved // 50}")
        check.must(sizes[0] == calls and sum(sizes) == calls, f"{kind}: reads by size {sizes} of {calls}")
        opens += sum(r["opens"] for r in rows)
    check.must(opens == 2 * told["opens"], f"{opens} opens and closes instead of {2 * told['opens']}")
    check.that("io.summed" in {i["id"] for i in model["quality"]["items"]}, "files were not summed")


def test_jumps(check, folder):
    """Calls that wait before they are placed: counts are the program's, places those of a recording that places each at once."""
    rows, said = {}, {}
    for kind, env in (("exact", EXACT), ("waits", LITTLE)):
        done = run(command(folder / f"runs_{kind}", "--", sys.executable, "-c", JUMPS, folder), env=env)
        check.must(done.returncode == 0, f"{kind}: ended with {done.returncode}: {done.stderr[-300:]!r}")
        told, model = json.loads(done.stdout), profile(folder / f"runs_{kind}")
        said[kind] = {i["id"] for i in model["quality"]["items"]}
        for name, ops in told.items():
            for op, (calls, moved) in ops.items():
                some = [r[op] for r in model["io"]["files"] if pathlib.Path(r["path"]).name == name]  # the child's is sometimes a row of its own
                sums = {key: sum(r[key] or 0 for r in some) for key in ("calls", "mb", "next", "near", "forward", "back", "jump_mb")}
                check.must(sums["calls"] == calls and round(sums["mb"] * MIB) == moved, f"{kind}: {op} of {name}: {sums}, the program made {calls} of {moved} bytes")
                rows.setdefault((name, op), []).append({**sums, "mb": 0, "sizes": [sum(n) for n in zip(*(r["sizes"] for r in some))]})
    for what, (exact, waits) in rows.items():
        check.must(exact == waits, f"{what}: {waits} instead of {exact}")
    check.that("io.sampled" in said["waits"] and "io.sampled" not in said["exact"], f"each call was placed at once, or none: {said}")


def test_inherited(check, folder):
    pieces = folder / "inherited"
    pieces.write_bytes(bytes(MIB))
    done = run(command(folder / "runs_inherited", "--", sys.executable, "-c", INHERITED, pieces))
    check.must(done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-300:]!r}")
    model = profile(folder / "runs_inherited")
    calls = sum(r["read"]["calls"] for r in model["io"]["files"] if r["path"].endswith("/inherited"))
    check.must(calls == 60001, f"{calls} reads instead of 60001")
    check.that("io.sampled" in {i["id"] for i in model["quality"]["items"]}, "each call was recorded at once")


def test_seen(check, folder, program, files):
    """Samples in the recorder's functions are time that they took: no less is told."""
    done = run(command(folder / "runs_seen", "--rate", "2000", "--", program, str(FILES), str(ROUNDS), files))
    check.must(done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-300:]!r}")
    model = profile(folder / "runs_seen")
    stacks, modules = model["stacks"], model["frames"]["module"]
    own = [cpu for cpu, frame in zip(stacks["cpu_ns"], stacks["frame"]) if "libtomoprof_capture" in (modules[frame] or "")]
    check.that(own, "no sample fell into the recorder's functions")
    told = sum(row["s"] for row in model["quality"]["overhead"] if row["part"] not in ("sampler", "own threads", "writer", "signals", "processes"))
    check.must(told >= 1e-9 * sum(own) * (1 - 1e-6), f"{told} s told, samples saw {1e-9 * sum(own)} s")


@of_samples
def the_cost_is_told(check, folder):
    """By the program's own clock it takes as much longer as its recording says. Each call goes the long way, so that this is more
    than the noise of two runs."""
    program, files = target(folder, "opens"), filled(folder)
    if not program:
        return
    words = [program, str(FILES), str(ROUNDS), files]
    bare = [json.loads(run(words).stdout)["cpu"] for _ in range(3)]
    done = run(command(folder / "runs_told", "--modes", "io", "--", *words), env=EXACT)
    check.must(done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-300:]!r}")
    more = json.loads(done.stdout)["cpu"] - sorted(bare)[1]
    told = sum(r["s"] for r in profile(folder / "runs_told")["quality"]["overhead"] if r["part"] == "io")
    check.that(more / 1.5 < told < more * 1.5, f"{told} s told, by the program's clock {more} s")


def test(check, folder):
    program = target(folder, "opens")
    if not program:
        print("skipped: no C compiler")
        return
    files = filled(folder)
    test_calls(check, folder, program, files)
    test_sums(check, folder, program, files)
    test_pieces(check, folder)
    test_replaced(check, folder)
    test_descriptors(check, folder, files)
    test_inherited(check, folder)
    test_jumps(check, folder)
    test_seen(check, folder, program, files)


need_library()
main(test, the_cost_is_told)
