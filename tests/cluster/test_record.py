#!/usr/bin/env python3
"""Ranks under record: one run of all of them, and who is late, against what each rank says of itself."""
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "pipe"))
from launch import MPI, module_missing
from tool import PATIENCE, TOMOPROF, main, of_samples

TARGETS = pathlib.Path(__file__).parent / "targets"


def build(folder, name, compiler="mpicc"):
    program = folder / pathlib.Path(name).stem
    subprocess.run([compiler, "-g", "-O1", "-o", str(program), str(TARGETS / name), "-lm"], check=True, timeout=PATIENCE)
    return program


def record(folder, words, ranks=0, out=None):
    """`record mpirun ...`, or with ranks: `mpirun -n N record ...`. The finished call and its profile."""
    out = out or folder / "out"
    call = [TOMOPROF, "record", "--out", str(out)]
    call = ["mpirun", "-n", str(ranks), *call, *words] if ranks else [*call, *words]
    r = subprocess.run(list(map(str, call)), env={**os.environ, **MPI}, capture_output=True, text=True, timeout=PATIENCE,
                       stdin=subprocess.DEVNULL)
    runs = [p for p in out.iterdir() if p.is_dir() and not p.is_symlink()] if out.exists() else []
    profile = json.loads((out / "latest" / "profile.json").read_text()) if (out / "latest" / "profile.json").exists() else None
    return r, profile, runs


def own_words(text):
    """rank -> what its own clock says of each call."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["rank"]:
            found[int(words[1])] = dict(zip(words[2::2], map(float, words[3::2])))
    return found


def waited_for(text):
    """rank -> seconds that the others waited for it in Allreduce, by the ranks' own clocks."""
    rounds, waits = {}, {}
    for turn, rank, at in re.findall(r"arrived (\d+) (\d+) ([\d.]+)", text):
        rounds.setdefault(int(turn), []).append((float(at), int(rank)))
    for ranks in rounds.values():
        last, rank = max(ranks)
        waits[rank] = waits.get(rank, 0) + sum(last - at for at, _ in ranks)
    return waits


def among_the_late(rank, waits):
    """The one that the others wait for most, or one of two that are as late as each other, as they may be on a busy machine."""
    return waits.get(rank, 0) >= 0.5 * max(waits.values())


def line_of(source, what):
    text = (TARGETS / source).read_text().splitlines()
    return next(i + 1 for i, line in enumerate(text) if f"/* line: {what} */" in line)


SHORT = 5e-5  # seconds


def near(a, b, slack=0.02):
    return abs(a - b) <= slack + 0.05 * abs(b)


