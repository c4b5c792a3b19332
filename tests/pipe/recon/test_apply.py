"""`tomoprof apply`: every golden array of MBIRJAX 0.7.3 through the command line, the same bits for any number of threads,
what --json says, MBIRJAX's random partitions, and peak memory."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, EMULATED, SANITIZED, SLOW, TOMOPROF, main, relative, share, tomoprof, write_json

SINGLE, ITERATED = 1e-5, 1e-4
GOLDENS = sorted(p for p in (DATA / "goldens").iterdir() if p.is_dir())


def inputs(folder, name):
    """Options that give an operation the inputs of a golden folder."""
    if name == "median_filter3d":
        return ["--in", folder / "median_filter3d.in.npy"]
    if name == "qggmrf_denoise":
        return ["--in", folder / "qggmrf_denoise.in.npy", "--seed", 7, "--iterations", 5, "--stop-threshold", 0]
    args = ["--geometry", folder / "geometry.json"]
    if "partition" in name:
        return args + ["--seed", 7, "--subsets", 4]
    if "hessian" in name:
        return args + ["--weights", folder / "weights.npy"]
    args += ["--in", folder / ("volume.npy" if "forward" in name else "sinogram.npy")]
    if "sparse" in name:
        args += ["--seed", 7, "--subsets", 4]
    if name.endswith("_init"):
        args += ["--init", folder / "volume.npy"]
    if name.endswith("prox_map"):
        args += ["--prox", folder / "volume.npy"]
    if "mbir" in name:
        args += ["--iterations", 3]
    if "mbir" in name or "prox" in name:
        args += ["--weights", folder / "weights.npy", "--seed", 7, "--stop-threshold", 0]
    return args


def goldens(check, folder):
    worst = {}
    for index, golden in share(enumerate(GOLDENS)):
        for path in sorted(golden.glob("*.out.npy")):
            name = path.name[: -len(".out.npy")]
            # Every second folder by the short name: forward_project for parallel_forward_project.
            name = name.removesuffix("_init")
            short = index % 2 and name.startswith(("parallel_", "cone_", "translation_", "multiaxis_"))
            called = name.split("_", 1)[1] if short else name
            out = folder / "y.npy"
            r = tomoprof("apply", called, *inputs(golden, path.name[: -len(".out.npy")]), "--out", out, "--json")
            if not check.that(r.returncode == 0, f"{golden.name} {called}: {r.stderr}"):
                continue
            y, expected = np.load(out), np.load(path)
            same = y.shape == expected.shape and y.dtype == expected.dtype
            check.that(same, f"{golden.name} {name}: {y.dtype} {y.shape}, not {expected.dtype} {expected.shape}")
            limit = ITERATED if "mbir" in name or "prox" in name or "denoise" in name else SINGLE
            limit = 0 if "partition" in name else limit
            error = relative(y, expected) if same else np.inf
            check.that(error <= limit, f"{golden.name} {name}: relative l2 error {error:.3g} > {limit}")
            worst[name] = max(worst.get(name, 0), error)
            if y.dtype == np.float32:
                check_json(check, golden, name, json.loads(r.stdout), y)
            out.unlink()
    for name, error in sorted(worst.items()):
        print(f"  {name:28} worst {error:.2e}")
    check.that(len(worst) == 41 or (worst and "TP_SHARE" in os.environ), f"goldens of {len(worst)} operations, not of 41")


def check_json(check, golden, name, said, y):
    where = f"{golden.name} {name} --json"
    check.that(said["operation"] == name, f"{where}: operation {said['operation']}")
    check.that(said["shape"] == list(y.shape), f"{where}: shape {said['shape']}")
    check.that(0 < said["time"] < 600 and said["work"]["bytes_min"] > 0, f"{where}: {said['time']} {said['work']}")
    y = y.astype(np.float64)
    f = said["fingerprint"]
    check.that(np.isclose(f["l2"], np.linalg.norm(y), rtol=1e-9), f"{where}: l2 {f['l2']} {np.linalg.norm(y)}")
    check.that(abs(f["sum"] - y.sum()) <= 1e-9 * np.abs(y).sum(), f"{where}: sum {f['sum']} {y.sum()}")
    check.that((f["min"], f["max"]) == (y.min(), y.max()), f"{where}: min, max {f}")
    info = json.loads((golden / "info.json").read_text()) if (golden / "info.json").exists() else {}
    p = said["parameters"]
    for key in ("recon_shape", "delta_voxel", "recon_slice_offset"):
        if key in info and p and key in p:
            check.that(np.allclose(p[key], info[key], rtol=1e-7), f"{where}: {key} {p[key]}, not {info[key]}")
    m = said["mbir"]
    check.that((m is not None) == ("mbir" in name or "prox" in name), f"{where}: mbir is {m}")
    if m:
        for key in ("sigma_y", "sigma_x", "sigma_prox"):
            check.that(np.isclose(m[key], info[key], rtol=1e-5), f"{where}: {key} {m[key]}, not {info[key]}")
        check.that(m["iterations"] == 3 and all(len(m[k]) == 3 for k in ("fm_rmse", "change_percent", "alpha", "subsets")),
                   f"{where}: {m}")


def repeated(check, folder):
    """--repeat: as many times, their median, the result of one run although FDK's filter works in place, no --out needed."""
    golden = DATA / "goldens" / "cone_offsets"
    words = ["apply", "fdk_recon", *inputs(golden, "cone_fdk_recon"), "--json"]
    once = json.loads(tomoprof(*words, "--out", folder / "once.npy").stdout)
    again = json.loads(tomoprof(*words, "--repeat", 3).stdout)
    check.that(once["times"] == [] and once["time"] == once["first_time"], f"one run: {once['times']}, {once['time']}")
    check.that(len(again["times"]) == 3 and again["time"] == sorted(again["times"])[1], f"median of {again['times']}: {again['time']}")
    check.that(again["fingerprint"] == once["fingerprint"], f"repeated: {again['fingerprint']}, once {once['fingerprint']}")
    missing = tomoprof("apply", "fdk_recon", *inputs(golden, "cone_fdk_recon"))
    check.that(missing.returncode == 2 and "needs --out FILE" in missing.stderr, f"no --out: {missing.stderr}")


