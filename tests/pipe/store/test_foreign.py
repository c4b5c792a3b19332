"""Files as other programs write them: dimensions of OME-TIFF and ImageJ stacks, samples of few bits, ZIP archives, Analyze, a block before HDF5."""

import json
import pathlib
import struct
import sys
import zipfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from test_tiff_pages import Tiff
from tool import DATA, have, main, tomoprof

STORE = DATA / "store"
STACK = np.arange(2 * 3 * 4 * 5 * 6, dtype="u2").reshape(2, 3, 4, 5, 6)


def told(check, path, array=None):
    done = tomoprof("info", "--json", path)
    check.that(done.returncode == 0, done.stderr)
    arrays = json.loads(done.stdout)["arrays"]
    return arrays[array] if array else next(iter(arrays.values()))


def values(check, folder, path, *args):
    done = tomoprof("convert", path, folder / "out.npy", *args)
    check.that(done.returncode == 0, f"{path}: {done.stderr}")
    return np.load(folder / "out.npy")


def dimensions(check, folder):
    """Made by tifffile: T, C, Z and T, Z, C, with sizes of voxels."""
    ome, imagej = STORE / "tiff/stack.ome.tif", STORE / "tiff/stack_imagej.tif"
    said = told(check, ome)
    check.that(said["axes"] == "t, c, z, y, x" and said["channels"] == "DAPI, GFP, RFP", f"{said}")
    check.that([said[f"spacing_{a}"] for a in "zyx"] == [2, 0.25, 0.5], f"{said}")
    check.that(np.array_equal(values(check, folder, ome), STACK), "OME-TIFF")
    said = told(check, imagej)
    check.that(said["axes"] == "t, z, c, y, x" and [said[f"spacing_{a}"] for a in "tzyx"] == [0.1, 2, 0.25, 0.5], f"{said}")
    check.that(np.array_equal(values(check, folder, imagej), STACK), "ImageJ")
    said = tomoprof("load", ome, "--channel", "GFP", "--json", "--out", folder / "out")
    check.that(json.loads(said.stdout)["file"]["chunks"] == 8, f"a channel of two times and four slices: {said.stderr}")


def described(folder, text, pages=6):
    t = Tiff()
    for i in range(pages):
        t.page(np.full((7, 9), i, "u1"), **({"t270": (2, text.encode() + b"\0")} if i == 0 else {}))
    (folder / "t.tif").write_bytes(t.data)
    return folder / "t.tif"


def orders(check, folder):
    """Planes go where the OME-XML says; a text that does not fit the pages leaves them one dimension."""
    head = '<OME><Image><Pixels DimensionOrder="{}" SizeX="9" SizeY="7" SizeZ="{}" SizeC="{}" SizeT="1" Type="uint8">{}</Pixels></Image></OME>'
    plain = told(check, described(folder, head.format("XYCZT", 3, 2, "")))
    check.that(plain["shape"] == [3, 2, 7, 9] and plain["axes"] == "z, c, y, x", f"{plain}")
    check.that(values(check, folder, folder / "t.tif")[:, :, 0, 0].tolist() == [[0, 1], [2, 3], [4, 5]], "channels follow each other")
    turned = "".join(f'<TiffData FirstZ="{z}" FirstC="{c}" IFD="{3 * c + 2 - z}"/>' for z in range(3) for c in range(2))
    described(folder, head.format("XYCZT", 3, 2, turned))
    check.that(values(check, folder, folder / "t.tif")[:, :, 0, 0].tolist() == [[2, 5], [1, 4], [0, 3]], "planes by their IFD")
    for name, text in (("a plane is missing", head.format("XYCZT", 3, 2, '<TiffData FirstZ="0" IFD="0"/>')),
                       ("a page that is not there", head.format("XYCZT", 3, 2, '<TiffData IFD="7"/>')), ("a plane that is not there", head.format("XYCZT", 3, 2, '<TiffData FirstZ="3"/>')),
                       ("an order of other letters", head.format("XYABC", 3, 2, "")), ("the tag ends early", head.format("XYCZT", 3, 2, "")[:60]),
                       ("two images", head.format("XYCZT", 3, 1, "") + head.format("XYCZT", 3, 1, "")),
                       ("another file", head.format("XYCZT", 3, 2, '<TiffData IFD="0"><UUID FileName="b.tif">u</UUID></TiffData>')), ("nothing", "a text")):
        check.that(told(check, described(folder, text))["shape"] == [6, 7, 9], f"{name}: {told(check, folder / 't.tif')['shape']}")
    for text, shape in (("ImageJ=1.53\nimages=6\nchannels=2\nslices=3\n", [3, 2, 7, 9]), ("ImageJ=1.53\nimages=6\nslices=6\n", [6, 7, 9]),
                        ("ImageJ=1.53\nimages=6\nframes=4\n", [6, 7, 9]), ('{"shape": [2, 3, 7, 9]}', [2, 3, 7, 9]), ('{"shape": [4, 3, 7, 9]}', [6, 7, 9]),
                        ('{"shape": [2, 3', [6, 7, 9]), ('{"shape": ["a", 6, 7, 9]}', [6, 7, 9])):
        check.that(told(check, described(folder, text))["shape"] == shape, f"{text!r}: {told(check, folder / 't.tif')}")


