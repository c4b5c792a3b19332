"""From the counts of a scanner to a sinogram: names, arguments, defaults and results of mbirjax.preprocess 0.7.3.

    from tomoprof import preprocess
    sinogram = preprocess.scan_to_sino(counts, blank, dark)

Scans and sinograms are (views, detector rows, channels); blank are frames without the object, dark frames without beam. Results are float32
in the library of the input (NumPy, PyTorch on the CPU or JAX), inputs stay as they are. batch_size: so many views are computed at once, which
bounds the memory beside input and result. devices: has no effect."""

from __future__ import annotations

import glob
import json
import math
import os
import warnings
from typing import Any, Optional, Sequence

import numpy

from tomoprof._arrays import FLOAT32, Array, _of_any, host, like
from tomoprof._functions import _h5py, build_model, step
from tomoprof._hardening import (apply_beam_hardening_curve, apply_inverse_beam_hardening_curve, fit_beam_hardening_curve,
                                 fit_inverse_beam_hardening_curve)
from tomoprof._model import SINOGRAM, TomographyModel, _integer, _number
from tomoprof._parameters import plain
from tomoprof._segments import apply_cylindrical_mask, compute_scaling_factor, multi_threshold_otsu, segment_plastic_metal

__all__ = ["BH_correction", "apply_beam_hardening_curve", "apply_config_crop", "apply_cylindrical_mask", "apply_detector_crop",
           "apply_inverse_beam_hardening_curve", "auto_crop_sino", "compute_scaling_factor", "compute_sino_transmission", "correct_background_offset",
           "correct_det_rotation", "correct_zinger_pixels", "crop_view_data", "detect_blank_margins", "downsample_view_data", "finalize_model",
           "fit_beam_hardening_curve", "fit_inverse_beam_hardening_curve", "interpolate_defective_pixels", "load_cone_preprocessing",
           "multi_threshold_otsu", "project_vector_to_vector", "put_in_slice", "read_tif_img", "read_tif_stack_dir", "remove_sino_offset",
           "save_cone_preprocessing", "scan_to_sino", "segment_plastic_metal", "to_alu", "unit_vector"]

MICROMETRES = {"um": 1.0, "mm": 1e3, "cm": 1e4, "m": 1e6}
BINS = 400                # of the histogram in which the background is looked for
PREPROCESSING_FILE = "mbirjax_preprocessing_v1"


class CropError(ValueError, AssertionError):
    """A crop that leaves nothing. MBIRJAX raises AssertionError there."""


# ---- Scans to sinograms ----

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
    size = _integer("batch_size", batch_size, 1)
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
    passes, zeros = _integer("num_passes", num_passes), 0
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
    return tuple(_integer("downsample_factor", f, 1) for f in factors)


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


# ---- Corrections of a sinogram ----

def correct_background_offset(sino: Array, edge_width: int = 9, option: Optional[str] = "global") -> Array:
    """Subtracts the background, the median of the medians of edge_width samples left, right and at the top of each view.

    sino: (views, detector rows, channels). option: "per_view"; "global": the 10th percentile over the views from all; None: nothing."""
    if option not in (None, "global", "per_view"):
        raise ValueError(f"option is {option!r}; expected None, 'global' or 'per_view'")
    if option is None:
        return sino
    width, y = _integer("edge_width", edge_width, -1 << 31), _views(sino)
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


def _support_level(values):
    """From what value on a sample belongs to the object: a quarter of the median above the background's peak. None where there is no background."""
    counts, edges = numpy.histogram(values, bins=BINS)
    centers = (edges[:-1] + edges[1:]) / 2
    peaks = [i for i in range(BINS - 1) if counts[i] > counts[i + 1] and (i == 0 or counts[i] >= counts[i - 1])]
    peak = min(peaks or range(BINS), key=lambda i: abs(centers[i]))
    left = right = peak
    while left > 0 and counts[left] > 0.1 * counts[peak]:
        left -= 1
    while right < BINS - 1 and counts[right] > 0.1 * counts[peak]:
        right += 1
    above = centers[right] + (centers[right] - centers[left])
    if values.max() <= 0 or values.max() < above:
        warnings.warn("The sinogram has no positive values." if values.max() <= 0 else "The sinogram's background was not found.", stacklevel=4)
        return None
    return 0.25 * numpy.median(values[values >= above])


def _sample(sino, most):
    return TomographyModel.subsample_views(_views(sino), _integer("max_views_to_use", most, 1))


