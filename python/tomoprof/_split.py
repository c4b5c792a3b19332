"""Reconstruction of a cone beam's scan in two halves of the detector's rows, which takes about half of the memory."""

from __future__ import annotations

import math
import os
import warnings
from typing import Any

import numpy

from tomoprof._arrays import FLOAT32, host, like
from tomoprof._calls import SINOGRAM, VOLUME, integer
from tomoprof._files import merge_log_files, stitch_arrays
from tomoprof._models import copy_ct_model
from tomoprof._partitions import get_support_radius


def _half(x):
    return (x + 0.5) % 1.0 - 0.5


class _Cut:
    """Where the detector and the volume of a model are cut: `row` and `slice`, and how much of the other half each one keeps."""

    def __init__(self, model, rows, overlap, align) -> None:
        self.pitch, self.offset = model.get_params(["delta_det_row", "det_row_offset"])
        delta, row_aspect, slice_aspect = model.get_params(["delta_voxel", "voxel_row_aspect", "voxel_slice_aspect"])
        self.rows, self.shape, self.height = rows, tuple(model.get_params("recon_shape")), slice_aspect * delta
        ratio = self.height / max(self.pitch / model.get_magnification(), 1e-12)
        self.overlap_rows = round(overlap * ratio) if ratio > 1 else overlap
        radius = get_support_radius(self.shape, row_aspect * delta, delta, use_ror_mask=model.get_params("use_ror_mask"))
        self.overlap_slices = math.ceil(self.overlap_rows * (1 + radius / model.get_params("source_iso_dist")) / ratio) + 2
        exact = (rows - 1) / 2 + self.offset / self.pitch
        self.row, self.shift = round(exact), 0.0
        if not 0 < self.row < rows:
            raise ValueError(f"the ray through the axis meets row {self.row} of {rows}; expected one that parts the detector")
        if align:
            self._align(model, exact, ratio)
        middle = (self.shape[2] - 1) / 2 - (model.get_params("recon_slice_offset") + self.shift) / self.height
        self.slice = round(middle)
        self.left_over = self.slice - middle
        self.mismatch = _half(self.left_over - (self.row - exact) / ratio)

    def _align(self, model, exact, ratio):
        """Chooses the row whose plane is nearest to a slice, and moves the slices by the rest."""
        middle = (self.shape[2] - 1) / 2 - model.get_params("recon_slice_offset") / self.height
        left = {row: _half(round(middle) - middle - (row - exact) / ratio) for row in range(self.row - 2, self.row + 3) if 0 < row < self.rows}
        self.row = min(left, key=lambda row: abs(left[row]))
        self.shift = -left[self.row] * self.height

    def too_thin(self):
        upper = self.slice + 1
        return self.slice < 1 or self.slice > self.shape[2] - 2 or min(upper, self.shape[2] - upper) < self.overlap_slices

    def parts(self):
        """For the upper and the lower half: first row, last row exclusive, shape and offset of its volume."""
        upper, kept = self.slice + 1, self.overlap_slices
        top, bottom = upper + kept, self.shape[2] - upper + kept
        return ((0, min(self.row + self.overlap_rows, self.rows), (*self.shape[:2], top), (kept - (top - 1) / 2 + self.left_over) * self.height),
                (max(self.row - self.overlap_rows, 0), self.rows, (*self.shape[:2], bottom), (1 - kept + (bottom - 1) / 2 + self.left_over) * self.height))

    def model(self, model, first, last, shape, offset):
        half = copy_ct_model(model, new_num_det_rows=last - first)
        middle = (last - first - 1) / 2 + first
        half.set_params(no_warning=True, det_row_offset=self.offset + ((self.rows - 1) / 2 - middle) * self.pitch, auto_regularize_flag=False,
                        recon_shape=shape, recon_slice_offset=offset)
        return half


def split_sino_recon(model: Any, sino: Any, weights: Any, half_overlap: int, init_recon: Any, align: bool, logfile_path: Any, options: dict) -> tuple:
    """`ConeBeamModel.split_sino_recon`; options are those of `recon`."""
    overlap = integer("half_overlap", half_overlap, 2)
    if model.get_params("view_params_array")[:, 1].any():
        raise ValueError("helical_z_shifts must be zero.")
    shape = tuple(model.get_params("sinogram_shape"))
    y = host(sino, "sino", shape, SINOGRAM)
    w = None if weights is None else host(weights, "weights", shape, SINOGRAM)
    if init_recon is not None and not isinstance(init_recon, (int, float)):
        init_recon = host(init_recon, "init_recon", tuple(model.get_params("recon_shape")), VOLUME)
    cut = _Cut(model, shape[1], overlap, align)
    if cut.too_thin():
        warnings.warn("split_index is too close to the volume boundary for the recon overlap; falling back to standard MBIR reconstruction.", stacklevel=3)
        return model.recon(sino, weights=weights, init_recon=init_recon, logfile_path=logfile_path, **options)
    model.auto_set_regularization_params(y)
    log = None if logfile_path is None else os.path.expanduser(logfile_path)
    logs = [log and log + end for end in (".top", ".bot")]
    volumes, records = [], []
    try:
        for i, (first, last, volume, offset) in enumerate(cut.parts()):
            start = init_recon
            if isinstance(init_recon, numpy.ndarray):
                start = numpy.ascontiguousarray(init_recon[:, :, :volume[2]] if i == 0 else init_recon[:, :, -volume[2]:])
            half = cut.model(model, first, last, volume, offset)
            x, record = half.recon(y[:, first:last], weights=None if w is None else w[:, first:last], init_recon=start, logfile_path=logs[i], **options)
            volumes.append(x)
            records.append(record)
    finally:
        if log:
            merge_log_files(log, zip(("split_sino_recon: top half", "split_sino_recon: bottom half"), logs))
    ramp = min(4, cut.overlap_slices)
    result = stitch_arrays(volumes, overlap=2 * cut.overlap_slices, axis=2, ramp_overlap=ramp - ramp % 2).astype(FLOAT32, copy=False)
    record = {f"{name}_{end}": part[name] for name in ("recon_params", "recon_log", "notes", "model_params")
              for end, part in zip(("top", "bottom"), records)}
    record["split_params"] = {"half_overlap_sino": cut.overlap_rows, "half_overlap_recon": cut.overlap_slices, "align_split_grid": bool(align),
                              "grid_shift_alu": float(cut.shift), "split_cut_mismatch_slices": float(cut.mismatch)}
    return like(sino, result), record
