"""Hyperspectral radiographs: denoising on a few spectra (Chowdhury et al., IEEE TCI 11, 2025), files and a simulation, by the names of mbirjax.hsnt.

The factorization is scikit-learn's, which is needed for `dehydrate` and `hyper_denoise`."""

from __future__ import annotations

import math
import warnings
from typing import Any, Optional

import numpy

from tomoprof._arrays import FLOAT32
from tomoprof._files import _h5py

KEY_DESCRIPTIONS = {
    "dataset_name": "name of the data", "dataset_type": "'attenuation' or 'transmission'", "dataset_modality": "'hyperspectral neutron'",
    "wavelengths": "wavelengths in Angstroms", "alu_unit": "unit of lengths, such as 'mm'", "alu_value": "length of 1 ALU in that unit",
    "delta_det_channel": "pitch of the channels in ALU", "delta_det_row": "pitch of the detector rows in ALU", "dataset_geometry": "'parallel' or 'cone'",
    "angles": "angles of the views in degrees", "det_channel_offset": "offset of the rotation axis from the detector's center in ALU",
    "source_detector_dist": "from the source to the detector in ALU", "source_iso_dist": "from the source to the axis in ALU"}
ALLOWED_KEYS = list(KEY_DESCRIPTIONS)
VALIDATION_RULES = {"dataset_type": (None, "attenuation", "transmission"), "dataset_modality": (None, "hyperspectral neutron"),
                    "dataset_geometry": (None, "parallel", "cone")}
SOLVERS = {"frobenius": "cd", "kullback-leibler": "mu"}


def _sklearn():
    try:
        from sklearn import decomposition
        from sklearn.utils import extmath
    except ImportError:
        raise ImportError("the factorization of spectra needs scikit-learn: pip install scikit-learn") from None
    return decomposition.non_negative_factorization, extmath.randomized_svd


def _factors(data, count, beta_loss, tolerance, iterations, state, basis=None):
    """Non-negative (coefficients, spectra) whose product is near data (points, bands); the spectra are `basis` where it is given."""
    factorize, _ = _sklearn()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fixed = {"init": "nndsvd"} if basis is None else {"init": "custom", "H": basis, "update_H": False}
        return factorize(data, n_components=count, beta_loss=beta_loss, solver=SOLVERS[beta_loss], tol=tolerance, max_iter=iterations,
                         random_state=state, **fixed)[:2]


def _estimate_subspace_dimension(data, safety_factor=2, noise_fit_window=(25.0, 75.0), threshold=1.5, random_state=None, verbose=1):
    """How many spectra the data (points, bands) need: singular values above `threshold` times a line through the logarithms of the middle ones."""
    if numpy.ndim(data) != 2:
        raise ValueError("`data` must be a 2D array shaped (samples, N_k).")
    size = min(data.shape)
    rows = numpy.random.default_rng(random_state).choice(len(data), size=size, replace=False)
    values = _sklearn()[1](numpy.asarray(data[rows], float), n_components=size, random_state=random_state)[1]
    if not values.size:
        return 0
    first = max(0, min(math.floor(noise_fit_window[0] / 100 * size), size - 2))
    last = max(first + 2, min(math.ceil(noise_fit_window[1] / 100 * size), size))
    slope, start = numpy.polyfit(numpy.arange(first, min(last, size)), numpy.log(values[first:last] + 1e-12), 1)
    noise = numpy.exp(slope * numpy.arange(size) + start)
    if verbose > 1:
        _plot(numpy.array([values, noise, threshold * noise]).T, ("singular values", "noise", "limit"), "singular value", log=True)
    return max(1, math.ceil(safety_factor * int((values > threshold * noise)[:first].sum())))


def _plot(lines, labels, title, log=False):
    from tomoprof.mbirjax._viewer import pyplot
    figure, axes = pyplot().subplots()
    axes.plot(lines, label=list(labels))
    axes.set_yscale("log" if log else "linear")
    axes.set_title(title)
    axes.legend()


