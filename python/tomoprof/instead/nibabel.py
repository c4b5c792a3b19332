"""nibabel whose images of .nii.gz files get their voxels by tomoprof.

    import tomoprof.instead.nibabel as nibabel  # in place of: import nibabel

Headers, scaling and everything else are nibabel's. It maps .nii files into memory, which nothing is faster than: they stay its own."""

import functools
import importlib
import os

from tomoprof.instead import NotEqual, array_text, box_or, file_equal_to, in_place_of, rest_of

__getattr__ = rest_of("nibabel")


@in_place_of("nibabel")
def load(filename, **options):
    """The image of nibabel.load(filename). Its voxels are read when they are used, as nibabel's."""
    if not isinstance(filename, (str, os.PathLike)) or options:
        raise NotEqual(f"filename is {array_text(filename)}{', options are given' if options else ''}; tomoprof takes a path alone")
    if not os.fspath(filename).endswith(".nii.gz"):
        raise NotEqual(f"{os.path.basename(filename)} is not a .nii.gz file; nibabel maps other files, or knows their format")
    proxies = importlib.import_module("nibabel.arrayproxy")
    image = importlib.import_module("nibabel.loadsave").load(filename)
    proxy = getattr(image, "_dataobj", None)
    if type(proxy) is not proxies.ArrayProxy:
        raise NotEqual(f"the image's voxels are {type(proxy).__name__}; tomoprof reads those of an ArrayProxy")
    image._dataobj = _voxels_class()._of(proxy, file_equal_to(filename, "nibabel", proxy.shape, proxy.dtype))
    return image


@functools.lru_cache(None)
def _voxels_class():
    class Voxels(importlib.import_module("nibabel.arrayproxy").ArrayProxy):
        """nibabel's ArrayProxy; the numbers as stored come from tomoprof."""

        @classmethod
        def _of(cls, proxy, file):
            own = cls.__new__(cls)
            own.__dict__.update(proxy.__dict__)
            own._file = file
            return own

        def _get_unscaled(self, slicer):
            return box_or(self._file, slicer, super()._get_unscaled)

    return Voxels
