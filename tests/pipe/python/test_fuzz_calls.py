"""Calls with arguments of all kinds: each returns or raises one of a few exceptions, and the interpreter survives."""

import collections
import contextlib
import faulthandler
import inspect
import io
import os
import resource
import subprocess
import sys
import warnings

import module

module.need("hypothesis")
import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from tool import LONG, SANITIZED, main

import tomoprof
import tomoprof.mbirjax
from tomoprof import _models, preprocess

ALLOWED = (ValueError, TypeError, NotImplementedError, NameError, MemoryError, tomoprof.Cancelled)
SEED = int(os.environ.get("TP_SEED", 0))  # another number: other examples
EXAMPLES = int(os.environ.get("TP_EXAMPLES", 10000 if LONG else 60 if SANITIZED else 200))
SETTINGS = settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
TYPES = ("float32", "float64", "float16", ">f4", "int8", "uint16", "int64", "bool", "complex64", "object", "U3", "M8[s]")
VALUES = (0.0, 1.0, -1.0, 1e-30, 1e30, np.inf, -np.inf, np.nan)

small = st.one_of(st.integers(-3, 9), st.floats(-10, 10), st.sampled_from(VALUES), st.none(), st.booleans(), st.text(max_size=3))  # ends soon as a count, too
numbers = st.one_of(st.integers(-3, 9), st.sampled_from((2**31, 2**63, -(2**40), 10**30)), st.floats(), st.none(), st.booleans(), st.text(max_size=3))


@st.composite
def arrays(draw, shape=None):
    """An array, mostly of the wanted shape, in any type, order and alignment; now and then something else."""
    if draw(st.integers(0, 9)) == 0:
        return draw(numbers)
    if shape is None or draw(st.integers(0, 3)) == 0:
        shape = tuple(draw(st.lists(st.integers(0, 9), max_size=5)))
    kind = draw(st.sampled_from(TYPES[:1] * 8 + TYPES))
    with np.errstate(all="ignore"):
        array = np.full(shape, draw(st.sampled_from(VALUES)) if "f" in kind[:2] else 0).astype(kind)
    how = draw(st.integers(0, 6))
    if how == 1 and array.ndim:
        array = array[::-1]
    elif how == 2:
        array = np.asfortranarray(array)
    elif how == 3 and array.ndim:
        array = np.broadcast_to(array[:1], array.shape)
    elif how == 4 and not array.dtype.hasobject:
        array = np.frombuffer(b"\0" * (array.nbytes + 1), np.uint8)[1:].view(array.dtype).reshape(array.shape) if array.size else array
    elif how == 5:
        array.setflags(write=False)
    return array


@st.composite
def models(draw):
    views, rows, channels = (draw(st.integers(1, 6)) for _ in range(3))
    angles = np.linspace(0, draw(st.floats(0, 10)), views)
    kind = draw(st.sampled_from(sorted(_models.MODELS)))
    shape = views, rows, channels
    model = {"parallel": lambda: tomoprof.ParallelBeamModel(shape, angles),
             "cone": lambda: tomoprof.ConeBeamModel(shape, angles, 4 * channels, 2 * channels),
             "translation": lambda: tomoprof.TranslationModel(shape, np.outer(angles, [1, 0, 1]), 4 * channels, 2 * channels),
             "multiaxis": lambda: tomoprof.MultiAxisParallelModel(shape, np.stack([angles, 0.1 * angles], 1))}[kind]()
    model.set_params(verbose=0)
    names = st.sampled_from([name for name in model.params if name not in ("verbose", "view_params_name")] + ["nonsense"])
    for name, value in draw(st.dictionaries(names, numbers | st.lists(numbers, max_size=4), max_size=2)).items():
        if name not in ("recon_shape", "sinogram_shape"):  # of any size: memory is refused, which takes its time
            attempt(lambda: model.set_params(**{name: value}))
    return model


FILE = []  # that any_size opens
outcomes = {True: 0, False: 0}
others = collections.Counter()  # exceptions of another kind, by function


