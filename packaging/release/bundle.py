"""Makes an installed tree whole: bundle.py TREE copies the libraries that a system may lack into lib/tomoprof/deps, and lets
every program and library find them there by a path relative to itself. A module for MPI is left out: each machine has an MPI of its
own. Needs readelf, ldd and patchelf."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

# Of the C library, on every system with glibc; NVIDIA's driver is the machine's.
SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread)|ld-linux-[a-z0-9-]+)\.so\.\d+|libcuda\.so\.1")


def output(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def objects(tree):
    """The programs and shared libraries below tree."""
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def needed(path):
    """The libraries that path names itself, less the C library's."""
    return [name for name in re.findall(r"\(NEEDED\)[^\[]*\[(.*)\]", output("readelf", "-dW", path)) if not SYSTEM.fullmatch(name)]


def copy_needed(path, deps):
    """Copies what path needs, and what that needs."""
    places = dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", path), re.M))
    for name in needed(path):
        target = deps / name
        if target.exists():
            continue
        if name not in places:
            sys.exit(f"{path}: {name} is not found on this system; install it, then bundle again")
        shutil.copyfile(places[name], target)
        target.chmod(0o755)
        copy_needed(pathlib.Path(places[name]), deps)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: bundle.py TREE")
    tree = pathlib.Path(sys.argv[1]).resolve()
    deps = tree / "lib/tomoprof/deps"
    deps.mkdir(parents=True, exist_ok=True)
    (tree / "lib/tomoprof/libtomoprof_mpi.so").unlink(missing_ok=True)
    for path in objects(tree):
        copy_needed(path, deps)
    for path in objects(tree):
        way = "$ORIGIN" if path.parent == deps else "$ORIGIN/" + os.path.relpath(deps, path.parent)
        if needed(path):
            output("patchelf", "--set-rpath", way, path)
        elif "RUNPATH" in output("readelf", "-dW", path):
            output("patchelf", "--remove-rpath", path)


main()
