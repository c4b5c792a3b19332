"""Wrong calls, one row each: what is called, the exit code, and what the one sentence on stderr must say. After every
one: nothing on stdout, exactly one line on stderr that begins with "tomoprof: ", and no file where the output belongs."""

import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, SANITIZED, TOMOPROF, Checks, main, tomoprof, write_json

USER, WORK = 2, 1  # exit codes: the call or its data are wrong; the work failed
V, R, C = 4, 3, 8  # views, rows, channels of the good arrays
G = {"geometry": "parallel", "sinogram_shape": [V, R, C], "angles": [0.0, 0.8, 1.6, 2.4]}
CONE = {**G, "geometry": "cone", "source_detector_dist": 40, "source_iso_dist": 20}


def make_inputs(folder):
    """Good arrays and geometries, and what is wrong with the others stands in their names."""
    rng = np.random.default_rng(1)
    x, y = rng.random((C, C, R), np.float32), rng.random((V, R, C), np.float32)
    arrays = {
        "x": x, "y": y, "w": np.ones_like(y),
        "float64": y.astype(np.float64), "int16": y.astype(np.int16), "big_endian": y.astype(">f4"),
        "fortran": np.asfortranarray(y), "views": y[:-1], "channels": y[:, :, 1:].copy(), "flat": y.reshape(V, -1),
        "four": y[None], "empty": y[:0], "scalar": np.float32(1), "complex": y.astype(np.complex64),
        "nan": np.where(y == y.max(), np.float32(np.nan), y), "inf": np.where(y == y.max(), np.float32(np.inf), y),
        "w_negative": np.where(y == y.max(), np.float32(-1), y), "w_zero": np.zeros_like(y), "x_small": x[1:].copy(),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    good = (folder / "y.npy").read_bytes()
    header = lambda text: b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
    files = {
        "cut.npy": good[:-7], "cut_head.npy": good[:30], "long.npy": good + b"1234", "nothing.npy": b"",
        "text.npy": b"1 2 3\n", "version.npy": good[:6] + b"\x09" + good[7:],
        "head.npy": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3"),
        "huge.npy": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776, 2)}"),
        "negative.npy": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-4, 3, 8)}"),
        "notjson.json": b"{\"geometry\": parallel}", "nothing.json": b"", "list.json": b"[1, 2]",
        "tail.json": json.dumps(G).encode() + b" }",
        "twice.json": json.dumps(G)[:-1].encode() + b", \"geometry\": \"parallel\"}",
        "nan.json": json.dumps(G).replace("0.8", "NaN").encode(), "inf.json": json.dumps(G).replace("0.8", "1e999").encode(),
        "deep.json": b"[" * 100000, "text.h5": b"no HDF5 at all\n", "text.dat": b"no scan at all\n",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    for name, g in geometries().items():
        write_json(folder / f"{name}.json", g)
    return folder


def geometries():
    """Geometry files by what is wrong with them."""
    without = lambda g, key: {k: v for k, v in g.items() if k != key}
    return {
        "g": G, "c": CONE,
        "unknown_key": {**G, "det_chanel_offset": 1}, "no_angles": without(G, "angles"),
        "no_geometry": without(G, "geometry"), "no_shape": without(G, "sinogram_shape"),
        "no_iso": without(CONE, "source_iso_dist"), "parallel_distance": {**G, "source_iso_dist": 20},
        "fan": {**G, "geometry": "fan"}, "angle_count": {**G, "angles": [0, 1, 2]}, "angle_text": {**G, "angles": [0, 1, 2, "3"]},
        "angles_number": {**G, "angles": 3}, "d_above_D": {**CONE, "source_detector_dist": 10},
        "d_zero": {**CONE, "source_iso_dist": 0}, "d_negative": {**CONE, "source_iso_dist": -20},
        "size_0": {**G, "sinogram_shape": [V, 0, C]}, "size_huge": {**G, "sinogram_shape": [V, R, 2**40]},
        "size_big": {**G, "sinogram_shape": [V, 2**31 - 1, 2**31 - 1]},
        "size_half": {**G, "sinogram_shape": [V, R, 8.5]}, "size_two": {**G, "sinogram_shape": [V, R]},
        "size_text": {**G, "sinogram_shape": "4x3x8"}, "size_negative": {**G, "sinogram_shape": [-V, R, C]},
        "voxel_0": {**G, "delta_voxel": 0}, "voxel_negative": {**G, "delta_voxel": -1}, "pitch_0": {**G, "delta_det_channel": 0},
        "recon_slices": {**G, "recon_shape": [C, C, R + 1]}, "slice_aspect": {**G, "voxel_slice_aspect": 2},
        "row_aspect": {**G, "voxel_row_aspect": -1}, "offset_text": {**G, "det_channel_offset": "1"},
        "mask_number": {**G, "use_ror_mask": 3}, "curved_text": {**CONE, "use_curved_detector": "yes"},
        "shift_count": {**CONE, "helical_z_shifts": [0, 1]}, "sigma_auto": {**G, "sigma_x": 1, "auto_regularize_flag": True},
        "sigma_0": {**G, "sigma_y": 0, "sigma_x": 1}, "prior_weights": {**G, "qggmrf_nbr_wts": [1, 1]},
    }


