"""tomoprof recon: a real scan, own arrays, every output format, wrong calls, interruption."""

import gzip
import numpy as np
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, TOMOPROF, have, main, relative, tomoprof, write_json

TOOTH = DATA / "tooth.h5"


def recon(check, *args):
    r = tomoprof("recon", *args)
    check.that(r.returncode == 0, f"recon {args}: exit {r.returncode}: {r.stderr}")
    check.that(r.stdout == "", f"recon {args}: wrote on stdout: {r.stdout!r}")
    return r.stderr


def read_png(path):
    """Grey values, checksums verified."""
    data, at, lines, size = path.read_bytes(), 8, b"", None
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + n]
        assert struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0] == zlib.crc32(kind + body), kind
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        elif kind == b"IDAT":
            lines += body
        at += 12 + n
    grey = np.frombuffer(zlib.decompress(lines), np.uint8).reshape(size[1], size[0] + 1)
    return grey[:, 1:]


def read_nifti(path):
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    shape = struct.unpack("<8h", data[40:56])
    assert struct.unpack("<i", data[:4])[0] == 348 and data[344:348] == b"n+1\0" and shape[0] == 3
    voxels = np.frombuffer(data[352:], "<f4").reshape(shape[3], shape[2], shape[1])  # x fastest
    return voxels.transpose(1, 2, 0)


def tooth_equals_mbirjax(check, folder):
    text = recon(check, "--in", TOOTH, "--out", folder / "v.npy", "--center", "295.5")
    volume = np.load(folder / "v.npy")
    golden = np.load(DATA / "tooth" / "fbp_every_4th.npy")
    check.that(volume.shape == (640, 640, 2), f"{volume.shape}")
    difference = relative(volume[::4, ::4], golden)
    check.that(difference <= 1e-4, f"differs from MBIRJAX by {difference}")
    check.that("channel 295.50 (given)" in text, text)
    grey = read_png(folder / "v.png").astype(float)
    check.that(grey.shape == (640, 640) and "v.png" in text, text)
    # enamel around dentine: the tooth fills the middle, air surrounds it
    check.that(grey[240:300, 270:400].mean() > 2 * grey[40:120, 270:400].mean(), "no tooth in the picture")


def tooth_center(check, folder):
    text = recon(check, "--in", TOOTH, "--out", folder / "v.nii.gz", "--png", folder / "other.png")
    found = re.search(r"rotation centre: channel ([0-9.]+) \(found\)", text)
    check.that(found and abs(float(found.group(1)) - 295.5) <= 0.5, text)
    check.that((folder / "other.png").exists() and not (folder / "v.png").exists(), "--png was not heeded")


def outputs_agree(check, folder):
    for name in ("v.npy", "v.nii", "v.nii.gz"):
        recon(check, "--in", TOOTH, "--out", folder / name, "--center", "295.5")
    volume = np.load(folder / "v.npy")
    for name in ("v.nii", "v.nii.gz"):
        check.that(np.array_equal(read_nifti(folder / name), volume), f"{name} differs from v.npy")
    recon(check, "--in", TOOTH, "--out", folder / "r.npy", "--center", "295.5", "--rows", "1:2")
    part = np.load(folder / "r.npy")
    check.that(part.shape == (640, 640, 1) and relative(part[..., 0], volume[..., 1]) < 1e-5, "--rows 1:2 is not slice 1")


def own_arrays(check, folder):
    for case, array in (("cone_plain_odd", "cone_fdk_recon"), ("cone_offsets", "cone_fdk_recon"),
                        ("par_offset_pitch", "parallel_fbp_recon")):
        g = DATA / "goldens" / case
        recon(check, "--in", g / "sinogram.npy", "--geometry", g / "geometry.json", "--out", folder / "v.npy")
        difference = relative(np.load(folder / "v.npy"), np.load(g / (array + ".out.npy")))
        check.that(difference <= 1e-5, f"{case}: differs from MBIRJAX by {difference}")


