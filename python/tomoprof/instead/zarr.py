"""zarr whose arrays that are opened to be read get their values by tomoprof.

    import tomoprof.instead.zarr as zarr  # in place of: import zarr

Metadata, attributes and everything else are zarr's."""

import functools
import importlib
import os

from tomoprof.instead import NotEqual, array_text, box_or, file_equal_to, in_place_of, rest_of

__getattr__ = rest_of("zarr")


@in_place_of("zarr")
def open(store=None, *, mode=None, **options):
    """The array of zarr.open(path, mode="r"). Boxes are read by tomoprof, other selections by zarr."""
    if not isinstance(store, (str, os.PathLike)) or "://" in os.fspath(store) or options:
        raise NotEqual(f"{next(iter(options))} is given; tomoprof takes a path alone" if options else f"store is {array_text(store)}; tomoprof takes a local path")
    if mode != "r":
        raise NotEqual(f"mode is {mode!r}; tomoprof reads arrays that are opened with 'r'")
    array = importlib.import_module("zarr.api.synchronous").open(store, mode=mode)
    if type(array) is not importlib.import_module("zarr").Array:
        raise NotEqual(f"{os.path.basename(store)} is a {type(array).__name__}; tomoprof replaces an Array")
    file = file_equal_to(store, "zarr", array.shape, array.dtype)
    own = _array_class()(array.async_array)
    own._file = file
    return own


@functools.lru_cache(None)
def _array_class():
    class Boxes(importlib.import_module("zarr").Array):
        """zarr's Array; integers, slices and ... are read by tomoprof."""

        def __getitem__(self, selection):
            return box_or(self._file, selection, super().__getitem__)

    return Boxes