def op(name, *changes, g="g", i="y", o="{out}/y.npy"):
    """`op NAME` with good files; g, i, o None leave the option out."""
    args = ["apply", name]
    for option, value in (("--geometry", g and f"{{in}}/{g}.json"), ("--in", i and f"{{in}}/{i}.npy"), ("--out", o)):
        args += [option, value] if value else []
    return args + list(changes)


def back(i="y", g="g", *changes):
    return op("back_project", *changes, g=g, i=i)


def recon(name, *changes, out="{out}/v.nii"):
    return ["recon", "--in", "{bad}/" + name + ".h5", "--out", out, *changes]


OPERATION = [
    (op("frobnicate_it"), USER, 'no operation is called "frobnicate_it"'),
    (op("forward_projekt"), USER, "did you mean forward_project?"),
    (op("parallel_fdk_recon"), USER, "did you mean"),
    (["apply"], USER, "apply needs NAME"),
    (op("forward_project", "again", i="x"), USER, 'unexpected word "again"'),
    (op("cone_forward_project", i="x"), USER, 'is for cone beams, but {in}/g.json says "geometry": "parallel": use parallel_forward_project'),
    (op("parallel_mbir_recon", g="c"), USER, 'is for parallel beams, but {in}/c.json says "geometry": "cone": use cone_mbir_recon'),
    (op("fbp_filter", g="c"), USER, "use cone_fdk_filter"),
    (op("fdk_recon"), USER, "use parallel_fbp_recon"),
    (op("forward_project", g=None, i="x"), USER, "forward_project needs --geometry FILE"),
    (op("forward_project", i=None), USER, "forward_project needs --in FILE, a volume"),
    (op("back_project", i=None), USER, "back_project needs --in FILE, a sinogram"),
    (op("back_project", o=None), USER, "back_project needs --out FILE"),
    (op("hessian_diagonal"), USER, "hessian_diagonal takes no --in"),
    (op("forward_project", "--weights", "{in}/w.npy", i="x"), USER, "forward_project takes no --weights"),
    (op("fbp_recon", "--init", "{in}/x.npy"), USER, "fbp_recon takes no --init"),
    (op("fbp_recon", "--subsets", "4"), USER, "fbp_recon takes no --subsets"),
    (op("gen_pixel_partition", i=None), USER, "gen_pixel_partition needs --subsets N"),
    (op("gen_pixel_partition", "--subsets", "0", i=None), USER, "--subsets 0: must be between 1"),
]

