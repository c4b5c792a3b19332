"""Files on a disk that fails: a file system in user space answers as NFS and FUSE do (EIO, ESTALE, EDQUOT where a file is closed, ENOSPC, nothing at all).
What cannot be read or written ends with one sentence and nothing half-made; a program that is recorded there runs as bare."""

import errno
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "faults"))
import fuse
import numpy as np
from tool import DATA, SANITIZED, TOMOPROF, have, main, tomoprof

PATIENT = 300  # s: whoever is not done then waits for something that never comes
SOURCES = ["nifti/i2.nii", "nifti/i2.nii.gz", "nifti/i2_bgzf.nii.gz", "tiff/u2_pages.tif", "tiff/stack", "npy/f4.npy", "czi/raw.czi", "mrc/u2.mrc",
           "nrrd/i2.nhdr", "metaimage/i2.mhd", "zarr/zarr2/blosc", "txrm/u2.txrm", "hdf5/filters.h5"]
NEEDS = {"zarr/zarr2/blosc": ("chunk_codecs", "blosc"), "hdf5/filters.h5": ("hdf5",)}
READS = ("open", "read", "getattr", "readdir", "flush")
TARGETS = ["v.npy", "v.nii", "v.nii.gz", "v.tif", "v.zarr"]
WRITES = ("create", "write", "setattr", "fallocate", "fsync", "flush", "rename", "rename2", "link", "mkdir", "open")
ERRORS = (errno.EIO, errno.ESTALE, errno.EDQUOT, errno.ENOSPC, errno.EACCES, errno.EROFS)


def disk_of(folder):
    return fuse.Disk(folder / "real", folder / "disk")


def hangs(disk, process):
    """Waits until a call of it, or of its child, gets no answer."""
    end = time.monotonic() + PATIENT
    while process.poll() is None and time.monotonic() < end and not disk.said(0.05):
        pass


