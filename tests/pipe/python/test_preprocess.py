"""tomoprof.preprocess: MBIRJAX's arrays, arrays of all kinds, bad input, files, and its names in tomoprof.mbirjax."""

import inspect
import json
import re
import subprocess
import sys
import warnings

import module
import numpy as np
from module import raised
from preprocess_cases import BAD, inputs, results
from tool import DATA, main, relative

import tomoprof.mbirjax
from tomoprof import preprocess

# What MBIRJAX 0.7.3 takes, by inspect.signature.
SIGNATURES = """
compute_sino_transmission(obj_scan, blank_scan, dark_scan, defective_pixel_array=(), batch_size=90)
interpolate_defective_pixels(sino, defective_pixel_array=(), num_passes=3)
correct_det_rotation(sino, det_rotation=0.0, batch_size=30)
correct_background_offset(sino, edge_width=9, option='global')
downsample_view_data(obj_scan, blank_scan, dark_scan, downsample_factor, defective_pixel_array=(), batch_size=90)
scan_to_sino(obj_scan, blank_scan, dark_scan, defective_pixel_array=(), downsample_factor=(1, 1), det_rotation=0.0, batch_size=90, devices=None)
crop_view_data(obj_scan, blank_scan, dark_scan, crop_pixels_sides=0, crop_pixels_top=0, crop_pixels_bottom=0, defective_pixel_array=())
read_tif_img(img_path)
read_tif_stack_dir(scan_dir, view_ids=None)
compute_scaling_factor(target_vect, vect_to_scale)
put_in_slice(array, flat_indices, value)
unit_vector(v)
project_vector_to_vector(u1, u2)
apply_cylindrical_mask(recon, radial_margin=0, top_margin=0, bottom_margin=0, num_real_slices=None)
detect_blank_margins(sino, safety_buffer=20, max_views_to_use=20)
apply_detector_crop(required_params, optional_params, crop_top, crop_bottom, crop_left, crop_right)
apply_config_crop(num_det_rows, num_det_channels, det_row_offset, det_channel_offset, delta_det_row, delta_det_channel, *, crop_pixels_top, \
crop_pixels_bottom, crop_pixels_sides)
finalize_model(sino, required_params, optional_params, *, auto_crop=False, safety_buffer=20)
to_alu(value, from_unit, alu_unit)
fit_beam_hardening_curve(linear_projection, target_projection, num_parameters=5, zero_offset_normalized=True)
apply_beam_hardening_curve(linear_projection, params, zero_offset_normalized=True)
fit_inverse_beam_hardening_curve(forward_params, vmin=0.0, vmax=5.0, degree=10, num_samples=2000, zero_offset_normalized=True)
apply_inverse_beam_hardening_curve(beam_hardened_projection, cheb_coeffs, y_domain, clip=False)
correct_zinger_pixels(sino, zinger_pixel_ratio=0.1, num_passes=3, batch_size=90, devices=None, max_views_to_use=20)
save_cone_preprocessing(file_path, sinogram, cone_beam_params, optional_params, weights=None)
load_cone_preprocessing(file_path)
multi_threshold_otsu(image, classes=2, num_bins=1024, valid_mask=None)
segment_plastic_metal(recon, num_metal, radial_margin=None, top_margin=None, bottom_margin=None, valid_mask=None, num_real_slices=None)
remove_sino_offset(sino)
remove_all_stripe(sino, snr=3, large_filter_size=61, small_filter_size=21)
remove_stripe_fw(sino, wavelet_filter_name='db5', sigma=2)
sino_high_pass_filtering(sino, sigma_row=3.0, sigma_col=15.0, subtract_view_mean=True)
estimate_sino_view_offset(ct_model, sino, direct_recon)
align_sino_views(ct_model, sino, direct_recon)
gen_huber_weights(weights, sino_error, T=1.0, delta=1.0, epsilon=1e-06)
BH_correction(sino, alpha, batch_size=64, devices=None)
"""


def installed(name):
    try:
        return __import__(name)
    except ImportError:
        print(f"  not run, {name} is not installed")
        return None


def names_and_defaults(check, folder):
    for line in SIGNATURES.strip().splitlines():
        name, wanted = line.split("(", 1)
        found = getattr(preprocess, name)
        signature = inspect.signature(found)
        parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        text = str(signature.replace(parameters=parameters, return_annotation=signature.empty))
        check.that(text == "(" + wanted, f"{name}{text}; MBIRJAX has ({wanted}")
        check.that(name in preprocess.__all__ and len(inspect.getdoc(found) or "") > 10, f"{name} has no help")


