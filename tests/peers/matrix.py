"""The matrix of formats: what is read, shown by info, converted, written, reconstructed and read over HTTP, each checked against the
library that owns the format. Prints the table of docs/load.md; exit 1 where a cell fails or that table says something else.
Usage: PYTHON matrix.py TOMOPROF   (pip install numpy h5py hdf5plugin tifffile imagecodecs zarr nibabel pylibCZIrw olefile mrcfile pynrrd SimpleITK pydicom)"""
import ctypes.util
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "pipe"))
os.environ["TOMOPROF"] = sys.argv[1]
from ranges import serve  # noqa: E402

DATA = HERE.parents[1] / "data"
STORE, SCAN = DATA / "store", DATA / "scan"
bad = []


def call(*args):
    return subprocess.run([sys.argv[1], *map(str, args)], capture_output=True, text=True, timeout=600)


def czi(path):
    from pylibCZIrw import czi as lib
    with lib.open_czi(str(path)) as f:
        return f.read()[..., 0]


def txrm(path):
    import olefile
    with olefile.OleFileIO(str(path)) as f:
        n, r, c = (int.from_bytes(f.openstream("ImageInfo/" + k).read()[:4], "little") for k in ("NoOfImages", "ImageHeight", "ImageWidth"))
        return np.stack([np.frombuffer(f.openstream(f"ImageData1/Image{i + 1}").read()[:2 * r * c], "<u2").reshape(r, c) for i in range(n)])


def zarr_(path, name=None):
    import zarr
    node = zarr.open(str(path), mode="r")
    return node[name][...] if name else node[...]


def zarr_zip(path):
    import zarr
    with zarr.storage.ZipStore(str(path), mode="r") as store:
        return zarr.open_array(store, mode="r")[...]


def tiff(path):
    import tifffile
    if path.is_dir():
        return np.stack([tifffile.imread(p) for p in sorted(path.iterdir(), key=lambda p: int(p.stem.split("_")[-1]))])
    return tifffile.imread(path)


def tiff24(path):
    """By libtiff, which gives the samples of 24 bits in this processor's order; tifffile 2026.3.3 shifts them."""
    import ctypes
    lib = ctypes.CDLL(ctypes.util.find_library("tiff"))
    lib.TIFFOpen.restype = ctypes.c_void_p
    lib.TIFFReadEncodedStrip.restype = ctypes.c_ssize_t
    lib.TIFFReadEncodedStrip.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_ssize_t]
    file, room = ctypes.c_void_p(lib.TIFFOpen(str(path).encode(), b"r")), ctypes.create_string_buffer(1 << 16)
    raw = b""
    while True:
        n = lib.TIFFReadEncodedStrip(file, 0, room, len(room))
        raw += room.raw[:n]
        if not lib.TIFFReadDirectory(file):
            break
    triples = np.frombuffer(raw, "u1").reshape(-1, 3).astype("u4")
    return triples[:, 0] | triples[:, 1] << 8 | triples[:, 2] << 16


def nifti(path):
    import nibabel
    return np.asarray(nibabel.load(path).dataobj)


def mrc(path):
    import mrcfile
    with mrcfile.open(path) as f:
        return np.array(f.data)


def nrrd_(path):
    import nrrd
    return nrrd.read(str(path))[0]


def metaimage(path):
    import SimpleITK
    return SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path)))


def dicom(path):
    import pydicom
    slices = [pydicom.dcmread(p) for p in (sorted(path.iterdir()) if path.is_dir() else [path])]
    slices.sort(key=lambda d: float(d.get("ImagePositionPatient", [0, 0, 0])[2]))
    return np.stack([d.pixel_array for d in slices])


def hdf5(name):
    def read(path):
        import h5py
        import hdf5plugin  # noqa: F401, has the filters
        return h5py.File(path)[name][...]
    return read


