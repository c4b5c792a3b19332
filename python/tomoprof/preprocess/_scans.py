"""Counts of a scanner, and the sinogram of them."""

from __future__ import annotations

import math
import warnings
from typing import Any, Sequence

import numpy

from tomoprof._arrays import FLOAT32, Array, _of_any, host, like
from tomoprof._calls import SINOGRAM, integer
from tomoprof._functions import step
from tomoprof._parameters import plain


class CropError(ValueError, AssertionError):
    """A crop that leaves nothing. MBIRJAX raises AssertionError there."""


def _views(array, name="sino"):
    """A scan or a sinogram as float32, with one sample or more."""
    views = host(array, name, None, SINOGRAM)
    if not views.size:
        raise ValueError(f"{name}: shape is {views.shape}; expected three sizes of 1 or more")
    return views


def _scans(obj_scan, blank_scan, dark_scan):
    """The three as float32, of one detector."""
    scan = _views(obj_scan, "obj_scan")
    detector = (None, *scan.shape[1:])
    frames = []
    for name, array in (("blank_scan", blank_scan), ("dark_scan", dark_scan)):
        frame = host(array, name)
        if frame.shape[1:] != scan.shape[1:] or not frame.shape[0]:
            raise ValueError(f"{name}: shape is {frame.shape}; expected {detector} like obj_scan of {scan.shape}".replace("None", "frames"))
        frames.append(frame)
    return scan, *frames


def _defects(pixels, detector):
    """(rows, channels) of defective pixels, each on the detector."""
    if pixels is None or len(pixels) == 0:
        return numpy.empty((2, 0), int)
    found = numpy.asarray(_of_any(pixels, "defective_pixel_array"))
    if found.dtype.kind not in "iu":
        raise TypeError(f"defective_pixel_array: dtype is {found.dtype}; expected integers")
    if found.ndim != 2 or found.shape[1] != 2:
        raise ValueError(f"defective_pixel_array: shape is {found.shape}; expected (pixels, 2): (row, channel) each")
    if found.min() < 0 or (found >= detector).any():
        raise ValueError(f"defective_pixel_array: from {found.min(0)} to {found.max(0)}; expected pixels of a detector of {tuple(detector)}")
    return found.T.astype(int)


def _batches(views, batch_size):
    size = integer("batch_size", batch_size, 1)
    return [slice(first, min(first + size, views)) for first in range(0, views, size)]


def _fill(views, passes):
    """Replaces NaN by the mean of the finite ones of its 3 x 3 neighbours, `passes` times, then by 0. Returns how many became 0."""
    view, row, channel = numpy.nonzero(numpy.isnan(views))
    rows, channels = views.shape[1:]
    for _ in range(passes):
        total, count = numpy.zeros(len(view), FLOAT32), numpy.zeros(len(view), FLOAT32)
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                r, c = row + down, channel + right
                near = views[view, r.clip(0, rows - 1), c.clip(0, channels - 1)]
                valid = (r >= 0) & (r < rows) & (c >= 0) & (c < channels) & ~numpy.isnan(near)
                total += numpy.where(valid, near, 0)
                count += valid
        known = count > 0
        views[view[known], row[known], channel[known]] = total[known] / count[known]
        view, row, channel = view[~known], row[~known], channel[~known]
    views[view, row, channel] = 0
    return len(view)


def _warn_of_zeros(count, passes):
    if count:
        warnings.warn(f"{count} samples are more than {passes} pixels away from a finite one: they became 0. A larger num_passes reaches them.",
                      stacklevel=3)


def _transmission(views, blank, dark, rows, channels):
    """-log(|views - dark| / |blank - dark|), with defective and invalid samples filled; and how many became 0."""
    flat = step("correct_flat_field", views, frames=numpy.stack([dark, blank, blank]))
    result = step("minus_log", flat, low=0, high=1e30)      # of 0 and NaN: NaN
    result[:, rows, channels] = numpy.nan
    return result, _fill(result, 3)


def compute_sino_transmission(obj_scan: Array, blank_scan: Array, dark_scan: Array, defective_pixel_array: Array = (), batch_size: int = 90) -> Array:
    """Counts to a sinogram: -log(|obj - dark| / |blank - dark|), with the means of blank and dark.

    obj_scan: (views, detector rows, channels); blank_scan, dark_scan: (frames, detector rows, channels); in the same unit.
    defective_pixel_array: integers (pixels, 2): row and channel of pixels that are bad in all views; () for none.

    These, and samples whose ratio is not positive, become means of their neighbours as by `interpolate_defective_pixels`."""
    return scan_to_sino(obj_scan, blank_scan, dark_scan, defective_pixel_array, batch_size=batch_size)


