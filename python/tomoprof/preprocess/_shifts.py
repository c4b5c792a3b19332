"""Views that were shifted during the scan: found beside the projections of a first reconstruction, and moved back."""

from __future__ import annotations

from typing import Any

import numpy

from tomoprof._arrays import FLOAT32, Array, like
from tomoprof._calls import number
from tomoprof.preprocess._scans import _views


def _opencv():
    try:
        import cv2
    except ImportError:
        raise ImportError("the shifts of views need OpenCV: pip install opencv-python-headless") from None
    return cv2


def sino_high_pass_filtering(sino: Array, sigma_row: float = 3.0, sigma_col: float = 15.0, subtract_view_mean: bool = True) -> numpy.ndarray:
    """Takes from each view its Gaussian blur, of deviation sigma_row along the detector rows and sigma_col along the channels.

    sino: (views, detector rows, channels). subtract_view_mean: takes the mean of the view away before. Needs OpenCV."""
    cv2, y, sigmas = _opencv(), _views(sino), (number("sigma_col", sigma_col), number("sigma_row", sigma_row))
    result = numpy.empty_like(y)
    for view, out in zip(y, result):
        view = view - view.mean() if subtract_view_mean else view
        out[:] = view - cv2.GaussianBlur(view, (0, 0), sigmaX=sigmas[0], sigmaY=sigmas[1], borderType=cv2.BORDER_REFLECT)
    return result


def estimate_sino_view_offset(ct_model: Any, sino: Array, direct_recon: Array) -> numpy.ndarray:
    """Finds by how many pixels each view must be moved to match the projection of `direct_recon`, a first volume of the same scan.

    sino: (views, detector rows, channels). Returns (views, 2): down and right. Needs OpenCV."""
    shape = tuple(ct_model.get_params("recon_shape"))
    if tuple(direct_recon.shape) != shape:
        raise ValueError(f"direct_recon: shape is {tuple(direct_recon.shape)}; expected {shape}, the model's recon_shape")
    cv2, warp = _opencv(), numpy.eye(2, 3, dtype=FLOAT32)
    measured, wanted = sino_high_pass_filtering(sino), sino_high_pass_filtering(ct_model.forward_project(direct_recon))
    shifts = numpy.zeros((len(measured), 2))
    for i, (view, template) in enumerate(zip(measured, wanted)):
        try:
            _, warp = cv2.findTransformECC(template, view, warp, cv2.MOTION_TRANSLATION)
        except cv2.error as error:
            raise ValueError(f"view {i}: no shift matches the projection of direct_recon ({error.err})") from None
        shifts[i] = -warp[1, 2], -warp[0, 2]
    return shifts


def _moved(array, shift, axis):
    """`array` moved by `shift` pixels along an axis, linearly; 0 where nothing of it comes."""
    count = array.shape[axis]
    places = numpy.arange(count, dtype=FLOAT32) - FLOAT32.type(shift)
    low = numpy.floor(places).astype(int)
    part = places - low
    weights = [numpy.where((index >= 0) & (index < count), weight, 0) for index, weight in ((low, 1 - part), (low + 1, part))]
    total = weights[0] + weights[1]
    inside = (places >= -0.5) & (places <= count - 0.5)
    scale = numpy.divide(1, total, out=numpy.zeros_like(total), where=inside & (total > 0))
    along = [1] * array.ndim
    along[axis] = count
    parts = [numpy.take(array, index.clip(0, count - 1), axis) * (weight * scale).astype(FLOAT32).reshape(along)
             for index, weight in ((low, weights[0]), (low + 1, weights[1]))]
    return parts[0] + parts[1]


def align_sino_views(ct_model: Any, sino: Array, direct_recon: Array) -> Array:
    """Moves each view (detector rows, channels) by what `estimate_sino_view_offset` finds, linearly; 0 enters at the border."""
    y, shifts = _views(sino), estimate_sino_view_offset(ct_model, sino, direct_recon)
    return like(sino, numpy.stack([_moved(_moved(view, down, 0), right, 1) for view, (down, right) in zip(y, shifts)]))
