"""What `load --sweep medium` recommends for two files as laboratories have them, and what that gains when it is applied.

    python3 tests/peers/tune.py --program BUILD/tomoprof --python VENV/bin/python --folder DIR [--pairs 9] [--markdown FILE]

VENV holds h5py and pylibCZIrw, which write the files: a mosaic of 100 overlapping tiles of 1024 x 1024 (CZI, zstd1), and a Data Exchange scan whose
projections are gzip chunks (level 4, shuffle). The sweep runs once with a warm and once with a cold page cache; then the recommended way and the
sequential one are run in turn. Ratios of pairs, their median and range."""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

SEQUENTIAL = ["--fetch", "pread", "--threads", "1", "--batch", "1", "--order", "index"]
MAKE = '''
import sys, numpy as np, h5py
from pylibCZIrw import czi
folder = sys.argv[1]
draw = np.random.default_rng(0)
y, x = np.mgrid[:1024, :1024]
with czi.create_czi(folder + "/tiles100.czi", compression_options="zstd1:ExplicitLevel=1;PreProcess=HiLoByteUnpack") as out:
    for i in range(10):
        for j in range(10):
            tissue = 2000 + 900 * np.sin((x + 900 * j) / 37) * np.cos((y + 900 * i) / 53)
            tile = (tissue + draw.normal(0, 40, (1024, 1024))).astype(np.uint16)
            out.write(tile[..., None], location=(j * 922, i * 922), plane={"C": 0, "T": 0, "Z": 0})
with h5py.File(folder + "/exchange.h5", "w") as f:
    views, rows, channels = 180, 256, 512
    u = np.arange(channels) - 255.5
    data = f.create_dataset("exchange/data", (views, rows, channels), "u2", chunks=(1, rows, channels), compression="gzip", compression_opts=4, shuffle=True)
    for v in range(views):
        chord = 2 * np.sqrt(np.maximum(180.0 ** 2 - (u - 30 * np.sin(np.pi * v / views)) ** 2, 0))
        data[v] = draw.poisson(20000 * np.exp(-0.004 * chord)[None].repeat(rows, 0)).astype(np.uint16)
    f["exchange/data_white"] = draw.poisson(20000, (10, rows, channels)).astype(np.uint16)
    f["exchange/data_dark"] = draw.poisson(100, (10, rows, channels)).astype(np.uint16)
    f["exchange/theta"] = np.arange(views) * 180.0 / views
    f["exchange/theta"].attrs["units"] = "deg"
'''


def load(o, *args):
    done = subprocess.run([o.program, "load", *map(str, args), "--json", "--out", o.folder / "out"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"load {args}: {done.stderr}")
    return json.loads(done.stdout)


def gain(o, path, cache, way):
    """Ratios sequential / recommended of elapsed time, pair by pair."""
    ratios, seconds = [], {True: [], False: []}
    for _ in range(o.pairs + 1):
        runs = {first: load(o, path, "--cache", cache, *(SEQUENTIAL if first else way))["read_s"] for first in (True, False)}
        ratios.append(runs[True] / runs[False])
        for first in runs:
            seconds[first].append(runs[first])
    ratios = sorted(ratios[1:])  # the first pair is not counted
    return statistics.median(ratios), ratios[0], ratios[-1], *(statistics.median(seconds[first][1:]) for first in (True, False))


def row(o, name, cache):
    path = o.folder / name
    said = load(o, path, "--sweep", "medium", "--cache", cache)
    good = [r for r in said["sweep"] if r["status"] == "ok"]
    if not said["recommended"]:
        raise SystemExit(f"{name}: nothing is recommended: {said['recommended_reason']}")
    mid, low, high, first, second = gain(o, path, cache, said["recommended"].split())
    causes = ", ".join(c["rule"] for c in said["causes"]) or "none"
    return (f"| {name} | {cache} | {len(good)} of {len(said['sweep'])} | {said['recommended']} | {said['recommended_speedup']:.2f} | "
            f"{1e3 * first:.0f} | {1e3 * second:.0f} | {mid:.2f} ({low:.2f} to {high:.2f}) | {causes} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", required=True)
    p.add_argument("--python", required=True, help="the Python that has h5py and pylibCZIrw")
    p.add_argument("--folder", type=pathlib.Path, required=True)
    p.add_argument("--pairs", type=int, default=9)
    p.add_argument("--markdown", help="file for the table")
    o = p.parse_args()
    o.folder.mkdir(parents=True, exist_ok=True)
    files = ("tiles100.czi", "exchange.h5")
    if not all((o.folder / name).exists() for name in files):
        with tempfile.TemporaryDirectory(dir=o.folder) as made:  # a run that is interrupted leaves no half of a file
            subprocess.run([o.python, "-c", MAKE, made], check=True)
            for name in files:
                (pathlib.Path(made) / name).rename(o.folder / name)
    lines = ["| file | page cache | ways | recommended | speed-up in the sweep | sequential, ms | recommended, ms | speed-up in pairs | causes |",
             "|---|---|---|---|---|---|---|---|---|"]
    for name in files:
        for cache in ("warm", "cold"):
            lines.append(row(o, name, cache))
            print(lines[-1], flush=True)
    if o.markdown:
        pathlib.Path(o.markdown).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
