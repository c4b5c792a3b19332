"""scipy.ndimage with tomoprof's median.

    from tomoprof.instead import ndimage  # in place of: from scipy import ndimage"""

import numpy

from tomoprof._functions import median_filter3d
from tomoprof.instead import NotEqual, in_place_of, rest_of

LEAST = 32 ** 3  # voxels: smaller volumes are filtered by SciPy in less time than it takes to start our threads
EXACT = ("float32", "int8", "uint8", "int16", "uint16")  # what float32 holds without rounding

__getattr__ = rest_of("scipy.ndimage")


@in_place_of("scipy.ndimage")
def median_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Median of 3 x 3 x 3 voxels: scipy.ndimage.median_filter(input, size=3) of a volume, equal to the bit.

    With one voxel beyond the edge the modes "reflect" and "nearest" are the same. `cval` has no effect in them."""
    if type(input) is not numpy.ndarray or input.ndim != 3:
        raise NotEqual(f"input is {_array_text(input)}; tomoprof's median takes a NumPy array of three axes")
    if input.dtype.name not in EXACT:
        raise NotEqual(f"dtype is {input.dtype}; tomoprof's median is exact for {', '.join(EXACT)}")
    if input.size < LEAST:
        raise NotEqual(f"input has {input.size} voxels; tomoprof's median is faster from {LEAST} on")
    if (size if not isinstance(size, int) else (size,) * 3) not in ((3, 3, 3), [3, 3, 3]):
        raise NotEqual(f"size is {size}; tomoprof's median has 3 x 3 x 3")
    for name, value, equal in (("footprint", footprint, None), ("output", output, None), ("origin", origin, 0), ("axes", axes, None)):
        if value is not equal:
            raise NotEqual(f"{name} is given; tomoprof's median has none")
    if mode not in ("reflect", "nearest"):
        raise NotEqual(f"mode is {mode!r}; tomoprof's median has 'reflect' and 'nearest'")
    return median_filter3d(input).astype(input.dtype, copy=False)


def _array_text(value):
    shape = getattr(value, "shape", None)
    return type(value).__name__ + (f" of shape {tuple(shape)}" if shape is not None else "")