def moments(count):
    """The first, one in the middle, and the last of so many calls."""
    return sorted({0, count // 2, count - 1} if count else ())


def counted(disk, ops, *words):
    """A call that meets no fault, and how many of each it made."""
    disk.fails(*({"op": op, "name": "v"} for op in ops))
    done = tomoprof(*words, timeout=PATIENT)
    fired = [line.split()[0] for line in disk.fired()]
    return done, {op: fired.count(op) for op in ops}


def one_sentence(check, what, done, number):
    said = [line for line in done.stderr.splitlines() if line.startswith("tomoprof: ")]
    check.that(done.returncode in (1, 2) and len(said) == 1, f"{what}: exit {done.returncode}: {done.stderr}")
    check.that(os.strerror(number) in done.stderr, f"{what}: no reason: {done.stderr}")


def reading(check, folder):
    """Each kind of file, at the first, a middle and the last call of each kind."""
    disk = disk_of(folder)
    out, faults = folder / "out.npy", 0
    for i, source in enumerate(SOURCES):
        if source in NEEDS and not have(*NEEDS[source]):
            continue
        beside = [p for p in (DATA / "store" / source).parent.iterdir() if p.stem == (DATA / "store" / source).stem]
        for path in beside:  # a header's data
            (shutil.copytree if path.is_dir() else shutil.copy)(path, disk.folder / path.name)
        path = disk.place / pathlib.Path(source).name
        words = ["convert", path, out]
        disk.fails(*({"op": op} for op in READS))
        whole = tomoprof(*words)
        fired = [line.split()[0] for line in disk.fired()]
        if not check.that(whole.returncode == 0, f"{source}: {whole.stderr}"):
            continue
        wanted = np.load(out)
        for op in READS:
            for at in moments(fired.count(op)):
                out.unlink(missing_ok=True)
                number = ERRORS[(i + at) % 2]
                disk.fails({"op": op, "after": at, "errno": number})
                done = tomoprof(*words)
                what = f"{source}: {op} {at + 1} of {fired.count(op)}: {errno.errorcode[number]}"
                if not disk.fired():
                    continue
                faults += 1
                if done.returncode == 0:
                    check.that(np.array_equal(np.load(out), wanted), f"{what}: other values")
                else:
                    one_sentence(check, what, done, number)
                    check.that(not list(folder.glob("out.npy*")), f"{what}: left {list(folder.glob('out.npy*'))}")
        for p in disk.folder.iterdir():
            (shutil.rmtree if p.is_dir() else os.unlink)(p)
    np.save(disk.folder / "f4.npy", np.ones(1 << 18, np.float32))  # more than is read with its header
    wanted, told = tomoprof("info", disk.place / "f4.npy").stdout, 0
    for at in range(12):
        disk.fails({"op": "read", "after": at, "errno": errno.EIO})
        done = tomoprof("info", disk.place / "f4.npy")
        if disk.fired() and done.returncode:
            told += 1
            one_sentence(check, f"info, read {at + 1}", done, errno.EIO)
        else:
            check.that(done.stdout == wanted, f"info, read {at + 1}: other numbers: {done.stdout}")
    check.that(told > 0, "no read of info failed")
    check.that(faults > 50, f"{faults} faults")
    print(f"  {faults} faults")
    disk.end()


def contents(path):
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()} if path.is_dir() else path.read_bytes() if path.exists() else None


def writing(check, folder):
    """The old file stays where the new one cannot be written, and nothing else is left. NFS tells a full disk where a file is closed."""
    disk, source, faults = disk_of(folder), DATA / "store/nifti/i2.nii", 0
    for i, name in enumerate(TARGETS):
        words = ["convert", source, disk.place / name]
        whole, calls = counted(disk, WRITES, *words)
        if not check.that(whole.returncode == 0, f"{name}: {whole.stderr}"):
            continue
        wanted = contents(disk.folder / name)
        for op in WRITES:
            for at in moments(calls[op]):
                number = ERRORS[(i + at) % len(ERRORS)]
                disk.fails({"op": op, "name": "v", "after": at, "errno": number})
                done = tomoprof(*words)
                what = f"{name}: {op} {at + 1} of {calls[op]}: {errno.errorcode[number]}"
                if not disk.fired():
                    continue
                faults += 1
                if done.returncode:
                    one_sentence(check, what, done, number)
                check.that(contents(disk.folder / name) == wanted, f"{what}: another file")
                left = [p.name for p in disk.folder.iterdir() if p.name != name]
                check.that(not left, f"{what}: left {left}")
                for p in left:
                    subprocess.run(["rm", "-rf", disk.folder / p], check=True)
        subprocess.run(["rm", "-rf", disk.folder / name], check=True)
    check.that(faults > 30, f"{faults} faults")
    print(f"  {faults} faults")
    disk.end()


def recording(check, folder):
    """Output and exit code of the program are those of the bare run, whatever its trace meets."""
    disk = disk_of(folder)
    program = [sys.executable, "-c", "import sys\nx = 0\nfor i in range(3000000): x += i\nprint(x)\nsys.stderr.write('e')\nsys.exit(3)"]
    bare = subprocess.run(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENT)
    ops = ("create", "write", "mkdir", "open", "read", "symlink", "rename", "rename2", "flush", "fsync", "setattr", "getattr")
    words = ["record", "--out", disk.place / "v", "--", *program]
    whole, calls = counted(disk, ops, *words)
    check.that(whole.returncode == 3, f"{whole}")
    faults = 0
    cases = [({"op": op, "name": "v", "after": at, "errno": ERRORS[at % len(ERRORS)]}) for op in ops for at in moments(calls[op])]
    if SANITIZED:  # which takes ten times as long to analyse
        cases = cases[::4]
    for fault in [*cases, {"op": "create", "direct": 1}, {"op": "open", "direct": 1}, {"op": "write", "most": 4096}]:
        shutil.rmtree(disk.folder / "v", ignore_errors=True)
        disk.fails(fault, *([{"op": "open", "direct": 1}] if fault.get("direct") else []))
        done = tomoprof(*words, timeout=PATIENT)
        if not disk.fired():
            continue
        faults += 1
        begun = done.returncode == 3 and done.stdout == bare.stdout
        refused = done.returncode in (1, 2) and not done.stdout and done.stderr.count("tomoprof: ") == 1  # it was not started
        check.that(begun or refused, f"{fault}: {done.returncode} {done.stdout} {done.stderr}")
        left = [str(p) for p in disk.folder.rglob("*.tmp")]
        check.that(not left, f"{fault}: left {left}")
        if fault["op"] == "create" and fault.get("direct"):
            made = list(disk.folder.glob("v/*"))
            check.that(refused and "maps no files" in done.stderr and not made, f"{fault}: {done}, made {made}")
    print(f"  {faults} faults")
    # Traces of short processes lie together in one file, which the analysis lists.
    disk.fails({"op": "read", "name": ".tpb", "errno": errno.EIO})
    done = tomoprof("record", "--out", disk.place / "w", "--", "/bin/sh", "-c", "/bin/true; echo out; exit 3", timeout=PATIENT)
    check.that(disk.fired() and (done.returncode, done.stdout) == (3, "out\n"), f"short processes: {done}")
    disk.end()


def silent(check, folder):
    """A server that never answers: a signal ends the command, and what it started."""
    disk = disk_of(folder)
    for source in ("nifti/i2.nii", "hdf5/filters.h5", "tiff/stack"):
        path = disk.folder / pathlib.Path(source).name
        (shutil.copytree if (DATA / "store" / source).is_dir() else shutil.copy)(DATA / "store" / source, path)
    for name in ("i2.nii", "filters.h5", "stack"):
        for op in ("open", "read", "getattr"):
            for number in (signal.SIGINT, signal.SIGTERM):
                disk.fails({"op": op, "name": name, "hang": 1})
                p = subprocess.Popen([TOMOPROF, "convert", str(disk.place / name), str(folder / "never.npy")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                hangs(disk, p)
                p.send_signal(number)
                try:
                    _, said = p.communicate(timeout=PATIENT)
                    check.that(p.returncode in (-number, 130), f"{name}, {op}, {number.name}: exit {p.returncode} {said}")
                except subprocess.TimeoutExpired:
                    check.that(False, f"{name}, {op}: {number.name} does not end it")
                    p.kill()
                    p.communicate()
                disk.fails()
                check.that(not list(folder.glob("never*")), f"left {list(folder.glob('never*'))}")
    disk.end()


if __name__ == "__main__":
    try:
        fuse.own_mounts()
        with tempfile.TemporaryDirectory() as place:
            disk_of(pathlib.Path(place)).end()
    except fuse.Failure as why:
        print(f"skipped: {why}")
        sys.exit(77)
    main(reading, writing, recording, silent)
