"""Sizes and limits of check.py. A file of settings replaces single keys; the steps are the same for all."""

import json
import pathlib

import cells

SETTINGS = {
    "limit": 530,            # seconds of the whole
    "workers": None,         # steps side by side where nothing is timed; None: a third of the CPUs
    "tests": ["project", "projection_calls", "hessian", "filter_recon", "goldens", "analytic", "vcd_fingerprint", "mbir_twin",
              "mbir", "prepare", "volume", "passes"],
    "fingerprints": True,    # the published ones of 128x112x96: too slow on an emulator
    "sanitizers": ["memcheck", "racecheck", "initcheck", "synccheck"],
    "cases": None,           # of the operator tests; None: all
    "small_cases": "par_even,par_prime,par_37_slices,cone_even,cone_tall_rows,cone_helical_curved",
    "equal_cell": "128x112x96",
    "slab_cell": "256x224x192",
    "load_cell": "256x224x192",  # a sinogram that `tomoprof load` sends to the device
    "cells": ["200x208x160", "512x448x384", "513x449x385", "1024x1008x992"],
    "cliff": ["513x449x385", "512x448x384"],
    "reference_cells": ["200x208x160", "512x448x384"],
    "operations": cells.OPERATIONS,
    "repeats": 7,
    "seconds_per_row": 8,
    "suite": "32,64,128,256",
    "suite_operations": "*",
    "suite_large": "512,1024",
    "suite_large_operations": "parallel_forward_project,parallel_back_project,cone_forward_project,cone_back_project,cone_voxel_back_project,*_fbp_filter,*_fdk_filter,median_filter3d,*_hessian_diagonal",
    "record_size": 64,
    "record_operations": "parallel_back_project,cone_forward_project,parallel_mbir_recon",
    "peers": ["mbirjax", "mbirtorch"],
    "peer_cells": ["512x448x384", "1024x1008x992", "200x208x160"],
    "capture_seconds": 60,
    "capture_options": [],   # words for capture.py
    "patience": 1,           # factor on the limit of each step
    "test_seconds": 150,     # the limit of an operator test
}


def load(path, base=None):
    """ValueError for a key that does not exist. `base` replaces some as well, before the file."""
    given = json.loads(pathlib.Path(path).read_text()) if path else {}
    unknown = sorted(set(given) - set(SETTINGS))
    if unknown:
        raise ValueError(f"{path}: no setting is called {unknown[0]}")
    return SETTINGS | (base or {}) | given