def arrays_of_mbirjax(check, folder):
    if not installed("scipy"):
        return
    expected = np.load(DATA / "preprocess/mbirjax.npz")
    before = inputs()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = results(preprocess)
    check.that(set(found) == set(expected.files), f"{set(found) ^ set(expected.files)}")
    for name in expected.files:
        one, two = found[name], expected[name]
        check.must(one.shape == two.shape, f"{name}: {one.shape}, MBIRJAX {two.shape}")
        missing = np.isnan(two)
        error = relative(np.where(missing, 0, one), np.where(missing, 0, two)) if two.size else 0
        check.that((np.isnan(one) == missing).all() and error < 1e-5, f"{name} differs by {error:.2g}")
    said = [str(warning.message) for warning in caught]
    check.that(any("25 samples are more than 1 pixels away" in text for text in said), f"{said}")
    check.that(all((one == two).all() for one, two in zip(inputs(), before) if not np.isnan(one).any()), "inputs")


def what_must_hold(check, folder):
    """Without any reference: exact counts give the sinogram back, batches do not matter, inputs stay as they are."""
    random = np.random.default_rng(1)
    truth = random.uniform(0, 4, (9, 6, 11)).astype(np.float32)
    blank, dark = random.uniform(900, 1000, (1, 6, 11)), random.uniform(9, 10, (1, 6, 11))
    counts = (dark + (blank - dark) * np.exp(-truth)).astype(np.float32)
    blank, dark = blank.astype(np.float32), dark.astype(np.float32)
    given = [array.copy() for array in (counts, blank, dark)]
    found = preprocess.compute_sino_transmission(counts, blank, dark)
    check.that(np.abs(found - truth).max() < 1e-3, f"{np.abs(found - truth).max()}")
    whole = preprocess.scan_to_sino(counts, blank, dark, BAD[2:3], (2, 2), 0.1)
    for size in (1, 4, 90):
        check.that((preprocess.scan_to_sino(counts, blank, dark, BAD[2:3], (2, 2), 0.1, size) == whole).all(), f"batches of {size}")
    check.that((preprocess.correct_det_rotation(truth, 0) == truth).all(), "a rotation by 0")
    check.that(all((one == two).all() for one, two in zip(given, (counts, blank, dark))), "scan_to_sino changed its input")
    cropped = preprocess.crop_view_data(counts, blank, dark, 1, 2, 1)
    check.that(np.shares_memory(cropped[0], counts) and cropped[0].shape == (9, 3, 9) and cropped[3] == (), "crop_view_data")
    params = [0.4, -0.2, 0.3]
    hard = preprocess.apply_beam_hardening_curve(truth, params)
    series, domain = preprocess.fit_inverse_beam_hardening_curve(params, 0, float(hard.max()))
    linear = preprocess.apply_inverse_beam_hardening_curve(hard, series, domain)
    slope = 0.4 * np.dot([1, 2], np.exp(params[1:])) / np.exp(params[1:]).sum()
    check.that(relative(linear, slope * truth) < 1e-4, f"the inverse of the curve: {relative(linear, slope * truth):.2g}")
    x = np.concatenate([random.normal(m, 0.1, 500) for m in (0, 2, 5)])
    low, high = preprocess.multi_threshold_otsu(x, 3)
    check.that(0.3 < low < 1.7 and 2.3 < high < 4.7, f"{low}, {high}")
    required, optional, _ = tomoprof.ConeBeamModel((5, 60, 70), np.zeros(5), 200, 100).get_all_params()
    optional.pop("recon_shape")
    block = np.zeros((5, 60, 70), np.float32)
    block[:, 25:40, 30:45] = 5
    sinogram, model = preprocess.finalize_model(block, required, optional, auto_crop=True, safety_buffer=4)
    check.that(sinogram.shape == model.get_params("sinogram_shape") == (5, 23, 23), f"{sinogram.shape} {model}")
    check.that(model.get_params(["det_row_offset", "det_channel_offset"]) == [-2.5, -2.5], f"{model}: another offset")