OPTIONS = [
    (["projectforward"], USER, 'unknown command "projectforward"'),
    (["inof"], USER, "did you mean `tomoprof info`"),
    (op("back_project", "--frobnicate"), USER, "unknown option --frobnicate"),
    (op("back_project", "--thread", "2"), USER, "did you mean --threads?"),
    (op("back_project", "--threads"), USER, "--threads needs a value"),
    (op("back_project", "--threads", "two"), USER, "--threads two: not a whole number"),
    (op("back_project", "--threads", "-1"), USER, "--threads -1: must be between 0"),
    (op("back_project", "--threads", "1000000"), USER, "--threads 1000000: must be between 0"),
    (op("back_project", "--backend", "quantum"), USER, "--backend quantum: unknown: must be one of auto"),
    (op("back_project", "--in="), USER, "--in: the name is empty"),
    (op("back_project", "--json=yes"), USER, "--json takes no value"),
    (op("mbir_recon", "--iterations", "0"), USER, "--iterations 0: must be between 1"),
    (op("mbir_recon", "--iterations", "1e3"), USER, "--iterations 1e3: not a whole number"),
    (op("mbir_recon", "--stop-threshold", "-1"), USER, "--stop-threshold -1: must be between 0"),
    (op("mbir_recon", "--stop-threshold", "nan"), USER, "--stop-threshold nan: not a finite number"),
    (op("mbir_recon", "--seed", "-1"), USER, "--seed -1: must be between 0"),
    (op("mbir_recon", "--seed", "4294967296"), USER, "--seed 4294967296: must be between 0"),
    (["run", "--ops", "cone_fdk_recom"], USER, "did you mean cone_fdk_recon?"),
    (["run", "--ops", ""], USER, "an item of the list is empty"),
    (["run", "--sizes", "0"], USER, "--sizes: 0 is outside 4..16384"),
    (["run", "--sizes", "1099511627776"], USER, "--sizes: 1099511627776 is outside"),
    (["run", "--sizes", "32;64"], USER, '"32;64" is not a whole number'),
    (["run", "--runs", "0"], USER, "--runs 0: must be between 1"),
    (["run", "--timeout", "0"], USER, "--timeout 0: must be between"),
    (["run", "--quick", "--sizes", "8"], USER, "--quick means --sizes 32,64"),
    (["run", "--backend", "quantum", "--out", "{out}"], USER, "--backend quantum: unknown"),
    (["run", "--sizes", "8", "--out", "{in}/y.npy"], WORK, "{in}/y.npy"),
    (["run", "--sizes", "8", "--out", "/proc/never"], WORK, "/proc/never"),
    (["simulate", "--size", "0", "--out", "{out}/scan"], USER, "--size 0: must be between 1"),
    (["simulate", "--size", "1099511627776", "--out", "{out}/scan"], USER, "--size 1099511627776: must be between 1"),
    (["simulate", "--noise", "-1", "--out", "{out}/scan"], USER, "--noise -1: must be between 0"),
    (["info", "{in}/missing.h5"], USER, "{in}/missing.h5: cannot read: No such file or directory"),
    (["info", "{in}/text.dat"], USER, "{in}/text.dat"),
    (["report", "{in}/text.dat"], USER, "text.dat: is not a run"),
]

GEOMETRY = [
    (back("y", "missing"), USER, "{in}/missing.json: cannot read: No such file or directory"),
    (op("back_project", "--geometry", "{in}"), USER, "{in}: is a folder, not a file"),
    (back("y", "notjson"), USER, "notjson.json: is not valid JSON at line 1, column 14"),
    (back("y", "nothing"), USER, "nothing.json: is not valid JSON"),
    (back("y", "list"), USER, "must hold one JSON object"),
    (back("y", "tail"), USER, "is not valid JSON at line 1"),
    (back("y", "deep"), USER, "is not valid JSON"),
    (back("y", "twice"), USER, "geometry is given twice"),
    (back("y", "nan"), USER, "is not valid JSON"),
    (back("y", "inf"), USER, "angles[1]"),
    (back("y", "unknown_key"), USER, 'unknown key "det_chanel_offset": did you mean "det_channel_offset"?'),
    (back("y", "no_angles"), USER, 'the key "angles" is missing'),
    (back("y", "no_geometry"), USER, 'the key "geometry" is missing'),
    (back("y", "no_shape"), USER, 'the key "sinogram_shape" is missing'),
    (back("y", "no_iso"), USER, 'the key "source_iso_dist" is missing'),
    (back("y", "parallel_distance"), USER, "source_iso_dist: only cone beams have it"),
    (back("y", "fan"), USER, 'geometry must be "parallel", "cone", "translation" or "multiaxis"'),
    (back("y", "angle_count"), USER, "angles has 3 entries and sinogram_shape 4 views"),
    (back("y", "angle_text"), USER, "angles[3] must be a number"),
    (back("y", "angles_number"), USER, "angles must be a list of numbers"),
    (back("y", "d_above_D"), USER, "source_detector_dist"),
    (back("y", "d_zero"), USER, "source_iso_dist"),
    (back("y", "d_negative"), USER, "source_iso_dist"),
    (back("y", "size_0"), USER, "sinogram_shape[1] is 0: it must be from 1"),
    (back("y", "size_huge"), USER, "sinogram_shape[2] is 1099511627776: it must be from 1"),
    (back("y", "size_negative"), USER, "sinogram_shape[0] is -4"),
    (back("y", "size_half"), USER, "sinogram_shape[2] must be a whole number"),
    (back("y", "size_two"), USER, "sinogram_shape must be a list of three sizes"),
    (back("y", "size_text"), USER, "sinogram_shape must be a list of three sizes"),
    (op("hessian_diagonal", i=None, g="size_big"), USER, "too large"),
    (back("y", "voxel_0"), USER, "delta_voxel is 0"),
    (back("y", "voxel_negative"), USER, "delta_voxel"),
    (back("y", "pitch_0"), USER, "delta_det_channel"),
    (back("y", "recon_slices"), USER, "recon_shape"),
    (back("y", "slice_aspect"), USER, "voxel_slice_aspect"),
    (back("y", "row_aspect"), USER, "voxel_row_aspect"),
    (back("y", "offset_text"), USER, "det_channel_offset must be a number"),
    (back("y", "mask_number"), USER, "use_ror_mask must be true or false"),
    (back("y", "curved_text"), USER, "use_curved_detector must be true or false"),
    (back("y", "shift_count"), USER, "helical_z_shifts has 2 entries"),
    (back("y", "sigma_auto"), USER, "sigma_x is given, but auto_regularize_flag is true"),
    (op("mbir_recon", g="sigma_0"), USER, "sigma_y"),
    (op("mbir_recon", g="prior_weights"), USER, "qggmrf_nbr_wts must be a list of three numbers"),
]

