"""A slice of a volume as a picture, which notebooks show."""

from __future__ import annotations

import os
import struct
import zlib
from typing import Any, Optional

import numpy

from tomoprof._arrays import host

AXES = ("row", "column", "slice")
SHOWN = 320  # pixels of the page that a notebook gives the longer side, at least: a slice of 64 x 64 is a stamp on a screen


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class Picture:
    """Gray levels as PNG: a notebook shows it, `save` writes it."""

    def __init__(self, levels: numpy.ndarray, title: str) -> None:
        self.levels, self.title = levels, title

    def png(self) -> bytes:
        """The PNG file, a pixel for each voxel."""
        rows, columns = self.levels.shape
        lines = numpy.zeros((rows, columns + 1), numpy.uint8)  # each line begins with its filter: 0, none
        lines[:, 1:] = self.levels
        header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
        return (b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines.tobytes())) + _chunk(b"IEND", b""))

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The file, and how large a notebook shows it: small slices by a whole factor."""
        rows, columns = self.levels.shape
        times = -(-SHOWN // max(rows, columns, 1))
        return self.png(), {"width": times * columns, "height": times * rows}

    def save(self, path: Any) -> None:
        """Writes the PNG file."""
        with open(os.fspath(path), "wb") as file:
            file.write(self.png())

    def __repr__(self) -> str:
        return f"<tomoprof.Picture: {self.title}>"


def picture(volume: Any, index: Optional[int] = None, axis: int = 2, vmin: Optional[float] = None, vmax: Optional[float] = None) -> Picture:
    """A slice of a volume (rows, columns, slices) in gray levels; also a view of a sinogram with axis 0.

    index: the number of the slice along `axis`, None for the middle one. vmin is black and vmax is white; None for the least and the
    largest value of the slice. NaN is black. The last line of a notebook's cell shows it."""
    array = host(volume, "volume")
    if axis not in (0, 1, 2):
        raise ValueError(f"axis is {axis!r}; expected 0, 1 or 2")
    count = array.shape[axis]
    index = count // 2 if index is None else index
    if not isinstance(index, int) or not -count <= index < count:
        raise ValueError(f"index is {index!r}; expected an integer from {-count} to {count - 1}")
    plane = numpy.take(array, index, axis)
    finite = plane[numpy.isfinite(plane)]
    low = float(finite.min() if vmin is None and finite.size else vmin or 0)
    high = float(finite.max() if vmax is None and finite.size else vmax or 0)
    with numpy.errstate(all="ignore"):
        levels = numpy.nan_to_num((plane.astype(float) - low) / ((high - low) or 1), nan=0.0)
    return Picture(numpy.rint(255 * levels.clip(0, 1)).astype(numpy.uint8), f"{AXES[axis]} {index % count} of {count}, {low:.4g} to {high:.4g}")
