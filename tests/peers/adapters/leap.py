"""LEAP on CPUs. It turns about z as tomoprof does, by the same angles; its y runs against our rows."""

import numpy as np
from leapctype import tomographicModels

from adapters.common import volume_shape

PACKAGES = ["numpy"]
BUILT = {"LEAP": tomographicModels().version()}


def library(geometry):
    """LEAP's model of the scan."""
    views, rows, channels = geometry["sinogram_shape"]
    made = tomographicModels()
    made.set_gpu(-1)
    degrees = np.degrees(geometry["angles"]).astype(np.float32)
    detector = views, rows, channels, 1.0, 1.0, (rows - 1) / 2, (channels - 1) / 2, degrees
    pitch = 1.0
    if geometry["geometry"] == "cone":
        source_iso, source_detector = geometry["source_iso_dist"], geometry["source_detector_dist"]
        pitch = source_iso / source_detector
        made.set_conebeam(*detector, source_iso, source_detector)
    else:
        made.set_parallelbeam(*detector)
    made.set_volume(channels, channels, rows, pitch, pitch)
    made.set_diameterFOV(channels * pitch)  # else voxels that some view does not see stay 0
    return made


def from_volume(array):
    return np.ascontiguousarray(array[::-1].transpose(2, 0, 1))


def to_volume(result):
    return np.ascontiguousarray(result.transpose(1, 2, 0)[::-1])


def forward(geometry, array):
    model, volume = library(geometry), from_volume(array)
    sinogram = np.zeros(geometry["sinogram_shape"], np.float32)

    def run():
        model.project(sinogram, volume)
        return sinogram
    return run, np.copy


def backward(method):
    def prepare(geometry, array):
        model, sinogram = library(geometry), np.ascontiguousarray(array)
        rows, columns, slices = volume_shape(geometry)
        volume = np.zeros((slices, rows, columns), np.float32)

        def run():
            getattr(model, method)(sinogram, volume)
            return volume
        return run, to_volume
    return prepare


OPERATIONS = {
    "parallel_forward_project": forward,
    "parallel_back_project": backward("backproject"),
    "parallel_fbp_recon": backward("FBP"),
    "cone_forward_project": forward,
    "cone_back_project": backward("backproject"),
    "cone_fdk_recon": backward("FBP"),
}
