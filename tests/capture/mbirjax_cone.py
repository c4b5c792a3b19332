"""A small cone-beam scan reconstructed by MBIRJAX, as its users do it. Arguments: edge N, iterations, file of the result.

Run with XLA_FLAGS=--xla_force_host_platform_device_count=1 (MBIRJAX shards over all devices that it sees)."""

import hashlib
import sys

import jax
import mbirjax
import numpy as np


def make_scan(size):
    angles = np.linspace(0, 2 * np.pi, size // 2, endpoint=False)
    model = mbirjax.ConeBeamModel((size // 2, size, size), angles, source_detector_dist=4 * size, source_iso_dist=2 * size)
    model.set_params(verbose=0)
    phantom = mbirjax.generate_3d_shepp_logan_low_dynamic_range(model.get_params("recon_shape"))
    return model, model.forward_project(phantom)


def reconstruct(model, sinogram, iterations):
    weights = mbirjax.gen_weights(sinogram, weight_type="transmission_root")
    np.random.seed(0)  # VCD draws its partitions from it
    volume, _ = model.recon(sinogram, weights=weights, max_iterations=iterations, stop_threshold_change_pct=0, print_logs=False,
                            logfile_path=None)
    return np.asarray(jax.block_until_ready(volume))


def main():
    size, iterations = int(sys.argv[1]), int(sys.argv[2])
    model, sinogram = make_scan(size)
    volume = reconstruct(model, sinogram, iterations)
    if len(sys.argv) > 3:
        np.save(sys.argv[3], volume)
    print("volume", volume.shape, hashlib.sha256(np.ascontiguousarray(volume).tobytes()).hexdigest())


if __name__ == "__main__":
    main()
