"""Times methods of the package beside the C functions that they call: on the very same arrays, in one process, in turn.

    PYTHONPATH=python TOMOPROF_LIBRARY=build/libtomoprof.so.0 python3 tests/peers/same_arrays.py [--sizes 128 256] [--threads 2] [--seconds 8]

What differs is the package alone: python.py compares two processes, whose memory begins elsewhere. Prints a Markdown table of CPU times of all
threads: the least of C, the ratio of the least, and the median of the pairs' ratios, which other work on the machine changes least."""

import argparse
import ctypes
import statistics
import time

import numpy as np

import tomoprof
from tomoprof import _library as library


def reference(array):
    return None if array is None else ctypes.byref(library.Array(array.shape, array.ctypes.data))


class Bare:
    """The library as a program in C calls it: a context that tells nothing, and a model."""

    def __init__(self, model, threads):
        self.library = ctypes.CDLL(library.library_path())  # without types to check
        self.context, self.model, text = ctypes.c_void_p(), ctypes.c_void_p(), model._text()
        options = library.ContextOptions(ctypes.sizeof(library.ContextOptions), b"cpu", threads)
        for status in (self.library.tomoprof_context_create(ctypes.byref(options), ctypes.byref(self.context)),
                       self.library.tomoprof_model_parse(self.context, text, ctypes.c_size_t(len(text)), ctypes.byref(self.model))):
            assert status == 0, status

    def call(self, name, *arguments, model=True):
        function = getattr(self.library, "tomoprof_" + name)
        given = (self.context, *([self.model] if model else []), *(reference(a) if isinstance(a, np.ndarray) else a for a in arguments))
        return lambda: function(*given)


def calls(model, threads):
    """{name: (method, C function)}, both into the same array."""
    random = np.random.default_rng(0)
    x, y = (random.random(model.get_params(name), dtype=np.float32) for name in ("recon_shape", "sinogram_shape"))
    to_x, to_y, bare = np.empty_like(x), np.empty_like(y), Bare(model, threads)
    return {"forward_project": (lambda: model.forward_project(x, out=to_y), bare.call("forward_project", x, to_y)),
            "back_project": (lambda: model.back_project(y, out=to_x), bare.call("back_project", y, to_x)),
            "compute_hessian_diagonal": (lambda: model.compute_hessian_diagonal(out=to_x), bare.call("hessian_diagonal", None, to_x)),
            "direct_filter": (lambda: model.direct_filter(y, out=to_y), bare.call("direct_filter", y, to_y)),
            "direct_recon": (lambda: model.direct_recon(y, out=to_x), bare.call("direct_recon", 0, y, to_x)),
            "median_filter3d": (lambda: tomoprof.median_filter3d(x, out=to_x), bare.call("median_filter3d", x, to_x, model=False))}


def cpu(function):
    began = time.process_time()
    function()
    return time.process_time() - began


def pairs(method, function, seconds):
    """CPU times [method, C] of calls in turn, each first in every second pair."""
    method(), function()
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(found) < 3:
        if len(found) % 2:
            found.append([cpu(method), cpu(function)])
        else:
            found.append([cpu(function), cpu(method)][::-1])
    return np.array(found)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--sizes", type=int, nargs="+", default=[128, 256])
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--seconds", type=float, default=8, help="of each row (default 8)")
    o = p.parse_args()
    tomoprof.configure(threads=o.threads)
    print("| method | N | C, ms | least / least | median of pairs | pairs |\n|---|---|---|---|---|---|", flush=True)
    for size in o.sizes:
        views = 64 if size <= 128 else size
        angles = np.linspace(0, np.pi, views, endpoint=False)
        for beam, model in (("parallel", tomoprof.ParallelBeamModel((views, size, size), angles)),
                            ("cone", tomoprof.ConeBeamModel((views, size, size), 2 * angles, 4.0 * size, 2.0 * size))):
            for name, (method, function) in calls(model, o.threads).items():
                if (beam, name) == ("cone", "median_filter3d"):
                    continue
                found = pairs(method, function, o.seconds)
                least = found.min(0)
                print(f"| {beam}: {name} | {size} | {1e3 * least[1]:.3g} | {least[0] / least[1]:.3f} | {statistics.median(found[:, 0] / found[:, 1]):.3f} | {len(found)} |", flush=True)


if __name__ == "__main__":
    main()
