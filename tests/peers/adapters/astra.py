"""ASTRA has no three-dimensional projector for CPUs: one two-dimensional call per slice, slices shared by threads."""

from concurrent.futures import ThreadPoolExecutor

import astra
import numpy as np

from adapters.common import angles, threads

PACKAGES = ["astra-toolbox", "numpy"]
POOL = ThreadPoolExecutor(threads())


def slices(geometry, algorithm, kernel, volume, sinogram, result, options=None):
    """run and fetch: one ASTRA algorithm per slice on volume (S, R, C) and sinogram (S, V, Nc), of which one is the
    input and the other, `result`, is overwritten."""
    count, rows, columns = volume.shape
    on_volume = astra.create_vol_geom(rows, columns)
    on_detector = astra.create_proj_geom("parallel", 1.0, columns, angles(geometry))
    projector = astra.create_projector(kernel, on_detector, on_volume)
    ids = []
    for k in range(count):
        config = astra.astra_dict(algorithm)
        config["ProjectorId"] = projector
        config["ProjectionDataId"] = astra.data2d.link("-sino", on_detector, sinogram[k])
        x = astra.data2d.link("-vol", on_volume, volume[k])
        config["VolumeDataId" if algorithm == "FP" else "ReconstructionDataId"] = x
        config["option"] = options or {}
        ids.append(astra.algorithm.create(config))

    def run():
        list(POOL.map(astra.algorithm.run, ids))
        return result
    return run


def volume_first(geometry, array=None):
    views, rows, channels = geometry["sinogram_shape"]
    if array is None:
        return np.zeros((rows, channels, channels), np.float32)
    return np.ascontiguousarray(array.transpose(2, 0, 1))


def sinogram_first(geometry, array=None):
    views, rows, channels = geometry["sinogram_shape"]
    if array is None:
        return np.zeros((rows, views, channels), np.float32)
    return np.ascontiguousarray(array.transpose(1, 0, 2))


def forward(kernel):
    def prepare(geometry, array):
        volume, sinogram = volume_first(geometry, array), sinogram_first(geometry)
        return (slices(geometry, "FP", kernel, volume, sinogram, sinogram),
                lambda result: np.ascontiguousarray(result.transpose(1, 0, 2)))
    return prepare


def back(algorithm, kernel):
    def prepare(geometry, array):
        volume, sinogram = volume_first(geometry), sinogram_first(geometry, array)
        return (slices(geometry, algorithm, kernel, volume, sinogram, volume),
                lambda result: np.ascontiguousarray(result.transpose(1, 2, 0)))
    return prepare


OPERATIONS = {
    "parallel_forward_project/strip": forward("strip"),
    "parallel_forward_project/linear": forward("linear"),
    "parallel_back_project/strip": back("BP", "strip"),
    "parallel_back_project/linear": back("BP", "linear"),
    "parallel_fbp_recon/linear": back("FBP", "linear"),
}
