"""scikit-image's radon and iradon, which take a slice and degrees, and rotate the image instead of projecting footprints."""

import numpy as np
from skimage.transform import iradon, radon

from adapters.common import angles

PACKAGES = ["scikit-image", "numpy"]


def forward(geometry, array):
    theta = np.degrees(angles(geometry))
    return (lambda: [radon(array[:, :, k], theta, circle=True) for k in range(array.shape[2])],
            lambda result: np.stack(result).transpose(2, 0, 1))


def back(name):
    def prepare(geometry, array):
        theta = np.degrees(angles(geometry))
        return (lambda: [iradon(array[:, row, :].T, theta, filter_name=name, circle=True) for row in range(array.shape[1])],
                lambda result: np.stack(result, axis=2))
    return prepare


OPERATIONS = {"parallel_forward_project": forward, "parallel_back_project": back(None), "parallel_fbp_recon": back("ramp")}
