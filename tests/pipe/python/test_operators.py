"""The operators from Python: arrays of all kinds, bad input, parameters, steps, the import."""

import copy
import math
import os
import pickle
import re
import struct
import subprocess
import sys
import warnings
import zlib

import module
import numpy as np
from module import raised
from small_models import cone, noise, parallel, quiet
from tool import main, relative

import tomoprof
from tomoprof import _partitions, _phantoms


def no_log_unasked(check, folder):
    """Nothing is written into the home directory."""
    code = """
import numpy, tomoprof
model = tomoprof.ParallelBeamModel((6, 2, 8), numpy.linspace(0, 3, 6))
model.recon(numpy.ones((6, 2, 8)), max_iterations=1)
tomoprof.QGGMRFDenoiser((8, 8, 2)).denoise(numpy.random.rand(8, 8, 2), max_iterations=1)
"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=60, env={**os.environ, "HOME": str(folder)})
    check.that(done.returncode == 0 and not list(folder.iterdir()), f"{done.stderr} {list(folder.iterdir())}")


def sums_of_parts(check, folder):
    """What must hold without any reference: adjoints, sparse parts of the whole, methods."""
    for model in (parallel(), cone()):
        x, y = (noise(model.get_params(name), i) for i, name in enumerate(("recon_shape", "sinogram_shape")))
        projected, back = model.forward_project(x), model.back_project(y)
        error = np.vdot(projected.astype(float), y) / np.vdot(x.astype(float), back) - 1
        check.that(abs(error) < 1e-6, f"{model}: <Ax, y> and <x, A'y> differ by {error:.2g}")
        pixels = _partitions.gen_full_indices(model.get_params("recon_shape"))
        sparse = model.sparse_forward_project(x.reshape(-1, x.shape[2])[pixels], pixels)
        check.that(relative(sparse, projected) < 1e-6, f"{model}: sparse_forward_project")
        check.that(relative(model.sparse_back_project(y, pixels), back.reshape(-1, x.shape[2])[pixels]) < 1e-6, f"{model}: sparse_back_project")
        squared = model.sparse_back_project(y, pixels, coeff_power=2)
        hessian = model.compute_hessian_diagonal(weights=y).reshape(-1, x.shape[2])[pixels]
        check.that(relative(squared, hessian) < 1e-6, f"{model}: coeff_power 2")
        mask = np.zeros(x.shape[:2], int)
        mask[4:9, 3:12] = 1
        model.set_params(use_ror_mask=mask)
        check.that(relative(model.forward_project(x), model.sparse_forward_project(x[mask == 1], np.flatnonzero(mask))) < 1e-6, "a custom mask")
        check.that((model.back_project(y)[mask == 0] == 0).all(), "a custom mask leaves zeros")
    for model, method in ((parallel(32, 4, 64), "fourier"), (cone(32, 4, 64), "voxel")):
        y = model.forward_project(_phantoms.generate_3d_shepp_logan_low_dynamic_range(model.get_params("recon_shape")))
        error = relative(model.direct_recon(y, method=method), model.direct_recon(y))
        check.that(0 < error < 0.2, f"{method} differs from adjoint by {error:.2g}")


def kinds_of_arrays(check, folder):
    model = parallel()
    x = noise(model.get_params("recon_shape"))
    expected = model.forward_project(x)
    kinds = {"float64": x.astype(float), "Fortran order": np.asfortranarray(x), "big endian": x.astype(">f4"), "strided": np.repeat(x, 2, 1)[:, ::2],
             "reversed": x[::-1].copy()[::-1], "list": x.tolist(), "memoryview": memoryview(x), "read-only": x.copy(),
             "misaligned": np.frombuffer(b"-" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)}
    kinds["read-only"].setflags(write=False)

    class Interface:
        __array_interface__ = x.__array_interface__

    class Capsule:
        def __dlpack__(self, **options):
            return x.__dlpack__(**options)

        def __dlpack_device__(self):
            return x.__dlpack_device__()

    kinds.update({"__array_interface__": Interface(), "DLPack": Capsule()})
    for name, array in kinds.items():
        result = model.forward_project(array)
        check.that(type(result) is np.ndarray and (result == expected).all(), f"{name}: another result")
    whole = (x * 100).astype(np.uint8)
    check.that((model.forward_project(whole) == model.forward_project(whole.astype(np.float32))).all(), "uint8")
    out = np.full_like(expected, np.nan)
    check.that(model.forward_project(x, out=out) is out and (out == expected).all(), "out=")
    before = x.copy()
    model.forward_project(x)
    check.that((x == before).all(), "the input was changed")
    large = tomoprof.median_filter3d(np.ones((64, 64, 64), np.float32))
    check.that(large.ctypes.data % 64 == 0 and large.flags.c_contiguous and large.flags.writeable and (large == 1).all(), "a large result and lines of memory")


def places(check, folder):
    """The formulas of docs/python.md: where a voxel is seen. The centre of its shadow, of which pixels of the detector have samples, is within 0.2 pixels of that."""
    text = re.search(r"## Geometry.*?```\n(.*?)```", (module.ROOT / "docs/python.md").read_text(), re.S)[1]
    both = parallel(8, 12, 20), cone(8, 12, 20)
    for model in both:
        model.set_params(recon_shape=(18, 22, 12), det_channel_offset=0.7, delta_det_channel=1.25, voxel_row_aspect=1.1, delta_voxel=1.0, use_ror_mask=False)
        if model is both[1]:
            model.set_params(det_row_offset=0.4, delta_det_row=0.9, voxel_slice_aspect=0.8, recon_slice_offset=0.3)
        names = {name: param.val for name, param in model.params.items() if name.isidentifier()}
        names.update(zip(("rows", "columns", "slices"), names["recon_shape"]), detector_rows=12, channels=20, sin=math.sin, cos=math.cos)
        names.setdefault("recon_slice_offset", 0.0)
        for i, j, k in ((8, 10, 6), (5, 13, 5), (12, 8, 6)):
            volume = np.zeros((18, 22, 12), np.float32)
            volume[i, j, k] = 1
            for angle, view in zip(np.linspace(0, np.pi * (1 if model is both[0] else 2), 8, endpoint=False), model.forward_project(volume)):
                here = {**names, "i": i, "j": j, "k": k, "θ": float(angle)}
                for line in text.splitlines():
                    if ("parallel" in line) if model is both[1] else ("cone" in line):
                        continue
                    exec(line, here)
                seen = [(view.sum(other) * np.arange(view.shape[axis])).sum() / view.sum() for axis, other in ((0, 1), (1, 0))]
                check.that(abs(seen[0] - here["row"]) < 0.2 and abs(seen[1] - here["channel"]) < 0.2, f"{model}: {seen}, {here['row']}, {here['channel']}")


def bad_input(check, folder):
    model = parallel()
    shape, other = model.get_params("recon_shape"), model.get_params("sinogram_shape")
    x, y = noise(shape), noise(other)
    broken = cone()
    broken.set_params(view_params_array=3)
    calls = [
        (ValueError, r"\(3, 4\).*\(16, 16, 5\)", lambda: model.forward_project(np.zeros((3, 4)))),
        (ValueError, r"\(16, 16, 4\).*\(16, 16, 5\)", lambda: model.forward_project(x[:, :, :4])),
        (TypeError, "complex", lambda: model.forward_project(x.astype(complex))),
        (TypeError, "object", lambda: model.forward_project(np.full(shape, None))),
        (TypeError, "None", lambda: model.forward_project(None)),
        (TypeError, "masked values", lambda: model.forward_project(np.ma.masked_array(x, x > 0.5))),
        (TypeError, "str", lambda: model.back_project("sinogram.npy")),
        (ValueError, r"\(2, 2\).*\(12, 5, 16\)", lambda: model.forward_project(x, out=np.zeros((2, 2), np.float32))),
        (TypeError, "float32", lambda: model.forward_project(x, out=np.zeros(other))),
        (ValueError, "C order", lambda: model.forward_project(x, out=np.asfortranarray(np.zeros(other, np.float32)))),
        (ValueError, "finite", lambda: model.set_params(delta_voxel=float("nan"))),
        (TypeError, "det_channel_offset is 'a'", lambda: model.set_params(det_channel_offset="a")),
        (TypeError, "delta_det_channel is array", lambda: model.set_params(delta_det_channel=np.array([1, 2]))),
        (ValueError, r"recon_shape is \(-1, 4, 4\); expected three positive", lambda: model.set_params(recon_shape=(-1, 4, 4))),
        (ValueError, "recon_shape is 16; expected three positive", lambda: model.set_params(recon_shape=16)),
        (ValueError, "recon_shape is .*nan.*; expected three positive", lambda: model.set_params(recon_shape=(np.nan, 4, 4))),
        (ValueError, r"sinogram_shape is \(3, 4.5, 4\); expected three positive", lambda: model.set_params(sinogram_shape=(3, 4.5, 4))),
        (TypeError, "output_sharded: .*out=", lambda: model.forward_project(x, y)),
        (TypeError, "output_sharded: .*out=", lambda: model.back_project(y, x)),
        (TypeError, "output_sharded: .*out=", lambda: model.compute_hessian_diagonal(y, x)),
        (TypeError, "filter_name: .*out=", lambda: model.direct_filter(y, np.zeros_like(y))),
        (TypeError, "model: NoneType", lambda: tomoprof.phantom(None)),
        (TypeError, "model: ndarray", lambda: tomoprof.find_center(y, model)),
        (TypeError, "model: ndarray", lambda: tomoprof.weigh_rays(y, model, "parker")),
        (TypeError, "model: ndarray", lambda: tomoprof.gen_weights_mar(y, y)),
        (TypeError, "the name is 3; expected a str", lambda: tomoprof.region(3)),
        (FileNotFoundError, "nowhere.yaml", lambda: tomoprof.load_model("nowhere.yaml")),
        (FileNotFoundError, "nowhere", lambda: tomoprof.load_model(folder / "nowhere")),
        (ValueError, "nonsense is not a recognized", lambda: model.set_params(nonsense=1)),
        (ValueError, "det_chanel_offset is not a recognized parameter: did you mean det_channel_offset?", lambda: model.set_params(det_chanel_offset=1)),
        (NameError, "nonsense", lambda: model.get_params("nonsense")),
        (ValueError, "NaN", lambda: model.recon(np.full(other, np.nan))),
        (ValueError, "negative", lambda: model.recon(y, weights=-np.ones(other), logfile_path=None)),
        (ValueError, "max_iterations", lambda: model.recon(y, max_iterations=-1)),
        (TypeError, "max_iterations", lambda: model.recon(y, max_iterations=1.5)),
        (ValueError, "stop_threshold", lambda: model.recon(y, stop_threshold_change_pct=float("nan"))),
        (ValueError, "0 to 255", lambda: model.sparse_forward_project(np.zeros((1, 5)), [256])),
        (ValueError, "-1", lambda: model.sparse_back_project(y, [-1])),
        (TypeError, "integers", lambda: model.sparse_back_project(y, [0.5])),
        (ValueError, "coeff_power", lambda: model.sparse_back_project(y, [0], coeff_power=3)),
        (ValueError, "method", lambda: model.direct_recon(y, method="magic")),
        (ValueError, "angles", lambda: tomoprof.ParallelBeamModel((4, 4, 4), np.zeros(3))),
        (ValueError, "three positive", lambda: tomoprof.ParallelBeamModel((4, 0, 4), np.zeros(4))),
        (ValueError, "not finite", lambda: tomoprof.ParallelBeamModel((4, 4, 4), [0, 1, 2, np.inf])),
        (ValueError, "source_iso_dist", lambda: tomoprof.ConeBeamModel((4, 4, 4), np.zeros(4), 8, -1)),
        (ValueError, "view_params_array", lambda: broken.forward_project(x)),
        (ValueError, "weight_type", lambda: tomoprof.gen_weights(y, "heavy")),
        (ValueError, "backend", lambda: tomoprof.configure(backend="abacus")),
        (NotImplementedError, "hann", lambda: model.direct_recon(y, filter_name="hann")),
    ]
    for kind, sentence, call in calls:
        said = raised(kind, call)
        check.that(said and re.search(sentence, said), f"expected {kind.__name__} with {sentence!r}, got {said!r}")
    square = quiet(tomoprof.ParallelBeamModel((16, 5, 16), np.zeros(16)))
    same = noise((16, 5, 16))
    both = np.zeros(2 * same.size, np.float32)
    check.that("overlap" in (raised(ValueError, square.direct_recon, both[: same.size].reshape(same.shape),
                                    out=both[100: same.size + 100].reshape(16, 16, 5)) or ""), "overlapping arrays")
    out = np.full(other, 7, np.float32)
    raised(ValueError, model.forward_project, x[:1], out=out)
    check.that((out == 7).all(), "a refused call wrote to its result")
    check.that((model.forward_project(x) == parallel().forward_project(x)).all(), "refused calls changed the model")


def parameters(check, folder):
    model = cone()
    model.set_params(delta_det_channel=1.5, det_row_offset=0.5)
    model.auto_set_recon_geometry()
    check.that(abs(model.get_params("delta_voxel") - 0.75) < 1e-6, f"{model}")
    text = model.save_params(model.params)
    check.that("val: <class 'mbirjax.cone_beam.ConeBeamModel'>" in text and text.startswith("geometry_type:\n  val: <class"), text[:200])
    model.save_params(model.params, str(folder / "below/model.yaml"))
    again = tomoprof.load_model(folder / "below/model.yaml")
    check.that(model.compare_parameter_handlers(model, again, verbose=True), "a saved model differs")
    x = noise(model.get_params("recon_shape"))
    check.that(relative(again.forward_project(x), model.forward_project(x)) < 1e-6, "a saved model projects differently")
    rebuilt = tomoprof.build_model(*model.get_all_params())
    check.that(model.compare_parameter_handlers(model, rebuilt, verbose=True), "build_model of get_all_params")
    check.that("Filename must end" in raised(ValueError, model.save_params, model.params, "model.txt"), "the ending of the file's name")
    for bad in ("", "a: [1", "name:\n  val: [1, 2", "x", "{}"):
        check.that(raised(ValueError, tomoprof.load_model, bad), f"{bad!r} was loaded")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.set_params(sigma_x=0.1)
    check.that(len(caught) == 1 and model.get_params("auto_regularize_flag") is False, "sigma_x turns automatic values off")
    before = model.get_params("recon_shape")
    model.set_params(recon_shape=np.array(before, float))
    kept = model.get_params("recon_shape")
    check.that(kept == before and all(type(n) is int for n in kept), f"recon_shape of an array: {kept}")
    check.that(model.scale_recon_shape(2, 1, 1) == (before[0], 0, 0), "scale_recon_shape")
    padded = cone()
    padded.set_params(axial_pad_fraction=1.0)
    padded.auto_set_recon_geometry()
    check.that(padded.get_params("recon_shape")[2] > cone().get_params("recon_shape")[2], f"{padded}")
    check.that("12 views of 5 x 16" in repr(padded) and "0 to 330 degrees" in repr(padded), repr(padded))


def copies(check, folder):
    model = cone()
    x = noise(model.get_params("recon_shape"))
    expected = model.forward_project(x)
    for name, other in (("pickle", pickle.loads(pickle.dumps(model))), ("copy", copy.copy(model)), ("deepcopy", copy.deepcopy(model))):
        check.that((other.forward_project(x) == expected).all(), name)
        other.set_params(det_channel_offset=1.0)
        check.that((model.forward_project(x) == expected).all(), f"a change of the {name} changed the model")


def use_beside_models(check, folder):
    x = noise((9, 8, 7))
    padded = np.pad(x, 1, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3, 3)).reshape(*x.shape, 27)
    for found, expected in zip(tomoprof.median_filter3d(x, return_min_max=True), (np.median(windows, -1), windows.min(-1), windows.max(-1))):
        check.that((found == expected).all(), "median_filter3d")
    for kind, expected in (("unweighted", np.ones_like(x)), ("transmission", np.exp(-x)), ("transmission_root", np.exp(-x / 2)),
                           ("emission", 1 / (np.abs(x) + 0.1))):
        check.that(relative(tomoprof.gen_weights(x, kind), expected) < 1e-6, kind)
    pixels = _partitions.gen_full_indices((16, 16, 3))
    for subsets in (1, 7, 64, *40 * [21]):  # 21 subsets lack more pixels than one of them has
        part = tomoprof.gen_pixel_partition((16, 16, 3), subsets)
        check.that(set(part.ravel()) == set(pixels), f"a partition into {subsets}")
        check.that((np.diff(part, axis=1) > 0).all(), f"a subset of {subsets} has a pixel twice")
    model = cone(24, 16, 32)
    volume, sinogram = tomoprof.phantom(model, sinogram=True)
    check.that(relative(model.forward_project(volume), sinogram) < 0.3, "the phantom and its line integrals")
    noisy = volume + 0.1 * np.random.default_rng(0).standard_normal(volume.shape).astype(np.float32)
    denoised, record = tomoprof.QGGMRFDenoiser(volume.shape).denoise(noisy, 0.1, logfile_path=None)
    check.that(np.linalg.norm(denoised - volume) < np.linalg.norm(noisy - volume), "denoise")
    short = quiet(tomoprof.ConeBeamModel((80, 8, 32), np.linspace(0, np.pi + 2 * np.arctan(16 / 128), 80), 128, 64))
    volume, sinogram = tomoprof.phantom(short, sinogram=True)
    middle = np.s_[10:22, 10:22, 3]
    errors = [abs(short.direct_recon(y)[middle].mean() / volume[middle].mean() - 1) for y in (sinogram, tomoprof.weigh_rays(short, sinogram, "parker"))]
    check.that(errors[1] < 0.3 * errors[0], f"Parker's weights: the mean of the middle is off by {errors}")
    check.that("360 degrees" in (raised(ValueError, tomoprof.weigh_rays, model, np.ones((24, 16, 32)), "parker") or ""), "Parker's weights of a full turn")
    check.that("nonsense" in (raised(ValueError, tomoprof.weigh_rays, short, sinogram, "nonsense") or ""), "an unknown kind of weights")
    phantom, sinogram, params = tomoprof.generate_demo_data(num_views=8, num_det_rows=4, num_det_channels=16, model_type="parallel")
    check.that(phantom.shape == (16, 16, 4) and sinogram.shape == (8, 4, 16) and len(params["angles"]) == 8, "generate_demo_data")
    check.that(model.direct_recon(sinogram=np.ones((24, 16, 32))).shape == model.get_params("recon_shape"), "direct_recon")


def steps_and_pictures(check, folder):
    y = noise((20, 6, 32)) + 0.1
    check.that(relative(tomoprof.step("minus_log", y), -np.log(y)) < 1e-6, "minus_log")
    frames = np.stack([np.full((6, 32), 0.05), np.full((6, 32), 2.05), np.full((6, 32), 2.05)])
    check.that(relative(tomoprof.step("correct_flat_field", y, frames=frames), (y - 0.05) / 2) < 1e-5, "correct_flat_field")
    check.that((tomoprof.step("volume_crop", y, start=(1, 2, 3), shape=(4, 3, 5)) == y[1:5, 2:5, 3:8]).all(), "volume_crop")
    cast = tomoprof.step("volume_cast", 100 * y, dtype="u8")
    check.that(cast.dtype == np.uint8 and (cast == np.rint(100 * y)).all(), f"volume_cast: {cast.dtype}")
    check.that("nonsense" in raised(ValueError, tomoprof.step, "nonsense", y) and raised(ValueError, tomoprof.step, "minus_log", y, low="x"), "bad steps")
    model = tomoprof.ParallelBeamModel((90, 16, 64), np.linspace(0, np.pi, 90))
    model.set_params(det_channel_offset=3.0)
    _, exact = tomoprof.phantom(model, sinogram=True)
    channel, _ = tomoprof.find_center(model, exact)
    check.that(abs(channel - (31.5 + 3.0)) < 0.6, f"find_center: {channel}")
    volume = np.zeros((5, 7, 3), np.float32)
    volume[2, 4, 1], volume[0, 0, 1] = 2, np.nan
    shown = tomoprof.picture(volume)
    check.that(shown.levels[2, 4] == 255 and shown.levels.sum() == 255 and "slice 1 of 3" in repr(shown), f"{shown}")
    shown.save(folder / "slice.png")
    png = (folder / "slice.png").read_bytes()
    data = zlib.decompress(png[png.index(b"IDAT") + 4 : -16])
    check.that(png[16:24] == struct.pack(">II", 7, 5) and len(data) == 40 and data[2 * 8 + 5] == 255, "the PNG file")
    check.that("index" in raised(ValueError, tomoprof.picture, volume, 3) and raised(ValueError, tomoprof.picture, volume[0]), "bad pictures")


def light_import(check, folder):
    code = "import sys; before = set(sys.modules); import tomoprof; print(*sorted(set(sys.modules) - before - {'tomoprof'}))"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=60)
    check.that(done.returncode == 0 and done.stdout.strip() == "", f"import tomoprof loads {done.stdout} {done.stderr}")
    check.that("ConeBeamModel" in dir(tomoprof), "dir(tomoprof)")
    done = subprocess.run([sys.executable, "-c", "import tomoprof; print(tomoprof.preprocess.scan_to_sino.__name__, tomoprof.mbirjax.ConeBeamModel.__name__)"],
                          text=True, capture_output=True, timeout=60)
    check.that(done.stdout.split() == ["scan_to_sino", "ConeBeamModel"], f"modules by their names: {done.stdout} {done.stderr}")
    check.that(re.fullmatch(r"\d+\.\d+\.\d+", tomoprof.__version__), tomoprof.__version__)
    done = subprocess.run([sys.executable, "-c", "import tomoprof; tomoprof.ConeBeamModel"], text=True, capture_output=True, timeout=60,
                          env={**os.environ, "TOMOPROF_LIBRARY": "/nowhere/libtomoprof.so.0"})
    check.that("/nowhere/libtomoprof.so.0" in done.stderr and done.returncode == 1, f"a library that is missing: {done.stderr}")


if __name__ == "__main__":
    main(no_log_unasked, sums_of_parts, places, kinds_of_arrays, bad_input, parameters, copies, use_beside_models, steps_and_pictures, light_import)
