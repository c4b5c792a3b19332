#!/usr/bin/env python3
"""Fourier reconstruction beside our FBP and that of algotom, scikit-image and ASTRA, on the same sinograms of ellipses:

    tests/peers/fourier.py PROGRAM [--sizes 256x192,512x400,1024x750,2048x1500] [--slices 16] [--seconds 120] [--threads N]

PROGRAM: tomoprof. Packages that Python cannot import are left out, with a line that says so. Every method runs three times where
--seconds allow, the first alone where not; the table has the shortest time per slice, the error relative to the phantom (mean of 4 x 4 points
a pixel) inside the circle, and the difference from our FBP. tomoprof says the time of the operation itself; the others are timed around their call,
arrays in memory. scikit-image turns about pixel n / 2, half a pixel from the others' axis: part of its error."""

import argparse
import importlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np

# centre, half axes (of half the width), angle, value
ELLIPSES = [(0, 0, 0.9, 0.8, 0, 1.0), (0.2, 0.25, 0.2, 0.3, 0.4, 0.5), (-0.3, 0.1, 0.15, 0.1, 1.1, -0.4), (-0.1, -0.4, 0.3, 0.05, 0.3, 0.3)]


def sinogram(n, angles):
    u = np.arange(n) - (n - 1) / 2
    y = np.zeros((len(angles), n))
    for k, angle in enumerate(angles):
        c, s = np.cos(angle), np.sin(angle)
        for x0, y0, a, b, turn, value in ELLIPSES:
            along, across = c * np.cos(turn) - s * np.sin(turn), -c * np.sin(turn) - s * np.cos(turn)
            width = (a * along) ** 2 + (b * across) ** 2
            inside = width * (n / 2) ** 2 - (u - (c * x0 - s * y0) * n / 2) ** 2
            y[k] += value * 2 * a * b * np.sqrt(np.maximum(inside, 0)) / width
    return y.astype(np.float32)


def phantom(n):
    total = np.zeros((n, n), np.float32)
    for i in range(4):
        for j in range(4):
            x, y = np.meshgrid((np.arange(n) + (j + 0.5) / 4 - n / 2) / (n / 2), (np.arange(n) + (i + 0.5) / 4 - n / 2) / (n / 2))
            for x0, y0, a, b, turn, value in ELLIPSES:
                p, q = (x - x0) * np.cos(turn) + (y - y0) * np.sin(turn), (y - y0) * np.cos(turn) - (x - x0) * np.sin(turn)
                total += value / 16 * ((p / a) ** 2 + (q / b) ** 2 < 1)
    return total


def ours(program, operation, folder, threads):
    words = [program, "apply", operation, "--geometry", folder / "g.json", "--in", folder / "y.npy", "--out", folder / "x.npy", "--json"]
    done = subprocess.run([*words, *(["--threads", str(threads)] if threads else [])], capture_output=True, text=True, check=True, timeout=3600)
    return np.load(folder / "x.npy")[..., 0], json.loads(done.stdout)["time"]


def timed(function):
    start = time.perf_counter()
    return function(), time.perf_counter() - start


def skimage_fbp(y, angles):
    from skimage.transform import iradon

    return iradon(y.T.astype(np.float32), theta=np.degrees(angles), filter_name="ramp", circle=True)


def algotom_dfi(y, angles):
    from algotom.rec.reconstruction import dfi_reconstruction

    return dfi_reconstruction(y, (y.shape[1] - 1) / 2, angles=angles, ratio=1.0, apply_log=False)


def algotom_fbp(y, angles):
    from algotom.rec.reconstruction import fbp_reconstruction

    return fbp_reconstruction(y, (y.shape[1] - 1) / 2, angles=angles, ratio=1.0, apply_log=False, gpu=False)


def astra_fbp(y, angles):
    import astra

    n = y.shape[1]
    volume, beams = astra.create_vol_geom(n, n), astra.create_proj_geom("parallel", 1.0, n, angles)
    projector = astra.create_projector("linear", beams, volume)
    ids = astra.data2d.create("-sino", beams, y), astra.data2d.create("-vol", volume)
    config = {"type": "FBP", "ProjectorId": projector, "ProjectionDataId": ids[0], "ReconstructionDataId": ids[1], "option": {"FilterType": "Ram-Lak"}}
    algorithm = astra.algorithm.create(config)
    astra.algorithm.run(algorithm)
    x = astra.data2d.get(ids[1])
    astra.algorithm.delete(algorithm)
    astra.data2d.delete(list(ids))
    astra.projector.delete(projector)
    return x


PEERS = [("algotom", "dfi (Fourier)", algotom_dfi), ("algotom", "fbp", algotom_fbp), ("skimage", "iradon", skimage_fbp), ("astra", "FBP, linear, CPU", astra_fbp)]


def nearest(x, truth):
    """Packages turn and mirror as they like, and scale: the orientation with the least error, and the factor that fits."""
    choices = []
    for mirrored in (x, x[:, ::-1]):
        for turns in range(4):
            z = np.rot90(mirrored, turns)
            factor = (z * truth).sum() / (z * z).sum()
            choices.append((np.linalg.norm(factor * z - truth) / np.linalg.norm(truth), factor * z))
    return min(choices, key=lambda c: c[0])


def size(program, n, views, slices, seconds, threads):
    angles = np.linspace(0, np.pi, views, endpoint=False).astype(np.float32).astype(float)
    y, truth = sinogram(n, angles), phantom(n)
    i = np.arange(n) - (n - 1) / 2
    circle = i[:, None] ** 2 + i[None, :] ** 2 <= ((n - 1) / 2) ** 2
    truth = truth * circle
    rows = []

    def row(name, run, per):
        best, spent, x = None, 0.0, None
        for _ in range(3):
            x, took = run()
            best, spent = min(took, best or took), spent + took
            if spent + took > seconds:
                break
        error, x = nearest(x * circle, truth)
        rows.append((name, best / per, error, x))
        away = np.linalg.norm(x - rows[0][3]) / np.linalg.norm(rows[0][3])
        print(f"| {n} x {views} | {name} | {1e3 * best / per:.1f} | {rows[0][1] / (best / per):.2f} | {error:.5f} | {away:.1e} |", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "y.npy", np.repeat(y[:, None, :], slices, 1))
        (folder / "g.json").write_text(json.dumps({"geometry": "parallel", "sinogram_shape": [views, slices, n], "angles": angles.tolist()}))
        for operation in ("parallel_fbp_recon", "parallel_fourier_recon"):
            row(f"tomoprof {operation}", lambda op=operation: ours(program, op, folder, threads), slices)
    for module, name, function in PEERS:
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"| {n} x {views} | {module} {name} | cannot be imported: {error} | | | |")
            continue
        row(f"{module} {name}", lambda f=function: timed(lambda: f(y, angles)), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--sizes", default="256x192,512x400,1024x750,2048x1500")
    parser.add_argument("--slices", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=120, help="for one method at one size, after its first run")
    parser.add_argument("--threads", type=int)
    asked = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {asked.slices} slices (peers: one at a time)\n")
    print("| channels x views | method | ms a slice | speed over our FBP | error | from our FBP |\n|---|---|---|---|---|---|")
    for text in asked.sizes.split(","):
        n, views = map(int, text.split("x"))
        size(asked.program, n, views, asked.slices, asked.seconds, asked.threads)


if __name__ == "__main__":
    main()
