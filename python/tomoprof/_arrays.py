"""Arrays of other libraries as NumPy arrays of float32 in C order, and results back in the caller's library.

float32 in C order is used where it lies. Other types, orders and strides are copied once."""

import ctypes
import importlib
import math
import sys
from typing import Any

import numpy

from tomoprof import _devices

FLOAT32 = numpy.dtype("float32")
LARGE = 1 << 16  # floats; of fewer, 1 us for the place is more than lines of memory cost
Array = Any  # of NumPy, PyTorch or JAX, or what NumPy reads; results are in the library of the input
Callback = Any  # None, a function of (done, total), whose true value ends the call, or a bar of tqdm


_HEAD = object.__basicsize__
_word_at = ctypes.c_void_p.from_address


def address(array):
    """Where the data of a NumPy array begins. NumPy keeps that first in its object, where reading it takes 0.1 us."""
    return _word_at(id(array) + _HEAD).value


def _address_by_numpy(array):
    return array.ctypes.data  # 1 us or more


_probe = numpy.zeros(3)
if sys.implementation.name != "cpython" or address(_probe) != _address_by_numpy(_probe):
    address = _address_by_numpy


def library_of(array):
    """The library whose kind of array the result has: "torch", "jax" or "numpy"."""
    module = type(array).__module__.partition(".")[0]
    if module in ("jax", "jaxlib"):
        return "jax"
    torch = sys.modules.get("torch")
    return "torch" if torch is not None and isinstance(array, torch.Tensor) else "numpy"


def differentiable(array):
    """The module whose projections have a gradient, for a tensor that wants one and for JAX's tracers; None for all other arrays."""
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and isinstance(array, torch.Tensor) and array.requires_grad and torch.is_grad_enabled():
        return importlib.import_module("tomoprof.torch")
    if jax is not None and isinstance(array, jax.core.Tracer):
        return importlib.import_module("tomoprof.jax")
    return None


def _of_torch(tensor, name):
    torch = sys.modules["torch"]
    if tensor.layout is not torch.strided:
        raise TypeError(f"{name}: a tensor of layout {tensor.layout}; expected a dense one")
    if tensor.device.type != "cpu":
        raise TypeError(f"{name}: a tensor on {tensor.device}; expected one on the CPU. Move it with .cpu().")
    tensor = tensor.detach()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    return tensor.resolve_conj().resolve_neg().numpy()


def _of_written_tensor(tensor, name):
    """Refuses what `_of_torch` would copy, since nobody would see what is written to a copy."""
    torch = sys.modules["torch"]
    if tensor.dtype is not torch.float32:
        raise TypeError(f"{name}: {tensor.dtype}; expected a tensor of torch.float32")
    if tensor.requires_grad:
        raise ValueError(f"{name}: a tensor that wants a gradient, which what is written in place does not have. Leave it away, or pass {name}.detach().")
    if tensor.is_neg():
        raise ValueError(f"{name}: a view that negates another tensor; expected one of its own")
    return _of_torch(tensor, name)


def _of_any(array, name):
    if isinstance(array, (str, bytes)):
        raise TypeError(f"{name}: {type(array).__name__}; expected an array of numbers")
    if library_of(array) == "torch":
        return _of_torch(array, name)
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(array, jax.core.Tracer):
        raise TypeError(f"{name}: an array that JAX traces; forward_project and back_project of models can be traced. Call this outside of jit, grad and vmap, or by jax.pure_callback.")
    ma = sys.modules.get("numpy.ma")
    if ma is not None and ma.is_masked(array):
        raise TypeError(f"{name}: a masked array with {ma.count_masked(array)} masked values; expected all values. Fill them: .filled(0).")
    if _devices.is_on_device(array):
        raise TypeError(f"{name}: an array on a GPU; expected one in host memory. Copy it there.")
    if not hasattr(array, "__array__") and not hasattr(array, "__array_interface__") and hasattr(array, "__dlpack__"):
        return numpy.from_dlpack(array)
    return numpy.asarray(array)


def require_model(model):
    """Refuses what is not a model, in place of an AttributeError from its first use."""
    if not hasattr(model, "forward_project"):
        raise TypeError(f"model: {type(model).__name__}; expected a model, such as a ConeBeamModel")


def require_flag(name, value, expected="True or False"):
    """Refuses an array where MBIRJAX's methods take something else: it would be left as it is."""
    if hasattr(value, "shape"):
        raise TypeError(f"{name}: an array of shape {tuple(value.shape)}; expected {expected}. Pass the array to write into by its name, out=.")


