"""MBIR by several processes with the emulator of a GPU in each: the result of one process."""

import os
import pathlib
import shutil
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "pipe"), str(TESTS / "cluster")]
import numpy as np
from launch import MPI, module_missing, simulate
from tool import PATIENCE, TOMOPROF, main, relative


def run(program, ranks, *words):
    launch = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    return subprocess.run([*launch, str(program), *map(str, words)], env={**os.environ, **MPI}, capture_output=True, text=True,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)


def mbir(check, folder):
    program = folder / "bin" / "device_tomoprof"
    program.parent.mkdir()
    shutil.copy(os.environ["DEVICE_TOMOPROF"], program)
    shutil.copy(pathlib.Path(TOMOPROF).parent / "libtomoprof_mpi.so", program.parent)  # it is looked for beside the program
    for beam, *more in (("parallel",), ("cone", "--weights", "transmission")):
        call = [*simulate(folder, beam, "--size", 16, "--views", 12), "--method", "mbir", "--iterations", 2, "--stop-threshold", 0,
                "--backend", "cuda", *more]
        results = []
        for ranks in (1, 3):
            r = run(program, ranks, *call, "--out", folder / "x.npy")
            if not check.that(r.returncode == 0 and "host emulator" in r.stderr, f"{beam}, {ranks} ranks: {r.returncode} {r.stderr}"):
                return
            results.append(np.load(folder / "x.npy"))
        check.that(np.any(results[0]) and relative(results[1], results[0]) <= 1e-6, f"{beam}: {relative(results[1], results[0]):.2e}")
        x, y, g = (folder / f"{beam}{end}" for end in ("_volume.npy", "_sinogram.npy", ".json"))
        words = ["apply", "prox_map", "--geometry", g, "--in", y, "--prox", x, "--iterations", 1, "--stop-threshold", 0, "--backend", "cuda"]
        one, two = (run(program, n, *words, "--out", folder / f"p{n}.npy") for n in (1, 2))
        if check.that(one.returncode == 0 and two.returncode == 0, f"{beam}: {one.stderr} {two.stderr}"):
            check.that("not shared" not in two.stderr, two.stderr)
            error = relative(np.load(folder / "p2.npy"), np.load(folder / "p1.npy"))
            check.that(error <= 1e-6, f"{beam}, prox_map: {error:.2e}")


reason = module_missing()
if reason:
    print(f"skipped: {reason}")
    sys.exit(77)
main(mbir)
