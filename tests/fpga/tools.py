"""What the tests of the cores share: where the sources are, what to do without the tools."""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORES = ROOT / "profiler" / "fpga" / "verilog" / "cores"
SOURCES = {"median": ["median.v", "median_networks.v"], "flat_log": ["flat_log.v", "flat_log_table.v"]}


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            print(f"skipped: {program} is not installed (Debian: apt-get install {program})")
            sys.exit(77)


def call(words, timeout=1200, **kwargs):
    done = subprocess.run([str(word) for word in words], timeout=timeout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)
    if done.returncode:
        sys.exit(f"FAILED: {words[0]} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def sources(core):
    return [CORES / name for name in SOURCES[core]]