# format, a file of it, its array, the owner's reader, the end of a file that `convert` writes, a scan of it
ROWS = [("NumPy .npy", STORE / "npy/u2_big.npy", None, np.load, ".npy", ".npy"), ("NIfTI .nii", STORE / "nifti/i2.nii", None, nifti, ".nii", None),
        ("NumPy .npz", STORE / "npy/u2_deflate.npz", "u2", lambda p: np.load(p)["u2"], None, None),
        ("Analyze 7.5", STORE / "nifti/analyze.hdr", None, nifti, None, None), ("MRC", STORE / "mrc/i2_big.mrc", None, mrc, ".mrc", None), ("NRRD", STORE / "nrrd/i2_gzip.nrrd", None, nrrd_, ".nrrd", None),
        ("MetaImage", STORE / "metaimage/i2.mhd", None, metaimage, ".mha", None), ("DICOM, a file", STORE / "dicom/rle.dcm", None, dicom, None, None),
        ("DICOM, a series", STORE / "dicom/series", None, dicom, None, None),
        ("NIfTI .nii.gz", STORE / "nifti/i2_bgzf.nii.gz", None, nifti, ".nii.gz", None), ("TIFF, BigTIFF", STORE / "tiff/u2_deflate_tiles.tif", None, tiff, ".tif", ".tif"),
        ("OME-TIFF", STORE / "tiff/stack.ome.tif", None, tiff, None, None), ("ImageJ", STORE / "tiff/stack_imagej.tif", None, tiff, None, None),
        ("TIFF of 1, 2, 4, 12 bits", STORE / "tiff/u2_12bits.tif", None, tiff, None, None),
        *((f"TIFF{name}", STORE / f"tiff_rare/{file}.tif", None, tiff24 if "24" in file else tiff, None, None) for name, file in (
            (" of 24 bits", "u4_24bits_big"), (": LZMA", "u2_lzma_tiles"), (": WebP", "webp"), (": LERC", "f4_lerc"), (": CCITT", "g4"), (": old LZW", "u1_lzw_old"))),
        ("folder of TIFF", STORE / "tiff/stack", None, tiff, None, "stack"), ("HDF5, Data Exchange", SCAN / "exchange.h5", "exchange/data", hdf5("exchange/data"), ".h5", SCAN / "exchange.h5"),
        ("HDF5, scale-offset", STORE / "hdf5/scale_offset.h5", "i4", hdf5("i4"), None, None),
        ("HDF5, bzip2", STORE / "hdf5/rare.h5", "bzip2", hdf5("bzip2"), None, None), ("HDF5, Blosc2", STORE / "hdf5/rare.h5", "blosc2", hdf5("blosc2"), None, None),
        ("HDF5 with a user block", STORE / "hdf5/user_block.h5", "gzip", hdf5("gzip"), None, None),
        ("NXtomo", SCAN / "nxtomo.nx", "scan1/device/camera/data", hdf5("scan1/device/camera/data"), None, SCAN / "nxtomo.nx"),
        ("Zeiss TXRM", SCAN / "parallel.txrm", "data", txrm, None, SCAN / "parallel.txrm"), ("Zarr 2", STORE / "zarr/zarr2/blosc", None, zarr_, ".zarr", None),
        ("Zarr 3", STORE / "zarr/zarr3/sharded", None, zarr_, ".zarr", None), ("OME-Zarr 0.4", STORE / "zarr/ome.zarr", "0", lambda p: zarr_(p, "0"), None, None),
        (".zarr.zip", STORE / "zarr/u2.zarr.zip", None, zarr_zip, None, None),
        ("OME-Zarr 0.5", STORE / "zarr/ome5.zarr", "0", lambda p: zarr_(p, "0"), ".ome.zarr", None), ("Zeiss CZI", STORE / "czi/raw.czi", None, czi, None, None),
        ("kerchunk references", STORE / "hdf5/refs.json", "big", lambda p: hdf5("big")(p.parent / "kinds.h5"), "refs.json", None)]


def equal(mine, theirs):
    return mine.size == theirs.size and np.array_equal(mine.reshape(-1), theirs.reshape(-1))


def cell(row, what, good, said=""):
    if not good:
        bad.append(f"{row}: {what}: {said}")
    return "yes" if good else "NO"


def reading(name, path, array, owner, folder, source):
    out = folder / "x.npy"
    out.unlink(missing_ok=True)
    done = call("convert", source, out, *(["--array", array] if array else []))
    return cell(name, f"convert {source}", done.returncode == 0 and equal(np.load(out), owner(path)), done.stderr)


