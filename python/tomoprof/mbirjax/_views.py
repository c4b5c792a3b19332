"""Which views tell most of an object: the view covariance loss (Lin et al., IEEE TPAMI 2025), by the names of mbirjax.vcls."""

from __future__ import annotations

import os
import random
import tempfile
import warnings
from typing import Any, Optional

import numpy

from tomoprof._arrays import FLOAT32, host
from tomoprof._calls import VOLUME
from tomoprof._partitions import get_2d_ror_mask

NONE = numpy.array([], dtype=int)


def subsample_R_gamma(R: Any, gamma: Any, selected_indices: Any) -> tuple[Any, Any]:
    """The rows and columns of R, and the rows of gamma, that are selected."""
    return R[selected_indices[:, None], selected_indices], gamma[selected_indices, :]


def compute_vcl(sub_R: Any, sub_gamma: Any) -> float:
    """1 - gamma' R^-1 gamma: small where the views tell much of the object and repeat each other little."""
    return float((1 - sub_gamma.T @ numpy.linalg.solve(sub_R, sub_gamma)).item())


def max_abs_neighbor_diff(arr: Any) -> numpy.ndarray:
    """The largest difference of each pixel of an image from its four neighbours."""
    image = numpy.asarray(arr)
    padded, best = numpy.pad(image, 1, mode="reflect"), numpy.zeros_like(image)
    for part in (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]):
        numpy.maximum(best, numpy.abs(image - part), out=best)
    return best


def get_2d_subsampling_indices(mask: Any, r_1: float, seed: Optional[int] = None, blue_noise: bool = False) -> tuple[Any, tuple[Any, Any]]:
    """Draws the fraction r_1 of the pixels of a mask by numpy.random. Returns (flat indices, (rows, columns)). blue_noise is not there."""
    if r_1 <= 0 or r_1 > 1:
        raise ValueError("r_1 must be in the range (0, 1].")
    if blue_noise:
        raise NotImplementedError("blue_noise: tomoprof draws uniformly; MBIRJAX's pattern of blue noise is not in tomoprof")
    flat = numpy.asarray(mask).ravel()
    if seed is not None:
        numpy.random.seed(seed)
    pixels = numpy.random.choice(numpy.flatnonzero(flat > 0), size=min(int(flat.sum() * r_1), int(flat.sum())), replace=False)
    return pixels, numpy.unravel_index(pixels, numpy.shape(mask))  # type: ignore[return-value]


def _one_view(model):
    """A model of the same geometry with a single view, whose parameters `set_view_parameters` changes."""
    name, shape, volume = model.get_params("view_params_name"), model.get_params("sinogram_shape"), model.get_params("recon_shape")
    views = numpy.asarray(model.get_params(name))
    single = model.__copy__()
    single.set_params(no_warning=True, sinogram_shape=(1, *shape[1:]), recon_shape=volume, **{name: views[:1]})
    return single, views


def compute_view_basis_functions(ct_model: Any, ref_object: Any, r_1: float, data_store_dir: Any, seed: Optional[int] = None, roi: Any = None) -> numpy.ndarray:
    """Back projects each filtered view of an object (rows, columns, slices) into the fraction r_1 of its pixels, and writes
    view_basis_functionN.npy, each of norm 1, into a folder. roi: booleans, which voxels count.

    Returns (views, 1): the inner products with the object."""
    x = host(ref_object, "ref_object", tuple(ct_model.get_params("recon_shape")), VOLUME)
    inside = None if roi is None else numpy.asarray(roi, bool)
    mask = get_2d_ror_mask(x.shape[:2]) if inside is None else inside.any(2)
    pixels, _ = get_2d_subsampling_indices(mask, r_1, seed=seed)
    kept = numpy.ones((len(pixels), x.shape[2]), bool) if inside is None else inside.reshape(-1, x.shape[2])[pixels]

    def direction(cylinders):
        values = numpy.asarray(cylinders)[kept]
        return values / (numpy.linalg.norm(values) + FLOAT32.type(1e-12))

    wanted = direction(x.reshape(-1, x.shape[2])[pixels])
    filtered = ct_model.direct_filter(ct_model.forward_project(x))
    single, views = _one_view(ct_model)
    gamma = numpy.zeros((len(views), 1))
    for i in range(len(views)):
        single.set_view_parameters(views[i:i + 1])
        basis = direction(single.sparse_back_project(filtered[i:i + 1], pixels))
        numpy.save(os.path.join(data_store_dir, f"view_basis_function{i}.npy"), basis)
        gamma[i, 0] = basis @ wanted
    return gamma