def correct_zinger_pixels(sino: Array, zinger_pixel_ratio: float = 0.1, num_passes: int = 3, batch_size: int = 90, devices: Any = None,
                          max_views_to_use: int = 20) -> Array:
    """Replaces samples below -zinger_pixel_ratio times the root mean square of the object, and those that are not finite, by their neighbours as
    `interpolate_defective_pixels` does. The background must be 0 before: `correct_background_offset`.

    sino: (views, detector rows, channels). The mean square comes from about max_views_to_use views."""
    ratio, passes = _number("zinger_pixel_ratio", zinger_pixel_ratio), _integer("num_passes", num_passes)
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


# ---- Crops with their geometry ----

def detect_blank_margins(sino: Array, safety_buffer: int = 20, max_views_to_use: int = 20) -> tuple[int, int, int, int]:
    """Finds how much of the detector no ray through the object meets: rows at the (top, bottom), channels (left, right).

    sino: (views, detector rows, channels), of which about max_views_to_use views are looked at. safety_buffer: so many pixels stay on each side."""
    views, margin = _sample(sino, max_views_to_use), _integer("safety_buffer", safety_buffer)
    if not numpy.isfinite(views).all():
        raise ValueError("sino contains NaN and/or Inf values.")
    level = _support_level(views.ravel())
    union = numpy.any(views >= (-math.inf if level is None else level), axis=0)
    rows, columns = numpy.any(union, axis=1), numpy.any(union, axis=0)
    top, bottom, left, right = (max(int(numpy.argmax(line)) - margin, 0) for line in (rows, rows[::-1], columns, columns[::-1]))
    return top, bottom, left, right


def apply_detector_crop(required_params: dict, optional_params: dict, crop_top: int, crop_bottom: int, crop_left: int, crop_right: int) -> tuple[dict, dict]:
    """The parameters of a model whose detector is cut by rows and channels: sinogram_shape, and det_row_offset and det_channel_offset (ALU) where
    they are given. Returns new dicts (required_params, optional_params), as `get_all_params` orders them."""
    views, rows, channels = required_params["sinogram_shape"]
    top, bottom, left, right = (_crop(name, value) for name, value in (("crop_top", crop_top), ("crop_bottom", crop_bottom), ("crop_left", crop_left),
                                                                       ("crop_right", crop_right)))
    if top + bottom >= rows or left + right >= channels:
        raise CropError(f"a crop by {top} + {bottom} rows and {left} + {right} channels; expected less than the detector of {(rows, channels)}")
    required, optional = dict(required_params), dict(optional_params)
    required["sinogram_shape"] = (int(views), int(rows - top - bottom), int(channels - left - right))
    for name, pitch, moved in (("det_row_offset", "delta_det_row", bottom - top), ("det_channel_offset", "delta_det_channel", right - left)):
        if name in optional:
            optional[name] = optional[name] + moved / 2 * optional.get(pitch, 1.0)
    return required, optional


def apply_config_crop(num_det_rows: int, num_det_channels: int, det_row_offset: float, det_channel_offset: float, delta_det_row: float,
                      delta_det_channel: float, *, crop_pixels_top: int, crop_pixels_bottom: int, crop_pixels_sides: int) -> tuple:
    """The same on numbers, as many channels left as right. Returns (num_det_rows, num_det_channels, det_row_offset, det_channel_offset)."""
    required, optional = apply_detector_crop(
        {"sinogram_shape": (0, num_det_rows, num_det_channels)},
        {"det_row_offset": det_row_offset, "det_channel_offset": det_channel_offset, "delta_det_row": delta_det_row, "delta_det_channel": delta_det_channel},
        crop_pixels_top, crop_pixels_bottom, crop_pixels_sides, crop_pixels_sides)
    return *required["sinogram_shape"][1:], optional["det_row_offset"], optional["det_channel_offset"]


def auto_crop_sino(sino: Array, required_params: dict, optional_params: dict, safety_buffer: int = 20) -> tuple:
    """Cuts the margins off that `detect_blank_margins` finds. Returns (sino, required_params, optional_params)."""
    top, bottom, left, right = detect_blank_margins(sino, safety_buffer)
    params = apply_detector_crop(required_params, optional_params, top, bottom, left, right)
    return sino[:, top:sino.shape[1] - bottom, left:sino.shape[2] - right], *params


def finalize_model(sino: Array, required_params: dict, optional_params: dict, *, auto_crop: bool = False, safety_buffer: int = 20) -> tuple:
    """Makes the model of these parameters, after `auto_crop_sino` if wanted. required_params has geometry_type. Returns (sino, model)."""
    if auto_crop:
        sino, required_params, optional_params = auto_crop_sino(sino, required_params, optional_params, safety_buffer)
    return sino, build_model(required_params, optional_params)


def to_alu(value: Any, from_unit: str, alu_unit: str) -> Any:
    """A length, or an array of lengths, in "um", "mm", "cm" or "m" as lengths in alu_unit, one of the same."""
    for name, unit in (("from_unit", from_unit), ("alu_unit", alu_unit)):
        if unit not in MICROMETRES:
            raise ValueError(f"{name} is {unit!r}; expected one of {', '.join(MICROMETRES)}")
    return value * MICROMETRES[from_unit] / MICROMETRES[alu_unit]


