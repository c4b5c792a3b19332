"""skimage.transform with tomoprof's Radon transform, filtered back projection and SART.

    from tomoprof.instead.transform import radon, iradon  # in place of: from skimage.transform import radon, iradon

scikit-image turns the image and adds up columns (radon), or interpolates between detector pixels (iradon). tomoprof computes the
overlap of each pixel with each detector pixel, so results differ by one percent or less. SART (iradon_sart) is the same model."""

import functools
import math

import numpy

from tomoprof._geometries import ParallelBeamModel
from tomoprof._sart import golden_order, sart
from tomoprof.instead import NotEqual, array_text, in_place_of, rest_of

LEAST = 128 ** 2  # samples: smaller sinograms are back projected by scikit-image in less time than it takes to start our threads
LEAST_SART = 16  # detector pixels: below, checking the arguments takes as long

__getattr__ = rest_of("skimage.transform")


@in_place_of("skimage.transform")
def radon(image, theta=None, circle=True, *, preserve_range=False):
    """Line integrals of an image at angles `theta` in degrees (default: 0 to 179). Returns (detector pixels, angles), as scikit-image."""
    source = _float_image(image, "image")
    size = len(source)
    if circle and source.shape[0] != source.shape[1]:
        raise NotEqual(f"image has shape {source.shape}; tomoprof's radon takes a square one where circle is True")
    if circle and source[~_circle(size)].any():
        raise NotEqual("image is not zero outside of the circle")
    if not circle:
        size = math.ceil(math.sqrt(2) * max(source.shape))
        before = [size // 2 - n // 2 for n in source.shape]
        source = numpy.pad(source, [(b, size - n - b) for b, n in zip(before, source.shape)])
    model, odd = _model(size, _angles_key(numpy.arange(180) if theta is None else theta))
    volume = numpy.zeros((odd, odd, 1), numpy.float32)
    volume[:size, :size, 0] = source
    sinogram = model.forward_project(volume)[:, 0, :size]
    return numpy.ascontiguousarray(sinogram.T, dtype=image.dtype)


@in_place_of("skimage.transform")
def iradon(radon_image, theta=None, output_size=None, filter_name="ramp", interpolation="linear", circle=True, preserve_range=True):
    """Filtered back projection of (detector pixels, angles) at angles `theta` in degrees (default: evenly over half a turn)."""
    source = _float_image(radon_image, "radon_image")
    size, views = source.shape
    if source.size < LEAST:
        raise NotEqual(f"radon_image has {source.size} samples; tomoprof's iradon is faster from {LEAST} on")
    for name, value, equal in (("filter_name", filter_name, "ramp"), ("interpolation", interpolation, "linear"), ("circle", circle, True)):
        if value != equal:
            raise NotEqual(f"{name} is {value!r}; tomoprof's iradon has {equal!r}")
    if output_size not in (None, size):
        raise NotEqual(f"output_size is {output_size}; tomoprof's iradon makes {size} x {size} of {size} detector pixels")
    angles = numpy.linspace(0, 180, views, endpoint=False) if theta is None else numpy.asarray(theta)
    if angles.shape != (views,):
        raise NotEqual(f"theta has shape {angles.shape}; radon_image has {views} angles")
    model, odd = _model(size, _angles_key(angles))
    sinogram = numpy.zeros((views, 1, odd), numpy.float32)
    sinogram[:, 0, :size] = source.T
    image = model.direct_recon(sinogram)[:size, :size, 0]
    return numpy.where(_circle(size), image, 0).astype(radon_image.dtype, copy=False)


@in_place_of("skimage.transform")
def iradon_sart(radon_image, theta=None, image=None, projection_shifts=None, clip=None, relaxation=0.15, dtype=None):
    """One pass of SART over (detector pixels, angles) at angles `theta` in degrees, from `image`, which it changes as scikit-image does."""
    source = _float_image(radon_image, "radon_image")
    size, views = source.shape
    kind = numpy.dtype(source.dtype if dtype is None else dtype)
    if kind.name not in ("float32", "float64") or not (kind.isnative and source.dtype.isnative):
        raise NotEqual(f"dtype is {kind.str}; tomoprof's iradon_sart has float32 and float64")
    if size < LEAST_SART or not views:
        raise NotEqual(f"radon_image has shape {source.shape}; tomoprof's iradon_sart is faster from {LEAST_SART} detector pixels on")
    angles = numpy.linspace(0, 180, views, endpoint=False, dtype=kind) if theta is None else _of_views(theta, "theta", views, kind)
    shifts = None if projection_shifts is None else _of_views(projection_shifts, "projection_shifts", views, kind)
    if not isinstance(relaxation, (int, float, numpy.floating, numpy.integer)) or not math.isfinite(relaxation):
        raise NotEqual(f"relaxation is {relaxation!r}; tomoprof's iradon_sart takes a finite number")
    bounds = None if clip is None else numpy.asarray(clip, kind)
    if bounds is not None and not (bounds.shape == (2,) and bounds[0] <= bounds[1]):
        raise NotEqual(f"clip is {clip!r}; tomoprof's iradon_sart takes two numbers, the smaller first")
    if image is not None and (type(image) is not numpy.ndarray or image.shape != (size, size) or image.dtype != kind or not image.flags.writeable
                              or numpy.may_share_memory(image, source)):
        raise NotEqual(f"image is {array_text(image)}; tomoprof's iradon_sart takes {kind} of shape {(size, size)}, writable and apart")
    if not numpy.isfinite(source).all() or (image is not None and not numpy.isfinite(image).all()):
        raise NotEqual("radon_image or image has values that are not finite, whose pixels would differ")
    samples = numpy.ascontiguousarray(source.T, kind)[:, None, :]
    order, radians = golden_order(angles), angles.astype(float) / 180 * math.pi
    options = {"shifts": shifts, "relaxation": relaxation}
    current = None if image is None else image[:, :, None]
    if bounds is not None and image is not None:  # the first correction is the caller's too, before it is clipped
        current = sart(samples, radians, current, order=order[:1], **options)
        image[...] = current[:, :, 0]
        numpy.clip(current, *bounds, out=current)
        order = order[1:]
    result = sart(samples, radians, current, order=order, clip=bounds, **options)[:, :, 0]
    if image is None or bounds is not None:
        return result
    image[...] = result
    return image


iradon_sart.ours.changes = ("image",)


def _of_views(values, name, views, kind):
    """Numbers of each view; what is not finite is scikit-image's."""
    numbers = numpy.asarray(values, kind)
    if numbers.shape != (views,) or not numpy.isfinite(numbers).all():
        raise NotEqual(f"{name} has shape {numbers.shape}; tomoprof's iradon_sart takes {views} finite numbers")
    return numbers


def _float_image(image, name):
    if type(image) is not numpy.ndarray or image.ndim != 2 or image.dtype.name not in ("float32", "float64"):
        raise NotEqual(f"{name} is {array_text(image)}; tomoprof takes a NumPy array of float32 or float64 and two axes")
    return image


def _angles_key(theta):
    return numpy.deg2rad(numpy.asarray(theta, float)).tobytes()


@functools.lru_cache(8)
def _circle(size):
    """The pixels within the circle whose centre is pixel size // 2."""
    axis = numpy.arange(size) - size // 2
    return axis[:, None] ** 2 + axis ** 2 <= (size // 2) ** 2


@functools.lru_cache(8)
def _model(size, angles):
    """The model of these angles, and its odd size: the middle of an odd number of pixels is pixel size // 2, scikit-image's axis."""
    odd = size | 1
    model = ParallelBeamModel((len(angles) // 8, 1, odd), numpy.frombuffer(angles))
    model.set_params(recon_shape=(odd, odd, 1), use_ror_mask=False, no_warning=True)
    return model, odd
