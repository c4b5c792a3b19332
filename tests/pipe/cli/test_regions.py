"""Regions that a program names: Python and C, recorded and not, and record --paused."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main, newest, of_samples, tomoprof

ROOT = pathlib.Path(__file__).resolve().parents[3]
ENV = {"PYTHONPATH": str(ROOT / "python")}

# CPU time that the program measures itself, so that it is known on any machine; each few ms, for reading that clock ends a turn before its sample.
SPIN = """import time
import tomoprof

def spin(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(300000))

"""


def record(check, folder, source, *options, code=0):
    """(profile, text report, stderr) of a Python program."""
    (folder / "prog.py").write_text(SPIN + source)
    done = tomoprof("record", "--out", "out", *options, "--", sys.executable, "prog.py", env=ENV, cwd=folder)
    check.that(done.returncode == code, f"exit {done.returncode}: {done.stderr}")
    run = newest(folder / "out")
    return json.loads((run / "profile.json").read_text()), tomoprof("report", run, "--text").stdout, done.stderr


def regions(profile):
    return {r["name"]: r for r in profile["ranges"] if r["domain"] == "tomoprof" and r["style"] != "mark"}


def python_regions_are_rows(check, folder):
    profile, text, _ = record(check, folder, """
@tomoprof.region
def filter_rows():
    spin(0.3)

with tomoprof.region("load"):
    spin(0.4)
for i in range(3):
    with tomoprof.region("step"):
        spin(0.05)
        if i == 1:
            filter_rows()
try:
    with tomoprof.region("fails"):
        raise ValueError
except ValueError:
    pass
""")
    rows = regions(profile)
    check.that({name: (r["time"]["n"], r["open"]) for name, r in rows.items()} == {"load": (1, 0), "step": (3, 0), "filter_rows": (1, 0), "fails": (1, 0)}, f"{rows}")
    for name, seconds in (("load", 0.4), ("step", 0.45), ("filter_rows", 0.3)):
        check.that(abs(rows[name]["cpu_s"] - seconds) < 0.1 and rows[name]["time"]["total_s"] >= seconds, f"{name}: {rows[name]}")
        check.that(rows[name]["file"] == "prog.py" and rows[name]["line"] in (6, 7) and 0.5 * seconds < rows[name]["line_cpu_s"] <= rows[name]["cpu_s"] + 1e-9, f"{name}: {rows[name]}")
    check.that(not any("_region.py" in name for name, f in profile["files"].items() if f["user"]), f"{list(profile['files'])}")
    check.that(any("load" in line and "prog.py:" in line and "of its CPU time" in line for line in text.splitlines()), text)
    check.that(any(t["kind"] == "range" for t in profile["timeline"]), "no band on the timeline")


SECTIONS = """
import time, zlib
data = zlib.compress(bytes(range(256)) * 40000)

