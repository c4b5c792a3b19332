"""The wheel that packaging/release packs: of the build, its names, hashes and determinism, and what an installed one does; and that
the capture library asks for no function that glibc 2.17 lacks."""

import base64
import csv
import hashlib
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import SANITIZED, TOMOPROF, main

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(TOMOPROF).resolve().parent
WHEEL = ROOT / "packaging/release/wheel.py"
# Functions that glibc 2.17 has under another version: of libpthread, libdl and librt until 2.34, of the mathematical library until
# 2.29, and stat() and its kind, which were macros until 2.33. strerrordesc_np is a weak reference.
MOVED = re.compile(r"pthread_\w+|dl\w+|timer_\w+|log|exp|exp2|log2|pow|[fl]?stat|fstatat|strerrordesc_np|__libc_start_main|__isoc23_\w+")


def call(*args, **options):
    return subprocess.run(list(map(str, args)), text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=500, **options)


def pack(tree, folder, **environment):
    done = call(sys.executable, WHEEL, tree, folder, "--tag", f"py3-none-linux_{os.uname().machine}", env={**os.environ, **environment})
    return pathlib.Path(done.stdout.strip()) if done.returncode == 0 else done


def installed_tree(check, folder):
    done = call("cmake", "--install", BUILD, "--prefix", folder / "tree")
    check.that(done.returncode == 0, f"cmake --install: {done.stderr[-2000:]}")
    return folder / "tree"


def has_toml():
    if importlib.util.find_spec("tomllib") or importlib.util.find_spec("tomli"):
        return True
    print("  skipped: this Python has neither tomllib nor tomli")
    return False


def a_wheel(check, folder):
    if not has_toml():
        return
    tree = installed_tree(check, folder)
    path = pack(tree, folder / "one", SOURCE_DATE_EPOCH="1700000000")
    if not check.that(isinstance(path, pathlib.Path), f"wheel.py: {path}"):
        return
    (folder / "moved").mkdir()
    tree = tree.rename(folder / "moved/tree")  # another place and other times of the files
    for file in tree.rglob("*"):
        os.utime(file, (1, 1))
    again = pack(tree, folder / "two", SOURCE_DATE_EPOCH="1700000000")
    check.that(path.read_bytes() == again.read_bytes(), "two wheels of one tree differ")
    later = pack(tree, folder / "three", SOURCE_DATE_EPOCH="1700000100")
    check.that(path.read_bytes() != later.read_bytes(), "SOURCE_DATE_EPOCH is not in the wheel")
    contents(check, path)
    install(check, path, folder)


def contents(check, path):
    """RECORD, WHEEL and METADATA say what is inside."""
    with zipfile.ZipFile(path) as wheel:
        data = {entry.filename: wheel.read(entry) for entry in wheel.infolist()}
        modes = {entry.filename: entry.external_attr >> 16 for entry in wheel.infolist()}
        check.that({entry.date_time for entry in wheel.infolist()} == {(2023, 11, 14, 22, 13, 20)}, "times of the entries")
    info = next(name for name in data if name.endswith("/RECORD")).rpartition("/")[0]
    rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(data[f"{info}/RECORD"].decode()))}
    check.that(set(rows) == set(data), f"RECORD and the wheel differ: {set(rows) ^ set(data)}")
    for name, (digest, size) in rows.items():
        if name != f"{info}/RECORD":
            found = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data[name]).digest()).rstrip(b"=").decode()
            check.that((digest, int(size)) == (found, len(data[name])), f"RECORD of {name}")
    check.that(f"Tag: {path.stem.split('-', 2)[2]}\n" in data[f"{info}/WHEEL"].decode(), "the tag in WHEEL is not the file's")
    said = data[f"{info}/METADATA"].decode()
    for line in ("Name: tomoprof\n", "Provides-Extra: cuda\n", "Requires-Python: >=3.9\n", 'Requires-Dist: pandas; extra == "tables"\n'):
        check.that(line in said, f"METADATA lacks {line!r}")
    check.that("tomoprof = tomoprof:main" in data[f"{info}/entry_points.txt"].decode(), "the console entry")
    check.that(modes["tomoprof/bin/tomoprof"] == 0o100755 and modes["tomoprof/__init__.py"] == 0o100644, "modes")
    for name in ("capture", "files"):
        check.that(f"tomoprof/lib/tomoprof/libtomoprof_{name}.so" in data, f"libtomoprof_{name}.so is not inside")
    check.that("tomoprof/py.typed" in data and not any(name.startswith("tomoprof/share/tomoprof/python") for name in data), "the package, once")
    package = subprocess.run(["git", "-C", ROOT / "python", "ls-files", "tomoprof"], capture_output=True, text=True).stdout.split()
    check.that(set(package) <= set(data), f"not inside: {set(package) - set(data)}")
    libraries = {name for name in data if "libtomoprof.so" in name}
    check.that(libraries == {"tomoprof/lib/libtomoprof.so.0"} and "tomoprof/include/tomoprof.h" in data, f"libtomoprof: {libraries}")


