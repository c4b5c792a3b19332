"""Models made of what describes them: dicts, files, other models."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Optional, Sequence

import numpy

from tomoprof._arrays import FLOAT32, Array
from tomoprof._geometries import ConeBeamModel, MultiAxisParallelModel, ParallelBeamModel, TranslationModel
from tomoprof._model import TomographyModel
from tomoprof._parameters import class_name

MODELS: dict[str, Any] = {"parallel": ParallelBeamModel, "cone": ConeBeamModel, "translation": TranslationModel, "multiaxis": MultiAxisParallelModel}


def get_ct_model(geometry_type, sinogram_shape: Sequence[int], angles: Array, source_detector_dist: Any = None, source_iso_dist: Any = None, helical_z_shifts: Array = None):
    """A ConeBeamModel ("cone") or ParallelBeamModel ("parallel")."""
    if geometry_type == "cone":
        return ConeBeamModel(sinogram_shape, angles, source_detector_dist, source_iso_dist, helical_z_shifts)
    if geometry_type != "parallel":
        raise ValueError(f"Invalid geometry type. Expected cone or parallel, got {geometry_type}")
    if helical_z_shifts is not None:
        warnings.warn("helical_z_shifts: only cone beams have them; they are ignored", UserWarning, stacklevel=2)
    return ParallelBeamModel(sinogram_shape, angles)


def build_model(required_params: dict, optional_params: Optional[dict] = None, regularization: Optional[dict] = None) -> TomographyModel:
    """The model of what `get_all_params` returned. A recon_shape among the optional parameters is kept."""
    required, optional = dict(required_params), dict(optional_params or {})
    kind = required.pop("geometry_type")
    classes = {model.__name__: model for model in MODELS.values()}
    if class_name(kind) not in classes:
        raise ValueError(f"build_model: unrecognized geometry_type {kind!r}; expected one of {list(classes)}.")
    model, shape = classes[class_name(kind)](**required), optional.pop("recon_shape", None)
    if optional:
        model.set_params(**optional)
    if regularization:
        model.set_params(no_warning=True, **regularization)
    model.auto_set_recon_geometry()
    if shape is not None:
        model.set_params(no_warning=True, recon_shape=shape)
    return model


def copy_ct_model(ct_model: Any, new_angles=None, new_helical_z_shifts=None, new_num_det_rows=None, new_num_det_cols=None):
    """A ConeBeamModel or ParallelBeamModel with other angles, shifts or detector size, and an automatic recon_shape."""
    if not isinstance(ct_model, (ConeBeamModel, ParallelBeamModel)):
        raise TypeError("copy_ct_model() is restricted to ConeBeam and ParallelBeam Models")
    required, optional, regularization = ct_model.get_all_params()
    old = required["angles"]
    if isinstance(ct_model, ConeBeamModel):
        shifts = new_helical_z_shifts
        if shifts is None:
            if new_angles is not None and numpy.any(required["helical_z_shifts"] != 0):
                raise ValueError("copy_ct_model: new_helical_z_shifts must be specified when changing angles for a helical scan.")
            shifts = required["helical_z_shifts"] if new_angles is None else numpy.zeros(len(new_angles), FLOAT32)
        if len(shifts) != len(old if new_angles is None else new_angles):
            raise ValueError("copy_ct_model: new_helical_z_shifts must have the same length as the angles.")
        required["helical_z_shifts"] = shifts
    required["angles"] = old if new_angles is None else new_angles
    _, rows, channels = required["sinogram_shape"]
    required["sinogram_shape"] = (len(required["angles"]), rows if new_num_det_rows is None else new_num_det_rows,
                                  channels if new_num_det_cols is None else new_num_det_cols)
    optional.pop("recon_shape", None)
    return build_model(required, optional, regularization)


def load_model(source: Any) -> TomographyModel:
    """The model of a file: a geometry file (.json), or parameters that `save_params` or MBIRJAX wrote (.yml, .yaml, or their text)."""
    if isinstance(source, (str, os.PathLike)) and os.fspath(source).endswith(".json"):
        with open(source, encoding="utf-8") as file:
            return _model_of_geometry(json.load(file))
    _, params = TomographyModel.load_param_dict(source)
    classes = {model.__name__: model for model in MODELS.values()}
    kind = class_name(params.get("geometry_type"))
    if kind not in classes:
        raise ValueError(f"geometry_type is {params.get('geometry_type')!r}; expected one of {list(classes)}")
    views = params.get("view_params_array")
    if views is not None:
        params.update(zip(params["view_params_component_names"], numpy.asarray(views).T))
    model = classes[kind](**{name: params.pop(name) for name in classes[kind].get_required_param_names()})
    for name in ("geometry_type", "view_params_component_names", "version", "use_gpu"):
        params.pop(name, None)
    model.set_params(no_warning=True, **{name: value for name, value in params.items() if name in model.params})
    return model


def _model_of_geometry(values):
    """The model of a geometry file, whose automatic values are made where they are missing."""
    kind = values.pop("geometry", None)
    if kind not in MODELS:
        raise ValueError(f"geometry is {kind!r}; expected one of {', '.join(MODELS)}")
    for name in ("source_detector_dist", "source_iso_dist"):
        values.update({name: float(values[name])} if name in values else {})
    if "max_overrelaxation" in values:
        values["max_alpha"] = values.pop("max_overrelaxation")
    model = MODELS[kind](**{name: values.pop(name) for name in MODELS[kind].get_required_param_names() if name in values})
    automatic = {name: values.pop(name) for name in ("recon_shape", "delta_voxel", "recon_slice_offset") if name in values}
    flag = values.pop("auto_regularize_flag", not any(name.startswith("sigma_") for name in values))
    model.set_params(no_warning=True, auto_regularize_flag=flag, **values)
    model.auto_set_recon_geometry()
    model.set_params(no_warning=True, auto_regularize_flag=flag, **automatic)
    return model


def gen_translation_vectors(num_x_translations, num_z_translations, x_spacing, z_spacing):
    """Vectors (views, 3) of a grid in x and z around 0, row by row."""
    x = (numpy.arange(num_x_translations) - (num_x_translations - 1) / 2) * x_spacing
    z = (numpy.arange(num_z_translations) - (num_z_translations - 1) / 2) * z_spacing
    zz, xx = numpy.meshgrid(z, x, indexing="ij")
    return numpy.stack([xx.ravel(), numpy.zeros(xx.size), zz.ravel()], axis=1)
