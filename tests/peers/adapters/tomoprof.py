"""tomoprof itself, called from Python: what the package adds to the C function. Results go into an array that exists, as
ours.c's do, where the method has `out`."""

import inspect

import numpy as np
import tomoprof.mbirjax as package

from adapters.mbir_models import ct_model, operations

PACKAGES = ["numpy"]


def seeded():
    np.random.seed(0)
    return {}


def into_the_same(name):
    def prepare(geometry, array):
        call = getattr(ct_model(package, geometry), name)
        arguments = [] if array is None else [array]
        out = call(*arguments)  # it begins at a line of memory, as C's arrays do
        return lambda: call(*arguments, out=out), np.asarray
    return prepare


def median(_, array):
    out = package.median_filter3d(array)
    return lambda: package.median_filter3d(array, out=out), np.asarray


OPERATIONS = operations(package, lambda array: array, lambda result: result, ("fbp_recon", "fdk_recon"), seeded)
for beam, model in (("parallel", package.ParallelBeamModel), ("cone", package.ConeBeamModel)):
    for operation, name in (("forward_project", "forward_project"), ("back_project", "back_project"), ("hessian_diagonal", "compute_hessian_diagonal"),
                            ("fbp_filter", "fbp_filter"), ("fdk_filter", "fdk_filter"), ("fbp_recon", "fbp_recon"), ("fdk_recon", "fdk_recon")):
        if "out" in inspect.signature(getattr(model, name, len)).parameters:
            OPERATIONS[f"{beam}_{operation}"] = into_the_same(name)
if "out" in inspect.signature(package.median_filter3d).parameters:
    OPERATIONS["median_filter3d"] = median
