"""Makes the pictures of docs/internals/page.md and README's: records six programs with this build and with the last one before the page
was drawn anew, and lays the first screens of both side by side. On request:

    TOMOPROF=build/tomoprof python3 tests/web/pictures.py [--python PYTHON] [--before TOMOPROF] [--only NAME,...] [--keep FOLDER]

PYTHON has NumPy, SciPy, scikit-image, h5py and MBIRJAX. Without --before the old program is built, once, in the temporary folder. No
recording is part of the project: the pictures show what this machine measured. With --keep recordings that FOLDER has already are shown again.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from test_report import BROWSERS, HERE, modules, skip, starts

ROOT = HERE.parents[1]
BEFORE = "892e19ab20d5f454726be722a2b6ff1763f0128c"  # of 2026-11-23, when the new page was planned
MOST = 195_000  # bytes of a sheet
SHEETS, README = ROOT / "docs/internals/page", ROOT / "docs/report.webp"

# name: (title, words after `record`, or those of the suite)
PROGRAMS = {
    "numpy": ("a NumPy script", ["python3", "spectra.py"]),
    "skimage": ("scikit-image", ["python3", "coins.py"]),
    "mbirjax": ("MBIRJAX", ["python3", "reconstruct.py"]),
    "threads": ("C++ threads and a mutex", ["./histogram"]),
    "h5py": ("a loader with h5py", ["python3", "sinograms.py"]),
    "suite": ("a run of the suite", None),
}


def run(words, folder, **more):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=1200, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr[-600:]}")
    return done


def built_before(folder):
    """The program of BEFORE, from the history of this repository."""
    program = folder / "build" / "tomoprof"
    if not program.is_file():
        source = folder / "source"
        source.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, capture_output=True, timeout=300)
        if archive.returncode:
            sys.exit(f"commit {BEFORE[:8]} is not in this repository: clone all of its history, or name a program with --before")
        subprocess.run(["tar", "-x"], cwd=source, input=archive.stdout, check=True, timeout=300)
        run(["cmake", "-S", source, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release", "-DTP_TESTS=OFF"], folder)
        run(["cmake", "--build", folder / "build", "-j2"], folder)
    return program


def page_of(tomoprof, name, out, folder, path):
    """Runs a program in `folder` and returns its page, below `out`."""
    words, made = PROGRAMS[name][1], sorted(out.glob("*/report.html"))
    if made:
        run([tomoprof, "report", made[-1].parent], folder)
        return made[-1]
    print(f"{out.name}: {name}", flush=True)
    run([tomoprof, *(["record", "-o", out, "--", *words] if words else ["run", "--quick", "--out", out])], folder, env={**os.environ, "PATH": path})
    return sorted(out.glob("*/report.html"))[-1]


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--python", type=pathlib.Path, default=pathlib.Path(sys.executable))
    words.add_argument("--before", type=pathlib.Path)
    words.add_argument("--only", default=",".join(PROGRAMS))
    words.add_argument("--keep", type=pathlib.Path)
    given = words.parse_args()
    browser = next((path for path in map(shutil.which, BROWSERS) if path and starts(path)), None)
    if not browser or not shutil.which("node") or not shutil.which("c++"):
        skip("no browser, no node or no C++ compiler")
    new = pathlib.Path(os.environ["TOMOPROF"]).resolve()
    old = given.before.resolve() if given.before else built_before(pathlib.Path(tempfile.gettempdir()) / f"tomoprof-before-{BEFORE[:8]}")
    path = f"{given.python.absolute().parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory(prefix="tomoprof-pictures-") as made:
        folder = given.keep.absolute() if given.keep else pathlib.Path(made)
        shutil.copytree(HERE / "programs", folder, dirs_exist_ok=True)
        run(["c++", "-std=c++17", "-O2", "-g", "-pthread", "-o", "histogram", "histogram.cpp"], folder)
        SHEETS.mkdir(exist_ok=True)
        job = {"browser": browser, "modules": str(modules()), "most": MOST, "sheets": [], "singles": []}
        for name in given.only.split(","):
            if name == "h5py":
                run(["python3", "sinograms.py"], folder, env={**os.environ, "PATH": path})  # makes its file
            before, after = (str(page_of(tomoprof, name, folder / when / name, folder, path)) for when, tomoprof in (("before", old), ("after", new)))
            job["sheets"].append({"title": PROGRAMS[name][0], "before": before, "after": after, "out": str(SHEETS / f"{name}.webp")})
            if name == "numpy":
                job["singles"].append({"path": after, "out": str(README)})
        (folder / "job.json").write_text(json.dumps(job))
        sys.exit(subprocess.run(["node", HERE / "pictures.mjs", folder / "job.json"]).returncode)


if __name__ == "__main__":
    main()