def host(array, name, shape=None, axes=None):
    """`array` as float32 in C order, of that shape, or of any with three axes; None in `shape` allows every length there."""
    if array is None:
        raise TypeError(f"{name}: None; expected an array{f' of shape {shape}' if shape else ''}")
    view = array if type(array) is numpy.ndarray else _of_any(array, name)
    if view.dtype.kind == "V" and view.dtype.name == "bfloat16":  # JAX's, to NumPy a type without a kind
        view = view.astype(FLOAT32)
    if view.dtype.kind not in "fiub":
        raise TypeError(f"{name}: dtype is {view.dtype}; expected real numbers")
    wanted = shape if shape is not None else (None,) * 3
    if view.ndim != len(wanted) or any(w is not None and w != n for w, n in zip(wanted, view.shape)):
        expected = str(tuple(shape)) if shape is not None and None not in shape else f"{len(wanted)} axes"
        raise ValueError(f"{name}: shape is {view.shape}; expected {expected}{f' ({axes})' if axes else ''}")
    if view.dtype is FLOAT32 and view.flags.c_contiguous and view.flags.aligned:
        return view
    with numpy.errstate(over="ignore"):
        return numpy.require(view, FLOAT32, ("C", "A"))


def located(array, name, shape=None, axes=None):
    """The same for arrays that may lie on a GPU, where they stay: a DeviceArray."""
    if type(array) is not numpy.ndarray and _devices.is_on_device(array):
        return _devices.on_device(array, name, shape if shape is not None else (None,) * 3, axes)
    return host(array, name, shape, axes)


def new(shape):
    """An empty array. NumPy's begin 16 bytes behind a line of memory, and each vector that is written there touches two: large ones begin at one."""
    count = math.prod(shape)
    if count < LARGE:
        return numpy.empty(shape, FLOAT32)
    memory = numpy.empty(count + 15, FLOAT32)
    skip = -memory.ctypes.data % 64 // 4
    return memory[skip : skip + count].reshape(shape)


def output(out, shape, name="out", beside=None):
    """The array to compute into: a new one, beside the input where that is a DeviceArray, or the caller's. The library refuses one that
    overlaps an input."""
    if out is None:
        return _devices.beside(beside, shape) if type(beside) is _devices.DeviceArray else new(shape)
    if type(out) is numpy.ndarray and out.dtype is FLOAT32 and out.shape == shape:
        flags = out.flags
        if flags.c_contiguous and flags.writeable and flags.aligned:
            return out
    if type(out) is not numpy.ndarray and _devices.is_on_device(out):
        return _devices.on_device(out, name, tuple(shape), writable=True)
    if library_of(out) == "jax":
        raise TypeError(f"{name}: JAX's arrays cannot be changed; leave `out` away, or give a NumPy array")
    view = _of_written_tensor(out, name) if library_of(out) == "torch" else out
    if not isinstance(view, numpy.ndarray) or view.dtype != FLOAT32 or not view.dtype.isnative:
        raise TypeError(f"{name}: {getattr(view, 'dtype', type(view).__name__)}; expected an array of float32")
    if view.shape != tuple(shape):
        raise ValueError(f"{name}: shape is {view.shape}; expected {tuple(shape)}")
    if not (view.flags.c_contiguous and view.flags.aligned and view.flags.writeable):
        raise ValueError(f"{name}: expected a writable array in C order")
    return view


def indices(array, name, limit):
    """Pixel indices as int32 in C order, each in [0, limit)."""
    view = _of_any(array, name)
    if view.dtype.kind not in "iu" and view.size:
        raise TypeError(f"{name}: dtype is {view.dtype}; expected integers")
    if view.ndim != 1:
        raise ValueError(f"{name}: shape is {view.shape}; expected one axis")
    if view.size and (view.min() < 0 or view.max() >= limit):
        raise ValueError(f"{name}: from {view.min()} to {view.max()}; expected 0 to {limit - 1}")
    return numpy.ascontiguousarray(view, numpy.int32)


def like(array, result):
    """`result` in the library of `array`."""
    if type(result) is _devices.DeviceArray:
        return result.owner
    library = library_of(array)
    if library == "torch":
        return sys.modules["torch"].from_numpy(result)
    if library == "jax":
        return sys.modules["jax"].numpy.asarray(result)
    return result
