"""`convert`: every format that load reads into every format that is written, each compared with the values that are in the file."""

import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, SANITIZED, TOMOPROF, have, loadable, main, tomoprof, write_json

SHAPE = (5, 37, 41)
STORE = DATA / "store"


def values(dtype):
    i = np.arange(np.prod(SHAPE), dtype=np.int64)
    v = (i * i + 3 * i) % 1021
    dtype = np.dtype(dtype)
    return (v % 251 if dtype.itemsize == 1 else v).astype(dtype).reshape(SHAPE)


def converted(check, source, target, *args):
    done = tomoprof("convert", source, target, *args)
    check.that(done.returncode == 0, f"convert {source} {target} {args}: exit {done.returncode}: {done.stderr}")
    return done.stderr


def same(check, path, wanted, text):
    there = np.load(path)
    check.that(there.dtype == wanted.dtype and np.array_equal(there, wanted), f"{text}: {there.dtype} {there.shape} instead of {wanted.dtype} {wanted.shape}")


def from_every_format(check, folder):
    for number, (name, dtype) in enumerate((("npy/i4_fortran.npy", "i4"), ("npy/u2_big.npy", "u2"), ("nifti/i2.nii.gz", "i2"), ("nifti/i2_bgzf.nii.gz", "i2"),
                        ("nifti/f4_v2.nii", "f4"), ("tiff/u2_deflate_tiles.tif", "u2"), ("tiff/u1_lzw.tif", "u1"), ("tiff/f4_predict3.tif", "f4"), ("tiff/stack", "u2"),
                        ("zarr/zarr2/fortran", "u2"), ("zarr/zarr3/gzip", "u2"), ("zarr/ome.zarr", "u2"), ("txrm/u2.txrm", "u2"))):
        converted(check, STORE / name, folder / f"{number}.npy")
        same(check, folder / f"{number}.npy", values(dtype), name)


def into_every_format(check, folder):
    """There and back again; spacing and names of axes where the format has them."""
    for source, dtype in (("tiff/u2_pages.tif", "u2"), ("npy/f4.npy", "f4"), ("nifti/i2.nii", "i2"), ("tiff/u1_lzw.tif", "u1")):
        for number, (end, args) in enumerate(((".npy", ()), (".tif", ()), (".zarr", ()), (".zarr", ("--zarr", 2, "--codec", "gzip:1", "--chunk", "2,16,100")),
                            (".zarr", ("--codec", "raw", "--chunk", "5,10,7")), (".zarr", ("--zarr", 2, "--codec", "zlib")),
                            *(((".h5", ()), (".h5", ("--codec", "raw", "--chunk", "2,16,100")), (".h5", ("--codec", "gzip:9", "--chunk", "5,10,7"))) if have("hdf5") else ()))):
            middle, back = (folder / f"{pathlib.Path(source).name}{number}{kind}" for kind in (end, ".back.npy"))
            converted(check, STORE / source, middle, *args)
            converted(check, middle, back)
            same(check, back, values(dtype), f"{source} by {end} {args}")
    converted(check, STORE / "tiff/u2_pages.tif", folder / "x.nii")  # x first: the reader sees the array turned round
    converted(check, folder / "x.nii", folder / "x.npy")
    same(check, folder / "x.npy", np.ascontiguousarray(values("u2").T), "TIFF by NIfTI")
    lost = [converted(check, STORE / "nifti/i2.nii", folder / f"y.{end}", *level) for end, level in (("nii", ()), ("nii.gz", ()), ("nii.gz", ("--codec", "gzip:9")))]
    plain = (folder / "y.nii").read_bytes()
    check.that(plain == gzip.decompress((folder / "y.nii.gz").read_bytes()), ".nii.gz holds other bytes than .nii")
    check.that(not any("axes" in text or "spacing" in text for text in lost), f"lost: {lost}")
    converted(check, STORE / "nifti/i2.nii", folder / "spacing.zarr")
    told = json.loads(tomoprof("info", "--json", folder / "spacing.zarr").stdout)["arrays"]["data"]
    check.that(told["axes"] == "x, y, z" and json.loads((folder / "spacing.zarr/zarr.json").read_text())["attributes"]["spacing"] == [0.5, 0.5, 2], f"{told}")
    converted(check, STORE / "tiff/u2_pages.tif", folder / "f.npy", "--dtype", "float32")
    same(check, folder / "f.npy", values("f4"), "float32")
    check.that(not list(folder.glob("*.tmp")), f"left over: {list(folder.glob('*.tmp'))}")


