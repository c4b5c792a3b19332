"""Other profilers beside tomoprof, on one program that measures itself: CPU time of all processes over that of a bare run, and how
far the shares of four lines (of their sum, since tools divide by different totals) are from the program's own clocks, in points.
Runs in turn; least and median. On request:

    TOMOPROF=build/tomoprof python3 tests/peers/profilers.py --venv FOLDER [--nsys FOLDER/nsys] [--readme README.md]

FOLDER is a virtual environment with NumPy and Scalene; it is made and filled where it is not there. nsys is Nsight Systems' program,
by default that of the PATH. A tool that is absent has empty cells. --readme puts the comparison between that file's profilers marks.
On a quiet machine: a pair takes about a minute and a half, the five pairs eight minutes."""

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

TOMOPROF = str(pathlib.Path(os.environ.get("TOMOPROF", "build/tomoprof")).resolve())  # tools start in a folder of their own

# Each phase is a line, so that its share is that line's; filter and weigh compute below Python, rows and loop in it.
PROGRAM = '''import json, sys, time
import numpy as np
spent, now = {}, time.process_time
def timed(name, f):
    begin = now()
    f()
    spent[name] = spent.get(name, 0) + now() - begin
sinogram = np.random.default_rng(1).random((180, 512, 512), np.float32)
def loop():
    total = 0
    for i in range(400000): total += i * i % 7  # loop
def rows():
    return [float(row.sum()) for row in sinogram.reshape(-1, 512)[:30000]]  # rows
def weigh():
    np.multiply(sinogram, 0.5, out=sinogram)  # weigh
def ramp():
    np.fft.rfft(sinogram[:24], axis=2)  # ramp
for _ in range(int(sys.argv[2])):
    for f in (loop, rows, weigh, ramp): timed(f.__name__, f)
json.dump({"phases": spent, "all": now()}, open(sys.argv[1], "w"))
'''