def until(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        yield

def parse():
    for _ in until(1.6):
        zlib.decompress(data)

def smooth():
    for _ in until(1.6):
        sorted(str(i) for i in range(20000))

with tomoprof.region("ingestion"):
    parse()
with tomoprof.region("partial read"):
    smooth()
with tomoprof.region("S3"):
    time.sleep(1.2)
with tomoprof.region("brief"):
    pass
"""


@of_samples
def each_region_has_an_answer(check, folder):
    """The sections of a notebook in their order, each with what takes its time; a short one has none."""
    profile, text, _ = record(check, folder, SECTIONS)
    source = (SPIN + SECTIONS).splitlines()
    rows = regions(profile)
    for name, words, kind in (("ingestion", "zlib.decompress(data)", "inflating"), ("partial read", "sorted(", ""), ("S3", "time.sleep(1.2)", "sleeps")):
        line = next(i for i, text in enumerate(source, 1) if words in text)
        answer = rows[name]["answer"] or ""
        check.that(f"prog.py:{line} " in answer and words in answer and kind in answer, f"{name}: {answer!r}")
        check.that(f"  {name}: {answer}" in text, f"{name}: not in {text}")
    check.must(rows["brief"]["answer"] is None and "brief: " not in text, f"{rows['brief']}")
    said = [text.find(f"  {name}: ") for name in ("ingestion", "partial read", "S3")]
    check.that(said == sorted(said), f"order: {said}")
    check.that(rows["S3"]["wait_s"] > 1 > rows["ingestion"]["wait_s"] and rows["S3"]["ready_s"] < 0.6, f"{rows['S3']} {rows['ingestion']}")
    for row in rows.values():
        check.must(sum(x["cpu_ns"] for x in row["own"]) <= 1e9 * row["cpu_s"] * 1.0001, f"{row}")


def coroutines_may_overlap(check, folder):
    profile, _, _ = record(check, folder, """
import asyncio

@tomoprof.region("task")
async def task(first, then):
    await asyncio.sleep(first)
    with tomoprof.region("part"):
        await asyncio.sleep(then)

async def both():
    await asyncio.gather(task(0.01, 0.05), task(0.03, 0.01))

asyncio.run(both())
""")
    rows = regions(profile)
    check.that({name: (r["time"]["n"], r["open"]) for name, r in rows.items()} == {"task": (2, 0), "part": (2, 0)}, f"{rows}")


def without_the_recorder_they_are_nothing(check, folder):
    (folder / "prog.py").write_text("""
import tomoprof
def f(): return 3
assert tomoprof.region(f) is f and tomoprof.region("x")(f) is f
assert tomoprof.region("a") is tomoprof.region("b")
with tomoprof.region("a"), tomoprof.region("b"):
    tomoprof.start()
try:
    tomoprof.region(3)
except TypeError as e:
    print(e)
import sys
print("ctypes" in sys.modules, "numpy" in sys.modules)
""")
    for extra in ({}, {"TOMOPROF_CAPTURE_DIR": str(folder / "nowhere")}):  # the variable alone: a child that could not be recorded
        done = subprocess.run([sys.executable, "prog.py"], cwd=folder, env={**os.environ, **ENV, **extra}, text=True, capture_output=True)
        check.that(done.returncode == 0 and "the name is 3; expected a str" in done.stdout, f"{done.stdout} {done.stderr}")
        check.that(("False False" in done.stdout) == (not extra), done.stdout)


STARTUP = """
def startup():
    spin(0.5)

def work():
    spin(0.3)

startup()
"""


def paused_begins_with_the_first_region(check, folder):
    for name, begin in (("region", "with tomoprof.region('work'):\n    work()\n"), ("start", "tomoprof.start()\nwork()\n")):
        (folder / name).mkdir()
        profile, _, _ = record(check, folder / name, STARTUP + begin, "--paused")
        meta, functions = profile["meta"], {f["name"]: f["cpu_incl"]["user"] + f["cpu_incl"]["sys"] for f in profile["files"]["prog.py"]["functions"]}
        check.that(meta["paused"] and meta["from_s"] >= 0.5, f"{name}: {meta}")
        check.that("startup" not in functions and abs(functions["work"] - 0.3) < 0.1, f"{name}: {functions}")
        again = tomoprof("report", newest(folder / name / "out"), "--reanalyze")
        check.that(again.returncode == 0 and json.loads((newest(folder / name / "out") / "profile.json").read_text())["meta"]["from_s"] == meta["from_s"], again.stderr)
    (folder / "none").mkdir()
    profile, _, _ = record(check, folder / "none", STARTUP, "--paused")
    check.that(not profile["meta"]["paused"] and any(i["id"] == "paused.no_region" for i in profile["quality"]["items"]), f"{profile['quality']['items']}")
    for words in (("--pid", "1"), ("--modes", "cpu", "--", "/bin/true")):
        done = tomoprof("record", "--paused", *words)
        check.that(done.returncode == 2 and "--paused" in done.stderr, f"{words}: {done.stderr}")


PROGRAM = """
#include <tomoprof_region.h>
#include <stdio.h>
#include <time.h>

static void spin(double seconds)
{
    clock_t until = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    volatile double x = 0;
    while (clock() < until)
        for (int i = 0; i < 3000000; i++)
            x = x + i;
}

static void inner(void)
{
    TOMOPROF_REGION("inner");
    spin(0.2);
}

int main(void)
{
    TOMOPROF_START();
    TOMOPROF_REGION_BEGIN("outer");
    for (int i = 0; i < 2; i++)
        inner();
    TOMOPROF_REGION_END();
    puts("done");
    return 7;
}
"""


def c_regions_need_no_library(check, folder):
    (folder / "prog.c").write_text(PROGRAM)
    shutil.copy(folder / "prog.c", folder / "prog.cc")
    strict = ("-Wall", "-Wextra", "-Werror", "-O2", "-g", "-I", str(ROOT / "include"))
    cases = (("cc", "prog.c", ("-std=c11", "-pedantic"), True), ("cc", "prog.c", ("-no-pie", "-fno-pie"), True), ("c++", "prog.cc", ("-std=c++11",), True),
             ("cc", "prog.c", ("-DTOMOPROF_REGION_OFF",), False))
    for number, (compiler, source, flags, named) in enumerate(cases):
        if not shutil.which(compiler):
            print(f"  skipped: {compiler} is missing")
            continue
        built = subprocess.run([compiler, *strict, *flags, source, "-o", f"prog{number}"], cwd=folder, text=True, capture_output=True)
        if not check.that(built.returncode == 0, f"{compiler} {flags}: {built.stderr}"):
            continue
        bare = subprocess.run([folder / f"prog{number}"], text=True, capture_output=True)
        check.that((bare.returncode, bare.stdout) == (7, "done\n"), f"bare: {bare}")
        done = tomoprof("record", "--out", folder / f"out{number}", "--", folder / f"prog{number}")
        profile = json.loads((newest(folder / f"out{number}") / "profile.json").read_text())
        rows = regions(profile)
        check.that((done.returncode, done.stdout) == (7, "done\n"), f"{flags}: {done}")
        check.that({name: (r["time"]["n"], r["open"]) for name, r in rows.items()} == ({"outer": (1, 0), "inner": (2, 0)} if named else {}), f"{flags}: {rows}")
        if named:
            check.that(all(abs(r["cpu_s"] - 0.4) < 0.1 and r["file"].endswith(source) for r in rows.values()), f"{flags}: {rows}")
    static = subprocess.run(["cc", *strict, "-static", "prog.c", "-o", "static"], cwd=folder, text=True, capture_output=True)
    if static.returncode == 0:  # where a static C library is installed
        bare = subprocess.run([folder / "static"], text=True, capture_output=True)
        check.that((bare.returncode, bare.stdout) == (7, "done\n"), f"static: {bare}")


if __name__ == "__main__":
    main(python_regions_are_rows, each_region_has_an_answer, coroutines_may_overlap, without_the_recorder_they_are_nothing, paused_begins_with_the_first_region, c_regions_need_no_library)