def references(check, folder):
    """Of a file beside them: nothing is copied."""
    for name, source in (("npy", STORE / "npy/f4.npy"), ("zarr", STORE / "zarr/zarr2/shuffle"), ("tif", STORE / "tiff/stack"), ("nii", STORE / "nifti/i2.nii")):
        place = folder / name
        place.mkdir()
        copied = place / ("s" if source.is_dir() else source.name)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, copied)
        converted(check, copied, place / "refs.json")
        converted(check, place / "refs.json", place / "back.npy")
        same(check, place / "back.npy", values({"npy": "f4", "nii": "i2"}.get(name, "u2")), f"references to {source}")
    done = tomoprof("convert", STORE / "npy/f4.npy", folder / "elsewhere.json")
    check.that(done.returncode == 2 and "beside or below" in done.stderr, f"{done.stderr}")
    if not have("chunk_codecs", "zstd"):
        return
    done = tomoprof("convert", STORE / "czi/tiles.czi", STORE / "never.json")
    check.that(done.returncode == 1 and "form no grid" in done.stderr and not (STORE / "never.json").exists(), f"{done.stderr}")


def what_is_lost(check, folder):
    check.that("spacing" in converted(check, STORE / "zarr/ome.zarr", folder / "x.npy") and (folder / "x.npy").exists(), "lost: spacing")
    check.that("array 1" in converted(check, STORE / "zarr/ome.zarr", folder / "x.zarr"), "lost: the other array")
    check.that("Not kept" not in converted(check, STORE / "npy/f4.npy", folder / "y.npy"), "lost: nothing")


def replaced(check, folder):
    """A file of that name gives way to the new one, unless it is the input."""
    for source, wanted in (("npy/f4.npy", "f4"), ("tiff/u2_pages.tif", "u2")):
        converted(check, STORE / source, folder / "x.npy")
        same(check, folder / "x.npy", values(wanted), f"{source} into a file that is there")
    done = tomoprof("convert", folder / "x.npy", folder / "x.npy")
    check.that(done.returncode == 2 and "the same file as the input" in done.stderr, f"onto itself: {done}")
    same(check, folder / "x.npy", values("u2"), "after it was refused")


def refused(check, folder):
    (folder / "there.zarr").mkdir()
    cut = folder / "cut.npy"
    cut.write_bytes((STORE / "npy/f4.npy").read_bytes()[:-1])
    claims = folder / "claims.zarr"  # 64 PiB, of which no chunk is there
    claims.mkdir()
    (claims / ".zarray").write_text(json.dumps({"zarr_format": 2, "shape": [1 << 28, 1 << 14, 1 << 14], "chunks": [1 << 10, 1 << 14, 1 << 14], "dtype": "|u1",
                                                "compressor": None, "fill_value": 0, "order": "C", "filters": None}))
    for words, code, args in (("must end in .npy", 2, (STORE / "npy/f4.npy", folder / "x.xyz")), ("exists already", 2, (STORE / "npy/f4.npy", folder / "there.zarr")),
                              ("cut short", 2, (cut, folder / "x.npy")), ("--chunk 1,0: give sizes", 2, (STORE / "npy/f4.npy", folder / "x.zarr", "--chunk", "1,0")),
                              ("x.npy: needs 64.0 PiB, and its disk has", 1, (claims, folder / "x.npy")),
                              ("x.zarr: needs 64.0 PiB, and its disk has", 1, (claims, folder / "x.zarr", "--codec", "raw")),
                              ("--chunk has 2 sizes", 2, (STORE / "npy/f4.npy", folder / "x.zarr", "--chunk", "1,1")),
                              ("must be raw, zstd, gzip or zlib", 2, (STORE / "npy/f4.npy", folder / "x.zarr", "--codec", "lzma")),
                              ("take a name that ends in .nii", 2, (STORE / "npy/f4.npy", folder / "x.nii.gz", "--codec", "raw")),
                              ("programs that know gzip alone", 2, (STORE / "npy/f4.npy", folder / "x.nii.gz", "--codec", "zstd")),
                              ("between 1 and 9", 2, (STORE / "npy/f4.npy", folder / "x.zarr", "--codec", "gzip:77"))):
        done = tomoprof("convert", *args)
        check.that(done.returncode == code and words in done.stderr and done.stderr.count("\n") == 1, f"{args}: {done.returncode} {done.stderr}")
    check.that(sorted(p.name for p in folder.iterdir()) == ["claims.zarr", "cut.npy", "there.zarr"], f"left: {sorted(folder.iterdir())}")


