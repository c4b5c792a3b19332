"""Parameters of models by MBIRJAX's names: stored, checked, printed, saved and loaded."""

from __future__ import annotations

import errno
import io
import math
import os
import re
import warnings
from typing import Any, Literal, Optional, Sequence, Union, get_args

import numpy

ARRAY_PREFIX = ":ARRAY:"


class Param:
    """The value of a parameter, and whether a change of it changes the projections."""

    def __init__(self, val, recompile_flag=True) -> None:
        self.val, self.recompile_flag = val, recompile_flag

    def __repr__(self) -> str:
        return f"Param(val={self.val}, recompile_flag={self.recompile_flag})"

    def __eq__(self, other):
        return isinstance(other, Param) and (self.val, self.recompile_flag) == (other.val, other.recompile_flag)


# Name: default, whether the projections depend on it. The order is that of parameter files.
DEFAULTS = {
    "geometry_type": (None, False), "file_format": (1.0, False), "sinogram_shape": (None, True), "delta_det_channel": (1.0, True),
    "delta_det_row": (1.0, True), "det_row_offset": (0.0, True), "det_channel_offset": (0.0, True), "sigma_y": (1.0, False),
    "alu_unit": (None, False), "alu_value": (1.0, False), "recon_shape": (None, True), "delta_voxel": (None, True),
    "voxel_row_aspect": (1.0, True), "voxel_slice_aspect": (1.0, True), "sigma_x": (1.0, False), "sigma_prox": (1.0, False),
    "p": (2.0, False), "q": (1.2, False), "T": (1.0, False), "qggmrf_nbr_wts": ([1.0, 1.0, 1.0], False),
    "auto_regularize_flag": (True, False), "positivity_flag": (False, False), "snr_db": (30.0, False), "sharpness": (1.0, False),
    "granularity": ([1, 2, 4, 8, 16, 32, 64, 128, 128, 128, 128], False), "partition_sequence": ([2, 4, 6] + [7, 8, 9, 10] * 25, False),
    "verbose": (1, False), "use_gpu": ("automatic", True), "max_alpha": (1.5, False), "use_ror_mask": (True, False),
}
# For editors: names that get_params completes. Views add names of their own, such as "angles".
ParamNames = Literal[
    "geometry_type", "file_format", "sinogram_shape", "delta_det_channel", "delta_det_row", "det_row_offset", "det_channel_offset", "sigma_y",
    "alu_unit", "alu_value", "recon_shape", "delta_voxel", "voxel_row_aspect", "voxel_slice_aspect", "sigma_x", "sigma_prox", "p", "q", "T",
    "qggmrf_nbr_wts", "auto_regularize_flag", "positivity_flag", "snr_db", "sharpness", "granularity", "partition_sequence", "verbose", "use_gpu",
    "max_alpha", "use_ror_mask"]
SIGMAS = ("sigma_y", "sigma_x", "sigma_prox")
REGULARIZATION = (*SIGMAS, "snr_db", "sharpness", "auto_regularize_flag")
DERIVED = ("geometry_type", "view_params_name", "view_params_component_names", "file_format", "version", "use_gpu")
MAY_BE_INFINITE = ("source_detector_dist", "source_iso_dist")


def parameter_names_match():
    """Whether `ParamNames` has the names of `DEFAULTS`."""
    return set(get_args(ParamNames)) == set(DEFAULTS)


def plain(value):
    """Scalars of NumPy, JAX and PyTorch as Python's, also inside of lists and tuples; arrays as arrays of float32."""
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    if value is None or isinstance(value, (str, bytes, bool, int, float)):
        return value
    if isinstance(value, numpy.generic) or (hasattr(value, "item") and getattr(value, "ndim", None) == 0):
        return value.item()
    return value


def check_number(name, value):
    """Refuses NaN, and infinity where it means nothing, in a value or a list of values."""
    if isinstance(value, (list, tuple)):
        for item in value:
            check_number(name, item)
    elif isinstance(value, float) and (math.isnan(value) or (math.isinf(value) and name not in MAY_BE_INFINITE)):
        raise ValueError(f"{name} is {value}; expected a finite number")
    elif isinstance(value, numpy.ndarray) and value.dtype.kind == "f" and not numpy.isfinite(value).all():
        raise ValueError(f"{name} has values that are not finite")


NUMBERS = {name for name, (value, _) in DEFAULTS.items() if isinstance(value, float)} | {"delta_voxel", "source_detector_dist", "source_iso_dist", "recon_slice_offset"}
SHAPES = {"sinogram_shape": "views, rows, channels", "recon_shape": "rows, columns, slices"}


