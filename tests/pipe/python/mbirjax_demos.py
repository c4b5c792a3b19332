"""Runs MBIRJAX's demos with MBIRJAX and with tomoprof.mbirjax in its place, on request, and prints the table of docs/internals/mbirjax-tests.md.

    TOMOPROF=build/tomoprof python3 tests/pipe/python/mbirjax_demos.py FOLDER [FILE ...]

FOLDER is the folder `demo` of MBIRJAX's repository. Needs numpy, jax, matplotlib, h5py and mbirjax 0.7.3. A demo runs as it is, in a process
of its own and in an empty folder, with windows that do not open. Where MBIRJAX itself ends at `.block_until_ready()`, because its arrays are
NumPy's since 0.7, both run once more without these lines. Volumes and sinograms that both made are compared. Exit 1: a demo that MBIRJAX
runs ended with an error in tomoprof, or an array differs by more than LIMIT."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

LIMIT = 1e-4  # relative l2 of what was iterated
OLD = re.compile(r"^(\s*)\w+\.block_until_ready\(\)$", re.M)
RUN = """
import sys
import numpy
package, path, result = sys.argv[1:]
if package == "tomoprof":
    import tomoprof.mbirjax
    sys.modules["mbirjax"] = tomoprof.mbirjax
import mbirjax
for name in ("recon", "denoise"):
    for kind in (mbirjax.TomographyModel, mbirjax.QGGMRFDenoiser):
        def seeded(self, *arguments, _call=getattr(kind, name, None), **options):
            numpy.random.seed(1)   # both draw the order of the pixels from here
            return _call(self, *arguments, **options)
        if name in vars(kind):
            setattr(kind, name, seeded)
numpy.random.seed(2)
names = {"__name__": "__main__"}
try:
    exec(compile(open(path, encoding="utf-8").read(), path, "exec"), names)
finally:
    numpy.savez(result, **{name: numpy.asarray(value) for name, value in names.items()
                           if getattr(value, "ndim", 0) == 3 and hasattr(value, "dtype") and value.dtype != object})
"""


def outcome(package, path, folder):
    """(None or the last line of the error, {name: array}, seconds)."""
    result = folder / f"{package}.npz"
    environment = {**os.environ, "HOME": str(folder), "JAX_PLATFORMS": "cpu", "MPLBACKEND": "agg", "XLA_FLAGS": "--xla_force_host_platform_device_count=1"}
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", RUN, package, str(path), str(result)], env=environment, cwd=folder, text=True, capture_output=True,
                          timeout=3600)
    arrays = dict(np.load(result)) if result.exists() else {}
    error = done.stderr.strip().splitlines()[-1] if done.returncode else None
    return error, arrays, time.monotonic() - began


def largest(one, two):
    """(name, relative l2) of the pair that differs most; a pair of two shapes differs by infinity."""
    worst = ("", 0.0)
    for name in sorted(set(one) & set(two)):
        a, b = one[name].astype(float), two[name].astype(float)
        off = float(np.linalg.norm(a - b) / (np.linalg.norm(a) or 1)) if a.shape == b.shape else float("inf")
        worst = max(worst, (name, off), key=lambda pair: pair[1])
    return worst


def row(path):
    """Prints the row of a demo. Returns whether tomoprof does what MBIRJAX does."""
    with tempfile.TemporaryDirectory(prefix="tomoprof-demo-") as name:
        folder, text = pathlib.Path(name), path.read_text(encoding="utf-8")
        theirs, ours = (outcome(package, path, folder) for package in ("mbirjax", "tomoprof"))
        said = [f"`{error}`" if error else "runs" for error, _, _ in (theirs, ours)]
        if theirs[0] and "block_until_ready" in theirs[0]:
            changed = folder / path.name
            changed.write_text(OLD.sub(r"\1pass", text), encoding="utf-8")
            theirs, ours = (outcome(package, changed, folder) for package in ("mbirjax", "tomoprof"))
            said = [f"{before}; without that line: {f'`{error}`' if error else 'runs'}" for before, (error, _, _) in zip(said, (theirs, ours))]
        worst = largest(theirs[1], ours[1])
        common = len(set(theirs[1]) & set(ours[1]))
        print(f"| {path.stem} | {said[0]} | {said[1]} | {common} | {worst[0]} {worst[1]:.1e} |", flush=True)
        print(f"{path.stem}: {theirs[2]:.1f} s with MBIRJAX, {ours[2]:.1f} s with tomoprof", file=sys.stderr, flush=True)
        return bool(theirs[0]) or (not ours[0] and common > 0 and worst[1] <= LIMIT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("files", nargs="*", help="some of the demos")
    asked = parser.parse_args()
    print("| demo | MBIRJAX 0.7.3 | tomoprof | arrays | largest difference |\n|---|---|---|---|---|", flush=True)
    paths = [path for path in sorted(asked.folder.glob("demo_*.py")) if not asked.files or path.name in asked.files]
    return 0 if paths and all([row(path) for path in paths]) else 1


if __name__ == "__main__":
    import module  # noqa: F401
    sys.exit(main())
