"""TorchTomo projects slices as a batch: (slices, 1, rows, columns) to (slices, 1, views, channels)."""

import numpy as np
import torch
from torchtomo import ParallelBeam

from adapters.common import angles, threads

PACKAGES = ["torchtomo", "torch", "numpy"]
torch.set_num_threads(threads())


def projector(geometry):
    views, _, channels = geometry["sinogram_shape"]
    return ParallelBeam(img_size=channels, n_angles=views, n_det=channels, angles=torch.from_numpy(angles(geometry)))


def forward(geometry, array):
    project, batch = projector(geometry), torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))[:, None]
    return lambda: project(batch), lambda result: result[:, 0].numpy().transpose(1, 0, 2)


def back(name):
    def prepare(geometry, array):
        call, batch = getattr(projector(geometry), name), torch.from_numpy(np.ascontiguousarray(array.transpose(1, 0, 2)))[:, None]
        return lambda: call(batch), lambda result: result[:, 0].numpy().transpose(1, 2, 0)
    return prepare


OPERATIONS = {"parallel_forward_project": forward, "parallel_back_project": back("adjoint"), "parallel_fbp_recon": back("fbp")}