ARRAYS = [
    (back("missing"), USER, "{in}/missing.npy: cannot read: No such file or directory"),
    (op("back_project", "--in", "{in}"), USER, "{in}: "),
    (back("text"), USER, "text.npy: is not a .npy file"),
    (back("nothing"), USER, "nothing.npy: is not a .npy file"),
    (back("version"), USER, "version.npy: has .npy format version 9"),
    (back("head"), USER, "head.npy: its header is not that of a plain array"),
    (back("negative"), USER, "negative.npy: its header is not that of a plain array"),
    (back("cut_head"), USER, "cut_head.npy: ends within its header"),
    (back("cut"), USER, "cut.npy: is cut short: its header names 384 bytes of data, 377 follow"),
    (back("long"), USER, "long.npy: holds 4 bytes more than its header says"),
    (back("float64"), USER, "holds numbers of type <f8, but float32 (<f4) is needed"),
    (back("int16"), USER, "holds numbers of type <i2"),
    (back("big_endian"), USER, "holds numbers of type >f4"),
    (back("complex"), USER, "holds numbers of type <c8"),
    (back("fortran"), USER, "is in Fortran order, but C order is needed"),
    (back("views"), USER, "views.npy: has 3 views (dimension 0), but 4 are needed"),
    (back("channels"), USER, "has 7 detector channels (dimension 2), but 8 are needed"),
    (back("flat"), USER, "has 2 dimensions, but 3 are needed"),
    (back("four"), USER, "has 4 dimensions, but 3 are needed"),
    (back("scalar"), USER, "has 0 dimensions, but 3 are needed"),
    (back("empty"), USER, "holds no views"),
    (back("huge"), USER, "huge.npy"),
    (op("median_filter3d", g=None, i="huge"), USER, "too large for any machine"),
    (op("median_filter3d", g=None, i="four"), USER, "has 4 dimensions, but 3 are needed"),
    (op("forward_project"), USER, "y.npy: has 4 rows (dimension 0), but 8 are needed"),
    (back("nan"), USER, "nan.npy: holds a value that is not a finite number (flat index"),
    (op("fbp_filter", i="inf"), USER, "inf.npy: holds a value that is not a finite number"),
    (op("mbir_recon", "--weights", "{in}/views.npy"), USER, "views.npy: has 3 views (dimension 0), but 4 are needed"),
    (op("mbir_recon", "--weights", "{in}/w_negative.npy"), USER, "weights"),
    (op("mbir_recon", "--weights", "{in}/w_zero.npy"), USER, "weights"),
    (op("mbir_recon", "--init", "{in}/x_small.npy"), USER, "x_small.npy: has 7 rows (dimension 0), but 8 are needed"),
]

OUTPUTS = [
    (op("back_project", o="{out}/no/folder/y.npy"), WORK, "{out}/no/folder/y.npy: cannot write: No such file or directory"),
    (op("back_project", o="{in}"), WORK, "{in}: cannot write: Is a directory"),
    (op("back_project", o="/proc/self/y.npy"), WORK, "/proc/self/y.npy: cannot write"),
    (op("back_project", o="/dev/full"), WORK, "/dev/full: writing failed: No space left on device"),
    (op("gen_pixel_partition", "--subsets", "4", i=None, o="/dev/full"), WORK, "No space left on device"),
]

