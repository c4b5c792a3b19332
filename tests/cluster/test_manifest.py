#!/usr/bin/env python3
"""The command of the shipped Kubernetes job, as its four pods run it: the parts of the volume that one process makes. A pod that is
started again goes on."""
import os
import pathlib
import re
import subprocess
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "pipe"))
import numpy as np
from launch import simulate
from tool import PATIENCE, TOMOPROF, have, main, tomoprof

JOB = pathlib.Path(__file__).parents[2] / "host" / "cluster" / "jobs" / "recon.yaml"
ROWS, CENTER = 512, 9.5  # the number of rows is that of the file, the axis is the scan's


def script(folder):
    """(words before the script, the script with its folder of scans)."""
    text = JOB.read_text()
    command = re.search(r"command: \[(.*)\]", text)[1]
    block = re.search(r"args:\n +- \|\n((?: {14}.*\n)+)", text)[1]
    block = re.sub(r"\bcenter=\S+", f"center={CENTER}", textwrap.dedent(block))
    return re.findall(r'"([^"]*)"', command), block.replace("/scans/", f"{folder}/")


def pods(check, folder):
    if not have("hdf5"):
        return
    simulate(folder, "parallel", "--size", 20, "--rows", ROWS, "--views", 12)
    (folder / "parallel.h5").rename(folder / "scan.h5")
    r = tomoprof("recon", "--in", folder / "scan.h5", "--center", CENTER, "--out", folder / "whole.nii", timeout=PATIENCE)
    check.that(r.returncode == 0, r.stderr)
    words, text = script(folder)
    check.that(re.search(r"rows=(\d+)", text)[1] == str(ROWS), text)
    for index in (0, 1, 2, 3, 3):
        env = {**os.environ, "JOB_COMPLETION_INDEX": str(index), "PATH": f"{pathlib.Path(TOMOPROF).parent}:{os.environ['PATH']}"}
        r = subprocess.run([*words, text], env=env, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        check.that(r.returncode == 0, f"pod {index}: {r.stderr}")
    parts = [np.fromfile(folder / f"volume-{i}.nii", np.float32, offset=352) for i in range(4)]
    whole = np.fromfile(folder / "whole.nii", np.float32, offset=352)
    check.that(np.any(whole) and np.array_equal(np.concatenate(parts), whole), "other numbers than one process")


main(pods)
