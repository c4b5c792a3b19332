"""Calls of MBIRJAX on arrays from a seed, beyond those of preprocess_cases.py and recon_cases.py. Run with MBIRJAX 0.7.3 installed, this file
writes what it returns:

    python3 tests/pipe/python/names_cases.py tests/data/preprocess/names.npz"""

import io
import os
import sys
import warnings

import numpy as np

FROM = {"stripes": ("scipy",), "wavelets": ("pywt",), "shifts": ("cv2",)}  # packages that a part needs beside NumPy
PRIOR = (0.7, 2.0, 1.2, 1.0)


def given(package, array):
    """An array as MBIRJAX takes it where it writes into parts of it."""
    return sys.modules["jax"].numpy.asarray(array) if package.__name__ == "mbirjax" else array


def stripes(package, found):
    """Rings as (views, rows, channels): dead, bright, partial and weak channels."""
    random = np.random.default_rng(41)
    sino = np.add.outer(np.linspace(0, 1, 48), np.hanning(96))[:, None, :] * np.ones((1, 3, 1))
    sino = (2 + sino + random.normal(0, 0.02, (48, 3, 96))).astype(np.float32)
    sino[:, :, 20] = 0.5
    sino[:, 1, 40:43] += 0.8
    sino[:24, 2, 60] += 1
    sino[:, :, 70] *= 1.04
    p = package.preprocess
    index = p.generate_column_index_matrix(96, 48)
    rows = [given(package, sino[:, row].copy()) for row in range(3)]
    found["all_stripe"] = p.remove_all_stripe(sino, large_filter_size=21, small_filter_size=5)
    found["small_stripes"] = np.stack([np.asarray(p.remove_small_stripes_sorting(row, 7, index)) for row in rows])
    found["large_stripes"] = np.stack([np.asarray(p.remove_large_stripes_sorting(row, 3, 21, index)) for row in rows])
    found["dead_stripes"] = np.stack([np.asarray(p.remove_dead_fluctuating_stripes_interpolation(row, 3, 21, index)) for row in rows])
    found["detected"] = p.detect_stripe(np.asarray([1 + 0.01 * i + (3 if i == 30 else -2 if i == 7 else 0) for i in range(64)], np.float32), 3)


def wavelets(package, found):
    sino = np.random.default_rng(42).random((30, 2, 41)).astype(np.float32)
    sino[:, :, 11] += 1
    array = given(package, sino)
    found["fw_db5"] = package.preprocess.remove_stripe_fw(array)
    found["fw_haar"] = package.preprocess.remove_stripe_fw(array, "haar", 1.0)


def shifts(package, found):
    model, volume = cone(package), blobs((32, 32, 24))
    sino = np.asarray(model.forward_project(volume))
    moved = np.stack([np.roll(view, (i % 3 - 1, i % 2), (0, 1)) for i, view in enumerate(sino)])
    found["high_pass"] = package.preprocess.sino_high_pass_filtering(moved, 2.0, 5.0)
    found["shifts"] = package.preprocess.estimate_sino_view_offset(model, moved, volume)
    found["aligned"] = package.preprocess.align_sino_views(model, moved, volume)


def blobs(shape):
    """A smooth volume with some structure everywhere."""
    random, x = np.random.default_rng(43), np.zeros(shape, np.float32)
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij"), -1)
    for _ in range(12):
        x += random.random() * np.exp(-40 * ((grid - random.uniform(-0.6, 0.6, 3)) ** 2).sum(-1)).astype(np.float32)
    return x


def cone(package, **options):
    model = package.ConeBeamModel((12, 24, 32), np.linspace(0, 2 * np.pi, 12, endpoint=False), 128, 64, **options)
    model.set_params(no_warning=True, verbose=0, recon_shape=(32, 32, 24))
    return model


class Seeded:
    """In this `with` each recon of the class draws the order of the pixels from the same seed: both halves of a scan have one."""

    def __init__(self, kind) -> None:
        self.kind, self.recon = kind, kind.recon

    def __enter__(self):
        def recon(model, *arguments, **options):
            np.random.seed(48)
            return self.recon(model, *arguments, **options)
        self.kind.recon = recon

    def __exit__(self, *_):
        self.kind.recon = self.recon


