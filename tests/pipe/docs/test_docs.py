"""Every command of README.md and docs/ runs, in the order of its page; every row of doctor is explained.

A command is an indented line that begins with a program's name. What stands below it in the same block is what it prints: each line
must be found in its output, where a number stands for any number and "..." for anything. The tutorial is done as it is written; of
other pages SMALLER makes long commands short. ELSEWHERE says which test runs those that cannot run here. A new command is run, or
named there, or this fails."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from pages import printed
from tool import DATA, SANITIZED, SLOW, TOMOPROF, cpu_seconds, have, main, share, tomoprof

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = {"README.md": 9, "docs/howto/tasks.md": 8, "docs/tutorial.md": 16, "docs/troubleshooting.md": 2, "docs/recording.md": 2, "docs/internals/performance.md": 5,
         "docs/triage.md": 5, "docs/internals/triage-width.md": 3, "docs/report.md": 2, "docs/import.md": 2, "docs/howto/ci.md": 6,
         "docs/howto/mbirjax.md": 5, "docs/howto/gpu-python.md": 3, "docs/howto/slow-loader.md": 2, "docs/load.md": 7,
         "docs/howto/scans.md": 2, "docs/volume.md": 2, "docs/howto/install.md": 2,
         "docs/operations.md": 2, "docs/howto/good-volume.md": 2}  # at least so many commands are run
PROGRAMS = r"build/\S+|tomoprof(?:-fpga)?|\./start\.sh|cmake|ctest|python3|pip|docker|docker-compose|cuda/\S+|sudo|tests/\S+|mpirun"
LITERAL = ("docs/tutorial.md",)

SMALLER = (  # the same words on less work, and real names in the place of placeholders
    ("run --quick ", "run --sizes 16 --ops median_filter3d "),
    ("--sizes 64,128,255,256 --runs 6 ", "--sizes 8 --runs 2 "),
    ("--ops '*_project,*_ramp_*,median_*,*_hessian_*' --sizes 256 ", "--ops 'parallel_*_project,*_ramp_*' --sizes 8 "),
    ("--ops cone_rabbitct_voxel_recon --sizes 512 ", "--ops cone_rabbitct_voxel_recon --sizes 32 "),
    ("--ops '*_project' --sizes 64 ", "--ops 'parallel_*_project' --sizes 16 "),
    ("--sizes 64,128,256", "--sizes 8,12,16 --ops parallel_fbp_recon,parallel_back_project"),
    ("--method mbir --iterations 2 ", "--method mbir --iterations 1 "),
    ("--geometry cone --size 128 ", "--geometry cone --size 16 "),
    ("widths --scan tests/data/tooth.h5 ", "widths --scan tests/data/tooth.h5 --size 16 --only median_filter3d "),
    ("median_filter3d DIR", "median_filter3d kernel"),
    ("verilog DIR", "verilog cores"),
    ("scan.czi", "tests/data/store/czi/raw.czi"),
    ("import capture.sqlite", "import tests/data/import/torch_step.json.gz"),
    ("RUN1 RUN2", "tomoprof-runs/before tomoprof-runs/after"),
    ("triage RUN ", "triage tomoprof-runs/before "),
)
ELSEWHERE = {
    "./start.sh": "tests/container/fresh.sh",
    "sudo build/tomoprof top": "tests/capture/outside/test_top.py",
    "sudo build/tomoprof dump": "tests/capture/outside/test_dump.py",
    "sudo build/tomoprof record --pid": "tests/capture/outside/test_outside.py",
    "cuda/toolkit.sh": "docker/Dockerfile",  # which tests/container/test_container.py builds
    "cmake -B build -DTP_CUDA_ARCH=": "docker/Dockerfile",
    "cuda/sass.py": "tests/pipe/cuda/test_sass.py",
    "build/tomoprof run --backend cuda": "tests/device/test_program.py",  # on the stand-in for a GPU
    "build/tomoprof record --against": "tests/pipe/cli/test_repeat.py",
    "build/tomoprof report latest --what-if": "tests/capture/what_if/test_what_if_line.py",
    "build/tomoprof try": "tests/pipe/python/test_try.py",
    "tomoprof record --with": "tests/pipe/report/test_import.py",
    "python3 tests/peers/run.py": "tests/peers/CMakeLists.txt",
    "build/tomoprof load https://": "tests/pipe/store/test_remote.py",
    "build/tomoprof load s3://": "tests/pipe/store/test_remote.py",
    "build/tomoprof recon --in s3://": "tests/pipe/store/test_remote.py",
    "build/tomoprof record mpirun": "tests/cluster/test_record.py",
    "mpirun -n": "tests/cluster/test_record.py",
    "pip install tomoprof-*.whl dask": "packaging/release/try.sh",
    "tomoprof record python3 slabs.py": "tests/pipe/python/test_python_page.py",
    "sbatch": "tests/cluster/test_slurm.py",
    "sudo packaging/release/release.sh": "packaging/release/try.sh",
    "python3 tests/peers/loading.py": "tests/peers/CMakeLists.txt",
    "python3 tests/peers/tune.py": "tests/peers/CMakeLists.txt",
    "python3 tests/peers/estimate.py": "tests/peers/CMakeLists.txt",
    "python3 tests/peers/targets.py": "tests/pipe/suite/test_targets.py",
    "cmake --preset asan": "CMakePresets.json",  # and the test itself in each build with sanitizers
    "python3 tests/capture/systems/run.py": "tests/peers/CMakeLists.txt",
}
NEEDS_MARKS = "triage profile.json"  # a profile alone names operations by their marks, which a build without NVTX has not
MAY_JUDGE = "--fail-over"  # exit code 1: slower, which on a busy machine is true


def lines_of(page):
    """[(command, [line that it prints])]"""
    found, below = [], False
    for line in (ROOT / page).read_text().splitlines():
        command = re.fullmatch(rf"    ((?:{PROGRAMS})(?: .*)?)", line)
        if command:
            found.append((command[1], []))
        elif below and line.startswith("    "):
            found[-1][1].append(line.strip())
        below = bool(command) or (below and line.startswith("    "))
    return found


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
    (folder / "examples").symlink_to(ROOT / "examples")
    for name in ("reconstruct", "recon", "train", "solver"):
        # imports of several samples, for --after imports
        (folder / f"{name}.py").write_text("import asyncio, unittest.mock\nprint(sum(i * i for i in range(300000)))\n")
    (folder / "load.py").write_text(re.search(r"```python\n(.*?)```", (ROOT / "docs/howto/slow-loader.md").read_text(), re.S)[1])
    geometry = {"geometry": "parallel", "sinogram_shape": [8, 16, 16], "angles": [i / 3 for i in range(8)]}
    (folder / "g.json").write_text(json.dumps(geometry))
    (folder / "mine.json").write_text(next(line for line in (ROOT / "docs/triage.md").read_text().splitlines()
                                           if line.startswith('    {"use_reference_gpu"')))
    shutil.copytree(runs, folder / "tomoprof-runs", symlinks=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TOMOPROF_") or k == "TOMOPROF_CALIBRATION"}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl": "self,vader"}
    return {**environment, "PYTHONPATH": str(ROOT / "python"), "PATH": f"{folder}/build:{environment['PATH']}"}


def without_marks(line):
    return line.startswith(f"build/tomoprof {NEEDS_MARKS}") and MARKS != "ok"


def run_line(check, folder, environment, page, line, shown):
    for long, short in SMALLER if page not in LITERAL else ():
        line = line.replace(long, short)
    for name in ("timing.json", "profile.json"):  # of the newest run, where the page names them
        latest = folder / "tomoprof-runs/latest"
        if f" {name}" in line and latest.exists() and not (folder / name).exists():
            shutil.copy(latest / name, folder)
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=500 * SLOW)
    allowed = (0, 1) if MAY_JUDGE in line else (0,)
    check.that(done.returncode in allowed, f"{page}: `{line}` exits {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")
    for text in shown:
        if " record " in line:  # its headline is of samples: beside much other work another is right (capture/test_answers has it)
            text = re.sub(r"(?<=report\.html: ).+", "...", text)
        check.that(printed(text, done.stdout + done.stderr), f"{page}: `{line}` does not print `{text}`: {done.stdout}{done.stderr}")


def run_page(check, folder, page, runs):
    environment = place(folder, runs)
    run, elsewhere, begin = 0, 0, cpu_seconds()
    for line, shown in lines_of(page):
        home = next((home for start, home in ELSEWHERE.items() if line.startswith(start)), None)
        if home:
            elsewhere += 1
            check.that((ROOT / home).exists(), f"{page}: `{line}` was run by {home}, which is gone")
            continue
        if without_marks(line):
            print(f"  not run, this build has no NVTX: {line}")
            continue
        if line.startswith("mpirun") and not shutil.which("mpirun"):
            print(f"  not run, mpirun is not installed: {line}")
            continue
        run_line(check, folder, environment, page, line, shown)
        run += 1
    check.that(run >= PAGES.get(page, 0) - (MARKS != "ok"), f"{page} has {run} commands, {PAGES.get(page, 0)} were expected: are they still indented?")
    print(f"  {page}: {run} run, {elsewhere} elsewhere, {cpu_seconds() - begin:.1f} s of CPU time", flush=True)


def pages(check, folder):
    names = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
    check.that(set(PAGES) <= set(names), f"pages are gone: {set(PAGES) - set(names)}")
    runs = record_runs(folder / "runs")
    mine = share(page for page in names if lines_of(page))
    for page in mine:
        (folder / page).mkdir(parents=True)
        run_page(check, folder / page, page, runs)
    if "docs/tutorial.md" not in mine:
        return
    for name in ("tooth.nii", "tooth.png", "mbir.nii", "tomoprof-runs/latest/report.html", "tomoprof-runs/latest/triage.json"):
        check.that((folder / "docs/tutorial.md" / name).exists(), f"the tutorial left no {name}")


def a_wrong_page_is_found(check, folder):
    """Of the rule that compares a page with what its commands print."""
    output = "rotation centre: channel 295.90 (found)\n self %  incl %\nout/run/report.html: At 64^3, x is far"
    for line, there in (("rotation centre: channel 1e3 (found)", True), ("self % incl %", True), ("out/...report.html: At 16^3, ... far", True),
                        ("channel 295.85 (given)", False), ("channel ... (given)", False), ("incl % self %", False)):
        check.that(bool(printed(line, output)) == there, f"{line}: {not there}")


def links_lead_somewhere(check, folder):
    pages_ = [ROOT / "README.md", ROOT / "tests/README.md", ROOT / "profiler/fpga/README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages_:
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            check.that(link.startswith("http") or (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}, which is not there")


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
if not have("hdf5"):
    print("skipped: the pages read the HDF5 scan of tests/data, which this build cannot")
    raise SystemExit(77)
MARKS = json.loads(tomoprof("doctor", "--json").stdout)["rows"]["marks"]["state"]
main(a_wrong_page_is_found, pages, links_lead_somewhere, doctor_is_explained)
