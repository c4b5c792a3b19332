"""`pip install .` into an empty virtual environment gives the program, with its library, and the module."""

import os
import pathlib
import subprocess
import sys
import tempfile

from engine import ENVIRONMENT

ROOT = pathlib.Path(__file__).resolve().parents[2]
USE = """
import tomoprof
run = tomoprof.read("tomoprof-runs/latest")
assert run.profile["totals"]["cpu"]["user"] is not None and "<iframe" in run._repr_html_()
"""


def call(*words, **options):
    return subprocess.run(list(map(str, words)), text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=3600,
                          **options)


def main():
    with tempfile.TemporaryDirectory(prefix="tomoprof-wheel-") as folder:
        made = call(sys.executable, "-m", "venv", f"{folder}/venv")
        if made.returncode:
            print("skipped: this Python makes no virtual environments (Debian: python3-venv):", made.stdout[-200:])
            return 77
        copy = call("git", "clone", "--quiet", ROOT, f"{folder}/source")
        if copy.returncode:
            print("skipped: not a clone:", copy.stderr)
            return 77
        # What the compiler makes of it at -O3 is what all other tests run; here it need only be compiled and packed.
        # A compiler cache, where there is one, sees the same names below this folder each time.
        quick = ["--config-settings=cmake.build-type=Quick", f"--config-settings=build-dir={folder}/build"]
        cached = {**os.environ, "CCACHE_BASEDIR": folder}
        steps = [["pip", "install", "--quiet", *quick, f"{folder}/source"], ["tomoprof", "--version"],
                 ["tomoprof", "record", "--", "/bin/sh", "-c", "i=0; while [ $i -lt 99999 ]; do i=$((i+1)); done"],
                 ["python", "-c", USE]]
        for step in steps:
            done = call(f"{folder}/venv/bin/{step[0]}", *step[1:], cwd=folder, env=cached)
            offline = ENVIRONMENT.search(done.stderr) if done.returncode and step[0] == "pip" else None
            if offline:
                print("skipped: pip gets no build tools here:", offline.group(0)[:500])
                return 77
            if done.returncode:
                print(f"FAILED: {step}: {done.returncode} {done.stdout[-2000:]}{done.stderr[-2000:]}")
                return 1
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
