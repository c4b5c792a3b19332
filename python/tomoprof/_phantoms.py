"""Phantoms, and demonstration data made of them."""

from __future__ import annotations

from typing import Sequence

import numpy

from tomoprof._arrays import FLOAT32, Array, require_model
from tomoprof._calls import Call, header
from tomoprof._geometries import ConeBeamModel, ParallelBeamModel, TranslationModel
from tomoprof._model import TomographyModel
from tomoprof._models import gen_translation_vectors

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
    phantom = numpy.zeros((rows, columns, slices), FLOAT32)
    x = numpy.linspace(-1, 1, rows, dtype=FLOAT32)[:, None]
    y = numpy.linspace(-1, 1, columns, dtype=FLOAT32)[None, :]
    depth = numpy.linspace(-1, 1, slices, dtype=FLOAT32)
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
        phantom[(rows - height) // 2:(rows + height) // 2, shift + (columns - width) // 2:shift + (columns + width) // 2, k] = 1.0 / max(height, width, 1)
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
    require_model(model)
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
    if model.get_params("recon_shape") is None:
        raise ValueError(f"{num_x_translations} x {num_z_translations} translations, {x_spacing} and {z_spacing} apart, see no volume with a detector of "
                         f"{num_det_rows} x {num_det_channels}; expected a larger detector or smaller steps")
    shape = tuple(model.get_params("recon_shape"))
    first, last = _seen_half_a_turn(model, helical_pitch, params["helical_z_shifts"]) if helix else (0, shape[2])
    made = gen_cube_phantom if object_type == "cube" else generate_3d_shepp_logan_low_dynamic_range
    options = {} if object_type == "cube" else {"target_max_attenuation": target_max_attenuation}
    volume = numpy.zeros(shape, FLOAT32)
    volume[:, :, first:last] = made((*shape[:2], last - first), **options)
    return volume, model.forward_project(volume), params


def _seen_half_a_turn(model, pitch, shifts):
    """First and last slice, exclusive, that half a turn of a helix sees."""
    slices = model.get_params("recon_shape")[2]
    delta, aspect, offset = model.get_params(["delta_voxel", "voxel_slice_aspect", "recon_slice_offset"])
    z = aspect * delta * (numpy.arange(slices) - (slices - 1) / 2) + offset
    height = model.get_params("sinogram_shape")[1] * model.get_params("delta_det_row") / model.get_magnification()
    trim = 0.5 * height * max(pitch - 1.0, 0.0)
    seen = numpy.flatnonzero((z >= shifts.min() + trim) & (z <= shifts.max() - trim))
    if not len(seen):
        raise ValueError("No slices are visible for at least half a rotation. Check helical_pitch, helical_z_range and num_views.")
    return int(seen[0]), int(seen[-1]) + 1