def _common_spectra(data, parts, count, beta_loss, tolerance, iterations, state):
    """Spectra of all points: those of parts of them in random order, factored again."""
    order = numpy.random.default_rng(state).permutation(len(data))
    spectra = [_factors(data[order[part]], count, beta_loss, tolerance, max(50, iterations // len(parts)), state)[1] for part in parts]
    return _factors(numpy.concatenate(spectra), count, beta_loss, tolerance, iterations, state)[1]


def dehydrate(data: Any, dataset_type: str = "attenuation", num_materials: Optional[int] = None, safety_factor: float = 2, beta_loss: str = "frobenius",
              max_iter: int = 300, tolerance: float = 1e-10, batch_size: int = 2**27, subspace_basis: Any = None, random_state: Any = None,
              verbose: int = 1) -> list:
    """Writes hyperspectral data, whose last axis is the spectrum, as coefficients of a few spectra. Needs scikit-learn.

    dataset_type: "attenuation", or "transmission", of which the logarithm is taken. num_materials: times safety_factor it is the number of
    spectra; None: estimated. subspace_basis: spectra of yours (spectra, bands). beta_loss: "frobenius" or "kullback-leibler". batch_size: so
    many values are factored at once. random_state: for a reproducible result. Returns [coefficients, spectra, dataset_type]."""
    if dataset_type not in ("attenuation", "transmission"):
        raise ValueError("'dataset_type' must be either 'attenuation' or 'transmission'.")
    if beta_loss not in SOLVERS:
        warnings.warn(f"Invalid beta_loss '{beta_loss}' specified: falling back to 'frobenius'.", stacklevel=2)
        beta_loss = "frobenius"
    shape, bands = data.shape, data.shape[-1]
    points = numpy.array(data, float).reshape(-1, bands)
    if dataset_type == "transmission":
        points = hyper_denoise(points, "attenuation", num_materials, safety_factor * 3, beta_loss, max_iter, tolerance, batch_size,
                               random_state=random_state, verbose=0)
        points = -numpy.log(numpy.maximum(points, 1e-3))
    points = numpy.maximum(points, 0)
    basis = None if subspace_basis is None else numpy.asarray(subspace_basis, float)
    count = len(basis) if basis is not None else math.ceil(safety_factor * num_materials) if num_materials is not None else \
        _estimate_subspace_dimension(points, safety_factor, random_state=random_state, verbose=verbose)
    step = max(1, batch_size // bands)
    parts = [slice(first, first + step) for first in range(0, len(points), step)]
    if len(parts) > 1 and basis is None:
        basis = _common_spectra(points, parts, count, beta_loss, tolerance, max_iter, random_state)
    if len(parts) == 1:  # the spectra are found with the coefficients, as MBIRJAX does, also where some were given
        coefficients, basis = _factors(points, count, beta_loss, tolerance, max_iter, random_state)
    else:
        coefficients = numpy.concatenate([_factors(points[part], count, beta_loss, tolerance, max_iter, random_state, basis)[0] for part in parts])
    if verbose >= 1:
        print(f"dehydrate(): {len(parts)} batches, {bands} bands, {count} spectra")
    return [coefficients.reshape(*shape[:-1], -1).astype(FLOAT32), numpy.asarray(basis, FLOAT32), dataset_type]


def rehydrate(dehydrated_data: list, hyperspectral_idx: Any = None) -> Any:
    """The data of [coefficients, spectra, dataset_type]; hyperspectral_idx: of these bands alone."""
    coefficients, spectra, dataset_type = dehydrated_data
    data = coefficients @ (spectra if hyperspectral_idx is None else spectra[:, hyperspectral_idx])
    return numpy.exp(-data) if dataset_type == "transmission" else data


def hyper_denoise(data: Any, dataset_type: str = "attenuation", num_materials: Optional[int] = None, safety_factor: float = 2, beta_loss: str = "frobenius",
                  max_iter: int = 300, tolerance: float = 1e-10, batch_size: int = 2**27, subspace_basis: Any = None, random_state: Any = None,
                  verbose: int = 1) -> Any:
    """Denoises hyperspectral data, whose last axis is the spectrum, by `dehydrate` and `rehydrate`."""
    return rehydrate(dehydrate(data, dataset_type, num_materials, safety_factor, beta_loss, max_iter, tolerance, batch_size, subspace_basis,
                               random_state, verbose))


def _check_values(metadata):
    for key, values in VALIDATION_RULES.items():
        if metadata.get(key) not in values:
            warnings.warn(f"Invalid '{key}': should be one of {list(values[1:])}.", stacklevel=3)


def create_hsnt_metadata(**kwargs: Any) -> dict:
    """A dict of what describes hyperspectral data; KEY_DESCRIPTIONS lists the keys. What is not given is None."""
    for key in kwargs:
        if key not in ALLOWED_KEYS:
            warnings.warn(f"Ignoring invalid key '{key}' in arguments.", stacklevel=2)
    metadata = {key: kwargs.get(key) for key in ALLOWED_KEYS}
    _check_values(metadata)
    return metadata


def export_hsnt_data_hdf5(filename: Any, data: Any, metadata: Optional[dict] = None) -> None:
    """Writes data, or what `dehydrate` returned, with its description to an HDF5 file. Needs h5py."""
    metadata = metadata or {}
    _check_values(metadata)
    small = isinstance(data, list) and len(data) == 3 and data[2] in ("attenuation", "transmission")
    with _h5py().File(filename, "w") as file:
        if small:
            for name, value in zip(("subspace_data", "subspace_basis", "dataset_type"), (*data[:2], numpy.bytes_(data[2]))):
                file.create_dataset(name, data=value)
        else:
            file.create_dataset("data", data=data)
        for key, value in metadata.items():
            if key not in ALLOWED_KEYS:
                warnings.warn(f"Ignoring invalid key '{key}' in metadata.", stacklevel=2)
            elif value is not None and not (small and key == "dataset_type"):
                file.create_dataset(key, data=numpy.bytes_(value) if isinstance(value, str) else value)


def import_hsnt_data_hdf5(filename: Any) -> list:
    """Returns [data, description] of a file that `export_hsnt_data_hdf5` wrote; data is None, with a warning, where there is none."""
    data, metadata = None, dict.fromkeys(ALLOWED_KEYS)
    try:
        with _h5py().File(filename, "r") as file:
            found = {name: file[name][()] for name in file}
    except OSError as error:
        warnings.warn(f"Could not import HSNT data from HDF5 file '{filename}': {error}. Returning data=None.", stacklevel=2)
        return [data, metadata]
    found = {name: value.decode() if isinstance(value, bytes) else value for name, value in found.items()}
    metadata.update({key: found[key] for key in ALLOWED_KEYS if key in found})
    if all(name in found for name in ("subspace_data", "subspace_basis", "dataset_type")):
        data = [found["subspace_data"], found["subspace_basis"], found["dataset_type"]]
    elif "data" in found:
        data = found["data"]
    else:
        warnings.warn(f"No HSNT data found in HDF5 file '{filename}'. Returning data=None.", stacklevel=2)
    _check_values(metadata)
    return [data, metadata]


def generate_hyper_data(material_basis: Any, num_angles: int = 1, detector_rows: int = 64, detector_columns: int = 64, dosage_rate: float = 300,
                        material_density: Optional[dict] = None, verbose: int = 1) -> list:
    """Simulates radiographs of three cylinders of nickel, copper and aluminium, above each other, with the noise of counts by numpy.random.

    material_basis: attenuation (3, bands). dosage_rate: counts of a pixel and band without the object.
    Returns [noisy attenuation (views, rows, columns, bands), angles in radians, the same without noise]."""
    density = {"Ni": 0.2, "Cu": 0.2, "Al": 1.0} if material_density is None else material_density
    if len(material_basis) != 3:
        raise ValueError("material_basis must have exactly 3 rows (Ni, Cu, Al).")
    if detector_rows < 3 or detector_columns < 2:
        raise ValueError("detector_rows must be ≥3 and detector_columns ≥2.")
    if dosage_rate <= 0:
        raise ValueError("dosage_rate must be positive.")
    if missing := sorted({"Ni", "Cu", "Al"} - set(density)):
        raise KeyError(f"material_density missing keys: {missing}")
    if numpy.any(material_basis < 0):
        raise ValueError("material_basis should be non-negative attenuation coefficients.")
    height, width = detector_rows // 3, detector_columns // 2
    thickness = 20 * numpy.sqrt((width // 2) ** 2 - numpy.linspace(-width // 2, width // 2, width) ** 2) / width
    projection = numpy.zeros((num_angles, detector_rows, detector_columns, 3), FLOAT32)
    columns = slice(width // 2, width + width // 2)
    for i, (name, rows) in enumerate((("Ni", slice(height)), ("Cu", slice(2 * height, None)), ("Al", slice(height, 2 * height)))):
        projection[:, rows, columns, i] = density[name] * thickness
    exact = rehydrate([projection, material_basis, "attenuation"])
    beam = numpy.full((detector_rows, detector_columns, exact.shape[3]), dosage_rate, FLOAT32)
    expected = numpy.nan_to_num(numpy.exp(-exact) * beam, nan=0, posinf=0, neginf=0)
    open_counts, counts = (numpy.random.poisson(part).astype(FLOAT32) for part in (beam, expected))
    noisy = -numpy.log(numpy.maximum(counts / open_counts, FLOAT32.type(1e-8)))
    if verbose >= 1:
        print(f"generate_hyper_data(): {noisy.shape} of {numpy.shape(material_basis)} spectra")
    if verbose > 1:
        _plot(numpy.asarray(material_basis).T, ("Ni", "Cu", "Al"), "Attenuation of the materials")
    return [noisy, numpy.linspace(0, numpy.pi, num_angles), exact]
