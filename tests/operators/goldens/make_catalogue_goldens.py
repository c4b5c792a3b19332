"""Goldens of MBIRJAX's other public operations, added to folders of tests/data/goldens (see make_goldens.py for the environment):
    /tmp/mbj/bin/python tests/operators/goldens/make_catalogue_goldens.py

Inputs are those that lie in the folder. Subsets are row 0 of gen_pixel_partition in 4 subsets after numpy.random.seed(7).
prox_map: near volume.npy, with the weights, 3 iterations, stop threshold 0, seed 7. gen_weights_mar: its segmentation of the
sinogram itself (init_recon None), and of volume.npy (the file whose name ends in _init). The blue-noise partition is MBIRJAX's
function over this project's own mask, which $TOMOPROF is asked for: MBIRJAX's is not copied.
qggmrf_denoise: 5 iterations, stop threshold 0, seed 7, the noise estimated."""
import os
import sys
import tempfile

import numpy as np

from make_goldens import GOLDENS, cone, model_of, parallel

BASE = ("par_offset_pitch", "cone_offsets")
SEED, SUBSETS = 7, 4


def model_from(folder):
    import json

    with open(os.path.join(folder, "geometry.json")) as f:
        g = json.load(f)
    taken = ("geometry", "sinogram_shape", "angles", "source_detector_dist", "source_iso_dist", "use_curved_detector", "helical_z_shifts")
    params = {k: v for k, v in g.items() if k not in taken}
    shape, angles = tuple(g["sinogram_shape"]), np.asarray(g["angles"], np.float32)
    if g["geometry"] == "parallel":
        return g["geometry"], model_of(parallel(shape, angles, **params))
    return g["geometry"], model_of(cone(shape, g["source_detector_dist"], g["source_iso_dist"], angles,
                                        g.get("helical_z_shifts"), g.get("use_curved_detector", False), **params))


def blue_noise():
    """The mask of 64 x 64 ranks: a partition of as many subsets has one pixel in each."""
    import json
    import subprocess

    with open("tile.json", "w") as f:
        json.dump({"geometry": "parallel", "sinogram_shape": [1, 1, 64], "angles": [0], "use_ror_mask": False}, f)
    subprocess.run([os.environ["TOMOPROF"], "apply", "gen_pixel_partition_blue_noise", "--geometry", "tile.json", "--subsets", "4096",
                    "--out", "tile.npy"], check=True)
    ranks = np.empty(64 * 64, np.int64)
    ranks[np.load("tile.npy")[:, 0]] = np.arange(64 * 64)
    return 16 * ranks.reshape(64, 64)


def make(name):
    import jax.numpy as jnp
    import mbirjax as mj
    import mbirjax.bn256 as bn

    folder = os.path.join(GOLDENS, name)
    beam, m = model_from(folder)

    def save(array_name, array, dtype=np.float32):
        array = np.ascontiguousarray(array, dtype)
        assert array.nbytes < 60_000, (name, array_name, array.shape)
        np.save(os.path.join(folder, array_name + ".npy"), array)

    volume, sinogram, weights = (np.load(os.path.join(folder, f"{a}.npy")) for a in ("volume", "sinogram", "weights"))
    shape = m.get_params("recon_shape")
    mask = m.get_params("use_ror_mask")
    np.random.seed(SEED)
    pixels = mj.gen_pixel_partition(shape, SUBSETS, use_ror_mask=mask)[0]
    flat = volume.reshape(-1, volume.shape[2])
    save(beam + "_sparse_forward_project.out", m.sparse_forward_project(jnp.asarray(flat[np.asarray(pixels)]), pixels))
    back = np.zeros_like(flat)
    back[np.asarray(pixels)] = np.asarray(m.sparse_back_project(jnp.asarray(sinogram), pixels))
    save(beam + "_sparse_back_project.out", back.reshape(volume.shape))
    save(beam + "_direct_filter.out", m.direct_filter(sinogram))
    np.random.seed(SEED)
    x, _ = m.prox_map(volume, sinogram, weights=weights, max_iterations=3, stop_threshold_change_pct=0, print_logs=False)
    save(beam + "_prox_map.out", x)
    for kind in ("transmission", "transmission_root", "emission", "unweighted"):
        save(f"gen_weights_{kind}.out", mj.gen_weights(sinogram, kind))
    save("gen_weights_mar.out", mj.gen_weights_mar(m, sinogram))
    save("gen_weights_mar_init.out", mj.gen_weights_mar(m, sinogram, init_recon=volume))
    np.random.seed(SEED)
    save("gen_pixel_partition_grid.out", mj.gen_pixel_partition_grid(shape, SUBSETS, use_ror_mask=mask), np.int32)
    bn.bn256 = blue_noise()
    np.random.seed(SEED)
    save("gen_pixel_partition_blue_noise.out", mj.gen_pixel_partition_blue_noise(shape, SUBSETS, use_ror_mask=mask), np.int32)
    print(name, flush=True)


def denoise():
    import mbirjax as mj

    folder = os.path.join(GOLDENS, "denoise_small")
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(5)
    i, j, k = np.meshgrid(*(np.linspace(-1, 1, n) for n in (23, 20, 13)), indexing="ij")
    image = (1.0 * (i**2 + j**2 + k**2 < 0.6) + 0.1 * rng.standard_normal(i.shape)).astype(np.float32)
    np.random.seed(SEED)
    d = mj.QGGMRFDenoiser(image.shape)
    out, info = d.denoise(image, max_iterations=5, stop_threshold_change_pct=0, print_logs=False)
    np.save(os.path.join(folder, "qggmrf_denoise.in.npy"), image)
    np.save(os.path.join(folder, "qggmrf_denoise.out.npy"), np.asarray(out, np.float32))
    print("denoise", float(d.get_params("sigma_noise")), float(d.get_params("sigma_x")), flush=True)


def main():
    with tempfile.TemporaryDirectory() as scratch:  # MBIRJAX writes ./logs
        os.chdir(scratch)
        for name in sys.argv[1:] or BASE:
            make(name)
        denoise()


if __name__ == "__main__":
    main()
