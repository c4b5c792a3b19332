"""What adapters share. An adapter is a module with one table,

    OPERATIONS = {"parallel_forward_project": prepare, "cone_back_project/voxel-driven": prepare, ...}

where prepare(geometry, array) gets tomoprof's geometry file and input array (None where the operation has none), does
everything that a user does once, and returns two functions: run() computes once and returns when the result is there,
in the peer's own layout; fetch(result) turns that into a float32 NumPy array in tomoprof's layout. Only run is timed.
PACKAGES names the packages whose versions are reported, BUILT has those of what no package has."""

import os

import numpy as np


def threads():
    return len(os.sched_getaffinity(0))


def angles(geometry):
    return np.asarray(geometry["angles"], np.float32)


def volume_shape(geometry):
    """(rows, columns, slices) where tomoprof's default is a cube: N x N detector, pitch 1."""
    _, rows, channels = geometry["sinogram_shape"]
    return channels, channels, rows


def ramp(channels):
    """The 2 channels - 1 taps of the band-limited ramp at unit pitch: 1/4, -1/(pi n)^2 at odd n, 0 at even n."""
    n = np.arange(-(channels - 1), channels)
    odd = n % 2 == 1
    taps = np.where(n == 0, 0.25, 0.0)
    taps[odd] = -1 / (np.pi * n[odd]) ** 2
    return taps
