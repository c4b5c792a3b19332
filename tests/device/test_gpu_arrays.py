"""Arrays on a GPU from Python: the operators take pointer and stream where they lie. libtomoprof has the emulator inside; its
allocations stand in for those of PyTorch, CuPy and others."""

import ctypes
import gc
import os
import pathlib
import sys

os.environ["TOMOPROF_LIBRARY"] = os.environ["DEVICE_LIBRARY"]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipe/python"))
import module  # noqa: F401
import numpy as np
from module import raised
from tool import main, relative

import tomoprof
from tomoprof import _library

gpu = ctypes.CDLL(os.environ["DEVICE_LIBRARY"])
TO_DEVICE, TO_HOST = 1, 2


class Counts(ctypes.Structure):  # the beginning of struct shim_counts
    _fields_ = [(name, ctypes.c_int64) for name in ("live", "launches", "allocations", "to_device", "to_host")]


class AllCounts(Counts):
    _fields_ = [("rest", ctypes.c_int64 * 6)]


gpu.shim_counts.restype = AllCounts


def checked(code):
    assert code == 0, f"the emulator returned {code}"


class Memory:
    """An allocation with the bytes of a NumPy array, whose copy waits in a stream: nobody has waited for it."""

    def __init__(self, array, stream=None):
        self.array, pointer = np.ascontiguousarray(array), ctypes.c_void_p()
        checked(gpu.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(self.array.nbytes)))
        self.pointer = pointer.value
        checked(gpu.cudaMemcpyAsync(pointer, ctypes.c_void_p(self.array.ctypes.data), ctypes.c_size_t(self.array.nbytes), TO_DEVICE, stream))

    def __del__(self):
        gpu.cudaFree(ctypes.c_void_p(self.pointer))


def read(array):
    out = np.empty(array.shape, np.float32)
    checked(gpu.cudaMemcpyAsync(ctypes.c_void_p(out.ctypes.data), ctypes.c_void_p(array.memory.pointer), ctypes.c_size_t(out.nbytes), TO_HOST, None))
    checked(gpu.cudaStreamSynchronize(None))
    return out


class Interface:
    """As CuPy's and Numba's."""

    def __init__(self, array, stream=None, **changes):
        self.memory, self.shape = Memory(array, stream), array.shape
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "data": (self.memory.pointer, False), "version": 3,
                                         "strides": None, "stream": stream.value if stream else 1, **changes}


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("type", ctypes.c_uint8 * 2),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Exchanged:
    """Knows DLPack alone; `asked` is the stream that the consumer works on."""

    def __init__(self, array, kind=(2, 32)):
        self.memory, self.shape, self.kind = Memory(array), array.shape, kind

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        self.asked = stream
        lengths = (ctypes.c_int64 * len(self.shape))(*self.shape)
        self.tensor = DLTensor(self.memory.pointer, (2, 0), len(self.shape), self.kind, 1, lengths, None, 0)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def stream():
    made = ctypes.c_void_p()
    checked(gpu.cudaStreamCreateWithFlags(ctypes.byref(made), 1))
    return made


def models():
    angles = np.linspace(0, np.pi, 6, endpoint=False)
    return tomoprof.ParallelBeamModel((6, 3, 8), angles), tomoprof.ConeBeamModel((6, 3, 8), 2 * angles, 32, 16)


def zeros(shape):
    return Interface(np.zeros(shape, np.float32))


