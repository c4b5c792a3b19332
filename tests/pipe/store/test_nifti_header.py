"""What `convert` keeps of a NIfTI header, byte by byte, and what it lists before it writes. Headers are packed and parsed here."""

import gzip
import json
import pathlib
import struct
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, main, tomoprof

# name: offset and struct code in version 1, in version 2. Everything but sizes and types.
FIELDS = {"dim_info": (39, "B", 524, "B"), "intent_p": (56, "3f", 80, "3d"), "intent_code": (68, "h", 504, "i"), "slice_start": (74, "h", 224, "q"),
          "pixdim": (76, "8f", 104, "8d"), "scl_slope": (112, "f", 176, "d"), "scl_inter": (116, "f", 184, "d"), "slice_end": (120, "h", 232, "q"),
          "slice_code": (122, "B", 496, "i"), "xyzt_units": (123, "B", 500, "i"), "cal_max": (124, "f", 192, "d"), "cal_min": (128, "f", 200, "d"),
          "slice_duration": (132, "f", 208, "d"), "toffset": (136, "f", 216, "d"), "descrip": (148, "80s", 240, "80s"), "aux_file": (228, "24s", 320, "24s"),
          "qform_code": (252, "h", 344, "i"), "sform_code": (254, "h", 348, "i"), "quatern": (256, "3f", 352, "3d"), "qoffset": (268, "3f", 376, "3d"),
          "srow": (280, "12f", 400, "12d"), "intent_name": (328, "16s", 508, "16s")}
FULL = {"dim_info": (0b111001,), "intent_p": (12, -0.5, 3), "intent_code": (3,), "slice_start": (1,), "pixdim": (-1, 2, 2.5, 3, 1.25, 1, 1, 1), "scl_slope": (0.5,),
        "scl_inter": (-7,), "slice_end": (4,), "slice_code": (3,), "xyzt_units": (2 | 16,), "cal_max": (77,), "cal_min": (-3,), "slice_duration": (0.25,),
        "toffset": (1.5,), "descrip": (b"a description",), "aux_file": (b"aux.txt",), "qform_code": (1,), "sform_code": (4,), "quatern": (0.1, -0.2, 0.3),
        "qoffset": (1, 2, 3), "srow": (-2, 0.125, 0.25, 90, 0.5, 2.5, -0.125, -120, 0.0625, 0.25, 3, -70), "intent_name": (b"hello",)}
SHAPE = (4, 5, 6, 2)
EXTENSIONS = ((6, b"a first comment".ljust(24, b"\0")), (44, b"x" * 120))


