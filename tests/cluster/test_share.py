#!/usr/bin/env python3
"""apply and run by 2 and 3 ranks: the result of one rank, one table of all ranks, one run folder."""
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "pipe"))
import numpy as np
from launch import MPI, module_missing, simulate
from tool import PATIENCE, TOMOPROF, main, relative, tomoprof


def ranks(n, *words):
    return subprocess.run(["mpirun", "-n", str(n), TOMOPROF, *map(str, words)], env={**os.environ, **MPI}, capture_output=True,
                          text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)


def compared(check, folder, limit, axis, n, *words):
    """One rank's array and that of n; limit 0: the same bits. Each rank has its part, and all parts are the whole."""
    what = f"{n} ranks: {words[0]}"
    one = tomoprof("apply", *words, "--out", folder / "one.npy", "--json", timeout=PATIENCE)
    many = ranks(n, "apply", *words, "--out", folder / "many.npy", "--json")
    if not check.that(one.returncode == 0 and many.returncode == 0, f"{what}: {one.stderr} {many.stderr}"):
        return
    a, b = np.load(folder / "one.npy"), np.load(folder / "many.npy")
    check.that(np.any(a), f"{what}: nothing to compare")
    if limit:
        check.that(relative(b, a) <= limit, f"{what}: relative error {relative(b, a):.2e}")
    else:
        check.that(a.tobytes() == b.tobytes(), f"{what}: other bits, relative error {relative(b, a):.2e}")
    r = json.loads(many.stdout)
    check.that(r["shared"] == axis, f"{what}: {r['shared']} are shared, not {axis}")
    if axis:
        at = 0
        for k in r["ranks"]:
            check.that(k["first"] == at and k["count"] > 0 and k["time"] > 0, f"{what}: {r['ranks']}")
            at += k["count"]
        check.that(len(r["ranks"]) == n and at in a.shape, f"{what}: {r['ranks']} of {a.shape}")
        ours = json.loads(one.stdout)["work"]["flops"]
        # one rank of mbir counts whole iterations, several count its steps
        check.that(r["work"]["flops"] >= (0.8 if "mbir" in r["operation"] or "prox" in r["operation"] else 0.999) * ours, f"{what}: less work than one rank: {r['work']['flops']} of {ours}")
        check.that(many.stderr.count("process ") == n, f"{what}: not one table: {many.stderr}")
    else:
        check.that(many.stderr.count("not shared, the first process made all of it") == 1, f"{what}: {many.stderr}")


def same_result(check, folder):
    """Parallel beams, filters and stencils: the same bits; cone beams and MBIR: 1e-6. Sizes that no number of ranks divides."""
    for beam in ("parallel", "cone"):
        simulate(folder, beam, "--size", 23, "--views", 17, "--rows", 19)
        x, y, g = (folder / f"{beam}_{name}" for name in ("volume.npy", "sinogram.npy", "geometry"))
        g = ["--geometry", folder / f"{beam}.json"]
        np.save(folder / "w.npy", np.exp(-np.load(y)).astype(np.float32))
        few = 0 if beam == "parallel" else 1e-6
        letters = "fbp" if beam == "parallel" else "fdk"
        mbir = ["--in", y, "--iterations", 2, "--stop-threshold", 0]
        for n in (2, 3):
            compared(check, folder, 0, "slices" if beam == "parallel" else "views", n, "forward_project", *g, "--in", x)
            compared(check, folder, few, "slices", n, "back_project", *g, "--in", y)
            compared(check, folder, few, "slices", n, "hessian_diagonal", *g, "--weights", folder / "w.npy")
            compared(check, folder, few, "detector rows", n, f"{letters}_filter", *g, "--in", y)
            compared(check, folder, few, "slices", n, f"{letters}_recon", *g, "--in", y)
            compared(check, folder, few, "slices", n, "sparse_back_project", *g, "--in", y, "--subsets", 3)
            compared(check, folder, 1e-6, "slices", n, "mbir_recon", *g, *mbir, "--weights", folder / "w.npy")
        compared(check, folder, 1e-6, "slices", 2, "prox_map", *g, *mbir, "--prox", x)
        compared(check, folder, 0, None, 2, "gen_weights_mar", *g, "--in", y)
    for kind in ("translation", "multiaxis"):
        simulate(folder, kind, "--size", 23, "--views", 17, "--rows", 19)
        x, y, g = folder / f"{kind}_volume.npy", folder / f"{kind}_sinogram.npy", ["--geometry", folder / f"{kind}.json"]
        compared(check, folder, 1e-6, "views", 3, "forward_project", *g, "--in", x)
        compared(check, folder, 1e-6, "slices", 3, "back_project", *g, "--in", y)
        compared(check, folder, 1e-6, "slices", 3, "hessian_diagonal", *g)
        compared(check, folder, 1e-6, "slices", 3, "mbir_recon", *g, "--in", y, "--iterations", 2, "--stop-threshold", 0)
    g = ["--geometry", folder / "parallel.json", "--in", folder / "parallel_sinogram.npy"]
    compared(check, folder, 0, "slices", 2, "fourier_recon", *g)
    compared(check, folder, 0, "detector rows", 3, "remove_stripes_sorting", *g)
    compared(check, folder, 0, "detector rows", 3, "gen_weights_transmission", *g)
    compared(check, folder, 0, "rows of the volume", 3, "median_filter3d", "--in", folder / "parallel_volume.npy")


