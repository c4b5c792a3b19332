"""Fingerprints that MBIRJAX's own project publishes for version 0.7.2: sums, norms, extremes and samples of filter,
back and forward projection of seeded NumPy inputs, 128 views of 112 x 96 detector cells, through `tomoprof apply`.
VCD: test_vcd_fingerprint.c."""

import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "pipe"))
from tool import main, tomoprof, write_json  # noqa: E402

V, MR, NC = 128, 112, 96
SHAPE = (V, MR, NC)
GEOMETRY = {"sinogram_shape": SHAPE, "angles": [float(a) for a in np.linspace(0, np.pi, V, endpoint=False).astype(np.float32)]}
PARALLEL = GEOMETRY | {"geometry": "parallel"}
CONE = GEOMETRY | {"geometry": "cone", "source_detector_dist": 4 * NC, "source_iso_dist": 2 * NC}
# 7 slices of axial padding at either end, as the development branch that made these fingerprints chose them.
PADDED = CONE | {"recon_shape": [NC, NC, 126], "recon_slice_offset": 0.0}

# (operation, geometry, sum, l2, min, max, 12 samples at evenly spaced flat indices). Back projections are those of the
# region of reconstruction, (pixels, slices).
PUBLISHED = [
    ("fbp_filter", PARALLEL, 121.670808, 2.41130406, -0.00563912, 0.005898567,
     ".003459534 -.002935806 -.003781903 .0001873181 -.00426776 -.001542981 -.003389123 3.408219e-05 .0007429923 "
     ".003244078 -.002415382 -.001406416"),
    ("forward_project", PARALLEL, 67208.722, 8480.54066, -37.2874, 37.35996,
     "0 4.149536 13.90466 5.792339 -4.903987 5.743359 -8.29725 4.763463 7.409755 -8.661633 -12.31583 -.4252658"),
    ("back_project", PARALLEL, 50797810.7, 57097.1889, 51.682, 77.01339,
     "63.85455 59.26616 64.08454 62.6547 62.96389 67.53363 61.34062 60.09122 67.61042 62.27723 63.25445 64.54106"),
    ("fdk_filter", CONE, 482.341048, 9.58623358, -0.02237529, 0.02341322,
     ".01359061 -.01171494 -.01509273 .0007414516 -.01698066 -.006140771 -.01349148 .000134869 .002943052 .01294747 "
     "-.009640241 -.005530306"),
    ("forward_project", CONE, 42379.8373, 3472.38306, -17.82291, 15.57005,
     ".2153079 1.153391 .07773892 -3.548343 -1.973636 4.497015 -2.083534 .3159793 -2.347749 .6709606 -1.933199 2.23555"),
    ("back_project", CONE, 25046750.9, 28440.4873, 0.9872855, 42.65836,
     "16.63097 30.45821 29.13953 33.9145 34.12013 33.10069 31.38414 28.92513 30.73572 37.39871 31.97839 12.3104"),
    ("forward_project", PADDED, 20070.8569, 3510.26122, -17.59055, 15.68586, None),
    ("back_project", PADDED, 25633398.5, 28595.0077, 0.0, 42.65836, None),
]


def inside():
    """Flat indices of the pixels in the ellipse inscribed in the volume."""
    i = (np.arange(NC) - (NC - 1) / 2) / ((NC - 1) / 2)
    return np.flatnonzero(i[:, None] ** 2 + i[None] ** 2 <= 1)


def source(operation, geometry):
    """The seeded input; of forward projection on the pixels inside, in ascending order."""
    rng = np.random.default_rng(0)
    if operation != "forward_project":
        return rng.random(SHAPE, dtype=np.float32)
    slices = geometry.get("recon_shape", [NC, NC, MR])[2]
    volume = np.zeros((NC * NC, slices), np.float32)
    volume[inside()] = rng.standard_normal((len(inside()), slices), dtype=np.float32)
    return volume.reshape(NC, NC, slices)


def compute(folder, operation, geometry):
    np.save(folder / "in.npy", source(operation, geometry))
    run = tomoprof("apply", operation, "--geometry", write_json(folder / "g.json", geometry), "--in", folder / "in.npy",
                   "--out", folder / "out.npy", "--backend", os.environ.get("TOMOPROF_TEST_BACKEND", "auto"))
    if run.returncode:
        sys.exit(f"tomoprof apply {operation}: {run.stderr}")
    out = np.load(folder / "out.npy").astype(np.float64)
    return out.reshape(NC * NC, -1)[inside()] if operation == "back_project" else out


def pixels_inside(checks, folder):
    checks.that(len(inside()) == 7080, f"{len(inside())} pixels in the region of reconstruction, published 7080")


def fingerprints(checks, folder):
    for operation, geometry, total, l2, low, high, samples in PUBLISHED:
        out = compute(folder, operation, geometry)
        # A sum that cancels is known to 1e-5 of what is summed; the samples were printed with 7 digits.
        norm = np.linalg.norm(out)
        errors = {"sum": abs(out.sum() - total) / (norm * np.sqrt(out.size)), "l2": abs(norm / l2 - 1),
                  "min": abs(out.min() - low) / np.abs(out).max(), "max": abs(out.max() - high) / np.abs(out).max()}
        if samples:
            at = np.linspace(0, out.size - 1, 12).astype(int)
            errors["samples"] = np.abs(out.ravel()[at] - np.array(samples.split(), float)).max() / np.abs(out).max()
        name = f"{geometry['geometry']} {operation} -> {out.shape}"
        print(f"{name}: l2 {norm:.9g} (published {l2:.9g}); errors",
              ", ".join(f"{k} {e:.1e}" for k, e in errors.items()))
        for what, error in errors.items():
            checks.that(error <= 1e-5, f"{name}: {what} is off by {error:.2g}")


main(pixels_inside, fingerprints)
