"""Programs run bare and under `tomoprof record`, for the capture tests."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipe"))
from tool import LONG, SANITIZED, TOMOPROF, loadable, main, newest, of_samples, tomoprof  # noqa: E402, F401

LIBRARY = pathlib.Path(TOMOPROF).with_name("libtomoprof_capture.so")


def need_library():
    if not LIBRARY.exists():
        print(f"skipped: {LIBRARY.name} was not built")
        sys.exit(77)


def command(out, *args):
    """The words that record `args`; options of record come first, before a word "--"."""
    at = args.index("--")
    return [TOMOPROF, "record", "--out", str(out), *map(str, args[:at]), *map(str, args[at:])]


def run(words, timeout=300, **options):
    """A finished process; returncode is -N after signal N."""
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, **options)


def profile(out):
    return json.loads((newest(out) / "profile.json").read_text())


def compiled(folder, name, source, *flags, compiler=None):
    """A program from `source`; None where there is no compiler."""
    compiler = compiler or os.environ.get("CC", "cc")
    path = folder / name
    (folder / f"{name}.c").write_text(source)
    try:
        done = run([compiler, "-g", *flags, "-o", path, folder / f"{name}.c", "-lm"])
    except FileNotFoundError:
        return None
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return path
