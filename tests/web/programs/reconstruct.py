"""Reconstructs noisy copies of a phantom with MBIRJAX, six times."""
import jax.numpy as jnp
import mbirjax
import numpy as np

angles = np.linspace(0, np.pi, 48, endpoint=False)
model = mbirjax.ParallelBeamModel((48, 24, 64), angles)
phantom = mbirjax.utilities.generate_3d_shepp_logan_low_dynamic_range(model.get_params("recon_shape"))
sinogram = model.forward_project(phantom)
weights = mbirjax.gen_weights(sinogram, weight_type="transmission_root")


def noisy(seed):
    noise = np.random.default_rng(seed).normal(0, 0.05, sinogram.shape)
    return sinogram + jnp.asarray(noise, dtype=sinogram.dtype)


def reconstruct(seed):
    recon, _ = model.recon(noisy(seed), weights=weights, max_iterations=5, stop_threshold_change_pct=0, print_logs=False)
    return recon


def error(recon):
    return float(np.sqrt(np.mean((np.asarray(recon) - np.asarray(phantom)) ** 2)))


for seed in range(6):
    print(f"{seed}: {error(reconstruct(seed)):.4f}", flush=True)
