"""Functions of MBIRJAX's names beside its models: weights, partitions, medians, phantoms, files and demonstration data."""

from __future__ import annotations

import ctypes
import json
import os
import warnings
from typing import Any, Optional, Sequence

import numpy

from tomoprof._arrays import FLOAT32, Array, Callback, address, host, like, output
from tomoprof._geometries import ConeBeamModel, MultiAxisParallelModel, ParallelBeamModel, TranslationModel
from tomoprof._library import Array as LibraryArray
from tomoprof._model import LONG, SINOGRAM, VOLUME, Call, TomographyModel, _integer, _number, header, random_seed
from tomoprof._parameters import class_name

WEIGHTS = ("unweighted", "transmission", "transmission_root", "emission")
MODELS: dict[str, Any] = {"parallel": ParallelBeamModel, "cone": ConeBeamModel, "translation": TranslationModel, "multiaxis": MultiAxisParallelModel}


def gen_weights(sinogram: Array, weight_type: str, ct_model: Any = None, *, out: Array = None) -> Array:
    """Weights of MBIR from a sinogram: 1, exp(-y), exp(-y/2) or 1/(|y| + 0.1).

    weight_type: "unweighted", "transmission", "transmission_root" or "emission". ct_model has no effect."""
    if weight_type not in WEIGHTS:
        raise ValueError(f"gen_weights: undefined weight_type {weight_type}; expected one of {', '.join(WEIGHTS)}")
    y = host(sinogram, "sinogram", None, SINOGRAM)
    result = output(out, y.shape)
    with Call() as call:
        call("gen_weights", weight_type.encode(), header(y), header(result), long=y.size > LONG)
    return out if out is not None else like(sinogram, result)


def gen_weights_mar(ct_model: Any, sinogram: Array, init_recon: Array = None, metal_threshold: Optional[float] = None, beta: float = 1.0, gamma: float = 3.0) -> Array:
    """Weights that reduce artifacts of metal: exp(-(y/beta) (1 + gamma m)), where m is 1 for rays through metal.

    Metal is what is above metal_threshold in init_recon, a volume; None: above the upper of two Otsu thresholds. Without init_recon
    the samples of the sinogram above its threshold count as metal."""
    beta, gamma = _number("beta", beta), _number("gamma", gamma)
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


