"""What `report --what-if` promises for twelve programs, beside what they gain when the line really is faster.

    python3 tests/capture/what_if/bench.py build/tomoprof [--busy N] [--runs N] [NAME ...]

Each program runs with its line as it is and faster, in pairs; the median of the pairs is the real gain. It is recorded once, with 200
looks a second. --busy: beside so many processes that compute. Ends with 1 where a promise is off by more than 10 points."""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import faster_lines

LIMIT = 10


def seconds(path, factor):
    begun = time.monotonic()
    subprocess.run([sys.executable, path, str(factor)], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def promised(tomoprof, folder, path, line, factor):
    out = pathlib.Path(folder, "out-" + path.stem)
    env = {**os.environ, "TOMOPROF_CAPTURE_WAIT_RATE": "200"}
    subprocess.run([tomoprof, "record", "--out", out, "--", sys.executable, path, "1"], check=True, env=env, capture_output=True)
    run = next(p for p in out.iterdir() if p.is_dir() and not p.is_symlink())
    done = subprocess.run([tomoprof, "report", run, "--what-if", f"{path.name}:{line}={factor}"], check=True, capture_output=True, text=True)
    after, before = map(float, re.search(r"would take (\S+) s instead of (\S+) s", done.stdout).groups())
    return 1 - after / before, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tomoprof", type=pathlib.Path)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_intermixed_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(asked.busy)]
    wrong = 0
    print(f"| program | factor | before s | after s | gain % | promised % | points |\n|---|---|---|---|---|---|---|")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in asked.names or faster_lines.PROGRAMS:
                path, line, factor = faster_lines.write(folder, name)
                pairs = [(seconds(path, 1), seconds(path, factor)) for _ in range(asked.runs)]
                gain = statistics.median(1 - after / before for before, after in pairs)
                promise, _ = promised(asked.tomoprof.resolve(), folder, path, line, factor)
                wrong += abs(promise - gain) > LIMIT / 100
                before, after = (statistics.median(times) for times in zip(*pairs))
                print(f"| {name} | {factor} | {before:.2f} | {after:.2f} | {100 * gain:.0f} | {100 * promise:.0f} | {100 * (promise - gain):+.0f} |", flush=True)
    finally:
        for process in busy:
            process.kill()
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