def prior(package, found):
    random = np.random.default_rng(44)
    x, other = (random.random((5, 6, 4)).astype(np.float32) for _ in range(2))
    b = package.get_b_from_nbr_wts([1.0, 2.0, 0.5])
    found["b"] = b
    found["b_tilde"] = package.b_tilde_by_definition(x - other, *PRIOR)
    found["2_b_tilde"] = package.get_2_b_tilde(x - other, 0.3, (b, *PRIOR))
    found["prior_gradient"], found["prior_hessian"] = package.compute_qggmrf_grad_and_hessian(x, (b, *PRIOR))
    found["surrogate"], found["surrogate_gradient"] = package.compute_surrogate_and_grad(x, other, (b, *PRIOR))
    pixels = np.array([3, 29, 0, 12])
    found["at_gradient"], found["at_hessian"] = package.qggmrf_gradient_and_hessian_at_indices(x.reshape(30, 4), (5, 6, 4), pixels, (b, *PRIOR))
    found["prior_loss"] = package.qggmrf_loss(x, (b, *PRIOR))
    found["prox_gradient"] = package.prox_gradient_at_indices(x.reshape(30, 4), other.reshape(30, 4), pixels, 0.5)
    weights, error = random.uniform(0.1, 2, (4, 5, 6)).astype(np.float32), random.normal(0, 1, (4, 5, 6)).astype(np.float32)
    found["huber"] = package.preprocess.gen_huber_weights(weights, error, 1.5, 0.7)


def objects(package, found):
    found["reference"] = package.generate_3d_shepp_logan_reference((12, 16, 10))
    vectors = package.gen_translation_vectors(5, 3, 20, 30)
    for name, aspects in (("tct", (1.0, 1.0)), ("tct_aspects", (2.5, 0.5))):
        shape, delta, aspect = package.calc_tct_recon_params(300.0, 200.0, 1.5, 1.0, (15, 40, 60), vectors, *aspects)
        found[name] = [*shape, delta, aspect]
    random = np.random.default_rng(45)
    found["boundaries"] = package.estimate_background_cluster_boundaries(
        np.concatenate([random.normal(0, 0.02, 4000), random.uniform(1, 2, 2000)]).astype(np.float32))
    helix = np.linspace(-40, 40, 12).astype(np.float32)
    model = package.ConeBeamModel((12, 24, 32), np.linspace(0, 12, 12), 128, 64, helical_z_shifts=helix)
    model.set_params(no_warning=True, verbose=0)
    found["seen"] = package.get_helical_half_rotation_slice_range(model, 1.4, helix)
    x = np.ones(tuple(model.get_params("recon_shape")), np.float32)
    found["helical_weight"] = model.helical_fdk_z_weight(x, None)


def models(package, found):
    model, x = cone(package), blobs((32, 32, 24))
    sino = np.asarray(model.forward_project(x))
    inside = (sino > 0.1).astype(np.int8)
    model.auto_set_sigma_y(sino, inside)
    model.auto_set_sigma_x(0.3)
    model.auto_set_sigma_prox(0.4)
    found["sigmas"] = model.get_params(["sigma_y", "sigma_x", "sigma_prox"])
    weights = np.random.default_rng(46).uniform(0.5, 1, sino.shape).astype(np.float32)
    found["losses"] = [float(model.get_forward_model_loss(sino, 0.7, *options)) for options in ((), (weights,), (weights, False), (2.0,), (None, False))]
    noisy = x + np.random.default_rng(47).normal(0, 0.1, x.shape).astype(np.float32)
    found["noise"] = package.QGGMRFDenoiser(x.shape).estimate_image_noise_std(noisy)
    for name, options in (("split", {}), ("split_aligned", {"align_split_grid": True, "half_overlap": 3, "weights": weights})):
        split = cone(package)
        split.set_params(det_row_offset=1.3)
        with Seeded(package.TomographyModel):
            volume, record = split.split_sino_recon(sino, max_iterations=3, stop_threshold_change_pct=0, logfile_path=None, print_logs=False, **options)
        found[name] = volume
        found[name + "_params"] = [float(record["split_params"][key]) for key in sorted(record["split_params"])]