def voxel_driven(check, folder):
    """Another operator than the matched one, and close to it."""
    g = DATA / "goldens" / "cone_offsets"
    scan = ["--in", g / "sinogram.npy", "--geometry", g / "geometry.json", "--backend", "cpu", "--out", folder / "v.npy"]
    golden = np.load(g / "cone_fdk_recon.out.npy")
    recon(check, *scan, "--backproject", "matched")
    check.that(relative(np.load(folder / "v.npy"), golden) <= 1e-5, "--backproject matched is not the default")
    recon(check, *scan, "--backproject", "voxel")
    difference = relative(np.load(folder / "v.npy"), golden)
    check.that(1e-3 < difference < 0.3, f"voxel-driven FDK differs by {difference}")  # noise: 0.14


def synthetic(check, folder):
    """The scan that gen writes, as counts and as a sinogram, gives the same volume; mbir is that of op."""
    scan = folder / "scan"
    r = tomoprof("simulate", "--size", "32", "--views", "48", "--exact", "--out", scan)
    check.that(r.returncode == 0, r.stderr)
    text = recon(check, "--in", f"{scan}.h5", "--out", folder / "h5.npy")
    found = float(re.search(r"channel ([0-9.]+) \(found", text).group(1))
    check.that(abs(found - 15.5) < 0.2, f"centre {found}, it is 15.5")
    recon(check, "--in", f"{scan}.h5", "--out", folder / "h5.npy", "--center", "15.5")
    arrays = ["--in", f"{scan}_sinogram.npy", "--geometry", f"{scan}.json"]
    recon(check, *arrays, "--out", folder / "npy.npy")
    check.that(relative(np.load(folder / "h5.npy"), np.load(folder / "npy.npy")) < 1e-4, "counts and sinogram differ")

    sinogram = np.load(f"{scan}_sinogram.npy")
    np.save(folder / "w.npy", np.exp(-sinogram))
    mbir = ["--iterations", "2", "--stop-threshold", "0", "--seed", "3"]
    for weights, same in (([], []), (["--schedule", "fast"], ["--schedule", "fast"]), (["--weights", "transmission"], ["--weights", folder / "w.npy"])):
        recon(check, *arrays, "--method", "mbir", *mbir, *weights, "--out", folder / "a.npy")
        r = tomoprof("apply", "mbir_recon", *arrays, *mbir, *same, "--out", folder / "b.npy")
        check.that(r.returncode == 0, r.stderr)
        difference = relative(np.load(folder / "a.npy"), np.load(folder / "b.npy"))
        check.that(difference < 1e-5, f"mbir {weights} differs from op by {difference}")
    volume = np.load(f"{scan}_volume.npy")
    check.that(relative(np.load(folder / "a.npy"), volume) < 0.5, "mbir does not show the phantom")


FEW = ("--threads", 2)  # each thread has tiles of its own: many of them do not fit into so little


def slabs(check, folder):
    """FBP that does not fit into memory at once: the same bits, files and picture."""
    rng = np.random.default_rng(5)
    views, rows, channels = 40, 150, 90
    np.save(folder / "y.npy", rng.random((views, rows, channels), dtype=np.float32))
    g = write_json(folder / "g.json", {"geometry": "parallel", "sinogram_shape": [views, rows, channels],
                                       "angles": list(np.linspace(0, np.pi, views, endpoint=False))})
    scan = folder / "scan"
    r = tomoprof("simulate", "--size", "64", "--views", "48", "--exact", "--out", scan)
    check.that(r.returncode == 0, r.stderr)
    for call, limit, count in ((["--in", folder / "y.npy", "--geometry", g], "8MiB", "3 slabs of 64 slices"),
                               (["--in", folder / "y.npy", "--geometry", g], "5.5MiB", "slabs of"),
                               (["--in", f"{scan}.h5", "--center", "31.5"], "5.5MiB", "slabs of")):
        for suffix in ("npy", "nii"):
            whole, part = folder / f"whole.{suffix}", folder / f"part.{suffix}"
            text = recon(check, *call, "--out", whole)
            check.that("slabs" not in text, text)
            text = recon(check, *call, "--out", part, "--memory", limit, *FEW)
            check.that(count in text, f"{limit}: {text}")
            check.that(whole.read_bytes() == part.read_bytes(), f"{call}: {part} differs from {whole}")
            check.that((folder / "whole.png").read_bytes() == (folder / "part.png").read_bytes(), "the pictures differ")
    text = recon(check, "--in", f"{scan}.h5", "--out", folder / "v.npy", "--memory", "5.5MiB", *FEW)
    found = float(re.search(r"channel ([0-9.]+) \(found", text).group(1))
    check.that(abs(found - 31.5) < 0.2, f"centre {found}, it is 31.5")
    r = tomoprof("recon", "--in", folder / "y.npy", "--geometry", g, "--out", folder / "none.npy", "--memory", "1MiB")
    check.that(r.returncode == 1 and "for its thinnest slab, 1.0 MiB available" in r.stderr, r.stderr)
    check.that(not (folder / "none.npy").exists(), "left a file")


