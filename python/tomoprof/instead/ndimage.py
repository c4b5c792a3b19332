"""scipy.ndimage with tomoprof's median, zoom, turns and scalings.

    from tomoprof.instead import ndimage  # in place of: from scipy import ndimage"""

import math

import numpy

from tomoprof._functions import median_filter3d, step
from tomoprof.instead import NotEqual, array_text, in_place_of, rest_of

LEAST = 32 ** 3  # voxels: smaller volumes are filtered by SciPy in less time than it takes to start our threads
LEAST_SCALED = {0: 96 ** 3, 1: 64 ** 3}  # voxels of the result, by order: SciPy takes 2 to 40 times as long from there on
LEAST_TURNED = 96 ** 3
EXACT = ("float32", "int8", "uint8", "int16", "uint16")  # what float32 holds without rounding

__getattr__ = rest_of("scipy.ndimage")


@in_place_of("scipy.ndimage")
def median_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Median of 3 x 3 x 3 voxels: scipy.ndimage.median_filter(input, size=3) of a volume, equal to the bit.

    With one voxel beyond the edge the modes "reflect" and "nearest" are the same. `cval` has no effect in them."""
    if type(input) is not numpy.ndarray or input.ndim != 3:
        raise NotEqual(f"input is {array_text(input)}; tomoprof's median takes a NumPy array of three axes")
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


@in_place_of("scipy.ndimage")
def zoom(input, zoom, output=None, order=3, mode="constant", cval=0.0, prefilter=True, *, grid_mode=False):
    """Another number of voxels in the same room: scipy.ndimage.zoom(volume, zoom, order=1, mode="nearest", grid_mode=True), or order=0."""
    _check_scaled(input, "zoom", order, mode, output)
    if not grid_mode:
        raise NotEqual("grid_mode is False; tomoprof's zoom keeps the room that all voxels take, as grid_mode=True does")
    factors = numpy.broadcast_to(numpy.asarray(zoom, float), 3)
    shape = tuple(int(round(n * factor)) for n, factor in zip(input.shape, factors))
    return _scaled(input, shape, order)


@in_place_of("scipy.ndimage")
def affine_transform(input, matrix, offset=0.0, output_shape=None, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    """A matrix that scales the room that all voxels take: ratios n / m on its diagonal, and offset (n / m - 1) / 2."""
    _check_scaled(input, "affine_transform", order, mode, output)
    matrix = numpy.asarray(matrix, float)
    if matrix.shape in ((3, 4), (4, 4)):
        matrix, offset = matrix[:3, :3], matrix[:3, 3]
    shape = input.shape if output_shape is None else tuple(output_shape)
    ratios = numpy.diagonal(matrix) if matrix.shape == (3, 3) else matrix
    if ratios.shape != (3,) or (matrix.ndim == 2 and numpy.count_nonzero(matrix - numpy.diag(ratios))):
        raise NotEqual("matrix is not diagonal; tomoprof scales volumes along their axes alone")
    if len(shape) != 3 or not numpy.allclose(ratios, numpy.divide(input.shape, shape), rtol=1e-12):
        raise NotEqual(f"matrix has the ratios {ratios.tolist()}; tomoprof's scaling has those of the shapes {input.shape} and {shape}")
    if not numpy.allclose(numpy.broadcast_to(numpy.asarray(offset, float), 3), (ratios - 1) / 2, atol=1e-9):
        raise NotEqual(f"offset is {offset}; tomoprof's scaling has (ratio - 1) / 2, so that the volume fills the same room")
    return _scaled(input, shape, order)


@in_place_of("scipy.ndimage")
def rotate(input, angle, axes=(1, 0), reshape=True, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    """Quarter turns, and views (views, rows, channels) that are turned bilinearly in their plane.

    scipy.ndimage.rotate(views, angle, axes=(2, 1), reshape=False, order=1, mode="nearest")."""
    if type(input) is not numpy.ndarray or input.ndim != 3 or output is not None:
        raise NotEqual(f"input is {array_text(input)}{', output is given' if output is not None else ''}; tomoprof's rotate takes a NumPy array of three axes")
    if order not in (0, 1):
        raise NotEqual(f"order is {order}; tomoprof's rotate has 0 and 1")
    plane = sorted(axis % 3 for axis in axes)
    if float(angle) % 90 == 0 and (reshape or input.shape[plane[0]] == input.shape[plane[1]] or float(angle) % 180 == 0):
        return numpy.ascontiguousarray(numpy.rot90(input, round(float(angle) / 90), (plane[0], plane[1])))
    for name, value, equal in (("reshape", reshape, False), ("order", order, 1), ("mode", mode, "nearest"), ("axes", plane, [1, 2]), ("dtype", input.dtype.name, "float32")):
        if value != equal:
            raise NotEqual(f"{name} is {value!r}; where tomoprof turns by {angle} degrees, it is {equal!r}")
    if input.size < LEAST_TURNED:
        raise NotEqual(f"input has {input.size} voxels; tomoprof's rotate is faster from {LEAST_TURNED} on")
    return step("correct_tilt", input, angle=repr(float(angle)))


def _check_scaled(input, name, order, mode, output):
    """Linear and nearest samples of a volume whose border voxels go on for ever."""
    if type(input) is not numpy.ndarray or input.ndim != 3:
        raise NotEqual(f"input is {array_text(input)}; tomoprof's {name} takes a NumPy array of three axes")
    if order not in (0, 1):
        raise NotEqual(f"order is {order}; tomoprof's {name} has 0 and 1")
    if input.dtype.name != "float32":
        raise NotEqual(f"dtype is {input.dtype}; tomoprof's {name} has float32")
    if mode not in ("nearest", "reflect", "grid-mirror"):
        raise NotEqual(f"mode is {mode!r}; tomoprof's {name} has 'nearest' and 'reflect'")
    if output is not None:
        raise NotEqual(f"output is given; tomoprof's {name} has none")


def _scaled(input, shape, order):
    if not all(shape):
        raise NotEqual(f"the result has the shape {shape}; tomoprof's has at least one voxel along each axis")
    if math.prod(shape) < LEAST_SCALED[order]:
        raise NotEqual(f"the result has {math.prod(shape)} voxels; tomoprof's scaling of order {order} is faster from {LEAST_SCALED[order]} on")
    return step(("volume_resample_nearest", "volume_resample_linear")[order], input, shape=shape)
