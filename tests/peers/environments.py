"""One virtual environment per peer, made when it is missing or its pins have changed."""

import json
import os
import shutil
import subprocess
import sys

MARK = "installed.json"  # in the environment: the pins it holds
LOG = "pip.log"


def interpreter():
    """The Python that environments are made from: one with tkinter if there is any, since MBIRJAX imports it."""
    found = [sys.executable, shutil.which("python3"), "/usr/bin/python3"]
    for python in filter(None, found):
        if subprocess.run([python, "-c", "import tkinter, ensurepip"], capture_output=True).returncode == 0:
            return python
    return sys.executable


def install(peer, folder):
    """Makes the environment; None, or the reason why there is none."""
    mark = os.path.join(folder, MARK)
    wanted = json.dumps(peer.requirements)
    if os.path.exists(mark) and open(mark).read() == wanted:
        return None
    print(f"{peer.name}: installing into {folder}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run([interpreter(), "-m", "venv", folder], capture_output=True, text=True)
    if made.returncode:
        return "python -m venv failed: " + last_line(made.stdout + made.stderr)
    pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "--disable-pip-version-check"]
    done = subprocess.run(pip + peer.requirements, capture_output=True, text=True)
    with open(os.path.join(folder, LOG), "w") as f:
        f.write(done.stdout + done.stderr)
    if done.returncode:
        return "pip install failed: " + last_line(done.stderr)
    with open(mark, "w") as f:
        f.write(wanted)
    return None


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
