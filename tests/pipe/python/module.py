"""The Python package of this tree with the library of this build, for the tests beside this file."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import SANITIZED, TOMOPROF  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = pathlib.Path(TOMOPROF).resolve().parent / "libtomoprof.so.0"
if SANITIZED:
    print("skipped: Python does not load a library that was built with sanitizers")
    sys.exit(77)
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
