"""What recording costs: bare and recorded runs in turn, and other profilers beside. On a quiet machine; on request:

    TOMOPROF=build/tomoprof TP_MATRIX_PYTHON=venv/bin/python python3 tests/capture/overhead.py [--size 64] [--pairs 5] [--peers]

Prints docs/internals/capture.md's table: least and median of the runs, CPU time and wall time against bare."""

import argparse
import os
import pathlib
import resource
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from programs import HERE, PYTHON
from recorded import TOMOPROF as GIVEN, newest

LIMIT_S = 300
TOMOPROF = str(pathlib.Path(GIVEN).resolve())  # runs start in a folder of their own
HEADER_CAPTURE_BYTES = 320  # offset of capture_bytes in struct trace_header


def measured(words, env, cwd):
    """Wall and CPU seconds and peak memory of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    process = subprocess.Popen(list(map(str, words)), env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=os.setpgrp)
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its children hold the pipes
        process.communicate()
        raise RuntimeError(f"not done after {LIMIT_S} s")
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise RuntimeError(f"{words}: exit {process.returncode}: {err[-500:]!r}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


def targets(size):
    script = str(HERE / "mbirjax_cone.py")
    yield "MBIRJAX cone", [PYTHON, script, str(size), "3"], {"XLA_FLAGS": "--xla_force_host_platform_device_count=1"}
    yield "tomoprof cone_mbir_recon", [TOMOPROF, "child-run", "--op", "cone_mbir_recon", "--size", "128", "--runs", "3", "--traced"], {}
    storm = pathlib.Path(tempfile.mkdtemp(prefix="tomoprof-storm-")) / "storm"
    source = HERE / "targets/storm.c"
    if not subprocess.run(["cc", "-O2", "-g", "-fno-builtin-malloc", "-pthread", "-o", storm, source]).returncode:
        for name, what, count in (("65 M mallocs and frees", "malloc", 65000000), ("200 M copies of 48 bytes", "copy", 200000000),
                                  ("both in 3 threads", "threads", 20000000), ("a malloc per 200 ns", "calm", 10000000)):
            yield f"storm: {name}", [storm, what, str(count)], {}
            yield f"storm: {name}, never taken out", [storm, what, str(count)], {"TOMOPROF_CAPTURE_CALLS": "1"}
    yield "Python loop", [PYTHON, "-c", "x = 0\nfor i in range(30000000): x += i & 3\nprint(x)"], {}


def recorders(folder, peers):
    """Name -> how it wraps words."""
    yield "bare", lambda words: words
    yield "tomoprof record", lambda words: [TOMOPROF, "record", "--no-analysis", "--out", folder / "runs", "--", *words]
    yield "tomoprof record --modes cpu,python", lambda words: [TOMOPROF, "record", "--no-analysis", "--modes", "cpu,python", "--out",
                                                               folder / "runs", "--", *words]
    if not peers:
        return
    beside = pathlib.Path(PYTHON).parent
    if (beside / "pyinstrument").exists():
        yield "pyinstrument", lambda words: [beside / "pyinstrument", "-o", folder / "p.html", "-r", "html", *words[1:]]
    if (beside / "scalene").exists():
        yield "scalene --cpu-only", lambda words: [beside / "scalene", "run", "--cpu-only", "-o", folder / "s.json", *words[1:]]
        yield "scalene", lambda words: [beside / "scalene", "run", "-o", folder / "s.json", *words[1:]]


def own_memory(folder):
    """Bytes that the library held in the process with the largest trace."""
    trace = max((newest(folder / "runs") / "trace").glob("*.tpt"), key=lambda p: p.stat().st_size)
    return struct.unpack_from("<Q", trace.read_bytes(), HEADER_CAPTURE_BYTES)[0]


def compare(name, words, extra, pairs, peers):
    env = {**os.environ, **extra}
    runs, reasons, memory = {}, {}, None
    with tempfile.TemporaryDirectory(prefix="tomoprof-overhead-") as place:
        folder = pathlib.Path(place)
        wraps = dict(recorders(folder, peers and words[1].endswith(".py")))
        for _ in range(pairs):
            for how, wrap in ((h, w) for h, w in wraps.items() if h not in reasons):
                try:
                    runs.setdefault(how, []).append(measured(wrap(words), env, folder)[:2])
                except RuntimeError as e:
                    reasons[how] = str(e)[:160]
                if how == "tomoprof record":
                    memory = own_memory(folder)
    for how in wraps:
        if how in reasons:
            print(f"| {name} | {how} | failed: {reasons[how]} | | | | |")
            continue
        columns = [f(v) for i in (1, 0) for f in (min, statistics.median) for v in [[r[i] for r in runs[how]]]]
        base = [f(v) for i in (1, 0) for f in (min, statistics.median) for v in [[r[i] for r in runs["bare"]]]]
        cells = [f"{c:.2f}" + ("" if how == "bare" else f" ({100 * (c / b - 1):+.0f} %)") for c, b in zip(columns, base)]
        held = f"{memory / 2**20:.1f}" if how == "tomoprof record" and memory else ""
        print(f"| {name} | {how} | " + " | ".join(cells) + f" | {held} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("| program | recorder | least CPU s | median CPU s | least wall s | median wall s | library MB |")
    print("|---|---|---|---|---|---|---|")
    for name, words, extra in targets(options.size):
        if options.only in name and shutil.which(str(words[0])):
            compare(name, words, extra, options.pairs, options.peers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