@of_samples
def who_is_late(check, folder):
    """Both ways of starting; the times of calls are those of the program's own clock."""
    program = build(folder, "late.c")
    for ranks in (0, 3):
        words = [program, 1] if ranks else ["mpirun", "-n", 3, program, 1]
        r, profile, runs = record(folder, words, ranks, folder / f"out{ranks}")
        what = "mpirun record" if ranks else "record mpirun"
        truth = own_words(r.stdout)
        check.that(r.returncode == 0 and sorted(truth) == [0, 1, 2], f"{what}: {r.returncode} {r.stderr}")
        check.that(len(runs) == 1, f"{what}: {len(runs)} runs")
        if not profile:
            continue
        mpi = profile["mpi"]
        check.that(mpi["size"] == 3 and [k["rank"] for k in mpi["ranks"]] == [0, 1, 2], f"{what}: ranks {mpi['ranks']}")
        check.that("MPI" in (mpi["library"] or ""), f"{what}: library {mpi['library']}")
        lines = {(row["call"], row["line"]): row for row in mpi["lines"]}
        for call, key, what_line in (("Allreduce", "all", "all"), ("Barrier", "barrier", "barrier"), ("Recv", "receive", "receive")):
            row = lines.get((call, line_of("late.c", what_line)))
            spent = sum(t[key] for t in truth.values())
            if not row and spent < SHORT:  # who comes too late for a message finds it there, and calls below 10 us have no line
                print(f"  {call} took {1e6 * spent:.0f} us: it may have no line")
                continue
            if not check.that(row, f"{what}: no {call} in line {line_of('late.c', what_line)}, {spent} s: {sorted(lines, key=str)}"):
                continue
            check.that(near(row["spent_s"], spent), f"{what}: {call} {row['spent_s']:.3f} s, own clock {spent:.3f} s")
            check.that(row["late_s"] <= row["spent_s"] + 1e-9, f"{what}: {call}: waits longer than it took")
        waits, row = waited_for(r.stdout), lines.get(("Allreduce", line_of("late.c", "all")))
        check.that(row and among_the_late(row["late_rank"], waits), f"{what}: {row}, own clocks {waits}")
        received = lines.get(("Recv", line_of("late.c", "receive")))
        if truth[1]["receive"] > 0.01:
            check.that(received and received["late_rank"] == 0, f"{what}: the sender is rank 0: {received}")
        pairs = {(p["from"], p["to"]): p for p in mpi["pairs"]}
        check.that(list(pairs) == [(0, 1)] and pairs[0, 1]["messages"] == 1 and near(pairs[0, 1]["mb"] * 2**20, 4000, 0),
                   f"{what}: messages {mpi['pairs']}")
        check.that(near(sum(k["given_mb"] for k in mpi["ranks"]) * 2**20, 3 * 5 * 4 * 2**18 + 4000, 0), f"{what}: bytes {mpi['ranks']}")
        for k in mpi["ranks"]:
            check.that(k["whole"] and near(k["wall_s"], truth[k["rank"]]["since_init"], 0.1), f"{what}: {k} but {truth[k['rank']]}")
        # beside much other work the ranks start and end for longer than they wait, and the answer is another one
        if sum(waits.values()) / 3 > 0.3 * profile["meta"]["wall_s"] and max(waits.values()) > 0.75 * sum(waits.values()):
            late = max(waits, key=waits.get)
            check.that(profile["headline"].startswith(f"Rank {late} is late"), f"{what}: {profile['headline']}")
        ids = {row["id"] for row in profile["findings"]}
        check.that(ids & {"mpi.late", "mpi.turns"} or sum(waits.values()) < 0.2 * mpi["wall_s"], f"{what}: findings {ids}")


@of_samples
def sent_and_received(check, folder):
    """Posted messages, Sendrecv, groups of half the ranks, any source: bytes exact, waits for the late sender."""
    program = build(folder, "messages.c")
    r, profile, _ = record(folder, ["mpirun", "-n", 4, program])
    check.that(r.returncode == 0, r.stderr)
    truth = own_words(r.stdout)
    mpi = profile["mpi"]
    sent = {}
    for row in re.findall(r"sent (\d+) to (\d+) bytes (\d+)", r.stdout):
        sent[int(row[0]), int(row[1])] = sent.get((int(row[0]), int(row[1])), 0) + int(row[2])
    found = {(p["from"], p["to"]): round(p["mb"] * 2**20) for p in mpi["pairs"]}
    check.that(found == sent, f"bytes between ranks {found}, truth {sent}")
    rows = {row["line"]: row for row in mpi["lines"] if row["line"]}
    for what in ("waitall", "half", "any", "matched"):
        row = rows.get(line_of("messages.c", what))
        spent = sum(t[what] for t in truth.values())
        if check.that(row, f"{what}: no such line in {sorted(rows)}"):
            check.that(near(row["spent_s"], spent), f"{what}: {row['spent_s']:.3f} s, own clock {spent:.3f} s")
    wait = rows[line_of("messages.c", "waitall")]
    check.that(wait["late_rank"] == 0 and wait["late_s"] > 0.5 * wait["spent_s"], f"Waitall waits for rank 0: {wait}")
    half = rows[line_of("messages.c", "half")]
    check.that(half["late_rank"] == 3 and half["late_s"] > 0.3 * half["spent_s"], f"the upper half waits for rank 3: {half}")
    probe = rows[line_of("messages.c", "matched")]
    check.that(probe["call"] == "Mprobe" and probe["late_rank"] == 0 and probe["late_s"] > 0.5 * probe["spent_s"], f"Mprobe waits for rank 0: {probe}")
    check.that(mpi["unmatched"] <= 1, f"{mpi['unmatched']} messages without a sender, the one of any rank at most")
    check.that(mpi["unmatched"] >= 1 or rows[line_of("messages.c", "any")]["late_rank"] == 2, f"any source: {mpi['unmatched']}")