def times_have_units(check, folder):
    done = tomoprof("apply", "median_filter3d", 16, 3, "--json")
    times = json.loads(done.stdout)["times"]
    said = re.search(r": median ([\d.]+) (\w+), mean [\d.]+ \w+, min [\d.]+ \w+, p95 [\d.]+ \w+, cv ", done.stderr)
    check.that(said and abs(float(said[1]) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[said[2]] / sorted(times)[1] - 1) < 0.01, f"{done.stderr} {times}")


def same_bits(check, folder):
    """Not under the sanitizers, for which operators/test_determinism runs each operation at these numbers of threads."""
    for golden in (DATA / "goldens" / "par_offset_pitch", DATA / "goldens" / "cone_offsets"):
        for path in share(sorted(golden.glob("*.out.npy"))):
            name = path.name[: -len(".out.npy")]
            results = []
            for threads in (1, 2, 7, 7):
                r = tomoprof("apply", name.removesuffix("_init"), *inputs(golden, name), "--out", folder / "y.npy", "--threads", threads)
                check.that(r.returncode == 0, f"{name} --threads {threads}: {r.stderr}")
                results.append((folder / "y.npy").read_bytes())
            check.that(len(set(results)) == 1, f"{golden.name} {name}: other bits at 1, 2 and 7 threads")


def quiet(check, folder):
    golden = DATA / "goldens" / "par_plain_odd"
    r = tomoprof("apply", "forward_project", *inputs(golden, "forward_project"), "--out", folder / "y.npy")
    check.that(r.returncode == 0 and r.stdout == "", f"stdout without --json: {r.stdout!r}")
    check.that(os.listdir(folder) == ["y.npy"], f"files left: {os.listdir(folder)}")


def defaults(check, folder):
    """No weights are weights of one; a given initial volume is used."""
    golden = DATA / "goldens" / "par_plain_odd"
    w = np.load(golden / "weights.npy")
    np.save(folder / "ones.npy", np.ones_like(w))
    common = ["--geometry", golden / "geometry.json"]
    for name, args in (("hessian_diagonal", []),
                       ("mbir_recon", ["--in", golden / "sinogram.npy", "--iterations", 2, "--seed", 3])):
        results = []
        for weights in ([], ["--weights", folder / "ones.npy"]):
            r = tomoprof("apply", name, *common, *args, *weights, "--out", folder / "x.npy")
            check.that(r.returncode == 0, f"{name} {weights}: {r.stderr}")
            results.append(np.load(folder / "x.npy"))
        check.that(relative(results[0], results[1]) < 1e-6, f"{name}: no weights are not ones")
    start = np.full(results[0].shape, 0.25, np.float32)
    np.save(folder / "start.npy", start)
    r = tomoprof("apply", "mbir_recon", *common, "--in", golden / "sinogram.npy", "--iterations", 1, "--init",
                 folder / "start.npy", "--out", folder / "x.npy", "--json")
    check.that(r.returncode == 0, f"--init: {r.stderr}")
    x = np.load(folder / "x.npy")
    check.that(json.loads(r.stdout)["mbir"]["initial_scale"] == 1, "--init: the scale is fitted")
    check.that((x[0, 0] == 0.25).all(), "--init: voxels outside the region of reconstruction changed")