def kinds_of_arrays(check, folder):
    obj, blank, dark, sino, *_ = inputs()
    expected = preprocess.scan_to_sino(obj, blank, dark, BAD)
    kinds = {"float64": lambda a: a.astype(float), "Fortran order": np.asfortranarray, "list": lambda a: a.tolist()}
    torch, jax = installed("torch"), installed("jax")
    if torch:
        kinds["torch"] = torch.from_numpy
    if jax:
        kinds["jax"] = jax.numpy.asarray
    for name, make in kinds.items():
        found = preprocess.scan_to_sino(make(obj), make(blank), make(dark), BAD)
        check.that((np.asarray(found) == expected).all(), f"{name}: another result")
        kind = torch.Tensor if name == "torch" else jax.Array if name == "jax" else np.ndarray
        check.that(isinstance(found, kind), f"{name}: {type(found)}")
        cut = preprocess.crop_view_data(make(obj), make(blank), make(dark), 2)[0]
        check.that(isinstance(cut, kind) and tuple(cut.shape) == (7, 13, 17), f"{name}: {type(cut)}")


def bad_input(check, folder):
    obj, blank, dark, sino, *_ = inputs()
    p = preprocess
    calls = [
        (ValueError, r"blank_scan.*\(3, 13, 20\).*\(7, 13, 21\)", lambda: p.scan_to_sino(obj, blank[:, :, 1:], dark)),
        (ValueError, r"dark_scan.*\(13, 21\).*3 axes", lambda: p.compute_sino_transmission(obj, blank, dark[0])),
        (ValueError, r"dark_scan.*\(0, 13, 21\)", lambda: p.compute_sino_transmission(obj, blank, dark[:0])),
        (ValueError, r"\(13, 21\)", lambda: p.interpolate_defective_pixels(sino, [(13, 0)])),
        (ValueError, r"\(1, 3\).*\(pixels, 2\)", lambda: p.interpolate_defective_pixels(sino, [(1, 2, 3)])),
        (TypeError, "integers", lambda: p.interpolate_defective_pixels(sino, [(1.5, 2.0)])),
        (ValueError, "num_passes", lambda: p.interpolate_defective_pixels(sino, num_passes=-1)),
        (TypeError, "complex", lambda: p.correct_det_rotation(sino + 1j)),
        (TypeError, "det_rotation", lambda: p.correct_det_rotation(sino, "0.1")),
        (ValueError, "det_rotation", lambda: p.correct_det_rotation(sino, float("nan"))),
        (ValueError, "-pi/4", lambda: p.scan_to_sino(obj, blank, dark, det_rotation=1.0)),
        (ValueError, "batch_size", lambda: p.correct_det_rotation(sino, 0.1, 0)),
        (ValueError, "option", lambda: p.correct_background_offset(sino, option="left")),
        (TypeError, "edge_width", lambda: p.correct_background_offset(sino, 2.5)),
        (ValueError, "two integers", lambda: p.downsample_view_data(obj, blank, dark, (2, 2, 2))),
        (ValueError, "0.*1 or more", lambda: p.downsample_view_data(obj, blank, dark, (0, 2))),
        (ValueError, r"\(14, 1\).*\(13, 21\)", lambda: p.downsample_view_data(obj, blank, dark, (14, 1))),
        (ValueError, r"7 \+ 6 rows", lambda: p.crop_view_data(obj, blank, dark, 0, 7, 6)),
        (AssertionError, "-1", lambda: p.crop_view_data(obj, blank, dark, -1)),
        (ValueError, r"\(3, 13, 20\)", lambda: p.crop_view_data(obj, blank[:, :, 1:], dark)),
        (ValueError, r"\(3,\).*\(4,\)", lambda: p.compute_scaling_factor(np.zeros(4), np.zeros(3))),
        *[(ValueError, r"\(0, 13, 21\).*1 or more", lambda name=name: getattr(p, name)(sino[:0])) for name in (
            "correct_background_offset", "correct_det_rotation", "correct_zinger_pixels", "detect_blank_margins", "interpolate_defective_pixels",
            "remove_sino_offset")],
        (TypeError, "radial_margin", lambda: p.apply_cylindrical_mask(sino, "3")),
        (TypeError, "object", lambda: p.multi_threshold_otsu(np.array([None]))),
        (ValueError, "classes", lambda: p.multi_threshold_otsu(sino, 1)),
        (ValueError, "finite", lambda: p.multi_threshold_otsu(obj)),
        (ValueError, "3.*4", lambda: p.fit_beam_hardening_curve(np.zeros(4), np.zeros(3))),
        (ValueError, "two or more", lambda: p.apply_beam_hardening_curve(sino, [1.0])),
        (ValueError, "vmin below", lambda: p.fit_inverse_beam_hardening_curve([0.4, 0.1], 1, 1)),
        (ValueError, "does not reach", lambda: p.fit_inverse_beam_hardening_curve([-0.4, 0.1], 0, 1)),
        (ValueError, "NaN", lambda: p.detect_blank_margins(obj)),
        (ValueError, "inch", lambda: p.to_alu(1, "inch", "mm")),
        (ValueError, "alpha", lambda: p.BH_correction(sino, [])),
        (FileNotFoundError, "no files", lambda: p.read_tif_stack_dir(folder)),
        (ValueError, "num_metal", lambda: p.correct_sino_plastic_metal(None, sino, sino, num_metal=0)),
        (ValueError, "8 channels", lambda: preprocess.remove_all_stripe(sino[:, :, :5])),
        (NotImplementedError, r"zeiss\.get_sino_and_model.*tomoprof recon", lambda: tomoprof.mbirjax.preprocess.zeiss.get_sino_and_model("x")),
        (AttributeError, "nonsense", lambda: tomoprof.mbirjax.preprocess.nonsense),
    ]
    if not installed("tifffile"):
        calls = [call for call in calls if call[1] != "no files"]
    for kind, sentence, call in calls:
        said = raised(kind, call)
        check.that(said and re.search(sentence, said), f"expected {kind.__name__} with {sentence!r}, got {said!r}")


