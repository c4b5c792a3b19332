"""Formats and compressions that need a library of their own: DICOM by GDCM, HDF5 of bzip2 and Blosc2, TIFF by libtiff; MRC, NRRD and MetaImage written."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, TOMOPROF, doctor_rows, have, main, tomoprof

STORE = DATA / "store"
I = np.arange(5 * 37 * 41)
VALUES = ((I * I + 3 * I) % 1021).reshape(5, 37, 41)


def sentences(done):
    """How many errors are said; what a target does not hold is said in lines of its own. GDCM's assertions print where sanitizers leave out the jail's filter."""
    return sum(line.startswith("tomoprof: ") and ": Assertion `" not in line for line in done.stderr.splitlines())


def read(check, folder, path, *args):
    done = tomoprof("convert", path, folder / "out.npy", *args)
    return np.load(folder / "out.npy") if check.that(done.returncode == 0, f"{path}: {done.stderr}") else np.empty(0)


def refused(check, folder, path, words, *args):
    done = tomoprof("convert", path, folder / "never.npy", *args)
    check.that(done.returncode in (1, 2) and words in done.stderr and sentences(done) == 1 and not (folder / "never.npy").exists(),
               f"{path}: {words}: {done.returncode} {done.stderr}")


def told(path):
    return json.loads(tomoprof("info", "--json", path).stdout)


def rare(library):
    """Whether this build has a codec of that row."""
    there = library in doctor_rows()["rare_codecs"]["found"].split("missing: ")[0].lower()
    if not there:
        print(f"  skipped: this build has no {library}", flush=True)
    return there


def series(folder, name):
    shutil.copytree(STORE / "dicom/series", folder / name)
    return folder / name


def patched(path, old, new):
    data = path.read_bytes()
    assert len(old) == len(new) and old in data, f"{path}: {old}"
    path.write_bytes(data.replace(old, new))


def dicom_series(check, folder):
    """Slices by their places, not their names; each file's own slope; several series; a file among them that is none."""
    if not have("dicom"):
        return
    said = told(STORE / "dicom/series")["arrays"]["data"]
    check.that(said["shape"] == [5, 37, 41] and said["axes"] == "z, y, x" and [said[f"spacing_{a}"] for a in "zyx"] == [2, 0.5, 0.25], f"{said}")
    check.that(said["slope"] == 1 and said["intercept"] == -1024, f"{said}")
    check.that(np.array_equal(read(check, folder, STORE / "dicom/series"), VALUES), "a series")
    check.that(np.array_equal(read(check, folder, f"{STORE / 'dicom/series'}/"), VALUES), "a slash at its end")
    for name in ("series", "./series", "series/", "../dicom/series"):  # as a user names it
        here = tomoprof("info", name, cwd=STORE / "dicom")
        check.that(here.returncode == 0 and "transfer syntax" in here.stdout, f"{name}: {here}")
    scaled = read(check, folder, STORE / "dicom/series", "--apply-scale")
    check.that(scaled.dtype == "f4" and np.array_equal(scaled, VALUES - 1024), "scaled")
    slopes = read(check, folder, STORE / "dicom/slopes")
    check.that(slopes.dtype == "f4" and np.array_equal(slopes, VALUES * np.arange(1, 6)[:, None, None]), "each slice has its slope")
    two = series(folder, "two")
    for path in sorted(two.iterdir())[:2]:
        patched(path, b"1.2.3\0", b"1.2.9\0")
    (two / "notes.txt").write_text("a text")
    (two / "DICOMDIR").write_bytes(bytes(128) + b"DICM")
    said = told(two)["arrays"]
    check.that([a["shape"] for a in said.values()] == [[3, 37, 41], [2, 37, 41]], f"{said}")
    uneven = series(folder, "uneven")
    patched(uneven / "image4.dcm", b"2.0\\11.0", b"2.0\\15.0")
    check.that("not evenly spaced" in tomoprof("info", uneven).stdout and "spacing_z" not in told(uneven)["arrays"]["data"], f"{told(uneven)}")
    check.that(np.array_equal(read(check, folder, uneven), VALUES), "uneven")
    lost = series(folder, "lost")  # one that is damaged may be a slice: the others are not taken for all
    whole = (lost / "image2.dcm").read_bytes()
    for damaged in (whole[:200], whole[:132] + b"\xff" * 300 + whole[432:]):
        (lost / "image2.dcm").write_bytes(damaged)
        refused(check, folder, lost, "lost: ")
    (lost / "image2.dcm").unlink()
    (lost / "image2.dcm").symlink_to("nowhere")
    refused(check, folder, lost, "image2.dcm: cannot read")
    again = series(folder, "again")  # two slices of one place: in the order of their numbers
    patched(again / "image0.dcm", b"2.0\\5.0", b"2.0\\3.0")
    check.that(np.array_equal(read(check, folder, again), VALUES), "two of one place")


