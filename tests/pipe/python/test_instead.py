"""tomoprof.instead beside SciPy and scikit-image: equal where the table says so, the original's elsewhere."""

import math

import module

module.need("scipy")
import numpy as np
import scipy.ndimage
from tool import main, relative

from tomoprof.instead import NotEqual, ndimage

RANDOM = np.random.default_rng(7)


def medians(check, folder):
    ndimage.LEAST, least = 1, ndimage.LEAST
    for shape in ((5, 6, 7), (1, 1, 1), (2, 1, 9), (16, 17, 3)):
        for dtype in ndimage.EXACT:
            volume = (RANDOM.standard_normal(shape) * 50).astype(dtype)
            for mode in ("reflect", "nearest"):
                ours, theirs = ndimage.median_filter.ours(volume, 3, mode=mode), scipy.ndimage.median_filter(volume, 3, mode=mode)
                check.that(ours.dtype == theirs.dtype and (ours == theirs).all(), f"{shape} {dtype} {mode}")
    volume = RANDOM.random((6, 6, 6)).astype(np.float32)
    for options in ({"size": 5}, {"size": (3, 3, 1)}, {"size": 3, "mode": "constant"}, {"size": 3, "origin": 1}, {"footprint": np.ones((3, 3, 3))},
                    {"size": 3, "axes": (0, 1, 2)}):
        check.that(module.raised(NotEqual, ndimage.median_filter.ours, volume, **options), f"{options} has no equal")
        check.that((ndimage.median_filter(volume, **options) == scipy.ndimage.median_filter(volume, **options)).all(), f"{options}: the original's")
    for array in (volume.astype(float), volume[0], volume.tolist()):
        check.that(module.raised(NotEqual, ndimage.median_filter.ours, array, 3), f"{type(array)} has no equal")
    ndimage.LEAST = least
    check.that("faster from" in module.raised(NotEqual, ndimage.median_filter.ours, volume, 3), "a small volume is left to SciPy")
    check.that(ndimage.zoom is scipy.ndimage.zoom, "other names are SciPy's")
    check.that(module.raised(AttributeError, getattr, ndimage, "no_such_name"), "unknown names stay unknown")


def disk(size, radius):
    """A smooth disk beside the middle."""
    y, x = np.mgrid[:size, :size] - size // 2
    return np.clip((radius + 2 - np.hypot(x - size / 10, y + size / 16)) / 4, 0, 1)


def radon_transforms(check, folder):
    try:
        import skimage.transform as original
    except ImportError:
        print("  skipped: no scikit-image", flush=True)
        return
    from tomoprof.instead import transform
    for size in (128, 129):
        image, theta = disk(size, size / 5), np.linspace(0, 180, 130, endpoint=False)
        for dtype in (np.float32, np.float64):
            for options in ({}, {"circle": False}):
                ours, theirs = (f(image.astype(dtype), theta, **options) for f in (transform.radon.ours, original.radon))
                check.that(ours.dtype == theirs.dtype and ours.shape == theirs.shape and relative(ours, theirs) < 0.002,
                           f"radon of {size} {dtype.__name__} {options}: {relative(ours, theirs):.2g}")
            sinogram = original.radon(image.astype(dtype), theta)
            ours, theirs = transform.iradon.ours(sinogram, theta), original.iradon(sinogram, theta)
            check.that(ours.dtype == theirs.dtype and ours.shape == theirs.shape and relative(ours, theirs) < 0.005,
                       f"iradon of {size} {dtype.__name__}: {relative(ours, theirs):.2g}")
    sinogram = original.radon(disk(128, 30), np.linspace(0, 180, 128, endpoint=False))
    for options in ({"filter_name": "hann"}, {"interpolation": "nearest"}, {"output_size": 20}, {"circle": False}):
        check.that(module.raised(NotEqual, transform.iradon.ours, sinogram, **options), f"{options} has no equal")
        check.that(relative(transform.iradon(sinogram, **options), original.iradon(sinogram, **options)) == 0, f"{options}: the original's")
    check.that(math.isclose(transform.iradon.ours(sinogram).mean(), original.iradon(sinogram).mean(), rel_tol=0.01), "the same density")
    check.that(module.raised(NotEqual, transform.radon.ours, np.ones((16, 16))), "an image beyond the circle has no equal")
    check.that(transform.rotate is original.rotate, "other names are scikit-image's")


main(medians, radon_transforms)
