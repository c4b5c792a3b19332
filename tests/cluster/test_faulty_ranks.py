#!/usr/bin/env python3
"""Ranks on a disk that fails, and one rank that may not write: nothing hangs, one sentence, nothing half-made, and a recorded program runs as bare."""
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "pipe"))
sys.path.insert(0, str(Path(__file__).parent.parent / "faults"))
import fuse
from launch import MPI, module_missing, simulate
from tool import PATIENCE, TOMOPROF, main

TARGETS = Path(__file__).parent / "targets"


def ranks(n, words, only_read=None):
    """As n ranks; for rank 1 `only_read` is a folder into which nothing can be written."""
    line = " ".join(f"'{word}'" for word in map(str, words))
    script = f"exec {line}"
    if only_read:
        mount = f"mount --bind '{only_read}' '{only_read}' && mount -o remount,bind,ro '{only_read}' && "
        script = f"if [ $OMPI_COMM_WORLD_RANK = 1 ]; then exec unshare --mount sh -c \"{mount}{script}\"; fi; {script}"
    return subprocess.run(["mpirun", "-n", str(n), "sh", "-c", script], env={**os.environ, **MPI}, capture_output=True, text=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL)


def own(text):
    return [line for line in text.splitlines() if line.startswith("tomoprof: ")]


def a_disk_that_fails(check, folder):
    """The disk of the volume gives an error at one of its calls; then --resume gives the bits of a whole run."""
    call = [TOMOPROF, *simulate(folder, "cone", "--size", 32, "--views", 24), "--memory", "32MiB", "--threads", 1]
    try:
        disk = fuse.Disk(folder / "real", folder / "disk")
    except fuse.Failure as why:
        print(f"  skipped: {why}")
        return
    out = disk.place / "v.nii"
    disk.fails(*({"op": op, "name": "v"} for op in ("create", "write", "fsync", "flush", "fallocate", "rename", "rename2", "mkdir")))
    whole = ranks(3, [*call, "--out", out])
    calls = [line.split()[0] for line in disk.fired()]
    check.that(whole.returncode == 0, f"{whole.stderr}")
    wanted, faults = (disk.folder / "v.nii").read_bytes(), 0
    for op in sorted(set(calls)):
        for at, number in ((0, errno.EDQUOT), (calls.count(op) // 2, errno.EIO), (calls.count(op) - 1, errno.ESTALE)):
            for path in disk.folder.iterdir():
                (shutil.rmtree if path.is_dir() else os.unlink)(path)
            disk.fails({"op": op, "name": "v", "after": at, "times": 1, "errno": number})
            done = ranks(3, [*call, "--out", out])
            what = f"{op} {at + 1} of {calls.count(op)}: {errno.errorcode[number]}"
            if not disk.fired():
                continue
            faults += 1
            if done.returncode:
                check.that(done.returncode == 1 and len(own(done.stderr)) == 1 and os.strerror(number) in done.stderr, f"{what}: {done.returncode} {done.stderr}")
                check.that(not (disk.folder / "v.nii").exists(), f"{what}: a volume")
                again = ranks(3, [*call, "--out", out, "--resume"])
                check.that(again.returncode == 0, f"{what}: --resume: {again.stderr}")
            check.that((disk.folder / "v.nii").read_bytes() == wanted, f"{what}: other bits")
            left = [p.name for p in disk.folder.iterdir() if p.name not in ("v.nii", "v.png")]
            check.that(not left, f"{what}: left {left}")
    check.that(faults > 8, f"{faults} faults")
    disk.end()


def a_rank_that_may_not_write(check, folder):
    """One voice and no volume where it has a part in the writing; else the volume of all."""
    place = folder / "place"
    place.mkdir()
    for method in ([], ["--method", "mbir", "--iterations", 2]):
        call = [TOMOPROF, *simulate(folder, "parallel", "--size", 48, "--views", 24), *method]
        out = place / "v.npy"
        done = ranks(3, [*call, "--out", out], place)
        good = done.returncode == 0
        check.that(done.returncode in (0, 1) and len(own(done.stderr)) == (not good), f"{method}: {done.returncode} {done.stderr}")
        check.that(good or "Read-only file system" in done.stderr, f"{method}: {done.stderr}")
        left = [p.name for p in place.iterdir() if p.name not in ("v.npy", "v.png")]
        check.that(out.exists() == good and not left, f"{method}: {done.returncode}, and {out.exists()}; left {left}")
        for path in place.iterdir():
            (shutil.rmtree if path.is_dir() else os.unlink)(path)


def a_recorded_rank_that_may_not_write(check, folder):
    """It says so before the program begins, which begins in no rank; or the program ends as bare."""
    program, out = folder / "late", folder / "out"
    subprocess.run(["mpicc", "-g", "-O1", "-o", program, TARGETS / "late.c", "-lm"], check=True, timeout=PATIENCE)
    out.mkdir()
    done = ranks(3, [TOMOPROF, "record", "--out", out, "--", program, 1], out)
    said = sorted(line.split()[1] for line in done.stdout.splitlines() if line.startswith("rank "))
    as_bare = done.returncode == 0 and said == ["0", "1", "2"]
    refused = done.returncode == 1 and not said and len(own(done.stderr)) == 1 and "cannot be written by this rank" in done.stderr
    check.that(as_bare or refused, f"{done.returncode}, {said}: {done.stderr}")
    check.that(not list(out.rglob("*.tmp")), f"left {list(out.rglob('*.tmp'))}")


reason = module_missing()
if reason:
    print(f"skipped: {reason}")
    sys.exit(77)
try:
    fuse.own_mounts()
except fuse.Failure as why:
    print(f"skipped: {why}")
    sys.exit(77)
main(a_disk_that_fails, a_rank_that_may_not_write, a_recorded_rank_that_may_not_write)
