"""Pictures of a scanner, and sinograms with their geometry in a file."""

from __future__ import annotations

import glob
import json
import os
from typing import Any

import numpy

from tomoprof._arrays import FLOAT32, Array, _of_any, host
from tomoprof._calls import SINOGRAM
from tomoprof._files import _h5py
from tomoprof._parameters import plain

PREPROCESSING_FILE = "mbirjax_preprocessing_v1"


def _tifffile():
    try:
        import tifffile
    except ImportError:
        raise ImportError("TIFF files need tifffile: pip install tifffile; `tomoprof recon --in FOLDER` reads them without") from None
    return tifffile


def _unit(image):
    """As float32; integers over the largest of their type."""
    return image.astype(FLOAT32) / FLOAT32.type(numpy.iinfo(image.dtype).max) if image.dtype.kind in "iu" else image.astype(FLOAT32)


def read_tif_img(img_path: Any) -> numpy.ndarray:
    """Reads a TIFF file as float32; integers over the largest of their type. The shape is the file's."""
    return _unit(_tifffile().imread(os.fspath(img_path)))


def read_tif_stack_dir(scan_dir: Any, view_ids: Any = None) -> numpy.ndarray:
    """Reads a folder of TIFF files whose names end in a digit, in the order of their names, as `read_tif_img` does.

    view_ids: the numbers of those to read, from 0; None: all. Returns (views, detector rows, channels)."""
    names = next((found for ending in ("tif", "tiff") if (found := sorted(glob.glob(os.path.join(glob.escape(scan_dir), f"*[0-9].{ending}"))))), [])
    if not names:
        raise FileNotFoundError(f"{scan_dir}: no files *[0-9].tif or *[0-9].tiff")
    numbers = range(len(names)) if view_ids is None else [int(i) for i in view_ids]
    if any(not 0 <= i < len(names) for i in numbers):
        raise FileNotFoundError(f"view_ids: from {min(numbers)} to {max(numbers)}, but {scan_dir} has {len(names)} views")
    return _unit(numpy.stack([_tifffile().imread(names[i]) for i in numbers]))


def save_cone_preprocessing(file_path: Any, sinogram: Array, cone_beam_params: dict, optional_params: dict, weights: Array = None) -> None:
    """Writes a sinogram, the parameters of its model and weights (or None) to an HDF5 file that MBIRJAX reads too.

    The two dicts are those of `get_all_params`; arrays in them become data sets."""
    os.makedirs(os.path.dirname(os.path.abspath(file_path)), exist_ok=True)
    words: dict[str, dict] = {"cone_beam_params": {}, "optional_params": {}}
    with _h5py().File(file_path, "w") as file:
        for name, array in (("sinogram", sinogram), ("weights", weights)):
            if array is not None:
                file.create_dataset(name, data=host(array, name, None, SINOGRAM))
        for part, params in (("cone_beam_params", cone_beam_params), ("optional_params", optional_params)):
            for key, value in params.items():
                if getattr(value, "ndim", 0):
                    file.create_dataset(f"{part}__{key}", data=_of_any(value, key))
                else:
                    words[part][key] = plain(value)
        file.attrs["params"], file.attrs["format"] = json.dumps(words), PREPROCESSING_FILE


def load_cone_preprocessing(file_path: Any) -> tuple:
    """Reads what `save_cone_preprocessing` or MBIRJAX wrote: (sinogram, cone_beam_params, optional_params, weights or None)."""
    with _h5py().File(file_path, "r") as file:
        if "sinogram" not in file or "params" not in file.attrs:
            raise ValueError(f"{file_path}: no sinogram with parameters that save_cone_preprocessing wrote")
        arrays = {name: file[name][()] for name in file}
        words = json.loads(file.attrs["params"])
    parts = []
    for part in ("cone_beam_params", "optional_params"):
        of_arrays = {name[len(part) + 2:]: array for name, array in arrays.items() if name.startswith(part + "__")}
        parts.append({**words.get(part, {}), **of_arrays})
    if "sinogram_shape" in parts[0]:
        parts[0]["sinogram_shape"] = tuple(int(n) for n in parts[0]["sinogram_shape"])
    return arrays["sinogram"], *parts, arrays.get("weights")
