"""Goldens of MBIRJAX's recon beyond the three iterations on noise of make_goldens.py: an object with a background,
positivity, no weights, the stop rule. (p stays 2: below it the curvature of nearly equal voxels runs away, and
MBIRJAX itself is then only equal to float64 arithmetic within 1e-3; test_prior.c has p < 2.)
Each case is a folder tests/data/goldens_mbir/NAME:
    geometry.json  sinogram.npy  weights.npy (weighted cases)  recon.npy
    trace.npy      (iterations, 3): fm_rmse, change in per cent, mean step length
    sigmas.npy     (3,): sigma_y, sigma_x, sigma_prox

How to run (only to add a case; see make_goldens.py for the environment):
    /tmp/mbj/bin/python tests/operators/goldens/make_mbir_goldens.py [NAME ...]
test_mbir.c holds the same names with iterations, threshold and seed."""
import json
import os
import sys
import tempfile
import zlib

import numpy as np

from make_goldens import PI, cone, geometry_of, model_of, parallel, turn

GOLDENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data", "goldens_mbir")

# geometry, weighted, max_iterations, stop_threshold_change_pct, seed
CASES = {
    "par_default": (parallel((36, 5, 32)), False, 15, 0.2, 7),
    "par_stopped": (parallel((40, 4, 30), sharpness=0.0), True, 15, 1.5, 11),
    "par_positive": (parallel((24, 5, 30), positivity_flag=True, det_channel_offset=0.6), True, 6, 0, 7),
    "cone_default": (cone((30, 10, 26), 104, 52), True, 15, 0.2, 0),
    "cone_positive_helical": (
        cone((24, 7, 22), 88, 44, angles=turn(24, -0.5, 4 * PI), z=np.linspace(-2.5, 2.5, 24), positivity_flag=True,
             use_ror_mask=False, voxel_row_aspect=1.4, voxel_slice_aspect=0.8, recon_shape=(14, 23, 13),
             qggmrf_nbr_wts=[1.0, 2.0, 0.5]), True, 5, 0, 7),
    "cone_sigmas": (cone((20, 8, 22), 66, 44, q=1.0, T=0.8, auto_regularize_flag=False, sigma_y=0.05, sigma_x=0.03,
                         max_alpha=1.2), False, 4, 0, 3),
}


def phantom(shape):
    """An ellipsoid of 0.05 with a dense and an empty ball."""
    i, j, k = np.meshgrid(*(np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in shape), indexing="ij")
    v = 0.05 * (i ** 2 / 0.5 + j ** 2 / 0.3 + k ** 2 / 0.9 <= 1)
    v += 0.1 * ((i - 0.2) ** 2 + (j - 0.1) ** 2 + k ** 2 <= 0.03)
    v -= 0.05 * ((i + 0.3) ** 2 + j ** 2 + (k - 0.2) ** 2 <= 0.04)
    return v.astype(np.float32)


def make(name):
    case, weighted, iterations, threshold, seed = CASES[name]
    m = model_of(case)
    folder = os.path.join(GOLDENS, name)
    os.makedirs(folder, exist_ok=True)

    def save(array_name, array):
        array = np.ascontiguousarray(array, np.float32)
        assert array.nbytes < 60_000, (name, array_name, array.shape)
        np.save(os.path.join(folder, array_name + ".npy"), array)

    rng = np.random.default_rng(zlib.crc32(name.encode()))
    sinogram = np.asarray(m.forward_project(phantom(m.get_params("recon_shape"))))
    sinogram = (sinogram + 0.01 * sinogram.max() * rng.standard_normal(sinogram.shape)).astype(np.float32)
    weights = np.exp(-sinogram) if weighted else None
    np.random.seed(seed)
    recon, info = m.recon(sinogram, weights=weights, max_iterations=iterations, stop_threshold_change_pct=threshold,
                          print_logs=False)
    p = info["recon_params"]
    save("sinogram", sinogram)
    if weighted:
        save("weights", weights)
    save("recon", recon)
    save("trace", np.stack([p["fm_rmse"], p["stop_threshold_change_pct"], p["alpha_values"]], axis=1))
    save("sigmas", [p["regularization_params"][k] for k in ("sigma_y", "sigma_x", "sigma_prox")])
    with open(os.path.join(folder, "geometry.json"), "w") as f:
        json.dump(geometry_of(case), f, indent=1)
    print(name, recon.shape, p["num_iterations"], p["stop_threshold_change_pct"][-1], recon.min(), flush=True)


def main():
    unknown = [name for name in sys.argv[1:] if name not in CASES]
    if unknown:
        sys.exit("no such case: " + ", ".join(unknown))
    names = sys.argv[1:] or [n for n in CASES if not os.path.exists(os.path.join(GOLDENS, n, "recon.npy"))]
    with tempfile.TemporaryDirectory() as scratch:  # MBIRJAX writes ./logs
        os.chdir(scratch)
        for name in names:
            make(name)


if __name__ == "__main__":
    main()