def dicom_files(check, folder):
    if not have("dicom"):
        return
    for name in ("frames", "implicit", "rle", "jpeg2000", "jpeg_ls", "jpeg_lossless"):
        check.that(np.array_equal(read(check, folder, STORE / f"dicom/{name}.dcm"), VALUES), name)
    one = read(check, folder, STORE / "dicom/series/image2.dcm")
    check.that(one.shape == (37, 41) and np.array_equal(one, VALUES[0]), "a slice alone")
    whole = (STORE / "dicom/frames.dcm").read_bytes()
    for name, data in (("cut", whole[:5000]), ("no pixels", whole[:whole.index(b"\xe0\x7f\x10\0")]), ("a mark alone", bytes(128) + b"DICM"),
                       ("rows", whole.replace(b"\x28\0\x10\0US\2\0\x25\0", b"\x28\0\x10\0US\2\0\xff\xff")),
                       ("bits", whole.replace(b"\x28\0\0\1US\2\0\x10\0", b"\x28\0\0\1US\2\0\x0c\0")),
                       ("colours", whole.replace(b"MONOCHROME2 ", b"YBR_FULL    "))):
        check.that(data != whole, name)
        (folder / "d.dcm").write_bytes(data)
        refused(check, folder, folder / "d.dcm", "d.dcm: ")
    for name in ("frames", "implicit", "rle", "jpeg2000", "jpeg_ls", "jpeg_lossless"):
        whole = (STORE / f"dicom/{name}.dcm").read_bytes()
        for cut in (20, 60, 700):  # GDCM decodes what is left of the last frame
            (folder / "d.dcm").write_bytes(whole[:-cut])
            refused(check, folder, folder / "d.dcm", "d.dcm: ")
        for rows in (b"\x24\0", b"\x26\0"):
            other = whole.replace(b"\x28\0\x10\0US\2\0\x25\0", b"\x28\0\x10\0US\2\0" + rows).replace(b"\x28\0\x10\0\2\0\0\0\x25\0", b"\x28\0\x10\0\2\0\0\0" + rows)
            (folder / "d.dcm").write_bytes(other)
            refused(check, folder, folder / "d.dcm", "its DICOM data are damaged")
    load = tomoprof("load", STORE / "dicom/series", "--json", "--out", folder / "runs")
    check.that(load.returncode == 0 and json.loads(load.stdout)["file"]["chunks"] == 5, load.stderr)


def without_gdcm(check, folder):
    """A program whose module is missing tells what to install."""
    program = folder / "tomoprof"
    shutil.copy(TOMOPROF, program)
    for path in (STORE / "dicom/series", STORE / "dicom/frames.dcm"):
        done = subprocess.run([program, "info", path], capture_output=True, text=True, timeout=300)
        check.that(done.returncode == 1 and "install libgdcm-dev" in done.stderr and done.stderr.count("\n") == 1, f"{done}")


def tiff(check, folder):
    """Of the pages that libtiff decodes, bits and colours; unit/test_store has the others."""
    if not rare("libtiff"):
        return
    for name in ("g3", "g3_2d", "g4", "g4_reversed", "jbig"):
        check.that(np.array_equal(read(check, folder, STORE / f"tiff_rare/{name}.tif"), VALUES[0] > 500), name)
    check.that(np.array_equal(read(check, folder, STORE / "tiff_rare/webp.tif"), np.stack([VALUES[0] % 251] * 3, -1)), "WebP")
    random = np.random.default_rng(3)
    for name in ("g4", "jbig", "webp", "u2_lzma", "f4_lerc", "u1_lzw_old"):
        whole = bytearray((STORE / f"tiff_rare/{name}.tif").read_bytes())
        for i in range(4):
            damaged = bytearray(whole)
            for at in random.integers(8, len(whole), 1 + 3 * i):
                damaged[at] ^= int(random.integers(1, 256))
            (folder / "d.tif").write_bytes(damaged)
            done = tomoprof("convert", folder / "d.tif", folder / "d.npy")
            check.that(done.returncode in (0, 1, 2) and (done.returncode == 0 or sentences(done) == 1), f"{name} {i}: {done.returncode} {done.stderr}")


