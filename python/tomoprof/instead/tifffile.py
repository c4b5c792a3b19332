"""tifffile whose imread of compressed files is tomoprof's.

    from tomoprof.instead.tifffile import imread  # in place of: from tifffile import imread

tifffile says what the file's first series is; files that tomoprof sees in another way, and files without compression, are read by it."""

import importlib
import os

from tomoprof.instead import NotEqual, array_text, file_equal_to, in_place_of, rest_of

__getattr__ = rest_of("tifffile")


@in_place_of("tifffile")
def imread(files=None, **options):
    """The array of tifffile.imread(path)."""
    if not isinstance(files, (str, os.PathLike)) or options:
        raise NotEqual(f"{next(iter(options))} is given; tomoprof takes a path alone" if options else f"files is {array_text(files)}; tomoprof takes a path")
    if not os.path.isfile(files):
        raise NotEqual(f"{files} is not a file; tifffile takes patterns")
    with importlib.import_module("tifffile.tifffile").TiffFile(files) as original:
        series = original.series[0]
        shape, dtype, compression = series.shape, series.dtype, getattr(series.keyframe, "compression", 1)
    if compression == 1:
        raise NotEqual(f"{os.path.basename(files)} is not compressed; tifffile reads it at once")
    return file_equal_to(files, "tifffile", shape, dtype)[...]
