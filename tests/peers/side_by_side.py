"""One program under tomoprof and under other tools, whose captures are imported: shares of functions, waiting and NVTX ranges beside
each other. On request; what is not named is left out:

    TOMOPROF=build/tomoprof python3 tests/peers/side_by_side.py --nvtx FOLDER/include --perf --nsys --py-spy VENV/bin/py-spy

FOLDER/include holds nvtx3/nvToolsExt.h; nsys and QdstrmImporter are looked for in PATH."""

import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOMOPROF = os.path.abspath(os.environ.get("TOMOPROF", "build/tomoprof"))
HERE = pathlib.Path(__file__).resolve().parent
ROUNDS, WORK, REST_S = 20, 30000000, 0.02
PARTS = ("project", "filter", "correct")

PYTHON = f"""import time
def work(n):
    return sum(i * i for i in range(n))
def project(): return work(600000)
def filter(): return work(300000)
def correct(): return work(100000)
for _ in range({ROUNDS}):
    project(); filter(); correct()
    time.sleep({REST_S})
"""
SLEEP_LINE = 1 + PYTHON[:PYTHON.index("time.sleep")].count("\n")


def run(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{words}: exit {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def profile_of(folder, name):
    return json.loads((folder / name / os.readlink(folder / name / "latest") / "profile.json").read_text())


def imported(folder, name, file, *args):
    run(TOMOPROF, "import", "--out", folder / name, *args, file)
    return profile_of(folder, name)


def recorded(folder, name, *command):
    run(TOMOPROF, "record", "--out", folder / name, "--rate", 500, "--", *command)
    return profile_of(folder, name)


def facts(profile):
    """Shares of the three parts of their sum; the waiting where the program sleeps; seconds of NVTX ranges by name."""
    stacks, frames = profile["stacks"], profile["frames"]
    cpu, waited = collections.Counter(), 0
    for node in range(len(stacks["parent"])):
        names, at = set(), node
        while at is not None:
            names.add(frames["function"][stacks["frame"][at]])
            at = stacks["parent"][at]
        for part in PARTS:
            cpu[part] += (stacks["cpu_ns"][node] or 0) if part in names else 0
        resting = "rest" in names or any("nanosleep" in (n or "") for n in names) or frames["line"][stacks["frame"][node]] == SLEEP_LINE
        waited += (stacks["wait_ns"][node] or 0) if resting else 0
    total = sum(cpu.values()) or float("nan")
    return [100 * cpu[part] / total for part in PARTS], waited * 1e-9, {r["name"]: r["time"]["n"] for r in profile["ranges"]}


def show(name, profile):
    shares, waited, ranges = facts(profile)
    waits = f"{waited:8.3f}" if profile["totals"]["cpu"]["wait"] is not None else "       -"
    print(f"{name:22} " + " ".join(f"{s:9.1f}" for s in shares) + f" {waits}  {ranges or '-'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvtx", type=pathlib.Path, required=True)
    parser.add_argument("--perf", action="store_true")
    parser.add_argument("--nsys", action="store_true")
    parser.add_argument("--py-spy")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tomoprof-side-") as name:
        folder = pathlib.Path(name)
        program = folder / "three_parts"
        run("gcc", "-O0", "-g", f"-I{wanted.nvtx}", "-o", program, HERE / "three_parts.c", "-ldl")
        command = [program, WORK // 6, ROUNDS]
        print(f"{'':22} " + " ".join(f"{p + ' %':>9}" for p in PARTS) + "   wait s  NVTX ranges")
        print(f"{'truth':22} {60:9.1f} {30:9.1f} {10:9.1f} {ROUNDS * REST_S:8.3f}")
        show("tomoprof", recorded(folder, "ours", *command))
        if wanted.perf:
            run("perf", "record", "-e", "cpu-clock", "-F", 500, "-g", "-o", folder / "perf.data", "--", *command)
            show("perf, imported", imported(folder, "perf", folder / "perf.data"))
        if wanted.nsys:
            run("nsys", "profile", "-t", "osrt,nvtx", "-s", "process-tree", "-o", folder / "c.nsys-rep", *command)
            if (folder / "c.qdstrm").exists() and not (folder / "c.nsys-rep").exists():
                run("QdstrmImporter", "-i", folder / "c.qdstrm", "-o", folder / "c.nsys-rep")
            show("nsys, imported", imported(folder, "nsys", folder / "c.nsys-rep"))
        script = folder / "parts.py"
        script.write_text(PYTHON)
        show("tomoprof, Python", recorded(folder, "python", shutil.which("python3"), script))
        if wanted.py_spy:
            run(wanted.py_spy, "record", "-r", 200, "-f", "raw", "-o", folder / "spy.folded", "--", sys.executable, script)
            show("py-spy, imported", imported(folder, "spy", folder / "spy.folded", "--rate", 200))


if __name__ == "__main__":
    main()
