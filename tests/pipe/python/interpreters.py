"""Runs the tests of the package that need NumPy alone in other versions of Python, on request, and prints a table for docs/python.md.

    TOMOPROF=build/tomoprof python3 tests/pipe/python/interpreters.py [--wheel tomoprof.whl] python3.9 python3.13 ...

Makes a virtual environment for each interpreter and installs NumPy, and the wheel where one is given: its library and its package are then
tested, otherwise those of this tree and build. Exit 1: a test failed."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TESTS = ("test_operators.py", "test_like_mbirjax.py", "test_calls_end.py", "test_preprocess.py")
FACTS = """import sys, numpy
print(sys.version.split()[0] + ("" if getattr(sys, "_is_gil_enabled", lambda: True)() else " free-threaded"), numpy.__version__)"""


def said(words, environment=None):
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True, env=environment, timeout=1800)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, lines[-1] if lines else "nothing was printed"


def row(interpreter, wheel, folder):
    """(version, NumPy, one result for each test)."""
    made, text = said([interpreter, "-m", "venv", folder])
    python = folder / "bin/python"
    if not made:
        made, text = said([python, "-m", "pip", "install", "--quiet", "numpy", *([wheel] if wheel else [])])
    if made:
        return interpreter, "", f"cannot be prepared: {text}"
    environment = {**os.environ, **({"TOMOPROF_INSTALLED": "1"} if wheel else {})}
    results = [(name, *said([python, HERE / name], environment)) for name in TESTS]
    return (*said([python, "-c", FACTS])[1].rsplit(" ", 1), *(f"{'failed' if code else 'passed'}: {text}" for _, code, text in results))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel")
    parser.add_argument("interpreters", nargs="+")
    options = parser.parse_args()
    print("| CPython | NumPy | " + " | ".join(TESTS) + " |\n|" + "---|" * (2 + len(TESTS)))
    failed = 0
    for interpreter in options.interpreters:
        with tempfile.TemporaryDirectory(prefix="tomoprof-python-") as folder:
            cells = row(interpreter, options.wheel, pathlib.Path(folder))
        failed |= not all(cell.startswith("passed") for cell in cells[2:])
        print("| " + " | ".join(cells) + " |", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