# ---- Files ----

def _tifffile():
    try:
        import tifffile
    except ImportError:
        raise ImportError("TIFF files need tifffile: pip install tifffile; `tomoprof recon --in FOLDER` reads them without") from None
    return tifffile


def _unit(image):
    """As float32; integers over the largest of their type."""
    return image.astype(FLOAT32) / FLOAT32.type(numpy.iinfo(image.dtype).max) if image.dtype.kind in "iu" else image.astype(FLOAT32)


def read_tif_img(img_path: Any) -> numpy.ndarray:
    """Reads a TIFF file as float32; integers over the largest of their type. The shape is the file's."""
    return _unit(_tifffile().imread(img_path))


def read_tif_stack_dir(scan_dir: Any, view_ids: Any = None) -> numpy.ndarray:
    """Reads a folder of TIFF files whose names end in a digit, in the order of their names, as `read_tif_img` does.

    view_ids: the numbers of those to read, from 0; None: all. Returns (views, detector rows, channels)."""
    names = next((found for ending in ("tif", "tiff") if (found := sorted(glob.glob(os.path.join(glob.escape(scan_dir), f"*[0-9].{ending}"))))), [])
    if not names:
        raise FileNotFoundError(f"{scan_dir}: no files *[0-9].tif or *[0-9].tiff")
    numbers = range(len(names)) if view_ids is None else [int(i) for i in view_ids]
    if any(not 0 <= i < len(names) for i in numbers):
        raise FileNotFoundError(f"view_ids: from {min(numbers)} to {max(numbers)}, but {scan_dir} has {len(names)} views")
    return _unit(numpy.stack([_tifffile().imread(names[i]) for i in numbers]))


def save_cone_preprocessing(file_path: Any, sinogram: Array, cone_beam_params: dict, optional_params: dict, weights: Array = None) -> None:
    """Writes a sinogram, the parameters of its model and weights (or None) to an HDF5 file that MBIRJAX reads too.

    The two dicts are those of `get_all_params`; arrays in them become data sets."""
    os.makedirs(os.path.dirname(os.path.abspath(file_path)), exist_ok=True)
    words: dict[str, dict] = {"cone_beam_params": {}, "optional_params": {}}
    with _h5py().File(file_path, "w") as file:
        for name, array in (("sinogram", sinogram), ("weights", weights)):
            if array is not None:
                file.create_dataset(name, data=host(array, name, None, SINOGRAM))
        for part, params in (("cone_beam_params", cone_beam_params), ("optional_params", optional_params)):
            for key, value in params.items():
                if getattr(value, "ndim", 0):
                    file.create_dataset(f"{part}__{key}", data=_of_any(value, key))
                else:
                    words[part][key] = plain(value)
        file.attrs["params"], file.attrs["format"] = json.dumps(words), PREPROCESSING_FILE


def load_cone_preprocessing(file_path: Any) -> tuple:
    """Reads what `save_cone_preprocessing` or MBIRJAX wrote: (sinogram, cone_beam_params, optional_params, weights or None)."""
    with _h5py().File(file_path, "r") as file:
        if "sinogram" not in file or "params" not in file.attrs:
            raise ValueError(f"{file_path}: no sinogram with parameters that save_cone_preprocessing wrote")
        arrays = {name: file[name][()] for name in file}
        words = json.loads(file.attrs["params"])
    parts = []
    for part in ("cone_beam_params", "optional_params"):
        of_arrays = {name[len(part) + 2:]: array for name, array in arrays.items() if name.startswith(part + "__")}
        parts.append({**words.get(part, {}), **of_arrays})
    if "sinogram_shape" in parts[0]:
        parts[0]["sinogram_shape"] = tuple(int(n) for n in parts[0]["sinogram_shape"])
    return arrays["sinogram"], *parts, arrays.get("weights")


# ---- Small parts ----

def put_in_slice(array: Array, flat_indices: Array, value: Any) -> Array:
    """A copy of (views, detector rows, channels) with `value` at flat_indices, row * channels + channel, of all views."""
    result = host(array, "array").copy()
    result.reshape(len(result), -1)[:, numpy.asarray(flat_indices)] = value
    return like(array, result)


def unit_vector(v: Any) -> numpy.ndarray:
    """The vector over its length."""
    return numpy.asarray(v) / numpy.linalg.norm(v)


def project_vector_to_vector(u1: Any, u2: Any) -> numpy.ndarray:
    """The part of u1 along u2."""
    along = unit_vector(u2)
    return numpy.dot(u1, along) * along