def writing(name, end, array, owner, path, folder):
    """By the owner of the format, of an array in .npy."""
    if not end:
        return ""
    import shutil
    out = folder / ("w" + end)
    shutil.rmtree(out, ignore_errors=True)
    if end == "refs.json":  # of a store whose chunks zarr can read by these references
        return references(name, out)
    done = call("convert", STORE / "npy/f4.npy", out, *(["--zarr", name[-1]] if end == ".zarr" else []))
    owner = hdf5("data") if end == ".h5" else owner
    return cell(name, "write", done.returncode == 0 and equal(owner(out), np.load(STORE / "npy/f4.npy")), done.stderr)


def references(name, out):
    """Byte ranges of another format's file, put together as the Zarr store that they describe."""
    import shutil
    shutil.copy(STORE / "hdf5/kinds.h5", out.parent / "kinds.h5")
    done = call("convert", out.parent / "kinds.h5", out)
    folder = out.with_suffix(".zarr")
    for key, at in json.loads(out.read_text())["refs"].items() if done.returncode == 0 else ():
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((out.parent / at[0]).read_bytes()[at[1]:at[1] + at[2]] if isinstance(at, list) else at.encode())
    return cell(name, "write", done.returncode == 0 and all(equal(zarr_(folder, a), hdf5(a)(STORE / "hdf5/kinds.h5")) for a in ("big", "gzip", "f8")), done.stderr)


def reconstruction(name, scan, folder):
    import scans
    if not scan:
        return ""
    args = [scans.stacks(folder), "--angles", f"0:{180 - 180 / scans.VIEWS}"] if scan == "stack" else [scan]
    flats = scan in (".npy", ".tif")  # frames in files of their own
    if flats:
        args = scans.arrays(folder)[1:]
        for path in (folder / f"{n}.npy" for n in ("counts", "flats", "darks")) if scan == ".tif" else ():
            import tifffile
            tifffile.imwrite(path.with_suffix(".tif"), np.load(path), photometric="minisblack")
        args = [str(a).replace(".npy", scan) for a in args]
    volumes = [folder / "a.npy", folder / "b.npy"]
    done = [call("recon", "--in", *words, "--center", scans.CENTER, "--out", out) for words, out in ((args, volumes[0]), ([SCAN / "exchange.h5"], volumes[1]))]
    said = cell(name, "recon", all(d.returncode == 0 for d in done) and np.allclose(*map(np.load, volumes), atol=1e-6), done[0].stderr)
    return "with `--flats`" if flats and said == "yes" else said


def main():
    absent = [m for m in ("h5py", "hdf5plugin", "pydicom", "tifffile", "zarr", "nibabel", "pylibCZIrw", "olefile", "mrcfile", "nrrd", "SimpleITK") if not importlib.util.find_spec(m)]
    if absent:
        print(f"skipped: this Python lacks {', '.join(absent)}")
        sys.exit(77)
    documented = (HERE.parents[2] / "docs/load.md").read_text()
    print("| format | read | info | convert | write | recon | over HTTP |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as t, serve(DATA) as (url, _):
        folder = pathlib.Path(t)
        for name, path, array, owner, end, scan in ROWS:
            told = call("info", "--json", path)
            read = reading(name, path, array, owner, folder, path)
            shown = cell(name, "info", told.returncode == 0 and "shape" in told.stdout and json.loads(told.stdout), told.stderr)
            remote = "" if "DICOM" in name or path.is_dir() and not any((path / n).exists() for n in (".zarray", ".zgroup", "zarr.json")) else \
                reading(name, path, array, owner, folder, f"{url}/{path.relative_to(DATA)}")
            line = (f"| {name} | {read} | {shown} | {read} | {writing(name, end, array, owner, path, folder)} | {reconstruction(name, scan, folder)} | {remote} |")
            print(line, flush=True)
            if line not in documented.splitlines():
                bad.append(f"docs/load.md has another row for {name}")
    print("\n".join(bad), file=sys.stderr)
    sys.exit(len(bad) > 0)


if __name__ == "__main__":
    main()