def read_slice(path):
    """float32 of a classic little-endian TIFF of one strip."""
    data = path.read_bytes()
    magic, at = struct.unpack("<2xHI", data[:8])
    count = struct.unpack("<H", data[at:at + 2])[0]
    tags = {}
    for i in range(count):
        tag, kind, n, value = struct.unpack("<HHII", data[at + 2 + 12 * i:at + 14 + 12 * i])
        tags[tag] = value if kind == 4 else value & 0xffff
    assert magic == 42 and tags[258] == 32 and tags[339] == 3 and tags[259] == 1 and tags[279] == 4 * tags[256] * tags[257], tags
    return np.frombuffer(data[tags[273]:tags[273] + tags[279]], "<f4").reshape(tags[257], tags[256])


def more_outputs(check, folder):
    """TIFF, pictures and OME-Zarr beside the volume: the same values in each, whatever the volume's own format."""
    call = ["--in", TOOTH, "--center", "295.5", "--bin", "2"]
    for name in ("v.npy", "v.nii.gz"):
        kept = folder / name[2:]
        kept.mkdir()
        text = recon(check, *call, "--out", kept / name, "--tiff", kept / "slices", "--pngs", kept / "pictures", "--ome-zarr", kept / "v.ome.zarr", "--scale-bar")
        volume = np.load(folder / "npy" / "v.npy")
        for k in range(volume.shape[2]):
            there = read_slice(kept / "slices" / f"slice_{k:05}.tif")
            check.that(np.array_equal(there, volume[..., k]), f"{name}: slice {k} of the TIFF files differs")
        check.that(len(list((kept / "slices").iterdir())) == volume.shape[2] == len(list((kept / "pictures").iterdir())), f"{name}: number of slices")
        shown = read_png(kept / "pictures" / "slice_00000.png").astype(float)
        low, high = map(float, re.search(r"black is (\S+), white (\S+) in each", text).groups())
        wanted = np.clip((volume[..., 0] - low) / (high - low) * 255, 0, 255)
        check.that(np.abs(shown - wanted)[:-40].max() <= 0.51 and (shown[-40:] == 255).sum() > 100, f"{name}: grey values, or no bar")
        tomoprof("convert", kept / "v.ome.zarr" / "0", kept / "level.npy")
        check.that(np.array_equal(np.load(kept / "level.npy"), volume.transpose(2, 0, 1)), f"{name}: OME-Zarr differs")
    recon(check, *call, "--out", folder / "w.npy", "--tiff", folder / "w.tif")
    tomoprof("convert", folder / "w.tif", folder / "pages.npy")
    pages = np.load(folder / "pages.npy").reshape(volume.shape[2], *volume.shape[:2])
    check.that(np.array_equal(pages, volume.transpose(2, 0, 1)), "pages of the TIFF differ")
    for args, text in ((["--tiff", folder / "w.tif"], "exists already"), (["--pngs", folder / "npy"], "exists already"), (["--ome-zarr", folder / "z"], "must end in"),
                       (["--pngs", folder / "none" / "p"], "cannot be written"), (["--tiff", f"{folder}/t/"], "does not end in /")):
        r = tomoprof("recon", *call, "--out", folder / "x.npy", *args)
        check.that(r.returncode == 2 and text in r.stderr and not (folder / "x.npy").exists(), f"{args}: {r}")


