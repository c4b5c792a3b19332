"""What a model is: its parameters, as text for the library, and what follows from them."""

from __future__ import annotations

import ctypes
from ctypes import byref
from typing import Any, Sequence

import numpy

from tomoprof import _library
from tomoprof._arrays import FLOAT32, Array
from tomoprof._calls import Plan, X
from tomoprof._library import acquire, lib, release
from tomoprof._parameters import DERIVED, REGULARIZATION, SIGMAS, Param, ParameterHandler, plain

# A geometry file may hold these beside its geometry and its tables of views.
NUMBERS = ("source_detector_dist", "source_iso_dist", "delta_det_channel", "delta_det_row", "det_channel_offset", "det_row_offset",
           "delta_voxel", "voxel_row_aspect", "voxel_slice_aspect", "recon_slice_offset", "sharpness", "snr_db", "p", "q", "T", "max_alpha")
FLAGS = ("use_curved_detector", "use_ror_mask", "positivity_flag", "auto_regularize_flag")
AUTOMATIC = ("recon_shape", "delta_voxel")


def _json(value):
    """A value of a geometry file as JSON: words, truth, numbers, lists of numbers. The module json takes 2 ms to load, as long as the library."""
    if isinstance(value, str):
        return f'"{value}"'
    text = repr(value)
    return {"True": "true", "False": "false", "inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(text, text)


class Geometry(ParameterHandler):
    """Parameters of a scan, and the library's models made of them."""

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
        self.set_params(no_warning=True, no_compile=True, sinogram_shape=sinogram_shape, geometry_type=self._type_name, **kwargs)
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
        return ("{" + ", ".join(f'"{name}": {_json(value)}' for name, value in text.items()) + "}").encode()

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
            self.set_params(no_warning=True, recon_shape=plan.ends[X][0], **{name: self._read(plan, name) for name in self._left_out()[1:]})
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
        kept = {name: value for name, value in self.__dict__.items() if name not in ("_jax_pair", "_torch_name")}  # of this object alone
        return {**kept, "_plans": {}, "log_buffer": None, "logger": None,
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
        try:
            facts = ", ".join(self._facts())
        except (AttributeError, TypeError, ValueError):  # set_params takes any value; `verify_valid_params` says what is wrong
            facts = "parameters that do not fit together"
        return f"<tomoprof.{type(self).__name__}: {facts}>"

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