SCANS = [
    (recon("missing"), USER, "missing.h5: cannot read: No such file or directory"),
    (["recon", "--in", "{in}/text.h5", "--out", "{out}/v.nii"], USER, "text.h5: of no known format (it begins with the bytes 6e 6f 20 48)"),
    (recon("cut"), USER, "cut.h5: is not an HDF5 file, or is damaged"),
    (recon("no_data"), USER, "has no dataset exchange/data: is it a Data Exchange file?"),
    (recon("no_white"), USER, "no_white.h5: has no flat fields: give them with --flats FILE"),
    (recon("theta_short"), USER, "exchange/theta has 5 angles and exchange/data 6 views"),
    (recon("theta_nan"), USER, "exchange/theta[1] is not a finite number"),
    (recon("theta_units"), USER, 'has the units "gon"; deg and rad are known'),
    (recon("white_zero"), USER, "exchange/data_white is all zero"),
    (recon("white_shape"), USER, "exchange/data_white has frames of 4 x 17, the views 4 x 18"),
    (recon("data_2d"), USER, "exchange/data has 2 dimensions instead of 3"),
    (recon("data_text"), USER, "exchange/data"),
    (recon("data_empty"), USER, "exchange/data"),
    (recon("data_dark_view"), USER, "has no valid sample"),
    (recon("data_axes"), USER, 'has the axes "x:y:theta"'),
    (recon("good", "--method", "art"), USER, "--method art: must be one of fbp|fdk|mbir"),
    (recon("good", "--center", "nan"), USER, "--center nan: not a finite number"),
    (recon("good", "--center", "99"), USER, "--center 99"),
    (["recon", "--out", "{out}/v.nii"], USER, "--in"),
    (["recon", "--in", "{bad}/good.h5"], USER, "--out"),
    (recon("good", "--center", "8.5", out="{out}/v.jpeg"), USER, "v.jpeg"),
    (recon("good", "--center", "8.5", out="{out}/no/folder/v.nii"), WORK, "{out}/no/folder/v.nii: cannot write"),
    (["info", "{bad}/cut.h5"], USER, "cut.h5: is not an HDF5 file, or is damaged"),
] + [(["run", "--device-memory", amount], USER, f'--device-memory: "{amount}" {said}')
     for amount, said in (("0", "leaves no memory"), ("0.4", "leaves no memory"), ("-1", "is not an amount"),
                          ("1e99", "is not an amount"), ("12gib", "is not an amount"), ("", "is not an amount"), ("nan", "is not an amount"))]

ENVIRONMENT = [
    (back(), {"TOMOPROF_MEMORY": "lots"}, USER, 'TOMOPROF_MEMORY: "lots" is not an amount of memory'),
    (back(), {"TOMOPROF_ISA": "sse9"}, USER, "TOMOPROF_ISA=sse9: must be one of plain|avx2|avx512"),
    (back(), {"TOMOPROF_LOG": "loud"}, USER, "TOMOPROF_LOG=loud: must be one of error|warn|info|debug"),
    (["simulate", "--size", "128", "--exact", "--out", "{out}/scan"], {"TOMOPROF_MEMORY": "1MiB"}, WORK,
     "1.0 MiB available (limited by TOMOPROF_MEMORY)"),
]


def judge(check, r, call, folder, code, phrase):
    """All that every refusal has in common."""
    where = " ".join(call)
    check.that(r.returncode == code, f"{where}: exit {r.returncode}, not {code}: {r.stderr}")
    check.that(phrase in r.stderr, f"{where}: said {r.stderr!r}, not {phrase!r}")
    said = "".join(line for line in r.stderr.splitlines(True) if "is given more than once" not in line)  # a warning, before
    check.that(said.startswith("tomoprof: ") and said.count("\n") == 1 and said.endswith("\n"),
               f"{where}: not one sentence: {r.stderr!r}")
    check.that(r.stdout == "", f"{where}: wrote on stdout: {r.stdout!r}")
    left = sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))
    check.that(not left, f"{where}: left {left}")


