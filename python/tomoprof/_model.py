"""What all models share: parameters, projections, direct and iterative reconstruction."""

from __future__ import annotations

import ctypes
import datetime
import json
import logging
import math
import warnings
from collections import namedtuple
from ctypes import byref
from typing import Any, Optional, Sequence

import numpy
from numpy import empty, ndarray

from tomoprof import _library
from tomoprof._arrays import FLOAT32, Array, Callback, address, host, indices, like, output
from tomoprof._library import acquire, lib, release, run_long
from tomoprof._parameters import DERIVED, REGULARIZATION, SIGMAS, Param, ParameterHandler, plain

ReconParams = namedtuple("ReconParams", ["num_iterations", "granularity", "partition_sequence", "fm_rmse", "prior_loss",
                                         "regularization_params", "stop_threshold_change_pct", "alpha_values", "delta_norm_per_slice"])
VOLUME, SINOGRAM = "rows, columns, slices", "views, detector rows, channels"
LONG = 30_000_000  # voxels times views, some milliseconds: from here on a call can be interrupted
LEVELS = {0: logging.ERROR, 1: logging.WARNING, 2: logging.INFO}
METHODS = {"adjoint": 0, "voxel": 1, "fourier": 2}
LOG_FILE = "~/.mbirjax/logs/recon.log"
# A geometry file may hold these beside its geometry and its tables of views.
NUMBERS = ("source_detector_dist", "source_iso_dist", "delta_det_channel", "delta_det_row", "det_channel_offset", "det_row_offset",
           "delta_voxel", "voxel_row_aspect", "voxel_slice_aspect", "recon_slice_offset", "sharpness", "snr_db", "p", "q", "T", "max_alpha")
FLAGS = ("use_curved_detector", "use_ror_mask", "positivity_flag", "auto_regularize_flag")
AUTOMATIC = ("recon_shape", "delta_voxel")


class Plan:
    """A model in a context: its handle, its shapes and a pair of array headers that every call uses again."""

    __slots__ = ("context", "handle", "pointer", "volume", "sinogram", "long", "x", "y", "x_ref", "y_ref")

    def __init__(self, context, text) -> None:
        handle, shape = ctypes.c_void_p(), (ctypes.c_int64 * 3)()
        self.context, self.handle = context, None
        status = lib.tomoprof_model_parse(context.handle, text, len(text), byref(handle))
        if status:
            raise context.error(status)
        self.handle, self.pointer = handle.value, handle
        lib.tomoprof_model_volume_shape(self.handle, shape)
        self.volume = tuple(shape)
        lib.tomoprof_model_sinogram_shape(self.handle, shape)
        self.sinogram = tuple(shape)
        self.long = math.prod(self.volume) * self.sinogram[0] > LONG
        self.x, self.y = _library.Array(self.volume), _library.Array(self.sinogram)
        self.x_ref, self.y_ref = byref(self.x), byref(self.y)

    def __del__(self):
        if self.handle:
            self.context.trash.append(self.handle)


def header(array):
    """The tomoprof_array of a NumPy array; None stays None."""
    return None if array is None else byref(_library.Array(array.shape, address(array)))


class Call:
    """A context for the length of a `with`, and calls in it with progress, interruption and errors as exceptions."""

    def __init__(self, callback: Callback = None) -> None:
        self.context, self.callback = acquire(), callback
        self.context.messages.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        release(self.context)

    def __call__(self, name, *arguments, long=True):
        context, function = self.context, getattr(lib, "tomoprof_" + name)

        def job():
            return function(context.handle, *arguments)

        if self.callback is None:
            status = run_long(context, job) if long else job()
            if status:
                raise context.error(status)
            return
        with _library.Watch(context, self.callback) as watch:
            status = run_long(context, job)
        if watch.error is not None:
            raise watch.error
        if status:
            raise context.error(status)


