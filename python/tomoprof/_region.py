"""Regions: parts of a program that a recording names. Without the recorder they do nothing."""

import functools
import inspect
import os

_start = _stop = _begin = None  # functions of the recorder, in a program that is recorded


def _find():
    """Finds the recorder in this process, where one is: it is loaded before the program."""
    global _start, _stop, _begin
    if "TOMOPROF_CAPTURE_DIR" not in os.environ:
        return
    import ctypes
    try:
        process = ctypes.PyDLL(None)  # holds the GIL: the calls take less than a microsecond
        start, stop, begin = process.tomoprof_region_start, process.tomoprof_region_stop, process.tomoprof_region_begin_here
    except (OSError, AttributeError):  # the variable alone, as below a program that cannot be recorded
        return
    start.argtypes, start.restype = (ctypes.c_char_p,), ctypes.c_uint64
    stop.argtypes, stop.restype = (ctypes.c_uint64,), None
    begin.argtypes, begin.restype = (), None
    _start, _stop, _begin = start, stop, begin


class _Nothing:
    """A region where nothing is recorded."""

    __slots__ = ()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __call__(self, function):
        return function


class _Region:
    """A region that is recorded. One object may be entered again before it is left."""

    __slots__ = ("_name", "_open")

    def __init__(self, name):
        self._name, self._open = name, []

    def __enter__(self):
        self._open.append(_start(self._name))
        return self

    def __exit__(self, *error):
        _stop(self._open.pop())

    def __call__(self, function):
        name = self._name
        if inspect.iscoroutinefunction(function):
            async def inside(*args, **kwargs):
                handle = _start(name)
                try:
                    return await function(*args, **kwargs)
                finally:
                    _stop(handle)
        else:
            def inside(*args, **kwargs):  # type: ignore[misc]
                handle = _start(name)
                try:
                    return function(*args, **kwargs)
                finally:
                    _stop(handle)
        return functools.wraps(function)(inside)


_nothing = _Nothing()


def region(name):
    """Names a part of the program: `with tomoprof.region("load"):`, or a function by `@tomoprof.region` or `@tomoprof.region("load")`.

    In a recording (`tomoprof record`) each region has a row, a band in the timeline and its own lines. Otherwise it does nothing, and a
    function is returned as it is.
    """
    if isinstance(name, str):
        return _nothing if _start is None else _Region(name.encode("utf-8", "replace"))
    if not callable(name):
        raise TypeError(f"tomoprof.region: the name is {name!r}; expected a str, or a function to decorate")
    return name if _start is None else _Region(name.__qualname__.encode("utf-8", "replace"))(name)


def start():
    """Marks the beginning of what `tomoprof record --paused` keeps. The first region does so too."""
    if _begin is not None:
        _begin()


_find()