def interpolate_defective_pixels(sino: Array, defective_pixel_array: Array = (), num_passes: int = 3) -> Array:
    """Replaces samples that are not finite, and defective pixels of all views, by the mean of the finite ones among their 3 x 3 neighbours
    in the view; num_passes times, each one pixel farther into a cluster. What is left becomes 0, with a warning.

    sino: (views, detector rows, channels). defective_pixel_array: integers (pixels, 2): row and channel."""
    result = _views(sino).copy()
    rows, channels = _defects(defective_pixel_array, result.shape[1:])
    passes, zeros = integer("num_passes", num_passes), 0
    for part in _batches(len(result), 90):
        views = result[part]
        views[~numpy.isfinite(views)] = numpy.nan
        views[:, rows, channels] = numpy.nan
        zeros += _fill(views, passes)
    _warn_of_zeros(zeros, passes)
    return like(sino, result)


def _rotated(views, angle):
    result = step("correct_tilt", views, angle=math.degrees(angle))
    rows, channels = views.shape[1:]
    r, c = numpy.arange(rows)[:, None] - (rows - 1) / 2, numpy.arange(channels) - (channels - 1) / 2
    row, channel = math.cos(angle) * r + math.sin(angle) * c, math.cos(angle) * c - math.sin(angle) * r
    result[:, (abs(row) > (rows - 1) / 2) | (abs(channel) > (channels - 1) / 2)] = 0
    return result


def correct_det_rotation(sino: Array, det_rotation: float = 0.0, batch_size: int = 30) -> Array:
    """Turns each view about its middle, bilinear; samples from outside of the detector are 0.

    sino: (views, detector rows, channels). det_rotation: radians between the rotation axis and the columns of the
    detector, from -pi/4 to pi/4."""
    source, angle = _views(sino), _angle(det_rotation)
    result = numpy.empty(source.shape, FLOAT32)
    for part in _batches(len(source), batch_size):
        result[part] = _rotated(source[part], angle)
    return like(sino, result)


def _angle(angle):
    angle = plain(angle)
    if isinstance(angle, bool) or not isinstance(angle, (int, float)):
        raise TypeError(f"det_rotation is {angle!r}; expected a number")
    if not abs(angle) <= math.pi / 4:
        raise ValueError(f"det_rotation is {angle!r}; expected radians from -pi/4 to pi/4")
    return angle


def _factors(downsample_factor):
    factors = tuple(plain(f) for f in downsample_factor)
    if len(factors) != 2:
        raise ValueError(f"downsample_factor is {downsample_factor!r}; expected two integers: of rows and of channels")
    return tuple(integer("downsample_factor", f, 1) for f in factors)