class TomographyModel(ParameterHandler):
    """What every geometry offers; use ParallelBeamModel, ConeBeamModel, TranslationModel or MultiAxisParallelModel.

    Volumes are (rows, columns, slices), sinograms (views, detector rows, channels), both float32. Angles are in radians; lengths are in
    one unit of your choice (ALU). Arrays of NumPy, PyTorch (CPU) and JAX, and all that NumPy reads are taken, float32 in C order without
    a copy; results come in the library of the input. Parameters have MBIRJAX's names: `print_params()` lists them.

    Methods that compute take two more arguments by name: `out`, a float32 array for the result, and `callback(done, total)`, which is
    called while they run and ends them when it returns something true. Ctrl-C ends them, too."""

    _geometry = ""  # its name in geometry files
    _type_name = ""  # its name in MBIRJAX's parameter files

    def __init__(self, sinogram_shape: Sequence[int], **kwargs) -> None:
        if not self._geometry:
            raise TypeError("TomographyModel has no geometry; use ParallelBeamModel, ConeBeamModel, TranslationModel or "
                            "MultiAxisParallelModel")
        super().__init__()
        self._plans: dict[Any, Plan] = {}
        self.prox_data = None
        self.version = _library.version
        shape = plain(tuple(sinogram_shape))
        if len(shape) != 3 or not all(isinstance(n, int) and n > 0 for n in shape):
            raise ValueError(f"sinogram_shape is {shape}; expected three positive integers (views, rows, channels)")
        self.set_params(no_warning=True, no_compile=True, sinogram_shape=shape, geometry_type=self._type_name, **kwargs)
        self.auto_set_recon_geometry(no_compile=True, no_warning=True)

    # ---- Parameters ----

    def _changed(self):
        self._plans = {}
        self._masked = not isinstance(self.params["use_ror_mask"].val, (bool, int))

    def _tables(self):
        """The parameters that depend on the view, as a geometry file names them."""
        raise NotImplementedError

    def _text(self, without=(), **changes):
        """This model as the text of a geometry file."""
        values = {name: param.val for name, param in self.params.items()}
        values.update(changes)
        if not isinstance(values["use_ror_mask"], (bool, int)):
            values["use_ror_mask"] = True  # a mask of the caller's goes by pixel indices
        text = {"geometry": self._geometry, "sinogram_shape": list(values["sinogram_shape"])}
        if "recon_shape" not in without and values["recon_shape"] is not None:
            text["recon_shape"] = [int(n) for n in values["recon_shape"]]
        numbers = NUMBERS if values["auto_regularize_flag"] else (*NUMBERS, *SIGMAS)
        text.update({name: float(values[name]) for name in numbers
                     if name in values and name not in without and values[name] is not None})
        text.update({name: bool(values[name]) for name in FLAGS if name in values})
        text["qggmrf_nbr_wts"] = [float(weight) for weight in values["qggmrf_nbr_wts"]]
        text.update({name: numpy.asarray(table, FLOAT32).tolist() for name, table in self._tables().items()})
        return json.dumps(text).encode()

    def _plan(self, context):
        """This model in that context, made when first needed."""
        plan = self._plans.get(context)
        if plan is None:
            plan = Plan(context, self._text())
            self._plans = {old: value for old, value in list(self._plans.items()) if old.generation == context.generation}
            self._plans[context] = plan
        return plan

    def auto_set_recon_geometry(self, no_compile: bool = False, no_warning: bool = False) -> None:
        """Sets recon_shape and delta_voxel, with what follows from them, from the detector's pitches and the views.

        Call it after changes of the detector's geometry, such as delta_det_channel. Both arguments are without effect."""
        context = acquire()
        try:
            plan = Plan(context, self._text(without=self._left_out()))
            self.set_params(no_warning=True, recon_shape=plan.volume, **{name: self._read(plan, name) for name in self._left_out()[1:]})
        finally:
            release(context)

    def _left_out(self):
        return AUTOMATIC

    @staticmethod
    def _read(plan, name):
        value, count = ctypes.c_double(), ctypes.c_size_t()
        status = lib.tomoprof_model_get(plan.context.handle, plan.handle, name.encode(), byref(value), 1, byref(count))
        if status:
            raise plan.context.error(status)
        return value.value

    def scale_recon_shape(self, row_scale: float = 1.0, col_scale: float = 1.0, slice_scale: float = 1.0) -> tuple[int, ...]:
        """Multiplies recon_shape. Returns how many (rows, columns, slices) were added."""
        old = self.get_params("recon_shape")
        new = tuple(int(n * scale) for n, scale in zip(old, (row_scale, col_scale, slice_scale)))
        self.set_params(recon_shape=new)
        return tuple(n - o for n, o in zip(new, old))

    def set_view_parameters(self, view_params: Array) -> None:
        """Replaces the table of views (angles, translation vectors ...) by one of the same shape."""
        name = self.get_params("view_params_name")
        current, new = self.get_params(name), numpy.array(view_params, FLOAT32)
        if new.shape != current.shape:
            raise ValueError(f"{name}: shape is {new.shape}; expected {current.shape}. Use set_params({name}=...) for another number of views.")
        self.set_params(no_warning=True, no_compile=True, **{name: new})

    def verify_valid_params(self) -> None:
        """ValueError where the parameters do not fit together."""
        if self.get_params("geometry_type") != self._type_name:
            raise ValueError(f"Parameters are associated with {self.get_params('geometry_type')}, but the current model is {self._type_name}")
        context = acquire()
        try:
            self._plan(context)
        finally:
            release(context)

    def get_all_params(self) -> tuple[dict, dict, dict]:
        """Returns (required, optional, regularization): what the constructor takes with `geometry_type`, the other parameters of the
        geometry, and those of the prior. `tomoprof.build_model` makes the model from them."""
        names = self.get_required_param_names()
        tables = self._components()
        required, optional = self.get_required_params_from_dict(self.params, [name for name in names if name not in tables])
        required.update(tables)
        if tables:
            optional.pop(self.get_params("view_params_name"))
        for name in DERIVED:
            optional.pop(name, None)
        required["geometry_type"] = str(type(self))
        return required, optional, {name: optional.pop(name) for name in REGULARIZATION if name in optional}

    def _components(self):
        return {}

    def __getstate__(self):
        return {**self.__dict__, "_plans": {}, "log_buffer": None, "logger": None,
                "params": {name: Param(param.val, param.recompile_flag) for name, param in self.params.items()}}

    def __copy__(self):
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__getstate__())
        return new

    def _facts(self):
        views, rows, channels = self.get_params("sinogram_shape")
        shape, delta = self.get_params(["recon_shape", "delta_voxel"])
        volume = ["volume {} x {} x {}".format(*shape), f"delta_voxel {delta:g}"] if shape else ["no recon_shape"]
        return [f"{views} views of {rows} x {channels}", *volume]

    def __repr__(self) -> str:
        return f"<tomoprof.{type(self).__name__}: {', '.join(self._facts())}>"

    # ---- Devices: MBIRJAX's calls that have one meaning here ----

    def set_devices(self):
        """Has no effect: the library chooses. `tomoprof.configure` sets back end, threads and memory."""

    def configure_devices(self, devices=None):
        """Takes None, "cpu" and 1. `tomoprof.configure` sets back end, threads and memory."""
        if devices not in (None, "cpu", 1):
            raise NotImplementedError("configure_devices: tomoprof computes on one device. Choose it with tomoprof.configure(backend=...).")

    def get_compute_config(self, print_results=True):
        """Returns, and prints, what the operators compute on."""
        config = {"device": _library.device(), "version": _library.version}
        if print_results:
            print(f"tomoprof {config['version']}: {config['device']}")
        return config

    def prepare_sino_for_devices(self, sinogram: Array, weights: Array = None):
        """Returns both as they are: nothing needs to be moved."""
        return sinogram, weights

    # ---- Projections ----

    def _mask(self):
        """Pixel indices of a mask that the caller made; None for the two that the library knows."""
        if not self._masked:
            return None
        mask, shape = numpy.asarray(self.params["use_ror_mask"].val), tuple(self.get_params("recon_shape")[:2])
        if mask.shape != shape:
            raise ValueError(f"use_ror_mask: shape is {mask.shape}; expected {shape}, that of recon_shape[:2]")
        if not numpy.isin(mask, (0, 1)).all():
            raise ValueError("use_ror_mask: expected True, False, or an array of 0 and 1")
        return numpy.flatnonzero(mask).astype(numpy.int32)

    def _project(self, function, forward, array, name, out, callback):
        """A projection by the shortest way: nothing is made anew but the result."""
        if callback is not None or self._masked:
            return self._project_long(function, forward, array, name, out, callback)
        context = acquire()
        try:
            plan = self._plans.get(context) or self._plan(context)
            shape, result_shape = (plan.volume, plan.sinogram) if forward else (plan.sinogram, plan.volume)
            if type(array) is ndarray and array.dtype is FLOAT32 and array.shape == shape and array.flags.c_contiguous:
                source = array
            else:
                source = host(array, name, shape, VOLUME if forward else SINOGRAM)
            result = empty(result_shape, FLOAT32) if out is None else output(out, result_shape)
            x, y = (source, result) if forward else (result, source)
            plan.x.data, plan.y.data = address(x), address(y)
            first, second = (plan.x_ref, plan.y_ref) if forward else (plan.y_ref, plan.x_ref)
            if plan.long:
                status = run_long(context, lambda: function(context.pointer, plan.pointer, first, second))
            else:
                status = function(context.pointer, plan.pointer, first, second)
            if status:
                raise context.error(status)
        finally:
            release(context)
        if out is not None:
            return out
        return result if source is array else like(array, result)

    def _project_long(self, function, forward, array, name, out, callback):
        pixels = self._mask()
        shapes = self.get_params(["recon_shape", "sinogram_shape"])
        shape, result_shape = shapes if forward else shapes[::-1]
        source = host(array, name, tuple(shape), VOLUME if forward else SINOGRAM)
        result = output(out, tuple(result_shape))
        if pixels is None:
            name = "forward_project" if forward else "back_project"
            with Call(callback) as call:
                call(name, self._plan(call.context).handle, header(source), header(result))
        elif forward:
            cylinders = source.reshape(-1, shape[2])[pixels]
            self.sparse_forward_project(cylinders, pixels, out=result, callback=callback)
        else:
            result[...] = 0
            result.reshape(-1, result_shape[2])[pixels] = self.sparse_back_project(source, pixels, callback=callback)
        return out if out is not None else like(array, result)

    def forward_project(self, recon: Array, output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Projects a volume (rows, columns, slices) of attenuation per ALU over the region of reconstruction.

        Returns the sinogram (views, detector rows, channels) of line integrals. output_sharded has no effect."""
        return self._project(_library.forward_project, True, recon, "recon", out, callback)

    def back_project(self, sinogram: Array, output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Applies the exact adjoint of `forward_project` to a sinogram (views, detector rows, channels).

        Returns a volume (rows, columns, slices), 0 outside of the region of reconstruction. output_sharded has no effect."""
        return self._project(_library.back_project, False, sinogram, "sinogram", out, callback)

    def sparse_forward_project(self, voxel_values: Array, pixel_indices: Array, *, out: Array = None, callback: Callback = None) -> Array:
        """Projects some pixels: voxel_values (pixels, slices), pixel_indices row * columns + column of each, which may repeat.

        Returns the sinogram (views, detector rows, channels)."""
        rows, columns, slices = self.get_params("recon_shape")
        pixels = indices(pixel_indices, "pixel_indices", rows * columns)
        values = host(voxel_values, "voxel_values", (len(pixels), slices), "pixels, slices")
        result = output(out, tuple(self.get_params("sinogram_shape")))
        pixels = pixels.copy() if numpy.may_share_memory(pixels, result) else pixels
        with Call(callback) as call:
            call("sparse_forward_project", self._plan(call.context).handle, header(values), pixels.ctypes.data, len(pixels),
                 header(result), long=values.size * result.shape[0] > LONG)
        return out if out is not None else like(voxel_values, result)

    def sparse_back_project(self, sinogram: Array, pixel_indices: Array, coeff_power: int = 1, *, out: Array = None, callback: Callback = None) -> Array:
        """Applies the adjoint of `sparse_forward_project`; coeff_power 2 squares the entries of the matrix.

        Returns (pixels, slices)."""
        if coeff_power not in (1, 2):
            raise ValueError(f"coeff_power is {coeff_power!r}; expected 1 or 2")
        shape = self.get_params("recon_shape")
        pixels = indices(pixel_indices, "pixel_indices", shape[0] * shape[1])
        source = host(sinogram, "sinogram", tuple(self.get_params("sinogram_shape")), SINOGRAM)
        result = output(out, (len(pixels), shape[2]))
        pixels = pixels.copy() if numpy.may_share_memory(pixels, result) else pixels
        with Call(callback) as call:
            call("sparse_back_project", self._plan(call.context).handle, header(source), pixels.ctypes.data, len(pixels),
                 int(coeff_power), header(result), long=result.size * source.shape[0] > LONG)
        return out if out is not None else like(sinogram, result)

    def compute_hessian_diagonal(self, weights: Array = None, output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Back projects weights (views, detector rows, channels), None for ones, with the squared matrix over all pixels.

        Returns a volume (rows, columns, slices): the diagonal of A' W A. output_sharded has no effect."""
        sinogram_shape, recon_shape = self.get_params(["sinogram_shape", "recon_shape"])
        source = None if weights is None else host(weights, "weights", tuple(sinogram_shape), SINOGRAM)
        result = output(out, tuple(recon_shape))
        with Call(callback) as call:
            plan = self._plan(call.context)
            call("hessian_diagonal", plan.handle, header(source), header(result), long=plan.long)
        return out if out is not None else like(weights, result)

    def get_voxels_at_indices(self, recon: Array, indices):
        """Returns the voxels (pixels, slices) of a volume at pixel indices."""
        return recon.reshape((-1, recon.shape[-1]))[indices]

    def reshape_recon(self, recon: Array):
        """Returns `recon` with the shape recon_shape."""
        return recon.reshape(self.get_params("recon_shape"))

    # ---- Direct reconstruction ----

    def _filter_name(self, name):
        if name not in (None, "ramp"):
            raise NotImplementedError(f"filter_name is {name!r}; tomoprof has 'ramp'")

    def direct_filter(self, sinogram: Array, filter_name: Optional[str] = "ramp", output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Filters a sinogram so that its back projection is the volume: the ramp of FBP, for cone beams FDK's with its weights.

        Returns a sinogram (views, detector rows, channels). The views are taken as evenly spaced."""
        self._filter_name(filter_name)
        shape = tuple(self.get_params("sinogram_shape"))
        source = host(sinogram, "sinogram", shape, SINOGRAM)
        result = output(out, shape)
        with Call(callback) as call:
            plan = self._plan(call.context)
            call("direct_filter", plan.handle, header(source), header(result), long=plan.long)
        return out if out is not None else like(sinogram, result)

    def direct_recon(self, sinogram: Array, filter_name: Optional[str] = "ramp", output_sharded: bool = False, *, method: str = "adjoint", out: Array = None, callback: Callback = None) -> Array:
        """Reconstructs without iterations: FBP for parallel beams, FDK for cone beams. The views are taken as evenly spaced.

        method: "adjoint" is MBIRJAX's back_project(direct_filter(sinogram)). "voxel" (cone beams) interpolates at each voxel's centre,
        "fourier" (parallel beams) goes through the plane of frequencies; both are faster and differ slightly.
        Returns a volume (rows, columns, slices) of attenuation per ALU."""
        self._filter_name(filter_name)
        if method not in METHODS:
            raise ValueError(f"method is {method!r}; expected 'adjoint', 'voxel' or 'fourier'")
        sinogram_shape, recon_shape = self.get_params(["sinogram_shape", "recon_shape"])
        source = host(sinogram, "sinogram", tuple(sinogram_shape), SINOGRAM)
        if self._mask() is not None:
            return self.back_project(like(sinogram, self.direct_filter(source)), out=out, callback=callback)
        result = output(out, tuple(recon_shape))
        with Call(callback) as call:
            plan = self._plan(call.context)
            call("direct_recon", plan.handle, METHODS[method], header(source), header(result), long=plan.long)
        return out if out is not None else like(sinogram, result)

    # ---- Iterative reconstruction ----

    def auto_set_regularization_params(self, sinogram: Array, weights: Array = None) -> dict:
        """Sets sigma_y, sigma_x and sigma_prox from a sinogram where auto_regularize_flag is set. Returns them as a dict."""
        if self.get_params("auto_regularize_flag"):
            shape = tuple(self.get_params("sinogram_shape"))
            y = host(sinogram, "sinogram", shape, SINOGRAM)
            w = None if weights is None else host(weights, "weights", shape, SINOGRAM)
            _check_finite(y, "sinogram")
            values = [ctypes.c_double() for _ in SIGMAS]
            with Call() as call:
                call("auto_regularise", self._plan(call.context).handle, header(y), header(w), *map(byref, values))
                self._warn(call.context)
            for name, value in zip(SIGMAS, values):
                self.params[name].val = value.value
        return {name: float(self.get_params(name)) for name in SIGMAS}

    def _warn(self, context):
        """Passes on what the library logged: warnings, and all of it into the log of the reconstruction."""
        for level, sentence in context.messages:
            if level <= 1 and self.get_params("verbose") > 0:
                warnings.warn(sentence, stacklevel=4)
            if self.logger:
                self.logger.log(LEVELS.get(level, logging.DEBUG), sentence)
        context.messages.clear()

    def _schedule_is_fixed(self):
        for name in ("granularity", "partition_sequence"):
            if list(self.get_params(name)) != self._schedule[name]:
                raise NotImplementedError(f"{name}: tomoprof has the schedule {self._schedule[name]} alone")

    _schedule = {"granularity": [1, 2, 4, 8, 16, 32, 64, 128, 128, 128, 128], "partition_sequence": [2, 4, 6] + [7, 8, 9, 10] * 25}

    def recon(self, sinogram: Array, weights: Array = None, init_recon: Array = None, max_iterations: int = 15, stop_threshold_change_pct: float = 0.2, first_iteration: int = 0,
              compute_prior_loss: bool = False, logfile_path: Optional[str] = LOG_FILE, print_logs: bool = True, output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> tuple[Array, dict]:
        """Reconstructs by MBIR: vectorized coordinate descent on the posterior with the qGGMRF prior.

        sinogram, weights: (views, detector rows, channels); weights are inverse variances, None for ones (see `tomoprof.gen_weights`).
        init_recon: a volume to begin with, 0 for zeros, None for `direct_recon` with a fitted scale. The iterations end after
        max_iterations, or when the volume changes by less than stop_threshold_change_pct percent (0: never). With `verbose` 1 or more
        and print_logs a bar shows the progress on a terminal. The order of the pixels follows numpy.random: call numpy.random.seed
        for a reproducible result. To go on, give the last volume as init_recon and the number of iterations that are done as
        first_iteration: it counts to max_iterations.

        Returns (volume, dict): attenuation per ALU (rows, columns, slices), and 'recon_params', 'recon_log', 'notes', 'model_params'."""
        if compute_prior_loss:
            raise NotImplementedError("compute_prior_loss: tomoprof does not compute the prior's loss")
        return self._iterate("Reconstruction", sinogram, None, weights, init_recon, max_iterations, stop_threshold_change_pct,
                             first_iteration, logfile_path, print_logs, out, callback)

    def prox_map(self, prox_input: Array, sinogram: Array, sigma_prox: Optional[float] = None, weights: Array = None, init_recon: Array = None, do_initialization: bool = True,
                 stop_threshold_change_pct: float = 0.2, max_iterations: int = 3, first_iteration: int = 0, logfile_path: Optional[str] = "~/.mbirjax/logs/prox.log",
                 print_logs: bool = True, output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> tuple[Array, dict]:
        """Computes the proximal map of the data term at prox_input (rows, columns, slices), as Plug-and-Play methods need it.

        sigma_prox is the deviation of the proximal term, None for the automatic value. Other arguments and the result are those of `recon`."""
        if prox_input is None:
            raise TypeError("prox_input: None; expected a volume")
        changes = {}
        if sigma_prox is not None:
            changes = {**self.auto_set_regularization_params(sinogram, weights), "sigma_prox": float(sigma_prox),
                       "auto_regularize_flag": False}
        return self._iterate("Prox", sinogram, prox_input, weights, init_recon, max_iterations, stop_threshold_change_pct,
                             first_iteration, logfile_path, print_logs, out, callback, changes)

    def _iterate(self, what, sinogram, prox, weights, init, iterations, threshold, first, logfile, print_logs, out, callback, changes=None):
        self._schedule_is_fixed()
        first = _integer("first_iteration", first)
        if self._mask() is not None:
            raise NotImplementedError("use_ror_mask: iterative reconstruction takes True or False")
        iterations, threshold = _integer("max_iterations", iterations), _number("stop_threshold_change_pct", threshold)
        total, iterations = iterations, max(iterations - first, 0)
        shape, recon_shape = (tuple(value) for value in self.get_params(["sinogram_shape", "recon_shape"]))
        y = host(sinogram, "sinogram", shape, SINOGRAM)
        _check_finite(y, "sinogram")
        w = None if weights is None else host(weights, "weights", shape, SINOGRAM)
        p = None if prox is None else host(prox, "prox_input", recon_shape, VOLUME)
        if isinstance(init, (int, float)):
            init = numpy.full(recon_shape, init, FLOAT32)
        x0 = None if init is None else host(init, "init_recon", recon_shape, VOLUME)
        result = output(out, recon_shape)
        self._begin_log(logfile)
        options, report, keep = _recon_call(iterations, threshold, w, x0, p, first)
        with Call(callback) as call, _Bar(call, what, self.get_params("verbose") > 0 and print_logs):
            plan = self._plan(call.context) if not changes else Plan(call.context, self._text(**changes))
            self.logger.info(f"tomoprof {_library.version}: {lib.tomoprof_device(call.context.handle).decode()}")
            call("recon", plan.handle, header(y), byref(options), header(result), byref(report))
            self._warn(call.context)
        del keep
        stats = _stats(report, iterations)
        for name in SIGMAS:
            if self.get_params("auto_regularize_flag") and not (changes and name == "sigma_prox"):
                self.params[name].val = float(getattr(report, name))
        self._log_iterations(stats, first, total)
        sigmas = {name: float(getattr(report, name)) for name in SIGMAS}
        sequence = self.get_params("partition_sequence")
        sequence = [int(sequence[min(i, len(sequence) - 1)]) for i in range(first, total)]
        params = ReconParams(report.iterations, self.get_params("granularity"), sequence, stats["fm_rmse"], [0], sigmas,
                             stats["change_percent"], stats["alpha"], None)._asdict()
        notes = f"{what} completed: {datetime.datetime.now()}\n\n"
        return (out if out is not None else like(sinogram, result)), self.get_recon_dict(params, notes=notes)

    def _begin_log(self, logfile):
        """A log without its copy on the terminal, which shows a bar; a file that cannot be written costs a warning."""
        try:
            self.setup_logger(logfile_path=logfile, print_logs=False)
        except OSError as error:
            warnings.warn(f"the log is not written: {error}", stacklevel=4)
            self.setup_logger(logfile_path=None, print_logs=False)

    def _log_iterations(self, stats, first, total):
        for i, (change, rmse) in enumerate(zip(stats["change_percent"], stats["fm_rmse"])):
            self.logger.info(f"After iteration {first + i + 1} of a max of {total}: Pct change={change:.4f}, Forward loss={rmse:.4f}")
        for handler in self.logger.handlers:
            handler.flush()

    def get_recon_dict(self, recon_params=None, notes=None, save_log=True, save_model=True, str_format=False) -> dict:
        """Returns 'recon_params', 'recon_log', 'notes' and 'model_params' of a reconstruction; str_format: as strings."""
        log = self.log_buffer.getvalue() if self.log_buffer is not None and save_log else "# Log info not saved."
        record = {"recon_params": "# Recon params not saved." if recon_params is None else recon_params, "recon_log": log,
                  "notes": "# No notes saved" if notes is None else notes,
                  "model_params": self.params.copy() if save_model else "# Model not saved"}
        return self.convert_subdicts_to_strings(record) if str_format else record

    @staticmethod
    def convert_subdicts_to_strings(recon_dict):
        """Returns a dict of strings: entries that are dicts as text, model_params as YAML that loads again."""
        if not isinstance(recon_dict, dict):
            return recon_dict
        return {key: ParameterHandler.save_params(value) if key.startswith("model_params") and isinstance(value, dict)
                else json.dumps(value, indent=1, default=str) if isinstance(value, dict) else str(value)
                for key, value in recon_dict.items()}

    def save_recon_hdf5(self, filepath: Any, recon: Array, recon_dict=None):
        """Writes a volume, and what `recon` returned with it as attributes, to an HDF5 file. Needs h5py."""
        from tomoprof._functions import save_data_hdf5
        save_data_hdf5(filepath, numpy.asarray(recon), "recon", recon_dict)

    @staticmethod
    def load_recon_hdf5(filepath: Any, recreate_model=False):
        """Returns (volume, dict) of a file that `save_recon_hdf5` wrote."""
        from tomoprof._functions import load_data_hdf5
        if recreate_model:
            raise ValueError("recreate_model has been deprecated. Remove this option and expect only 2 return values.")
        return load_data_hdf5(filepath)

    @staticmethod
    def gen_weights(sinogram: Array, weight_type: str) -> Array:
        """Deprecated: `tomoprof.gen_weights`."""
        from tomoprof._functions import gen_weights
        warnings.warn("TomographyModel.gen_weights() is deprecated. Use gen_weights() of the module instead.", stacklevel=2)
        return gen_weights(sinogram, weight_type)

    @staticmethod
    def subsample_views(array: Array, max_views_to_use=20, num_real_views=None):
        """Returns about max_views_to_use evenly spaced views as a NumPy array."""
        views = array.shape[0] if num_real_views is None else num_real_views
        return numpy.array(array[:views][::max(views // min(max_views_to_use, views), 1)])


def _check_finite(array, name):
    if not numpy.isfinite(array).all():
        raise ValueError(f"{name} contains NaN and/or Inf values.")


def _integer(name, value, least=0):
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 31:
        raise (ValueError if isinstance(value, int) else TypeError)(f"{name} is {value!r}; expected an integer of {least} or more")
    return value


def _number(name, value):
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is {value!r}; expected a number")
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} is {value!r}; expected a finite number of 0 or more")
    return float(value)


def _recon_call(iterations, threshold, weights=None, initial=None, prox=None, first=0):
    """Options, a report with room for all iterations, and what must live as long as they."""
    arrays = [None if array is None else _library.Array(array.shape, address(array)) for array in (weights, initial, prox)]
    pointers = [ctypes.pointer(array) if array else None for array in arrays]
    options = _library.ReconOptions(ctypes.sizeof(_library.ReconOptions), iterations, threshold, random_seed(), 0, *pointers, first)
    lists = [(ctypes.c_double * max(iterations, 1))() for _ in range(3)]
    report = _library.ReconReport(size=ctypes.sizeof(_library.ReconReport), room=iterations)
    report.fm_rmse, report.change_percent, report.alpha = lists
    return options, report, (arrays, lists)


def _stats(report, iterations):
    count = min(report.iterations, iterations)
    return {name: [float(value) for value in getattr(report, name)[:count]] for name in ("fm_rmse", "change_percent", "alpha")}


def random_seed():
    """The seed for the library's generator, which is NumPy's legacy one: that of numpy.random.seed(N) where nothing was drawn since
    (the result is then MBIRJAX's), else the next number of numpy.random."""
    name, key, position = numpy.random.get_state()[:3]
    seed = int(key[0])
    fresh = name == "MT19937" and position == len(key) and (numpy.random.RandomState(seed).get_state()[1] == key).all()
    following = int(numpy.random.randint(0, 1 << 32, dtype=numpy.uint32))
    return seed if fresh else following


class _Bar:
    """A tqdm bar of a call's progress on a terminal, beside the caller's callback; nothing where tqdm is missing."""

    def __init__(self, call, title, wanted) -> None:
        self.bar = None
        if not wanted:
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self.bar = tqdm(desc=title, disable=None, leave=False, unit="iteration")
        if self.bar.disable:
            self.bar = None
            return
        self.callback, call.callback = call.callback, self.step

    def step(self, done, total):
        self.bar.total = total
        self.bar.update(done - self.bar.n)
        return self.callback(done, total) if self.callback else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()
