"""Operations on volumes through `tomoprof apply`: NumPy's results and SciPy's (tests/data/volume), settings that are refused,
`run --group volume` with targets, flame graphs and verdicts."""

import json
import pathlib
import re
import sys
import xml.etree.ElementTree

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, SANITIZED, main, tomoprof, write_json

CLOSE = 2e-6  # of the largest magnitude


def numpy_cases(x):
    """(operation, settings, expected, tolerance)"""
    norm = (x - np.nanmean(x, dtype=np.float64)) / np.nanstd(x, dtype=np.float64)
    span = np.nanmax(x).astype(np.float64) - np.nanmin(x)
    inner = x[1:5, 2:8, 3:10]
    even = x[:6, :8, :10].reshape(3, 2, 4, 2, 5, 2).mean((1, 3, 5), dtype=np.float64)
    cropped = (inner - np.nanmean(inner, dtype=np.float64)) / np.nanstd(inner, dtype=np.float64)
    wide = np.zeros((10, 4, 11), np.float32)
    wide[1:8] = x[:, 2:6]
    box = "start=1,2,3 shape=4,6,7"
    limits = np.where(np.isnan(x), 0, x * 1)
    yield "volume_z_norm", "", norm, CLOSE
    yield "volume_rescale", "", (x - np.nanmin(x)) / span, CLOSE
    yield "volume_rescale", "min=-1 max=3", (x - np.nanmin(x)) / span * 4 - 1, CLOSE
    yield "volume_crop", box, inner, 0
    yield "volume_crop_or_pad", "shape=10,4,11", wide, 0
    yield "volume_flip", "", x[::-1], 0
    yield "volume_flip", "axes=1,2", np.flip(x, (1, 2)), 0
    yield "volume_flip_all", "", np.flip(x), 0
    for k in (-1, 0, 1, 2, 3):
        for axes in ((0, 1), (1, 0), (1, 2), (2, 0)):
            yield "volume_rot90", f"axes={axes[0]},{axes[1]} k={k}", np.rot90(x, k, axes), 0
    yield "volume_downsample2", "", even, CLOSE
    yield "volume_cast", "", x.astype(np.float16), 0
    yield "volume_cast", "dtype=i16", np.rint(limits).astype(np.int16), 0
    yield "volume_cast", "dtype=u8", np.clip(np.rint(limits), 0, 255).astype(np.uint8), 0
    yield "volume_crop_z_norm_cast", box, cropped, 2e-3


def same(y, expected, tolerance):
    if y.shape != expected.shape or not np.array_equal(np.isnan(y.astype(np.float64)), np.isnan(expected.astype(np.float64))):
        return False
    a, b = np.nan_to_num(y.astype(np.float64)), np.nan_to_num(expected.astype(np.float64))
    return np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), 1e-30)


def apply(folder, name, x, *more):
    np.save(folder / "x.npy", x)
    r = tomoprof("apply", name, "--in", folder / "x.npy", "--out", folder / "y.npy", *more)
    return r, np.load(folder / "y.npy") if r.returncode == 0 else None


def against_numpy(check, folder):
    x = np.load(DATA / "volume" / "x.npy")
    holes = x.copy()
    holes[3, 4, 5] = np.nan
    for what, volume in (("plain", x), ("with NaN", holes)):
        for name, settings, expected, tolerance in numpy_cases(volume):
            if what != "plain" and name in ("volume_downsample2", "volume_rot90"):
                continue
            if name == "volume_downsample2":
                volume, expected = x[:6, :8, :10], expected
            r, y = apply(folder, name, np.ascontiguousarray(volume), *(["--set", settings] if settings else []))
            ok = y is not None and same(y, np.asarray(expected), tolerance)
            check.that(ok, f"{name} {settings} {what}: {r.stderr} {y if y is None else y.shape}")
            volume = x if what == "plain" else holes
    flat = np.full((3, 4, 5), 7.5, np.float32)
    check.that(not apply(folder, "volume_z_norm", flat)[1].any(), "a constant volume does not become 0")
    check.that((apply(folder, "volume_rescale", flat, "--set", "min=2 max=3")[1] == 2).all(), "a constant volume does not become min")
    brain = apply(folder, "volume_cast", x, "--set", "dtype=bf16")[1]
    back = (brain.astype(np.uint32) << 16).view(np.float32)
    check.that(brain.dtype == np.uint16 and np.abs(back - x).max() <= np.abs(x).max() / 256, "bf16")


def against_scipy(check, folder):
    x = np.load(DATA / "volume" / "x.npy")
    for path in sorted((DATA / "volume").glob("*_*.npy")):
        kind, expected = path.stem.split("_")[0], np.load(path)
        shape = ",".join(map(str, expected.shape))
        y = apply(folder, f"volume_resample_{kind}", x, "--set", f"shape={shape}")[1]
        check.that(same(y, expected, 0 if kind == "nearest" else CLOSE), f"{path.name} differs")


