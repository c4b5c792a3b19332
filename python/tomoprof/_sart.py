"""SART of parallel beams: views correct an image one after the other."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence

import numpy

from tomoprof._arrays import Array, Callback, address, like
from tomoprof._calls import Call
from tomoprof._library import Array as LibraryArray
from tomoprof._library import SartOptions

GOLDEN = (1 + 5**0.5) / 2
HALF_TURN = 180
TYPES = {"float32": 0, "float64": 1}  # tomoprof_type


def golden_order(degrees: Array) -> numpy.ndarray:
    """An order of views in which each is far from those before it: steps of half a turn by the golden ratio, and of the two neighbours
    there that are left the nearer one. Arithmetic is that of the array's type."""
    theta = numpy.asarray(degrees)
    left = numpy.argsort(theta)
    angles, views = list(theta[left]), left.tolist()
    order: list[int] = []
    at, step = 0, HALF_TURN / GOLDEN**2
    angle = angles[0] if angles else theta.dtype.type()
    while views:
        if order:
            angle = (angle + step) % HALF_TURN
            at = _nearer(angles, angle)
        order.append(views.pop(at))
        angles.pop(at)
    return numpy.array(order, numpy.int64)


def _nearer(angles, angle):
    """The place of the neighbour that is nearer in a sorted list. Distances are those that scikit-image compares, below 0."""
    import bisect
    above = bisect.bisect_left(angles, angle)
    below, above = above - 1, above % len(angles)
    distance = [min(abs(angle - angles[k]) % HALF_TURN, abs(angle - angles[k]) % -HALF_TURN) for k in (below, above)]
    return below % len(angles) if distance[0] < distance[1] else above


def _real(array, name, dtype=None):
    """`array` as float64 where it is that, else as float32, in C order; or as `dtype`."""
    view = numpy.asarray(array)
    if view.dtype.kind not in "fiub":
        raise TypeError(f"{name}: dtype is {view.dtype}; expected real numbers")
    if view.ndim != 3:
        raise ValueError(f"{name}: shape is {view.shape}; expected 3 axes")
    kind = dtype or numpy.dtype("float64" if view.dtype.name == "float64" else "float32")
    return numpy.require(view, kind, ("C", "A"))


def _numbers(values, name, count):
    """`values` as float64, `count` of them."""
    numbers = numpy.ascontiguousarray(values, numpy.float64)
    if numbers.shape != (count,):
        raise ValueError(f"{name}: shape is {numbers.shape}; expected ({count},), one number for each view")
    return numbers


def _header(array):
    header = LibraryArray(array.shape, address(array))
    header.type = TYPES[array.dtype.name]
    return header


def sart(sinogram: Array, angles: Sequence[float], initial: Array = None, *, shifts: Optional[Sequence[float]] = None,
         order: Optional[Sequence[int]] = None, relaxation: float = 0.15, clip: Optional[Sequence[float]] = None, callback: Callback = None) -> Array:
    """One pass of SART: each view corrects the volume by what its rays miss.

    sinogram: (views, detector rows, channels) of parallel beams. Returns (channels, channels, detector rows), float64 where the sinogram
    is, else float32. angles: radians. initial: the volume to begin with, zeros where it is None. shifts: channels by which each view's
    samples lie further. order: views in the order of their use, by the golden ratio where it is None. clip: the least and the largest
    value after each view."""
    y = _real(sinogram, "sinogram")
    views, rows, channels = y.shape
    radians = _numbers(angles, "angles", views)
    steps = numpy.ascontiguousarray(golden_order(numpy.degrees(radians)) if order is None else order, numpy.int64)
    result = numpy.zeros((channels, channels, rows), y.dtype)
    if initial is not None:
        start = _real(initial, "initial", y.dtype)
        if start.shape != result.shape:
            raise ValueError(f"initial: shape is {start.shape}; expected {result.shape} (channels, channels, detector rows)")
        result[...] = start
    moved = None if shifts is None else _numbers(shifts, "shifts", views)
    bounds = None if clip is None else numpy.ascontiguousarray(clip, numpy.float64)
    if bounds is not None and bounds.shape != (2,):
        raise ValueError(f"clip: {clip!r}; expected two numbers")
    if steps.ndim != 1:
        raise ValueError(f"order: shape is {steps.shape}; expected one axis")
    x = _header(result)
    options = SartOptions(ctypes.sizeof(SartOptions), ctypes.pointer(x), None if moved is None else address(moved), address(steps), steps.size, relaxation,
                          None if bounds is None else address(bounds))
    with Call(callback) as call:
        call("sart", ctypes.byref(_header(y)), address(radians), ctypes.byref(options), ctypes.byref(x))
    return like(sinogram, result)
