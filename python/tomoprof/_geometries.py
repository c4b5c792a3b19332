"""The geometries that tomoprof computes, and the denoiser, with MBIRJAX's constructors."""

from __future__ import annotations

import ctypes
import datetime
import math
from ctypes import byref
from typing import Any, Optional, Sequence

import numpy

from tomoprof import _library
from tomoprof._arrays import FLOAT32, Array, Callback, host, like, output
from tomoprof._calls import VOLUME, Call, Plan, check_finite, header, integer, number
from tomoprof._geometry import AUTOMATIC
from tomoprof._library import lib
from tomoprof._model import TomographyModel
from tomoprof._parameters import plain
from tomoprof._partitions import gen_pixel_partition
from tomoprof._records import ReconParams
from tomoprof._vcd import Run, Visits


def _table(name, values, columns=None):
    """Values of views as float32, one or `columns` a view."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    try:
        if numpy.asarray(values).dtype.kind in "cSU":
            raise TypeError(f"{numpy.asarray(values).dtype}")
        array = numpy.array(values, FLOAT32)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} is not a table of numbers: {error}") from None
    if array.ndim != (1 if columns is None else 2) or (columns is not None and array.shape[1] != columns):
        raise ValueError(f"{name}: shape is {array.shape}; expected (views{f', {columns}' if columns else ''},)")
    if not numpy.isfinite(array).all():
        raise ValueError(f"{name} has values that are not finite")
    return array


def _range(angles):
    return f"angles {math.degrees(angles.min()):.4g} to {math.degrees(angles.max()):.4g} degrees" if angles.size else "no angles"


class _Parallel(TomographyModel):
    """FBP's names, of models with parallel beams."""

    def fbp_filter(self, sinogram: Array, filter_name: Optional[str] = "ramp", output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Is `direct_filter`."""
        return self.direct_filter(sinogram, filter_name, output_sharded, out=out, callback=callback)

    def fbp_recon(self, sinogram: Array, filter_name: Optional[str] = "ramp", output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Is `direct_recon`: filtered back projection."""
        return self.direct_recon(sinogram, filter_name, output_sharded, out=out, callback=callback)

    def get_magnification(self) -> float:
        """1: parallel beams do not magnify."""
        return 1.0


class _Diverging(TomographyModel):
    """FDK's names, of models with a source at a finite distance."""

    def fdk_filter(self, sinogram: Array, filter_name: Optional[str] = "ramp", output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Is `direct_filter`."""
        return self.direct_filter(sinogram, filter_name, output_sharded, out=out, callback=callback)

    def fdk_recon(self, sinogram: Array, filter_name: Optional[str] = "ramp", output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Is `direct_recon`: Feldkamp, Davis and Kress with the exact adjoint as back projection."""
        return self.direct_recon(sinogram, filter_name, output_sharded, out=out, callback=callback)

    def get_magnification(self) -> float:
        """source_detector_dist / source_iso_dist; 1 for a source at infinity."""
        detector, iso = self.get_params(["source_detector_dist", "source_iso_dist"])
        return 1 if math.isinf(detector) else detector / iso

    def _facts(self):
        detector, iso = self.get_params(["source_detector_dist", "source_iso_dist"])
        return [*super()._facts(), f"source to detector {detector:g}, to axis {iso:g}"]


class ParallelBeamModel(_Parallel):
    """Parallel beams that turn around the axis of the slices.

    sinogram_shape: (views, detector rows, channels). angles: radians, one a view. The volume has a slice for each detector row.

        angles = numpy.linspace(0, numpy.pi, 180, endpoint=False)
        model = tomoprof.ParallelBeamModel((180, 64, 128), angles)
        volume = model.direct_recon(sinogram)"""

    _geometry = "parallel"
    _type_name = "<class 'mbirjax.parallel_beam.ParallelBeamModel'>"

    def __init__(self, sinogram_shape: Sequence[int], angles: Array) -> None:
        super().__init__(sinogram_shape, angles=_table("angles", angles), view_params_name="angles")

    def _tables(self):
        return {"angles": _table("angles", self.get_params("angles"))}

    def _facts(self):
        return [*super()._facts(), _range(self.get_params("angles"))]


class ConeBeamModel(_Diverging):
    """A cone beam that turns around the axis of the slices, on a circle or a helix, with a flat or curved detector.

    sinogram_shape: (views, detector rows, channels). angles: radians, one a view. source_detector_dist, source_iso_dist: from the source
    to the detector and to the rotation axis. helical_z_shifts: one a view, None for a circle. Lengths are in one unit of your choice
    (ALU); a detector pixel is delta_det_channel wide, 1 unless you set it. use_curved_detector: the detector is part of a cylinder
    around the source.

        angles = numpy.linspace(0, 2 * numpy.pi, 360, endpoint=False)
        model = tomoprof.ConeBeamModel((360, 96, 128), angles, source_detector_dist=512, source_iso_dist=256)
        model.set_params(det_channel_offset=1.5)     # the axis is not at the middle of the detector
        volume = model.direct_recon(sinogram)        # FDK: float32 (rows, columns, slices), attenuation per ALU
        volume, record = model.recon(sinogram)       # MBIR: slower, with fewer artifacts
        again = model.forward_project(volume)        # back_project is its exact adjoint

    `model.print_params()` lists the parameters; recon_shape and delta_voxel are automatic, and you can set them."""

    _geometry = "cone"
    _type_name = "<class 'mbirjax.cone_beam.ConeBeamModel'>"

    def __init__(self, sinogram_shape: Sequence[int], angles: Array, source_detector_dist: float, source_iso_dist: float, helical_z_shifts: Array = None, use_curved_detector: bool = False) -> None:
        angles = _table("angles", angles)
        shifts = numpy.zeros_like(angles) if helical_z_shifts is None else _table("helical_z_shifts", helical_z_shifts)
        if angles.shape != shifts.shape:
            raise ValueError(f"helical_z_shifts: shape is {shifts.shape}; expected {angles.shape}, that of angles")
        super().__init__(sinogram_shape, view_params_array=numpy.stack([angles, shifts], axis=1),
                         source_detector_dist=source_detector_dist, source_iso_dist=source_iso_dist,
                         view_params_name="view_params_array", view_params_component_names=["angles", "helical_z_shifts"],
                         recon_slice_offset=0.0, axial_pad_fraction=0.0, use_curved_detector=use_curved_detector)

    def _components(self):
        views = _table("view_params_array", self.get_params("view_params_array"), 2)
        return {"angles": views[:, 0], "helical_z_shifts": views[:, 1]}

    def _tables(self):
        tables = self._components()
        return tables if tables["helical_z_shifts"].any() else {"angles": tables["angles"]}

    def _left_out(self):
        return (*AUTOMATIC, "recon_slice_offset")

    def auto_set_recon_geometry(self, no_compile: bool = False, no_warning: bool = False) -> None:
        """Sets recon_shape, delta_voxel and recon_slice_offset from the detector's pitches and the views.

        axial_pad_fraction adds slices at both ends, or (top, bottom), up to the deepest point that a ray crosses at 1."""
        super().auto_set_recon_geometry(no_compile, no_warning)
        fractions = self.get_params("axial_pad_fraction")
        fractions = fractions if isinstance(fractions, (list, tuple)) else (fractions, fractions)
        if len(fractions) != 2 or min(fractions) < 0:
            raise ValueError(f"axial_pad_fraction is {fractions!r}; expected a number of 0 or more, or a pair (top, bottom)")
        if any(fractions):
            self._pad_slices(*fractions)

    def _pad_slices(self, top, bottom):
        rows, columns, slices = self.get_params("recon_shape")
        detector_rows = self.get_params("sinogram_shape")[1]
        row_pitch, row_offset = self.get_params(["delta_det_row", "det_row_offset"])
        delta, row_aspect, slice_aspect, mask = self.get_params(["delta_voxel", "voxel_row_aspect", "voxel_slice_aspect", "use_ror_mask"])
        halves = 0.5 * rows * row_aspect * delta, 0.5 * columns * delta
        support = max(halves) if mask is True else math.hypot(*halves)
        magnification, distance = self.get_magnification(), self.get_params("source_detector_dist")
        reach = 1 / magnification + (0 if math.isinf(distance) else support / distance)
        half, height = 0.5 * detector_rows * row_pitch, detector_rows * row_pitch / magnification
        above = max(0.0, (half + row_offset) * reach - height / 2)
        below = max(0.0, (half - row_offset) * reach - height / 2)
        added = [math.ceil(fraction * excess / (slice_aspect * delta)) for fraction, excess in ((top, above), (bottom, below))]
        offset = self.get_params("recon_slice_offset") + 0.5 * (added[1] - added[0]) * slice_aspect * delta
        self.set_params(no_warning=True, recon_shape=(rows, columns, slices + sum(added)), recon_slice_offset=offset)

    def split_sino_recon(self, sino: Array, weights: Array = None, half_overlap: int = 5, init_recon: Array = None, max_iterations: int = 15, stop_threshold_change_pct: float = 0.2,
                         first_iteration: int = 0, compute_prior_loss: bool = False, logfile_path: Optional[str] = None, print_logs: bool = True,
                         align_split_grid: bool = False) -> tuple[Array, dict]:
        """Reconstructs the upper and the lower half of the detector one after the other, and joins both volumes: about half of the memory.

        half_overlap: so many rows beyond the cut belong to both halves, 2 or more. align_split_grid: moves the slices by up to half of one, so
        that the cut lies between two. Other arguments are those of `recon`. A circle only. Returns (volume, dict); the entries of the dict end
        in _top and _bottom, 'split_params' has the overlaps."""
        from tomoprof._split import split_sino_recon
        options = {"max_iterations": max_iterations, "stop_threshold_change_pct": stop_threshold_change_pct, "first_iteration": first_iteration,
                   "compute_prior_loss": compute_prior_loss, "print_logs": print_logs}
        return split_sino_recon(self, sino, weights, half_overlap, init_recon, align_split_grid, logfile_path, options)

    def helical_fdk_z_weight(self, recon: Array, sinogram: Array) -> Array:
        """Divides each slice of a helix' volume (rows, columns, slices) by the share of the views that see it; 0 where none does.

        `fdk_recon` does so by itself."""
        views, rows, _ = self.get_params("sinogram_shape")
        delta, aspect, offset, pitch = self.get_params(["delta_voxel", "voxel_slice_aspect", "recon_slice_offset", "delta_det_row"])
        x, slices = host(recon, "recon", tuple(self.get_params("recon_shape")), VOLUME), self.get_params("recon_shape")[2]
        z = aspect * delta * (numpy.arange(slices) - (slices - 1) / 2) + offset
        seen = (abs(z[:, None] - self._components()["helical_z_shifts"]) <= 0.5 * rows * pitch / self.get_magnification()).sum(1)
        return like(recon, x * numpy.where(seen > 0, views / numpy.maximum(seen, 1), 0).astype(FLOAT32))

    def _facts(self):
        views = self._components()
        shifts = views["helical_z_shifts"]
        return [*super()._facts(), _range(views["angles"]), *([f"helix over {numpy.ptp(shifts):g}"] if shifts.any() else []),
                *(["curved detector"] if self.get_params("use_curved_detector") else [])]


class TranslationModel(_Diverging):
    """A cone beam that stands still while the object moves.

    sinogram_shape: (views, detector rows, channels). translation_vectors: ALU (views, 3), x, y and z of the object in each view.
    source_detector_dist, source_iso_dist: ALU, finite."""

    _geometry = "translation"
    _type_name = "<class 'mbirjax.translation_model.TranslationModel'>"

    def __init__(self, sinogram_shape: Sequence[int], translation_vectors: Array, source_detector_dist: float, source_iso_dist: float) -> None:
        super().__init__(sinogram_shape, translation_vectors=_table("translation_vectors", translation_vectors, 3),
                         source_detector_dist=source_detector_dist, source_iso_dist=source_iso_dist,
                         view_params_name="translation_vectors", qggmrf_nbr_wts=(0.1, 1, 1), use_ror_mask=False)
        self.set_params(max_alpha=1.3)

    def _tables(self):
        return {"translation_vectors": _table("translation_vectors", self.get_params("translation_vectors"), 3)}

    def auto_set_recon_geometry(self, no_compile: bool = False, no_warning: bool = False) -> None:
        """Sets recon_shape, delta_voxel and, where it is 1, voxel_row_aspect from the detector's pitches and the vectors.

        Where the views reach too little for a volume, the constructor leaves recon_shape None: set it, or the pitches first."""
        try:
            super().auto_set_recon_geometry(no_compile, no_warning)
        except ValueError:
            if not no_warning:
                raise
            self._check_without_volume()

    def _check_without_volume(self):
        context = _library.acquire()
        try:
            Plan(context, self._text(recon_shape=(1, 1, 1), delta_voxel=1.0))
        finally:
            _library.release(context)

    def _left_out(self):
        automatic = ("voxel_row_aspect",) if self.get_params("voxel_row_aspect") == 1.0 else ()
        return (*AUTOMATIC, *automatic)


class MultiAxisParallelModel(_Parallel):
    """Parallel beams that come from above or below the plane of the slices, as in laminography.

    sinogram_shape: (views, detector rows, channels). angles: radians (views, 2), azimuth and elevation."""

    _geometry = "multiaxis"
    _type_name = "<class 'mbirjax.multiaxis_parallel.MultiAxisParallelModel'>"

    def __init__(self, sinogram_shape: Sequence[int], angles: Array) -> None:
        super().__init__(sinogram_shape, angles=_table("angles", angles, 2), view_params_name="angles", recon_slice_offset=0.0)

    def _tables(self):
        return {"angles": _table("angles", self.get_params("angles"), 2)}


class QGGMRFDenoiser(TomographyModel):
    """Removes white noise from a volume: the MAP estimate with the qGGMRF prior.

        denoised, record = tomoprof.QGGMRFDenoiser(volume.shape).denoise(volume)"""

    _geometry = "parallel"
    _type_name = "<class 'mbirjax.denoising.QGGMRFDenoiser'>"

    def __init__(self, image_shape: Sequence[int]) -> None:
        if len(image_shape) != 3:
            raise ValueError(f"image_shape must be 3-dimensional. Got image_shape={image_shape}. To denoise a 2D image, use shape (1, m, n).")
        super().__init__(image_shape, view_params_name="None", sigma_noise=None)
        self.set_params(use_ror_mask=False)
        self.set_params(sharpness=0, granularity=[16], partition_sequence=[0])

    def auto_set_recon_geometry(self, no_compile: bool = False, no_warning: bool = False) -> None:
        """Sets recon_shape to the shape of the image."""
        self.set_params(recon_shape=tuple(self.get_params("sinogram_shape")))

    def _text(self, without=(), **changes):
        rows, columns, slices = self.get_params("recon_shape")
        return super()._text(without, sinogram_shape=(1, slices, columns), delta_voxel=1.0, **changes)

    def _tables(self):
        return {"angles": numpy.zeros(1)}

    def get_magnification(self) -> float:
        """1."""
        return 1.0

    def recon(self, *args, **kwargs) -> tuple[Array, dict]:
        """Is not there: use `denoise`."""
        raise NotImplementedError("recon is not implemented for QGGMRFDenoiser. Use `denoise` instead.")

    prox_map = forward_project = back_project = recon

    def denoise(self, image: Array, sigma_noise: Optional[float] = None, use_ror_mask: Any = False, init_image: Array = None, max_iterations: int = 15, stop_threshold_change_pct: float = 0.2,
                first_iteration: int = 0, logfile_path: Optional[str] = None, print_logs: bool = True, output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> tuple[Array, dict]:
        """Denoises an image (rows, columns, slices) with white noise of deviation sigma_noise; None: estimated from the image.

        use_ror_mask: False for the whole image, True for the inscribed ellipse, or booleans (rows, columns). init_image: to begin with,
        None for the image. The iterations end after max_iterations, or when the image changes by less than stop_threshold_change_pct
        percent (0: never). The parameter `sharpness` (0) keeps more of the edges. first_iteration has no effect on the result.
        Returns (image, dict) as `TomographyModel.recon` does."""
        iterations, threshold = integer("max_iterations", max_iterations), number("stop_threshold_change_pct", stop_threshold_change_pct)
        first = integer("first_iteration", first_iteration)
        sigma = 0.0 if sigma_noise is None else number("sigma_noise", plain(sigma_noise))
        shape = tuple(self.get_params("recon_shape"))
        source = host(image, "image", shape, VOLUME)
        check_finite(source, "image")
        start = None if init_image is None else host(init_image, "init_image", shape, VOLUME)
        self.set_params(use_ror_mask=use_ror_mask)
        result, used = output(out, shape), ctypes.c_double()
        run = Run(iterations, threshold, initial=start, first=first, visits=self._denoiser_visits())
        self._begin_log(logfile_path)
        with Call(callback) as call:
            self.logger.info(f"tomoprof {_library.version}: {lib.tomoprof_device(call.context.handle).decode()}")
            call("denoise", self._plan(call.context).handle, header(source), sigma, byref(run.options), header(result), byref(used))
            self._warn(call.context)
        self.set_params(no_warning=True, sigma_noise=used.value, sigma_y=used.value)
        granularity, sequence = self.get_params(["granularity", "partition_sequence"])
        params = ReconParams(None, granularity, sequence, None, None, {"sigma_y": used.value}, None, None, None)._asdict()
        record = self.get_recon_dict(params, notes=f"Reconstruction completed: {datetime.datetime.now()}\n\n")
        return (out if out is not None else like(image, result)), record

    def estimate_image_noise_std(self, image: Array) -> float:
        """Estimates the deviation of the noise of an image (rows, columns, slices), as `denoise` does for itself."""
        source = host(image, "image", tuple(self.get_params("recon_shape")), VOLUME)
        check_finite(source, "image")
        used, result = ctypes.c_double(), numpy.empty_like(source)
        options = _library.ReconOptions(ctypes.sizeof(_library.ReconOptions), 0, 0.0)  # no iterations
        with Call() as call:
            call("denoise", self._plan(call.context).handle, header(source), 0.0, byref(options), header(result), byref(used))
            self._warn(call.context)
        return used.value

    def _denoiser_visits(self):
        granularity, sequence, mask = self.get_params(["granularity", "partition_sequence", "use_ror_mask"])
        if mask is False and granularity[sequence[0]] == 16:
            return None
        return Visits([gen_pixel_partition(self.get_params("recon_shape"), granularity[sequence[0]], use_ror_mask=mask)], [])

    def _facts(self):
        return ["image {} x {} x {}".format(*self.get_params("recon_shape"))]
