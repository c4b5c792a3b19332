"""Small functions of mbirjax.preprocess."""

from __future__ import annotations

from typing import Any

import numpy

from tomoprof._arrays import Array, host, like


def put_in_slice(array: Array, flat_indices: Array, value: Any) -> Array:
    """A copy of (views, detector rows, channels) with `value` at flat_indices, row * channels + channel, of all views."""
    result = host(array, "array").copy()
    result.reshape(len(result), -1)[:, numpy.asarray(flat_indices)] = value
    return like(array, result)


def unit_vector(v: Any) -> numpy.ndarray:
    """The vector over its length."""
    return numpy.asarray(v) / numpy.linalg.norm(v)


def project_vector_to_vector(u1: Any, u2: Any) -> numpy.ndarray:
    """The part of u1 along u2."""
    along = unit_vector(u2)
    return numpy.dot(u1, along) * along
