"""The qGGMRF prior as formulas, for comparisons and figures: potentials, gradients and second derivatives on whole volumes."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from tomoprof._arrays import FLOAT32, like
from tomoprof._vcd import prior_loss

EPSILON = float(numpy.finfo(FLOAT32).eps)


def get_b_from_nbr_wts(qggmrf_nbr_wts: Sequence[float]) -> tuple[float, ...]:
    """The weights of the six neighbours from those of the three axes; their sum is 1."""
    weights = numpy.repeat(numpy.asarray(qggmrf_nbr_wts, float), 2)
    return tuple(weights / weights.sum())


def b_tilde_by_definition(delta: Any, sigma_x: float, p: float, q: float, T: float) -> Any:
    """rho'(delta) / (2 delta) of the potential rho, for differences of any shape."""
    size = numpy.maximum(numpy.abs(numpy.asarray(delta)), T * sigma_x * EPSILON)
    ratio = (size / (T * sigma_x)) ** (q - p)
    return like(delta, size ** (p - 2) / (2 * sigma_x**p) * ratio * (q / p + ratio) / (1 + ratio) ** 2)


def get_2_b_tilde(delta: Any, b_for_delta: float, qggmrf_params: Sequence[Any]) -> Any:
    """b_for_delta rho'(delta) / delta. qggmrf_params: (b, sigma_x, p, q, T)."""
    return b_for_delta * 2.0 * b_tilde_by_definition(delta, *qggmrf_params[1:])


def _axes(b):
    return [(b[i] + b[i + 1]) / (2 * sum(b)) for i in (0, 2, 4)]


def _neighbours(volume, axis):
    """Differences with the neighbour before and with the one behind; 0 at the borders."""
    nothing = numpy.zeros_like(numpy.take(volume, [0], axis))
    differences = numpy.concatenate([nothing, numpy.diff(volume, axis=axis), nothing], axis)
    count = differences.shape[axis]
    return differences, numpy.arange(count - 1), numpy.arange(1, count)


def compute_surrogate_and_grad(x: Any, x_prime: Any, qggmrf_params: Sequence[Any]) -> tuple[Any, Any]:
    """The quadratic surrogate of the prior, made at x_prime, and its gradient, both at x. Volumes are (rows, columns, slices)."""
    at, of, (b, *rest) = numpy.asarray(x), numpy.asarray(x_prime), qggmrf_params
    value, gradient = FLOAT32.type(0), numpy.zeros_like(of)
    for axis, weight in enumerate(_axes(b)):
        curvature = b_tilde_by_definition(_neighbours(of, axis)[0], *rest)
        steps, before, behind = _neighbours(at, axis)
        back, forth = (numpy.take(curvature, part, axis) for part in (before, behind))
        left, right = (numpy.take(steps, part, axis) for part in (before, behind))
        value += 0.5 * weight * (forth * right * right + back * left * left).sum()
        gradient += (2 * weight * (back * left - forth * right)).astype(gradient.dtype)
    return like(x, numpy.asarray(value)), like(x, gradient)


def compute_qggmrf_grad_and_hessian(full_recon: Any, qggmrf_params: Sequence[Any]) -> tuple[Any, Any]:
    """Gradient and diagonal of the second derivative of the prior's surrogate at a volume (rows, columns, slices)."""
    x, (b, *rest) = numpy.asarray(full_recon), qggmrf_params
    gradient, hessian = numpy.zeros_like(x), numpy.zeros_like(x)
    for axis, weight in enumerate(_axes(b)):
        steps, before, behind = _neighbours(x, axis)
        curvature = b_tilde_by_definition(steps, *rest)
        back, forth = (numpy.take(curvature, part, axis) for part in (before, behind))
        hessian += (2 * weight * (forth + back)).astype(x.dtype)
        gradient += (2 * weight * (back * numpy.take(steps, before, axis) - forth * numpy.take(steps, behind, axis))).astype(x.dtype)
    return like(full_recon, gradient), like(full_recon, hessian)


def qggmrf_gradient_and_hessian_at_indices(flat_recon: Any, recon_shape: Sequence[int], pixel_indices: Any, qggmrf_params: Sequence[Any],
                                           left_halo: Any = None, right_halo: Any = None, interface_mask: Any = None) -> tuple[Any, Any]:
    """The same at pixels: flat_recon is (rows * columns, slices), the results are (pixels, slices). No halos: they are of JAX's shards."""
    if left_halo is not None or right_halo is not None or interface_mask is not None:
        raise NotImplementedError("left_halo, right_halo, interface_mask: tomoprof does not split a volume among devices")
    found = compute_qggmrf_grad_and_hessian(numpy.asarray(flat_recon).reshape(*recon_shape[:2], -1), qggmrf_params)
    pixels = numpy.asarray(pixel_indices)
    return tuple(like(flat_recon, part.reshape(-1, part.shape[2])[pixels]) for part in found)  # type: ignore[return-value]


def qggmrf_loss(full_recon: Any, qggmrf_params: Sequence[Any]) -> Any:
    """The prior's loss of a volume (rows, columns, slices)."""
    b, sigma_x, p, q, T = qggmrf_params
    x = numpy.asarray(full_recon)
    return x.size * prior_loss(x, (b[0] + b[1], b[2] + b[3], b[4] + b[5]), sigma_x, p, q, T)


def prox_gradient_at_indices(recon: Any, prox_input: Any, pixel_indices: Any, sigma_prox: float) -> Any:
    """The gradient of the proximal term at pixels: (recon - prox_input) / sigma_prox^2, of arrays (pixels, slices)."""
    return (recon[pixel_indices] - prox_input[pixel_indices]) / sigma_prox**2
