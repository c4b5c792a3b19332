"""Packs an installed tree as a wheel: wheel.py TREE FOLDER [--tag TAG] [--sbom FILE]. The same tree and $SOURCE_DATE_EPOCH
give the same bytes. What the wheel says of itself stands in pyproject.toml; the tag is the oldest glibc that its files need."""

import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import time
import zipfile

try:
    import tomllib
except ImportError:  # Python before 3.11
    import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/tomoprof"
LEFT_OUT = ("share/doc/tomoprof/docs/", "share/doc/tomoprof/examples/", "share/bash-completion/", "share/fish/", "share/zsh/",
            "share/tomoprof/python/")  # of no use below site-packages


def symbols(path):
    """(symbol, version) of glibc that the file takes."""
    out = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    return [(name, tuple(map(int, version.split(".")))) for version, name in re.findall(r"\*UND\*.*?\(?GLIBC_([\d.]+)\)?\s+(\S+)$", out, re.M)]


def is_elf(data):
    return data[:4] == b"\x7fELF"


def tag_of(tree):
    """manylinux_2_N of the newest symbol below tree."""
    newest = (2, 17)
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink() and is_elf(path.read_bytes()[:4]):
            newest = max([newest] + [version for _, version in symbols(path)])
    return f"py3-none-manylinux_{newest[0]}_{newest[1]}_{platform.machine()}"


def metadata(project, version):
    licence = "Apache-2.0; the libraries inside: share/doc/tomoprof/licenses"
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}", f"Summary: {project['description']}",
             f"License: {licence}", f"Requires-Python: {project['requires-python']}", "Description-Content-Type: text/markdown",
             "License-File: LICENSE"]
    for extra, required in sorted(project["optional-dependencies"].items()):
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {one}; extra == "{extra}"' for one in required]
    return "\n".join(lines) + "\n\n" + (ROOT / project["readme"]).read_text(encoding="utf-8")


def files_of(tree, project, version, tag, sbom):
    """{name in the wheel: (bytes, executable)}."""
    info = f"{project['name']}-{version}.dist-info"
    files = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.glob("*.json"), PACKAGE / "py.typed"]):
        files[f"tomoprof/{path.relative_to(PACKAGE)}"] = (path.read_bytes(), False)
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        if path.is_file() and not path.is_symlink() and not name.startswith(LEFT_OUT):  # libtomoprof.so is for linkers
            files[f"tomoprof/{name}"] = (path.read_bytes(), os.access(path, os.X_OK))
    files[f"{info}/METADATA"] = (metadata(project, version).encode(), False)
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: tomoprof {version}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), False)
    scripts = "".join(f"{name} = {target}\n" for name, target in sorted(project["scripts"].items()))
    files[f"{info}/entry_points.txt"] = (f"[console_scripts]\n{scripts}".encode(), False)
    files[f"{info}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), False)
    if sbom:
        files[f"{info}/sboms/tomoprof.spdx.json"] = (sbom.read_bytes(), False)
    rows = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
            for name, (data, _) in sorted(files.items())]
    files[f"{info}/RECORD"] = ("".join(rows) + f"{info}/RECORD,,\n").encode(), False
    return files


def write(path, files):
    """Sorted, with one time and one mode for all; beside, then renamed."""
    epoch = max(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), 315532800)  # zip knows no time before 1980
    beside = path.with_suffix(".new")
    with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, (data, executable) in sorted(files.items(), key=lambda item: (".dist-info/" in item[0], item[0])):
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: the mode counts
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            wheel.writestr(entry, data)
    beside.rename(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tag")
    parser.add_argument("--sbom", type=pathlib.Path)
    asked = parser.parse_args()
    if not (asked.tree / "bin/tomoprof").is_file():
        sys.exit(f"{asked.tree}: bin/tomoprof is missing; expected an installed tree. Make one with `cmake --install BUILD --prefix TREE`.")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    version = re.search(settings["tool"]["scikit-build"]["metadata"]["version"]["regex"], (ROOT / "CMakeLists.txt").read_text())["value"]
    tag = asked.tag or tag_of(asked.tree)
    asked.folder.mkdir(parents=True, exist_ok=True)
    path = asked.folder / f"{project['name']}-{version}-{tag}.whl"
    write(path, files_of(asked.tree, project, version, tag, asked.sbom))
    print(path)


if __name__ == "__main__":
    main()
