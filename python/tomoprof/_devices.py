"""Arrays in the memory of a GPU: where they lie, on which stream they are ready, and results beside them.

PyTorch's and CuPy's tensors, and others with `__cuda_array_interface__` or DLPack, are used where they lie."""

import ctypes
import sys
from math import prod

from tomoprof import _library

_LEGACY_STREAM = 1  # what both protocols call the default one, which the library calls None
_CUDA = 2           # DLPack's kDLCUDA


class DeviceArray:
    """float32 in C order on the GPU: `header` is its tomoprof_array, `owner` the caller's array."""

    __slots__ = ("shape", "header", "owner", "keep")

    def __init__(self, shape, pointer, stream, owner, keep=None) -> None:
        self.shape, self.owner, self.keep = tuple(shape), owner, keep
        self.header = _library.Array(self.shape, pointer, _library.CUDA, None if stream in (0, _LEGACY_STREAM) else stream)


def is_on_device(array):
    """Whether the data lie in the memory of a GPU. Arrays of JAX do not count: their results are made by JAX alone."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return bool(array.is_cuda)
    if type(array).__module__.partition(".")[0] in ("numpy", "jax", "jaxlib"):
        return False
    if hasattr(array, "__cuda_array_interface__"):
        return True
    where = getattr(array, "__dlpack_device__", None)
    return where is not None and int(where()[0]) == _CUDA


def _check(name, shape, wanted, axes, kind, strides):
    if len(shape) != len(wanted) or any(w is not None and w != n for w, n in zip(wanted, shape)):
        expected = f"{len(wanted)} axes" if None in wanted else str(tuple(wanted))
        raise ValueError(f"{name}: shape is {tuple(shape)}; expected {expected}{f' ({axes})' if axes else ''}")
    dense, stride = True, 1
    for n, s in zip(reversed(shape), reversed(strides or ())):
        dense, stride = dense and (n == 1 or s == stride), stride * n
    if kind != "float32" or not dense:
        raise TypeError(f"{name}: {kind} {'in C order' if dense else 'of other strides'} on the GPU; expected float32 in C order. Convert it there.")


def _of_torch(tensor, name, wanted, axes, writable):
    torch = sys.modules["torch"]
    if tensor.dtype.is_complex:
        raise TypeError(f"{name}: dtype is {tensor.dtype}; expected real numbers")
    if tensor.layout is not torch.strided:
        raise TypeError(f"{name}: a tensor of layout {tensor.layout}; expected a dense one")
    data = tensor.detach()
    if not writable:
        data = data.to(torch.float32).contiguous()
    _check(name, tuple(data.shape), wanted, axes, str(data.dtype).rpartition(".")[2], data.stride())
    stream = torch.cuda.current_stream(data.device).cuda_stream
    return DeviceArray(data.shape, data.data_ptr(), stream, tensor, data)


def _of_interface(array, name, wanted, axes, writable):
    found = array.__cuda_array_interface__
    pointer, read_only = found["data"]
    if writable and read_only:
        raise ValueError(f"{name}: read-only; expected a writable array")
    shape, strides = tuple(found["shape"]), found.get("strides")
    kind = "float32" if found["typestr"] == "<f4" else found["typestr"]
    _check(name, shape, wanted, axes, kind, strides and [s / 4 for s in strides])
    return DeviceArray(shape, pointer, found.get("stream"), array, found)


class _Tensor(ctypes.Structure):
    """DLTensor, at the beginning of both kinds of DLManagedTensor without versions."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def _of_dlpack(array, name, wanted, axes, writable):
    capsule = array.__dlpack__(stream=_LEGACY_STREAM)  # never consumed: it frees what it holds when it goes
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    shape, strides = tensor.shape[:tensor.ndim], tensor.strides[:tensor.ndim] if tensor.strides else None
    kind = {(2, 32, 1): "float32"}.get((tensor.code, tensor.bits, tensor.lanes), f"DLPack's type {tensor.code} of {tensor.bits} bits")
    _check(name, shape, wanted, axes, kind, strides)
    return DeviceArray(shape, (tensor.data or 0) + tensor.byte_offset, None, array, capsule)


def on_device(array, name, wanted, axes=None, writable=False):
    """`array`, which is_on_device, where it lies: float32 in C order of that shape; None in it allows every length."""
    backend = _library.backend()
    if backend != "cuda":
        raise TypeError(f"{name}: lies on a GPU, but tomoprof computes on the CPU ({_library.device()}). Copy it to host memory "
                        "(PyTorch: .cpu()), or see `tomoprof doctor` for what the GPU needs.")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _of_torch(array, name, wanted, axes, writable)
    if hasattr(array, "__cuda_array_interface__"):
        return _of_interface(array, name, wanted, axes, writable)
    return _of_dlpack(array, name, wanted, axes, writable)


def beside(source, shape):
    """A new array of the library of `source`, in the same place, for the result of a call."""
    array, cupy, torch = source.owner, sys.modules.get("cupy"), sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        new = array.new_empty(shape, dtype=torch.float32)
    elif cupy is not None and isinstance(array, cupy.ndarray):
        new = cupy.empty(shape, "float32")
    else:
        raise TypeError(f"out: None; results on the GPU are made as arrays of PyTorch or CuPy. Pass an array of shape {tuple(shape)} "
                        f"({4 * prod(shape)} bytes) as `out`.")
    return on_device(new, "out", shape, writable=True)