@of_samples
def files_and_windows(check, folder):
    """MPI I/O and one-sided calls: bytes exact, times by line as the program's own clock has them."""
    program = build(folder, "moved.c")
    r, profile, _ = record(folder, ["mpirun", "-n", 2, program, folder / "moved.bin"])
    check.must(r.returncode == 0, f"the program as it is: {r.returncode} {r.stdout} {r.stderr}")
    truth = own_words(r.stdout)
    rows = {row["line"]: row for row in profile["mpi"]["lines"] if row["line"]}
    mb = 2 * 4 * 2**20 / 2**20  # of both ranks
    for what, call, moved in (("write_all", "File_write_at_all", mb), ("read", "File_read_at", mb / 2), ("put", "Put", mb), ("get", "Get", mb / 4)):
        row = rows.get(line_of("moved.c", what))
        if row:  # shorter than 10 us: without a line
            check.must(row["call"] == call and abs(row["given_mb"] - moved * row["calls"] / 2) < 1e-6, f"{what}: {row}")
    check.that("File_write_at_all" in {row["call"] for row in rows.values()}, f"no line of the write: {sorted(rows)}")
    all_of = {}
    for row in profile["mpi"]["lines"]:
        all_of[row["call"]] = all_of.get(row["call"], 0) + (row["given_mb"] or 0)
    for call, moved in (("File_write_at_all", mb), ("File_read_at", mb / 2), ("Put", mb), ("Get", mb / 4)):
        check.must(abs(all_of.get(call, 0) - moved) < 1e-6, f"{call}: {all_of.get(call)} MB, truth {moved}")
    spent = sum(row["spent_s"] for row in profile["mpi"]["lines"] if row["call"] in ("File_write_at_all", "File_read_at"))
    check.that(near(spent, sum(t["file"] for t in truth.values())), f"files: {spent:.4f} s, own clock {truth}")
    spent = sum(row["spent_s"] for row in profile["mpi"]["lines"] if row["call"] == "Put" or row["line"] == line_of("moved.c", "fence"))
    check.that(near(spent, sum(t["window"] for t in truth.values())), f"windows: {spent:.4f} s, own clock {truth}")


def started_again(check, folder, mpi="mpicc", start="mpirun"):
    """Persistent requests, large counts (here or not in the library), posted collectives, parts: bytes exact, and who is late."""
    program = build(folder, "started.c", mpi)
    r, profile, _ = record(folder, [start, "-n", 2, program])
    check.must(r.returncode == 0 and "wrong" not in r.stdout, f"the program as it is: {r.returncode} {r.stdout} {r.stderr}")
    truth, mpi = own_words(r.stdout), profile["mpi"]
    sent = {}
    for a, b, n in re.findall(r"sent (\d+) to (\d+) bytes (\d+)", r.stdout):
        sent[int(a), int(b)] = sent.get((int(a), int(b)), 0) + int(n)
    found = {(p["from"], p["to"]): round(p["mb"] * 2**20) for p in mpi["pairs"]}
    check.must(found == sent and mpi["unmatched"] == 0, f"bytes between ranks {found}, truth {sent}; {mpi['unmatched']} unmatched")
    calls, given = {}, {}
    for row in mpi["lines"]:
        calls[row["call"]] = calls.get(row["call"], 0) + row["calls"]
        given[row["call"]] = given.get(row["call"], 0) + round((row["given_mb"] or 0) * 2**20)
    moved = {"Startall": 3 * (8000 + 8000), "Iallreduce": 2 * 24, "Send_init": 0}  # Recv_init has room for 8000
    if "no large" not in r.stdout:
        moved.update({"Send_c": 16, "Recv_c": 16, "Allreduce_c": 2 * 16, "Alltoallv_c": 2 * 16, "Gatherv_c": 16})
        moved["Ialltoallv_c"] = 2 * 16
    # three receives and sends of one rank, three sums of both, and where there are messages in parts, three receives of all of them
    moved["Start"] = 3 * (8000 + 4000) + 3 * 32000 * ("Psend_init" in calls) + 2 * 3 * 24 * ("Allreduce_init" in calls)
    if "no collective calls again" not in r.stdout:
        check.must(calls.get("Allreduce_init") == 2 and given["Allreduce_init"] == 0, f"calls: {calls}, bytes {given}")
    for call, truth_bytes in moved.items():
        check.must(given.get(call) == truth_bytes, f"{call}: {given.get(call)} bytes, truth {truth_bytes}")
    check.must(calls.get("Startall") == 9 and calls.get("Recv_init") == 2, f"calls: {calls}")
    for what in ("wait", "parts") if "Psend_init" in calls else ("wait",):
        row = next((row for row in mpi["lines"] if row["line"] == line_of("started.c", what)), None)
        if check.that(row, f"{what}: no such line"):
            check.that(near(row["spent_s"], sum(t[what] for t in truth.values())), f"{what}: {row['spent_s']:.3f} s, own clock {truth}")
            check.that(row["late_rank"] == 0, f"{what} waits for rank 0: {row}")


