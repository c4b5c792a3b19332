"""The operators from Python beside MBIRJAX: its names and defaults, its arrays, its options."""

import inspect
import json
import warnings

import numpy as np
import recon_cases
from module import raised
from small_models import noise, parallel, quiet
from tool import DATA, main, relative

import tomoprof
import tomoprof.mbirjax
from tomoprof import _partitions

GOLDENS = DATA / "goldens"
# Method: what MBIRJAX 0.7.3 takes, by inspect.signature, but for the log in the home directory. More arguments may follow by name alone.
SIGNATURES = """
ParallelBeamModel(sinogram_shape, angles)
ConeBeamModel(sinogram_shape, angles, source_detector_dist, source_iso_dist, helical_z_shifts=None, use_curved_detector=False)
TranslationModel(sinogram_shape, translation_vectors, source_detector_dist, source_iso_dist)
MultiAxisParallelModel(sinogram_shape, angles)
QGGMRFDenoiser(image_shape)
ConeBeamModel.auto_set_recon_geometry(self, no_compile=False, no_warning=False)
ConeBeamModel.auto_set_regularization_params(self, sinogram, weights=None)
ConeBeamModel.back_project(self, sinogram, output_sharded=False)
ConeBeamModel.compute_hessian_diagonal(self, weights=None, output_sharded=False)
ConeBeamModel.direct_filter(self, sinogram, filter_name='ramp', output_sharded=False)
ConeBeamModel.direct_recon(self, sinogram, filter_name='ramp', output_sharded=False)
ConeBeamModel.fdk_filter(self, sinogram, filter_name='ramp', output_sharded=False)
ConeBeamModel.fdk_recon(self, sinogram, filter_name='ramp', output_sharded=False)
ParallelBeamModel.fbp_filter(self, sinogram, filter_name='ramp', output_sharded=False)
ParallelBeamModel.fbp_recon(self, sinogram, filter_name='ramp', output_sharded=False)
ConeBeamModel.forward_project(self, recon, output_sharded=False)
ConeBeamModel.get_params(self, parameter_names)
ConeBeamModel.print_params(self)
ConeBeamModel.prox_map(self, prox_input, sinogram, sigma_prox=None, weights=None, init_recon=None, do_initialization=True, \
stop_threshold_change_pct=0.2, max_iterations=3, first_iteration=0, logfile_path=None, print_logs=True, output_sharded=False)
ConeBeamModel.recon(self, sinogram, weights=None, init_recon=None, max_iterations=15, stop_threshold_change_pct=0.2, first_iteration=0, \
compute_prior_loss=False, logfile_path=None, print_logs=True, output_sharded=False)
ConeBeamModel.save_params(params, filename=None)
ConeBeamModel.scale_recon_shape(self, row_scale=1.0, col_scale=1.0, slice_scale=1.0)
ConeBeamModel.set_params(self, no_warning=False, no_compile=False, **kwargs)
ConeBeamModel.sparse_back_project(self, sinogram, pixel_indices, coeff_power=1)
ConeBeamModel.sparse_forward_project(self, voxel_values, pixel_indices)
QGGMRFDenoiser.denoise(self, image, sigma_noise=None, use_ror_mask=False, init_image=None, max_iterations=15, stop_threshold_change_pct=0.2, \
first_iteration=0, logfile_path=None, print_logs=True, output_sharded=False)
gen_weights(sinogram, weight_type, ct_model=None)
gen_weights_mar(ct_model, sinogram, init_recon=None, metal_threshold=None, beta=1.0, gamma=3.0)
median_filter3d(x, max_block_gb=4.0, return_min_max=False)
gen_pixel_partition(recon_shape, num_subsets, use_ror_mask=True)
build_model(required_params, optional_params=None, regularization=None)
"""


def names_and_defaults(check, folder):
    for line in SIGNATURES.strip().splitlines():
        name, wanted = line.split("(", 1)
        found = tomoprof
        for part in name.split("."):
            found = getattr(found, part)
        signature = inspect.signature(found)
        kept = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
        text = str(signature.replace(parameters=kept, return_annotation=signature.empty))
        check.that(text == "(" + wanted, f"{name}{text}; MBIRJAX has ({wanted}")
        check.that(len(inspect.getdoc(found) or "") > 10, f"{name} has no help")