def a_library_that_crashes(check, folder):
    """HDF5 is read in a process apart, whoever owns the file: where libhdf5 crashes (a library in its place does), it costs a sentence."""
    cc = shutil.which("cc")
    if not cc or SANITIZED:
        print("  not tried: needs a compiler and a build without sanitizers")
        return
    if not have("hdf5"):
        return
    own, theirs, chunks = folder / "own.h5", folder / "theirs.h5", folder / "chunks.h5"
    own.write_bytes((DATA / "tooth.h5").read_bytes())
    theirs.write_bytes(own.read_bytes())
    theirs.chmod(0o644)
    chunks.write_bytes((DATA / "store/hdf5/kinds.h5").read_bytes())
    if os.geteuid() == 0:
        os.chown(theirs, 12345, 12345)
    for name in ("own", "theirs"):
        converted(check, folder / f"{name}.h5", folder / f"{name}.npy", "--array", "exchange/data")
    check.that((folder / "own.npy").read_bytes() == (folder / "theirs.npy").read_bytes(), "another user's file has other values")
    shims = {}
    for name in ("H5Fopen", "H5Dget_chunk_info_by_coord"):  # a system call to raise a signal is not allowed there
        source, shims[name] = folder / f"{name}.c", folder / f"{name}.so"
        source.write_text(f"long {name}(void) {{ return *(volatile int *)8; }}\n")
        subprocess.run([cc, "-shared", "-fPIC", "-O0", "-o", shims[name], source], check=True, timeout=300)
    for name, words in (("H5Fopen", ("convert", own, folder / "never.npy")), ("H5Fopen", ("convert", theirs, folder / "never.npy")),
                        ("H5Fopen", ("load", theirs, "--out", folder / "runs")), ("H5Fopen", ("info", own)),
                        ("H5Dget_chunk_info_by_coord", ("convert", chunks, folder / "half.npy", "--array", "gzip")),
                        ("H5Dget_chunk_info_by_coord", ("convert", chunks, folder / "half.zarr", "--array", "gzip"))):
        done = tomoprof(*words, env={"LD_PRELOAD": loadable(shims[name])})
        check.that(done.returncode == 2 and f"{words[1].name}: reading its headers ended with signal 11" in done.stderr, f"{name}: {words}: {done}")
    check.that(not list(folder.glob("never*")) and not list(folder.glob("half*")), "something was left")
    bad = tomoprof("convert", theirs, folder / "never.npy", "--array", "nothing")
    check.that(bad.returncode in (1, 2) and "nothing" in bad.stderr, f"its error: {bad}")