def compute_cov_matrix(num_views: int, data_store_dir: Any, batch_size: int = 100) -> numpy.ndarray:
    """The inner products (views, views) of what `compute_view_basis_functions` wrote, with at most 2 batch_size of them in memory."""
    def load(first):
        names = (os.path.join(data_store_dir, f"view_basis_function{i}.npy") for i in range(first, min(first + batch_size, num_views)))
        return numpy.stack([numpy.load(name).ravel() for name in names])

    matrix, starts = numpy.zeros((num_views, num_views)), range(0, num_views, batch_size)
    for a in starts:
        one = load(a)
        for b in starts[a // batch_size:]:
            two = one if b == a else load(b)
            matrix[a:a + len(one), b:b + len(two)] = one @ two.T
            matrix[b:b + len(two), a:a + len(one)] = matrix[a:a + len(one), b:b + len(two)].T
    return matrix


def compute_opt_angle_subset(R: Any, gamma: Any, candidate_angles: Any, K: int, r_2: float, prev_selected_view_inds: Any, search_min: int = 30,
                             max_iterations: int = 100, seed: Optional[int] = None) -> tuple[Any, float]:
    """Looks for K views, beside those selected before, of the least loss: each is exchanged at random as long as that helps.

    r_2: the fraction of the other views that is tried for each, at least search_min. seed: of random and numpy.random.
    Returns (indices in ascending order, loss)."""
    if seed is not None:
        random.seed(seed)
        numpy.random.seed(seed)
    free = numpy.setdiff1d(numpy.arange(len(candidate_angles)), prev_selected_view_inds)
    others = len(free) - K
    if K <= 0:
        raise ValueError(f"K must be positive. Received K={K}")

    def loss(views):
        return compute_vcl(*subsample_R_gamma(R, gamma, views))

    if others <= 0:
        warnings.warn(f"Requested {K} views, but only {len(free)} available. Returning all candidates.", stacklevel=2)
        return free, loss(free)
    tried = min(max(int(r_2 * others), search_min), others)
    chosen = free[numpy.linspace(0, len(free), K, endpoint=False).astype(int)]
    best = loss(numpy.concatenate((prev_selected_view_inds, chosen)))
    for _ in range(max_iterations):
        before = chosen.copy()
        for place in range(K):
            candidates = numpy.setdiff1d(free, chosen, assume_unique=True).tolist()
            random.shuffle(candidates)
            for view in candidates[:tried]:
                other = chosen.copy()
                other[place] = view
                value = loss(numpy.concatenate((prev_selected_view_inds, other)))
                if value < best:
                    best, chosen = value, other
        if (chosen == before).all():
            break
    return numpy.sort(chosen), best


def reorder_by_priority(optimal_angle_inds: Any, prev_selected_view_inds: Any, R: Any, gamma: Any) -> numpy.ndarray:
    """Orders views from the one that helps most: those whose loss hurts least go first to the end."""
    left, dropped = numpy.asarray(optimal_angle_inds), []
    while len(left) > 1:
        losses = [compute_vcl(*subsample_R_gamma(R, gamma, numpy.concatenate((prev_selected_view_inds, numpy.delete(left, i))))) for i in range(len(left))]
        least = int(numpy.argmin(losses))
        dropped.append(left[least])
        left = numpy.delete(left, least)
    return numpy.array([*left, *dropped[::-1]])


def get_opt_views(ct_model: Any, reference_object: Any, num_selected_views: int, r_1: float = 0.002, r_2: float = 0.5, prev_selected_view_inds: Any = NONE,
                  priority_order: bool = False, verbose: int = 0, seed: Optional[int] = None, roi: Any = None) -> tuple[Any, float]:
    """Chooses the views of a model that tell most of an object (rows, columns, slices).

    r_1: the fraction of the pixels that is looked at. r_2: the fraction of the views that is tried for each. prev_selected_view_inds: views
    that count as chosen. priority_order: from the most important one. seed: for a reproducible choice. roi: booleans, which voxels count.
    Returns (indices of the views, loss)."""
    shape = tuple(ct_model.get_params("recon_shape"))
    if tuple(reference_object.shape) != shape:
        raise ValueError(f"The recon shape from ct_model and reference_object.shape must match.\n Got ct_model recon_shape = {shape}, "
                         f"reference_shape = {tuple(reference_object.shape)}.")
    if roi is not None and numpy.shape(roi) != shape:
        raise ValueError(f"roi.shape and reference_object.shape must match.\n Got roi.shape = {numpy.shape(roi)}, reference_object.shape = {shape}.")
    views, before = ct_model.get_params("sinogram_shape")[0], numpy.asarray(prev_selected_view_inds)
    if before.size and not (before.dtype.kind in "iu" and before.min() >= 0 and before.max() < views):
        raise ValueError(f"prev_selected_view_inds must contain integers in the range [0, {views}).")
    with tempfile.TemporaryDirectory() as folder:
        gamma = compute_view_basis_functions(ct_model, reference_object, r_1, folder, seed=seed, roi=roi)
        R = compute_cov_matrix(views, folder)
    if verbose > 0:
        _show(R, gamma)
    chosen, loss = compute_opt_angle_subset(R, gamma, numpy.arange(views), num_selected_views, r_2, before.astype(int), seed=seed)
    return (reorder_by_priority(chosen, before.astype(int), R, gamma) if priority_order else chosen), loss


def _show(R, gamma):
    from tomoprof.mbirjax._viewer import pyplot
    figure, axes = pyplot().subplots(1, 3, figsize=(12, 4))
    for one, image, title in zip(axes, (R, numpy.linalg.inv(R)), ("R: covariance of views", "Inverse of R")):
        one.imshow(image)
        one.set_title(title)
    axes[2].plot(gamma)
    axes[2].set_title("gamma")
    figure.tight_layout()
    pyplot().show()
