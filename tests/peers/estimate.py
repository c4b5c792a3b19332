"""What `load --tiles N` says of the whole array, beside a run that reads all of it.

    python3 tests/peers/estimate.py --program BUILD/tomoprof --python VENV/bin/python --folder DIR [--trials 20] [--busy 8] [--markdown FILE]

VENV holds h5py, zarr, nibabel, tifffile with imagecodecs, and pylibCZIrw, which write the files. Each trial is two processes one after the other, in
changing order: `load --tiles 10` and `load`. The truth is all phases of the second. It lies in the printed interval in 19 of 20 trials, for files that are
in the page cache and that are not, on a machine without other work and beside --busy processes that compute."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

MAKE = '''
import sys, numpy as np, h5py, zarr, nibabel, tifffile
from pylibCZIrw import czi
folder, edge, count = sys.argv[1], 1024, 100
draw = np.random.default_rng(0)
y, x = np.mgrid[:edge, :edge]
def tile(i, j):
    tissue = 2000 + 900 * np.sin((x + 900 * j) / 37) * np.cos((y + 900 * i) / 53)
    return (tissue + draw.normal(0, 40, (edge, edge))).astype(np.uint16)
scan = np.stack([tile(i // 10, i % 10) for i in range(count)])
np.save(folder + "/raw.npy", scan)
nibabel.save(nibabel.Nifti1Image(scan.T, np.eye(4), dtype=np.uint16), folder + "/raw.nii")
tifffile.imwrite(folder + "/deflate.tif", scan[:, :512], compression="zlib", photometric="minisblack")
with h5py.File(folder + "/gzip.h5", "w") as f:
    f.create_dataset("exchange/data", data=scan[:, :512], chunks=(1, 512, edge), compression="gzip", compression_opts=4, shuffle=True)
zarr.create_array(folder + "/zstd.zarr", data=scan, chunks=(1, edge, edge), compressors=zarr.codecs.ZstdCodec(level=1))
with czi.create_czi(folder + "/tiles.czi", compression_options="zstd1:ExplicitLevel=1;PreProcess=HiLoByteUnpack") as out:
    for i in range(count):
        out.write(scan[i][..., None], location=(i % 10 * 922, i // 10 * 922), plane={"C": 0, "T": 0, "Z": 0})
'''
FILES = "raw.npy", "raw.nii", "deflate.tif", "gzip.h5", "zstd.zarr", "tiles.czi"


def load(o, path, cache, *args):
    done = subprocess.run([o.program, "load", path, "--cache", cache, *map(str, args), "--json", "--out", o.folder / "out"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"load {path}: {done.stderr}")
    return json.loads(done.stdout)


def whole(said):
    return sum(p["wall_s"] for p in said["phases"].values())


def trials(o, path, cache):
    found = []
    for i in range(o.trials):
        said = {}
        for part in (True, False) if i % 2 else (False, True):
            said[part] = load(o, path, cache, *(("--tiles", o.tiles) if part else ()))
        estimate, truth = said[True]["estimate_full_s"], whole(said[False])
        found.append((estimate["low"], estimate["mid"], estimate["high"], truth))
        if o.each:
            print(f"  {path.name} {cache}: {estimate['mid']:.4f} s ({estimate['low']:.4f} to {estimate['high']:.4f}); {truth:.4f} s", flush=True)
    return found


def row(o, path, cache, busy):
    found = trials(o, path, cache)
    held = sum(low <= truth <= high for low, _, high, truth in found)
    ratios = sorted(mid / truth for _, mid, _, truth in found)
    width = statistics.median((high - low) / mid for low, mid, high, _ in found)
    truths = sorted(truth for *_, truth in found)
    return (f"| {path.name} | {'in the page cache' if cache == 'warm' else 'not'} | {busy} | {truths[0]:.3f} to {truths[-1]:.3f} | "
            f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) | {width:.1f} | {held} of {len(found)} |"), held


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", required=True)
    p.add_argument("--python", required=True, help="writes the files")
    p.add_argument("--folder", type=pathlib.Path)
    p.add_argument("--trials", type=int, default=20)
    p.add_argument("--tiles", type=int, default=10)
    p.add_argument("--busy", type=int, default=8, help="processes that compute meanwhile, in the second half")
    p.add_argument("--only", default="", help="files whose name has this part")
    p.add_argument("--each", action="store_true", help="print each trial")
    p.add_argument("--markdown", type=pathlib.Path)
    o = p.parse_args()
    o.folder = (o.folder or pathlib.Path(tempfile.mkdtemp(prefix="tomoprof-estimate-"))).resolve()
    o.folder.mkdir(parents=True, exist_ok=True)
    if not all((o.folder / name).exists() for name in FILES):
        subprocess.run([o.python, "-c", MAKE, str(o.folder)], check=True)
    lines = ["| file | page cache | processes beside it | whole, s | estimate over whole: median (range) | width of the interval over the estimate | held |",
             "|---|---|---|---|---|---|---|"]
    missed = 0
    for busy in sorted({0, o.busy}):
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
        try:
            for name in FILES:
                for cache in ("warm", "cold") if o.only in name else ():
                    line, held = row(o, o.folder / name, cache, busy)
                    lines.append(line)
                    missed += held < 0.95 * o.trials
                    print(line, flush=True)
        finally:
            for other in others:
                other.kill()
                other.wait()
    if o.markdown:
        o.markdown.write_text("\n".join(lines) + "\n")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
