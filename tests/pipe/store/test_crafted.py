"""Files that were made to do harm, by this script, and what each command says of them; -v prints the table. No command ends by a signal, takes more than it
may, or shows what a file would have the terminal do."""

import ctypes
import ctypes.util
import gzip
import json
import pathlib
import re
import resource
import shutil
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, SANITIZED, have, main, tomoprof

TABLE = "-v" in sys.argv
MIB = 1 << 20


def says(check, what, words, code, *wanted, never=(), **options):
    """The command ends with that code (or one of several), and one sentence where it fails."""
    done = tomoprof(*words, **options)
    codes = code if isinstance(code, tuple) else (code,)
    said = [line for line in done.stderr.splitlines() if line.startswith("tomoprof: ")]
    check.that(done.returncode in codes and (not done.returncode or len(said) == 1), f"{what}, {words[0]}: {done.returncode} {done.stderr}")
    for text in wanted:
        check.that(text in done.stdout + done.stderr, f"{what}, {words[0]}: no {text!r} in {done.stdout[-300:]} {done.stderr}")
    for text in never:
        check.that(text not in done.stdout + done.stderr, f"{what}, {words[0]}: {text!r} in {done.stdout[-300:]} {done.stderr}")
    if TABLE:
        line = (said or done.stdout.splitlines() or [""])[0].replace("\n", " ")
        print(f"  {what} | {words[0]} | {done.returncode} | {line[:160]}")
    return done


class Hdf5:
    """Makes files by libhdf5, without h5py."""

    def __init__(self):
        name = ctypes.util.find_library("hdf5_serial") or ctypes.util.find_library("hdf5")
        self.lib = ctypes.CDLL(name) if name else None
        if self.lib:
            for f in ("H5Fcreate", "H5Gcreate2", "H5Screate_simple", "H5Dcreate2"):
                getattr(self.lib, f).restype = ctypes.c_int64
            self.lib.H5open()
            self.u1 = ctypes.c_int64.in_dll(self.lib, "H5T_STD_U8LE_g")

    def file(self, path):
        return ctypes.c_int64(self.lib.H5Fcreate(str(path).encode(), 2, ctypes.c_int64(0), ctypes.c_int64(0)))

    def group(self, place, name):
        zero = ctypes.c_int64(0)
        return ctypes.c_int64(self.lib.H5Gcreate2(place, name.encode(), zero, zero, zero))

    def array(self, place, name, n=64):
        zero, size = ctypes.c_int64(0), (ctypes.c_uint64 * 2)(n, n)
        space = ctypes.c_int64(self.lib.H5Screate_simple(2, size, None))
        self.lib.H5Dclose(ctypes.c_int64(self.lib.H5Dcreate2(place, name.encode(), self.u1, space, zero, zero, zero)))


def heap_of_texts(check, folder):
    """A changed byte in the heap of texts of variable length ended `info`, `load`, `convert` and `recon` with SIGSEGV."""
    if not have("hdf5"):
        return
    whole = bytearray((DATA / "scan/exchange.h5").read_bytes())
    heap, path = whole.index(b"GCOL"), folder / "heap.h5"
    for at in range(heap + 4, heap + 64, 1 if TABLE else 3):
        for value in (0x40, 0xff):
            damaged = bytearray(whole)
            damaged[at] = value
            path.write_bytes(damaged)
            says(check, f"byte {at - heap} of the heap is {value:#x}", ["info", path], (0, 2))
    damaged = bytearray(whole)
    damaged[heap + 24:heap + 32] = (0x400000000000000a).to_bytes(8, "little")
    path.write_bytes(damaged)
    for words in (["info", path], ["convert", path, folder / "v.npy"], ["load", path, "--out", folder / "runs"], ["recon", "--in", path, "--out", folder / "r.npy", "--rows", "0:1"]):
        says(check, "a text of 4 EiB", words, (0, 2))


