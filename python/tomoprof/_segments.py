"""Parts of a volume by thresholds; functions of tomoprof.preprocess."""

from __future__ import annotations

import math
from typing import Optional

import numpy

from tomoprof._arrays import FLOAT32, Array, _of_any, host, like
from tomoprof._calls import VOLUME, integer, number


def apply_cylindrical_mask(recon: Array, radial_margin: float = 0, top_margin: int = 0, bottom_margin: int = 0,
                           num_real_slices: Optional[int] = None) -> Array:
    """Zeros outside of a cylinder of the half width minus radial_margin pixels, and in the first top_margin and last bottom_margin slices.

    recon: (rows, columns, slices). num_real_slices: where the last slice is; None: at the end."""
    x = host(recon, "recon", None, VOLUME)
    rows, columns, slices = x.shape
    top, bottom = integer("top_margin", top_margin), integer("bottom_margin", bottom_margin)
    end = slices if num_real_slices is None else integer("num_real_slices", num_real_slices)
    radius = max(rows - 1, columns - 1) / 2 - number("radial_margin", radial_margin)
    squares = (numpy.arange(rows)[:, None] - (rows - 1) / 2) ** 2 + (numpy.arange(columns) - (columns - 1) / 2) ** 2
    result = numpy.where(((radius >= 0) & (squares <= radius ** 2))[:, :, None], x, FLOAT32.type(0))
    result[:, :, :top] = 0
    result[:, :, max(end - bottom, 0):end] = 0
    return like(recon, result)


def compute_scaling_factor(target_vect: Array, vect_to_scale: Array) -> float:
    """The factor a that makes target_vect - a * vect_to_scale least in l2; nearly 0 for a vect_to_scale of zeros. Arrays of one shape."""
    target, scaled = (numpy.asarray(_of_any(array, name), float) for array, name in ((target_vect, "target_vect"), (vect_to_scale, "vect_to_scale")))
    if target.shape != scaled.shape:
        raise ValueError(f"vect_to_scale: shape is {scaled.shape}; expected {target.shape}, that of target_vect")
    return float(numpy.vdot(scaled, target) / (numpy.vdot(scaled, scaled) + 1e-8))


def multi_threshold_otsu(image: Array, classes: int = 2, num_bins: int = 1024, valid_mask: Array = None) -> list:
    """classes - 1 ascending thresholds that part values into classes of least variance within, from a histogram of num_bins: Otsu's method, exact.

    image: numbers of any shape. valid_mask: booleans that broadcast to it, True where a value counts."""
    classes, bins = integer("classes", classes, 2), integer("num_bins", num_bins, 2)
    if bins < classes:
        raise ValueError(f"num_bins is {bins}; expected at least classes, {classes}")
    values = _of_any(image, "image")
    if values.dtype.kind not in "fiub":
        raise TypeError(f"image: dtype is {values.dtype}; expected real numbers")
    if valid_mask is not None:
        values = values[numpy.broadcast_to(_of_any(valid_mask, "valid_mask").astype(bool), values.shape)]
    if not values.size or not numpy.isfinite(values).all():
        raise ValueError("image: expected finite values")
    counts, edges = numpy.histogram(values, bins=bins, range=(float(values.min()), float(values.max())))
    weight, moment = (numpy.concatenate(([0.0], numpy.cumsum(counts * c))) for c in (1.0, numpy.arange(bins) - (bins - 1) / 2))
    # The variance within classes is least where the sum of moment^2 / weight over them is largest. gain[a, b]: of a class of bins a to b - 1.
    inside = weight - weight[:, None]
    gain = numpy.divide((moment - moment[:, None]) ** 2, inside, out=numpy.zeros_like(inside), where=inside > 0)
    gain[numpy.tril_indices(bins + 1)] = -numpy.inf
    best, firsts = gain[0], []
    for _ in range(classes - 1):
        total = best[:, None] + gain
        firsts.append(total.argmax(0))
        best = total.max(0)
    at, thresholds = bins, []
    for first in reversed(firsts):
        at = int(first[at])
        thresholds.append(edges[at])
    return thresholds[::-1]


def segment_plastic_metal(recon: Array, num_metal: int, radial_margin: Optional[int] = None, top_margin: Optional[int] = None,
                          bottom_margin: Optional[int] = None, valid_mask: Array = None, num_real_slices: Optional[int] = None) -> tuple:
    """Parts a volume (rows, columns, slices) into air, plastic and num_metal metals by Otsu's thresholds, inside of `apply_cylindrical_mask`.

    Margins None: a 25th of the size, from 2 to 10. Returns (plastic mask, list of metal masks, plastic scale, list of metal scales): masks of 0 and 1,
    scales by `compute_scaling_factor`."""
    metals, shape = integer("num_metal", num_metal, 1), tuple(recon.shape)
    slices = shape[2] if num_real_slices is None else num_real_slices
    radial, top, bottom = (max(2, min(10, size // 25)) if margin is None else margin
                           for margin, size in ((radial_margin, min(shape[:2])), (top_margin, slices), (bottom_margin, slices)))
    x = apply_cylindrical_mask(host(recon, "recon", None, VOLUME), radial, top, bottom, num_real_slices)
    valid = True if valid_mask is None else _of_any(valid_mask, "valid_mask").astype(bool)
    bounds = [*multi_threshold_otsu(x, metals + 2, valid_mask=valid_mask), math.inf]
    masks = [((x > low) & (x <= high) & valid).astype(FLOAT32) for low, high in zip(bounds, bounds[1:])]
    scales = [compute_scaling_factor(x, mask) for mask in masks]
    masks = [like(recon, mask) for mask in masks]
    return masks[0], masks[1:], scales[0], scales[1:]
