"""Beam hardening of an object of plastic and metals: a polynomial of their sinograms, fitted to the measured one."""

from __future__ import annotations

import itertools
import os
import warnings
from typing import Any, Optional

import numpy

from tomoprof._arrays import FLOAT32, Array, host, like
from tomoprof._calls import SINOGRAM, VOLUME, integer, number
from tomoprof._files import merge_log_files
from tomoprof._segments import compute_scaling_factor, segment_plastic_metal

SUPPORT = 1e-3  # of a metal's sinogram, whose maximum is 1: where less is, its polynomial cannot be bound
TOLERANCE = -1e-5


def exponents(metals, order):
    """Exponents of `metals` sinograms of degree 1 to `order`, by their degree."""
    return sorted((powers for powers in itertools.product(range(order + 1), repeat=metals) if 0 < sum(powers) <= order), key=sum)


class Polynomial:
    """y = p (t0 + cross terms of the metals) + terms of the metals alone: its columns on normalised sinograms p and m."""

    def __init__(self, plastic, metals, order) -> None:
        self.plastic, self.metals = plastic, metals
        cross, alone = exponents(len(metals), order - 1), exponents(len(metals), order)
        self.terms = [(1, *(0,) * len(metals)), *((1, *powers) for powers in cross), *((0, *powers) for powers in alone)]
        self.with_plastic = 1 + len(cross)

    def column(self, powers, at=...):
        """The product of the sinograms with these powers, or its values at some samples."""
        product = numpy.ones_like(self.plastic[at])
        for array, power in zip((self.plastic, *self.metals), powers):
            if power:
                product = product * array[at] ** power
        return product

    def factor_of_plastic(self, theta):
        """What p is multiplied by."""
        return sum(FLOAT32.type(t) * self.column((0, *powers[1:])) for t, powers in zip(theta, self.terms[:self.with_plastic]))

    def of_metal(self, theta):
        return sum(FLOAT32.type(t) * self.column(powers) for t, powers in zip(theta[self.with_plastic:], self.terms[self.with_plastic:]))

    def normal_equations(self, y, alpha, beta):
        """(P, q) of the fit 1/2 t'Pt + q't; terms of a higher degree are held down more."""
        columns = [self.column(powers).ravel() for powers in self.terms]
        matrix = numpy.array([[numpy.dot(one, two) for two in columns] for one in columns], float)
        weights = 1 + numpy.array([sum(powers) for powers in self.terms], float) ** alpha
        matrix += numpy.diag(beta * matrix.trace() / weights.sum() * weights)
        return matrix, -numpy.array([numpy.dot(column, y.ravel()) for column in columns], float)


def least_within(matrix, slope, rows, bounds):
    """The t that makes 1/2 t'Pt + q't least where rows t <= bounds: of the dual, whose variables are not negative, by active sets."""
    inverse = numpy.linalg.inv(matrix)
    dual, right = rows @ inverse @ rows.T, bounds + rows @ inverse @ slope
    dual += 1e-11 * dual.trace() * numpy.eye(len(rows))  # rows may depend on each other
    multipliers, active = numpy.zeros(len(rows)), numpy.zeros(len(rows), bool)
    for _ in range(100 + 10 * len(rows)):
        gradient = dual @ multipliers + right
        gradient[active] = 0
        if gradient.min(initial=0) > -1e-12 * (1 + abs(right).max(initial=0)):
            break
        active[gradient.argmin()] = True
        while True:
            found = numpy.zeros(len(rows))
            found[active] = numpy.linalg.solve(dual[numpy.ix_(active, active)], -right[active])
            if found[active].min() > 0:
                break
            falls = active & (found <= 0)
            step = (multipliers[falls] / numpy.maximum(multipliers[falls] - found[falls], 1e-300)).min()
            multipliers = multipliers + step * (found - multipliers)
            active &= multipliers > 1e-300
            if not active.any():
                return -inverse @ (slope + rows.T @ multipliers)
        multipliers = found
    return -inverse @ (slope + rows.T @ multipliers)


def fit(polynomial, y, alpha, beta, updates):
    """Coefficients with which neither the plastic's factor nor what the metals leave of y is negative where that was worst."""
    matrix, slope = polynomial.normal_equations(y, alpha, beta)
    theta, split = numpy.linalg.solve(matrix, -slope), polynomial.with_plastic
    rows, bounds, seen = [], [], set()
    metal = numpy.logical_or.reduce([array > SUPPORT for array in polynomial.metals])
    for _ in range(updates):
        found = []
        for kind, values in (("plastic", polynomial.factor_of_plastic(theta)), ("rest", numpy.where(metal, y - polynomial.of_metal(theta), numpy.inf))):
            at = numpy.unravel_index(values.argmin(), y.shape)
            found.append((kind, at, float(values[at])))
        for kind, at, value in found:
            if value >= TOLERANCE or (kind, at) in seen:
                continue
            seen.add((kind, at))
            plastic = kind == "plastic"
            row = numpy.array([polynomial.column((0, *powers[1:]) if plastic else powers, at) for powers in polynomial.terms], float)
            row[split:] *= not plastic
            row[:split] *= -1 if plastic else 0
            rows.append(row)
            bounds.append(0.0 if plastic else max(float(y[at]), 0.0))
        if all(value >= TOLERANCE for _, _, value in found):
            break
        theta = least_within(matrix, slope, numpy.array(rows), numpy.array(bounds))
    return theta


