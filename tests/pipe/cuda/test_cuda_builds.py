"""Which build of the CUDA back end is opened, by the driver that is there: all of them stand-ins (tests/fakes).

    TOMOPROF=build/tomoprof python3 tests/pipe/cuda/test_cuda_builds.py --table     prints the table of drivers in docs/cuda.md"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import TOMOPROF, main

BUILD = pathlib.Path(TOMOPROF).resolve().parent
FAKES = BUILD / "tests/fakes"
ROOT = pathlib.Path(__file__).resolve().parents[3]
DRIVERS = {525: 12000, 535: 12020, 550: 12040, 555: 12050, 560: 12060, 565: 12070, 570: 12080, 575: 12090, 580: 13000, 590: 13010}


BLACKWELL = 570  # the first driver that knows RTX 50
CHIPS = {"RTX 40": 89, "RTX 50": 120}
HEAD = ["driver", "serves CUDA", "`./start.sh` sets up", "operators by the build for", *(f"records {name} by CUPTI of" for name in CHIPS)]


def beside(folder, *majors):
    """A copy of the program with these builds beside it."""
    folder.mkdir()
    shutil.copy2(TOMOPROF, folder / "tomoprof")
    for major in majors:
        shutil.copy2(FAKES / f"libtomoprof_cuda{major}.so", folder)
    (folder / "libcuda.so.1").symlink_to(FAKES / "fake_gpu.so")
    return folder / "tomoprof"


def run(program, env, *words):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TOMOPROF_")}
    return subprocess.run([program, *words], env={**kept, **env}, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=300)


def found_by(program, serves, **env):
    """What doctor finds in the row "cuda" where a driver serves this version of CUDA."""
    if serves:
        env = {"LD_LIBRARY_PATH": str(program.parent), "FAKE": f"serves={serves}", **env}
    return json.loads(run(program, env, "doctor", "--json").stdout)["rows"]["cuda"]["found"]


def the_driver_decides(check, folder):
    both, new, old = beside(folder / "both", 12, 13), beside(folder / "new", 13), beside(folder / "old", 12)
    for driver, serves in DRIVERS.items():
        major = serves // 1000
        said = f"the driver serves CUDA {major}.{serves % 1000 // 10}"
        for program, opened in ((both, major), (new, 13), (old, 12)):
            found = found_by(program, serves)
            check.that(f"the build for CUDA {opened} was opened" in found and said in found, f"driver {driver}, {program.parent.name}: {found}")
    check.that("CUDA 12 was opened" in found_by(both, 11080), "a driver of CUDA 11 meets the build that asks least")
    check.that("CUDA 13 was opened" in found_by(both, 0), "without a driver")


def the_cure_is_for_this_driver(check, folder):
    """Rows that are not ok name what helps beside the driver that is there: a newer one, or a build and a CUPTI that it takes."""
    program = beside(folder / "cure", 12, 13)
    for serves, operators, profiles in ((11040, "driver to 525", "driver to 525"), (12020, "./start.sh cuda", "./start.sh cuda"), (0, "NVIDIA's driver on this machine", None)):
        env = {"LD_LIBRARY_PATH": str(program.parent), "FAKE": f"serves={serves}", "TOMOPROF_CAPTURE_CUPTI": str(FAKES / "fake_cupti.so")} if serves else {}
        rows = json.loads(run(program, env, "doctor", "--json").stdout)["rows"]
        check.that(operators in rows["cuda"]["fix"], f"CUDA {serves}: {rows['cuda']}")
        check.that(profiles is None or profiles in rows["cupti"]["fix"], f"CUDA {serves}: {rows['cupti']}")


def a_named_one_is_opened(check, folder):
    program = beside(folder / "both", 12, 13)
    named = FAKES / "libtomoprof_cuda12.so"
    found = found_by(program, 13000, TOMOPROF_CUDA=str(named))
    check.that("CUDA 12 was opened" in found and f"TOMOPROF_CUDA names {named}" in found, found)
    other = FAKES / "fake_gpu.so"
    done = run(program, {"TOMOPROF_CUDA": str(other)}, "simulate", "--backend", "cuda", "--size", "8", "--out", str(folder / "never"))
    check.that(done.returncode == 1 and "fake_gpu.so is not a CUDA back end of tomoprof" in done.stderr, f"{done}")


def without_one_it_is_said(check, folder):
    program = beside(folder / "none")
    found = found_by(program, 13000)
    check.that("has no CUDA back end (" in found and "./start.sh cuda" in found, found)


def toolkit_of_three(folder):
    """A toolkit with the CUPTIs of CUDA 12.4, 12.8 and 13.0 update 1, which tell their version alone."""
    place = folder / "toolkit/lib64"
    place.mkdir(parents=True)
    source = folder / "cupti.c"
    for name, version in (("libcupti.so.13", 130001), ("libcupti.so.12", 22), ("libcupti-12.8.so.12", 26)):
        source.write_text(f"int cuptiGetVersion(unsigned *v) {{ *v = {version}; return 0; }}\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", place / name, source], check=True)
    return folder / "toolkit"


def cupti_for(program, toolkit, serves, chip):
    env = {"LD_LIBRARY_PATH": str(program.parent), "LD_PRELOAD": str(FAKES / "fake_gpu.so"), "FAKE": f"serves={serves},chip={chip}", "CUDA_PATH": str(toolkit)}
    return json.loads(run(program, env, "doctor", "--json").stdout)["rows"]["cupti"]


def set_up_for(folder, driver):
    """The CUDA whose toolkit cuda/set_up.sh fetches where nvidia-smi tells this driver."""
    for name in ("start.sh", "cuda/set_up.sh"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name, text in (("bin/nvidia-smi", f"echo {driver}.65.06"), ("bin/python3", "exit 0"), ("bin/g++", "echo 12"), ("cuda/toolkit.sh", "echo fetches $1")):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    done = subprocess.run(["cuda/set_up.sh", "auto"], cwd=folder, env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "CUDA_PATH": "/none"},
                          text=True, capture_output=True, timeout=300)
    return done.stdout.splitlines()[-1].removeprefix("fetches ") if done.stdout else "none"


def drivers_table(folder):
    program, toolkit = beside(folder / "tabled", 12, 13), toolkit_of_three(folder)
    (folder / "set-up").mkdir()
    lines = ["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    for driver, serves in DRIVERS.items():
        opened = re.search(r"the build for CUDA (\d+) was opened", found_by(program, serves))
        cells = [str(driver), f"{serves // 1000}.{serves % 1000 // 10}", set_up_for(folder / "set-up", driver), opened[1] if opened else "none"]
        for chip in CHIPS.values():
            row = cupti_for(program, toolkit, serves, chip)
            of = {"22": "12.4", "26": "12.8", "130001": "13.0"}[re.search(r"API version (\d+)", row["found"])[1]]
            cells.append("card unknown" if chip == 120 and driver < BLACKWELL else of + ("" if row["state"] == "ok" else f" ({row['state']})"))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def the_table_of_drivers_is_that_of_the_docs(check, folder):
    made = drivers_table(folder)
    check.that(made in (ROOT / "docs/cuda.md").read_text(), f"docs/cuda.md has another table than --table prints:\n{made}")


def a_cupti_that_does_not_know_the_chip_is_limited(check, folder):
    program = beside(folder / "cupti")
    for serves, version, chip, state in ((12080, 22, 120, "limited"), (12080, 26, 120, "ok"), (12080, 22, 89, "ok"), (12080, 26, 103, "limited"),
                                         (12090, 28, 121, "ok"), (13000, 130001, 120, "ok"), (13000, 28, 110, "limited")):
        env = {"LD_LIBRARY_PATH": str(program.parent), "LD_PRELOAD": str(FAKES / "fake_gpu.so"), "FAKE": f"serves={serves},version={version},chip={chip}",
               "TOMOPROF_CAPTURE_CUPTI": str(FAKES / "fake_cupti.so")}
        row = json.loads(run(program, env, "doctor", "--json").stdout)["rows"]["cupti"]
        check.that(row["state"] == state, f"CUPTI {version} and a chip of {chip / 10}: {row}")
        check.that(f"compute capability {chip / 10}" in row["found"], f"{row}")
        check.that(state == "ok" or "does not know the GPU" in row["consequence"] and "12.8 or newer" in row["fix"], f"{row}")


def the_cupti_fits_driver_and_chip(check, folder):
    """Of three in one toolkit doctor takes the one that the driver serves."""
    program = beside(folder / "three")
    toolkit = toolkit_of_three(folder)
    for serves, version in ((12040, 22), (12080, 26), (12090, 26), (13000, 130001)):
        row = cupti_for(program, toolkit, serves, 89)
        check.that(f"API version {version}," in row["found"], f"a driver of CUDA {serves}: {row}")


if "--table" in sys.argv:
    with tempfile.TemporaryDirectory() as made:
        print(drivers_table(pathlib.Path(made)))
else:
    main(the_table_of_drivers_is_that_of_the_docs, a_cupti_that_does_not_know_the_chip_is_limited, the_cupti_fits_driver_and_chip, the_driver_decides, the_cure_is_for_this_driver,
         a_named_one_is_opened, without_one_it_is_said)
