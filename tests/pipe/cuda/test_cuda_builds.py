"""Which build of the CUDA back end is opened, by the driver that is there: all of them stand-ins (tests/fakes)."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import TOMOPROF, main

BUILD = pathlib.Path(TOMOPROF).resolve().parent
FAKES = BUILD / "tests/fakes"
DRIVERS = {525: 12000, 560: 12060, 565: 12070, 570: 12080, 575: 12090, 580: 13000, 590: 13010}


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
    place = folder / "toolkit/lib64"
    place.mkdir(parents=True)
    source = folder / "cupti.c"
    for name, version in (("libcupti.so.13", 130001), ("libcupti.so.12", 22), ("libcupti-12.8.so.12", 26)):
        source.write_text(f"int cuptiGetVersion(unsigned *v) {{ *v = {version}; return 0; }}\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", place / name, source], check=True)
    for serves, version in ((12040, 22), (12080, 26), (12090, 26), (13000, 130001)):
        env = {"LD_LIBRARY_PATH": str(program.parent), "LD_PRELOAD": str(FAKES / "fake_gpu.so"), "FAKE": f"serves={serves},chip=89",
               "CUDA_PATH": str(folder / "toolkit")}
        row = json.loads(run(program, env, "doctor", "--json").stdout)["rows"]["cupti"]
        check.that(f"API version {version}," in row["found"], f"a driver of CUDA {serves}: {row}")


main(a_cupti_that_does_not_know_the_chip_is_limited, the_cupti_fits_driver_and_chip, the_driver_decides, a_named_one_is_opened, without_one_it_is_said)
