"""MBIR by several processes with the emulator of a GPU in each: the result of one process. MPI is given a GPU's memory where it says
that it reads it, and only there."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "pipe"), str(TESTS / "cluster")]
import numpy as np
from launch import MPI, module_missing, simulate
from tool import PATIENCE, TOMOPROF, loadable, main, relative


def run(program, ranks, *words, says=None):
    """says: what MPI answers when it is asked whether it reads a GPU's memory."""
    launch = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    if says:
        launch += ["-x", f"LD_PRELOAD={loadable(os.environ['MPI_SAYS'])}", "-x", f"TP_MPI_READS_DEVICES={says}"]
    return subprocess.run([*launch, str(program), *map(str, words)], env={**os.environ, **MPI}, capture_output=True, text=True,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)


def moved(text):
    """(how much, how) of what the first process says of its GPU's memory."""
    found = re.findall(r"of its GPU's memory (.*) were sent or received (straight|by copies)", text)
    return found[0] if len(found) == 1 else found


def mbir(check, folder):
    program = folder / "bin" / "device_tomoprof"
    program.parent.mkdir()
    shutil.copy(os.environ["DEVICE_TOMOPROF"], program)
    shutil.copy(pathlib.Path(TOMOPROF).parent / "libtomoprof_mpi.so", program.parent)  # it is looked for beside the program
    for beam, *more in (("parallel",), ("cone", "--weights", "transmission")):
        call = [*simulate(folder, beam, "--size", 16, "--views", 12), "--method", "mbir", "--iterations", 2, "--stop-threshold", 0,
                "--backend", "cuda", *more]
        results, amounts = [], []
        for ranks, says, how in ((1, None, None), (3, "0", "by copies"), (3, "1", "straight")):
            r = run(program, ranks, *call, "--out", folder / "x.npy", says=says)
            if not check.that(r.returncode == 0 and "host emulator" in r.stderr, f"{beam}, {ranks} ranks: {r.returncode} {r.stderr}"):
                return
            results.append(np.load(folder / "x.npy"))
            said = moved(r.stderr)
            check.that(said[1] == how if how else not said, f"{beam}, {ranks} ranks, {how}: {said}, {r.stderr}")
            amounts.append(said and said[0])
            given = [int(n) > 0 for n in re.findall(r"MPI was given (\d+) bytes of device memory", r.stderr)]
            check.that(given == [says == "1"] * (ranks if says else 0), f"{beam}, {ranks} ranks, {how}: {r.stderr}")
        check.that(amounts[1] == amounts[2] and np.array_equal(results[1], results[2]), f"{beam}: copies change it: {amounts}")
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