def numpy_partition(pixels, subsets, seed):
    """MBIRJAX's gen_pixel_partition (operators: random permutation, extras drawn without replacement, rows sorted)."""
    np.random.seed(seed)
    subsets = min(subsets, len(pixels))
    length = -(-len(pixels) // subsets)
    if subsets == 1:
        return pixels[None]
    order = np.random.permutation(pixels)
    extra = np.random.choice(order[: (subsets - 1) * length], size=subsets * length - len(pixels), replace=False)
    return np.sort(np.concatenate([order, extra]).reshape(subsets, length), axis=1)


def partitions(check, folder):
    g = write_json(folder / "g.json", {"geometry": "parallel", "sinogram_shape": [3, 2, 21], "angles": [0, 1, 2]})
    i = np.arange(21) - 10
    inside = np.flatnonzero(((i[None] / 10) ** 2 + (i[:, None] / 10) ** 2 <= 1).ravel()).astype(np.int32)
    for subsets, seed in ((1, 0), (4, 42), (7, 42), (128, 7), (100000, 1)):
        out = folder / "p.npy"
        r = tomoprof("apply", "gen_pixel_partition", "--geometry", g, "--subsets", subsets, "--seed", seed, "--out", out)
        if check.that(r.returncode == 0, f"gen_pixel_partition {subsets}: {r.stderr}"):
            p, expected = np.load(out), numpy_partition(inside, subsets, seed)
            check.that(p.dtype == np.int32 and np.array_equal(p, expected), f"{subsets} subsets, seed {seed}: other pixels")


# A process of its own, because Linux counts what a process held before it became another program: NumPy, here.
MEASURE = """import os, sys
pid = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(status != 0)"""


def peak_memory(check, folder):
    """Resident memory of single operators at 256^3, the process itself included: at most input + output + 25 %."""
    if SANITIZED:
        print("  skipped: the sanitizers' shadow memory counts as resident")
        return
    if EMULATED:
        print("  skipped: the emulator's memory counts with the program's")
        return
    n = 256
    rng = np.random.default_rng(0)
    volume, sinogram = 4 * n**3, 4 * n**3 // 2
    np.save(folder / "x.npy", rng.random((n, n, n), dtype=np.float32))
    np.save(folder / "y.npy", rng.random((n // 2, n, n), dtype=np.float32))
    parallel = {"geometry": "parallel", "sinogram_shape": [n // 2, n, n], "angles": list(np.linspace(0, 3.1, n // 2))}
    write_json(folder / "parallel.json", parallel)
    write_json(folder / "cone.json", {**parallel, "geometry": "cone", "source_detector_dist": 4 * n,
                                      "source_iso_dist": 2 * n})
    cases = [("median_filter3d", None, "x", 2 * volume)]
    for beam, letters in (("parallel", "fbp"), ("cone", "fdk")):
        cases += [("forward_project", beam, "x", volume + sinogram), ("back_project", beam, "y", volume + sinogram),
                  ("hessian_diagonal", beam, "y", volume + sinogram), (letters + "_filter", beam, "y", 2 * sinogram),
                  (letters + "_recon", beam, "y", volume + sinogram)]
    for name, beam, source, arrays in cases:
        args = ["--weights" if "hessian" in name else "--in", folder / f"{source}.npy", "--out", folder / "out.npy"]
        args += ["--geometry", folder / f"{beam}.json"] if beam else []
        args += ["--threads", 2]  # tiles are per thread: many threads are another, smaller share of a larger problem
        r = subprocess.run([sys.executable, "-S", "-c", MEASURE, TOMOPROF, "apply", name, *map(str, args)], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300 * SLOW)
        if not check.that(r.returncode == 0, f"{name} {beam}: {r.stderr}"):
            continue
        peak = 1024 * int(r.stdout)
        print(f"  {beam or '':8} {name:18} {peak / 2**20:6.1f} MiB, {peak / arrays:.3f} of input + output")
        check.that(peak <= 1.25 * arrays, f"{name} {beam}: {peak} bytes resident, {arrays} of input + output")


if __name__ == "__main__":
    main(goldens, *([] if SANITIZED else [same_bits]), *share([repeated, times_have_units, quiet, defaults, partitions, peak_memory]))
