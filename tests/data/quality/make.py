"""Makes volume.npy, reference.npy and expected.npy with scikit-image (0.26.0). A row of the last: PSNR (dB) and SSIM of the whole volume (SSIM: the
mean over slices), of every slice, of every row and of every column, always with the range of the whole reference."""

import pathlib

import numpy as np
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

here = pathlib.Path(__file__).parent
draw = np.random.default_rng(24)
z, y, x = np.meshgrid(*(np.linspace(-1, 1, n) for n in (23, 31, 9)), indexing="ij")
reference = ((x**2 + y**2 + z**2 < 0.8) + 0.5 * np.exp(-8 * ((x - 0.2) ** 2 + y**2))).astype(np.float32)
volume = (0.97 * reference + 0.05 * draw.standard_normal(reference.shape)).astype(np.float32)
a, b = volume.astype(float), reference.astype(float)
span = b.max() - b.min()


def both(p, q):
    return peak_signal_noise_ratio(q, p, data_range=span), structural_similarity(p, q, data_range=span)


rows = [both(np.take(a, i, axis), np.take(b, i, axis)) for axis in (2, 0, 1) for i in range(a.shape[axis])]
whole = peak_signal_noise_ratio(b, a, data_range=span), np.mean([ssim for _, ssim in rows[: a.shape[2]]])
np.save(here / "volume.npy", volume)
np.save(here / "reference.npy", reference)
np.save(here / "expected.npy", np.array([whole, *rows], np.float32))
