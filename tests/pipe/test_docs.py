"""Every command of README.md and docs/ runs, in the order of its page; every row of doctor is explained.

A command is an indented line that begins with a program's name. SMALLER makes long ones short; ELSEWHERE says which test runs
those that cannot run here. A new command is run, or named there, or this fails."""

import json
import os
import pathlib
import re
import shutil
import subprocess

from tool import DATA, SANITIZED, TOMOPROF, main, tomoprof

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {"README.md": 9, "docs/tutorial.md": 16, "docs/troubleshooting.md": 2, "docs/capture.md": 2, "docs/performance.md": 5,
         "docs/triage.md": 5, "docs/triage-width.md": 3, "docs/report.md": 2}  # at least so many commands are run
PROGRAMS = r"build/\S+|tomoprof(?:-fpga)?|\./start\.sh|cmake|ctest|python3|pip|docker|docker-compose|cuda/\S+|sudo|tests/\S+"

SMALLER = (  # the same words on less work, and real names in the place of placeholders
    ("--sizes 64,128,255,256 ", "--sizes 16 --ops median_filter3d "),
    ("--sizes 32,64,128,256 --repeat 3 ", "--sizes 8,12 --threads 2 --repeat 1 "),
    ("--ops rabbitct_voxel_recon --sizes 512 ", "--ops rabbitct_voxel_recon --sizes 32 "),
    ("--ops 'rabbitct_*' --sizes 512 ", "--ops 'rabbitct_*' --sizes 32 "),
    ("--sizes 32,64,128,256,512 --threads 1,2 ", "--sizes 8,12,16 --ops median_filter3d --threads 1,2 "),
    ("--ops '*_project' --sizes 64 ", "--ops 'parallel_*_project' --sizes 16 "),
    ("--sizes 64,128,256", "--sizes 8,12,16 --ops parallel_fbp_recon,parallel_back_project"),
    ("--method mbir --iterations 2 ", "--method mbir --iterations 1 "),
    ("--geometry cone --size 128 ", "--geometry cone --size 16 "),
    ("widths --scan tests/data/tooth.h5 ", "widths --scan tests/data/tooth.h5 --size 16 --only median_filter3d "),
    ("median_filter3d DIR", "median_filter3d kernel"),
    ("verilog DIR", "verilog cores"),
    ("RUN1 RUN2", "output/before output/after"),
    ("triage RUN ", "triage output/before "),
)
ELSEWHERE = {
    "./start.sh": "tests/container/fresh.sh",
    "cuda/toolkit.sh": "docker/Dockerfile",  # which tests/container/test_container.py builds
    "cmake -B build -DTP_CUDA_ARCH=": "docker/Dockerfile",
    "cuda/sass.py": "tests/pipe/test_sass.py",
    "build/tomoprof run --backend cuda": "tests/device/test_program.py",  # on the stand-in for a GPU
    "python3 tests/peers/run.py": "tests/peers/CMakeLists.txt",
}
NEEDS_MARKS = "triage profile.json"  # a profile alone names operations by their marks, which a build without NVTX has not
MAY_JUDGE = "--fail-over"  # exit code 1: slower, which on a busy machine is true


def lines_of(page):
    return re.findall(rf"^    ((?:{PROGRAMS})(?: .*)?)$", (ROOT / page).read_text(), re.M)


def record_runs(folder):
    """The runs before and after that the pages take for granted."""
    for name in ("before", "after"):
        made = tomoprof("run", "--sizes", 16, "--ops", "parallel_fbp_recon,parallel_back_project", "--out", folder / name)
        assert made.returncode == 0, made.stderr
    return folder


