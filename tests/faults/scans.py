"""Damages copies of scans and reads them: python3 tests/faults/scans.py --count 2000. Each copy gives the values of the whole file or those
that the owner's library reads (h5py, tifffile, nibabel, numpy; where they are installed), or one sentence and exit 2. Prints a table of
formats; exit 1 where a copy differs. A copy is made again by what its line says: --seed SEED --at N."""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOMOPROF = os.environ.setdefault("TOMOPROF", str(ROOT / "build/tomoprof"))
DATA = ROOT / "tests/data"
PATIENCE = 120
SCANS = ["scan/exchange.h5", "scan/nxtomo.nx", "scan/drift.nx", "scan/cone.txrm", "store/hdf5/filters.h5", "store/hdf5/kinds.h5", "store/nifti/i2.nii",
         "store/nifti/i2.nii.gz", "store/tiff/u2_pages.tif", "store/tiff/u2_deflate_tiles.tif", "store/npy/f4.npy", "store/czi/raw.czi"]
ARRAYS = {"store/hdf5/kinds.h5": ("--array", "f8")}  # one of its links leads nowhere, so that the largest is not known


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--seed", type=int, help="default: another one each time, which is printed")
    p.add_argument("--first", type=int, default=0, help="begin with this copy")
    p.add_argument("--at", type=int, help="this copy alone")
    return p.parse_args()


def one_byte(b, dice):
    b[dice.randrange(len(b))] ^= 1 << dice.randrange(8)


def head_byte(b, dice):
    """Headers lie at the front of most formats."""
    b[dice.randrange(min(len(b), 2048))] = dice.randrange(256)


def largest(b, dice):
    """A count or an address becomes as large as it can."""
    at = dice.randrange(len(b) - 8) & ~3
    b[at:at + dice.choice((2, 4, 8))] = b"\xff" * dice.choice((2, 4, 8))


def cut(b, dice):
    del b[dice.randrange(len(b)):]


def zeros(b, dice):
    """A block that a copy lost."""
    at = dice.randrange(len(b)) & ~511
    b[at:at + 512] = bytes(len(b[at:at + 512]))


def swapped(b, dice):
    """Two blocks change places."""
    x, y = sorted(dice.sample(range(0, len(b) - 64, 64), 2))
    b[x:x + 64], b[y:y + 64] = b[y:y + 64], b[x:x + 64]


def relinked(b, dice):
    """An address of the file, as HDF5's links have it, becomes another one."""
    places = [i for i in range(0, len(b) - 8, 8) if 0 < int.from_bytes(b[i:i + 8], "little") < len(b)]
    if len(places) > 1:
        x, y = dice.sample(places, 2)
        b[x:x + 8] = b[y:y + 8]


DAMAGES = [one_byte, head_byte, largest, cut, zeros, swapped, relinked]


def h5_arrays(group):
    """Those that can be read: others may be damaged."""
    for name in group:
        try:
            item = group[name]
            if hasattr(item, "keys"):
                yield from ((f"{name}/{n}", array) for n, array in h5_arrays(item))
            elif item.dtype.kind in "iuf":
                yield name, item[()]
        except (OSError, KeyError, RuntimeError, TypeError, ValueError) as why:
            if "plugin" in str(why):  # filters that this library has not
                raise ImportError from why


def by_library(path, name):
    """The array as its owner's library reads it. None: it is not installed, or reads this format as no array."""
    suffix = name.partition(".")[2]
    if suffix in ("h5", "nx"):
        import h5py
        with h5py.File(path) as f:
            return dict(h5_arrays(f))
    if suffix == "tif":
        import tifffile
        return {"": tifffile.imread(path)}
    if suffix.startswith("nii"):
        import nibabel
        return {"": np.asarray(nibabel.load(path).dataobj.get_unscaled())}
    return {"": np.load(path)} if suffix == "npy" else None


# In a process of its own: libraries crash, and hang.
LIBRARY = f"""
import sys; sys.path.insert(0, {str(ROOT / "tests/faults")!r})
import numpy as np, scans
try:
    found = scans.by_library(sys.argv[1], sys.argv[2])
except ImportError:
    sys.exit(77)
if found is None:
    sys.exit(77)
np.savez(sys.argv[3], *found.values())
"""


