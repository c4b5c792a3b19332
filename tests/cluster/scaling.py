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


def held_rows(n, ranks):
    """First row and end of what each slab of n slices meets on n rows: source 2 n from the axis, radius n/2, rows as wide as voxels there."""
    near, far = 2 / 1.5, 2 / 2.5

    def edge(z, outwards):
        return min(n, max(0, round(n / 2 + z * (near if outwards else far))))
    rows = []
    for r in range(ranks):
        low, high = -n / 2 + n * r / ranks, -n / 2 + n * (r + 1) / ranks
        rows.append((edge(low, low < 0), edge(high, high > 0)))
    return rows


def owned_rows(n, rows):
    """host/cluster/shares.c: each rank owns as many copies of rows as any other."""
    holders = [sum(a <= k < b for a, b in rows) for k in range(n)]
    total, at, held, first, owned = sum(holders), 0, 0.0, 0, []
    for r, (_, mine_end) in enumerate(rows):
        while at < n and held + holders[at] / 2 < total * (r + 1) / len(rows):
            held += holders[at]
            at += 1
        end = max(rows[r + 1][0], min(at, mine_end)) if r + 1 < len(rows) else n
        owned.append((first, max(first, end)))
        first = max(first, end)
    return owned


def exchanged(n, ranks):
    """Of all rows: what the busiest rank sends for one projection in three ways, what a rank holds, how many partners it has."""
    rows = held_rows(n, ranks)
    owned = owned_rows(n, rows)

    def common(a, b):
        return max(0, min(a[1], b[1]) - max(a[0], b[0]))
    others = [[q for q in range(ranks) if q != r] for r in range(ranks)]
    width = [b - a for a, b in rows]
    pairs = max(sum(common(rows[r], rows[q]) for q in others[r]) for r in range(ranks))
    owners = max(width[r] - common(rows[r], owned[r]) + sum(common(owned[r], rows[q]) for q in others[r]) for r in range(ranks))
    views = max(width[r] * (ranks - 1) / ranks + sum(width[q] for q in others[r]) / ranks for r in range(ranks))
    partners = max(sum(common(rows[r], owned[q]) > 0 or common(owned[r], rows[q]) > 0 for q in others[r]) for r in range(ranks))
    return pairs / n, owners / n, views / n, max(width) / n, partners


def ways(n, views):
    """Three ways to add projections of cone beams, and the memory of each."""
    gib = 4 * views * n * n / 2**30
    print(f"| ranks | each pair, GiB | by rows, GiB | by views, GiB | held by rows, GiB | by views, GiB |\n|---|---|---|---|---|---|")
    for ranks in (2, 4, 8, 32, 128, 512, 1024):
        pairs, owners, by_views, held, _ = exchanged(n, ranks)
        print(f"| {ranks} | {pairs * gib:.3g} | {owners * gib:.3g} | {by_views * gib:.3g} | {3 * held * gib:.3g} | {(2 / ranks + held) * gib:.3g} |")


def predicted(alpha, beta, rates, label):
    """Seconds on paper; `rates`: voxel updates per second of a rank, forward or back."""
    print(f"\n{label}: {1e6 * alpha:.2g} us and {1e-9 * beta:.2g} GB/s.\n")
    print("| problem | ranks | GiB a rank | fbp, s | parallel mbir iteration, s | of it messages | cone mbir, GiB a rank | iteration, s | of it messages |\n"
          "|---|---|---|---|---|---|---|---|---|")
    for n in (2048, 4096):
        views = n * 3 // 4
        for ranks in (8, 32, 128, 512, 1024):
            slices = n / ranks
            gib = 4 * (views * n * slices + n * n * slices) / 2**30
            back = n * n * slices * views / rates["back"]
            subsets, pixels = 128, n * n / 128
            compute = 3.1 * back
            messages = subsets * (3 * alpha * math.log2(ranks) + 2 * (alpha + 4 * pixels / beta))
            _, owners, _, held, partners = exchanged(n, ranks)
            shared = subsets * 2 * (partners * alpha) + subsets * views * n * n * owners * 4 / beta
            cone_gib = 4 * (3 * views * n * n * held + n * n * slices) / 2**30
            cone = 4 * compute + messages + shared
            print(f"| {n}^3, {views} views | {ranks} | {gib:.3g} | {back:.3g} | {compute + messages:.3g} | {100 * messages / (compute + messages):.0f} % | "
                  f"{cone_gib:.3g} | {cone:.3g} | {100 * (messages + shared) / cone:.0f} % |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        measured(folder, arguments.size, arguments.repeat)
        ways(2048, 1536)
        alpha, beta = fit(folder)
        predicted(alpha, beta, {"back": 15e9}, "On paper, with the messages of this machine and 15 G updates/s a rank")
        predicted(2e-6, 12.5e9, {"back": 300e9}, "On paper, with a network of 2 us and 100 Gbit/s and 300 G updates/s a rank (a GPU)")


if __name__ == "__main__":
    main()
