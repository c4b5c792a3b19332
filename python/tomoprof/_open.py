"""Arrays in files, read when they are indexed."""

from __future__ import annotations

import ctypes
import json
import operator
import os
import threading
from math import prod
from typing import Any, Optional

import numpy

from tomoprof._arrays import address
from tomoprof._calls import Call
from tomoprof._library import lib


class File:
    """An array of a file. `file[10:20, ..., ::2]` and `numpy.asarray(file)` read what they need, by several threads, as it is stored.

    shape, dtype, ndim, size; chunks (of the file; of an array without a grid, its shape); format; name and names (of this array and
    all in the file); slope and intercept (value = slope * stored + intercept)."""

    def __init__(self, path: Any, name: Optional[str] = None) -> None:
        self.path = os.fspath(path)
        if "://" not in self.path:
            os.stat(self.path)  # the usual exception where it is missing
        self._lock, self._handle, self._process = threading.Lock(), ctypes.c_void_p(), os.getpid()
        with Call() as call:
            call("file_open", os.fsencode(self.path), name and name.encode(), ctypes.byref(self._handle))
            text, length = ctypes.create_string_buffer(1 << 16), ctypes.c_size_t()
            call("file_json", self._handle, text, len(text), ctypes.byref(length))
            if length.value >= len(text):
                text = ctypes.create_string_buffer(length.value + 1)
                call("file_json", self._handle, text, len(text), ctypes.byref(length))
        facts = json.loads(text.value)
        self.format, self.name, self.names = facts["format"], facts["array"], facts["arrays"]
        self.dtype, self.shape, self.chunks = numpy.dtype(facts["dtype"].replace("b1", "?")), tuple(facts["shape"]), tuple(facts["chunks"])
        self._order = facts["order"]  # axes from the slowest to the fastest: results lie as they are stored
        self.slope, self.intercept = facts["slope"], facts["intercept"]

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: prod(self.shape))
    nbytes = property(lambda self: self.size * self.dtype.itemsize)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<tomoprof.open({self.path!r}, {self.name!r}): {self.dtype} of shape {self.shape}, {self.format}>"

    def __reduce__(self):
        return File, (self.path, self.name)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("the array lies in a file: it cannot be had without a copy")
        return self[...].astype(dtype or self.dtype, copy=False)

    def __getitem__(self, key: Any) -> Any:
        start, count, rest = self._box(key)
        if 0 in count:
            return numpy.empty(count, self.dtype)[rest]
        if not self._handle:
            raise ValueError(f"{self.path} is closed; open it again")
        if os.getpid() != self._process:
            return File(self.path, self.name)[key]
        stored = numpy.empty([count[axis] for axis in self._order], self.dtype)
        result = stored.transpose(numpy.argsort(self._order))
        sizes = ctypes.c_int64 * max(self.ndim, 1)
        with self._lock, Call() as call:
            if not self._handle:
                raise ValueError(f"{self.path} was closed during the call")
            call("file_read", self._handle, sizes(*start), sizes(*count), sizes(*result.strides), address(stored), stored.nbytes)
        return result[rest]

    def _box(self, key):
        """The box that is read, and the index of what was asked for in it."""
        keys = list(key) if isinstance(key, tuple) else [key]
        dots = [i for i, k in enumerate(keys) if k is Ellipsis]
        if len(dots) > 1:
            raise IndexError("an index has one ... at most")
        for at in dots:
            keys[at:at + 1] = [slice(None)] * (self.ndim - len(keys) + 1)
        if len(keys) > self.ndim:
            raise IndexError(f"{len(keys)} indices for {self.ndim} axes")
        keys += [slice(None)] * (self.ndim - len(keys))
        start, count, rest = [], [], []
        for axis, (k, n) in enumerate(zip(keys, self.shape)):
            if isinstance(k, slice):
                chosen = range(*k.indices(n))
                low = min(chosen, default=0)
                start.append(low)
                count.append(max(chosen) - low + 1 if chosen else 0)
                rest.append(slice(None, None, k.step if k.step is not None else 1))
                continue
            try:
                index = operator.index(k)
            except TypeError:
                raise IndexError(f"axis {axis}: an index is an integer, a slice or ..., not {type(k).__name__}; read a box, then choose in it") from None
            if not -n <= index < n:
                raise IndexError(f"axis {axis}: {index} is outside of 0 to {n - 1}")
            start.append(index % n)
            count.append(1)
            rest.append(0)
        return start, count, tuple(rest)

    def close(self) -> None:
        """Closes the file, after reads that other threads have begun. Without it, the file is closed when it is no longer used."""
        with self._lock:
            handle, self._handle = self._handle, ctypes.c_void_p()
        if handle and self._process == os.getpid():
            lib.tomoprof_file_free(handle)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self):
        if os and lib and getattr(self, "_handle", None) and self._process == os.getpid():  # Python clears modules at its end
            lib.tomoprof_file_free(self._handle)


def open(path: Any, name: Optional[str] = None) -> File:
    """Opens an array of a file, folder or URL: NIfTI, TIFF, HDF5, Zarr, CZI, TXRM, NumPy. name: of one of several, None for the largest.

    Nothing is read but headers: `open("scan.h5")[100:110]` reads what the box needs."""
    return File(path, name)