def library_arrays(path, name, folder):
    """What the library reads; None: it is not there; []: it refuses or crashes."""
    out = folder / "library.npz"
    try:
        done = subprocess.run([sys.executable, "-c", LIBRARY, path, name, out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return []
    if done.returncode == 77:
        return None
    if done.returncode or not out.exists():
        return []
    with np.load(out) as arrays:
        return [arrays[n] for n in arrays.files]


def run(*words):
    try:
        done = subprocess.run([TOMOPROF, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None, "it hangs"
    return done.returncode, done.stderr


def same(x, y):
    """By value; NIfTI's library has the dimensions the other way round, and those of one element go."""
    x, y = np.squeeze(x), np.squeeze(y)
    return any(a.shape == y.shape and np.array_equal(a, y, equal_nan=a.dtype.kind in "fc" and y.dtype.kind in "fc") for a in (x, x.T))


def differences(name, whole, damaged, folder):
    """What is wrong with how the damaged copy is read; the second: how it was."""
    found = []
    out, path = folder / "out.npy", folder / f"damaged.{name.partition('.')[2]}"
    path.write_bytes(damaged)
    calls = [("info", path), ("convert", path, out, *ARRAYS.get(name, ()))]
    if name.startswith("scan/"):
        calls.append(("recon", "--in", path, "--out", folder / "volume.npy", "--rows", "0:1"))
    for call in calls:
        code, said = run(*call)
        errors = [line for line in said.splitlines() if line.startswith("tomoprof: ")]
        if code not in (0, 2) and not (code == 1 and ("needs" in said or "not enough" in said or "is read" in said or "is not read" in said or "this build" in said)):
            found.append(f"{call[0]}: exit {code}: {said[-300:]}")
        elif code and len(errors) != 1:
            found.append(f"{call[0]}: {len(errors)} errors: {said[-300:]}")
        if call[0] == "convert":
            result = code
    how = "refused"
    if result == 0:
        mine = np.load(out)
        how = "whole" if same(mine, whole) else "as the library"
        if how != "whole":
            its = library_arrays(path, name, folder)
            most = max((array.size for array in its or []), default=0)
            if its is not None and not any(same(mine, array) for array in its if array.size == most):
                found.append(f"convert: values that are neither those of the whole file nor of its library's largest of {len(its)} arrays")
            how = how if its is not None else "no library"
    left = sorted(p.name for p in folder.iterdir() if p.name not in (out.name, path.name, "volume.npy", "volume.png", "library.npz"))
    if left:
        found.append(f"left {left}")
    return found, how


def main():
    o = arguments()
    seed = random.randrange(10**6) if o.seed is None else o.seed
    print(f"seed {seed}", flush=True)
    bad, table, whole = 0, {}, {}
    with tempfile.TemporaryDirectory(prefix="tomoprof-scans-") as folder:
        folder = pathlib.Path(folder)
        for name in SCANS:
            code, said = run("convert", DATA / name, folder / "whole.npy", *ARRAYS.get(name, ()))
            if code:
                print(f"{name}: not read by this build: {said.strip()}")
                continue
            whole[name] = np.load(folder / "whole.npy")
            (folder / "whole.npy").unlink()
        for at in range(o.first, o.count) if o.at is None else [o.at]:
            name = SCANS[at % len(SCANS)]
            if name not in whole:
                continue
            dice = random.Random(f"{seed} {at}")
            damage = dice.choice(DAMAGES)
            b = bytearray((DATA / name).read_bytes())
            damage(b, dice)
            copy = folder / "copy"
            copy.mkdir()
            wrong, how = differences(name, whole[name], b, copy)
            subprocess.run(["rm", "-rf", copy], check=True)
            row = table.setdefault(name, {})
            row[how] = row.get(how, 0) + 1
            bad += bool(wrong)
            for text in wrong:
                print(f"DIFFERENCE --seed {seed} --at {at}: {name}, {damage.__name__}: {text}", flush=True)
    for name, row in table.items():
        print(f"{name}: " + ", ".join(f"{n} {how}" for how, n in sorted(row.items())))
    print(f"{sum(sum(row.values()) for row in table.values())} copies, {bad} with a difference")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
