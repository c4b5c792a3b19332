import tempfile

import numpy as np
import svmbir

from adapters.common import angles, threads

PACKAGES = ["svmbir", "numpy"]
# svmbir stores its system matrix here at the first call and reads it at each later one.
LIBRARY = tempfile.TemporaryDirectory(prefix="svmbir-")
COMMON = {"verbose": 0, "svmbir_lib_path": LIBRARY.name, "num_threads": threads()}


def transposed(volume):
    """Between (rows, columns, slices) and svmbir's (slices, columns, rows): its channels grow along rows at angle 0."""
    return np.ascontiguousarray(volume.T)


def forward(geometry, array):
    image, theta = transposed(array), angles(geometry)
    channels = geometry["sinogram_shape"][2]
    return lambda: svmbir.project(image, theta, channels, **COMMON), np.asarray


def back(geometry, array):
    theta = angles(geometry)
    return lambda: svmbir.backproject(array, theta, **COMMON), transposed


def one_iteration(geometry, array):
    theta = angles(geometry)
    return lambda: svmbir.recon(array, theta, max_iterations=1, stop_threshold=0.0, max_resolutions=0,
                                positivity=False, **COMMON), transposed


OPERATIONS = {
    "parallel_forward_project": forward,
    "parallel_back_project": back,
    "parallel_mbir_recon": one_iteration,
}