def table(check, folder):
    inputs, out = folder / "in", folder / "out"
    inputs.mkdir()
    out.mkdir()
    make_inputs(inputs)
    places = {"{in}": str(inputs), "{out}": str(out), "{bad}": str(DATA / "bad")}

    def fill(text):
        for name, path in places.items():
            text = text.replace(name, path)
        return text

    plain = OPERATION + OPTIONS + GEOMETRY + ARRAYS + OUTPUTS + (SCANS if hdf5(check) else [])
    rows = [(call, {}, code, phrase) for call, code, phrase in plain] + ENVIRONMENT
    before = {p: p.read_bytes() for p in inputs.iterdir()}
    for call, environment, code, phrase in rows:
        filled = [fill(word) for word in call]
        judge(check, tomoprof(*filled, env=environment, cwd=out), call, out, code, fill(phrase))
    check.that({p: p.read_bytes() for p in inputs.iterdir()} == before, "an input was changed or a file left beside it")
    check.that(len(rows) >= 60, f"only {len(rows)} wrong calls")
    print(f"  {len(rows)} wrong calls")


def hdf5(check):
    """Whether this build reads HDF5; one without says so for every scan, which is a wrong call of its own."""
    said = tomoprof("info", DATA / "bad" / "good.h5")
    if "HDF5" in said.stderr:
        print("  without HDF5: the rows of scans are left out")
        return False
    return check.that(said.returncode == 0, f"info good.h5: {said.stderr}")


def good_calls(check, folder):
    """The files that the table's rows are variations of do work: the rows fail for their one reason alone."""
    inputs = make_inputs(folder)
    for call in (op("forward_project", i="x"), back(), back("y", "c"), op("hessian_diagonal", "--weights", "{in}/w.npy", i=None),
                 op("mbir_recon", "--weights", "{in}/w.npy", "--init", "{in}/x.npy", "--iterations", "1"),
                 op("gen_pixel_partition", "--subsets", "4", i=None), op("median_filter3d", g=None)):
        filled = [word.replace("{in}", str(inputs)).replace("{out}/", f"{folder}/made_") for word in call]
        r = tomoprof(*filled)
        check.that(r.returncode == 0, f"{call}: {r.stderr}")


def disk_full(check, folder):
    """A limit on file sizes stands for a disk that fills up while the output is written."""
    n = 64
    np.save(folder / "x.npy", np.ones((n, n, n), np.float32))
    (folder / "out").mkdir()
    (folder / "out" / "y.npy").write_bytes(b"older result")
    child = subprocess.run([TOMOPROF, "apply", "median_filter3d", "--in", folder / "x.npy", "--out", folder / "out" / "y.npy"],
                           restore_signals=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2 * n**3, 2 * n**3)), timeout=300)
    check.that(child.returncode == WORK, f"exit {child.returncode}")
    check.that("y.npy: writing failed: File too large" in child.stderr and child.stderr.count("\n") == 1, child.stderr)
    check.that(os.listdir(folder / "out") == ["y.npy"], f"left {os.listdir(folder / 'out')}")
    check.that((folder / "out" / "y.npy").read_bytes() == b"older result", "the older result is gone")


def interrupted(check, folder):
    """SIGINT and SIGTERM in the middle of a computation: the signal's end, no output, no temporary."""
    n, out = 48, folder / "out"
    out.mkdir()
    rng = np.random.default_rng(0)
    np.save(folder / "y.npy", rng.random((n, n, n), np.float32))
    write_json(folder / "g.json", {**CONE, "sinogram_shape": [n, n, n], "angles": list(range(n)),
                                   "source_detector_dist": 4 * n, "source_iso_dist": 2 * n})
    for number in (signal.SIGINT, signal.SIGTERM):
        p = subprocess.Popen([TOMOPROF, "apply", "mbir_recon", "--geometry", folder / "g.json", "--in", folder / "y.npy", "--out",
                              out / "x.npy", "--iterations", "1000000", "--stop-threshold", "0"], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        begin, busy = time.monotonic(), 0
        while time.monotonic() - begin < 300 and busy < 0.3 and p.poll() is None:  # seconds of computing
            time.sleep(0.01)
            fields = pathlib.Path(f"/proc/{p.pid}/stat").read_text().rsplit(")", 1)[1].split()
            busy = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        check.that(p.poll() is None, "ended before it could be interrupted")
        p.send_signal(number)
        stdout, stderr = p.communicate(timeout=300)
        check.that(p.returncode in (-number, 130), f"signal {number}: exit {p.returncode}")
        check.that(stdout == "" and stderr.count("\n") <= 1, f"signal {number}: said {stdout!r} {stderr!r}")
        check.that(os.listdir(out) == [], f"signal {number}: left {os.listdir(out)}")


if __name__ == "__main__":
    main(good_calls, table, disk_full, interrupted)