def make(path, version=1, end="<", dtype="i2", code=4, extensions=EXTENSIONS, shape=SHAPE, pair=False, bits=None, **changed):
    """A file with every field set; the values as they are stored."""
    head = bytearray(348 if version == 1 else 540)
    struct.pack_into(end + "i", head, 0, len(head))
    for name, (*place,) in FIELDS.items():
        at, kind = place[:2] if version == 1 else place[2:]
        struct.pack_into(end + kind, head, at, *(FULL | changed)[name])
    dims = (len(shape), *shape, *[1] * (7 - len(shape)))
    blob = b"".join(struct.pack(end + "2i", len(b) + 8, c) + b for c, b in extensions)
    offset = 0 if pair else len(head) + 4 + len(blob)
    struct.pack_into(end + ("8h" if version == 1 else "8q"), head, 40 if version == 1 else 16, *dims)
    struct.pack_into(end + "2h", head, 70 if version == 1 else 12, code, bits or 8 * np.dtype(dtype).itemsize)
    struct.pack_into(end + ("f" if version == 1 else "q"), head, 108 if version == 1 else 168, offset)
    magic = {(1, False): b"n+1\0", (1, True): b"ni1\0", (2, False): b"n+2\0\r\n\x1a\n", (2, True): b"ni2\0\r\n\x1a\n"}[version, pair]
    head[(344 if version == 1 else 4):(344 if version == 1 else 4) + len(magic)] = magic
    count = int(np.prod(shape)) * (bits // 8 // np.dtype(dtype).itemsize if bits else 1)
    stored = (np.arange(count) * 37 % 251 - (0 if dtype == "u1" else 99)).astype(np.dtype(dtype).newbyteorder(end))
    front = bytes(head) + (b"\1\0\0\0" if extensions else bytes(4)) + blob
    pack = gzip.compress if path.suffix == ".gz" else bytes
    path.write_bytes(pack(front if pair else front + stored.tobytes()))
    if pair:
        path.with_name(path.name.replace(".hdr", ".img")).write_bytes(pack(stored.tobytes()))
    return stored


def parse(path):
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    version = 1 if data[:4] == struct.pack("<i", 348) else 2
    found = {name: struct.unpack_from("<" + (p[1] if version == 1 else p[3]), data, p[0] if version == 1 else p[2]) for name, p in FIELDS.items()}
    at, offset = (352, int(struct.unpack_from("<f", data, 108)[0])) if version == 1 else (544, struct.unpack_from("<q", data, 168)[0])
    extensions = []
    while data[at - 4 if not extensions else 0] and at + 8 <= offset:
        size, code = struct.unpack_from("<2i", data, at)
        if size < 8:
            break
        extensions.append((code, data[at + 8:at + size]))
        at += size
    datatype, bits = struct.unpack_from("<2h", data, 70 if version == 1 else 12)
    dims = struct.unpack_from("<8h" if version == 1 else "<8q", data, 40 if version == 1 else 16)
    return found | {"version": version, "extensions": extensions, "datatype": datatype, "bits": bits, "dims": dims, "stored": data[offset:], "offset": offset}


def text(value):
    return tuple(v.rstrip(b"\0") if isinstance(v, bytes) else np.float32(v) if isinstance(v, float) else v for v in value)


def convert(check, *words):
    done = tomoprof("convert", *words)
    check.that(done.returncode == 0, f"convert {words}: exit {done.returncode}: {done.stderr}")
    return done.stderr


def everything_is_kept(check, folder):
    for version in (1, 2):
        for end in "<>":
            for name, pair in (("in.nii", False), ("in.nii.gz", False), ("in.hdr", True), ("in.hdr.gz", True)):
                stored = make(folder / name, version, end, pair=pair)
                for out in ("out.nii", "out.nii.gz"):
                    told = convert(check, folder / name, folder / out)
                    got, case = parse(folder / out), f"version {version}, {end}, {name} to {out}"
                    for field, wanted in FULL.items():
                        check.that(text(got[field]) == text(wanted), f"{case}: {field} is {got[field]}, was {wanted}")
                    check.that(got["version"] == version and got["datatype"] == 4 and got["dims"][:5] == (4, *SHAPE), f"{case}: {got}")
                    check.that(got["extensions"] == list(EXTENSIONS) and got["offset"] % 16 == 0, f"{case}: extensions {got['extensions']} to byte {got['offset']}")
                    check.that(got["stored"] == stored.astype("<i2").tobytes(), f"{case}: values changed")
                    check.that("Not kept" not in told, f"{case}: {told}")


def world(got, which):
    """Voxel to world, as the standard says."""
    if which == "sform":
        return np.array(got["srow"]).reshape(3, 4)
    b, c, d = got["quatern"]
    a = np.sqrt(max(0, 1 - b * b - c * c - d * d))
    r = np.array([[a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)], [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
                  [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - c * c - b * b]])
    scale = np.array(got["pixdim"][1:4]) * (1, 1, -1 if got["pixdim"][0] < 0 else 1)
    return np.column_stack([r * scale, got["qoffset"]])


def order_moves_no_voxel(check, folder):
    """Each voxel keeps its place in the world when dimensions change places."""
    stored = make(folder / "in.nii", 2).reshape(SHAPE, order="F")
    before = parse(folder / "in.nii")
    for order in ((0, 1, 2, 3), (2, 0, 1, 3), (1, 0, 2, 3), (2, 1, 0, 3), (0, 2, 1, 3), (1, 2, 0, 3)):
        told = convert(check, folder / "in.nii", folder / "out.nii", "--order", ",".join(map(str, order)))
        got = parse(folder / "out.nii")
        there = np.frombuffer(got["stored"], "<i2").reshape(got["dims"][1:5], order="F")
        check.that(np.array_equal(there, stored.transpose(order)) and "Not kept" not in told, f"{order}: values, {told}")
        for which in ("sform", "qform"):
            old, new = world(before, which), world(got, which)
            for voxel in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (3, 4, 5)):
                moved = [voxel[order[k]] for k in range(3)]
                far = np.abs(old @ (*voxel, 1) - new @ (*moved, 1)).max()
                check.that(far < 1e-9, f"{order}: {which} puts voxel {voxel} {far} mm away")
        phase = {order.index(k) + 1 for k in [(before["dim_info"][0] >> 2 & 3) - 1]}
        check.that({got["dim_info"][0] >> 2 & 3} == phase, f"{order}: dim_info {got['dim_info']}")
    told = convert(check, folder / "in.nii", folder / "out.nii", "--order", "3,0,1,2")
    got = parse(folder / "out.nii")
    check.that(got["sform_code"] == got["qform_code"] == (0,) and "Not kept: affine" in told and "units" in told, f"time first: {told}")