def refusals(check, folder):
    x = np.zeros((4, 5, 6), np.float32)
    np.save(folder / "x.npy", x)
    given = ["--in", folder / "x.npy", "--out", folder / "y.npy", "--set"]
    for name, settings, sentence in (
            ("volume_crop", "start=0,0,3 shape=4,5,4", "volume_crop_or_pad pads"),
            ("volume_crop", "shape=4,5", "three numbers"),
            ("volume_crop", "axes=0", "takes no --set axes; it takes start shape"),
            ("volume_flip", "axes=3", "whole numbers of 0 to 2"),
            ("volume_flip", "axes=1,1", "twice"),
            ("volume_rot90", "axes=1", "two axes"),
            ("volume_cast", "dtype=f8", "known are f16, bf16, i16, u8"),
            ("volume_rescale", "min=x", "finite number"),
            ("volume_rescale", "min", "KEY=VALUE"),
            ("volume_z_norm", "k=1", "takes no --set k")):
        r = tomoprof("apply", name, *given, settings)
        check.that(r.returncode == 2 and sentence in r.stderr, f"{name} {settings}: {r.returncode} {r.stderr}")
    for args, sentence in ((["volume_load_nii", *given[:4]], "of its own"), (["volume_z_norm", "0"], "size"),
                           (["median_filter3d", "8x9x10"], "takes an edge"), (["volume_flip", "8", "0"], "iterations"),
                           (["volume_flip", "8", "2", "--in", folder / "x.npy"], "input that is made here"),
                           (["volume_flip", "--size", "8", "--in", folder / "x.npy"], "input is made here")):
        r = tomoprof("apply", *args)
        check.that(r.returncode == 2 and sentence in r.stderr, f"{args}: {r.returncode} {r.stderr}")


def repeated(check, folder):
    """Each --set counts, as if they were one."""
    x = np.load(DATA / "volume" / "x.npy")
    _, one = apply(folder, "volume_crop", x, "--set", "start=1,0,2 shape=3,4,5")
    r, two = apply(folder, "volume_crop", x, "--set", "start=1,0,2", "--set", "shape=3,4,5")
    check.that(two is not None and np.array_equal(one, two), f"--set twice: {r.stderr} {None if two is None else two.shape}")


def write_targets(folder):
    """Limits that everything passes, and that nothing does."""
    for i, limit in enumerate((1e-9, 1e15)):
        targets = [{"operation": "*", "measure": "input_mb_per_s", "at_least": limit}]
        write_json(folder / f"{i}.json", {"schema": "tomoprof-targets/1", "targets": targets})


def timing(check, folder):
    """SIZE and ITERATIONS, with limits that pass and that are missed."""
    write_targets(folder)
    r = tomoprof("apply", "volume_flip", 8, 3, "--gate", folder / "0.json", "--json")
    check.that(r.returncode == 0 and "pass" in r.stderr and "of 3 runs" in r.stderr, f"gate that passes: {r.stderr}")
    check.that(len(json.loads(r.stdout)["times"]) == 3, "three iterations")
    r = tomoprof("apply", "volume_flip", "--size", "9x8x7", "--iterations", 2, "--gate", folder / "1.json")
    check.that(r.returncode == 1 and "1 of 1 targets missed" in r.stderr and "9x8x7" in r.stderr, f"gate that is missed: {r.stderr}")
    r = tomoprof("apply", "volume_flip", 8, 1, "--gate", folder / "none.json")
    check.that(r.returncode != 0, "a gate that is not there")


def plausible(*args, **more):
    """The peak is measured at the start of each run: where other work had the CPU at that moment, a share above it is called implausible."""
    for _ in range(4):
        r = tomoprof(*args, **more)
        if "implausible" not in r.stderr:
            break
    return r


def pairs(check, folder):
    """Shares of the copy rate are measured in pairs, and judged with their interval. z-norm reads twice: never faster than a copy, which would be
    implausible."""
    limits = [{"operation": "volume_z_norm", "measure": "copy_share", "at_least": limit} for limit in (1e-9, 1e15)]
    write_json(folder / "pairs.json", {"schema": "tomoprof-targets/1", "targets": limits})
    found = r"\(\S+-\S+\) +>= 1e-09 of copy +pass[^$]*\(\S+-\S+\) +>= 1e\+15 of copy +missed"
    for args in (["apply", "volume_z_norm", 32, 3], ["run", "--ops", "volume_z_norm", "--sizes", 32, "--runs", 2, "--no-trace", "--no-triage", "--out", folder / "pairs"]):
        r = plausible(*args, "--gate", folder / "pairs.json")
        check.that(r.returncode == 1 and "1 of 2 targets missed" in r.stderr and re.search(found, r.stderr), f"{args[0]} with pairs: {r.stderr}")
    child = ["child-run", "--op", "volume_z_norm", "--size", 32, "--runs", 1, "--backend", "cpu", "--threads", 1, "--fd", 1]
    for more, expected in (([], 0), (["--gate", folder / "pairs.json"], 1), (["--gate", folder / "pairs.json", "--traced"], 0)):
        lines = [json.loads(line) for line in tomoprof(*child, *more).stdout.splitlines()]
        said = [line for line in lines if "pairs" in line]
        check.that(len(said) == expected and all(0 < p["low"] <= p["median"] <= p["high"] and p["pairs"] >= 9 for p in said), f"pairs {more}: {said}")


