"""libtomoprof by ctypes: its functions, a pool of contexts, and its errors as exceptions.

A context serves one thread at a time. `acquire` takes one from a pool and `release` returns it, so threads and nested calls each
have their own. A child made by fork() starts with empty pools.

A call computes in the thread that makes it. In the main thread the library looks at Python's signals during the call, by `Watch`."""

from __future__ import annotations

import ctypes
import os
from _thread import get_ident, get_native_id
from typing import Any, Optional
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

ABI = 0
NAME = "libtomoprof.so.0"
FLOAT32 = 0
HOST, CUDA = 0, 1
INTERVAL = 50  # ms between two looks at signals during a call
OK, BAD_ARGUMENT, NO_MEMORY, UNSUPPORTED, CANCELLED, DEVICE = range(6)


def library_path() -> str:
    """The library beside this package: in it (pip), or in PREFIX/lib of PREFIX/share/tomoprof/python. TOMOPROF_LIBRARY names another."""
    if os.environ.get("TOMOPROF_LIBRARY"):
        return os.environ["TOMOPROF_LIBRARY"]
    package = os.path.dirname(os.path.realpath(__file__))
    roots = [package]
    if package.endswith("/share/tomoprof/python/tomoprof"):
        roots.append(package[:-len("/share/tomoprof/python/tomoprof")])
    folders = [f"{root}/{lib}" for root in roots for lib in ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu")]
    for folder in folders:
        if os.path.isfile(f"{folder}/{NAME}"):
            return f"{folder}/{NAME}"
    raise ImportError(f"{NAME} is not in {folders[0]}: install the package with `pip install .`, or set TOMOPROF_LIBRARY to the library")


class Array(Structure):
    """tomoprof_array"""
    _fields_ = [("size", c_size_t), ("data", c_void_p), ("shape", c_int64 * 4), ("strides", c_int64 * 4), ("dimensions", c_int),
                ("type", c_int), ("place", c_int), ("stream", c_void_p)]

    def __init__(self, shape, data=None, place=HOST, stream=None) -> None:
        super().__init__(size=ctypes.sizeof(Array), data=data, dimensions=len(shape), type=FLOAT32, place=place, stream=stream)
        self.shape[:len(shape)] = shape


class ContextOptions(Structure):
    _fields_ = [("size", c_size_t), ("backend", c_char_p), ("threads", c_int), ("memory", c_size_t), ("device_memory", c_size_t),
                ("progress", c_void_p), ("log", c_void_p), ("user", c_void_p)]


class Event(Structure):
    """tomoprof_event"""
    _fields_ = [("size", c_size_t), ("user", c_void_p), ("kind", c_int), ("level", c_int), ("done", c_double), ("total", c_double),
                ("sentence", c_char_p)]


RUNNING, STEP, SENTENCE = range(3)
Watcher = ctypes.CFUNCTYPE(c_int, POINTER(Event))


class PartitionRows(Structure):
    """tomoprof_partition_rows"""
    _fields_ = [("size", c_size_t), ("pixels", c_void_p), ("subsets", c_int64), ("length", c_int64)]


class ReconOptions(Structure):
    _fields_ = [("size", c_size_t), ("iterations", c_int64), ("stop_threshold_percent", c_double), ("seed", c_int64),
                ("compat_06", c_int), ("weights", POINTER(Array)), ("initial", POINTER(Array)), ("prox", POINTER(Array)), ("first_iteration", c_int64),
                ("partitions", POINTER(PartitionRows)), ("partition_count", c_int64), ("sequence", c_void_p), ("orders", c_void_p)]


class ReconReport(Structure):
    _fields_ = [("size", c_size_t), ("iterations", c_int64), ("stopped_by_threshold", c_int), ("initial_scale", c_double),
                ("sigma_y", c_double), ("sigma_x", c_double), ("sigma_prox", c_double), ("room", c_size_t),
                ("fm_rmse", POINTER(c_double)), ("change_percent", POINTER(c_double)), ("alpha", POINTER(c_double))]


class SartOptions(Structure):
    """tomoprof_sart_options"""
    _fields_ = [("size", c_size_t), ("initial", POINTER(Array)), ("shifts", c_void_p), ("order", c_void_p), ("order_count", c_int64),
                ("relaxation", c_double), ("clip", c_void_p)]


_A, _C, _M = POINTER(Array), c_void_p, c_void_p
_PIXELS, _SIZES, _DOUBLES = c_void_p, POINTER(c_int64), POINTER(c_double)
# Arguments of each function; all of them return a status.
FUNCTIONS = {
    "context_create": (POINTER(ContextOptions), POINTER(_C)),
    "model_parse": (_C, c_char_p, c_size_t, POINTER(_M)),
    "model_get": (_C, _M, c_char_p, _DOUBLES, c_size_t, POINTER(c_size_t)),
    "model_views": (_C, _M, _SIZES, c_size_t, POINTER(_M)),
    "model_pixels": (_C, _M, _PIXELS, c_size_t, POINTER(c_size_t)),
    "forward_project": (_C, _M, _A, _A),
    "back_project": (_C, _M, _A, _A),
    "sparse_forward_project": (_C, _M, _A, _PIXELS, c_size_t, _A),
    "sparse_back_project": (_C, _M, _A, _PIXELS, c_size_t, c_int, _A),
    "hessian_diagonal": (_C, _M, _A, _A),
    "direct_filter": (_C, _M, _A, _A),
    "weigh_rays": (_C, _M, c_char_p, _A, _A),
    "direct_recon": (_C, _M, c_int, _A, _A),
    "recon": (_C, _M, _A, POINTER(ReconOptions), _A, POINTER(ReconReport)),
    "sart": (_C, _A, c_void_p, POINTER(SartOptions), _A),
    "gen_weights": (_C, c_char_p, _A, _A),
    "gen_weights_mar": (_C, _M, _A, _A, c_double, c_double, _A),
    "auto_regularise": (_C, _M, _A, _A, _DOUBLES, _DOUBLES, _DOUBLES),
    "denoise": (_C, _M, _A, c_double, POINTER(ReconOptions), _A, _DOUBLES),
    "median_filter3d": (_C, _A, _A),
    "phantom": (_C, _M, c_char_p, _A, _A),
    "partition": (_C, _M, c_char_p, c_int64, _SIZES, _SIZES, _PIXELS, c_size_t),
    "step": (_C, c_char_p, c_char_p, _A, _A, _A),
    "step_shape": (_C, c_char_p, c_char_p, _A, _SIZES, POINTER(c_int)),
    "find_center": (_C, _M, c_char_p, _A, _DOUBLES, _DOUBLES),
    "file_open": (_C, c_char_p, c_char_p, POINTER(c_void_p)),
    "file_json": (_C, c_void_p, c_char_p, c_size_t, POINTER(c_size_t)),
    "file_read": (_C, c_void_p, _SIZES, _SIZES, _SIZES, c_void_p, c_size_t),
}


def _load():
    path = library_path()
    library = ctypes.CDLL(path)
    library.tomoprof_version.restype = library.tomoprof_error.restype = library.tomoprof_device.restype = library.tomoprof_backend.restype = c_char_p
    library.tomoprof_version.argtypes = ()
    library.tomoprof_error.argtypes = library.tomoprof_device.argtypes = library.tomoprof_backend.argtypes = (_C,)
    for name in ("context_free", "model_free", "file_free", "cancel"):
        function = getattr(library, "tomoprof_" + name)
        function.argtypes, function.restype = (_C,), None
    for name in ("model_sinogram_shape", "model_volume_shape"):
        function = getattr(library, "tomoprof_" + name)
        function.argtypes, function.restype = (_M, c_int64 * 3), None
    library.tomoprof_set_watch.argtypes, library.tomoprof_set_watch.restype = (_C, Watcher, c_void_p, c_int, c_int), None
    for name, types in FUNCTIONS.items():
        function = getattr(library, "tomoprof_" + name)
        function.argtypes, function.restype = types, c_int
    if library.tomoprof_abi() != ABI:
        raise ImportError(f"{path} has ABI {library.tomoprof_abi()}; this package needs {ABI}. Install library and package of one version.")
    return library


lib = _load()
# Without types to check, a call takes half a microsecond less. They take pointers and headers of arrays alone.
forward_project, back_project, hessian_diagonal, direct_filter, direct_recon, median_filter3d = (lib["tomoprof_" + name] for name in (
    "forward_project", "back_project", "hessian_diagonal", "direct_filter", "direct_recon", "median_filter3d"))
version = __version__ = lib.tomoprof_version().decode()
_settings: dict[str, Any] = {"backend": None, "threads": 0, "memory": 0}
_generation = 0  # grows when contexts made so far are no longer to be used: after configure(), in a child


class Watch:
    """What the library tells during the calls of a context: `messages`, pairs (level, sentence), and progress for `callback(done, total)`.
    A true value that this returns ends the call, and so does an exception from it or from a handler of a signal: `raised`."""

    def __init__(self) -> None:
        self.callback: Any = None
        self.messages: list[tuple[int, str]] = []
        self.raised: Optional[BaseException] = None

    def listen(self):
        """Answers events. A generator, for Python runs the handlers of signals where it goes on, which is inside of `try`; those at the
        beginning of a function would raise out of it, into the library."""
        answer = 0
        try:
            while True:
                event = (yield answer).contents
                answer = 0
                if event.kind == SENTENCE:
                    self.messages.append((event.level, event.sentence.decode(errors="replace")))
                elif event.kind == STEP and self.callback is not None:
                    answer = 1 if self.callback(event.done, event.total) else 0
        except GeneratorExit:
            return
        except BaseException as error:
            self.raised = error
            yield 1  # the last event of a call that is to end


class Context:
    """A tomoprof_context with its watch. Those of the main thread look at signals."""

    def __init__(self, pool, backend: Optional[str] = None) -> None:
        self.pool = pool
        self.trash: list[int] = []
        self.volumes: Any = None  # (shape, header of an input, of a result) of the last median
        self.generation, self.process = _generation, os.getpid()
        backend = backend or _settings["backend"]
        options = ContextOptions(ctypes.sizeof(ContextOptions), backend and backend.encode(), _settings["threads"], _settings["memory"])
        handle = _C()
        status = lib.tomoprof_context_create(byref(options), byref(handle))
        if status:
            raise _exception(status, lib.tomoprof_error(None))
        self.handle, self.pointer = handle.value, handle
        self._begin_watch()

    def _begin_watch(self):
        self.watch = Watch()
        answers = self.watch.listen()
        next(answers)
        self._watcher = Watcher(answers.send)
        self.tell_steps(False)

    def tell_steps(self, wanted):
        """Whether the library tells of steps, which `watch.callback` gets."""
        lib.tomoprof_set_watch(self.handle, self._watcher, None, INTERVAL if self.pool is main_pool else 0, wanted)

    def error(self, status):
        """The exception of a call that returned `status`."""
        raised = self.watch.raised
        if raised is None:
            return _exception(status, lib.tomoprof_error(self.handle))
        self._begin_watch()  # the other has ended
        return raised

    def sweep(self):
        """Frees models that Python no longer uses."""
        while self.trash:
            lib.tomoprof_model_free(self.trash.pop())

    def __del__(self):
        # Free-threaded Python clears modules before it drops contexts: then all goes with the process. A child's copy belongs to the parent's threads.
        if os and lib and getattr(self, "handle", None) and self.process == os.getpid():
            self.sweep()
            lib.tomoprof_context_free(self.handle)


class Cancelled(RuntimeError):
    """A call that its progress callback ended. Its arrays hold what was computed until then."""


def _exception(status, sentence):
    text = (sentence or b"").decode(errors="replace") or f"the library returned status {status}"
    if status == CANCELLED:
        return Cancelled(text)
    kinds = {BAD_ARGUMENT: ValueError, NO_MEMORY: MemoryError, UNSUPPORTED: NotImplementedError}
    return kinds.get(status, RuntimeError)(text)


main_pool: list[Context] = []
other_pool: list[Context] = []


def _main_thread_ident():
    """That of the main thread; where it makes this call, without `threading`, which takes 1 ms to load."""
    if get_native_id() == os.getpid():
        return get_ident()
    import threading
    return threading.main_thread().ident


_main_thread = _main_thread_ident()


def acquire(backend=None):
    """A context that no other call uses. Give it to `release` when the call is over. backend: makes one with that, for a single use."""
    pool = main_pool if get_ident() == _main_thread else other_pool
    if backend is not None:
        return Context(pool, backend)
    try:
        context = pool.pop()
    except IndexError:
        return Context(pool)
    if context.trash:
        context.sweep()
    return context


def configure(*, backend: Optional[str] = None, threads: Optional[int] = None, memory: Optional[int] = None) -> None:
    """Chooses where and with how much the operators compute from now on, in all threads.

    backend: "cpu", "cuda" or "auto" (a GPU where there is one). threads: 0 for all that the process may use. memory: bytes that a
    call may take beside your arrays; 0 for no limit. None leaves a setting as it is."""
    if backend is not None and backend not in ("cpu", "cuda", "auto"):
        raise ValueError(f"backend is {backend!r}; expected 'cpu', 'cuda' or 'auto'")
    for name, value in (("threads", threads), ("memory", memory)):
        if value is not None and (not isinstance(value, int) or value < 0):
            raise ValueError(f"{name} is {value!r}; expected an integer of 0 or more")
    new: dict[str, Any] = {"backend": backend, "threads": threads, "memory": memory}
    _settings.update({name: value for name, value in new.items() if value is not None})
    _renew()


def _of_context(function):
    context = acquire()
    try:
        return function(context.handle).decode()
    finally:
        release(context)


def device() -> str:
    """What the operators compute on, for example "AMD EPYC, 2 threads, avx512"."""
    return _of_context(lib.tomoprof_device)


def backend() -> str:
    """The back end of the operators, "cpu" or "cuda"."""
    return _of_context(lib.tomoprof_backend)


def release(context):
    """Returns a context to its pool, unless it is outdated or its watch has ended."""
    if context.generation == _generation and context.watch.raised is None:
        context.pool.append(context)


def _renew():
    global _generation
    _generation += 1
    main_pool.clear()
    other_pool.clear()


def _forget_parent():
    global _main_thread
    _main_thread = get_ident()
    _renew()


os.register_at_fork(after_in_child=_forget_parent)
