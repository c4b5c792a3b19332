"""Beam hardening as a curve and its inverse, on samples of any shape; functions of tomoprof.preprocess.

The curve is that of a spectrum of N equally spaced attenuations i * t0 with weights exp(t_i), where params is (t0, t1, .., tN):
h(p) = log(sum exp(t_i)) - log(sum exp(t_i - i t0 p)), without the first term where zero_offset_normalized is False."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy

from tomoprof._arrays import FLOAT32, Array, _of_any, like
from tomoprof._calls import integer
from tomoprof._parameters import plain


def _samples(array, name):
    values = _of_any(array, name)
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{name}: dtype is {values.dtype}; expected real numbers")
    return values.astype(float)


def _log_of_sum(terms):
    most = terms.max(0)
    return most + numpy.log(numpy.exp(terms - most).sum(0))


def _curve(p, params, normalized):
    weights = params[1:].reshape(-1, *[1] * p.ndim)
    number = numpy.arange(1, len(params)).reshape(weights.shape)
    through = -_log_of_sum(weights - number * params[0] * p)
    return through + _log_of_sum(params[1:]) if normalized else through


def _params(params):
    found = _samples(params, "params").reshape(-1)
    if found.size < 2 or not numpy.isfinite(found).all():
        raise ValueError(f"params: {found.size} numbers; expected two or more finite ones, theta_0 and log-weights")
    return found


def apply_beam_hardening_curve(linear_projection: Array, params: Any, zero_offset_normalized: bool = True) -> Array:
    """What a spectrum makes of line integrals: h(p) for params as `fit_beam_hardening_curve` returns them.

    linear_projection: line integrals without a unit, of any shape. Returns float32 of that shape."""
    return like(linear_projection, _curve(_samples(linear_projection, "linear_projection"), _params(params), zero_offset_normalized).astype(FLOAT32))


def fit_beam_hardening_curve(linear_projection: Array, target_projection: Array, num_parameters: int = 5, zero_offset_normalized: bool = True) -> numpy.ndarray:
    """Finds the params of the curve that leads from line integrals to measured ones, by least squares. Needs SciPy.

    linear_projection, target_projection: as many samples; pairs with one that is not finite or at most 1e-6 do not count."""
    number = integer("num_parameters", num_parameters, 2)
    p, y = _samples(linear_projection, "linear_projection").ravel(), _samples(target_projection, "target_projection").ravel()
    if p.size != y.size:
        raise ValueError(f"target_projection: {y.size} samples; expected {p.size}, as many as linear_projection has")
    valid = numpy.isfinite(p) & numpy.isfinite(y) & (p > 1e-6) & (y > 1e-6)
    p, y = p[valid], y[valid]
    if not p.size:
        raise ValueError("linear_projection, target_projection: no pair of samples above 1e-6")
    try:
        from scipy.optimize import least_squares
    except ImportError:
        raise ImportError("fit_beam_hardening_curve needs SciPy: pip install scipy") from None
    fit = least_squares(lambda params: _curve(p, params, zero_offset_normalized) - y, numpy.eye(1, number)[0], max_nfev=20 * number,
                        ftol=1e-5, xtol=1e-5, gtol=1e-5)
    if not fit.success:
        warnings.warn(f"The fit of the beam hardening curve ended before it converged: {fit.message}", RuntimeWarning, stacklevel=2)
    return fit.x


def fit_inverse_beam_hardening_curve(forward_params: Any, vmin: float = 0.0, vmax: float = 5.0, degree: int = 10, num_samples: int = 2000,
                                     zero_offset_normalized: bool = True) -> tuple:
    """A Chebyshev series that leads from measured line integrals between vmin and vmax back to those of the attenuation at p = 0.

    Returns (coefficients, (vmin, vmax)) for `apply_inverse_beam_hardening_curve`."""
    params, (low, high) = _params(forward_params), (float(plain(v)) for v in (vmin, vmax))
    degree, count = integer("degree", degree, 1), integer("num_samples", num_samples, 2)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"vmin is {vmin}, vmax is {vmax}; expected finite numbers, vmin below vmax")
    if count < degree + 1:
        raise ValueError(f"num_samples is {count}; expected degree + 1, {degree + 1}, or more")

    def curve(p):
        return _curve(numpy.asarray(p, float), params, zero_offset_normalized)

    slope = (curve(1e-6) - curve(0.0)) / 1e-6
    longest = max(1.0, abs(high) + 1.0)
    for _ in range(64):
        if curve(longest) >= high:
            break
        longest *= 2
    else:
        raise ValueError(f"vmax is {high}: the curve does not reach it")
    paths = numpy.linspace(0, longest, 4 * count)
    values = curve(paths)
    order = numpy.argsort(values, kind="stable")
    values, first = numpy.unique(values[order], return_index=True)
    if len(values) < degree + 1:
        raise ValueError("forward_params: the curve is flat and has no inverse")
    if low < values[0]:
        warnings.warn(f"vmin is {low}, below the curve's {values[0]:.3g} at 0: the inverse is 0 there", RuntimeWarning, stacklevel=2)
    samples = numpy.linspace(low, high, count)
    lengths = numpy.interp(samples, values, paths[order][first])
    return numpy.polynomial.chebyshev.chebfit(2 * (samples - low) / (high - low) - 1, lengths * slope, degree), (low, high)


def apply_inverse_beam_hardening_curve(beam_hardened_projection: Array, cheb_coeffs: Any, y_domain: Any, clip: bool = False) -> Array:
    """Measured line integrals, of any shape, made linear by the series of `fit_inverse_beam_hardening_curve`. Returns float32 of that shape.

    clip: values outside of y_domain count as its ends; else the series goes on, with a warning."""
    y, coefficients = _samples(beam_hardened_projection, "beam_hardened_projection"), _samples(cheb_coeffs, "cheb_coeffs").reshape(-1)
    low, high = (float(plain(v)) for v in y_domain)
    if not low < high:
        raise ValueError(f"y_domain is {(low, high)}; expected the lower end first")
    if clip:
        y = y.clip(low, high)
    elif (y < low).any() or (y > high).any():
        warnings.warn(f"beam_hardened_projection has values outside of y_domain, {(low, high)}", RuntimeWarning, stacklevel=2)
    return like(beam_hardened_projection, numpy.polynomial.chebyshev.chebval(2 * (y - low) / (high - low) - 1, coefficients).astype(FLOAT32))