def group(check, folder):
    write_targets(folder)
    args = ["run", "--group", "volume", "--sizes", "12,7x9x20", "--runs", 2, "--out", folder / "out", "--gate"]
    r = plausible(*args, folder / "0.json", "--flamegraph", timeout=600)
    check.that(r.returncode == 0 and "missed " not in r.stderr, f"run --group volume: {r.stderr[-2000:]}")
    run = folder / "out" / "latest"
    data = json.loads((run / "timing.json").read_text())
    bad = [m["reason"] for m in data["measurements"] if m["status"] != "ok"]
    check.that(not bad, f"rows that failed: {bad[:3]}")
    names = {m["operation"] for m in data["measurements"]}
    check.that(len(names) == 18 and all(n.startswith("volume_") for n in names), f"{sorted(names)}")
    check.that({m["shape"] for m in data["measurements"]} == {None, "7x9x20"}, "shapes")
    verdicts = json.loads((run / "triage.json").read_text())["candidates"]
    check.that(len(verdicts) == 12 and all(c["verdict"] != "HIGH" for c in verdicts), f"{len(verdicts)} verdicts")
    for svg in (run / "flamegraphs").glob("*.svg"):
        check.that(svg.stem.rsplit("_", 1)[1] in ("12", "7x9x20"), f"{svg.name}: OPERATION_SIZE")
        xml.etree.ElementTree.parse(svg)
    said = re.search("without a graph .*: (.*)", r.stderr)
    left_out = said[1] if said else ""
    drawn = {svg.stem for svg in (run / "flamegraphs").glob("*.svg")}
    for name in sorted(f"{n}_{size}" for n in names for size in ("12", "7x9x20")):
        if not SANITIZED and name not in drawn and "..." not in left_out:
            check.that(name in left_out.split(", "), f"{name} has no graph, and nothing says so: {r.stderr[-1500:]}")
    r = tomoprof(*args, folder / "1.json", "--ops", "volume_flip", "--no-trace", "--no-triage")
    check.that(r.returncode == 1 and "2 of 2 targets missed" in r.stderr, f"run with a gate that is missed: {r.stderr[-600:]}")


def short_calls(check, _):
    """Short runs are several calls, with copies between them; neither happens where the run is recorded."""
    for more in ([], ["--traced"]):
        r = tomoprof("child-run", "--op", "volume_flip", "--size", 16, "--runs", 9, "--backend", "cpu", "--threads", 1, "--seed", 1, "--fd", 1, *more)
        lines = [json.loads(line) for line in r.stdout.splitlines()]
        check.that(r.returncode == 0 and [line["run"] for line in lines if "run" in line] == list(range(1, 10)), f"runs {more}: {r.stdout[-600:]} {r.stderr}")
        copies = [line["like_runs_gbytes_per_s"] for line in lines if list(line) == ["like_runs_gbytes_per_s"]]
        check.that(copies == [] if more else len(copies) == 1 and copies[0] > 0 and list(lines[-1]) == ["like_runs_gbytes_per_s"], f"copies {more}: {copies}")


def flame(check, folder):
    """One graph of every operation that has samples: a run that is long enough to have some."""
    if SANITIZED:
        return print("skipped: a program with sanitizers is not sampled")
    r = tomoprof("run", "--ops", "volume_resample_linear", "--sizes", 128, "--runs", 80, "--threads", 1, "--flamegraph", "--no-triage", "--out",
                 folder / "flame")
    svg = folder / "flame" / "latest" / "flamegraphs" / "volume_resample_linear_128.svg"
    if not check.that(r.returncode == 0 and svg.exists(), f"no {svg.name}: {r.stderr[-600:]}"):
        return
    text = svg.read_text()
    alone = "cpu_volume_step" in text and "phantom_fill" not in text and "measure_peak" not in text
    check.that(alone, f"the graph is not of the operation alone: {text[:3000]}")
    r = tomoprof("export", folder / "flame" / "latest", "--to", "svg", "--out", folder / "again")
    check.that(r.returncode == 0 and (folder / "again" / svg.name).read_text() == text, f"export --to svg: {r.stderr}")
    for sort, sentence in (("calls", "range volume_resample_linear"), ("inclusive", "by their inclusive"), ("self", "by their CPU time")):
        r = tomoprof("report", folder / "flame" / "latest", "--text", "--sort", sort)
        check.that(r.returncode == 0 and sentence in r.stdout, f"report --sort {sort}: {r.stderr}")


if __name__ == "__main__":
    main(against_numpy, against_scipy, refusals, repeated, timing, pairs, group, short_calls, flame)