def arrays_of_mbirjax(check, folder):
    """Every operator on the goldens."""
    operators = {"forward_project": ("volume", "forward_project"), "back_project": ("sinogram", "back_project"),
                 "hessian_diagonal": ("weights", "compute_hessian_diagonal"), "fbp_filter": ("sinogram", "fbp_filter"),
                 "fdk_filter": ("sinogram", "fdk_filter"), "direct_filter": ("sinogram", "direct_filter"),
                 "fbp_recon": ("sinogram", "fbp_recon"), "fdk_recon": ("sinogram", "fdk_recon"), "direct_recon": ("sinogram", "direct_recon")}
    for case in sorted(GOLDENS.glob("*/geometry.json")):
        model = quiet(tomoprof.load_model(case))
        info = json.loads((case.parent / "info.json").read_text())
        check.that(list(model.get_params("recon_shape")) == info["recon_shape"], f"{case.parent.name}: {model}, MBIRJAX {info['recon_shape']}")
        arrays = {name: np.load(case.parent / f"{name}.npy") for name in ("volume", "sinogram", "weights")}
        for out in sorted(case.parent.glob("*.out.npy")):
            operator = out.name.removesuffix(".out.npy").partition("_")[2]
            if operator in operators:
                source, method = operators[operator]
                error = relative(getattr(model, method)(arrays[source]), np.load(out))
                check.that(error < 1e-5, f"{case.parent.name}: {method} differs by {error:.2g}")
            elif operator == "mbir_recon":
                np.random.seed(7)
                volume, record = model.recon(arrays["sinogram"], weights=arrays["weights"], max_iterations=3, stop_threshold_change_pct=0,
                                             logfile_path=None)
                error = relative(volume, np.load(out))
                check.that(error < 2e-4, f"{case.parent.name}: recon differs by {error:.2g}")
                check.that(record["recon_params"]["num_iterations"] == 3 and len(record["recon_params"]["fm_rmse"]) == 3, f"{record}")


def options_of_mbirjax(check, folder):
    """Schedules, masks, the prior's loss and the denoiser's options, beside what MBIRJAX made of them (recon_cases.py)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = recon_cases.results(tomoprof.mbirjax)
    for name, expected in np.load(DATA / "recon/mbirjax.npz").items():
        same = found[name].shape == expected.shape
        error = relative(found[name], expected) if same and expected.any() else float(not same)
        check.that(error < 5e-5, f"{name} differs by {error:.2g}")


def partitions_of_the_caller(check, folder):
    """The library's own schedule, given as partitions, gives the same to the bit; orders go on from one call to the next."""
    model = quiet(tomoprof.load_model(sorted(GOLDENS.glob("cone_*/geometry.json"))[0]))
    y = model.forward_project(noise(model.get_params("recon_shape")))
    np.random.seed(5)
    expected, record = model.recon(y, max_iterations=4, stop_threshold_change_pct=0)

    def drawn():
        np.random.seed(5)
        partitions = _partitions.gen_set_of_pixel_partitions(model.get_params("recon_shape"), model.get_params("granularity"),
                                                             use_ror_mask=model.get_params("use_ror_mask"))
        return partitions, model.get_params("partition_sequence")[:4]

    partitions, sequence = drawn()
    volume, stats, checkpoint = model.vcd_recon(y, partitions, sequence, 0, return_checkpoint=True)
    check.that(relative(volume, expected) < 1e-6, f"partitions of the caller differ by {relative(volume, expected)}")
    check.that(np.allclose(stats[0], record["recon_params"]["fm_rmse"], rtol=1e-5) and len(stats[2]) == 4, f"{stats}")
    check.that(relative(checkpoint["error_sinogram"], y - model.forward_project(volume)) < 1e-6, "the error sinogram")
    partitions, sequence = drawn()
    parts = None
    for k in range(4):
        parts, _ = model.vcd_recon(y, partitions, sequence[k:k + 1], 0, init_recon=parts, first_iteration=k)
    check.that(relative(parts, expected) < 1e-5, f"one iteration at a time differs by {relative(parts, expected)}")
    for bad in ([[[0, 0]]], [[[-1, 2]]], [[[0, 1 << 40]]], [[0.5]], [[3, 4]]):
        check.that(raised(ValueError, model.vcd_recon, y, [np.array(rows) for rows in bad], [0], 0), f"partitions {bad}")
    check.that(raised(ValueError, model.vcd_recon, y, partitions, [11], 0), "a partition that is not there")


def a_run_that_goes_on(check, folder):
    """Iterations 3 and 4 of MBIRJAX's schedule on a given volume: goldens/restart_small."""
    model = parallel(6, 2, 8)
    y, x = (np.random.default_rng(seed).random(shape, np.float32) for seed, shape in ((3, (6, 2, 8)), (4, (8, 8, 2))))
    results = []
    for options in ({"max_iterations": 4, "first_iteration": 2}, {"max_iterations": 2}):
        np.random.seed(5)
        results.append(model.recon(y, init_recon=x, stop_threshold_change_pct=0, logfile_path=None, **options))
    volume, record = results[0]
    golden = np.load(GOLDENS / "restart_small/recon.npy")
    check.that(record["recon_params"]["num_iterations"] == 2 and record["recon_params"]["partition_sequence"] == [6, 7], f"{record}")
    check.that(relative(volume, golden) < 1e-4, f"a run that goes on differs from MBIRJAX's by {relative(volume, golden):.2g}")
    check.that(relative(results[1][0], golden) > 1e-3, "the first iterations are those that follow")


if __name__ == "__main__":
    main(names_and_defaults, arrays_of_mbirjax, options_of_mbirjax, partitions_of_the_caller, a_run_that_goes_on)
