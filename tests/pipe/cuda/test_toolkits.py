"""Which CUDA toolkits a build takes, by what their nvcc says and does: all of them shell scripts in folders of their own."""

import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILES = ("include/cuda_runtime.h", "include/cufft.h", "lib64/libcudart_static.a")
LISTED = {12: "50 52 53 60 61 62 70 72 75 80 86 87 89 90", 13: "75 80 86 87 88 89 90 100 103 110 120 121"}
OURS = "75;80;86;89;90;100;120"


def toolkit(folder, release, compiles="exit 0", knows="", without=()):
    """A folder with an nvcc of this release."""
    for name in FILES:
        if name not in without:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    version = f"echo 'Cuda compilation tools, release {release}, V{release}.0'" if release else "echo 'Illegal instruction' >&2; exit 132"
    listed = "".join(f"echo compute_{n};" for n in knows.split())
    nvcc = folder / "bin/nvcc"
    nvcc.write_text(f'#!/bin/sh\ncase $1 in\n--version) {version} ;;\n--list-gpu-arch) {listed} ;;\n*) {compiles} ;;\nesac\n')
    nvcc.chmod(0o755)
    return folder


def ask(folder, root, wanted=OURS):
    """{"why_not", "version", "names", "codes"} of cuda/toolkits.cmake."""
    script = folder / "ask.cmake"
    script.write_text(f'cmake_minimum_required(VERSION 3.21)\ninclude("{ROOT}/cuda/toolkits.cmake")\nset(TP_CUDA_ARCH "{wanted}")\ntp_cuda_toolkit("{root}")\n'
                      'if(NOT why_not)\n  tp_cuda_codes()\nendif()\n'
                      'foreach(name why_not version names codes)\n  message("${name}=${${name}}")\nendforeach()\n')
    done = subprocess.run(["cmake", "-P", script], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(re.findall(r"^(\w+)=(.*)$", done.stderr, re.M))


def what_cannot_be_used_is_passed_over_with_its_reason(check, folder):
    cases = [("old", {"release": "11.8"}, "is CUDA 11.8, 12.0 to 13.x are needed"),
             ("new", {"release": "14.0"}, "is CUDA 14.0, 12.0 to 13.x are needed"),
             ("broken", {"release": ""}, "does not tell its version: Illegal instruction"),
             ("partial", {"release": "12.4", "without": FILES[1:2]}, "or no include/cufft.h"),
             ("headless", {"release": "12.4", "without": FILES[:1]}, "has no include/cuda_runtime.h"),
             ("unlinked", {"release": "12.4", "without": FILES[2:]}, "has no libcudart_static.a"),
             ("misfit", {"release": "12.3", "compiles": "echo 'error: unsupported GNU version!' >&2; exit 1"},
              "nvcc 12.3 cannot compile here: error: unsupported GNU version!")]
    for name, how, reason in cases:
        said = ask(folder, toolkit(folder / name, **how))["why_not"]
        check.that(reason in said and str(folder / name) in said, f"{name}: {said}")
    hidden = toolkit(folder / "hidden", "13.0", knows=LISTED[13])
    (hidden / "bin/nvcc").rename(hidden / "bin/nvcc-13")
    check.that("has no bin/nvcc" in ask(folder, hidden)["why_not"], "a toolkit without nvcc is taken")


def architectures_are_those_that_it_knows(check, folder):
    cases = [("12.0", 12, OURS, "75;80;86;89;90", "compute_90,code=compute_90"),
             ("13.0", 13, OURS, OURS, "compute_120,code=compute_120"),
             ("12.0", 12, "86", "86", "compute_86,code=compute_86"),
             ("12.0", 12, "100;120", "90", "compute_90,code=compute_90")]  # all of them newer: PTX of the newest for those
    for release, major, wanted, names, ptx in cases:
        said = ask(folder, toolkit(folder / f"cu{release}", release, knows=LISTED[major]), wanted)
        check.that(said["why_not"] == "" and said["version"] == release, f"{release}: {said}")
        check.that(said["names"] == names, f"{release}, {wanted}: {said['names']}")
        check.that(said["codes"].endswith(f"-gencode=arch={ptx}"), f"{release}, {wanted}: {said['codes']}")


if not shutil.which("cmake"):
    print("skipped: cmake is missing")
    sys.exit(77)
main(what_cannot_be_used_is_passed_over_with_its_reason, architectures_are_those_that_it_knows)