def wrong_calls(check, folder):
    cone, out = DATA / "goldens" / "cone_plain_odd", folder / "v.npy"
    g = write_json(folder / "g.json", {"geometry": "parallel", "sinogram_shape": [3, 2, 640], "angles": [0, 1, 2]})
    sinogram = ["--in", cone / "sinogram.npy"]
    table = [
        (["--in", TOOTH, "--method", "fdk"], "--method fdk is for cone beams"),
        ([*sinogram, "--geometry", cone / "geometry.json", "--method", "fbp"], "--method fbp is for parallel beams"),
        (sinogram, "needs --geometry FILE"),
        ([*sinogram, "--geometry", g], "has 22 views"),
        (["--in", TOOTH, "--geometry", g], "holds 181 views"),
        (["--in", TOOTH, "--geometry", g, "--center", "3"], "--center is for scans"),
        (["--in", TOOTH, "--geometry", g, "--rows", "0:1"], "--rows is for scans"),
        (["--in", TOOTH, "--rows", "1"], "--rows 1: must be A:B"),
        (["--in", TOOTH, "--rows", "2:3"], "--rows 2:3: must be A:B"),
        (["--in", TOOTH, "--rows", "1:1"], "--rows 1:1: must be A:B"),
        (["--in", TOOTH, "--rows=-1:1"], "--rows -1:1: must be A:B"),
        (["--in", TOOTH, "--rows", "0:99999999999999999999"], "must be A:B"),
        (["--in", TOOTH, "--center=-0.5"], "--center -0.5: the detector has channels 0 to 639"),
        (["--in", TOOTH, "--iterations", "3"], "--iterations is for --method mbir"),
        (["--in", TOOTH, "--weights", "transmission"], "--weights is for --method mbir"),
        (["--in", TOOTH, "--schedule", "fast"], "--schedule is for --method mbir"),
        (["--in", TOOTH, "--method", "mbir", "--schedule", "quick"], "--schedule quick"),
        (["--in", TOOTH, "--method", "mbir", "--weights", "none", "--seed", "x"], "--seed x"),
        (["--in", TOOTH, "--backproject", "voxel"], "--backproject is for --method fdk"),
        (["--in", TOOTH, "--memory", "much"], "--memory: \"much\" is not an amount of memory"),
        (["--in", TOOTH, "--backend", "abacus"], "abacus"),
    ]
    for call, phrase in table:
        r = tomoprof("recon", *call, "--out", out)
        check.that(r.returncode == 2 and phrase in r.stderr and r.stderr.count("\n") == 1,
                   f"{call}: exit {r.returncode}, said {r.stderr!r}, not {phrase!r}")
        check.that(not out.exists(), f"{call}: left {out}")
    r = tomoprof("recon", "--in", TOOTH, "--out", out, env={"TOMOPROF_MEMORY": "3MiB"})
    check.that(r.returncode == 1 and re.search(r"needs 1[0-9.]+ MiB of memory for its thinnest slab, 3.0 MiB available", r.stderr)
               and not out.exists(), r.stderr)


def interrupted(check, folder):
    """The volume reached so far is written."""
    out = folder / "v.npy"
    call = [TOMOPROF, "recon", "--in", TOOTH, "--rows", "0:1", "--method", "mbir", "--iterations", "1000000",
            "--stop-threshold", "0", "--out", out]
    p = subprocess.Popen([str(word) for word in call], stderr=subprocess.PIPE, text=True)
    said = p.stderr.readline() + p.stderr.readline()  # input and centre: reconstruction begins
    os.kill(p.pid, signal.SIGINT)
    said += p.communicate(timeout=300)[1]
    check.that(p.returncode == 130 and "interrupted" in said or p.returncode == -signal.SIGINT, f"exit {p.returncode}: {said}")
    if p.returncode < 0 or "nothing was written" in said:  # the signal came before the first step
        check.that(not out.exists(), said)
    else:
        check.that(f"{out} holds what there is" in said and np.load(out).shape == (640, 640, 1), said)
    left = [p.name for p in folder.iterdir() if p.suffix not in (".npy", ".png")]
    check.that(not left, f"left {left}")


if not have("hdf5"):
    print("skipped: the scans of this test are HDF5, which this build cannot read")
    sys.exit(77)
main(tooth_equals_mbirjax, tooth_center, outputs_agree, more_outputs, own_arrays, voxel_driven, synthetic, slabs, wrong_calls, interrupted)
