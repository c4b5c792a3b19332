"""Loader: nothing that was built looks for libraries in the folder it is started in, and none planted there is loaded."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from sources import report

TOMOPROF = pathlib.Path(os.environ.get("TOMOPROF") or sys.exit("TOMOPROF: the path of the program is not set"))


def built(folder):
    """Programs and shared libraries below the build folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and (path.suffix == ".so" or os.access(path, os.X_OK)):
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def entries(path):
    """(tag, value) of the dynamic section: RPATH, RUNPATH, NEEDED."""
    done = subprocess.run(["readelf", "-dW", path], text=True, capture_output=True, check=True, env={**os.environ, "LC_ALL": "C"})
    return re.findall(r"\((RPATH|RUNPATH|NEEDED)\)[^\[]*\[(.*)\]", done.stdout)


def safe(element):
    return element.startswith("/") or re.match(r"\$(ORIGIN|\{ORIGIN\})(/|$)", element)


def check_paths(path):
    return [f"{path}: {tag} [{value}] has an empty or relative element, which is the current folder"
            for tag, value in entries(path) if tag != "NEEDED" and not all(safe(e) for e in value.split(":"))]


def check_planted(program):
    """An empty file under the name of each library that the program needs: loaded, it would end it with "file too short"."""
    with tempfile.TemporaryDirectory(prefix="tomoprof-") as folder:
        names = [value for tag, value in entries(program) if tag == "NEEDED"]
        for name in names:
            (pathlib.Path(folder) / name).touch()
        done = subprocess.run([program, "--help"], cwd=folder, capture_output=True, text=True,
                              env={k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"})
    if not any(name.startswith("libc.so") for name in names):
        return [f"{program}: readelf names no libc among {names}"]
    return [f"{program}: loads what lies in the current folder: {done.stderr.strip()}"] if done.returncode else []


def main():
    problems, files = [], list(built(TOMOPROF.parent))
    for path in files:
        problems += check_paths(path)
    for name in ("tomoprof", "tomoprof-fpga"):
        problems += check_planted(TOMOPROF.parent / name)
    # What the rule itself must refuse and take.
    for value, good in (("", False), ("lib", False), ("./lib", False), ("$ORIGINAL", False), ("/usr/lib", True), ("$ORIGIN/../lib", True)):
        if bool(safe(value)) != good:
            problems.append(f"the rule judges [{value}] wrongly")
    print(f"{len(files)} programs and libraries")
    if TOMOPROF not in files:
        problems.append(f"{TOMOPROF} is not among them")
    sys.exit(report(problems))


if __name__ == "__main__":
    main()