def timed(check, folder):
    """A SIZE: the same numbers of the result as one rank; more ranks than slices."""
    r = ranks(3, "apply", "parallel_back_project", 9, 3, "--json")
    one = tomoprof("apply", "parallel_back_project", 9, 3, "--json", timeout=PATIENCE)
    check.that(r.returncode == 0 and len(json.loads(r.stdout)["times"]) == 3, f"a SIZE by ranks: {r.stderr}")
    check.that(json.loads(r.stdout)["fingerprint"] == json.loads(one.stdout)["fingerprint"], "another result than one rank")
    np.save(folder / "thin.npy", np.random.default_rng(1).random((2, 5, 6), np.float32))
    words = ["apply", "median_filter3d", "--in", folder / "thin.npy", "--out"]
    one, many = tomoprof(*words, folder / "one.npy", timeout=PATIENCE), ranks(3, *words, folder / "many.npy")
    check.that(one.returncode == 0 and many.returncode == 0 and "nothing, there are fewer" in many.stderr, f"two rows of three: {many.stderr}")
    check.that((folder / "one.npy").read_bytes() == (folder / "many.npy").read_bytes(), "two rows by three ranks: other bits")


def errors(check, folder):
    """Told once, with the exit code of one process; nothing hangs."""
    for words in (["back_project", "--in", "a.npy", "--out", folder / "x.npy"], ["backproject", 8], ["parallel_back_project", 2],
                  ["median_filter3d", "--in", folder / "none.npy", "--out", folder / "x.npy"]):
        one, many = tomoprof("apply", *words), ranks(3, "apply", *words)
        check.that(one.returncode == many.returncode != 0, f"{words}: exit code {many.returncode}, of one process {one.returncode}")
        check.that(many.stderr.count("tomoprof: ") == 1 and one.stderr.strip() in many.stderr, f"{words}: {many.stderr}")


def suite(check, folder):
    """One folder, one table with all ranks; all results are checked as those of one process are."""
    ops = "cone_forward_project,cone_fdk_recon,parallel_mbir_recon,median_filter3d,gen_pixel_partition"
    r = ranks(2, "run", "--sizes", "16,24", "--runs", 2, "--ops", ops, "--out", folder / "out")
    check.that(r.returncode == 0, r.stderr)
    runs = [p for p in (folder / "out").iterdir() if not p.is_symlink()]
    check.that(len(runs) == 1, f"{len(runs)} run folders")
    check.that(r.stderr.count("2 processes; of each its share") == 1 and "views: 4 in " in r.stderr, f"no table of ranks: {r.stderr}")
    timing = json.loads((runs[0] / "timing.json").read_text())
    rows = timing["measurements"]
    check.that(len(rows) == 20 and all(m["status"] == "ok" for m in rows), f"{len(rows)} rows: {[m['reason'] for m in rows if m['reason']]}")
    check.that(timing["environment"]["ranks"] == 2, f"ranks: {timing['environment']}")
    check.that(all(s["roof_share"] is None for s in timing["statistics"]), "a share of the peak of one process")


reason = module_missing()
if reason:
    print(f"skipped: {reason}")
    sys.exit(77)
main(same_result, timed, errors, suite)
