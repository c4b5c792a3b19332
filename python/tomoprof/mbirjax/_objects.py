"""Phantoms of text and ellipsoids, and what models derive from a scan, by the names of mbirjax.utilities."""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence

import numpy

from tomoprof._arrays import FLOAT32
from tomoprof._phantoms import _seen_half_a_turn, gen_dot_phantom
from tomoprof.preprocess._corrections import background_boundaries

# Kak and Slaney, Principles of Computerized Tomographic Imaging, page 102: center, radii, angle in degrees, gray level.
ELLIPSOIDS = (
    (0.0, 0.0, 0.0, 0.69, 0.92, 0.9, 0, 2.0), (0.0, 0.0, 0.0, 0.6624, 0.874, 0.88, 0, -0.98),
    (-0.22, 0.0, -0.25, 0.41, 0.16, 0.21, 108, -0.02), (0.22, 0.0, -0.25, 0.31, 0.11, 0.22, 72, -0.02),
    (0.0, 0.35, -0.25, 0.21, 0.25, 0.5, 0, 0.02), (0.0, 0.1, -0.25, 0.046, 0.046, 0.046, 0, 0.02),
    (-0.08, -0.65, -0.25, 0.046, 0.023, 0.02, 0, 0.01), (0.06, -0.65, -0.25, 0.046, 0.023, 0.02, 90, 0.01),
    (0.06, -0.105, 0.625, 0.056, 0.04, 0.1, 90, 0.02), (0.0, 0.1, 0.625, 0.056, 0.056, 0.1, 0, -0.02))
FONTS = ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "/System/Library/Fonts/Supplemental/Arial.ttf", "/Library/Fonts/Arial.ttf")


def generate_3d_shepp_logan_reference(phantom_shape: Sequence[int]) -> numpy.ndarray:
    """The Shepp-Logan phantom of Kak and Slaney's book, with its low contrasts: float64 (columns, rows, slices) for a shape (rows, columns, slices)."""
    rows, columns, slices = phantom_shape
    y, x = numpy.meshgrid(numpy.linspace(1, -1, rows), numpy.linspace(-1, 1, columns), indexing="ij")
    z = numpy.linspace(-1, 1, slices)
    volume = numpy.zeros((rows, columns, slices))
    for x0, y0, z0, a, b, c, angle, level in ELLIPSOIDS:
        cosine, sine = math.cos(math.radians(-angle)), math.sin(math.radians(-angle))
        across, along = cosine * (x - x0) - sine * (y - y0), sine * (x - x0) + cosine * (y - y0)
        volume += level * (across[..., None] ** 2 / a**2 + along[..., None] ** 2 / b**2 + (z - z0) ** 2 / c**2 <= 1)
    return volume.transpose(1, 0, 2)


def _font(path, size):
    from PIL import ImageFont
    for name in (path, *FONTS):
        try:
            return ImageFont.truetype(name, size=size)
        except OSError:
            pass
    raise FileNotFoundError(f"{path}: no such font, nor {', '.join(FONTS)}. Give the path of a TrueType font as font_path.")


