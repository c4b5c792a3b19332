"""Stripes of a sinogram, which become rings: sorting and interpolation of channels (Vo, Atwood and Drakopoulos, Optics Express 26, 2018), and
damping of wavelet bands (Münch et al., Optics Express 17, 2009)."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy

from tomoprof._arrays import FLOAT32, Array, like
from tomoprof._calls import integer, number
from tomoprof.preprocess._scans import _views


def _scipy(name):
    try:
        import importlib
        return importlib.import_module("scipy." + name)
    except ImportError:
        raise ImportError("stripes need SciPy: pip install scipy") from None


def generate_column_index_matrix(num_rows: int, num_cols: int) -> numpy.ndarray:
    """Numbers 0 to num_cols - 1, num_rows times, as float32."""
    return numpy.tile(numpy.arange(num_cols, dtype=FLOAT32), (num_rows, 1))


def _ranked(sino, median):
    """`median` of the sorted channels, each value back at the view from which it came."""
    order = numpy.argsort(sino, axis=0, kind="stable")
    result = numpy.empty_like(sino)
    numpy.put_along_axis(result, order, median(numpy.take_along_axis(sino, order, 0)), 0)
    return result


def remove_small_stripes_sorting(sino: Any, filter_size: int, index_matrix: Any = None) -> numpy.ndarray:
    """Removes small and medium stripes of one detector row (views, channels): medians of filter_size channels of equal rank."""
    filter_of = _scipy("ndimage").median_filter
    return _ranked(numpy.asarray(sino), lambda rows: filter_of(rows, (1, filter_size)))


def detect_stripe(list_data: Any, snr: float) -> numpy.ndarray:
    """Marks values (channels,) by 1 that are snr times as far from a line through the sorted values as that line rises."""
    values = numpy.asarray(list_data, FLOAT32)
    count, drop = len(values), int(0.25 * len(values))
    falling, places = numpy.sort(values)[::-1], numpy.arange(count, dtype=FLOAT32)
    slope, top = numpy.polyfit(places[drop:-drop - 1], falling[drop:-drop - 1], 1)
    bottom = top + slope * places[-1]
    noise = max(abs(bottom - top), 1e-6)
    mask = numpy.zeros(count, FLOAT32)
    if abs(falling[0] - top) / noise >= snr:
        mask[values > top + noise * snr * 0.5] = 1
    if abs(falling[-1] - bottom) / noise >= snr:
        mask[values <= bottom - noise * snr * 0.5] = 1
    return mask


def _ratio(values, smooth):
    return numpy.divide(values, smooth, out=numpy.ones_like(values), where=smooth != 0)


def _marked(ratio, snr):
    return _scipy("ndimage").binary_dilation(detect_stripe(ratio, snr)).astype(bool)


def remove_large_stripes_sorting(sino: Any, snr: float, filter_size: int, index_matrix: Any = None, drop_ratio: float = 0.1) -> numpy.ndarray:
    """Removes large stripes of one detector row (views, channels). drop_ratio: so much of the least and largest values does not count."""
    sino = numpy.asarray(sino)
    views = len(sino)
    drop = int(0.5 * min(max(drop_ratio, 0.0), 0.8) * views)
    ranked = numpy.sort(sino, axis=0)
    smooth = _scipy("ndimage").median_filter(ranked, (1, filter_size))
    ratio = _ratio(*(rows[drop:views - drop].mean(0, dtype=FLOAT32) for rows in (ranked, smooth)))
    result = sino / ratio
    mask = _marked(ratio, snr)
    result[:, mask] = _ranked(result, lambda rows: smooth)[:, mask]
    return result


def remove_dead_fluctuating_stripes_interpolation(sino: Any, snr: float, filter_size: int, index_matrix: Any = None) -> numpy.ndarray:
    """Interpolates channels of one detector row (views, channels) that change too much or not at all, and removes large stripes."""
    sino, ndimage = numpy.array(sino, FLOAT32), _scipy("ndimage")
    changes = numpy.abs(sino - ndimage.uniform_filter1d(sino, 10, axis=0)).sum(0, dtype=FLOAT32)
    mask = _marked(_ratio(changes, ndimage.median_filter(changes, size=filter_size)), snr)
    mask[:2] = mask[-2:] = False
    good, bad = numpy.flatnonzero(~mask), numpy.flatnonzero(mask)
    if len(bad):
        after = numpy.searchsorted(good, bad).clip(1, len(good) - 1)
        left, right = good[after - 1], good[after]
        part = ((bad - left) / (right - left))[None, :]
        sino[:, bad] = sino[:, left] * (1 - part) + sino[:, right] * part
    return remove_large_stripes_sorting(sino, snr, filter_size)


def remove_all_stripe(sino: Array, snr: float = 3, large_filter_size: int = 61, small_filter_size: int = 21) -> Array:
    """Removes stripes of all kinds from a sinogram (views, detector rows, channels): channels that are dead or fluctuate, large stripes, small ones.

    snr: how far a stripe stands out, 3 or more. The sizes of the medians are in channels. Needs SciPy. `tomoprof.step("remove_stripes_sorting",
    sinogram)` removes small and medium stripes alone, without SciPy."""
    snr = number("snr", snr)
    large, small = integer("large_filter_size", large_filter_size, 1), integer("small_filter_size", small_filter_size, 1)
    y = _views(sino)
    if y.shape[2] < 8:
        raise ValueError(f"sino: shape is {y.shape}; expected 8 channels or more")
    _scipy("ndimage")
    result = numpy.empty_like(y)

    def remove(row):
        result[:, row] = remove_small_stripes_sorting(remove_dead_fluctuating_stripes_interpolation(y[:, row], snr, large), small)

    with ThreadPoolExecutor() as threads:
        list(threads.map(remove, range(y.shape[1])))
    return like(sino, result)


def remove_stripe_fw(sino: Array, wavelet_filter_name: str = "db5", sigma: float = 2) -> Array:
    """Removes stripes from a sinogram (views, detector rows, channels) by damping the vertical bands of its wavelets.

    wavelet_filter_name: a wavelet of PyWavelets, which is needed. sigma: the width of the damping. `tomoprof.step("remove_stripes_wavelet",
    sinogram)` does the same with Daubechies' wavelets on all threads, without PyWavelets."""
    try:
        import pywt
    except ImportError:
        raise ImportError("remove_stripe_fw needs PyWavelets: pip install pywavelets") from None
    sigma, y = number("sigma", sigma), _views(sino)
    if sigma == 0:
        raise ValueError("sigma is 0; expected a positive number")
    wavelet = pywt.Wavelet(wavelet_filter_name)
    views, rows, channels = y.shape
    levels, first = math.ceil(math.log2(max(y.shape))), views // 16
    result = numpy.empty_like(y)
    for row in range(rows):
        plane = numpy.zeros((views + views // 8, channels), FLOAT32)
        plane[first:first + views] = y[:, row]
        bands = []
        for _ in range(levels):
            plane, (horizontal, vertical, diagonal) = pywt.dwt2(plane, wavelet)
            places = numpy.fft.ifftshift((numpy.arange(-len(vertical), len(vertical), 2) + 1) / 2)
            damping = -numpy.expm1(-places**2 / (2 * sigma**2))
            damped = numpy.fft.ifft(numpy.fft.fft(vertical, axis=0) * damping[:, None], axis=0).real.astype(FLOAT32)
            bands.append((horizontal, damped, diagonal))
        for band in reversed(bands):
            plane = pywt.idwt2((plane[:band[0].shape[0], :band[0].shape[1]], band), wavelet)
        result[:, row] = plane[first:first + views, :channels]
    return like(sino, result)