def files(check, folder):
    sino = inputs()[3]
    tifffile, h5py = installed("tifffile"), installed("h5py")
    if tifffile:
        views = (1000 * np.abs(sino)).astype(np.uint16)
        for i, view in enumerate(views):
            tifffile.imwrite(folder / f"view[{i:03}].tif", view)
            tifffile.imwrite(folder / f"view_{i:03}.tif", view)
        check.that((preprocess.read_tif_stack_dir(folder) == (views / np.float32(65535)).astype(np.float32)).all(), "read_tif_stack_dir")
        check.that((preprocess.read_tif_stack_dir(folder, [3, 1]) == preprocess.read_tif_stack_dir(folder)[[3, 1]]).all(), "view_ids")
        check.that("7 views" in raised(FileNotFoundError, preprocess.read_tif_stack_dir, folder, [7]), "a view that is not there")
    if h5py:
        required, optional, _ = tomoprof.ConeBeamModel(sino.shape, np.arange(7.0), 200, 100).get_all_params()
        preprocess.save_cone_preprocessing(folder / "below/scan.h5", sino, required, optional, weights=2 * sino)
        found, *params, weights = preprocess.load_cone_preprocessing(folder / "below/scan.h5")
        check.that((found == sino).all() and (weights == 2 * sino).all(), "save_cone_preprocessing")
        check.that(tomoprof.build_model(*params).get_params("sinogram_shape") == sino.shape, f"{params}")
        check.that(json.loads(h5py.File(folder / "below/scan.h5").attrs["params"])["cone_beam_params"]["source_iso_dist"] == 100, "params")


def in_the_place_of_mbirjax(check, folder):
    code = """import sys, tomoprof.mbirjax
sys.modules["mbirjax"] = tomoprof.mbirjax
import mbirjax as mj
import mbirjax.preprocess as mjp, mbirjax.preprocess.utilities as utilities
from mbirjax.preprocess import nsi
from mbirjax.preprocess.zeiss import get_sino_and_model
import tomoprof.preprocess
assert mj.preprocess.utilities.scan_to_sino is mjp.scan_to_sino is utilities.scan_to_sino is mj.preprocess.scan_to_sino is tomoprof.preprocess.scan_to_sino
assert mj._utils.update_param_literal(verify_match_and_exit=True)
assert mj._utils.is_oom("RESOURCE_EXHAUSTED: Out of memory") and not mj._utils.is_oom("/home/headroom/test_non_oom_error.py")
"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=60)
    check.that(done.returncode == 0, done.stderr)
    (folder / "a.log").write_text("one\n")
    tomoprof.mbirjax.merge_log_files(folder / "all.log", [("a", folder / "a.log"), ("b", folder / "b.log"), ("c", None)])
    check.that((folder / "all.log").read_text() == "======== a ========\none\n" and not (folder / "a.log").exists(), "merge_log_files")


if __name__ == "__main__":
    main(names_and_defaults, arrays_of_mbirjax, what_must_hold, kinds_of_arrays, bad_input, files, in_the_place_of_mbirjax)
