#!/usr/bin/env python3
"""The shipped batch file on a real Slurm of this machine: the bits of one process, errors once, and a job sent again."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "pipe"))
import slurm
from launch import MPI, module_missing, simulate
from tool import PATIENCE, TOMOPROF, main, tomoprof

BATCH = pathlib.Path(__file__).parents[2] / "host" / "cluster" / "jobs" / "recon.sbatch"


def batch_file(check, folder):
    (folder / "slurm").mkdir()
    call = simulate(folder, "parallel", "--size", 64)
    r = tomoprof(*call, "--out", folder / "one.nii", timeout=PATIENCE)
    check.that(r.returncode == 0, r.stderr)
    with slurm.slurm(folder / "slurm") as env:
        env = {**env, **MPI, "TOMOPROF": TOMOPROF}
        scan, geometry = call[2], call[4]
        out = folder / "ranks.nii"
        code, text = slurm.run_job(env, folder, BATCH, scan, out, "--geometry", geometry)
        check.that(code == 0, f"exit code {code}: {text}")
        check.that("2 processes" in text, f"not two ranks: {text}")
        check.that(out.exists() and out.read_bytes() == (folder / "one.nii").read_bytes(), "other bits than one process")
        code, text = slurm.run_job(env, folder, BATCH, folder / "none.h5", out)
        check.that(code != 0 and text.count("tomoprof: ") == 1, f"a scan that is not there: {code} {text}")
        code, text = slurm.run_job(env, folder, BATCH)
        check.that(code == 2 and "needs a scan" in text, f"no scan: {code} {text}")


reason = slurm.missing() or module_missing()
if reason:
    print(f"skipped: {reason}")
    sys.exit(77)
main(batch_file)