def scale_is_applied_on_request(check, folder):
    for dtype, code, kind in (("i2", 4, "f4"), ("i4", 8, "f8"), ("f4", 16, "f4"), ("f8", 64, "f8")):
        stored = make(folder / "in.nii", dtype=dtype, code=code)
        for words, out in (((), kind), (("--dtype", "float64"), "f8"), (("--dtype", "float32"), "f4")):
            told = convert(check, folder / "in.nii", folder / "out.nii", "--apply-scale", *words)
            got = parse(folder / "out.nii")
            check.that(got["scl_slope"] == (1,) and got["scl_inter"] == (0,) and "Not kept" not in told, f"{dtype}: {got['scl_slope']}, {told}")
            check.that(got["stored"] == (stored.astype("f8") * 0.5 - 7).astype(out).tobytes(), f"{dtype} {words}: values")
        told = convert(check, folder / "in.nii", folder / "out.npy", "--apply-scale")
        check.that(np.array_equal(np.load(folder / "out.npy").ravel(order="F"), (stored.astype("f8") * 0.5 - 7).astype(kind)) and "slope" not in told, f"npy: {told}")
    for slope, inter in ((0, 5), (float("nan"), 1), (float("inf"), 0)):
        stored = make(folder / "in.nii", scl_slope=(slope,), scl_inter=(inter,))
        convert(check, folder / "in.nii", folder / "out.npy", "--apply-scale")
        there = np.load(folder / "out.npy")
        check.that(there.dtype == "i2" and np.array_equal(there.ravel(order="F"), stored), f"slope {slope} is none: {there.dtype}")
    make(folder / "in.nii", dtype="c8", code=32)
    for out, text, args in ((folder / "out.nii", "complex", ()), (folder / "out.json", "references copy no values", ()), (folder / "x.ome.zarr", "not available", ())):
        done = tomoprof("convert", folder / "in.nii", out, "--apply-scale", *args)
        check.that(done.returncode in (1, 2) and text in done.stderr, f"{out}: {done}")


def colours(check, folder):
    for channels, code in ((3, 128), (4, 2304)):
        stored = make(folder / "in.nii", dtype="u1", code=code, bits=8 * channels)
        told = convert(check, folder / "in.nii", folder / "out.nii")
        got = parse(folder / "out.nii")
        check.that(got["datatype"] == code and got["bits"] == 8 * channels and got["dims"][:5] == (4, *SHAPE) and got["stored"] == stored.tobytes(), f"{channels}: {got['dims']}")
        check.that(got["srow"] == FULL["srow"] and "Not kept" not in told, f"{channels}: {told}")
        convert(check, folder / "in.nii", folder / "out.npy")
        check.that(np.array_equal(np.load(folder / "out.npy"), stored.reshape(channels, *SHAPE, order="F").transpose(1, 2, 3, 4, 0)), f"{channels}: values")


def listed_before_it_is_written(check, folder):
    make(folder / "in.nii")
    for out in ("out.npy", "out.zarr"):
        told = convert(check, folder / "in.nii", folder / out)
        check.that("Not kept: " in told and told.index("Not kept: ") < told.index("read back"), f"{out}: {told}")
        for name in ("affine (sform, qform)", "intent", "description", "aux_file", "display range", "extensions (160 bytes)"):
            check.that(name in told, f"{out}: {name} is missing in {told}")
        check.that(("spacing" in told) == ("slope and intercept" in told) == (out == "out.npy"), f"{out}: {told}")
    done = tomoprof("convert", folder / "in.nii", folder / "missing/out.npy")  # fails as soon as it writes
    check.that(done.returncode and "Not kept: " in done.stderr, f"{done}")


def info_shows_the_affine(check, folder):
    for name, changed, wanted in (("a.nii", {}, "sform, code 4"), ("b.nii.gz", {"sform_code": (0,)}, "qform, code 1"), ("c.nii", {"sform_code": (0,), "qform_code": (0,)}, "pixdim")):
        make(folder / name, **changed)
        told = json.loads(tomoprof("info", "--json", folder / name).stdout)
        told = told.get("arrays", {}).get("data", told)
        check.that(told["affine_from"] == wanted, f"{name}: {told}")
        if wanted.startswith("sform"):
            check.that(told["affine_y"] == "0.5 2.5 -0.125 -120", f"{told}")


def damaged_extensions(check, folder):
    """Whole ones are kept; what cannot be read is listed."""
    make(folder / "in.nii", extensions=((6, b"y" * 24), (6, b"z" * 24)))
    data = bytearray((folder / "in.nii").read_bytes())
    for size in (0, 4, -16, 48, 2**31 - 1):
        struct.pack_into("<i", data, 352 + 32, size)
        (folder / "in.nii").write_bytes(data)
        told = convert(check, folder / "in.nii", folder / "out.nii")
        check.that(parse(folder / "out.nii")["extensions"] == [(6, b"y" * 24)] and "damaged_extensions" in told, f"size {size}: {told}")


def units_of_other_formats(check, folder):
    """A pyramid in micrometres is not written as millimetres."""
    convert(check, DATA / "store/zarr/ome.zarr", folder / "out.nii")
    got = parse(folder / "out.nii")
    check.that(got["xyzt_units"] == (3,), f"{got['xyzt_units']}, {got['pixdim']}")


if __name__ == "__main__":
    main(everything_is_kept, order_moves_no_voxel, scale_is_applied_on_request, colours, listed_before_it_is_written, info_shows_the_affine, damaged_extensions,
         units_of_other_formats)
