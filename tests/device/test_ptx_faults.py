"""Faults planted in nvcc's PTX, one at a time: the operator tests on the emulator must find each."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "ptx"))
import translate  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# File, what is searched for (its first occurrence), what takes its place, the test that must fail.
PLANTED = {
    "a sum without its addend": ("volume_place_cu", r"fma\.rn\.f32 (\s*\S+, \S+, \S+), \S+;", r"mul.rn.f32 \1;", "test_volume"),
    "the other side of a limit": ("volume_map_cu", r"setp\.gt", "setp.le", "test_volume"),
    "a difference for a sum": ("projection_bins_cu", r"add\.s64", "sub.s64", "test_project"),
    "no barrier": ("volume_map_cu", r"bar\.sync\s+0;", "", "test_volume"),
    "another lane": ("vcd_update_cu", r"(shfl\.sync\.down\.b32\s+\S+, \S+), \d+,", r"\1, 3,", "test_mbir_twin"),
}


def run(test, library):
    done = subprocess.run([pathlib.Path(os.environ["TP_PTX_TESTS"]) / f"device_{test}"], capture_output=True, timeout=1200,
                          env={**os.environ, "TOMOPROF_TEST_PTX": str(library)})
    return done.returncode


def main():
    folder, objects = pathlib.Path(os.environ["TP_PTX_FOLDER"]), os.environ["TP_PTX_OBJECTS"].split(",")
    flags = ["-std=c++17", "-w", "-O1", "-ffp-contract=off", "-mfma", "-fno-strict-aliasing", "-fPIC", "-shared", f"-I{ROOT}"]
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        for what, (name, search, instead, test) in PLANTED.items():
            text, count = re.subn(search, instead, (folder / f"{name}.ptx").read_text(), count=1)
            if not count:
                wrong.append(f"{what}: {name}.ptx has nothing to plant it in")
                continue
            source, library = pathlib.Path(scratch, "planted.cpp"), pathlib.Path(scratch, f"{len(wrong)}.so")
            source.write_text(translate.translated(text, name))
            others = [o for o in objects if f"/{name}.cpp" not in o]
            if len(others) != len(objects) - 1:
                wrong.append(f"{what}: {len(objects) - len(others)} objects of {name}")
                continue
            subprocess.run(["c++", *flags, source, *others, "-o", library], check=True, timeout=600)
            status = run(test, library)
            print(f"{what}: {test} ends with {status}")
            if status == 0:
                wrong.append(f"{what}: {test} did not find it")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
