"""tomoprof.scipy: lsqr and cg on the operator of a model."""

import module

module.need("scipy")
import numpy as np
import scipy.sparse.linalg
from tool import main, relative

import tomoprof
import tomoprof.scipy
from tomoprof._partitions import get_2d_ror_mask


def solvers(check, folder):
    model = tomoprof.ParallelBeamModel((24, 2, 16), np.linspace(0, np.pi, 24, endpoint=False))
    shape = model.get_params("recon_shape")
    A = tomoprof.scipy.operator(model)
    inside = get_2d_ror_mask(shape)[:, :, None]
    truth = (np.random.default_rng(0).random(shape) * inside).astype(np.float32)
    y = A @ truth.ravel()
    check.that(A.shape == (24 * 2 * 16, truth.size) and A.dtype == np.float32 and relative(y, model.forward_project(truth).ravel()) == 0, f"{A}")
    check.that(relative((A.T @ y).reshape(shape), model.back_project(y.reshape(24, 2, 16))) == 0, "the adjoint")
    found = scipy.sparse.linalg.lsqr(A, y, iter_lim=300)[0].reshape(shape)
    check.that(relative(A @ found.ravel(), y) < 1e-3, f"lsqr leaves a residual of {relative(A @ found.ravel(), y):.2g}")
    normal = A.T @ A
    found, info = scipy.sparse.linalg.cg(normal, A.T @ y, maxiter=300, rtol=1e-4)
    error = relative(A.T @ (A @ found), A.T @ y)
    check.that(info == 0 and error < 2e-4, f"cg says {info}; the normal equations hold to {error:.2g}")
    check.that(relative(A @ np.stack([truth.ravel()] * 2, 1), np.stack([y] * 2, 1)) < 1e-6, "several columns")


main(solvers)
