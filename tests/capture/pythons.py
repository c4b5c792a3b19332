"""The Pythons of this machine, for the tests that run under each. TP_PYTHONS=PATH:PATH names further ones."""

import os
import pathlib
import shutil
import subprocess
import sys

MINORS = range(9, 15)


def version(python):
    done = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], stdout=subprocess.PIPE, timeout=300)
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def pythons():
    """Paths by what is really run, so that no interpreter is tested twice."""
    named = [p for p in os.environ.get("TP_PYTHONS", "").split(":") if p]
    found = [shutil.which("python3.%d" % minor) for minor in MINORS] + [sys.executable, "/usr/bin/python3"]
    found += map(str, sorted(pathlib.Path(os.path.expanduser("~")).glob(".pyenv/versions/3.*/bin/python3")))
    chosen = {}
    for path in named + [p for p in found if p and os.access(p, os.X_OK)]:
        shim = pathlib.Path(path).parent.name == "shims"
        if not shim and (version(path) or (0, 0)) >= (3, 9):
            chosen.setdefault(os.path.realpath(path), path)
    return list(chosen.values())