def cpu_of(words, **options):
    """User and system time of a command and of all that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, **options)
    with contextlib.suppress(ChildProcessError):  # daemons, which came to this process when their parent ended
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{words}: exit {done.returncode}: {done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def marked():
    return {line.rsplit("# ", 1)[1]: n for n, line in enumerate(PROGRAM.splitlines(), 1) if "  # " in line}


def of_tomoprof(folder):
    run = folder / "runs" / os.readlink(folder / "runs/latest")
    subprocess.run([TOMOPROF, "report", run], check=True, capture_output=True)
    profile = json.loads((run / "profile.json").read_text())
    lines = {line["line"]: line["cpu_incl"]["share"] for path, f in profile["files"].items() if path.endswith("program.py") for line in f["lines"]}
    return {name: lines.get(n, 0) for name, n in marked().items()}


def of_scalene(folder):
    """Python, native and system percent of a line; its denominator is all samples."""
    profile = json.loads((folder / "scalene.json").read_text())
    lines = next(f["lines"] for path, f in profile["files"].items() if path.endswith("program.py"))
    share = {line["lineno"]: sum(line[k] for k in ("n_cpu_percent_python", "n_cpu_percent_c", "n_sys_percent")) / 100 for line in lines}
    return {name: share.get(n, 0) for name, n in marked().items()}


def no_lines(folder):
    return None


def tools(o, folder):
    """{name: (words before the program's, how its lines are read)}"""
    rows = {"bare": ([o.python], no_lines),
            "tomoprof record": ([TOMOPROF, "record", "--no-analysis", "--out", folder / "runs", "--", o.python], of_tomoprof),
            "tomoprof record, with its page": ([TOMOPROF, "record", "--out", folder / "runs", "--", o.python], of_tomoprof)}
    if o.versions["Scalene"]:
        scalene = [o.python, "-m", "scalene", "run", "-o", folder / "scalene.json"]
        rows["Scalene, CPU alone"] = ([*scalene, "--cpu-only"], of_scalene)
        rows["Scalene, CPU and memory"] = (scalene, of_scalene)
    if o.nsys:
        rows["Nsight Systems, CPU samples"] = ([o.nsys, "profile", "-t", "none", "-s", "cpu", "-f", "true", "-o", folder / "nsys", o.python], no_lines)
    return rows


def python_of(folder):
    """A Python with NumPy, and Scalene where it can be installed: of a virtual environment, which is made where it is not there."""
    if not folder:
        return sys.executable
    if not (folder / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", "numpy", "scalene"], check=True)
    return str(folder.resolve() / "bin/python")  # not resolved itself: the link is what makes it that environment's


def version(words):
    """The first number with a point in what a command says; empty where it does not run."""
    try:
        said = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\d+\.\d+", said.stdout)
    return found[0] if found and not said.returncode else ""


def comparison(o, ratios, worst, load, bare_s):
    """The README's table: medians of the CPU time, largest errors of a line."""

    def ratio(tool):
        return f"{statistics.median(ratios[tool]):.2f}" if tool in ratios else ""

    def off(tool):
        return f"{max(worst[tool]):.1f} points" if tool in worst else ""

    def told(*parts):
        return "; ".join(f"{text} {value}".strip() for text, value in parts if value) or "not measured"

    table = [["", "tomoprof", f"Scalene {o.versions['Scalene']}".strip(), f"Nsight Systems {o.versions['nsys']}".strip()], ["---"] * 4,
             ["CPU time over a run without profiler", told(("", ratio("tomoprof record")), ("with its page", ratio("tomoprof record, with its page"))),
              told(("", ratio("Scalene, CPU alone")), ("with memory", ratio("Scalene, CPU and memory"))),
              told(("", ratio("Nsight Systems, CPU samples") and ratio("Nsight Systems, CPU samples") + " (CPU samples alone)"))],
             ["share of a line, largest error", told(("", off("tomoprof record"))), told(("", off("Scalene, CPU alone"))), "stacks, not summed by line"],
             ["lines of C, C++ and Cython below Python", "yes", "time only, at the Python line", "functions"],
             ["GPU kernels by launching line", "yes, in an emulator so far", "GPU use by line, polled", "yes, by call stack"]]
    return [f"Medians of {o.pairs} paired runs of a NumPy program that times itself: {bare_s:.1f} s of CPU time, {os.cpu_count()} CPUs, load {load:.1f}",
            "(`tests/peers/profilers.py`).", "",
            *(("| " + " | ".join(cells) + " |").replace("|  |", "| |") for cells in table)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=80, help="of the program's work")
    parser.add_argument("--venv", type=pathlib.Path, help="an environment with numpy and scalene; default: this Python")
    parser.add_argument("--nsys", default=shutil.which("nsys"), help="Nsight Systems' program")
    parser.add_argument("--readme", type=pathlib.Path, help="put the comparison there")
    o = parser.parse_args()
    o.python, load = python_of(o.venv), os.getloadavg()[0]
    o.versions = {"Scalene": version([o.python, "-c", "import importlib.metadata as m; print(m.version('scalene'))"]),
                  "nsys": version([o.nsys, "--version"]) if o.nsys else ""}
    o.nsys = o.versions["nsys"] and str(pathlib.Path(o.nsys).resolve())
    print(f"{o.versions}, {os.cpu_count()} CPUs, load {load:.1f}")
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: Nsight Systems starts the program from a daemon
    ratios, worst, shares, bares = {}, {}, {}, []
    with tempfile.TemporaryDirectory(prefix="tomoprof-") as name:
        folder = pathlib.Path(name)
        (folder / "program.py").write_text(PROGRAM)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        for pair in range(o.pairs):
            for tool, (words, read) in tools(o, folder).items():
                cpu = cpu_of([*words, folder / "program.py", folder / "truth.json", o.rounds], env=environment, cwd=folder)
                bares += [cpu] if tool == "bare" else []
                ratios.setdefault(tool, []).append(cpu / bares[-1])
                truth = json.loads((folder / "truth.json").read_text())
                found = read(folder)
                if found:
                    seen, all_s = sum(found.values()), sum(truth["phases"].values())
                    pairs = {n: (100 * found[n] / seen, 100 * s / all_s) for n, s in truth["phases"].items()}
                    worst.setdefault(tool, []).append(max(abs(a - b) for a, b in pairs.values()))
                    shares[tool] = {n: f"{a:.1f} ({b:.1f})" for n, (a, b) in pairs.items()}
            print(f"pair {pair + 1}: bare {bares[-1]:.2f} s of CPU time, load {os.getloadavg()[0]:.1f}", flush=True)
    print("| tool | CPU time over bare, least | median | points off, median | worst | last pair: share of a line (own clock) |\n|---|---|---|---|---|---|")
    for tool, r in ratios.items():
        off = f"{statistics.median(worst[tool]):.1f} | {max(worst[tool]):.1f}" if tool in worst else "- | -"
        print(f"| {tool} | {min(r):.3f} | {statistics.median(r):.3f} | {off} | {', '.join(f'{n} {s}' for n, s in shares.get(tool, {}).items())} |")
    lines = comparison(o, ratios, worst, load, statistics.median(bares))
    print("", *lines, sep="\n")
    if o.readme:
        text = re.sub(r"(<!-- profilers -->\n).*?(<!-- profilers end -->)", lambda m: m[1] + "\n".join(lines) + "\n" + m[2], o.readme.read_text(), flags=re.S)
        o.readme.write_text(text)


main()