def correct_sino_plastic_metal(ct_model: Any, measured_sino: Array, recon: Array, num_metal: int = 1, order: int = 3, alpha: float = 1, beta: float = 0.002, gamma: float = 0.1,
                               num_constraint_update_iter: int = 10, radial_margin: Optional[int] = None, top_margin: Optional[int] = None,
                               bottom_margin: Optional[int] = None) -> Array:
    """Corrects beam hardening of a sinogram (views, detector rows, channels) of plastic and num_metal metals, which are found in a volume by `segment_plastic_metal`.

    order: degree of the polynomial of their sinograms. beta: holds coefficients down, alpha those of higher degrees more. gamma: least factor
    of the plastic, over its mean. num_constraint_update_iter: so often the samples with the worst negative values are bound to 0."""
    metals, order, updates = integer("num_metal", num_metal, 1), integer("order", order, 1), integer("num_constraint_update_iter", num_constraint_update_iter)
    gamma, beta = number("gamma", gamma), number("beta", beta)
    y = host(measured_sino, "measured_sino", tuple(ct_model.get_params("sinogram_shape")), SINOGRAM)
    x = host(recon, "recon", tuple(ct_model.get_params("recon_shape")), VOLUME)
    mask, masks, scale, _ = segment_plastic_metal(x, metals, radial_margin, top_margin, bottom_margin)
    sinos = [FLOAT32.type(scale) * ct_model.forward_project(mask), *(ct_model.forward_project(one * x) for one in masks)]
    sizes = [float(abs(sino).max()) for sino in sinos]
    for name, size in zip(("plastic", *(f"metal {i}" for i in range(metals))), sizes):
        if not size > 0:
            raise ValueError(f"no voxel is {name}: its projection is empty. Check the volume, num_metal={metals} and the margins.")
    plastic, *of_metals = (sino / FLOAT32.type(size) for sino, size in zip(sinos, sizes))
    polynomial = Polynomial(plastic, of_metals, order)
    theta = fit(polynomial, y, number("alpha", alpha), beta, updates)
    factor = polynomial.factor_of_plastic(theta)
    mean = factor.mean(dtype=float)
    if mean <= 0:
        warnings.warn("the mean factor of the plastic is negative", RuntimeWarning, stacklevel=2)
    corrected = FLOAT32.type(sizes[0]) * numpy.maximum(y - polynomial.of_metal(theta), 0) / numpy.maximum(factor, FLOAT32.type(gamma * mean))
    alone = (plastic != 0) & numpy.logical_and.reduce([array == 0 for array in of_metals])
    corrected = FLOAT32.type(compute_scaling_factor(numpy.where(alone, y, 0), numpy.where(alone, corrected, 0))) * corrected
    return like(measured_sino, (corrected + sum(sinos[1:])).astype(FLOAT32))


def recon_plastic_metal(ct_model: Any, sino: Array, weights: Array, num_BH_iterations: int = 3, num_constraint_update_iter: int = 10, stop_threshold_change_pct: float = 0.2,
                        num_metal: int = 1, order: int = 3, alpha: float = 1, beta: float = 0.002, gamma: float = 0.1, verbose: int = 0, output_sharded: bool = False,
                        max_iterations: int = 15, logfile_path: Optional[str] = None, radial_margin: Optional[int] = None, top_margin: Optional[int] = None,
                        bottom_margin: Optional[int] = None) -> Array:
    """Reconstructs plastic and metal by turns: `correct_sino_plastic_metal` with the volume so far, then MBIR of that. num_metal 0: MBIR alone.

    A cone beam is reconstructed by `split_sino_recon`. logfile_path: gets the logs of all turns. Other arguments are those of both."""
    metals, turns = integer("num_metal", num_metal), integer("num_BH_iterations", num_BH_iterations)
    call = getattr(ct_model, "split_sino_recon", ct_model.recon)
    options: dict[str, Any] = {"weights": weights, "max_iterations": max_iterations, "stop_threshold_change_pct": stop_threshold_change_pct}
    if metals == 0:
        return call(sino, logfile_path=logfile_path, **options)[0]
    path = os.path.abspath(os.path.expanduser(logfile_path)) if logfile_path else None
    logs = [None if path is None else f"{path}.pass{i + 1}" for i in range(turns)]
    volume = ct_model.direct_recon(sino)
    try:
        for i, log in enumerate(logs):
            if verbose >= 1:
                print(f"Beam hardening {i + 1} of {turns}")
            corrected = correct_sino_plastic_metal(ct_model, sino, volume, metals, order, alpha, beta, gamma, num_constraint_update_iter, radial_margin,
                                                   top_margin, bottom_margin)
            volume = call(corrected, init_recon=volume, logfile_path=log, **options)[0]
    finally:
        if path is not None:
            merge_log_files(path, [(f"recon_plastic_metal: BH pass {i + 1}", log) for i, log in enumerate(logs)])
    return volume
