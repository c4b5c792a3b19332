"""Robust weights beside metal."""

from __future__ import annotations

import numpy

from tomoprof._arrays import FLOAT32, Array, host, like
from tomoprof._calls import number


def gen_huber_weights(weights: Array, sino_error: Array, T: float = 1.0, delta: float = 1.0, epsilon: float = 1e-6) -> Array:
    """Factors for weights (views, detector rows, channels) by Huber's function: 1 where the error is at most T deviations, smaller beyond.

    sino_error: the sinogram minus the projection of the volume. delta: 1 for Huber's function, 0 leaves outliers out."""
    if not 0.0 <= delta <= 1.0:
        raise ValueError("delta must be between 0 and 1.")
    w = host(weights, "weights")
    error, limit = host(sino_error, "sino_error", w.shape), number("T", T)
    deviation = 1 / numpy.maximum(numpy.sqrt(w), FLOAT32.type(epsilon))
    scale = numpy.linalg.norm(error.ravel()) / (numpy.linalg.norm(deviation.ravel()) + epsilon)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        size = numpy.abs(error / (FLOAT32.type(scale) * deviation))
    return like(weights, numpy.where(size <= limit, FLOAT32.type(1), (FLOAT32.type(delta * limit) / (size + FLOAT32.type(epsilon)))).astype(FLOAT32))