def place(folder, runs):
    """A folder that looks like the repository and holds what the pages take for granted."""
    for path in ("build", "tests", "host"):
        (folder / path).mkdir()
    for program in (pathlib.Path(TOMOPROF), pathlib.Path(TOMOPROF).with_name("tomoprof-fpga")):
        (folder / "build" / program.name).symlink_to(program)
    (folder / "tests/data").symlink_to(DATA)
    (folder / "reconstruct.py").write_text("print(sum(i * i for i in range(300000)))\n")
    geometry = {"geometry": "parallel", "sinogram_shape": [8, 16, 16], "angles": [i / 3 for i in range(8)]}
    (folder / "g.json").write_text(json.dumps(geometry))
    (folder / "mine.json").write_text(next(line for line in (ROOT / "docs/triage.md").read_text().splitlines()
                                           if line.startswith('    {"use_reference_gpu"')))
    shutil.copytree(runs, folder / "output")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TOMOPROF_")}
    return {**environment, "PYTHONPATH": str(ROOT / "host/python"), "PATH": f"{folder}/build:{environment['PATH']}"}


def without_marks(line):
    return line.startswith(f"build/tomoprof {NEEDS_MARKS}") and MARKS != "ok"


def run_line(check, folder, environment, page, line):
    for long, short in SMALLER:
        line = line.replace(long, short)
    for name in ("timing.json", "profile.json"):  # of the newest run, where the page names them
        newest = folder / "output" / (folder / "output/latest").read_text().strip() if (folder / "output/latest").exists() else None
        if f" {name}" in line and newest and not (folder / name).exists():
            shutil.copy(newest / name, folder)
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=500)
    allowed = (0, 1) if MAY_JUDGE in line else (0,)
    check.that(done.returncode in allowed, f"{page}: `{line}` exits {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")
    return done


def run_page(check, folder, page, runs):
    environment = place(folder, runs)
    run, elsewhere = 0, 0
    for line in lines_of(page):
        home = next((home for start, home in ELSEWHERE.items() if line.startswith(start)), None)
        if home:
            elsewhere += 1
            check.that((ROOT / home).exists(), f"{page}: `{line}` was run by {home}, which is gone")
            continue
        if without_marks(line):
            print(f"  not run, this build has no NVTX: {line}")
            continue
        done = run_line(check, folder, environment, page, line)
        run += 1
        if "info tests" in line:
            check.that("181" in done.stdout and "640" in done.stdout, f"{page}: the numbers of the scan: {done.stdout}")
        if line.endswith("--out tooth.nii"):
            check.that("295.85 (found)" in done.stderr, f"{page}: the rotation axis: {done.stderr}")
    check.that(run >= PAGES.get(page, 0) - (MARKS != "ok"), f"{page} has {run} commands, {PAGES.get(page, 0)} were expected: are they still indented?")
    print(f"  {page}: {run} run, {elsewhere} elsewhere", flush=True)


def pages(check, folder):
    names = ["README.md", *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
    check.that(set(PAGES) <= set(names), f"pages are gone: {set(PAGES) - set(names)}")
    runs = record_runs(folder / "runs")
    for page in names:
        (folder / page).mkdir(parents=True)
        if lines_of(page):
            run_page(check, folder / page, page, runs)
    for name in ("tooth.nii", "tooth.png", "mbir.nii", "output/latest"):
        check.that((folder / "docs/tutorial.md" / name).exists(), f"the tutorial left no {name}")


def doctor_is_explained(check, folder):
    text = (ROOT / "docs/troubleshooting.md").read_text()
    rows = set(re.findall(r"^\| `([a-z0-9_]+)` \|", text, re.M))
    probes = set(json.loads(tomoprof("doctor", "--json").stdout)["rows"])
    check.that(rows == probes, f"doctor and troubleshooting.md differ in {rows ^ probes}")


if SANITIZED:
    print("skipped: the pages are run with the program as it is used, not with the sanitised one")
    raise SystemExit(77)
if not shutil.which("bash"):
    print("skipped: bash is not installed")
    raise SystemExit(77)
MARKS = json.loads(tomoprof("doctor", "--json").stdout)["rows"]["marks"]["state"]
main(pages, doctor_is_explained)
