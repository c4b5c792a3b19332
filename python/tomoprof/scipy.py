"""Projections as linear operators of SciPy, for lsqr, cg and their like.

    A = tomoprof.scipy.operator(model)
    x = scipy.sparse.linalg.lsqr(A, sinogram.ravel(), iter_lim=20)[0].reshape(model.get_params("recon_shape"))"""

import math

import numpy
from scipy.sparse.linalg import LinearOperator

from tomoprof._arrays import require_model

__all__ = ["operator"]


def operator(model):
    """The projection of a model as a LinearOperator of float32 from voxels to samples, both in C order; its adjoint is exact."""
    require_model(model)
    volume, sinogram = (tuple(shape) for shape in model.get_params(["recon_shape", "sinogram_shape"]))

    def project(x):
        return model.forward_project(numpy.asarray(x).reshape(volume)).ravel()

    def back(y):
        return model.back_project(numpy.asarray(y).reshape(sinogram)).ravel()

    return LinearOperator((math.prod(sinogram), math.prod(volume)), matvec=project, rmatvec=back, dtype=numpy.float32)
