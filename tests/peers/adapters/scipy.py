import numpy as np
import scipy.fft
import scipy.ndimage

from adapters.common import ramp, threads

PACKAGES = ["scipy", "numpy"]


def median(_, array):
    return lambda: scipy.ndimage.median_filter(array, size=3, mode="nearest"), np.asarray


def filter_rows(geometry, array):
    """Rows of channels through a real FFT, all threads: what a NumPy user writes."""
    views, _, channels = array.shape
    length = scipy.fft.next_fast_len(2 * channels - 1, real=True)  # the circular wrap stays outside the valid part
    taps = np.zeros(length, np.float32)
    taps[:2 * channels - 1] = ramp(channels) * (np.pi / views)  # pitch 1, voxels of 1 x 1
    taps = np.roll(taps, -(channels - 1))
    response = scipy.fft.rfft(taps)

    def run():
        spectrum = scipy.fft.rfft(array, length, axis=2, workers=threads())
        spectrum *= response
        return scipy.fft.irfft(spectrum, length, axis=2, overwrite_x=True, workers=threads())[:, :, :channels]
    return run, np.ascontiguousarray


OPERATIONS = {"median_filter3d": median, "parallel_fbp_filter": filter_rows}