def where_they_lie(check, folder):
    """Each operator gives from device memory what it gives from host memory; no array crosses; the caller's stream is waited for."""
    check.must(_library.backend() == "cuda" and "emulator" in tomoprof.device(), f"{_library.backend()}, {tomoprof.device()}")
    rng, side = np.random.default_rng(0), stream()
    for model in models():
        recon_shape, sinogram_shape = model.get_params(["recon_shape", "sinogram_shape"])
        x, y = rng.random(recon_shape, np.float32), rng.random(sinogram_shape, np.float32)
        pixels = np.array([9, 20, 33])
        cases = (("forward_project", x, sinogram_shape, ()), ("back_project", y, recon_shape, ()), ("direct_filter", y, sinogram_shape, ()),
                 ("direct_recon", y, recon_shape, ()), ("compute_hessian_diagonal", y, recon_shape, ()),
                 ("sparse_back_project", y, (3, recon_shape[2]), (pixels,)),
                 ("sparse_forward_project", x.reshape(-1, recon_shape[2])[pixels], sinogram_shape, (pixels,)))
        for name, array, shape, more in cases:
            call = getattr(model, name)
            expected = call(array, *more)
            for kind, given in (("interface", Interface(array, side)), ("DLPack", Exchanged(array))):
                out = zeros(shape)
                before = gpu.shim_counts()
                check.that(call(given, *more, out=out) is out, f"{name}: out= is returned")
                moved = [getattr(gpu.shim_counts(), way) - getattr(before, way) for way in ("to_device", "to_host")]
                # Tables of views and pixels go to the device, and what was pending: the array itself once.
                check.that(relative(read(out), expected) == 0, f"{name} of {kind} differs from host memory")
                check.that(moved[1] < out.memory.array.nbytes, f"{name}: {moved} bytes crossed")
        check.that(given.asked == 1, "DLPack's producer gets the stream on which its data are waited for")
        median = zeros(recon_shape)
        tomoprof.median_filter3d(Interface(x, side), out=median)
        check.that(relative(read(median), tomoprof.median_filter3d(x)) == 0, "median_filter3d")
        mixed = np.empty(sinogram_shape, np.float32)
        model.forward_project(Interface(x), out=mixed)
        check.that(relative(mixed, model.forward_project(x)) == 0, "from the device to the host")
        back = zeros(recon_shape)
        model.back_project(y, out=back, callback=lambda done, total: 0)
        check.that(relative(read(back), model.back_project(y)) == 0, "from the host to the device")


def refused(check, folder):
    """One exception with what was given and what is expected; results stay as they were."""
    model = models()[0]
    x, out = np.ones(model.get_params("recon_shape"), np.float32), zeros(model.get_params("sinogram_shape"))
    call, short = model.forward_project, Memory(x[0])
    for kind, part, given in (
            (ValueError, "shape is (2, 3, 3); expected", Interface(np.ones((2, 3, 3), np.float32))),
            (TypeError, "<f8 in C order on the GPU; expected float32", Interface(x.astype(float))),
            (TypeError, "float32 of other strides", Interface(x, strides=(4, 32, 256))),
            (TypeError, "DLPack's type 2 of 16 bits", Exchanged(x, (2, 16))),
            (ValueError, "is not memory of a GPU", Interface(x, data=(x.ctypes.data, False))),
            (ValueError, "its last byte, ", Interface(x, data=(short.pointer, False)))):
        text = raised(kind, call, given, out=out)
        check.that(text and part in text, f"{part}: {text}")
    check.that(not read(out).any(), "a refused call wrote")
    check.that("Pass an array of shape (6, 3, 8)" in (raised(TypeError, call, Interface(x)) or ""), "no library to make a result")
    check.that("read-only" in (raised(ValueError, call, x, out=Interface(x, shape=(6, 3, 8), data=(1, True))) or ""), "read-only")
    check.that("on a GPU" in (raised(TypeError, model.recon, Interface(np.ones((6, 3, 8), np.float32))) or ""), "recon wants host memory")
    inside = Interface(x, shape=(6, 3, 8), data=(out.memory.pointer, False))
    check.that("overlap" in (raised(ValueError, model.back_project, inside, out=Interface(x, data=(out.memory.pointer + 16, False))) or ""), "overlap")
    mask = tomoprof.ParallelBeamModel((6, 3, 8), np.linspace(0, 3, 6))
    mask.set_params(use_ror_mask=np.eye(8))
    check.that("use_ror_mask" in (raised(TypeError, mask.forward_project, Interface(x), out=out) or ""), "a mask of the caller's")
    tomoprof.configure(backend="cpu")
    text = raised(TypeError, call, Interface(x), out=out)
    check.that(text and "lies on a GPU, but tomoprof computes on the CPU" in text, f"backend cpu: {text}")
    tomoprof.configure(backend="auto")


