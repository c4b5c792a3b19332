"""One program under tomoprof and under other tools, whose captures are imported: shares of functions, waiting and NVTX ranges beside
each other. On request; what is not named is left out:

    TOMOPROF=build/tomoprof python3 tests/peers/side_by_side.py --nvtx FOLDER/include --perf --nsys --py-spy VENV/bin/py-spy --torch VENV/bin/python3

FOLDER/include holds nvtx3/nvToolsExt.h; nsys and QdstrmImporter are looked for in PATH. The C program writes its own clock, so each
recording is judged by the run that it recorded: the time in the calls that rest, the time asleep, and the NVTX ranges, which
must lie between the times just within and just around them. The exit code is 1 where one of these is missed."""

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

# Each writes the CPU time of its parts, by its own clock, into the file of its first word.
PYTHON = f"""import sys, time
spent = dict(project=0, filter=0, correct=0)
def work(n):
    return sum(i * i for i in range(n))
def project(): return work(2400000)
def filter(): return work(1200000)
def correct(): return work(400000)
def clocked(part):
    spent[part.__name__] -= time.thread_time_ns()
    part()
    spent[part.__name__] += time.thread_time_ns()
def main():
    for _ in range({ROUNDS}):
        clocked(project); clocked(filter); clocked(correct)
        time.sleep({REST_S})
    open(sys.argv[1], "w").write("".join(f"{{k}} {{v}} {{v}}\\n" for k, v in spent.items()))
"""
TORCH = PYTHON.replace("import sys, time", "import sys, time, torch\ntorch.set_num_threads(1)\nx = torch.rand(200, 200)").replace(
    "return sum(i * i for i in range(n))", "\n    for _ in range(n // 5000): x @ x").replace("    main()\n", "")
TORCH_END = """if len(sys.argv) > 2:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True) as p:
        main()
    p.export_chrome_trace(sys.argv[2])
else:
    main()
"""


SLEEP_LINES = {1 + s[:s.index("time.sleep")].count("\n") for s in (PYTHON, TORCH)}


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
        resting = "rest" in names or any("nanosleep" in (n or "") for n in names) or frames["line"][stacks["frame"][node]] in SLEEP_LINES
        waited += (stacks["wait_ns"][node] or 0) if resting else 0
    total = sum(cpu.values()) or float("nan")
    return [100 * cpu[part] / total for part in PARTS], waited * 1e-9, {r["name"]: r["time"]["n"] for r in profile["ranges"]}


def own_clock(file):
    """Seconds by the program's own clock: {range: (within, around)}."""
    return {name: (int(a) * 1e-9, int(b) * 1e-9) for name, a, b in (line.split() for line in file.read_text().splitlines())}


def judge(profile, shares, waited, clock, whole_call):
    """What is missed: shares by 3 points, waiting by 5 %, ranges by a microsecond each beyond what the clock allows."""
    wanted = (60, 30, 10) if "rest" in clock else [100 * clock[part][0] / sum(clock[p][0] for p in PARTS) for part in PARTS]
    missed = [f"{part} {share:.1f} %, expected {want:.1f} %" for part, share, want in zip(PARTS, shares, wanted) if abs(share - want) > 3]
    if "rest" in clock and profile["totals"]["cpu"]["wait"] is not None:
        want = clock["rest"][1] if whole_call else clock["asleep"][0]
        missed += [f"waiting {waited:.3f} s, the clock says {want:.3f}"] if abs(waited - want) > 0.05 * want else []
    for r in profile["ranges"] if "rest" in clock else []:
        within, around = clock[r["name"]]
        room = 1e-6 * r["time"]["n"]
        missed += [f"{r['name']}: {r['time']['total_s']:.6f} s, the clock says {within:.6f} to {around:.6f}"] if not within - room <= r["time"]["total_s"] <= around + room else []
    return missed


def show(name, profile, clock, whole_call=False):
    shares, waited, ranges = facts(profile)
    waits = f"{waited:8.3f}" if profile["totals"]["cpu"]["wait"] is not None else "       -"
    own = f"{clock['rest'][1]:8.3f} {clock['asleep'][0]:8.3f}" if "rest" in clock else "       -        -"
    missed = judge(profile, shares, waited, clock, whole_call)
    print(f"{name:22} " + " ".join(f"{s:9.1f}" for s in shares) + f" {waits} {own}  {sum(ranges.values()) or '-'}  {'; '.join(missed) or 'agrees'}", flush=True)
    return len(missed)


def show_clock(name, clock):
    total = sum(clock[part][0] for part in PARTS)
    print(f"{name:22} " + " ".join(f"{100 * clock[part][0] / total:9.1f}" for part in PARTS))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvtx", type=pathlib.Path, required=True)
    parser.add_argument("--perf", action="store_true")
    parser.add_argument("--nsys", action="store_true")
    parser.add_argument("--py-spy")
    parser.add_argument("--torch", help="a python3 that has PyTorch")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tomoprof-side-") as name:
        folder = pathlib.Path(name)
        program = folder / "three_parts"
        run("gcc", "-O0", "-g", f"-I{wanted.nvtx}", "-o", program, HERE / "three_parts.c", "-ldl")
        clock = folder / "clock"
        command = [program, WORK // 6, ROUNDS, clock]
        print(f"{'':22} " + " ".join(f"{p + ' %':>9}" for p in PARTS) + "   wait s   call s asleep s  NVTX ranges")
        print(f"{'truth':22} {60:9.1f} {30:9.1f} {10:9.1f} {ROUNDS * REST_S:8.3f}")
        missed = show("tomoprof", recorded(folder, "ours", *command), own_clock(clock))
        if wanted.perf:
            run("perf", "record", "-e", "cpu-clock", "-F", 500, "-g", "-o", folder / "perf.data", "--", *command)
            missed += show("perf, imported", imported(folder, "perf", folder / "perf.data"), own_clock(clock))
        if wanted.nsys:
            run("nsys", "profile", "-t", "osrt,nvtx", "-s", "process-tree", "-o", folder / "c.nsys-rep", *command)
            if (folder / "c.qdstrm").exists() and not (folder / "c.nsys-rep").exists():
                run("QdstrmImporter", "-i", folder / "c.qdstrm", "-o", folder / "c.nsys-rep")
            missed += show("nsys, imported", imported(folder, "nsys", folder / "c.nsys-rep"), own_clock(clock), whole_call=True)
        script = folder / "parts.py"
        script.write_text(PYTHON + "main()\n")
        profile = recorded(folder, "python", shutil.which("python3"), script, clock)
        show_clock("Python, its own clock", own_clock(clock))
        missed += show("tomoprof, Python", profile, own_clock(clock))
        if wanted.py_spy:
            run(wanted.py_spy, "record", "-r", 200, "-f", "raw", "-o", folder / "spy.folded", "--", sys.executable, script, clock)
            missed += show("py-spy, imported", imported(folder, "spy", folder / "spy.folded", "--rate", 200), own_clock(clock))
        if wanted.torch:
            script.write_text(TORCH + TORCH_END)
            profile = recorded(folder, "torch", wanted.torch, script, clock)
            show_clock("PyTorch, its own clock", own_clock(clock))
            missed += show("tomoprof, PyTorch", profile, own_clock(clock))
            run(wanted.torch, script, clock, folder / "torch.json")
            missed += show("its profiler, imported", imported(folder, "kineto", folder / "torch.json"), own_clock(clock))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