def few_bits(check, folder):
    """1, 2 and 4 bits by tifffile; all widths packed here, highest bit first, rows of whole bytes."""
    for bits in (1, 2, 4):
        image = np.arange(9 * 13).reshape(9, 13) * 7 // 3 % 2 ** bits
        read = values(check, folder, STORE / f"tiff/bits{bits}.tif")
        check.that(read.dtype == (bool if bits == 1 else "u1") and np.array_equal(read, image), f"{bits} bits: {read.dtype}")
    random = np.random.default_rng(1)
    for bits in range(1, 16):
        image = random.integers(0, 2 ** bits, (11, 13))
        rows = ["".join(f"{v:0{bits}b}" for v in row) for row in image]
        packed = b"".join(int(r.ljust(-(-len(r) // 8) * 8, "0"), 2).to_bytes(-(-len(r) // 8), "big") for r in rows)
        for end in "<>":
            t = Tiff(end=end)
            t.directory({256: (3, [13]), 257: (3, [11]), 258: (3, [bits]), 259: (3, [1]), 262: (3, [1]), 273: (4, [t.put(packed)]), 277: (3, [1]),
                         278: (3, [11]), 279: (4, [len(packed)])})
            (folder / "b.tif").write_bytes(t.data)
            check.that(np.array_equal(values(check, folder, folder / "b.tif"), image), f"{bits} bits {end}")
    short = t.data.replace(struct.pack(">HHII", 279, 4, 1, len(packed)), struct.pack(">HHII", 279, 4, 1, len(packed) - 1))
    (folder / "b.tif").write_bytes(short)
    done = tomoprof("convert", folder / "b.tif", folder / "no.npy")
    check.that(done.returncode == 2 and "b.tif" in done.stderr and not (folder / "no.npy").exists(), f"{done.returncode} {done.stderr}")


def archives(check, folder):
    """Members that are stored or deflated, in ZIP64, of both orders, beside others; damaged archives."""
    data = np.arange(2 * 3 * 5, dtype=">i4").reshape(2, 3, 5)
    np.savez(folder / "a.npz", data=data, name=np.array("text"), flag=np.array([True, False]), empty=np.float64(3))
    check.that(np.array_equal(values(check, folder, folder / "a.npz", "--array", "data"), data), "big-endian")
    check.that(values(check, folder, folder / "a.npz", "--array", "flag").tolist() == [True, False] and values(check, folder, folder / "a.npz", "--array", "empty") == 3, "others")
    with zipfile.ZipFile(folder / "a.npz") as z, zipfile.ZipFile(folder / "wide.npz", "w") as wide:
        for n in z.namelist():
            with wide.open(n, "w", force_zip64=True) as f:
                f.write(z.read(n))
        wide.comment = b"PK\5\6" + b"a comment" * 3
    check.that(np.array_equal(values(check, folder, folder / "wide.npz", "--array", "data"), data), "ZIP64 and a comment")
    zipped(check, folder)
    whole = (folder / "a.npz").read_bytes()
    place = whole.index(b"PK\1\2")
    for name, damaged, says in (("cut", whole[:-30], "its directory is missing"), ("its place", whole[:-6] + b"\xff\xff\xff\x7f" + whole[-2:], "its directory is damaged"),
                                ("encrypted", whole[:place + 8] + b"\1" + whole[place + 9:], "is encrypted"), ("no array", b"PK\5\6" + bytes(18), "without arrays of numbers"),
                                ("a header", whole[:place + 42] + b"\xee\0\0\0" + whole[place + 46:], "damaged")):
        (folder / "d.npz").write_bytes(damaged)
        done = tomoprof("convert", folder / "d.npz", folder / "no.npy", "--array", "data") if name == "a header" else tomoprof("info", folder / "d.npz")
        check.that(done.returncode in (1, 2) and says in done.stderr and done.stderr.count("\n") == 1, f"{name}: {done.returncode} {done.stderr}")


def zipped(check, folder):
    """Zarr stores in archives that compress their chunks once more, or do not; a stream that is cut, one of far more bytes than its chunk has, shards."""
    for name, method, good in (("zlib", zipfile.ZIP_STORED, True), ("zlib", zipfile.ZIP_DEFLATED, True), ("raw", zipfile.ZIP_DEFLATED, True),
                               ("shuffle", zipfile.ZIP_DEFLATED, True), ("zlib", zipfile.ZIP_BZIP2, False)):
        store = STORE / "zarr/zarr2" / name
        with zipfile.ZipFile(folder / "z.zip", "w") as z:
            for path in sorted(p for p in store.rglob("*") if p.is_file()):
                z.write(path, f"scan.zarr/{path.relative_to(store)}", zipfile.ZIP_STORED if path.name.startswith(".") else method)
        done = tomoprof("convert", folder / "z.zip", folder / "z.npy")
        check.that((done.returncode == 0) == good and (good or "zip -0" in done.stderr), f"{name} {method}: {done.stderr}")
        if good:
            check.that(tomoprof("convert", store, folder / "y.npy").returncode == 0 and np.array_equal(np.load(folder / "z.npy"), np.load(folder / "y.npy")), f"{name} {method}")
    first = STORE / "zarr/zarr2/zlib/0.0.0"
    for name, chunk in (("cut", first.read_bytes()[:200]), ("a bomb", bytes(64 << 20)), ("empty", b"")):
        with zipfile.ZipFile(folder / "z.zip", "w", zipfile.ZIP_DEFLATED) as z:
            z.write(STORE / "zarr/zarr2/zlib/.zarray", ".zarray")
            z.writestr("0.0.0", chunk)
        done = tomoprof("convert", folder / "z.zip", folder / "no.npy")
        check.that(done.returncode == 2 and done.stderr.count("\n") == 1 and "damaged" in done.stderr and not (folder / "no.npy").exists(), f"{name}: {done.returncode} {done.stderr}")
    with zipfile.ZipFile(folder / "z.zip", "w", zipfile.ZIP_DEFLATED) as z:
        for path in sorted(p for p in (STORE / "zarr/zarr3/sharded_holes").rglob("*") if p.is_file()):
            z.write(path, path.relative_to(STORE / "zarr/zarr3/sharded_holes"))
    done = tomoprof("convert", folder / "z.zip", folder / "no.npy")
    check.that(done.returncode == 1 and "zip -0" in done.stderr, f"shards: {done.stderr}")


def analyze(check, folder):
    done = tomoprof("info", "--json", STORE / "nifti/analyze.hdr")
    said = json.loads(done.stdout)
    check.that(said["format"] == "Analyze 7.5 volume" and said["shape"] == [5, 37, 41] and said["affine_from"] == "pixdim", f"{said}")
    (folder / "alone.hdr").write_bytes((STORE / "nifti/analyze.hdr").read_bytes())
    done = tomoprof("convert", folder / "alone.hdr", folder / "no.npy")
    check.that(done.returncode == 2 and "alone.img" in done.stderr, done.stderr)


def user_block(check, folder):
    if not have("hdf5"):
        return
    whole = (STORE / "hdf5/user_block.h5").read_bytes()
    for name, data, good in (("as it is", whole, True), ("a block of 2048", bytes(1024) + whole, True), ("no signature", whole.replace(b"\x89HDF", b"\x88HDF"), False)):
        (folder / "u.h5").write_bytes(data)
        done = tomoprof("convert", folder / "u.h5", folder / f"{name}.npy", "--array", "gzip")
        check.that((done.returncode == 0) == good and (good or "of no known format" in done.stderr), f"{name}: {done.stderr}")
    check.that(np.array_equal(np.load(folder / "as it is.npy"), np.load(folder / "a block of 2048.npy")), "behind a block of another size")


if __name__ == "__main__":
    main(dimensions, orders, few_bits, archives, analyze, user_block)