def _means_of_blocks(views, factors, rows, channels):
    """The mean of the finite samples of each block, without defective pixels; NaN where there is none. Rests at the far edges go."""
    if len(rows):
        views = views.copy()
        views[:, rows, channels] = numpy.nan
    shape = [n // f for n, f in zip(views.shape[1:], factors)]
    if 0 in shape:
        raise ValueError(f"downsample_factor is {factors}; expected at most the detector's {views.shape[1:]}")
    blocks = views[:, :shape[0] * factors[0], :shape[1] * factors[1]].reshape(len(views), shape[0], factors[0], shape[1], factors[1])
    valid = ~numpy.isnan(blocks)
    with numpy.errstate(invalid="ignore"):
        return numpy.where(valid, blocks, 0).sum((2, 4), FLOAT32) / valid.sum((2, 4), dtype=FLOAT32)


def _smaller_frames(blank, dark, factors, rows, channels):
    """blank, dark and the pixels (n, 2) whose whole block is defective."""
    blank, dark = (_means_of_blocks(frames, factors, rows, channels) for frames in (blank, dark))
    return blank, dark, numpy.argwhere(numpy.isnan(blank).any(0))


def downsample_view_data(obj_scan: Array, blank_scan: Array, dark_scan: Array, downsample_factor: Sequence[int], defective_pixel_array: Array = (),
                         batch_size: int = 90) -> tuple:
    """Makes scans smaller by means over blocks of the detector: downsample_factor is (rows, channels) of a block.

    Shapes are those of `compute_sino_transmission`. Rows and channels at the far edges that fill no block are left out; defective pixels and NaN
    do not count. Returns (obj_scan, blank_scan, dark_scan, defective_pixel_array): the last has the blocks without a good pixel, () for none."""
    scan, blank, dark = _scans(obj_scan, blank_scan, dark_scan)
    rows, channels = _defects(defective_pixel_array, scan.shape[1:])
    factors = _factors(downsample_factor)
    blank, dark, bad = _smaller_frames(blank, dark, factors, rows, channels)
    result = numpy.empty((len(scan), *blank.shape[1:]), FLOAT32)
    for part in _batches(len(scan), batch_size):
        result[part] = _means_of_blocks(scan[part], factors, rows, channels)
    return like(obj_scan, result), like(blank_scan, blank), like(dark_scan, dark), bad if len(bad) else ()


def scan_to_sino(obj_scan: Array, blank_scan: Array, dark_scan: Array, defective_pixel_array: Array = (), downsample_factor: Sequence[int] = (1, 1),
                 det_rotation: float = 0.0, batch_size: int = 90, devices: Any = None) -> Array:
    """Counts to a sinogram in one pass over the views: `downsample_view_data`, `compute_sino_transmission`, `correct_det_rotation`.

    Shapes and units are theirs; downsample_factor (1, 1) and det_rotation 0 leave a step out. devices has no effect."""
    scan, blank, dark = _scans(obj_scan, blank_scan, dark_scan)
    bad, factors, angle = _defects(defective_pixel_array, scan.shape[1:]), _factors(downsample_factor), _angle(det_rotation)
    small, smaller = bad, factors != (1, 1)
    if smaller:
        blank, dark, pixels = _smaller_frames(blank, dark, factors, *bad)
        small = pixels.T
    blank, dark = blank.mean(0), dark.mean(0)
    result = numpy.empty((len(scan), *blank.shape), FLOAT32)
    zeros = 0
    for part in _batches(len(scan), batch_size):
        views = _means_of_blocks(scan[part], factors, *bad) if smaller else scan[part]
        views, count = _transmission(views, blank, dark, *small)
        zeros += count
        result[part] = _rotated(views, angle) if angle else views
    _warn_of_zeros(zeros, 3)
    return like(obj_scan, result)


def crop_view_data(obj_scan: Array, blank_scan: Array, dark_scan: Array, crop_pixels_sides: int = 0, crop_pixels_top: int = 0, crop_pixels_bottom: int = 0,
                   defective_pixel_array: Array = ()) -> tuple:
    """Cuts rows off at the top and the bottom of the detector, and as many channels left as right. Nothing is copied, types stay.

    Shapes are those of `compute_sino_transmission`. Returns (obj_scan, blank_scan, dark_scan, defective_pixel_array): the last counts in the new
    rows and channels, without the pixels that were cut off."""
    arrays = [array if hasattr(array, "shape") else numpy.asarray(array) for array in (obj_scan, blank_scan, dark_scan)]
    shapes = [tuple(array.shape) for array in arrays]
    if any(len(shape) != 3 or shape[1:] != shapes[0][1:] for shape in shapes):
        raise ValueError(f"obj_scan, blank_scan and dark_scan: shapes are {', '.join(map(str, shapes))}; expected three axes and one detector")
    rows, channels = shapes[0][1:]
    sides, top, bottom = (_crop(name, value) for name, value in (("crop_pixels_sides", crop_pixels_sides), ("crop_pixels_top", crop_pixels_top),
                                                                 ("crop_pixels_bottom", crop_pixels_bottom)))
    if sides >= channels // 2 or top + bottom >= rows:
        raise CropError(f"a crop by {top} + {bottom} rows and 2 x {sides} channels; expected less than the detector of {(rows, channels)}")
    bad = defective_pixel_array
    if bad is not None and len(bad):
        r, c = _defects(bad, (rows, channels))
        inside = (r >= top) & (r < rows - bottom) & (c >= sides) & (c < channels - sides)
        bad = numpy.stack([r[inside] - top, c[inside] - sides], 1)
    return *(array[:, top:rows - bottom, sides:channels - sides] for array in arrays), bad


def _crop(name, value):
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}; expected an integer")
    if value < 0:
        raise CropError(f"{name} is {value}; expected 0 or more")
    return value
