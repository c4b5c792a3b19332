"""Corrections of a sinogram."""

from __future__ import annotations

import math
import warnings
from typing import Any, Optional, Sequence

import numpy

from tomoprof._arrays import FLOAT32, Array, like
from tomoprof._calls import integer, number
from tomoprof._functions import step
from tomoprof._model import TomographyModel
from tomoprof._parameters import plain
from tomoprof.preprocess._scans import _batches, _fill, _views, _warn_of_zeros

BINS = 400  # of the histogram in which the background is looked for


def correct_background_offset(sino: Array, edge_width: int = 9, option: Optional[str] = "global") -> Array:
    """Subtracts the background, the median of the medians of edge_width samples left, right and at the top of each view.

    sino: (views, detector rows, channels). option: "per_view"; "global": the 10th percentile over the views from all; None: nothing."""
    if option not in (None, "global", "per_view"):
        raise ValueError(f"option is {option!r}; expected None, 'global' or 'per_view'")
    if option is None:
        return sino
    width, y = integer("edge_width", edge_width, -1 << 31), _views(sino)
    if width < 1:
        warnings.warn(f"edge_width is {width}; taken as 1", stacklevel=2)
        width = 1
    edges = (y[:, :, :width], y[:, :, max(y.shape[2] - width, 0):], y[:, :width])
    offsets = numpy.median([numpy.median(edge.reshape(len(y), -1), axis=1) for edge in edges], axis=0)
    if option == "global":
        offsets = numpy.full(len(y), numpy.percentile(offsets, 10))
    return like(sino, y - offsets.astype(FLOAT32)[:, None, None])


def remove_sino_offset(sino: Array) -> Array:
    """Makes the mean over the channels of each detector row equal to its least one of all views: takes away what lies outside of the field of view.

    sino: (views, detector rows, channels)."""
    y = _views(sino)
    means = y.mean(2, dtype=float)
    return like(sino, y - (means - means.min(0)).astype(FLOAT32)[:, :, None])


def background_boundaries(values: numpy.ndarray) -> tuple[float, float]:
    """The two values where the peak of the histogram that is nearest to 0 falls below a tenth of its height."""
    counts, edges = numpy.histogram(values, bins=BINS)
    centers = (edges[:-1] + edges[1:]) / 2
    peaks = [i for i in range(BINS - 1) if counts[i] > counts[i + 1] and (i == 0 or counts[i] >= counts[i - 1])]
    left = right = peak = min(peaks or range(BINS), key=lambda i: abs(centers[i]))
    while left > 0 and counts[left] > 0.1 * counts[peak]:
        left -= 1
    while right < BINS - 1 and counts[right] > 0.1 * counts[peak]:
        right += 1
    return centers[left], centers[right]


def _support_level(values):
    """The least value of a sample that belongs to the object: a quarter of the median above the background's peak. None without a background."""
    left, right = background_boundaries(values)
    above = right + (right - left)
    if values.max() <= 0 or values.max() < above:
        warnings.warn("The sinogram has no positive values." if values.max() <= 0 else "The sinogram's background was not found.", stacklevel=4)
        return None
    return 0.25 * numpy.median(values[values >= above])


def _sample(sino, most):
    return TomographyModel.subsample_views(_views(sino), integer("max_views_to_use", most, 1))


def correct_zinger_pixels(sino: Array, zinger_pixel_ratio: float = 0.1, num_passes: int = 3, batch_size: int = 90, devices: Any = None,
                          max_views_to_use: int = 20) -> Array:
    """Replaces samples below -zinger_pixel_ratio times the root mean square of the object, and those that are not finite, by their neighbours as
    `interpolate_defective_pixels` does. The background must be 0 before: `correct_background_offset`.

    sino: (views, detector rows, channels). The mean square comes from about max_views_to_use views."""
    ratio, passes = number("zinger_pixel_ratio", zinger_pixel_ratio), integer("num_passes", num_passes)
    result = _views(sino).copy()
    values = _sample(result, max_views_to_use)
    values = values[numpy.isfinite(values)]
    if not values.size:
        raise ValueError("sino: no finite samples in the views that were looked at")
    level = _support_level(values)
    least = -ratio * math.sqrt(numpy.mean(numpy.square(values if level is None else values[values >= level], dtype=float)))
    zeros = 0
    for part in _batches(len(result), batch_size):
        views = result[part]
        views[~(numpy.isfinite(views) & (views >= FLOAT32.type(least)))] = numpy.nan
        zeros += _fill(views, passes)
    _warn_of_zeros(zeros, passes)
    return like(sino, result)


def BH_correction(sino: Array, alpha: Sequence[float], batch_size: int = 64, devices: Any = None) -> Array:
    """Beam hardening by a polynomial without a constant: alpha[0] y + alpha[1] y^2 + ...

    sino: (views, detector rows, channels). alpha: 1 to 6 numbers. batch_size has no effect."""
    numbers = [float(plain(a)) for a in alpha]
    if not 1 <= len(numbers) <= 6:
        raise ValueError(f"alpha has {len(numbers)} numbers; expected 1 to 6")
    return like(sino, step("correct_hardening", _views(sino), coefficients=numbers))
