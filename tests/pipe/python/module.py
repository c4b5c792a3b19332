"""The Python package of this tree with the library of this build, for the tests beside this file."""

import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import SANITIZED, TOMOPROF  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = pathlib.Path(TOMOPROF).resolve().parent / "libtomoprof.so.0"
WITH_SANITIZERS = ("test_fuzz_calls.py",)


def load_sanitizers():
    """Starts this test again with the sanitizers' runtime as the first library, which Python itself does not have."""
    said = subprocess.run(["ldd", LIBRARY], text=True, capture_output=True, env={**os.environ, "LC_ALL": "C"}).stdout
    runtime = re.search(r"libasan\S* => (\S+)", said)
    if not runtime:
        print(f"skipped: {LIBRARY} names no shared libasan")
        sys.exit(77)
    # Python's own objects live until its end; a size that is too large is a MemoryError, as it is without ASan.
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "LD_PRELOAD": runtime[1],
              "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096"})


if SANITIZED and pathlib.Path(sys.argv[0]).name not in WITH_SANITIZERS:
    print("skipped: test_fuzz_calls.py calls the library that was built with sanitizers")
    sys.exit(77)
if SANITIZED and "libasan" not in os.environ.get("LD_PRELOAD", ""):
    load_sanitizers()
if "TOMOPROF_INSTALLED" not in os.environ:  # interpreters.py: a wheel is installed, and that is meant
    os.environ.setdefault("TOMOPROF_LIBRARY", str(LIBRARY))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    sys.path.insert(0, str(ROOT / "python"))


def raised(kind, call, *arguments, **options):
    """The sentence of the exception that the call raises; None where it raises none of that kind."""
    try:
        call(*arguments, **options)
    except kind as error:
        return str(error) or type(error).__name__
    return None


def need(*names):
    """Skips the test where a package is missing."""
    for name in names:
        try:
            __import__(name)
        except ImportError:
            print(f"skipped: {sys.executable} has no {name}")
            sys.exit(77)
