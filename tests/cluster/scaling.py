#!/usr/bin/env python3
"""How recon scales over ranks: measured with 1 to 4 on this machine, and what the counted messages and a fitted model of them say for
more. On request:

    TOMOPROF=build/tomoprof python3 tests/cluster/scaling.py [--size 128] [--repeat 3]

Prints Markdown (docs/internals/cluster.md has the last one). Two CPUs cannot show the speed of four ranks: what they show is the work
that is done twice, the bytes and the messages."""
import argparse
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "pipe"))
from launch import MPI, simulate
from tool import TOMOPROF

TARGETS = pathlib.Path(__file__).parent / "targets"
ENVIRONMENT = {**os.environ, **MPI}
METHODS = (("parallel", "fbp"), ("cone", "fdk"), ("parallel", "mbir"), ("cone", "mbir"))


def run(ranks, words):
    words = ([] if ranks == 1 else ["mpirun", "-n", str(ranks)]) + [TOMOPROF, *map(str, words)]
    r = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if r.returncode:
        sys.exit(r.stderr)
    seconds = float(re.search(r" in ([0-9.e+-]+) s on", r.stderr).group(1))
    other = re.search(r"spent ([0-9.e+-]+) of .* and sent (\S+ \S+) in (\d+) messages", r.stderr)
    return seconds, (float(other.group(1)), other.group(2), int(other.group(3))) if other else (0.0, "0 B", 0)


def measured(folder, size, repeat):
    """Strong: one scan over 1, 2, 4 ranks; weak: slices times ranks."""
    print(f"| method | scan | ranks | s, median | speed-up | first rank in messages, s | it sent | messages |\n|---|---|---|---|---|---|---|---|")
    for beam, method in METHODS:
        for weak in (False, True):
            base = None
            for ranks in (1, 2, 4):
                rows = size * ranks // 2 if weak else size
                name = f"{beam}{rows}"
                words = ("--size", size, "--views", size, "--rows", rows)
                call = simulate(folder / name, beam, *words) if (folder / name).mkdir() is None else None
                call += ["--method", method, "--out", folder / name / "x.nii"]
                call += ["--iterations", 2, "--stop-threshold", 0] if method == "mbir" else []
                call += ["--resume"] if ranks == 1 and method != "mbir" else []  # with reading and writing, as ranks are timed
                got = [run(ranks, call) for _ in range(repeat)]
                seconds = statistics.median(s for s, _ in got)
                base = base or seconds
                other = got[0][1]
                speed = base / seconds * (ranks if weak else 1)
                print(f"| {method} {beam} | {size} views of {rows} x {size}{', weak' if weak else ''} | {ranks} | {seconds:.3g} | {speed:.2f} | "
                      f"{other[0]:.2g} | {other[1]} | {other[2]} |")
                for f in (folder / name).iterdir():
                    f.unlink()
                (folder / name).rmdir()


def fit(folder):
    """alpha + bytes / beta by least squares of relative errors on the least times."""
    program = folder / "pingpong"
    subprocess.run(["mpicc", "-O2", "-o", str(program), str(TARGETS / "pingpong.c")], check=True)
    text = subprocess.run(["mpirun", "-n", "2", "--bind-to", "core", str(program)], env={**ENVIRONMENT, "OMPI_MCA_mpi_yield_when_idle": "0"},
                          capture_output=True, text=True, check=True).stdout
    points = [(int(b), float(s)) for b, s in re.findall(r"message (\d+) ([0-9.]+)", text)]
    a = [sum(1 / s**2 for _, s in points), sum(b / s**2 for b, s in points), sum(b * b / s**2 for b, s in points)]
    y = [sum(1 / s for _, s in points), sum(b / s for b, s in points)]
    determinant = a[0] * a[2] - a[1] ** 2
    alpha, inverse = (y[0] * a[2] - y[1] * a[1]) / determinant, (a[0] * y[1] - a[1] * y[0]) / determinant
    alpha = max(alpha, points[0][1] / 2)
    reduce_s = float(re.search(r"allreduce ([0-9.]+)", text).group(1))
    print(f"\nMessages between two ranks: {1e6 * alpha:.2g} us and {1e-9 / inverse:.2g} GB/s; Allreduce of one number by two: {1e6 * reduce_s:.2g} us.\n")
    return alpha, 1 / inverse


def predicted(alpha, beta, rates, label):
    """Seconds on paper; `rates`: voxel updates per second of a rank, forward or back."""
    print(f"\n{label}: {1e6 * alpha:.2g} us and {1e-9 * beta:.2g} GB/s.\n")
    print("| problem | ranks | GiB a rank | fbp, s | parallel mbir iteration, s | of it messages | cone mbir iteration, s | of it messages |\n"
          "|---|---|---|---|---|---|---|---|")
    for n in (2048, 4096):
        views = n * 3 // 4
        for ranks in (8, 32, 128, 512, 1024):
            slices = n / ranks
            gib = 4 * (views * n * slices + n * n * slices) / 2**30
            back = n * n * slices * views / rates["back"]
            subsets, pixels = 128, n * n / 128
            compute = 3.1 * back
            messages = subsets * (3 * alpha * math.log2(ranks) + 2 * (alpha + 4 * pixels / beta))
            # Source to axis 2 n: slices at height z meet rows between z (1 - 1/4) and z (1 + 1/4) times the magnification, so that two
            # neighbours share 2 * 1/4 * n/4 rows on the mean, and each rank shares with all within that distance.
            rows, partners = n / 8, max(1, ranks / 8)
            shared = subsets * 2 * (partners * alpha + views * n * min(rows, 2 * n / ranks * partners) * 4 / beta)
            cone = 4 * compute + messages + shared
            print(f"| {n}^3, {views} views | {ranks} | {gib:.3g} | {back:.3g} | {compute + messages:.3g} | {100 * messages / (compute + messages):.0f} % | "
                  f"{cone:.3g} | {100 * (messages + shared) / cone:.0f} % |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        measured(folder, arguments.size, arguments.repeat)
        alpha, beta = fit(folder)
        predicted(alpha, beta, {"back": 15e9}, "On paper, with the messages of this machine and 15 G updates/s a rank")
        predicted(2e-6, 12.5e9, {"back": 300e9}, "On paper, with a network of 2 us and 100 Gbit/s and 300 G updates/s a rank (a GPU)")


if __name__ == "__main__":
    main()
