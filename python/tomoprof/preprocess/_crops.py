"""Crops of the detector with the geometry that follows from them."""

from __future__ import annotations

import math
from typing import Any

import numpy

from tomoprof._arrays import Array
from tomoprof._calls import integer
from tomoprof._models import build_model
from tomoprof.preprocess._corrections import _sample, _support_level
from tomoprof.preprocess._scans import CropError, _crop

MICROMETRES = {"um": 1.0, "mm": 1e3, "cm": 1e4, "m": 1e6}


def detect_blank_margins(sino: Array, safety_buffer: int = 20, max_views_to_use: int = 20) -> tuple[int, int, int, int]:
    """Finds how much of the detector no ray through the object meets: rows at the (top, bottom), channels (left, right).

    sino: (views, detector rows, channels), of which about max_views_to_use views are looked at. safety_buffer: so many pixels stay on each side."""
    views, margin = _sample(sino, max_views_to_use), integer("safety_buffer", safety_buffer)
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
