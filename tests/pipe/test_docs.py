"""Every command of docs/tutorial.md and docs/troubleshooting.md runs, in order; every row of doctor is explained."""

import json
import os
import pathlib
import re
import shutil
import subprocess

from tool import DATA, SANITIZED, TOMOPROF, main, tomoprof

ROOT = pathlib.Path(__file__).resolve().parents[2]


def commands(name):
    """The indented lines."""
    return re.findall(r"^    (\S.*)$", (ROOT / "docs" / name).read_text(), re.M)


def run_all(check, folder, name, least):
    """In a folder that looks like the repository to them."""
    for path in ("build", "tests", "host"):
        (folder / path).mkdir()
    (folder / "build/tomoprof").symlink_to(TOMOPROF)
    (folder / "tests/data").symlink_to(DATA)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TOMOPROF_")}
    environment["PYTHONPATH"] = str(ROOT / "host/python")
    lines = commands(name)
    check.that(len(lines) >= least, f"{name} has {len(lines)} commands, {least} were expected: are they still indented?")
    for line in lines:
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=500)
        check.that(done.returncode == 0, f"{name}: `{line}` exits {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")
        if "info tests" in line:
            check.that("181" in done.stdout and "640" in done.stdout, f"the tutorial's numbers of the scan: {done.stdout}")
        if line.endswith("--out tooth.nii"):
            check.that("295.85 (found)" in done.stderr, f"the tutorial's rotation axis: {done.stderr}")


def tutorial(check, folder):
    run_all(check, folder, "tutorial.md", 16)
    for name in ("tooth.nii", "tooth.png", "mbir.nii", "output/latest"):
        check.that((folder / name).exists(), f"the tutorial left no {name}")


def troubleshooting(check, folder):
    run_all(check, folder, "troubleshooting.md", 2)
    text = (ROOT / "docs/troubleshooting.md").read_text()
    rows = set(re.findall(r"^\| `([a-z0-9_]+)` \|", text, re.M))
    probes = set(json.loads(tomoprof("doctor", "--json").stdout)["rows"])
    check.that(rows == probes, f"doctor and troubleshooting.md differ in {rows ^ probes}")


if SANITIZED:
    print("skipped: the tutorial is run with the program as it is used, not with the sanitised one")
    raise SystemExit(77)
if not shutil.which("bash"):
    print("skipped: bash is not installed")
    raise SystemExit(77)
main(tutorial, troubleshooting)
