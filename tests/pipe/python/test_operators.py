"""The operators from Python: MBIRJAX's arrays, its names and defaults, arrays of all kinds, bad input, threads, processes and Ctrl-C."""

import copy
import inspect
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
import zlib

import module
import numpy as np
import recon_cases
from module import raised
from tool import DATA, main, relative

import tomoprof
import tomoprof.mbirjax
from tomoprof import _partitions, _phantoms

GOLDENS = DATA / "goldens"
HERE = pathlib.Path(__file__).resolve()
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


def quiet(model):
    model.set_params(verbose=0)
    return model


def parallel(views=12, rows=5, channels=16):
    return quiet(tomoprof.ParallelBeamModel((views, rows, channels), np.linspace(0, np.pi, views, endpoint=False)))


def cone(views=12, rows=5, channels=16):
    return quiet(tomoprof.ConeBeamModel((views, rows, channels), np.linspace(0, 2 * np.pi, views, endpoint=False), 4 * channels, 2 * channels))


def noise(shape, seed=1):
    return np.random.default_rng(seed).random(shape, np.float32)


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
        check.that(error < 5e-4, f"{name} differs by {error:.2g}")


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
             "reversed": x[::-1].copy()[::-1], "list": x.tolist(), "memoryview": memoryview(x), "read-only": x.copy()}
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
        (TypeError, "str", lambda: model.back_project("sinogram.npy")),
        (ValueError, r"\(2, 2\).*\(12, 5, 16\)", lambda: model.forward_project(x, out=np.zeros((2, 2), np.float32))),
        (TypeError, "float32", lambda: model.forward_project(x, out=np.zeros(other))),
        (ValueError, "C order", lambda: model.forward_project(x, out=np.asfortranarray(np.zeros(other, np.float32)))),
        (ValueError, "finite", lambda: model.set_params(delta_voxel=float("nan"))),
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


def project_in_child(pair):
    model, x = pair
    return model.forward_project(x).sum()


def processes_and_threads(check, folder):
    model = cone()
    x = noise(model.get_params("recon_shape"))
    expected = model.forward_project(x)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            sums = pool.map_async(project_in_child, [(model, x)] * 4).get(120)
        check.that(sums == [expected.sum()] * 4, f"{method}: {sums}")
    wrong = []

    def work():
        own = cone()
        for i in range(20):
            wrong.extend([m for m in (model, own) if (m.forward_project(x) != expected).any()])
            if i % 5 == 0:
                model.set_params(verbose=0)  # drops the plans of all threads

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check.that(not wrong, "threads disturb each other")


def progress_and_its_end(check, folder):
    model = cone()
    y = model.forward_project(noise(model.get_params("recon_shape")))
    seen = []
    volume, _ = model.recon(y, max_iterations=4, stop_threshold_change_pct=0, logfile_path=None, callback=lambda done, total: seen.append((done, total)))
    check.that(seen == [(i, 4.0) for i in (1.0, 2.0, 3.0, 4.0)], f"{seen}")
    check.that(raised(tomoprof.Cancelled, model.recon, y, logfile_path=None, callback=lambda done, total: done >= 2), "a callback that ends the call")

    def stumble(done, total):
        raise LookupError("mine")

    check.that(raised(LookupError, model.recon, y, logfile_path=None, callback=stumble) == "mine", "the callback's exception")
    check.that(np.isfinite(model.recon(y, max_iterations=1, logfile_path=None)[0]).all(), "a call after a cancelled one")


INTERRUPTED = """
import sys, time, threading, os, signal
import numpy, tomoprof
n, call = int(sys.argv[1]), sys.argv[2]
model = tomoprof.ConeBeamModel((n, n, n), numpy.linspace(0, 6, n), 4 * n, 2 * n)
model.set_params(verbose=0)
shape = model.get_params("recon_shape")
y = numpy.ones((n, n, n), numpy.float32)
out = numpy.zeros((n, n, n), numpy.float32) if call == "forward_project" else numpy.zeros(shape, numpy.float32)
calls = {"forward_project": lambda: model.forward_project(numpy.ones(shape, numpy.float32), out=out), "direct_recon": lambda: model.direct_recon(y, out=out),
         "recon": lambda: model.recon(y, max_iterations=1000, stop_threshold_change_pct=0, logfile_path=None, out=out)}
sent = []
def interrupt():
    time.sleep(float(sys.argv[3]))
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
thread = threading.Thread(target=interrupt)
try:
    thread.start()
    while True:
        calls[call]()
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
before = out.copy()
time.sleep(0.1)
print("quiet" if (before == out).all() and numpy.isfinite(out).all() else "still written")
print(model.forward_project(numpy.ones(shape, numpy.float32)).shape == (n, n, n))
"""


def ctrl_c(check, folder):
    """Nothing writes to the arrays after an interrupt, and they are finite. How soon a call ends is printed and no matter of pass or fail
    beside other work."""
    for call, after in (("forward_project", 0.3), ("direct_recon", 0.3), ("recon", 0.2), ("recon", 1.5)):
        done = subprocess.run([sys.executable, "-c", INTERRUPTED, "128", call, str(after)], text=True, capture_output=True, timeout=300)
        lines = done.stdout.splitlines()
        check.that(done.returncode == 0 and lines[1:] == ["quiet", "True"] and not done.stderr, f"{call}: {done.stdout} {done.stderr}")
        print(f"  after Ctrl-C {call} goes on for {lines[0] if lines else None} s")