def nested_groups(check, folder):
    """1,600 groups took 60 s, 5,000 took 1,701 s."""
    h5 = Hdf5()
    if not have("hdf5") or not h5.lib:
        return
    place = f = h5.file(folder / "deep.h5")
    groups = []
    for _ in range(500 if SANITIZED else 5000):
        groups.append(place := h5.group(place, "g"))
    h5.array(place, "data")
    for group in groups:
        h5.lib.H5Gclose(group)
    h5.lib.H5Fclose(f)
    says(check, "nested groups", ["info", folder / "deep.h5"], (0, 2))
    says(check, "nested groups", ["convert", folder / "deep.h5", folder / "v.npy"], (0, 2))


def names_that_act(check, folder):
    """Fences, markup and formulas in the names of data sets; colours on a terminal: pipe/test_files."""
    h5 = Hdf5()
    if not have("hdf5") or not h5.lib:
        return
    for i, name in enumerate(("a```\n# Heading\n<script>alert(1)", "=cmd|'calc'!A0")):
        f, path, runs = h5.file(folder / f"name{i}.h5"), folder / f"name{i}.h5", folder / f"runs{i}"
        h5.array(f, name)
        h5.lib.H5Fclose(f)
        says(check, repr(name), ["info", path], 0)
        says(check, repr(name), ["load", path, "--out", runs], 0)
        texts = {p.name: p.read_text() for p in runs.glob("*/*") if p.suffix in (".md", ".html")}
        check.that(len(texts) >= 2, f"{list(texts)}")
        for file, text in texts.items():
            text = re.sub(r"^(`{3,})\n.*?^\1\n", "", text, flags=re.S | re.M)  # what is fenced is text
            check.that("<script>alert(1)" not in text and "\n# Heading" not in text, f"{file} of {name!r}: {text[:2000]}")


