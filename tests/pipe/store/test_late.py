"""Libraries that are opened late are not loaded at the start. Where one is missing or another one than its name says, commands and
`doctor` say so and how to get it, and not that the build lacks it."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, TOMOPROF, main, tomoprof

STORE = DATA / "store"
# The library, a command that needs it, and its row of doctor.
CASES = (("libblosc", ("convert", STORE / "zarr/blosc_parts.zarr", "{out}"), "chunk_codecs"),
         ("libturbojpeg", ("convert", STORE / "czi/jpeg_grey.czi", "{out}"), "chunk_codecs"),
         ("libtiff", ("convert", STORE / "tiff_rare/u2_lzma.tif", "{out}"), "rare_codecs"),
         ("libsqlite3", ("import", "--out", "{out}", DATA / "import/three_parts.sqlite.gz"), "captures"))


def soname(library):
    """The name under which the program opens it; None: it is linked, or the build lacks it."""
    found = re.search(rf"{library}\.so\.\d+\0".encode(), pathlib.Path(TOMOPROF).read_bytes())
    return found[0][:-1].decode() if found else None


def not_at_the_start(check, folder):
    loaded = subprocess.run([TOMOPROF], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True).stdout
    check.that("libc.so" in loaded, f"what the program loads: {loaded}")
    for library, _, _ in CASES:
        if soname(library):
            check.that(library not in loaded, f"{library} is loaded at each start: {loaded}")


def another_library(check, folder):
    """A copy of libm has its name, and none of its functions."""
    other = re.search(r"/\S+/libm[.-]\S*", pathlib.Path("/proc/self/maps").read_text())
    if not check.that(other, "this Python has no libm: the test needs another copy"):
        return
    for library, words, row in CASES:
        name = soname(library)
        if not name:
            print(f"  skipped: {library} is linked, or this build lacks it", flush=True)
            continue
        (folder / library).mkdir()
        shutil.copy(other[0], folder / library / name)
        env = {**os.environ, "LD_LIBRARY_PATH": str(folder / library)}
        out = folder / f"{library}.npy"
        done = tomoprof(*(str(w).replace("{out}", str(out)) for w in words), env=env)
        check.that(done.returncode in (1, 2) and done.stderr.count("tomoprof: ") == 1, f"{library}: {done.returncode} {done.stderr}")
        check.that(re.search(rf"{library} cannot be opened \({re.escape(name)} has no \w+\): install {library}", done.stderr), f"{library}: {done.stderr}")
        check.that("this build" not in done.stderr and not list(folder.glob(f"{library}.npy*/*")) and not out.is_file(), f"{library}: {done.stderr}")
        found = json.loads(tomoprof("doctor", "--json", env=env).stdout)["rows"][row]
        check.that(found["state"] == "limited" and library in found["found"] and "cannot be opened" in found["found"], f"doctor, {library}: {found}")
        check.that(re.match(rf"install {library}|install .*{library}.*build again", found["fix"]), f"doctor, {library}: {found}")


if __name__ == "__main__":
    main(not_at_the_start, another_library)