def median_filter3d(x: Array, max_block_gb: float = 4.0, return_min_max: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
    """Median of 3 x 3 x 3 voxels with replicated edges of a volume of any three lengths. max_block_gb has no effect.

    return_min_max: returns (median, minimum, maximum)."""
    source = host(x, "x", None, VOLUME)
    result = output(out, source.shape)
    with Call(callback) as call:
        call("median_filter3d", header(source), header(result), long=source.size > LONG)
    result = out if out is not None else like(x, result)
    return (result, *(like(x, _neighbours(source, choose)) for choose in (numpy.minimum, numpy.maximum))) if return_min_max else result


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
        call("step_shape", str(name).encode(), text, header(source), shape, ctypes.byref(kind), long=False)
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
    y = host(sinogram, "sinogram", tuple(model.get_params("sinogram_shape")), SINOGRAM)
    channel, score = ctypes.c_double(), ctypes.c_double()
    with Call() as call:
        call("find_center", model._plan(call.context).handle, str(method).encode(), header(y), ctypes.byref(channel), ctypes.byref(score))
    return channel.value, score.value


# ---- Regions and partitions ----

def get_2d_ror_mask(recon_shape: Sequence[int], *, use_ror_mask: Any = True, crop_radius_pixels=0, crop_radius_fraction=0.0) -> numpy.ndarray:
    """The region of reconstruction (rows, columns) as booleans: the inscribed ellipse, smaller by some pixels or a fraction of its
    radii; everything for use_ror_mask False; a mask of the caller's as it is."""
    shape = tuple(recon_shape[:2])
    if crop_radius_pixels != 0 and crop_radius_fraction != 0.0:
        raise ValueError("Only one of crop_radius_pixels and crop_radius_fraction can be nonzero.")
    if use_ror_mask is False:
        return numpy.ones(shape, bool)
    if use_ror_mask is not True:
        mask = numpy.asarray(use_ror_mask)
        if mask.shape != shape:
            raise ValueError(f"Custom use_ror_mask must have shape recon_shape[:2]. Got mask.shape={mask.shape}, expected {shape}.")
        if not numpy.isin(mask, (0, 1)).all():
            raise ValueError("Custom use_ror_mask must contain only 0s and 1s.")
        return mask
    centers = [(n - 1) / 2 for n in shape]
    radii = [center - max(int(center * crop_radius_fraction), crop_radius_pixels, 0) for center in centers]
    rows, columns = ((numpy.arange(n) - center) for n, center in zip(shape, centers))
    with numpy.errstate(invalid="ignore", divide="ignore"):
        return (columns[None, :] / radii[1]) ** 2 + (rows[:, None] / radii[0]) ** 2 <= 1.0


def get_support_radius(recon_shape: Sequence[int], delta_voxel_row, delta_voxel_col, use_ror_mask: Any = True):
    """Largest distance (ALU) from the axis to the edge of a voxel that a reconstruction changes."""
    halves = 0.5 * recon_shape[0] * delta_voxel_row, 0.5 * recon_shape[1] * delta_voxel_col
    return float(max(halves)) if use_ror_mask is True else float(numpy.hypot(*halves))


def gen_pixel_partition(recon_shape: Sequence[int], num_subsets: int, use_ror_mask: Any = True) -> numpy.ndarray:
    """Parts the pixels of the region of reconstruction at random, by numpy.random, into subsets of equal size.

    Returns int32 (subsets, pixels), ascending in each row; some pixels appear twice where the number does not divide."""
    pixels = numpy.flatnonzero(get_2d_ror_mask(recon_shape, use_ror_mask=use_ror_mask)).astype(numpy.int32)
    num_subsets = _integer("num_subsets", num_subsets, 1)
    if num_subsets > len(pixels):
        num_subsets = len(pixels)
        warnings.warn("The number of partition subsets is greater than the number of pixels in the region of reconstruction. "
                      "Reducing the number of subsets to equal the number of indices.", stacklevel=2)
    if num_subsets == 1:
        return pixels.reshape(1, -1)
    length = -(-len(pixels) // num_subsets) if num_subsets else 0
    extra = num_subsets * length - len(pixels)
    pixels = numpy.random.permutation(pixels)
    again = numpy.random.choice(pixels[:(num_subsets - 1) * length], size=extra, replace=False)
    return numpy.sort(numpy.concatenate((pixels, again)).reshape(num_subsets, length), axis=1).astype(numpy.int32)


def gen_set_of_pixel_partitions(recon_shape: Sequence[int], granularity: Sequence[int], output_device=None, use_ror_mask: Any = True):
    """A list of `gen_pixel_partition` for each number of subsets in `granularity`. output_device has no effect."""
    return [gen_pixel_partition(recon_shape, subsets, use_ror_mask) for subsets in granularity]


def gen_full_indices(recon_shape: Sequence[int], use_ror_mask: Any = True) -> numpy.ndarray:
    """All pixel indices of the region of reconstruction, ascending."""
    return gen_pixel_partition(recon_shape, 1, use_ror_mask)[0]


def gen_pixel_partition_grid(recon_shape: Sequence[int], num_subsets: int, use_ror_mask: Any = True):
    """Parts the pixels by their place in a square tile that repeats. Returns int32 (subsets, pixels)."""
    return _library_partition("grid", recon_shape, num_subsets, use_ror_mask)


def gen_pixel_partition_blue_noise(recon_shape: Sequence[int], num_subsets: int, use_ror_mask: Any = True):
    """Parts the pixels by a tile of blue noise that repeats. Returns int32 (subsets, pixels)."""
    return _library_partition("blue_noise", recon_shape, num_subsets, use_ror_mask)


def _library_partition(method, recon_shape, subsets, mask):
    if not isinstance(mask, bool):
        raise NotImplementedError("use_ror_mask: this partition takes True or False")
    rows, columns = recon_shape[:2]
    model = ParallelBeamModel((1, 1, columns), [0.0])
    model.set_params(recon_shape=(rows, columns, 1), use_ror_mask=mask)
    count, length, seed = ctypes.c_int64(_integer("num_subsets", subsets, 1)), ctypes.c_int64(), random_seed()
    with Call() as call:
        plan = model._plan(call.context)
        call("partition", plan.handle, method.encode(), seed, ctypes.byref(count), ctypes.byref(length), None, 0)
        result = numpy.empty((count.value, length.value), numpy.int32)
        count = ctypes.c_int64(subsets)
        call("partition", plan.handle, method.encode(), seed, ctypes.byref(count), ctypes.byref(length), result.ctypes.data, result.size)
    return result


def gen_partition_sequence(partition_sequence, max_iterations: int):
    """The first max_iterations entries; the last one repeats."""
    sequence = numpy.array(partition_sequence)
    extra = max(0, max_iterations - sequence.size)
    return numpy.concatenate((sequence, numpy.full(extra, sequence[-1])))[:max_iterations]


# ---- Models ----

def get_ct_model(geometry_type, sinogram_shape: Sequence[int], angles: Array, source_detector_dist: Any = None, source_iso_dist: Any = None, helical_z_shifts: Array = None):
    """A ConeBeamModel ("cone") or ParallelBeamModel ("parallel")."""
    if geometry_type == "cone":
        return ConeBeamModel(sinogram_shape, angles, source_detector_dist, source_iso_dist, helical_z_shifts)
    if geometry_type != "parallel":
        raise ValueError(f"Invalid geometry type. Expected cone or parallel, got {geometry_type}")
    if helical_z_shifts is not None:
        warnings.warn("helical_z_shifts: only cone beams have them; they are ignored", UserWarning, stacklevel=2)
    return ParallelBeamModel(sinogram_shape, angles)


def build_model(required_params: dict, optional_params: Optional[dict] = None, regularization: Optional[dict] = None) -> TomographyModel:
    """The model of what `get_all_params` returned. A recon_shape among the optional parameters is kept."""
    required, optional = dict(required_params), dict(optional_params or {})
    kind = required.pop("geometry_type")
    classes = {model.__name__: model for model in MODELS.values()}
    if class_name(kind) not in classes:
        raise ValueError(f"build_model: unrecognized geometry_type {kind!r}; expected one of {list(classes)}.")
    model, shape = classes[class_name(kind)](**required), optional.pop("recon_shape", None)
    if optional:
        model.set_params(**optional)
    if regularization:
        model.set_params(no_warning=True, **regularization)
    model.auto_set_recon_geometry()
    if shape is not None:
        model.set_params(no_warning=True, recon_shape=shape)
    return model


def copy_ct_model(ct_model: Any, new_angles=None, new_helical_z_shifts=None, new_num_det_rows=None, new_num_det_cols=None):
    """A ConeBeamModel or ParallelBeamModel with other angles, shifts or detector size, and an automatic recon_shape."""
    if not isinstance(ct_model, (ConeBeamModel, ParallelBeamModel)):
        raise TypeError("copy_ct_model() is restricted to ConeBeam and ParallelBeam Models")
    required, optional, regularization = ct_model.get_all_params()
    old = required["angles"]
    if isinstance(ct_model, ConeBeamModel):
        shifts = new_helical_z_shifts
        if shifts is None:
            if new_angles is not None and numpy.any(required["helical_z_shifts"] != 0):
                raise ValueError("copy_ct_model: new_helical_z_shifts must be specified when changing angles for a helical scan.")
            shifts = required["helical_z_shifts"] if new_angles is None else numpy.zeros(len(new_angles), FLOAT32)
        if len(shifts) != len(old if new_angles is None else new_angles):
            raise ValueError("copy_ct_model: new_helical_z_shifts must have the same length as the angles.")
        required["helical_z_shifts"] = shifts
    required["angles"] = old if new_angles is None else new_angles
    _, rows, channels = required["sinogram_shape"]
    required["sinogram_shape"] = (len(required["angles"]), rows if new_num_det_rows is None else new_num_det_rows,
                                  channels if new_num_det_cols is None else new_num_det_cols)
    optional.pop("recon_shape", None)
    return build_model(required, optional, regularization)


def load_model(source: Any) -> TomographyModel:
    """The model of a file: a geometry file (.json), or parameters that `save_params` or MBIRJAX wrote (.yml, .yaml, or their text)."""
    if isinstance(source, (str, os.PathLike)) and os.fspath(source).endswith(".json"):
        with open(source, encoding="utf-8") as file:
            return _model_of_geometry(json.load(file))
    _, params = TomographyModel.load_param_dict(source)
    classes = {model.__name__: model for model in MODELS.values()}
    kind = class_name(params.get("geometry_type"))
    if kind not in classes:
        raise ValueError(f"geometry_type is {params.get('geometry_type')!r}; expected one of {list(classes)}")
    views = params.get("view_params_array")
    if views is not None:
        params.update(zip(params["view_params_component_names"], numpy.asarray(views).T))
    model = classes[kind](**{name: params.pop(name) for name in classes[kind].get_required_param_names()})
    for name in ("geometry_type", "view_params_component_names", "version", "use_gpu"):
        params.pop(name, None)
    model.set_params(no_warning=True, **{name: value for name, value in params.items() if name in model.params})
    return model


def _model_of_geometry(values):
    """The model of a geometry file, whose automatic values are made where they are missing."""
    kind = values.pop("geometry", None)
    if kind not in MODELS:
        raise ValueError(f"geometry is {kind!r}; expected one of {', '.join(MODELS)}")
    for name in ("source_detector_dist", "source_iso_dist"):
        values.update({name: float(values[name])} if name in values else {})
    if "max_overrelaxation" in values:
        values["max_alpha"] = values.pop("max_overrelaxation")
    model = MODELS[kind](**{name: values.pop(name) for name in MODELS[kind].get_required_param_names() if name in values})
    automatic = {name: values.pop(name) for name in ("recon_shape", "delta_voxel", "recon_slice_offset") if name in values}
    flag = values.pop("auto_regularize_flag", not any(name.startswith("sigma_") for name in values))
    model.set_params(no_warning=True, auto_regularize_flag=flag, **values)
    model.auto_set_recon_geometry()
    model.set_params(no_warning=True, auto_regularize_flag=flag, **automatic)
    return model


def gen_translation_vectors(num_x_translations, num_z_translations, x_spacing, z_spacing):
    """Vectors (views, 3) of a grid in x and z around 0, row by row."""
    x = (numpy.arange(num_x_translations) - (num_x_translations - 1) / 2) * x_spacing
    z = (numpy.arange(num_z_translations) - (num_z_translations - 1) / 2) * z_spacing
    zz, xx = numpy.meshgrid(z, x, indexing="ij")
    return numpy.stack([xx.ravel(), numpy.zeros(xx.size), zz.ravel()], axis=1)


# ---- Phantoms ----

# x0, y0, z0, a, b, c, angle in degrees, intensity: x along rows, y along columns, from -1 to 1.
SHEPP_LOGAN = [
    (0, 0, 0, 0.69, 0.92, 0.9, 0, 1), (0, 0.0184, 0, 0.6624, 0.874, 0.88, 0, -0.8), (0.22, 0, 0, 0.41, 0.16, 0.21, 108, -0.2),
    (-0.22, 0, 0, 0.31, 0.11, 0.22, 72, -0.2), (0, 0.35, 0, 0.21, 0.25, 0.5, 0, 0.1), (0, 0.1, 0, 0.046, 0.046, 0.046, 0, 0.1),
    (0, -0.1, 0, 0.046, 0.046, 0.046, 0, 0.1), (-0.08, -0.605, 0, 0.046, 0.023, 0.02, 0, 0.1), (0, -0.605, 0, 0.023, 0.023, 0.02, 0, 0.1)]


def generate_3d_shepp_logan_low_dynamic_range(phantom_shape: Sequence[int], devices=None, max_block_gb: float = 4.0, target_max_attenuation=None):
    """The Shepp-Logan phantom in three dimensions with values from 0 to 1, as float32 (rows, columns, slices).

    target_max_attenuation: scales it so that the largest line integral is about this for voxels of 1 ALU. devices and max_block_gb
    have no effect."""
    rows, columns, slices = phantom_shape
    x = numpy.linspace(-1, 1, rows, dtype=FLOAT32)[:, None]
    y = numpy.linspace(-1, 1, columns, dtype=FLOAT32)[None, :]
    depth = numpy.linspace(-1, 1, slices, dtype=FLOAT32)
    phantom = numpy.zeros((rows, columns, slices), FLOAT32)
    for x0, y0, z0, a, b, c, angle, intensity in SHEPP_LOGAN:
        cosine, sine = (FLOAT32.type(f(numpy.deg2rad(angle))) for f in (numpy.cos, numpy.sin))
        plane = (cosine * (x - x0) + sine * (y - y0)) ** 2 / a**2 + (-sine * (x - x0) + cosine * (y - y0)) ** 2 / b**2
        for k, z in enumerate(depth):
            phantom[:, :, k] += FLOAT32.type(intensity) * (plane + (z - z0) ** 2 / c**2 <= 1)
    if target_max_attenuation is not None:
        longest = max(semi * n for semi, n in zip((0.69, 0.92, 0.9), phantom_shape))
        phantom *= FLOAT32.type(target_max_attenuation / longest / 0.28)
    return phantom


def gen_cube_phantom(recon_shape: Sequence[int], device=None):
    """A leaning bar of a quarter of the width, as float32 (rows, columns, slices). device has no effect."""
    rows, columns, slices = recon_shape[:3]
    height, width = rows // 4, columns // 4
    phantom = numpy.zeros((rows, columns, slices), FLOAT32)
    for k in range(slices):
        shift = int(k * width / slices)
        phantom[(rows - height) // 2:(rows + height) // 2, shift + (columns - width) // 2:shift + (columns + width) // 2, k] = 1.0 / max(height, width)
    return phantom


def gen_dot_phantom(recon_shape: Sequence[int], fill_rate):
    """Random voxels of value 1 in the middle two thirds of the rows."""
    numpy.random.seed(42)
    phantom, size = numpy.zeros(recon_shape, FLOAT32), recon_shape[1] * recon_shape[2]
    for row in range(recon_shape[0] // 6, recon_shape[0] - recon_shape[0] // 6):
        phantom[row].reshape(-1)[numpy.random.choice(size, int(size * fill_rate), replace=False)] = 1.0
    return phantom


def phantom(model: TomographyModel, name: str = "shepp-logan", *, sinogram: Array = False) -> Array:
    """The phantom "shepp-logan" or "two-ellipsoids" sampled at the voxels of a model: float32 (rows, columns, slices).

    sinogram: returns (volume, sinogram) with its exact line integrals, which no projection of voxels has made."""
    x = numpy.empty(tuple(model.get_params("recon_shape")), FLOAT32)
    y = numpy.empty(tuple(model.get_params("sinogram_shape")), FLOAT32) if sinogram else None
    with Call() as call:
        call("phantom", model._plan(call.context).handle, str(name).encode(), header(x), header(y))
    return (x, y) if sinogram else x


def _demo_model(model_type, shape, distances, helix, translations, use_curved_detector):
    start, views = (0 if model_type == "parallel" else -numpy.pi), shape[0]
    angles = numpy.linspace(start, numpy.pi, views, endpoint=False).astype(FLOAT32)
    if model_type == "parallel":
        return ParallelBeamModel(shape, angles), {"angles": angles}
    if model_type == "translation":
        vectors, distance = gen_translation_vectors(*translations), min(shape[1:]) / 2
        return TranslationModel((len(vectors), *shape[1:]), vectors, distance, distance), {"translation_vectors": vectors}
    detector, iso = distances
    params = {"angles": angles, "source_detector_dist": detector, "source_iso_dist": iso, "use_curved_detector": use_curved_detector}
    if helix:
        pitch, reach, center, row_pitch = helix
        turns = reach / (pitch * shape[1] * row_pitch * iso / detector) or 1.0
        params["angles"] = (start + 2 * numpy.pi * turns / views * numpy.arange(views)).astype(FLOAT32)
        params["helical_z_shifts"] = numpy.linspace(center - reach / 2, center + reach / 2, views).astype(FLOAT32)
    return ConeBeamModel(shape, **params), params


def generate_demo_data(object_type="shepp-logan", model_type="cone", num_views=64, num_det_rows=96, delta_det_row=1, num_det_channels=128,
                       delta_det_channel=1, num_x_translations=7, num_z_translations=7, x_spacing=22, z_spacing=22, use_helical=False,
                       helical_pitch=None, helical_z_range=None, helical_z_center=0.0, use_curved_detector: bool = False, voxel_row_aspect=1.0,
                       voxel_slice_aspect=1.0, target_max_attenuation=None, devices=None) -> tuple[numpy.ndarray, numpy.ndarray, dict]:
    """A phantom ("shepp-logan" or "cube"), its sinogram, and a dict of what the constructor of the model takes beside the shape.

    model_type: "parallel", "cone" (a helix with use_helical, helical_pitch and helical_z_range) or "translation"."""
    object_type, model_type = (getattr(value, "value", value) for value in (object_type, model_type))
    if object_type not in ("shepp-logan", "cube") or model_type not in ("parallel", "cone", "translation"):
        raise ValueError(f"object_type is {object_type!r}, model_type is {model_type!r}; expected 'shepp-logan' or 'cube', and 'parallel', "
                         "'cone' or 'translation'")
    helix = None
    if model_type == "cone" and use_helical:
        if helical_pitch is None or helical_z_range is None or helical_pitch <= 0 or helical_z_range < 0:
            raise ValueError("Helical trajectory requires both helical_pitch (positive) and helical_z_range.")
        helix = float(helical_pitch), float(helical_z_range), float(helical_z_center), delta_det_row
    model, params = _demo_model(model_type, (num_views, num_det_rows, num_det_channels), (4 * num_det_channels, 2 * num_det_channels), helix,
                                (num_x_translations, num_z_translations, x_spacing, z_spacing), use_curved_detector)
    if model_type != "translation":
        model.set_params(voxel_row_aspect=voxel_row_aspect, voxel_slice_aspect=voxel_slice_aspect)
        model.auto_set_recon_geometry()
        params.update(voxel_row_aspect=voxel_row_aspect, voxel_slice_aspect=voxel_slice_aspect)
    shape = tuple(model.get_params("recon_shape"))
    first, last = _seen_half_a_turn(model, helical_pitch) if helix else (0, shape[2])
    made = gen_cube_phantom if object_type == "cube" else generate_3d_shepp_logan_low_dynamic_range
    options = {} if object_type == "cube" else {"target_max_attenuation": target_max_attenuation}
    volume = numpy.zeros(shape, FLOAT32)
    volume[:, :, first:last] = made((*shape[:2], last - first), **options)
    return volume, model.forward_project(volume), params


def _seen_half_a_turn(model, pitch):
    """First and last slice, exclusive, that half a turn of a helix sees."""
    slices = model.get_params("recon_shape")[2]
    delta, aspect, offset = model.get_params(["delta_voxel", "voxel_slice_aspect", "recon_slice_offset"])
    z = aspect * delta * (numpy.arange(slices) - (slices - 1) / 2) + offset
    height = model.get_params("sinogram_shape")[1] * model.get_params("delta_det_row") / model.get_magnification()
    shifts, trim = model.get_params("view_params_array")[:, 1], 0.5 * height * max(pitch - 1.0, 0.0)
    seen = numpy.flatnonzero((z >= shifts.min() + trim) & (z <= shifts.max() - trim))
    if not len(seen):
        raise ValueError("No slices are visible for at least half a rotation. Check helical_pitch, helical_z_range and num_views.")
    return int(seen[0]), int(seen[-1]) + 1


# ---- Files and arrays ----

def _h5py():
    try:
        import h5py
    except ImportError:
        raise ImportError("HDF5 files need h5py: pip install h5py") from None
    return h5py


def save_data_hdf5(file_path: Any, array: Array, array_name: str = "array", attributes_dict: Optional[dict] = None):
    """Writes an array and attributes to an HDF5 file of one data set."""
    os.makedirs(os.path.dirname(os.path.abspath(file_path)), exist_ok=True)
    with _h5py().File(file_path, "w") as file:
        data = file.create_dataset(array_name, data=numpy.asarray(array))
        for key, value in (TomographyModel.convert_subdicts_to_strings(attributes_dict) if isinstance(attributes_dict, dict) else {}).items():
            data.attrs[key] = value


def load_data_hdf5(file_path: Any):
    """Returns (array, attributes) of an HDF5 file of one data set."""
    with _h5py().File(file_path, "r") as file:
        names = list(file)
        if len(names) != 1:
            raise ValueError(f"{file_path}: {len(names)} data sets; expected one")
        return file[names[0]][()], dict(file[names[0]].attrs)


def export_recon_hdf5(file_path: Any, recon: Array, recon_dict=None, remove_flash=False, radial_margin=10, top_margin=10, bottom_margin=10):
    """Writes a volume as (slices, columns, rows). remove_flash: zeros near the border of the cylinder and of its ends."""
    volume = numpy.asarray(recon)
    if remove_flash:
        volume = numpy.where(get_2d_ror_mask(volume.shape, crop_radius_pixels=radial_margin)[:, :, None], volume, 0)
        volume[:, :, :top_margin] = 0
        volume[:, :, volume.shape[2] - bottom_margin:] = 0
    save_data_hdf5(file_path, volume.transpose(2, 1, 0), "recon", recon_dict)


def import_recon_hdf5(file_path: Any):
    """Returns (volume, attributes) of what `export_recon_hdf5` wrote, as (rows, columns, slices)."""
    volume, attributes = load_data_hdf5(file_path)
    return volume.transpose(2, 1, 0), attributes


def merge_log_files(merged_path: Any, labeled_paths: Any) -> None:
    """Joins the logs of pairs (label, path) that exist into one file, each below a line with its label, and removes them."""
    found = [(label, path) for label, path in labeled_paths if path is not None and os.path.exists(path)]
    texts = []
    for label, path in found:
        with open(path, encoding="utf-8") as log:
            texts.append(f"======== {label} ========\n{log.read()}")
    if texts:
        with open(merged_path, "w", encoding="utf-8") as merged:
            merged.writelines(texts)
    for _, path in found:
        os.remove(path)


def stitch_arrays(array_list: list, overlap: int, axis: int = 2, ramp_overlap: Optional[int] = None):
    """Joins arrays along an axis where neighbours share `overlap` entries, which fade linearly from one to the other."""
    if not isinstance(array_list, list) or len(array_list) < 2:
        raise ValueError("array_list must be a list of 2 or more arrays.")
    arrays = [numpy.moveaxis(numpy.asarray(array), axis, 0) for array in array_list]
    if len({array.shape[1:] for array in arrays}) > 1 or min(len(array) for array in arrays) < overlap:
        raise ValueError(f"array_list: shapes are {[a.shape for a in array_list]}; expected equal ones but for axis {axis}, of {overlap} or more there")
    ramp = min(overlap // 2 if ramp_overlap is None else ramp_overlap, overlap)
    ramp = max(ramp - (overlap - ramp) % 2, overlap % 2)
    flat = (overlap - ramp) // 2
    weights = numpy.concatenate([numpy.zeros(flat), (numpy.arange(ramp) + 1) / (ramp + 1), numpy.ones(flat)]).astype(FLOAT32)
    weights = weights.reshape(-1, *[1] * (arrays[0].ndim - 1))
    whole = arrays[0]
    for array in arrays[1:]:
        middle = (1 - weights) * whole[len(whole) - overlap:] + weights * array[:overlap]
        whole = numpy.concatenate([whole[:len(whole) - overlap], middle, array[overlap:]])
    return like(array_list[0], numpy.ascontiguousarray(numpy.moveaxis(whole, 0, axis)))