def checked(name, value):
    """The value as it is kept: shapes as tuples of integers. Refuses what a model cannot have."""
    value = plain(value)
    if name in SHAPES and value is not None:
        sizes = plain(tuple(value)) if hasattr(value, "__iter__") else ()
        if len(sizes) != 3 or not all(isinstance(n, (int, float)) and n > 0 and n % 1 == 0 for n in sizes):
            raise ValueError(f"{name} is {value!r}; expected three positive integers ({SHAPES[name]})")
        return tuple(map(int, sizes))
    if name in NUMBERS and not isinstance(value, (int, float, type(None))):
        raise TypeError(f"{name} is {value!r}; expected a number")
    check_number(name, value)
    return value


class ParameterHandler:
    """Parameters by name. `params` maps each name to a `Param`."""

    array_prefix = ARRAY_PREFIX

    def __init__(self) -> None:
        self.params = {name: Param(list(value) if isinstance(value, list) else value, flag) for name, (value, flag) in DEFAULTS.items()}
        self.logger: Any = None
        self.log_buffer: Any = None

    def get_params(self, parameter_names: Union[ParamNames, str, Sequence[str]]) -> Any:
        """Returns the value of a parameter by its name, or a list of values for a list of names. NameError for an unknown name."""
        return ParameterHandler.get_params_from_dict(self.params, parameter_names)

    @staticmethod
    def get_params_from_dict(param_dict, parameter_names: Any):
        """The same from a dict of `Param`."""
        if isinstance(parameter_names, str):
            if parameter_names not in param_dict:
                raise NameError(f'"{parameter_names}" is not a recognized argument')
            return param_dict[parameter_names].val
        return [ParameterHandler.get_params_from_dict(param_dict, name) for name in parameter_names]

    def set_params(self, no_warning: bool = False, no_compile: bool = False, **kwargs) -> bool:
        """Sets parameters by name. ValueError for an unknown name, NaN, infinity or a bad shape, TypeError where a number is expected.

        no_warning: also takes new names and does not warn. no_compile: has no effect, because nothing is compiled.

        Setting sigma_y, sigma_x or sigma_prox turns automatic regularization off; setting sharpness or snr_db turns it on again."""
        new = {}
        for name, value in kwargs.items():
            if name not in self.params and not no_warning:
                import difflib
                near = difflib.get_close_matches(name, self.params, 1)
                raise ValueError(f"{name} is not a recognized parameter" + (f": did you mean {near[0]}?" if near else f"; valid are {', '.join(self.params)}"))
            new[name] = Param(checked(name, value), self.params[name].recompile_flag if name in self.params else True)
        self.params.update(new)
        if not no_warning and any(name in SIGMAS for name in new) and "auto_regularize_flag" not in new:
            self.params["auto_regularize_flag"].val = False
            warnings.warn("You are directly setting regularization parameters, sigma_x, sigma_y or sigma_prox. "
                          "This is an advanced feature that will disable auto-regularization.", stacklevel=2)
        if ("sharpness" in new or "snr_db" in new) and self.params["auto_regularize_flag"].val is False:
            self.params["auto_regularize_flag"].val = True
            if not no_warning:
                warnings.warn("You have re-enabled auto-regularization by setting sharpness or snr_db. It was previously disabled",
                              stacklevel=2)
        self._changed()
        return any(param.recompile_flag for param in new.values()) and not no_compile

    def _changed(self):
        pass

    def print_params(self) -> None:
        """Prints all parameters; the table of views only when `verbose` is 3 or more."""
        verbose, views = self.get_params(["verbose", "view_params_name"])
        print("----")
        for name, param in self.params.items():
            if verbose >= 3:
                print(f"{name} = {param.val}, recompile_flag = {param.recompile_flag}")
            elif name != views:
                print(f"{name} = {param.val}")
        print("----")

    @staticmethod
    def normalize_scalar(val):
        """Scalars of NumPy and JAX as Python's, also inside of lists and tuples."""
        return plain(val)

    @staticmethod
    def save_params(params: dict, filename: Any = None) -> Optional[str]:
        """Writes `params` of a model as YAML to a file (.yml, .yaml), or returns the text. MBIRJAX reads it, and `load_param_dict`."""
        entries = {}
        for name, param in params.items():
            value: Any = plain(param.val)
            entry: dict[str, Any] = {}
            if hasattr(value, "shape"):
                array = numpy.asarray(value)
                entry["val"] = ARRAY_PREFIX + " ".join(f"{x:.7f}" for x in array.flatten())
                entry["shape"] = array.shape
            else:
                entry["val"] = value
            entries[name] = {**entry, "recompile_flag": param.recompile_flag}
        from tomoprof import _yaml
        text = _yaml.dump(entries)
        if not filename:
            return text
        filename = os.fspath(filename)
        if not filename.lower().endswith((".yml", ".yaml")):
            raise ValueError(f"Filename must end in .yaml or .yml: {filename}")
        os.makedirs(os.path.dirname(os.path.abspath(filename)), exist_ok=True)
        with open(filename, "w", encoding="utf-8") as file:
            file.write(text)
        return None

    @staticmethod
    def load_param_dict(source: Any, required_param_names=None, values_only=True) -> tuple[dict, dict]:
        """Reads what `save_params` or MBIRJAX wrote: a file's name, the text, or an open file.

        Returns (required_params, params): the entries named in `required_param_names`, and the others; values, or `Param` objects."""
        if isinstance(source, (str, os.PathLike)):
            if os.path.exists(source):
                if not os.fspath(source).lower().endswith((".yml", ".yaml")):
                    raise ValueError("Filename must end in .yml or .yaml")
                with open(source, encoding="utf-8") as file:
                    source = file.read()
            elif not isinstance(source, str) or source.lower().endswith((".yml", ".yaml")):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(source))
        elif hasattr(source, "read"):
            source = source.read()
        else:
            raise TypeError("Invalid source type for load_param_dict. Must be str or file-like object.")
        params = {}
        from tomoprof import _yaml
        for name, entry in _yaml.load(source).items():
            value = entry.get("val")
            if isinstance(value, str) and value.startswith(ARRAY_PREFIX):
                words = value[len(ARRAY_PREFIX):].replace("[", " ").replace("]", " ").split()
                value = numpy.array([float(word) for word in words], numpy.float32).reshape(entry.get("shape") or -1)
            params[name] = Param(tuple(value) if isinstance(value, list) else value, entry.get("recompile_flag", True))
        return ParameterHandler.get_required_params_from_dict(params, required_param_names, values_only)

    @staticmethod
    def get_required_params_from_dict(param_dict, required_param_names=None, values_only=True):
        """Parts a dict of `Param` into the named entries and the others."""
        required = {name: param_dict[name] for name in required_param_names or ()}
        others = {name: param for name, param in param_dict.items() if name not in required}
        if values_only:
            required, others = ({name: param.val for name, param in part.items()} for part in (required, others))
        return required, others

    @staticmethod
    def compare_parameter_handlers(ph1, ph2, atol=1e-6, verbose=False):
        """Whether two models have the same parameters, numbers within `atol`. verbose: prints the first difference."""
        for name in {**ph1.params, **ph2.params}:
            one, two = (handler.params.get(name) for handler in (ph1, ph2))
            if one is None or two is None or not _same(one.val, two.val, atol):
                if verbose:
                    print(f"Mismatch in key '{name}': {one} != {two}")
                return False
        return True

    @classmethod
    def get_required_param_names(cls):
        """Names of the parameters that the constructor takes, in order."""
        import inspect
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_magnification(self) -> float:
        """Size of the shadow of a voxel on the rotation axis over its size."""
        raise NotImplementedError("get_magnification is not implemented.")

    def setup_logger(self, *, logfile_path: Optional[str] = None, print_logs: bool = True):
        """Begins an empty log in `log_buffer`, with copies to a file and to the terminal. `verbose` 0 logs warnings, 1 the steps, 2 all."""
        import logging
        level = (logging.WARNING, logging.INFO, logging.DEBUG)[max(0, min(2, self.get_params("verbose")))]
        handlers: list[logging.Handler] = []
        if logfile_path:
            path = os.path.abspath(os.path.expanduser(logfile_path))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            handlers.append(logging.FileHandler(path, mode="w"))
        self.log_buffer = io.StringIO()
        handlers += [logging.StreamHandler(self.log_buffer), *([logging.StreamHandler()] if print_logs else [])]
        self.logger = self.logger or logging.Logger(f"{type(self).__name__}.{id(self):x}")
        for old in list(self.logger.handlers):
            old.close()
            self.logger.removeHandler(old)
        self.logger.setLevel(level)
        for handler in handlers:
            handler.setFormatter(logging.Formatter("%(message)s"))
            self.logger.addHandler(handler)


def _same(one, two, atol):
    if isinstance(one, (str, type(None))) or isinstance(two, (str, type(None))):
        return one == two
    try:
        one, two = numpy.asarray(one, float), numpy.asarray(two, float)
    except (TypeError, ValueError):
        return one == two
    return one.shape == two.shape and numpy.allclose(one, two, rtol=1e-5 if one.ndim else 0, atol=atol)


def class_name(geometry_type):
    """"ConeBeamModel" of "<class 'mbirjax.cone_beam.ConeBeamModel'>"."""
    found = re.search(r"(\w+)'?>?$", geometry_type or "")
    return found[1] if found else ""
