#!/usr/bin/env python3
"""Volume operations beside NumPy, SciPy, nibabel, medrs, TorchIO and MONAI on the same arrays: median times, ratios, and
whether the results agree. The first run makes an environment with pinned versions of them in build/peers/volumes.

    volumes.py [--sizes 128,256,512] [--minutes 5] [--runs 5] [--operations A,B] [--markdown FILE] [--json FILE]
    volumes.py --repeat medrs volume_flip --size 256 --runs 30    one operation of one peer alone, for `tomoprof record`"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
Environment = collections.namedtuple("Environment", "name requirements")
# torch may be any build: nothing computes on a GPU here.
PACKAGES = ["numpy==2.4.6", "scipy==1.17.1", "nibabel==5.4.2", "medrs==0.2.0", "torch==2.13.0", "torchio==1.2.1", "monai==1.6.1"]


def enter(folder):
    """Goes on in the environment, which is made where it is missing."""
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import environments

    reason = environments.install(Environment("volumes", PACKAGES), str(folder))
    if reason:
        sys.exit(f"volumes.py: {reason}")
    python = folder / "bin" / "python"
    os.execv(python, [str(python), __file__, "--here", *sys.argv[1:]])


if "--here" not in sys.argv and __name__ == "__main__" and not {"-h", "--help"} & set(sys.argv):
    enter(ROOT / "build" / "peers" / "volumes")

import numpy as np


def wanted(shape, numerators):
    return tuple(n * k // 4 for n, k in zip(shape, numerators))


def larger(shape):
    return tuple(n + n // 4 for n in shape)


def padded(shape):
    return (shape[0] + shape[0] // 4, shape[1] - shape[1] // 4, shape[2])


def box(shape):
    inner = wanted(shape, (3, 3, 3))
    return [slice((n - m) // 2, (n - m) // 2 + m) for n, m in zip(shape, inner)]


def numpy_operations(x, folder):
    def crop_or_pad():
        out = np.zeros(padded(x.shape), x.dtype)
        to, at = [], []
        for n, m in zip(x.shape, out.shape):
            k, cut, add = min(n, m), max(0, (n - m) // 2), max(0, (m - n) // 2)
            at.append(slice(cut, cut + k))
            to.append(slice(add, add + k))
        out[tuple(to)] = x[tuple(at)]
        return out

    return {
        "volume_z_norm": lambda: (x - x.mean(dtype=np.float64).astype(np.float32)) / x.std(dtype=np.float64).astype(np.float32),
        "volume_rescale": lambda: (x - x.min()) / (x.max() - x.min()),
        "volume_crop": lambda: np.ascontiguousarray(x[tuple(box(x.shape))]),
        "volume_crop_or_pad": crop_or_pad,
        "volume_flip": lambda: np.ascontiguousarray(np.flip(x, 0)),
        "volume_flip_all": lambda: np.ascontiguousarray(np.flip(x)),
        "volume_rot90": lambda: np.ascontiguousarray(np.rot90(x)),
        "volume_downsample2": lambda: x.reshape(x.shape[0] // 2, 2, x.shape[1] // 2, 2, x.shape[2] // 2, 2).mean((1, 3, 5)),
        "volume_cast": lambda: x.astype(np.float16),
    }


def scipy_operations(x, folder):
    from scipy import ndimage

    def zoom(order):
        factors = [m / n for n, m in zip(x.shape, larger(x.shape))]
        return lambda: ndimage.zoom(x, factors, order=order, mode="nearest", grid_mode=True, prefilter=False)

    return {"volume_resample_linear": zoom(1), "volume_resample_nearest": zoom(0)}


def nibabel_operations(x, folder):
    import nibabel

    return {
        "volume_load_nii": lambda: np.asanyarray(nibabel.load(folder / "x.nii").dataobj),
        "volume_load_nii_touch": lambda: np.array(nibabel.load(folder / "x.nii").dataobj),
        "volume_load_nii_crop": lambda: np.array(nibabel.load(folder / "x.nii").slicer[tuple(box(x.shape))].dataobj),
        "volume_load_nii_gz": lambda: np.asanyarray(nibabel.load(folder / "x.nii.gz").dataobj),
        "volume_save_nii": lambda: nibabel.save(nibabel.Nifti1Image(x, np.eye(4)), folder / "out.nii"),
        "volume_save_nii_gz": lambda: nibabel.save(nibabel.Nifti1Image(x, np.eye(4)), folder / "out.nii.gz"),
    }


def medrs_operations(x, folder):
    """Lazy results are made real: to_numpy touches every voxel of what is a view."""
    import medrs

    image = medrs.load(str(folder / "x.nii"))
    image.materialize()

    def real(result):
        return result.to_numpy()

    return {
        "volume_z_norm": lambda: real(image.z_normalize()),
        "volume_rescale": lambda: real(image.rescale(0.0, 1.0)),
        "volume_crop": lambda: real(image.crop_or_pad(list(wanted(x.shape, (3, 3, 3))))),
        "volume_crop_or_pad": lambda: real(image.crop_or_pad(list(padded(x.shape)))),
        "volume_flip": lambda: real(image.flip([0])),
        "volume_flip_all": lambda: real(image.flip([0, 1, 2])),
        "volume_resample_linear": lambda: real(image.resample_to_shape(list(larger(x.shape)))),
        "volume_load_nii": lambda: medrs.load(str(folder / "x.nii")),
        "volume_load_nii_touch": lambda: np.array(medrs.load(str(folder / "x.nii")).to_numpy()),
        "volume_load_nii_crop": lambda: real(medrs.load_cropped(str(folder / "x.nii"), [s.start for s in box(x.shape)],
                                                                [s.stop - s.start for s in box(x.shape)])),
        "volume_load_nii_gz": lambda: medrs.load(str(folder / "x.nii.gz")).to_numpy(),
    }


def torchio_operations(x, folder):
    import torch
    import torchio

    image = torchio.ScalarImage(tensor=torch.from_numpy(x)[None])
    inner = [(n - m) // 2 for n, m in zip(x.shape, wanted(x.shape, (3, 3, 3)))]
    transforms = {
        "volume_z_norm": torchio.ZNormalization(),
        "volume_rescale": torchio.RescaleIntensity((0, 1)),
        "volume_crop": torchio.Crop(tuple(k for n in inner for k in (n, n))),
        "volume_crop_or_pad": torchio.CropOrPad(padded(x.shape)),
        "volume_flip": torchio.Flip(axes=(0,)),
        "volume_flip_all": torchio.Flip(axes=(0, 1, 2)),
        "volume_resample_linear": torchio.Resize(larger(x.shape), image_interpolation="linear"),
    }
    made = {name: (lambda t=t: t(image).data.contiguous().numpy()[0]) for name, t in transforms.items()}
    made["volume_load_nii_touch"] = lambda: torchio.ScalarImage(folder / "x.nii").data
    made["volume_load_nii_gz"] = lambda: torchio.ScalarImage(folder / "x.nii.gz").data
    return made


def monai_operations(x, folder):
    import monai.transforms as mt
    import torch

    image = torch.from_numpy(x)[None]
    transforms = {
        "volume_z_norm": mt.NormalizeIntensity(),
        "volume_rescale": mt.ScaleIntensity(0.0, 1.0),
        "volume_crop": mt.CenterSpatialCrop(wanted(x.shape, (3, 3, 3))),
        "volume_crop_or_pad": mt.ResizeWithPadOrCrop(padded(x.shape)),
        "volume_flip": mt.Flip(0),
        "volume_flip_all": mt.Flip((0, 1, 2)),
        "volume_rot90": mt.Rotate90(1, (0, 1)),
        "volume_resample_linear": mt.Resize(larger(x.shape), mode="trilinear"),
        "volume_resample_nearest": mt.Resize(larger(x.shape), mode="nearest-exact"),
        "volume_cast": mt.CastToType(torch.float16),
    }
    made = {name: (lambda t=t: np.asarray(t(image).contiguous())[0]) for name, t in transforms.items()}
    loader = mt.LoadImage(image_only=True)
    made["volume_load_nii_touch"] = lambda: loader(folder / "x.nii")
    made["volume_load_nii_gz"] = lambda: loader(folder / "x.nii.gz")
    return made


PEERS = {"numpy": numpy_operations, "scipy": scipy_operations, "nibabel": nibabel_operations, "medrs": medrs_operations,
         "torchio": torchio_operations, "monai": monai_operations}
FILES = "volume_load_nii volume_load_nii_touch volume_load_nii_crop volume_load_nii_gz volume_save_nii volume_save_nii_gz".split()
OURS = ["volume_z_norm", "volume_rescale", "volume_crop", "volume_crop_or_pad", "volume_flip", "volume_flip_all", "volume_rot90",
        "volume_resample_nearest", "volume_resample_linear", "volume_downsample2", "volume_cast", *FILES]
REFERENCES = ("numpy", "scipy")  # whose results ours must equal
STATISTICS = {"median": statistics.median, "least": min}
TRIAL = 64
TOLERANCE = 4e-6  # of the largest magnitude: float32 means and divisions


def make_array(size):
    """A smooth object in noise, float32."""
    axis = np.linspace(-1, 1, size, dtype=np.float32)
    r = axis[:, None, None] ** 2 + axis[None, :, None] ** 2 + axis[None, None, :] ** 2
    x = (r < 0.6).astype(np.float32) + np.float32(0.5) * (r < 0.2)
    return x + np.random.default_rng(42).standard_normal(x.shape, dtype=np.float32) * np.float32(0.01)


def look(result):
    """Reads all of a result, as `tomoprof apply --repeat` does between its runs: both begin with the same caches."""
    if result is not None:
        np.asarray(result.to_numpy() if hasattr(result, "to_numpy") else result).sum(dtype=np.float64)


def times_of(call, runs, limit):
    """The first call is not counted, unless the limit in seconds is over after it."""
    out = []
    begin = time.perf_counter()
    for i in range(runs + 1):
        start = time.perf_counter()
        result = call()
        out.append(time.perf_counter() - start)
        look(result)
        del result
        if time.perf_counter() - begin > limit:
            break
    return out[1:] or out


def runs_at(args, size):
    """More of small ones, whose times differ most."""
    return args.runs * max(1, min(8, (256 // size) ** 3))


def ours(program, threads, name, folder, size, runs):
    """(times, result or None)"""
    args = [program, "apply", name, "--json", "--backend", "cpu", "--threads", str(threads)]
    if name in FILES:
        args += ["--size", str(size), "--repeat", str(runs)]
    else:
        args += ["--in", str(folder / "x.npy"), "--out", str(folder / "y.npy"), "--repeat", str(runs)]
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)["times"], None if name in FILES else np.load(folder / "y.npy")


def difference(a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) if a.shape == b.shape else float("inf")


def write_inputs(x, folder, gz):
    import nibabel
    import nibabel.openers

    folder.mkdir(exist_ok=True)
    np.save(folder / "x.npy", x)
    nibabel.save(nibabel.Nifti1Image(x, np.eye(4)), folder / "x.nii")
    nibabel.openers.Opener.default_compresslevel = 6 if gz else 1
    nibabel.save(nibabel.Nifti1Image(x, np.eye(4)), folder / "x.nii.gz")
    nibabel.openers.Opener.default_compresslevel = 6


def calls_of(x, folder):
    peers = {}
    for peer, make in PEERS.items():
        try:
            peers[peer] = make(x, folder)
        except ImportError as e:
            peers[peer] = e
    return peers


def estimates(args, size, folder):
    """Seconds that a call of each peer would take, from one at an edge of TRIAL."""
    x = make_array(TRIAL)
    write_inputs(x, folder / "trial", True)
    found = {}
    for peer, calls in calls_of(x, folder / "trial").items():
        for name, call in {} if isinstance(calls, ImportError) else calls.items():
            try:
                if name in args.operations:
                    found[peer, name] = min(times_of(call, 2, 5)) * (size / TRIAL) ** 3
            except Exception:
                pass  # told at the size itself
    return found


def compare(args, size, folder):
    folder = folder / str(size)
    x = make_array(size)
    write_inputs(x, folder, False)
    args.estimates = estimates(args, size, folder)
    peers = calls_of(x, folder)
    rows = []
    for name in args.operations:
        row = {"operation": name, "size": size, "peers": {}}
        times, result = ours(args.tomoprof, args.threads, name, folder, size, runs_at(args, size))
        row["time"] = STATISTICS[args.statistic](times)
        for peer, calls in peers.items():
            row["peers"][peer] = measure(peer, calls, name, result, size, args)
        rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
    shutil.rmtree(folder)
    return rows


def measure(peer, calls, name, result, size, args):
    guess = args.estimates.get((peer, name), 0)
    if isinstance(calls, ImportError):
        return {"time": None, "reason": str(calls)}
    if name not in calls:
        return {"time": None, "reason": "has no such operation"}
    if guess > 4 * args.longest:
        return {"time": None, "reason": f"a call would take about {guess:.0f} s"}
    if time.monotonic() > args.end:
        return {"time": None, "reason": f"not measured: --minutes {args.minutes:g} were over"}
    try:
        times = times_of(calls[name], runs_at(args, size), args.longest)
        found = {"time": STATISTICS[args.statistic](times), "runs": len(times), "reason": None}
        if peer in REFERENCES and result is not None:
            found["difference"] = difference(result, calls[name]())
        return found
    except Exception as e:  # a peer's failure is a fact of the table
        return {"time": None, "reason": f"{type(e).__name__}: {str(e)[:100]}"}


def markdown(rows):
    lines = ["| operation | size | tomoprof | " + " | ".join(PEERS) + " |", "|---" * (3 + len(PEERS)) + "|"]
    for row in rows:
        cells = []
        for peer in PEERS:
            p = row["peers"][peer]
            took = f"{p['time'] * 1e3:.3g} ({p['time'] / row['time']:.3g} x)" if p["time"] else "-"
            cells.append("> " + p["reason"].rsplit(" ", 2)[1] + " s" if "would take" in (p["reason"] or "") else took)
        lines.append(f"| {row['operation']} | {row['size']} | {row['time'] * 1e3:.3g} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--here", action="store_true", help="in this Python's packages, without an environment")
    p.add_argument("--tomoprof", default=str(ROOT / "build" / "tomoprof"))
    p.add_argument("--minutes", type=float, default=20, help="of all; peers that come later have no times")
    p.add_argument("--longest", type=float, default=3, help="seconds of one peer's row; a call of more than four times as long is left out")
    p.add_argument("--sizes", default="128,256,512")
    p.add_argument("--operations", default=",".join(OURS))
    p.add_argument("--threads", type=int, default=0, help="of tomoprof; 0: all")
    p.add_argument("--statistic", choices=STATISTICS, default="median", help="least: where other programs disturb the machine")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--markdown")
    p.add_argument("--json")
    p.add_argument("--repeat", nargs=2, metavar=("PEER", "OPERATION"))
    p.add_argument("--size", type=int, default=128)
    args = p.parse_args()
    args.operations = args.operations.split(",")
    args.end = time.monotonic() + args.minutes * 60
    return args


def repeat(args, folder):
    import nibabel

    peer, name = args.repeat
    x = make_array(args.size)
    nibabel.save(nibabel.Nifti1Image(x, np.eye(4)), folder / "x.nii")
    call = PEERS[peer](x, folder)[name]
    for _ in range(args.runs):
        call()


def main():
    args = parse()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if args.repeat:
            repeat(args, folder)
            return 0
        rows = [row for size in args.sizes.split(",") for row in compare(args, int(size), folder)]
    text = markdown(rows)
    print(text)
    if args.markdown:
        pathlib.Path(args.markdown).write_text(text)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))
    apart = [(r["operation"], peer, p["difference"]) for r in rows for peer, p in r["peers"].items()
             if p.get("difference", 0) > TOLERANCE]
    for what in apart:
        print("differs:", *what, file=sys.stderr)
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