def filters(check, folder):
    if not have("hdf5"):
        return
    for library, arrays in (("bzip2", ("bzip2", "bzip2_shuffle")), ("blosc2", ("blosc2", "blosc2_f8"))):
        for array in arrays:
            if library in doctor_rows()["rare_codecs"]["found"].split("missing: ")[0].lower():
                check.that(np.array_equal(read(check, folder, STORE / "hdf5/rare.h5", "--array", array), VALUES), array)
            else:
                refused(check, folder, STORE / "hdf5/rare.h5", "this build has no lib", "--array", array)
    if not rare("bzip2"):
        return
    whole = (STORE / "hdf5/rare.h5").read_bytes()
    at = whole.index(b"BZh9")
    for name, damaged in (("a magic", whole[:at] + b"BZh0" + whole[at + 4:]), ("a byte", whole[:at + 40] + bytes([whole[at + 40] ^ 255]) + whole[at + 41:])):
        (folder / "d.h5").write_bytes(damaged)
        refused(check, folder, folder / "d.h5", "its bzip2 data are damaged", "--array", "bzip2" if whole.index(b"BZh9") == at else "bzip2_shuffle")


def written(check, folder):
    """MRC, NRRD and MetaImage as their own readers here see them; peers/matrix.py asks the owners' libraries."""
    ome = STORE / "zarr/ome.zarr"
    for end, types in (("mrc", ("i1", "i2", "u2", "f4", "f2")), ("nrrd", ("u1", "i2", "u4", "i8", "f4", "f8")), ("mha", ("u1", "i1", "u2", "i4", "u8", "f4", "f8"))):
        for dtype in types:
            np.save(folder / "in.npy", (VALUES % 127).astype(dtype))
            done = tomoprof("convert", folder / "in.npy", folder / f"x.{end}")
            back = read(check, folder, folder / f"x.{end}")
            check.that(done.returncode == 0 and back.dtype == dtype and np.array_equal(back, VALUES % 127), f"{end} {dtype}: {done.stderr} {back.dtype} {back.shape}")
        done = tomoprof("convert", ome, folder / f"o.{end}", "--array", "0")
        source, said = told(ome)["arrays"]["0"], told(folder / f"o.{end}")["arrays"]["data"]
        factor = 1e4 if end == "mrc" else 1e-3  # micrometres in angstrom, and in mm
        order = said["shape"] if end != "nrrd" else said["shape"][::-1]
        steps = [said[f"spacing_{a}"] for a in "zyx"] if end != "nrrd" else list(map(float, re.search(rb"spacings: (.*)\n", (folder / "o.nrrd").read_bytes())[1].split()))[::-1]
        check.that(done.returncode == 0 and "spacing" not in done.stderr and order == source["shape"], f"{end}: {done.stderr} {said} {source}")
        check.that(np.allclose(steps, [factor * source[f"spacing_{a}"] for a in "zyx"]), f"{end}: {steps} {source}")
    np.save(folder / "flat.npy", VALUES[0].astype("f4"))
    np.save(folder / "complex.npy", VALUES.astype("c16"))
    np.save(folder / "deep.npy", VALUES.astype("i8"))
    for source, target, code, words in (("flat", "n.mrc", 1, "MRC has 3"), ("deep", "n.mrc", 1, "add --dtype float32"), ("complex", "n.nrrd", 1, "no type for it"),
                                        ("complex", "n.mha", 1, "no type for it")):
        done = tomoprof("convert", folder / f"{source}.npy", folder / target)
        check.that(done.returncode == code and words in done.stderr and not (folder / target).exists(), f"{source} {target}: {done.returncode} {done.stderr}")
    done = tomoprof("convert", folder / "flat.npy", folder / "n.nrrd", "--codec", "gzip:3")
    check.that(done.returncode == 2 and "uncompressed" in done.stderr, done.stderr)


if __name__ == "__main__":
    main(dicom_series, dicom_files, without_gdcm, tiff, filters, written)
