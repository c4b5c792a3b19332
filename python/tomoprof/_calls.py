"""Calls of the library: a model in a context, headers of arrays, values that are checked, and errors as exceptions."""

from __future__ import annotations

import ctypes
import math
from ctypes import byref
from typing import Any

import numpy

from tomoprof import _library
from tomoprof._arrays import Callback, address
from tomoprof._devices import DeviceArray
from tomoprof._library import acquire, lib, release
from tomoprof._parameters import plain
from tomoprof._progress import Relay, callback_of

VOLUME, SINOGRAM = "rows, columns, slices", "views, detector rows, channels"
X, Y, OTHER_Y = range(3)  # of Plan.ends


class Plan:
    """A model in a context: its handle, its shapes, and headers of arrays that every call uses again: `ends`, (shape, header, its
    reference, axes) of a volume, of a sinogram and of another sinogram."""

    __slots__ = ("context", "handle", "pointer", "ends")

    def __init__(self, context, text) -> None:
        handle, shape = ctypes.c_void_p(), (ctypes.c_int64 * 3)()
        self.context, self.handle = context, None
        status = lib.tomoprof_model_parse(context.handle, text, len(text), byref(handle))
        self.handle, self.pointer = handle.value, handle
        if status or context.watch.raised is not None:
            raise context.error(status)
        lib.tomoprof_model_volume_shape(self.handle, shape)
        volume = tuple(shape)
        lib.tomoprof_model_sinogram_shape(self.handle, shape)
        headers = [(_library.Array(sizes), axes) for sizes, axes in ((volume, VOLUME), (tuple(shape), SINOGRAM), (tuple(shape), SINOGRAM))]
        self.ends = tuple((tuple(header.shape[:3]), header, byref(header), axes) for header, axes in headers)

    def __del__(self):
        if self.handle:
            self.context.trash.append(self.handle)


def header(array):
    """The tomoprof_array of a NumPy array or a DeviceArray; None stays None."""
    if type(array) is DeviceArray:
        return byref(array.header)
    return None if array is None else byref(_library.Array(array.shape, address(array)))


class Call:
    """A context for the length of a `with`, and calls in it with progress, interruption and errors as exceptions."""

    def __init__(self, callback: Callback = None, backend: Any = None) -> None:
        self.callback, self.own = callback if callback is None else callback_of(callback), backend is not None
        self.relay = self.callback if type(self.callback) is Relay else None
        self.context = acquire(backend)
        self.context.watch.messages.clear()

    def __enter__(self):
        if self.relay is not None:
            self.relay.belongs_to(self.context)
        return self

    def __exit__(self, *_):
        if self.relay is not None:
            self.relay.belongs_to(None)
        if not self.own:
            release(self.context)

    def __call__(self, name, *arguments):
        context, watch = self.context, self.context.watch
        function = getattr(lib, "tomoprof_" + name)
        if self.callback is None:
            status = function(context.handle, *arguments)
        else:
            try:
                watch.callback = self.callback
                context.tell_steps(True)
                status = function(context.handle, *arguments)
            finally:
                watch.callback = None
                context.tell_steps(False)
        if status or watch.raised is not None:
            raise context.error(status)


def check_finite(array, name):
    if not numpy.isfinite(array).all():
        raise ValueError(f"{name} contains NaN and/or Inf values.")


def integer(name, value, least=0):
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 31:
        raise (ValueError if isinstance(value, int) else TypeError)(f"{name} is {value!r}; expected an integer of {least} or more")
    return value


def number(name, value):
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is {value!r}; expected a number")
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} is {value!r}; expected a finite number of 0 or more")
    return float(value)
