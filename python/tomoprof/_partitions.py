"""Regions of reconstruction, and their partitions into subsets of pixels, by MBIRJAX's names."""

from __future__ import annotations

import ctypes
import warnings
from typing import Any, Sequence

import numpy

from tomoprof._calls import Call, integer
from tomoprof._random import random_seed


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
    num_subsets = integer("num_subsets", num_subsets, 1)
    if num_subsets > len(pixels):
        num_subsets = len(pixels)
        warnings.warn("The number of partition subsets is greater than the number of pixels in the region of reconstruction. "
                      "Reducing the number of subsets to equal the number of indices.", stacklevel=2)
    if num_subsets == 1:
        return pixels.reshape(1, -1)
    length = -(-len(pixels) // num_subsets) if num_subsets else 0
    extra = num_subsets * length - len(pixels)
    pixels = numpy.random.permutation(pixels)
    for others in num_subsets - 1, len(pixels) // length if length else 0:  # MBIRJAX's choice; then of the full rows alone
        again = numpy.random.choice(pixels[:others * length], size=extra, replace=False)
        rows = numpy.sort(numpy.concatenate((pixels, again)).reshape(num_subsets, length), axis=1).astype(numpy.int32)
        if (numpy.diff(rows, axis=1) > 0).all():  # else a subset has a pixel twice, which iterations refuse
            break
    return rows


def gen_set_of_pixel_partitions(recon_shape: Sequence[int], granularity: Sequence[int], output_device=None, use_ror_mask: Any = True):
    """A list of `gen_pixel_partition` for each number of subsets in `granularity`. output_device has no effect."""
    return [gen_pixel_partition(recon_shape, subsets, use_ror_mask) for subsets in granularity]


def gen_full_indices(recon_shape: Sequence[int], use_ror_mask: Any = True) -> numpy.ndarray:
    """All pixel indices of the region of reconstruction, ascending."""
    return numpy.flatnonzero(get_2d_ror_mask(recon_shape, use_ror_mask=use_ror_mask)).astype(numpy.int32)


def gen_pixel_partition_grid(recon_shape: Sequence[int], num_subsets: int, use_ror_mask: Any = True):
    """Parts the pixels by their place in a square tile that repeats. Returns int32 (subsets, pixels)."""
    return _library_partition("grid", recon_shape, num_subsets, use_ror_mask)


def gen_pixel_partition_blue_noise(recon_shape: Sequence[int], num_subsets: int, use_ror_mask: Any = True):
    """Parts the pixels by a tile of blue noise that repeats. Returns int32 (subsets, pixels)."""
    return _library_partition("blue_noise", recon_shape, num_subsets, use_ror_mask)


def _library_partition(method, recon_shape, subsets, mask):
    if not isinstance(mask, bool):
        raise NotImplementedError("use_ror_mask: this partition takes True or False")
    from tomoprof._geometries import ParallelBeamModel
    rows, columns = recon_shape[:2]
    model = ParallelBeamModel((1, 1, columns), [0.0])
    model.set_params(recon_shape=(rows, columns, 1), use_ror_mask=mask)
    count, length, seed = ctypes.c_int64(integer("num_subsets", subsets, 1)), ctypes.c_int64(), random_seed()
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