def attempt(call, name=None):
    """The result; None where one of the allowed exceptions came. With a name others are counted: Python's own functions raise what they do."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            result = call()
        outcomes[True] += 1
        return result
    except ALLOWED:
        outcomes[False] += 1
    except Exception as error:
        if name is None:
            raise
        others[f"{name}: {type(error).__name__}"] += 1
    return None


def shape_of(model, name):
    shape = model.params[name].val
    return tuple(shape) if shape and all(isinstance(n, int) for n in shape) else (2, 2, 2)


@seed(SEED + 1)
@SETTINGS
@given(st.data())
def any_call(data):
    model = data.draw(models())
    volume, sinogram = shape_of(model, "recon_shape"), shape_of(model, "sinogram_shape")
    x, y, w = (data.draw(arrays(shape)) for shape in (volume, sinogram, sinogram))
    out = data.draw(st.none() | arrays(sinogram) | arrays(volume) | st.just(x) | st.just(y))
    pixels = data.draw(arrays((3,)) | st.lists(st.integers(-2, 40), max_size=5) | st.just(out))
    number, iterations = data.draw(numbers), data.draw(st.integers(-1, 2) | numbers.filter(lambda n: not isinstance(n, int) or n < 3))
    word = data.draw(st.sampled_from(("ramp", "transmission", "adjoint", "voxel", "fourier", "", None, "\0")))
    start, text = data.draw(st.sampled_from((None, 0, x))), data.draw(st.text(max_size=20))
    for call in (lambda: model.forward_project(x, out=out), lambda: model.back_project(y, out=out), lambda: model.direct_recon(y, word, out=out),
                 lambda: model.direct_recon(y, method=word), lambda: model.compute_hessian_diagonal(w, out=out),
                 lambda: model.sparse_forward_project(x, pixels, out=out), lambda: model.sparse_back_project(y, pixels, number, out=out),
                 lambda: model.recon(y, w, start, iterations, number, logfile_path=None, out=out),
                 lambda: model.prox_map(x, y, number, w, max_iterations=iterations, logfile_path=None),
                 lambda: tomoprof.gen_weights(y, word), lambda: tomoprof.gen_weights_mar(model, y, x, number, number, number),
                 lambda: tomoprof.median_filter3d(x, out=out), lambda: model.auto_set_recon_geometry(), lambda: model.verify_valid_params(),
                 lambda: tomoprof.QGGMRFDenoiser(getattr(x, "shape", ())).denoise(x, number, max_iterations=iterations, logfile_path=None, out=out),
                 lambda: tomoprof.load_model(text), lambda: tomoprof.phantom(model, word),
                 lambda: tomoprof.gen_pixel_partition(volume, iterations), lambda: repr(model)):
        attempt(call)


# Borders of 31, 32, 63 and 64 bits: as lengths, counts, indices and settings.
BORDERS = tuple(sign * (2**bits + more) for bits in (16, 31, 32, 33, 62, 63, 64) for more in (-1, 0, 1) for sign in (1, -1)) + (0, 1, 2, 10**30)
lengths = st.sampled_from((2, 2, 3) + BORDERS)


def ones(shape):
    """An array of any shape in the memory of one number."""
    return np.broadcast_to(np.float32(1), shape)


@seed(SEED + 4)
@SETTINGS
@given(st.data())
def any_size(data):
    """Shapes, counts and indices at the borders of integers: refused before anything of that size is taken, or computed."""
    shape, recon_shape, volume = (data.draw(st.tuples(lengths, lengths, lengths)) for _ in range(3))
    count, kind, changed = data.draw(lengths), data.draw(st.sampled_from(sorted(_models.MODELS))), data.draw(st.booleans())
    shape = (2, *shape[1:]) if data.draw(st.booleans()) else shape
    angles = ones(min(max(shape[0], 0), 1 << 16))
    makers = {"parallel": lambda: tomoprof.ParallelBeamModel(shape, angles), "cone": lambda: tomoprof.ConeBeamModel(shape, angles, 40, 20),
              "translation": lambda: tomoprof.TranslationModel(shape, np.outer(angles, [1, 0, 1]), 40, 20),
              "multiaxis": lambda: tomoprof.MultiAxisParallelModel(shape, np.stack([angles, 0.1 * angles], 1))}
    for model in filter(None, (attempt(makers[kind]), tomoprof.ParallelBeamModel((2, 2, 8), [0, 1]))):
        attempt(lambda: model.set_params(verbose=0, **({"recon_shape": recon_shape} if changed else {})))
        x, y = (attempt(lambda: ones(shape_of(model, name))) for name in ("recon_shape", "sinogram_shape"))
        for call in (lambda: model.forward_project(x), lambda: model.back_project(y), lambda: model.direct_recon(y), lambda: model.compute_hessian_diagonal(),
                     lambda: model.sparse_forward_project(ones((1, volume[2])), [count]), lambda: model.sparse_back_project(y, [0, count], count),
                     lambda: model.recon(y, init_recon=0, max_iterations=1), lambda: model.recon(y, max_iterations=count, stop_threshold_change_pct=100),
                     lambda: model.recon(y, first_iteration=count, max_iterations=2), lambda: model.vcd_recon(y, [np.array([[count]], object)], [0], 0.0),
                     lambda: model.vcd_recon(y, [np.zeros((1, 1), np.int32)], [count], 0.0), lambda: tomoprof.phantom(model), lambda: model.scale_recon_shape(count, 1, 1)):
            attempt(call)
    for call in (lambda: tomoprof.median_filter3d(ones(volume)), lambda: tomoprof.gen_weights(ones(volume), "emission"), lambda: tomoprof.step("minus_log", ones(volume)),
                 lambda: tomoprof.QGGMRFDenoiser(volume).denoise(ones(volume), 1, max_iterations=1), lambda: tomoprof.gen_pixel_partition(volume, count),
                 lambda: tomoprof.mbirjax.gen_pixel_partition_grid((4, 4, 1), count), lambda: tomoprof.mbirjax.gen_pixel_partition_blue_noise(volume, 3),
                 lambda: tomoprof.mbirjax.gen_full_indices(volume), lambda: tomoprof.mbirjax.gen_cube_phantom((2, 2, min(count, 9))),
                 lambda: tomoprof.mbirjax.generate_3d_shepp_logan_low_dynamic_range((*volume[:2], 2)),
                 lambda: tomoprof.step("volume_crop", ones((8, 8, 8)), start=(count, 0, 0), shape=(1, volume[0], 1)),
                 lambda: tomoprof.step("remove_stripes_sorting", ones((2, 2, 8)), size=count), lambda: tomoprof.configure(memory=count)):
        attempt(call)
    tomoprof.configure(threads=2, memory=0)
    for index in (count, slice(count, None), slice(None, volume[0], volume[1]), (slice(-count, volume[1]), 0)):
        attempt(lambda: FILE[0][index], "open()[]")  # IndexError, too


NOT_CALLED = ("main", "program", "read", "start", "load_ipython_extension", "unload_ipython_extension")


def public(owner):
    """Functions of a module, or methods of a model, without those that become another program."""
    names = [name for name in getattr(owner, "__all__", dir(owner)) if not name.startswith("_") and name not in NOT_CALLED]
    return [(name, getattr(owner, name)) for name in names if inspect.isroutine(getattr(owner, name, None))]


FUNCTIONS = [*public(tomoprof), *public(preprocess), *public(tomoprof.mbirjax)]


@seed(SEED + 3)
@SETTINGS
@given(st.data())
def any_function(data):
    """Public functions and methods, with arguments of any kind in any place."""
    model = data.draw(models())
    if data.draw(st.integers(0, 20)) == 0:
        tomoprof.configure(threads=data.draw(st.integers(1, 3)))
    volume, sinogram = shape_of(model, "recon_shape"), shape_of(model, "sinogram_shape")
    fitting = {"sinogram": arrays(sinogram), "recon": arrays(volume), "weights": arrays(sinogram), "ct_model": st.just(model), "model": st.just(model)}
    anything = st.one_of(small, arrays(volume), arrays(sinogram), st.just(model), st.tuples(small, small), st.sampled_from(("minus_log", "entropy", "volume_crop")))
    for name, function in data.draw(st.lists(st.sampled_from(FUNCTIONS + public(model)), min_size=3, max_size=6)):
        parameters = [p for p in inspect.signature(function).parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY) and p.name != "self"]
        values = [data.draw(fitting.get(p.name, anything)) for p in parameters if p.default is p.empty or data.draw(st.integers(0, 3)) == 0]
        if LONG:
            faulthandler.dump_traceback_later(60, exit=True)  # a call that hangs
        attempt(lambda: function(*values), name)
        faulthandler.cancel_dump_traceback_later()


@seed(SEED + 2)
@SETTINGS
@given(st.text(alphabet="abT:' -[]\n0123456789.#\"", max_size=80))
def any_text(text):
    attempt(lambda: tomoprof.load_model("geometry_type:\n  val: " + text))


def sanitizers(check, _):
    """A call that reads behind an array is reported: what the other calls would do with a wrong length."""
    if not SANITIZED:
        return
    script = ("import ctypes, numpy, tomoprof\nfrom tomoprof._calls import Call, header\nfrom tomoprof._library import Array\n"
              "x = numpy.ones((64, 8, 8), 'float32')\nout = numpy.ones((64, 8, 9), 'float32')\n"
              "with Call() as call: call('gen_weights', b'emission', ctypes.byref(Array(out.shape, x.ctypes.data)), header(out))\n")
    done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, timeout=300)
    check.that(done.returncode != 0 and "ERROR: AddressSanitizer: heap-buffer-overflow" in done.stderr, f"reading behind an array: {done.returncode} {done.stderr[:2000]}")


def calls(check, folder):
    if not SANITIZED:  # ASan says more about a crash, and takes terabytes of addresses
        faulthandler.enable()
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30,) * 2)
    os.chdir(folder)  # some of them write files
    tomoprof.configure(threads=2)
    np.save("borders.npy", np.zeros((3, 4, 5)))
    FILE.append(tomoprof.open("borders.npy"))
    any_size()
    any_call()
    any_function()
    any_text()
    print(f"  {outcomes[True]} calls returned, {outcomes[False]} raised, {sum(others.values())} raised what Python's functions do: {others.most_common(12)}")
    check.that(min(outcomes.values()) > EXAMPLES * 5 // 2, f"calls of one kind alone: {outcomes}")
    check.that(tomoprof.ParallelBeamModel((2, 2, 2), [0, 1]).forward_project(np.ones((2, 2, 2))).shape == (2, 2, 2), "a call after all")


main(sanitizers, calls)
