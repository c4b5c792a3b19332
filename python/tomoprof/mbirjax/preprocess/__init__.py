"""mbirjax.preprocess: the functions of tomoprof.preprocess; the readers that tomoprof lacks raise NotImplementedError where they are called."""

import sys
from typing import Any

from tomoprof.preprocess import *  # noqa: F403
from tomoprof.preprocess import auto_crop_sino as _auto_crop_sino  # noqa: F401

READERS = {
    "zeiss": "`tomoprof recon --in scan.txrm --out volume.nii` reads scans of Zeiss microscopes",
    "zeiss_tct": "`tomoprof recon` reads Zeiss scans, but none of a translated object",
    "nsi": "read the .tif files by read_tif_stack_dir and build a ConeBeamModel from the geometry",
    "pymbir": "read the HDF5 file by h5py and build a ConeBeamModel from its geometry",
}


class _Missing:
    """A module of MBIRJAX's that tomoprof lacks."""

    def __init__(self, name, instead):
        self.name, self.instead = name, instead

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(f"{self.name}.{name}", self.instead)

    def __call__(self, *arguments, **options):
        raise NotImplementedError(f"mbirjax.preprocess.{self.name} is not in tomoprof: {self.instead}")


def __getattr__(name):
    if name in READERS:
        return sys.modules[f"{__name__}.{name}"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_modules: Any = sys.modules
for _name, _instead in READERS.items():  # so that `from mbirjax.preprocess.zeiss import ...` goes on until a reader is called
    _modules[f"{__name__}.{_name}"] = _Missing(_name, _instead)

from . import utilities  # noqa: E402,F401
