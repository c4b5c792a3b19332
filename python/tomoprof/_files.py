"""Arrays in HDF5 files, logs, and arrays that are parts of one."""

from __future__ import annotations

import os
from typing import Any, Optional

import numpy

from tomoprof._arrays import FLOAT32, Array, like
from tomoprof._partitions import get_2d_ror_mask
from tomoprof._records import Records


def _h5py():
    try:
        import h5py
    except ImportError:
        raise ImportError("HDF5 files need h5py: pip install h5py") from None
    return h5py


def save_data_hdf5(file_path: Any, array: Array, array_name: str = "array", attributes_dict: Optional[dict] = None):
    """Writes an array and attributes to an HDF5 file of one data set."""
    os.makedirs(os.path.dirname(os.path.abspath(file_path)), exist_ok=True)
    with _h5py().File(file_path, "w") as file:
        data = file.create_dataset(array_name, data=numpy.asarray(array))
        for key, value in (Records.convert_subdicts_to_strings(attributes_dict) if isinstance(attributes_dict, dict) else {}).items():
            data.attrs[key] = value


def load_data_hdf5(file_path: Any):
    """Returns (array, attributes) of an HDF5 file of one data set."""
    with _h5py().File(file_path, "r") as file:
        names = list(file)
        if len(names) != 1:
            raise ValueError(f"{file_path}: {len(names)} data sets; expected one")
        return file[names[0]][()], dict(file[names[0]].attrs)


def export_recon_hdf5(file_path: Any, recon: Array, recon_dict=None, remove_flash=False, radial_margin=10, top_margin=10, bottom_margin=10):
    """Writes a volume as (slices, columns, rows). remove_flash: zeros near the border of the cylinder and of its ends."""
    volume = numpy.asarray(recon)
    if remove_flash:
        volume = numpy.where(get_2d_ror_mask(volume.shape, crop_radius_pixels=radial_margin)[:, :, None], volume, 0)
        volume[:, :, :top_margin] = 0
        volume[:, :, volume.shape[2] - bottom_margin:] = 0
    save_data_hdf5(file_path, volume.transpose(2, 1, 0), "recon", recon_dict)


def import_recon_hdf5(file_path: Any):
    """Returns (volume, attributes) of what `export_recon_hdf5` wrote, as (rows, columns, slices)."""
    volume, attributes = load_data_hdf5(file_path)
    return volume.transpose(2, 1, 0), attributes


def merge_log_files(merged_path: Any, labeled_paths: Any) -> None:
    """Joins the logs of pairs (label, path) that exist into one file, each below a line with its label, and removes them."""
    merged_path = os.fspath(merged_path)  # a number would be a descriptor, which open() closes
    found = [(label, os.fspath(path)) for label, path in labeled_paths if path is not None and os.path.exists(os.fspath(path))]
    texts = []
    for label, path in found:
        with open(path, encoding="utf-8") as log:
            texts.append(f"======== {label} ========\n{log.read()}")
    if texts:
        with open(merged_path, "w", encoding="utf-8") as merged:
            merged.writelines(texts)
    for _, path in found:
        os.remove(path)


def stitch_arrays(array_list: list, overlap: int, axis: int = 2, ramp_overlap: Optional[int] = None):
    """Joins arrays along an axis where neighbours share `overlap` entries, which fade linearly from one to the other."""
    if not isinstance(array_list, list) or len(array_list) < 2:
        raise ValueError("array_list must be a list of 2 or more arrays.")
    arrays = [numpy.moveaxis(numpy.asarray(array), axis, 0) for array in array_list]
    if len({array.shape[1:] for array in arrays}) > 1 or min(len(array) for array in arrays) < overlap:
        raise ValueError(f"array_list: shapes are {[a.shape for a in array_list]}; expected equal ones but for axis {axis}, of {overlap} or more there")
    ramp = min(overlap // 2 if ramp_overlap is None else ramp_overlap, overlap)
    ramp = max(ramp - (overlap - ramp) % 2, overlap % 2)
    flat = (overlap - ramp) // 2
    weights = numpy.concatenate([numpy.zeros(flat), (numpy.arange(ramp) + 1) / (ramp + 1), numpy.ones(flat)]).astype(FLOAT32)
    weights = weights.reshape(-1, *[1] * (arrays[0].ndim - 1))
    whole = arrays[0]
    for array in arrays[1:]:
        middle = (1 - weights) * whole[len(whole) - overlap:] + weights * array[:overlap]
        whole = numpy.concatenate([whole[:len(whole) - overlap], middle, array[overlap:]])
    return like(array_list[0], numpy.ascontiguousarray(numpy.moveaxis(whole, 0, axis)))