@of_samples
def started(check, folder):
    started_again(check, folder)


@of_samples
def started_mpich(check, folder):
    """The library with large counts and messages in parts."""
    if not shutil.which("mpicc.mpich") or not shutil.which("mpiexec.mpich"):
        print("  skipped: MPICH (mpicc.mpich, mpiexec.mpich) is not installed", flush=True)
        return
    started_again(check, folder, "mpicc.mpich", "mpiexec.mpich")


def exit_codes(check, folder):
    """They are those of a bare run."""
    program = build(folder, "messages.c")
    for words in ([program, "exit", 7], [program, "abort", 9]):
        bare = subprocess.run(["mpirun", "-n", "2", *map(str, words)], env={**os.environ, **MPI}, capture_output=True, timeout=PATIENCE)
        inner, _, _ = record(folder, ["mpirun", "-n", 2, *words], 0, folder / "inner")
        outer, _, _ = record(folder, words, 2, folder / "outer")
        check.that(inner.returncode == bare.returncode, f"record mpirun {words[1:]}: {inner.returncode}, bare {bare.returncode}")
        check.that(outer.returncode == bare.returncode, f"mpirun record {words[1:]}: {outer.returncode}, bare {bare.returncode}")


def killed(check, folder):
    """kill -9 of one of three ranks: nothing hangs, and what all of them recorded is read."""
    program = build(folder, "messages.c")
    p = subprocess.Popen([TOMOPROF, "record", "--out", str(folder / "out"), "mpirun", "-n", "3", str(program), "wait"],
                         env={**os.environ, **MPI}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True)
    pids = {}
    for line in p.stdout:
        words = line.split()
        if words[:1] == ["pid"]:
            pids[int(words[1])] = int(words[2])
        if len(pids) == 3:
            break
    time.sleep(0.2)  # so that the ranks wait; nothing depends on it
    os.kill(pids[1], signal.SIGKILL)
    p.stdout.read()
    code = p.wait(timeout=PATIENCE)
    check.that(code == 137, f"exit code {code}, mpirun's is 137")
    mpi = json.loads((folder / "out" / "latest" / "profile.json").read_text())["mpi"]
    check.that([k["rank"] for k in mpi["ranks"]] == [0, 1, 2], f"ranks {mpi['ranks']}")
    check.that(not any(k["whole"] for k in mpi["ranks"]), f"none reached MPI_Finalize: {mpi['ranks']}")


SHIFT_S = 1234
# Another machine, as far as one can be had here: CLOCK_MONOTONIC of its own, a host name of its own, and a launcher that says so.
MACHINES = """#!/bin/sh
case $OMPI_COMM_WORLD_RANK in
2) export OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1
   exec unshare --time --monotonic SHIFT --uts --fork sh -c 'hostname other; exec "$@"' sh "$@";;
*) export OMPI_COMM_WORLD_LOCAL_SIZE=2; exec "$@";;
esac
""".replace("SHIFT", str(SHIFT_S))


def shifts_of(path):
    """(clock, [(shift, error, at), ...]) of a trace's header."""
    h = path.read_bytes()[:416]
    return struct.unpack("<Q", h[360:368])[0], [struct.unpack("<qQQ", h[i:i + 24]) for i in (368, 392)]