def _word(text, font, size, slices):
    """A word as booleans (columns, slices)."""
    from PIL import Image, ImageDraw
    image = Image.new("L", (size, size), 0)
    draw = ImageDraw.Draw(image)
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    draw.text(((size - (right - left)) // 2 - left, (size - (bottom - top)) // 2 - top), text, fill=1, font=font)
    image = image.rotate(-90, expand=True).transpose(Image.FLIP_LEFT_RIGHT)  # type: ignore[attr-defined]
    if slices != size:
        image = image.resize((slices, size), resample=Image.NEAREST)  # type: ignore[attr-defined]
    return numpy.array(image) > 0


def gen_text_phantom(recon_shape: Sequence[int], words: Sequence[str], font_size: int, row_indices: Optional[Sequence[int]] = None, horizontal_offset: int = 0,
                     vertical_offset: int = 0, voxel_slice_aspect: float = 1.0, font_path: str = "DejaVuSans.ttf") -> numpy.ndarray:
    """Words as voxels of value 1, each in a row of its own, as float32 (rows, columns, slices). Needs Pillow.

    row_indices: the row of each word; None for evenly spaced ones. The offsets move the words to the right and up. font_path: a TrueType font."""
    rows, columns, slices = recon_shape
    if voxel_slice_aspect <= 0:
        raise ValueError(f"voxel_slice_aspect must be positive. Got {voxel_slice_aspect}.")
    if row_indices is None:
        row_indices = [int(round(row)) for row in numpy.linspace(0, rows - 1, len(words) + 2)[1:-1]]
    if len(row_indices) != len(words):
        raise ValueError(f"Length of row_indices ({len(row_indices)}) must match length of words ({len(words)})")
    for row in row_indices:
        if not 0 <= row < rows:
            raise ValueError(f"Row index {row} is out of bounds for first dimension of size {rows}")
    size = min(columns, slices)
    height = min(max(int(round(size / voxel_slice_aspect)), 1), slices)
    phantom, font = numpy.zeros((rows, columns, slices), FLOAT32), _font(font_path, font_size)
    first = columns // 2 + horizontal_offset - size // 2, slices // 2 - vertical_offset - height // 2
    for row, text in zip(row_indices, words):
        word = _word(text, font, size, height)
        (c0, c1), (s0, s1) = ((max(begin, 0), min(begin + n, limit)) for begin, n, limit in zip(first, word.shape, (columns, slices)))
        if c0 < c1 and s0 < s1:
            phantom[row, c0:c1, s0:s1] = word[c0 - first[0]:c1 - first[0], s0 - first[1]:s1 - first[1]]
    return phantom


def gen_translation_phantom(recon_shape: Sequence[int], option: str, text: Sequence[str], fill_rate: float = 0.05, font_size: int = 20,
                            text_row_indices: Optional[Sequence[int]] = None, horizontal_offset: int = 0, vertical_offset: int = 0,
                            voxel_slice_aspect: float = 1.0) -> numpy.ndarray:
    """`gen_dot_phantom` (option "dots") or `gen_text_phantom` ("text")."""
    if option == "dots":
        return gen_dot_phantom(recon_shape, fill_rate)
    if option == "text":
        return gen_text_phantom(recon_shape, text, font_size, text_row_indices, horizontal_offset, vertical_offset, voxel_slice_aspect)
    raise ValueError(f"Unsupported phantom option: {option}")


def calc_tct_recon_params(source_det_dist: float, source_iso_dist: float, delta_det_row: float, delta_det_channel: float, sinogram_shape: Sequence[int],
                          translation_vectors: Any, voxel_row_aspect: float = 1.0, voxel_slice_aspect: float = 1.0) -> tuple[tuple, float, float]:
    """The automatic (recon_shape, delta_voxel, voxel_row_aspect) of a TranslationModel; an aspect of 1 is replaced by the automatic one."""
    views, rows, channels = sinogram_shape
    pitches = numpy.array([delta_det_row, delta_det_channel]) * source_iso_dist / source_det_dist
    slopes = numpy.array([delta_det_channel * channels, delta_det_row * rows]) / 4 / source_det_dist
    delta = float(pitches.max())
    if voxel_row_aspect == 1.0:
        voxel_row_aspect = max((4.0 * pitches / slopes).max(), delta) / delta
    vectors = numpy.asarray(translation_vectors, float)
    width, depth, height = vectors.max(0) - vectors.min(0)
    columns, slices = math.ceil(width / delta), math.ceil(height / (voxel_slice_aspect * delta))
    wanted = 2 * math.ceil(channels * rows / ((columns + rows) * (slices + channels) / views))
    most = math.floor((source_iso_dist - depth) / (voxel_row_aspect * delta))
    return (int(min(wanted, most)), columns, slices), delta, float(voxel_row_aspect)


def get_helical_half_rotation_slice_range(ct_model: Any, helical_pitch: float, helical_z_shifts: Any) -> tuple[int, int]:
    """First and last slice, exclusive, that half a turn of a helix sees. helical_z_shifts: one a view."""
    return _seen_half_a_turn(ct_model, helical_pitch, numpy.asarray(helical_z_shifts))


def estimate_background_cluster_boundaries(sinogram: Any) -> tuple[float, float]:
    """The values between which the samples of the background lie, the peak of the histogram that is nearest to 0."""
    return background_boundaries(numpy.asarray(sinogram).ravel())