def install(check, path, folder):
    """pip without network, then a record through the console entry."""
    made = call(sys.executable, "-m", "venv", folder / "venv")
    if made.returncode:
        print("  not installed: this Python makes no virtual environment (Debian: python3-venv)")
        return
    done = call(folder / "venv/bin/python", "-m", "pip", "install", "--no-index", "--no-deps", path)
    check.that(done.returncode == 0, f"pip install: {done.stderr[-2000:]}")
    program = folder / "venv/bin/tomoprof"
    rows = json.loads(call(program, "doctor", "--json", cwd=folder).stdout)["rows"]
    check.that(rows["capture_library"]["state"] == "ok", f"doctor of the wheel: {rows['capture_library']}")
    wheels_of_nvidia(check, folder, program, rows)
    (folder / "x.py").write_text("print(sum(range(1000)))\n")
    done = call(program, "record", folder / "venv/bin/python", "x.py", cwd=folder)
    check.that(done.returncode == 0 and "499500" in done.stdout, f"record: {done.returncode} {done.stderr}")
    done = call(folder / "venv/bin/python", "-c", "import tomoprof; print(tomoprof.read('tomoprof-runs/latest'))", cwd=folder)
    check.that("<tomoprof.Run tomoprof-runs/" in done.stdout and "profile>" in done.stdout, f"tomoprof.read: {done.stdout} {done.stderr}")


def wheels_of_nvidia(check, folder, program, before):
    """doctor finds cuFFT and CUPTI where pip puts them beside the package; here small ones that know their version alone."""
    if not shutil.which("cc"):
        print("  not tested with cuFFT and CUPTI: cc is not installed")
        return
    site = next((folder / "venv/lib").glob("python*/site-packages"))
    (site / "nvidia/cu13/lib").mkdir(parents=True)
    for name, call_of, version in (("libcufft.so.12", "int cufftGetVersion(int *v)", 12345), ("libcupti.so.13", "int cuptiGetVersion(unsigned *v)", 130003)):
        (folder / "fake.c").write_text(f"{call_of}; {call_of} {{ *v = {version}; return 0; }}\n")
        done = call("cc", "-shared", "-fPIC", folder / "fake.c", "-o", site / "nvidia/cu13/lib" / name)
        check.that(done.returncode == 0, f"cc: {done.stderr}")
    rows = json.loads(call(program, "doctor", "--json", cwd=folder).stdout)["rows"]
    for row, found in (("cufft", "cuFFT 12.3.4"), ("cupti", "API version 130003")):
        if before[row]["state"] == "missing":
            check.that(found in rows[row]["found"], f"doctor of {row}: {rows[row]}")


def no_tree(check, folder):
    if has_toml():
        done = pack(folder, folder / "out")
        check.that(not isinstance(done, pathlib.Path) and "bin/tomoprof is missing" in done.stderr, f"a folder without a program: {done}")


def symbols_of_the_capture_library(check, folder):
    if not shutil.which("objdump"):
        print("  skipped: objdump is not installed (Debian: binutils)")
        return
    text = call("objdump", "-T", BUILD / "libtomoprof_capture.so", env={**os.environ, "LC_ALL": "C"}).stdout
    rows = re.findall(r"\*UND\*.*?\(?GLIBC_([\d.]+)\)?\s+(\S+)$", text, re.M)
    check.that(len(rows) > 50, f"objdump names {len(rows)} functions of glibc")
    late = [name for version, name in rows if tuple(map(int, version.split("."))) > (2, 17) and not MOVED.fullmatch(name)]
    check.that(not late, f"the capture library needs functions newer than glibc 2.17: {late}. Use a system call, or a weak reference.")


main(*([] if SANITIZED else [a_wheel]), no_tree, symbols_of_the_capture_library)
