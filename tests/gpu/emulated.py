"""The check of a GPU where there is none: a build folder whose programs have the emulator of tests/device inside, and sizes that it
can do. What a stranger with a GPU sees is seen before by TOMOPROF_GPU_CHECK=emulator ./start.sh gpu-check, and by
device/test_check."""

import shutil

CELLS = ["12x10x8", "13x11x9"]
SETTINGS = {
    "limit": 1000, "patience": 15, "workers": 2, "cases": "par_even,cone_even",
    "tests": ["project", "projection_calls", "hessian", "filter_recon", "mbir_twin", "prepare", "volume", "passes"],
    "small_cases": "par_even", "sanitizers": ["memcheck", "racecheck"], "equal_cell": "8x8x8", "slab_cell": CELLS[0], "load_cell": CELLS[1],
    "cells": CELLS, "cliff": CELLS[::-1], "reference_cells": CELLS[:1], "repeats": 2, "seconds_per_row": 0.2,
    "suite": "8", "suite_operations": "parallel_forward_project,median_filter3d", "suite_large": "10",
    "suite_large_operations": "cone_back_project", "record_size": 8, "record_operations": "parallel_back_project",
    "capture_seconds": 60, "capture_options": ["--only", "known,short,no_device,killed,children,reset", "--short", "2000", "--pairs", "1"],
    "peer_cells": CELLS,
}


def build_of(build, folder, tests):
    """`folder`, made: links to the programs of `build` that have the emulator inside, under their usual names."""
    (folder / "tests").mkdir(parents=True)
    shutil.copy(build / "tests/device/device_tomoprof", folder / "tomoprof")  # no link: it looks for libraries beside itself
    (folder / "libtomoprof_capture.so").symlink_to(build / "libtomoprof_capture.so")
    for name in ("known", "fake_cupti.so"):  # for the step capture: the pretended GPU and CUPTI of tests/fakes
        (folder / f"tests/{name}").symlink_to(build / f"tests/fakes/{name}")
    for name in tests:
        (folder / f"tests/test_{name}").symlink_to(build / f"tests/device/device_test_{name}")
    return folder