def written_wrong(check, folder):
    """A byte that changes on its way into the file, far from the first and the last chunk: the sentence, and nothing is left."""
    cc = shutil.which("cc")
    if not cc or SANITIZED:
        print("  not tried: needs a compiler and a build without sanitizers")
        return
    x = np.random.default_rng(5).integers(0, 4000, (64, 200, 210)).astype("u2")
    np.save(folder / "x.npy", x)
    source, shim = folder / "wrong.c", folder / "wrong.so"
    source.write_text("""#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int calls;
static char copy[1 << 24];
static const void *byte_changed(const void *p, size_t n)
{
    if (n < 10000 || n > sizeof copy || __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != atoi(getenv("WRONG_CALL"))) return p;
    memcpy(copy, p, n);
    copy[n / 2] ^= 4;
    return copy;
}
ssize_t pwrite(int fd, const void *p, size_t n, off_t at) { return syscall(SYS_pwrite64, fd, byte_changed(p, n), n, at); }
ssize_t pwrite64(int fd, const void *p, size_t n, off_t at) { return syscall(SYS_pwrite64, fd, byte_changed(p, n), n, at); }
size_t fwrite(const void *p, size_t size, size_t n, FILE *f)
{
    size_t (*real)(const void *, size_t, size_t, FILE *) = (size_t (*)(const void *, size_t, size_t, FILE *))dlsym(RTLD_NEXT, "fwrite");
    return real(byte_changed(p, size * n), size, n, f);
}
""")
    subprocess.run([cc, "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True, timeout=300)
    for name, *args in (("y.npy",), ("y.tif",), ("y.nii",), ("y.mrc",), ("y.zarr", "--chunk", "16,64,64"), ("y.zarr", "--codec", "raw", "--chunk", "16,64,64"),
                        ("z.zarr", "--zarr", "2", "--codec", "gzip:1", "--chunk", "16,64,64")):
        done = tomoprof("convert", folder / "x.npy", folder / name, *args, env={"LD_PRELOAD": loadable(shim), "WRONG_CALL": "1" if name == "y.nii" else "3"})
        check.that(done.returncode == 1 and "what was written differs" in done.stderr, f"{name} {args}: {done}")
        check.that(sorted(p.name for p in folder.iterdir()) == ["wrong.c", "wrong.so", "x.npy"], f"left: {sorted(folder.iterdir())}")
        converted(check, folder / "x.npy", folder / name, *args)
        converted(check, folder / name, folder / "back.npy")
        same(check, folder / "back.npy", x, name)
        for made in (folder / name, folder / "back.npy"):
            shutil.rmtree(made) if made.is_dir() else made.unlink()


def image(check, folder):
    """One plane of more than a slab as TIFF, into a file and a pipe."""
    x = np.random.default_rng(6).integers(0, 4000, (3000, 2100)).astype("u2")
    np.save(folder / "x.npy", x)
    converted(check, folder / "x.npy", folder / "x.tif")
    converted(check, folder / "x.tif", folder / "y.npy")
    same(check, folder / "y.npy", x, "a plane")
    os.mkfifo(folder / "pipe.tif")
    with open(folder / "through.tif", "wb") as through, subprocess.Popen(["cat", folder / "pipe.tif"], stdout=through) as reader:
        converted(check, folder / "x.npy", folder / "pipe.tif")
        reader.wait(timeout=300)
    check.that((folder / "through.tif").read_bytes() == (folder / "x.tif").read_bytes(), "a plane through a pipe")


def means(x):
    """Sums and counts of up to 2 x 2 x 2 voxels of the last three dimensions."""
    total, count = x.astype(float), np.ones(x.shape)
    for axis in range(max(0, x.ndim - 3), x.ndim):
        if x.shape[axis] > 1:
            total, count = (np.add.reduceat(a, np.arange(0, x.shape[axis], 2), axis=axis) for a in (total, count))
    mean = total / count
    return mean.astype(x.dtype) if x.dtype.kind == "f" else np.rint(mean).astype(x.dtype)


def pyramids(check, folder):
    """OME-Zarr 0.5: levels, names and places of its voxels; what zarr 3.1.6, ome-zarr 0.18 and ome-zarr-models 1.7 read was the same."""
    random = np.random.default_rng(3)
    for number, (x, args, order, axes) in enumerate((
            (random.integers(-999, 999, (70, 131, 9)).astype("f4"), [], (0, 1, 2), "zyx"),
            (random.integers(0, 4000, (3, 1, 130, 7)).astype("u2"), ["--codec", "gzip"], (0, 1, 2, 3), "czyx"),
            (random.integers(-99, 99, (129, 65)).astype("i2"), ["--codec", "raw"], (0, 1), "yx"),
            (random.integers(-999, 999, (4, 5, 70)).astype("f8"), ["--order", "2,0,1"], (2, 0, 1), "zyx"))):
        out = folder / f"{number}.ome.zarr"
        np.save(folder / "x.npy", x)
        told = converted(check, folder / "x.npy", out, *args)
        group = json.loads((out / "zarr.json").read_text())
        image = group["attributes"]["ome"]["multiscales"][0]
        check.that(group["node_type"] == "group" and group["attributes"]["ome"]["version"] == "0.5", f"{group}")
        check.that("".join(a["name"] for a in image["axes"]) == axes, f"axes {image['axes']}")
        check.that(f"{len(image['datasets'])} levels" in told and len(image["datasets"]) > 1, told)
        wanted = x.transpose(order)
        for k, level in enumerate(image["datasets"]):
            wanted = means(wanted) if k else wanted
            same_values = folder / f"{number}-{k}.npy"
            converted(check, out / level["path"], same_values)
            same(check, same_values, wanted, f"level {k} of {axes}")
            wide = [1 if a == "c" or n == 1 else 2**k for a, n in zip(axes, x.transpose(order).shape)]
            scale, shift = level["coordinateTransformations"]
            check.that(scale["scale"] == wide and shift["translation"] == [(n - 1) / 2 for n in wide], f"level {k}: {scale} {shift}")
            names = json.loads((out / level["path"] / "zarr.json").read_text())["dimension_names"]
            check.that("".join(names) == axes, f"dimension_names {names}")
        check.that(max(wanted.shape[-3:]) <= 64 and not list(folder.glob("*.tmp*")), f"{wanted.shape}, {list(folder.iterdir())}")
    for args, text in ((["--zarr", "2"], "OME-Zarr 0.5 is Zarr 3"), (["--order", "0,1"], "--order has 2 numbers"), (["--order", "0,1,1"], "once"),
                       (["--order", "0;1"], "--order 0;1")):
        bad = tomoprof("convert", folder / "x.npy", folder / "bad.ome.zarr", *args)
        check.that(bad.returncode == 2 and text in bad.stderr and not list(folder.glob("bad*")), f"{args}: {bad}")
    converted(check, folder / "x.npy", folder / "turned.npy", "--order", "2,0,1")
    same(check, folder / "turned.npy", x.transpose(2, 0, 1), "--order 2,0,1")


def interrupted(check, folder):
    """A signal in the middle of a folder that is written: nothing of it is left. The input says that it is zeros, half of what the disk has free."""
    (folder / "in.zarr").mkdir()
    slices = max(1, shutil.disk_usage(folder).free // 2 // (4 * 7000 * 7000))
    out = folder / "out"
    out.mkdir()
    write_json(folder / "in.zarr/.zarray", {"zarr_format": 2, "shape": [slices, 7000, 7000], "chunks": [1, 7000, 7000], "dtype": "<f4", "compressor": None,
                                            "fill_value": 0, "order": "C", "filters": None})
    for name in ("x.zarr", "x.ome.zarr"):
        for number in (signal.SIGINT, signal.SIGTERM):
            p = subprocess.Popen([TOMOPROF, "convert", folder / "in.zarr", out / name, "--chunk", "1,700,700"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            end = time.monotonic() + 300
            while p.poll() is None and time.monotonic() < end and sum(len(files) for _, _, files in os.walk(out)) < 50:
                time.sleep(0.01)
            check.that(p.poll() is None, f"{name}: ended before it could be interrupted: {p.stderr.read() if p.poll() is not None else ''}")
            p.send_signal(number)
            said = p.communicate(timeout=300)[1]
            check.that(p.returncode == -number, f"{name}, signal {number}: exit {p.returncode}, said {said!r}")
            left = os.listdir(out)
            check.that(not left, f"{name}, signal {number}: left {left}")
            for path in left:
                shutil.rmtree(out / path)


if __name__ == "__main__":
    main(from_every_format, into_every_format, references, what_is_lost, replaced, refused, pyramids, a_library_that_crashes, written_wrong, image, interrupted)