def current_device(check, folder):
    """A program that works on its second GPU finds it current after a call."""
    device, model = ctypes.c_int(), models()[0]
    x = np.ones(model.get_params("recon_shape"), np.float32)
    checked(gpu.cudaSetDevice(1))
    tomoprof.configure(threads=1)  # new contexts
    y = model.forward_project(x)
    checked(gpu.cudaGetDevice(ctypes.byref(device)))
    checked(gpu.cudaSetDevice(0))
    tomoprof.configure(threads=0)
    check.that(device.value == 1 and relative(y, model.forward_project(x)) == 0, f"current device {device.value}")


def nothing_left(check, folder):
    """Each allocation of the arrays is freed with them."""
    model = models()[0]
    x, y = (np.ones(shape, np.float32) for shape in model.get_params(["recon_shape", "sinogram_shape"]))
    model.forward_project(Interface(x), out=zeros(y.shape))
    gc.collect()
    before = gpu.shim_counts().live
    for _ in range(20):
        model.forward_project(Exchanged(x), out=zeros(y.shape))
    gc.collect()
    check.that(gpu.shim_counts().live == before, f"{gpu.shim_counts().live - before} more objects live on the device")


def tensors(check, folder):
    """PyTorch without CUDA: a tensor that says cuda:0, with the emulator's memory behind it. Its autograd needs a GPU; the layer's two
    directions do not."""
    try:
        import torch
    except ImportError:
        print("  skipped: this Python has no torch")
        return
    import tomoprof.torch

    class Tensor(torch.Tensor):
        @staticmethod
        def __new__(cls, memory, shape, offset=0):
            made = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch.float32, device="cuda:0")
            made.memory, made.offset = memory, offset
            return made

        def data_ptr(self):
            return self.memory.pointer + self.offset

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            name, own = func._schema.name, args[0]
            if name == "aten::new_empty":
                return new(np.zeros(tuple(args[1]), np.float32))
            if name == "aten::unbind":
                bytes_of_one = 4 * int(np.prod(own.shape[1:]))
                return [Tensor(own.memory, own.shape[1:], own.offset + i * bytes_of_one) for i in range(own.shape[0])]
            if name not in ("aten::detach", "aten::alias", "aten::view", "aten::_unsafe_view"):
                raise NotImplementedError(name)
            shape = own.shape if len(args) == 1 else [own.numel() // int(np.prod(args[1][1:])) if n < 0 else n for n in args[1]]
            return Tensor(own.memory, shape, own.offset)

    def new(array):
        return Tensor(Memory(array), array.shape)

    class Stream:
        cuda_stream = 0

    torch.cuda.current_stream = lambda device: Stream
    for model in models():
        x = np.random.default_rng(1).random((2, *model.get_params("recon_shape")), np.float32)
        expected = np.stack([model.forward_project(one) for one in x])
        single = model.forward_project(new(x[0]))
        check.that(isinstance(single, Tensor) and relative(read(single), expected[0]) == 0, f"a model of a tensor: {type(single)}")
        projector = tomoprof.torch.Projector(model)
        for adjoint, given, result in ((False, x, expected), (True, expected, np.stack([model.back_project(one) for one in expected]))):
            found = tomoprof.torch._project._init_fn(new(given), projector.name, adjoint)
            check.that(found.is_cuda and relative(read(found), result) == 0, f"the layer on the device, adjoint {adjoint}")
    tomoprof.configure(backend="cpu")
    text = raised(TypeError, models()[0].forward_project, new(x[0]))
    check.that(text and ".cpu()" in text, f"no device: {text}")
    tomoprof.configure(backend="auto")


main(where_they_lie, refused, current_device, nothing_left, tensors)
