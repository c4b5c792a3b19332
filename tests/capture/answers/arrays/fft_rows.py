"""scipy.fft: sinograms are filtered by rows, then weighted."""

from truth import phase

with phase("import"):
    import numpy as np  # truth: import
    import scipy.fft  # truth: import


def ramp(sinogram):
    with phase("forward"):
        spectrum = scipy.fft.fft(sinogram, 4093, axis=1)  # truth: forward
    with phase("weight"):
        spectrum *= np.abs(np.fft.fftfreq(4093))  # truth: weight
    return spectrum.real[:, :2048]


def main():
    sinogram = np.random.default_rng(0).random((720, 2048))
    for _ in range(9):
        sinogram = ramp(sinogram)
    print(sinogram.sum())


main()