def views(package, found):
    model, x = cone(package), blobs((32, 32, 24))
    for name, options in (("views", {}), ("views_ordered", {"priority_order": True, "prev_selected_view_inds": np.array([2, 7])}), ("views_roi", {"roi": x > 0.2})):
        chosen, loss = package.get_opt_views(model, x, 4, r_1=0.2, seed=49, **options)
        found[name], found[name + "_loss"] = chosen, loss
    found["edges"] = package.max_abs_neighbor_diff(x[:, :, 12])


def seeded(call):
    def seeded_call(*arguments, **options):
        np.random.seed(11)  # MBIRJAX draws more numbers than tomoprof: the next call begins with the same ones
        return call(*arguments, **options)
    return seeded_call


def frames(package, found):
    """Volumes in time of a scan of two turns."""
    count, rows, channels = 48, 8, 10
    model = package.ConeBeamModel((count, rows, channels), np.radians(15.0) * np.arange(count), 100.0, 50.0)
    model.set_params(verbose=0)
    base = np.exp(-np.add.outer(np.linspace(-1, 1, rows) ** 2, np.linspace(-1, 1, channels) ** 2))
    sino = np.stack([base * (1 + 0.1 * np.sin(0.5 * view)) for view in range(count)]).astype(np.float32)
    for name, frames, iterations in (("frames", None, 2), ("frames_own", 3, 1)):
        mace = package.MACE4DModel(model, num_frames=frames)
        mace.set_params(dejitter=frames is None, verbose=0, mace_prior_weight=[0.1, 0.2, 0.3])
        mace.set_device_pool(1)
        for frame in mace.model_list:
            frame.prox_map, frame.recon = seeded(frame.prox_map), seeded(frame.recon)
        shape = (mace.num_frames, *mace.recon_shape)
        begin = np.linspace(0, 0.1, int(np.prod(shape)), dtype=np.float32).reshape(shape) + 0.01 * np.random.default_rng(50).random(shape, np.float32)
        volumes, record = mace.recon(sino, np.exp(-sino), begin if frames is None else None, iterations, 0)
        found[name] = volumes
        if frames is None:
            found[name + "_change"] = np.array([row["consensus_change_pct"] for row in record["timing"]], np.float32)
        found[name + "_views"] = np.array([(views.start, views.stop) for views in mace.view_slices])
        found[name + "_sigma"] = np.float32(record["recon_params"]["denoiser sigma (global)"])


def metals(package, found):
    """A disc of plastic with two rods of metal, whose attenuation hardens."""
    model = package.ConeBeamModel((24, 10, 32), np.linspace(0, 2 * np.pi, 24, endpoint=False), 128.0, 64.0)
    model.set_params(verbose=0)
    rows, columns, slices = model.get_params("recon_shape")
    y, x = np.mgrid[:rows, :columns] - (np.array([rows, columns]).reshape(2, 1, 1) - 1) / 2
    plastic, metal = np.hypot(x, y) < 0.3 * columns, np.hypot(x - 4, y - 3) < 2
    sino = np.asarray(model.forward_project(np.repeat(np.where(plastic, 0.02, 0)[:, :, None] + 0.2 * metal[:, :, None], slices, 2).astype(np.float32)))
    sino = sino - 0.08 * sino**2 + 0.002 * np.random.default_rng(51).standard_normal(sino.shape).astype(np.float32)
    volume = np.asarray(model.direct_recon(sino))
    found["metal_free"] = package.preprocess.correct_sino_plastic_metal(model, sino, volume, num_constraint_update_iter=0)
    found["metal_bound"] = package.preprocess.correct_sino_plastic_metal(model, sino, volume, gamma=0.05)
    found["metal_two"] = package.preprocess.correct_sino_plastic_metal(model, sino, volume, num_metal=2, order=2)


PARTS = (stripes, wavelets, shifts, prior, objects, models, views, frames, metals)


def results(package, parts=PARTS):
    """{name: array} of all parts. MBIRJAX prints."""
    found, out = {}, sys.stdout
    for part in parts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sys.stdout = io.StringIO()
            try:
                part(package, found)
            finally:
                sys.stdout = out
    return {name: np.asarray(array) for name, array in found.items()}


if __name__ == "__main__":
    os.environ.update(XLA_FLAGS="--xla_force_host_platform_device_count=1", JAX_PLATFORMS="cpu")
    import mbirjax
    import mbirjax.preprocess
    np.savez_compressed(sys.argv[1], **{name: array.astype(np.float32) if array.dtype == float else array for name, array in results(mbirjax).items()})
