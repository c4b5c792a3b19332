"""Functions on arrays: weights, medians, steps on views and volumes, the rotation axis."""

from __future__ import annotations

import ctypes
from typing import Any, Optional

import numpy

from tomoprof import _library
from tomoprof._arrays import FLOAT32, Array, Callback, address, host, like, located, output, require_model
from tomoprof._calls import SINOGRAM, VOLUME, Call, header, number
from tomoprof._library import Array as LibraryArray
from tomoprof._library import acquire, release
from tomoprof._model import TomographyModel

WEIGHTS = ("unweighted", "transmission", "transmission_root", "emission")


def gen_weights(sinogram: Array, weight_type: str, ct_model: Any = None, *, out: Array = None) -> Array:
    """Weights of MBIR from a sinogram: 1, exp(-y), exp(-y/2) or 1/(|y| + 0.1).

    weight_type: "unweighted", "transmission", "transmission_root" or "emission". ct_model has no effect."""
    if weight_type not in WEIGHTS:
        raise ValueError(f"gen_weights: undefined weight_type {weight_type}; expected one of {', '.join(WEIGHTS)}")
    y = host(sinogram, "sinogram", None, SINOGRAM)
    result = output(out, y.shape)
    with Call() as call:
        call("gen_weights", weight_type.encode(), header(y), header(result))
    return out if out is not None else like(sinogram, result)


def gen_weights_mar(ct_model: Any, sinogram: Array, init_recon: Array = None, metal_threshold: Optional[float] = None, beta: float = 1.0, gamma: float = 3.0) -> Array:
    """Weights that reduce artifacts of metal: exp(-(y/beta) (1 + gamma m)), where m is 1 for rays through metal.

    Metal is what is above metal_threshold in init_recon, a volume; None: above the upper of two Otsu thresholds. Without init_recon
    the samples of the sinogram above its threshold count as metal."""
    require_model(ct_model)
    beta, gamma = number("beta", beta), number("gamma", gamma)
    if beta == 0:
        raise ValueError("beta is 0; expected a positive number")
    y = host(sinogram, "sinogram", tuple(ct_model.get_params("sinogram_shape")), SINOGRAM)
    x = None if init_recon is None else host(init_recon, "init_recon", tuple(ct_model.get_params("recon_shape")), VOLUME)
    if x is not None and metal_threshold is not None:
        metal = ct_model.forward_project((x > metal_threshold).astype(FLOAT32)) > 0
        return like(sinogram, numpy.exp(-y * (1 + gamma * metal.astype(FLOAT32)) / beta))
    result = numpy.empty(y.shape, FLOAT32)
    with Call() as call:
        call("gen_weights_mar", ct_model._plan(call.context).handle, header(y), header(x), beta, gamma, header(result))
    return like(sinogram, result)


def weigh_rays(ct_model: Any, sinogram: Array, kind: str, *, out: Array = None) -> Array:
    """Weights a sinogram so that `direct_recon` counts each ray once that a cone beam measures twice.

    kind: "parker" for a short scan, of half a turn and the fan at least; "wang" for a full turn with a detector that reaches further
    on one side of the axis. ValueError, with the numbers, where the angles or the detector are not of that kind. `recon` needs no such weights.

        volume = model.direct_recon(tomoprof.weigh_rays(model, sinogram, "parker"))"""
    require_model(ct_model)
    y = host(sinogram, "sinogram", tuple(ct_model.get_params("sinogram_shape")), SINOGRAM)
    result = output(out, y.shape)
    with Call() as call:
        call("weigh_rays", ct_model._plan(call.context).handle, str(kind).encode(), header(y), header(result))
    return out if out is not None else like(sinogram, result)


def median_filter3d(x: Array, max_block_gb: float = 4.0, return_min_max: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
    """Median of 3 x 3 x 3 voxels with replicated edges of a volume of any three lengths. max_block_gb has no effect.

    return_min_max: returns (median, minimum, maximum)."""
    source = host(x, "x", None, VOLUME) if return_min_max else located(x, "x", None, VOLUME)
    result = output(out, source.shape, beside=source)
    if callback is None and type(source) is type(result) is numpy.ndarray:
        _median(source, result)
    else:
        with Call(callback) as call:
            call("median_filter3d", header(source), header(result))
    result = out if out is not None else like(x, result)
    return (result, *(like(x, _neighbours(source, choose)) for choose in (numpy.minimum, numpy.maximum))) if return_min_max else result


def _median(source, result):
    """The call by the shortest way: a context keeps the headers of its last volumes, which take longer to make than small medians."""
    context = acquire()
    try:
        if context.volumes is None or context.volumes[0] != source.shape:
            context.volumes = source.shape, LibraryArray(source.shape), LibraryArray(source.shape)
        _, first, second = context.volumes
        first.data, second.data = address(source), address(result)
        status = _library.median_filter3d(context.pointer, ctypes.byref(first), ctypes.byref(second))
        if status:
            raise context.error(status)
    finally:
        release(context)


def _neighbours(array, choose):
    """The least or largest of 3 x 3 x 3 voxels, one axis after the other."""
    for axis in range(3):
        view = numpy.moveaxis(array, axis, 0)
        best = view.copy()
        choose(best[1:], view[:-1], out=best[1:])
        choose(best[:-1], view[1:], out=best[:-1])
        array = numpy.moveaxis(best, 0, axis)
    return numpy.ascontiguousarray(array)


RESULT_TYPES = {0: "float32", 2: "float16", 4: "int16", 6: "uint8"}


def step(name: str, array: Array, *, frames: Array = None, **settings: Any) -> Array:
    """Does a step on views (views, detector rows, channels) or on a volume by its name, such as "minus_log" or "volume_z_norm".

    docs/operations.md and docs/volume.md list steps and settings; lists of numbers are tuples here: shape=(32, 32, 16).
    frames: for "correct_flat_field", (3, detector rows, channels): dark, flat before and flat after the views."""
    source = host(array, "array")
    given = None if frames is None else host(frames, "frames")
    words = {key: ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value) for key, value in settings.items()}
    text = " ".join(f"{key}={value}" for key, value in words.items()).encode()
    shape, kind = (ctypes.c_int64 * 3)(), ctypes.c_int()
    with Call() as call:
        call("step_shape", str(name).encode(), text, header(source), shape, ctypes.byref(kind))
        if kind.value not in RESULT_TYPES:
            raise NotImplementedError(f"{name}: NumPy has no type for the result ({settings})")
        result = numpy.empty(tuple(shape), RESULT_TYPES[kind.value])
        into = LibraryArray(result.shape, address(result))
        into.type = kind.value
        call("step", str(name).encode(), text, header(source), header(given), ctypes.byref(into))
    return like(array, result)


def find_center(model: TomographyModel, sinogram: Array, method: str = "registration") -> tuple[float, float]:
    """Finds the rotation axis in a sinogram of parallel beams: "registration", "entropy" or "symmetry".

    Returns (channel, score): set det_channel_offset to (channel - (channels - 1) / 2) * delta_det_channel."""
    require_model(model)
    y = host(sinogram, "sinogram", tuple(model.get_params("sinogram_shape")), SINOGRAM)
    channel, score = ctypes.c_double(), ctypes.c_double()
    with Call() as call:
        call("find_center", model._plan(call.context).handle, str(method).encode(), header(y), ctypes.byref(channel), ctypes.byref(score))
    return channel.value, score.value