@of_samples
def two_machines(check, folder):
    """Two clocks 1234 s apart become one run; the shift is found within the error that is stated."""
    space = ["unshare", "--time", "--monotonic", "5", "--uts", "--fork", "sh", "-c", "hostname other"]
    if not shutil.which("unshare") or subprocess.run(space, capture_output=True, timeout=PATIENCE).returncode:
        print("  skipped: no time namespaces here (they need root)", flush=True)
        return
    program, machines, out = build(folder, "late.c"), folder / "machines.sh", folder / "out"
    machines.write_text(MACHINES)
    words = ["mpirun", "-n", "3", "sh", machines, TOMOPROF, "record", "--out", out, "--", program, 1]
    r = subprocess.run(list(map(str, words)), env={**os.environ, **MPI}, capture_output=True, text=True, timeout=PATIENCE,
                       stdin=subprocess.DEVNULL)
    check.must(r.returncode == 0, r.stderr)
    runs = [p for p in out.iterdir() if not p.is_symlink()]
    if not check.must(len(runs) == 1, f"not one run of both machines: {runs} {r.stderr}"):
        return
    check.must(not (runs[0] / "ranks").exists(), "the run keeps what ranks told each other")
    headers = [shifts_of(p) for p in (runs[0] / "trace").glob("*.tpt")]
    check.must(len({clock for clock, _ in headers}) == 2, f"not two clocks: {headers}")
    for _, shifts in headers:
        for shift, error, at in shifts:
            check.must(not at or abs(shift - SHIFT_S * 10**9) <= error, f"{shift} ns +- {error}, and it is {SHIFT_S} s")
    check.must(sum(1 for _, shifts in headers if shifts[0][2] and shifts[1][2]) == 1, f"compared at the start and at the end: {headers}")
    profile = json.loads((runs[0] / "profile.json").read_text())
    mpi, truth = profile["mpi"], own_words(r.stdout)
    check.must("2 clocks, compared by messages" in mpi["clock"] and "us at most; until the end they moved by" in mpi["clock"], mpi["clock"])
    check.must([k["rank"] for k in mpi["ranks"]] == [0, 1, 2], f"ranks {mpi['ranks']}")
    begin, end = zip(*((p["start_s"], p["end_s"]) for p in profile["processes"]))
    check.must(max(begin) < min(end), f"the ranks ran side by side: {profile['processes']}")
    for k in mpi["ranks"]:
        check.that(near(k["wall_s"], truth[k["rank"]]["since_init"], 0.1), f"{k} but {truth[k['rank']]}")
    row = next(row for row in mpi["lines"] if (row["call"], row["line"]) == ("Allreduce", line_of("late.c", "all")))
    check.that(among_the_late(row["late_rank"], waited_for(r.stdout)), f"{row}, own clocks {waited_for(r.stdout)}")
    check.must(0 < row["late_s"] <= row["spent_s"], f"waits for a late rank: {row}")


def gave_up(check, folder):
    """Ranks that come after the first gave up leave nothing in the run; where --out is not shared, each machine has a run."""
    go = folder / "go"
    world = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_NAMESPACE": "given-up"}

    def start(rank, out, *words):
        env = {**os.environ, **world, "OMPI_COMM_WORLD_RANK": str(rank)}
        env.setdefault("OMPI_COMM_WORLD_LOCAL_RANK", str(rank) if world["OMPI_COMM_WORLD_LOCAL_SIZE"] == "2" else "0")
        return subprocess.Popen([TOMOPROF, "record", "--out", str(folder / out), "--", *words], env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait = ["sh", "-c", f"while [ ! -e '{go}' ]; do sleep 0.05; done"]
    first, second = start(0, "out", "sh", "-c", f"until ls '{folder}/out'/*/ranks/1; do sleep 0.05; done; kill -9 $$"), start(1, "out", *wait)
    said = first.communicate(timeout=PATIENCE)[1]
    check.that(first.returncode in (-9, 137) and "1 of 2 ranks did not say" in said, f"{first.returncode} {said}")
    go.touch()
    said = second.communicate(timeout=PATIENCE)[1]
    check.that(second.returncode == 0, said)
    runs = [p for p in (folder / "out").iterdir() if not p.is_symlink()]
    check.that(len(runs) == 1 and not list(runs[0].glob("rank*")), f"left: {[list(p.iterdir()) for p in runs]}")
    world.update({"OMPI_COMM_WORLD_LOCAL_SIZE": "1", "PMIX_NAMESPACE": "apart"})
    both = start(0, "one", "true"), start(1, "two", "true")
    said = [p.communicate(timeout=PATIENCE)[1] for p in both]
    check.that(all(p.returncode == 0 for p in both) and "have a run of their own" in said[1], f"{said}")
    for out in ("one", "two"):
        there = sorted(p.name for p in (folder / out / "latest").iterdir())
        check.that("profile.json" in there and "ranks" not in there, f"{out}: {there}")


reason = module_missing() or ("" if shutil.which("mpicc") else "mpicc is not installed (libopenmpi-dev)")
if reason:
    print(f"skipped: {reason}")
    sys.exit(77)
main(who_is_late, sent_and_received, files_and_windows, started, started_mpich, exit_codes, killed, two_machines, gave_up)