STORM = """
import os, random, signal, sys, threading, time
import numpy, tomoprof
from tomoprof import _library
n, _library.INTERVAL = int(sys.argv[1]), 1
model = tomoprof.ParallelBeamModel((n, n, n), numpy.linspace(0, 3, n))
x = numpy.ones(model.get_params("recon_shape"), numpy.float32)
expected = model.forward_project(x)
going, began = True, time.monotonic()
model.forward_project(x)
pause = max(2e-4, 3 * (time.monotonic() - began))
def storm():
    while going:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(random.random() * pause)
interrupted = returned = 0
thread = threading.Thread(target=storm)
def work():
    global interrupted, returned, pause
    while interrupted < 50 or returned < 50:
        if interrupted > 3 * returned + 20:
            pause *= 1.01  # beside other work a call takes longer than it did alone
        try:
            assert (model.forward_project(x) == expected).all()
            returned += 1
        except KeyboardInterrupt:
            interrupted += 1
while True:
    try:
        if not thread.ident:
            thread.start()
        work()
        break
    except KeyboardInterrupt:
        continue
signal.signal(signal.SIGINT, signal.SIG_IGN)
going = False
thread.join()
assert (model.forward_project(x) == expected).all()
print(interrupted >= 50, returned >= 50)
"""


def storm_of_signals(check, folder):
    """Interrupts at any step of a call: none hangs, and those that return are right."""
    for size in ("8", "96"):
        done = subprocess.run([sys.executable, "-c", STORM, size], text=True, capture_output=True, timeout=300)
        check.that(done.returncode == 0 and done.stdout == "True True\n" and not done.stderr, f"{done.returncode} {done.stdout} {done.stderr[-600:]}")


HANDLED = """
import signal
import numpy, tomoprof
from tomoprof import _library
_library.INTERVAL = 1
model = tomoprof.ConeBeamModel((96, 96, 96), numpy.linspace(0, 6, 96), 400, 200)
model.set_params(verbose=0)
small = tomoprof.ParallelBeamModel((8, 2, 8), numpy.linspace(0, 3, 8))
ones, large = numpy.ones(small.get_params("recon_shape")), numpy.ones(model.get_params("recon_shape"), numpy.float32)
expected, inner, median = model.forward_project(large), small.forward_project(ones), tomoprof.median_filter3d(large)
seen = []
def handler(*_):
    seen.append((small.forward_project(ones) == inner).all())
    if len(seen) % 3 == 0:
        seen.append((tomoprof.median_filter3d(large) == median).all() and (model.forward_project(large) == expected).all())
    signal.setitimer(signal.ITIMER_REAL, 0.01)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.01)
same = []
while len(seen) < 10:
    same.append((model.forward_project(large) == expected).all())
signal.setitimer(signal.ITIMER_REAL, 0)
print(all(seen), all(same))
"""


def handlers_that_return(check, folder):
    """A handler of signals runs during a call, calls the library itself, and the call goes on."""
    done = subprocess.run([sys.executable, "-c", HANDLED], text=True, capture_output=True, timeout=120)
    check.that(done.returncode == 0 and done.stdout == "True True\n" and not done.stderr, f"{done.returncode} {done.stdout} {done.stderr[-600:]}")


def use_beside_models(check, folder):
    x = noise((9, 8, 7))
    padded = np.pad(x, 1, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3, 3)).reshape(*x.shape, 27)
    for found, expected in zip(tomoprof.median_filter3d(x, return_min_max=True), (np.median(windows, -1), windows.min(-1), windows.max(-1))):
        check.that((found == expected).all(), "median_filter3d")
    for kind, expected in (("unweighted", np.ones_like(x)), ("transmission", np.exp(-x)), ("transmission_root", np.exp(-x / 2)),
                           ("emission", 1 / (np.abs(x) + 0.1))):
        check.that(relative(tomoprof.gen_weights(x, kind), expected) < 1e-6, kind)
    for subsets in (1, 7, 64):
        part = tomoprof.gen_pixel_partition((16, 16, 3), subsets)
        check.that(set(part.ravel()) == set(_partitions.gen_full_indices((16, 16, 3))), f"a partition into {subsets}")
    model = cone(24, 16, 32)
    volume, sinogram = tomoprof.phantom(model, sinogram=True)
    check.that(relative(model.forward_project(volume), sinogram) < 0.3, "the phantom and its line integrals")
    noisy = volume + 0.1 * np.random.default_rng(0).standard_normal(volume.shape).astype(np.float32)
    denoised, record = tomoprof.QGGMRFDenoiser(volume.shape).denoise(noisy, 0.1, logfile_path=None)
    check.that(np.linalg.norm(denoised - volume) < np.linalg.norm(noisy - volume), "denoise")
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
    check.that(shown.levels[2, 4] == 255 and shown.levels.sum() == 255 and "slices 1 of 3" in repr(shown), f"{shown}")
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
    done = subprocess.run([sys.executable, "-c", "import tomoprof; tomoprof.ConeBeamModel"], text=True, capture_output=True, timeout=60,
                          env={**os.environ, "TOMOPROF_LIBRARY": "/nowhere/libtomoprof.so.0"})
    check.that("/nowhere/libtomoprof.so.0" in done.stderr and done.returncode == 1, f"a library that is missing: {done.stderr}")


if __name__ == "__main__":
    main(names_and_defaults, arrays_of_mbirjax, options_of_mbirjax, partitions_of_the_caller, no_log_unasked, a_run_that_goes_on, sums_of_parts,
         kinds_of_arrays, bad_input, parameters, copies, processes_and_threads,
         progress_and_its_end, ctrl_c, storm_of_signals, handlers_that_return, use_beside_models, steps_and_pictures, light_import)
