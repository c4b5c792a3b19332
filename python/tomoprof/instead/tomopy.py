"""tomopy whose medians of 3 x 3 x 3 voxels are tomoprof's.

    import tomoprof.instead.tomopy as tomopy  # in place of: import tomopy

tomopy's libtomo sorts the 27 voxels of each place by qsort. Beyond the edge both take the border's voxel."""

import numpy

from tomoprof._functions import median_filter3d as _median
from tomoprof.instead import NotEqual, array_text, in_place_of, rest_of

EXACT = ("float32", "uint16")  # other types become float32 in tomopy

__getattr__ = rest_of("tomopy")


@in_place_of("tomopy")
def median_filter3d(arr, size=3, ncore=None):
    """Median of 3 x 3 x 3 voxels, equal to the bit. `ncore` has no effect: `tomoprof.configure(threads=N)` is the limit."""
    return _median_of(arr, size, "median_filter3d")


@in_place_of("tomopy")
def remove_outlier3d(arr, dif, size=3, ncore=None):
    """Voxels that differ by `dif` or more from the median of 3 x 3 x 3 voxels become that median, equal to the bit."""
    median = _median_of(arr, size, "remove_outlier3d")
    limit = numpy.float32(dif)
    if not limit > 0:
        raise NotEqual(f"dif is {dif}; tomoprof's remove_outlier3d has more than 0")
    wide = numpy.int32 if arr.dtype.kind == "u" else numpy.float32
    return numpy.where(numpy.abs(arr.astype(wide) - median.astype(wide)) >= limit, median, arr)


def _median_of(arr, size, name):
    if type(arr) is not numpy.ndarray or arr.ndim != 3 or not arr.size:
        raise NotEqual(f"arr is {array_text(arr)}; tomoprof's {name} takes a NumPy array of three axes")
    if arr.dtype.name not in EXACT:
        raise NotEqual(f"dtype is {arr.dtype}; tomoprof's {name} is exact for {' and '.join(EXACT)}")
    if type(size) is not int or size > 4:  # tomopy makes an odd number of at least 3 of it
        raise NotEqual(f"size is {size!r}; tomoprof's {name} has 3")
    return _median(arr).astype(arr.dtype, copy=False)
