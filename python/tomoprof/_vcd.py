"""A run of vectorized coordinate descent for the library: its options, its subsets of pixels, its report, its bar."""

from __future__ import annotations

import ctypes

import numpy

from tomoprof import _library
from tomoprof._arrays import address
from tomoprof._progress import Moved
from tomoprof._random import random_seed


class Visits:
    """Partitions of pixels, the one that each iteration takes, and the order of its subsets, drawn by numpy.random as MBIRJAX does."""

    def __init__(self, partitions, sequence) -> None:
        self.partitions = [self._rows(partition, i) for i, partition in enumerate(partitions)]
        numbers = numpy.asarray(sequence)
        if numbers.ndim != 1 or (numbers.size and (numbers.dtype.kind not in "iu" or not 0 <= numbers.min() <= numbers.max() < len(self.partitions))):
            raise ValueError(f"partition_sequence is {sequence!r}; expected indices of the {len(self.partitions)} partitions")
        self.sequence = numpy.ascontiguousarray(numbers, numpy.int32)
        orders = [numpy.random.permutation(len(self.partitions[i])) for i in self.sequence]
        self.orders = numpy.concatenate(orders).astype(numpy.int32) if orders else numpy.empty(0, numpy.int32)

    @staticmethod
    def _rows(partition, number):
        rows = numpy.asarray(partition)
        if rows.ndim != 2 or rows.dtype.kind not in "iu" or not rows.size or rows.min() < 0 or rows.max() >= 1 << 31:
            raise ValueError(f"partitions[{number}]: {rows.dtype} of shape {rows.shape}; expected pixel indices (subsets, pixels)")
        return numpy.ascontiguousarray(numpy.sort(rows, axis=1), numpy.int32)

    def fill(self, options):
        """Points `options` at this. Returns what must live as long as they."""
        rows = (_library.PartitionRows * len(self.partitions))()
        for row, partition in zip(rows, self.partitions):
            row.size, row.pixels = ctypes.sizeof(_library.PartitionRows), partition.ctypes.data
            row.subsets, row.length = partition.shape
        options.partitions, options.partition_count = rows, len(rows)
        options.sequence, options.orders = self.sequence.ctypes.data, self.orders.ctypes.data
        return rows, self


class Run:
    """`options` and `report` of a call, and what must live as long as they. Without visits the library draws its schedule."""

    def __init__(self, iterations, threshold, weights=None, initial=None, prox=None, first=0, visits=None) -> None:
        arrays = [None if array is None else _library.Array(array.shape, address(array)) for array in (weights, initial, prox)]
        pointers = [ctypes.pointer(array) if array else None for array in arrays]
        seed = random_seed() if visits is None else 0
        self.iterations, self.weights = iterations, weights
        self.options = _library.ReconOptions(ctypes.sizeof(_library.ReconOptions), iterations, threshold, seed, 0, *pointers, first)
        lists = [(ctypes.c_double * max(iterations, 1))() for _ in range(3)]
        self.report = _library.ReconReport(size=ctypes.sizeof(_library.ReconReport), room=iterations)
        self.report.fm_rmse, self.report.change_percent, self.report.alpha = lists
        self._keep = arrays, lists, initial, prox, visits and visits.fill(self.options)

    def stats(self, name):
        """A number for each iteration that was done: "fm_rmse", "change_percent" or "alpha"."""
        return [float(value) for value in getattr(self.report, name)[:min(self.report.iterations, self.iterations)]]


def prior_loss(volume, weights, sigma_x, p, q, T):
    """The qGGMRF prior of a volume, a voxel: MBIRJAX's qggmrf_loss over the number of voxels."""
    total, loss = 2 * sum(weights), 0.0
    for axis, weight in enumerate(weights):
        delta = numpy.maximum(numpy.abs(numpy.diff(volume, axis=axis)), T * sigma_x * numpy.finfo(numpy.float32).eps)
        share = (delta / (T * sigma_x)) ** (q - p)
        loss += weight / total * float((delta**p / (p * sigma_x**p) * share / (1 + share)).sum(dtype=float))
    return loss / volume.size


class Bar:
    """A tqdm bar of a call's progress on a terminal or in a notebook, beside the caller's callback; nothing where tqdm is missing or the
    callback is a bar."""

    def __init__(self, call, title, wanted) -> None:
        self.bar = None
        if not wanted or type(call.callback) is Moved:
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self.bar = tqdm(desc=title, disable=None, leave=False, unit="iteration")  # None: in text that is not on a terminal
        if self.bar.disable:
            self.bar = None
            return
        self.move, self.callback, call.callback = Moved(self.bar), call.callback, self.step

    def step(self, done, total):
        self.move(done, total)
        return self.callback(done, total) if self.callback else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()
