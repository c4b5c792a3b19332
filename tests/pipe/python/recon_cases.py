"""Runs of MBIR and of the denoiser with options, for MBIRJAX and for tomoprof: `python3 recon_cases.py FILE.npz`, with mbirjax 0.7.3
installed, writes what MBIRJAX makes of them."""

import os
import sys

import numpy as np


def scan(package):
    """A model, a sinogram of smooth noise, weights, and a mask that is not an ellipse."""
    random = np.random.default_rng(8)
    model = package.ParallelBeamModel((12, 4, 16), np.linspace(0, np.pi, 12, endpoint=False))
    model.set_params(verbose=1, no_warning=True)
    volume = np.cumsum(random.standard_normal((16, 16, 4)), axis=0).astype(np.float32) + 8
    mask = np.zeros((16, 16), bool)
    mask[2:13, 4:] = True
    volume[~mask] = 0
    return model, np.asarray(model.forward_project(volume)), random.uniform(0.5, 1, (12, 4, 16)).astype(np.float32), mask, volume


def results(package):
    """{name: array} of all cases."""
    model, y, w, mask, volume = scan(package)
    found = {}

    def run(name, iterations=4, **options):
        np.random.seed(3)
        x, record = model.recon(y, max_iterations=iterations, stop_threshold_change_pct=0, logfile_path=None, print_logs=False, **options)
        found[name], found[name + "_rmse"] = np.asarray(x), np.array(record["recon_params"]["fm_rmse"])
        found[name + "_loss"] = np.array(record["recon_params"]["prior_loss"])

    run("prior_loss", compute_prior_loss=True)
    model.set_params(granularity=[1, 3, 20, 200], partition_sequence=[0, 2, 1, 3])
    run("schedule", weights=w)
    run("schedule_goes_on", iterations=6, first_iteration=2, init_recon=volume)
    model.set_params(use_ror_mask=mask)
    run("mask", weights=w)
    noisy = volume + np.random.default_rng(9).standard_normal(volume.shape).astype(np.float32)
    denoiser = package.QGGMRFDenoiser(volume.shape)
    for name, sharpness, options in (("denoised", 0.5, {}), ("denoised_from", 0, {"init_image": volume}), ("denoised_ellipse", 0, {"use_ror_mask": True}),
                                     ("denoised_mask", -1, {"use_ror_mask": mask})):
        denoiser.set_params(sharpness=sharpness, no_warning=True)
        np.random.seed(4)
        found[name] = np.asarray(denoiser.denoise(noisy, 1.0, max_iterations=3, stop_threshold_change_pct=0, logfile_path=None, print_logs=False, **options)[0])
    return found


if __name__ == "__main__":
    # By default it shards the slices among two devices, and keeps a shard's border as it was when an iteration began.
    os.environ.update(XLA_FLAGS="--xla_force_host_platform_device_count=1", JAX_PLATFORMS="cpu")
    import mbirjax
    np.savez_compressed(sys.argv[1], **results(mbirjax))