def zarr(path, shape, chunks):
    """An array of bytes without a chunk."""
    path.mkdir()
    (path / ".zarray").write_text(json.dumps({"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "|u1", "compressor": None, "filters": None, "fill_value": 0, "order": "C"}))
    return path


FORGED = "a\nforged: all is well\x1b[2J\u202e"


def forged_lines(check, folder):
    """A line end in a name of a file, an array, an axis or a value begins no line of what a command prints."""
    files, h5 = [folder / f"{FORGED}.npy"], Hdf5()
    np.save(files[0], np.ones((4, 5, 6), np.float32))
    group = folder / "group.zarr"
    group.mkdir()
    (group / ".zgroup").write_text('{"zarr_format": 2}')
    zarr(group / FORGED, [8, 8], [8, 8])
    zarr(group / (FORGED + "2"), [4, 4], [4, 4])
    axes = [{"name": FORGED, "type": "channel"}, {"name": "y", "type": "space", "unit": FORGED}]
    (group / ".zattrs").write_text(json.dumps({"multiscales": [{"axes": axes, "datasets": [{"path": FORGED, "coordinateTransformations": [{"type": "scale", "scale": [1, 2]}]}]}],
                                               "omero": {"channels": [{"label": FORGED}] * 8}}))
    files.append(group)
    if have("hdf5") and h5.lib:
        f = h5.file(folder / "name.h5")
        h5.array(f, FORGED)
        h5.array(f, FORGED + "2", 8)
        h5.lib.H5Fclose(f)
        files.append(folder / "name.h5")
    nrrd = folder / "labels.nrrd"
    nrrd.write_bytes(b'NRRD0004\ntype: uint8\ndimension: 2\nsizes: 2 2\nencoding: raw\nlabels: "a\x1b[2J" "\xe2\x80\xae"\n\n1234')
    files.append(nrrd)
    array = ["--array", FORGED]
    for i, path in enumerate(files):
        more = array if path.suffix in (".h5", ".zarr") else []
        for words in (["info", path], ["info", "--histogram", path], ["load", path, *more, "--sweep", "quick", "--out", folder / f"runs{i}"],
                      ["load", path, path, "--out", folder / f"runs{i}"], ["convert", path, folder / f"{i}{FORGED}.npy", *more],
                      ["convert", path, folder / f"{i}{FORGED}.nii", *more], ["recon", "--in", path, "--out", folder / "v.npy"]):
            done = says(check, f"a line end in {'a name' if more else 'its name'}", words, (0, 1, 2), never=("\x1b[2J", "\u202e"))
            check.that(not re.search("^forged", done.stdout + done.stderr, re.M), f"{words[0]} {path.name!r}: {(done.stdout + done.stderr)[-600:]!r}")
        for page in (folder / f"runs{i}").rglob("*.md"):
            check.that(not re.search("^forged", page.read_text(), re.M), f"{page.name} of {path.name!r}")


def claims(check, folder):
    """Little files that claim much: free space and memory are compared before anything is written."""
    huge = zarr(folder / "huge.zarr", [10**6, 10**5, 100], [100, 100, 100])
    for name in ("v.npy", "v.nii"):
        says(check, "an empty Zarr of 9 TiB", ["convert", huge, folder / name], 1, "free space")
    sparse = zarr(folder / "sparse.zarr", [10**6, 10**5, 100], [1000, 1000, 100])
    for name in ("v.zarr", "v.h5", "v.nii.gz", "v.ome.zarr"):  # which might be small: its values are compressed
        if name != "v.h5" or have("hdf5"):
            says(check, "an empty Zarr of 9 TiB", ["convert", sparse, folder / name], 1, "stores 0 B of what it claims", "free space")
    over = zarr(folder / "over.zarr", [2**40, 2**20], [2**23, 2**23])  # 2^63 bytes as float64
    says(check, "an empty Zarr of 1 EiB", ["convert", over, folder / "v.npy", "--dtype", "float64"], 1, "free space")
    check.that(not list(folder.glob("v.*")), f"{list(folder.glob('v.*'))}")
    with gzip.open(folder / "spaces.json.gz", "wb") as f:
        f.write(b'{"traceEvents": [')
        for _ in range(256):  # in pieces: the memory of this process counts for those that it starts
            f.write(b" " * MIB)
        f.write(b"]}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    says(check, "256 MiB of blanks in 0.3 MiB", ["import", folder / "spaces.json.gz", "--out", folder / "runs"], 1, "limited by TOMOPROF_MEMORY", env={"TOMOPROF_MEMORY": "64MiB"})
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check.that(SANITIZED or most == before or most < 192 * 1024, f"{most} KiB of memory")


def links_out(check, folder):
    """A chunk that is a link out of its store."""
    store, secret = zarr(folder / "linked.zarr", [100, 100], [100, 100]), folder / "secret"
    secret.write_bytes(bytes(range(100)) * 100)
    (store / "0.0").symlink_to(secret)
    says(check, "a chunk that is a link", ["convert", store, folder / "v.npy"], 2, "leads out")
    check.that(not (folder / "v.npy").exists(), "it was read all the same")
    says(check, "a chunk that is a link", ["convert", store, folder / "v.npy", "--follow-links"], 0)
    check.that(np.load(folder / "v.npy")[0, 5] == 5, "other values")
    (folder / "pair").mkdir()
    shutil.copy(DATA / "store/nifti/analyze.hdr", folder / "pair/x.hdr")
    shutil.copy(DATA / "store/nifti/analyze.img", folder / "secret.img")
    (folder / "pair/x.img").symlink_to(folder / "secret.img")
    for words in (["convert", folder / "pair/x.hdr", folder / "w.npy"], ["load", folder / "pair/x.hdr", "--out", folder / "runs"]):
        says(check, "an .img that is a link", words, 2, "leads out")
        says(check, "an .img that is a link", [*words, "--follow-links"], 0)
        (folder / "w.npy").unlink(missing_ok=True)


main(heap_of_texts, nested_groups, names_that_act, forged_lines, claims, links_out)
