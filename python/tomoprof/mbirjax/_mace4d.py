"""Volumes in time: MBIRJAX's MACE4DModel, an equilibrium of the data and of three denoisers that see time and two axes of space."""

from __future__ import annotations

import csv
import datetime
import os
import time
import warnings
from ctypes import byref, c_double
from typing import Any, Optional

import numpy

from tomoprof import _library
from tomoprof._arrays import FLOAT32, Array
from tomoprof._calls import Call, header
from tomoprof._geometries import QGGMRFDenoiser
from tomoprof._models import copy_ct_model
from tomoprof._parameters import ParameterHandler
from tomoprof._partitions import gen_pixel_partition
from tomoprof._vcd import Run, Visits

__all__ = ["MACE4DModel"]
INIT_ITERATIONS = 15
# Axes are (t, x, y, z): the one whose planes are denoised comes first, then time and two axes of space.
ORIENTATIONS = ((3, 0, 1, 2), (1, 0, 2, 3), (2, 0, 1, 3))
DENOISER_SUBSETS, PIXELS_OF_SUBSET, LEAST_SIGMA_X = 16, 64, 1e-6
TIMES = ("iteration", "prox_total_sec", "denoise_total_sec", "makespan_sec", "iteration_total_sec", "consensus_change_pct")
TASKS = ("iteration", "kind", "index", "device", "start_sec", "end_sec")


class MACE4DModel(ParameterHandler):
    """Reconstructs one volume for each of overlapping parts of a scan, in which the object changes.

        model = MACE4DModel(ct_model, frames_per_rotation=6, frame_overlap_factor=2.0)
        volumes, record = model.recon(sinogram, weights=weights)          # (frames, rows, columns, slices)

    ct_model: the ConeBeamModel or ParallelBeamModel of the whole scan, with its regularization. A frame has the views of
    frame_overlap_factor / frames_per_rotation turns. num_frames: the first ones alone. Parameters: mace_prior_weight (0.5; of the three
    denoisers together, or a list of three), rho_mann (0.5), prox_num_iterations (3), prox_stop_threshold (0.02 percent), sigma_prox (None:
    automatic), dejitter (True: removes what repeats with the turns), dejitter_verbose, verbose."""

    def __init__(self, ct_model: Any, frames_per_rotation: float = 6, frame_overlap_factor: float = 2.0, num_frames: Optional[int] = None) -> None:
        super().__init__()
        if num_frames is not None and num_frames < 1:
            raise ValueError(f"num_frames must be at least 1; got {num_frames}.")
        self.ct_model, self.frames_per_rotation, self.frame_overlap_factor = ct_model, frames_per_rotation, frame_overlap_factor
        self.sinogram_shape, self.version = tuple(ct_model.get_params("sinogram_shape")), _library.version
        angles = numpy.asarray(ct_model.get_all_params()[0]["angles"])
        self.view_slices = frame_views(angles, frames_per_rotation, frame_overlap_factor)[:num_frames]
        self.model_list = [copy_ct_model(ct_model, new_angles=angles[views]) for views in self.view_slices]
        for model in self.model_list:
            model.set_params(no_warning=True, verbose=0)
        self.num_frames, self.recon_shape = len(self.model_list), tuple(self.model_list[0].get_params("recon_shape"))
        self.set_params(no_warning=True, mace_prior_weight=0.5, rho_mann=0.5, prox_num_iterations=3, prox_stop_threshold=0.02, dejitter=True,
                        dejitter_verbose=0, sigma_prox=None)

    def set_params(self, no_warning: bool = False, no_compile: bool = False, **kwargs) -> bool:
        """Sets parameters by name. Those of the geometry and of the prior are ct_model's: set them before this model is made."""
        if "mace_prior_weight" in kwargs:
            prior_weights(kwargs["mace_prior_weight"])
        quiet = {name: kwargs.pop(name) for name in ("sigma_prox",) if name in kwargs}
        changed = super().set_params(no_warning=True, no_compile=no_compile, **quiet)
        return super().set_params(no_warning, no_compile, **kwargs) or changed

    def set_device_pool(self, devices=None):
        """Takes None, "cpu" and 1. `tomoprof.configure` sets back end, threads and memory."""
        self.ct_model.configure_devices(devices)

    @property
    def devices(self) -> list[str]:
        """What the operators compute on."""
        return [_library.device()]

    def recon(self, sinogram: Array, weights: Array = None, init_recon: Array = None, max_iterations: int = 10, stop_threshold_change_pct: float = 0.2,
              init_dir: Optional[str] = None, log_dir: Optional[str] = None) -> tuple[numpy.ndarray, dict]:
        """Reconstructs the frames of a sinogram of the whole scan. Returns (frames, rows, columns, slices), and a dict of settings and times.

        init_recon: volumes to begin with; None: those of init_dir/init_recon.npy, else `recon` of each frame, which init_dir then keeps.
        The iterations end after max_iterations, or when the volumes change by less than stop_threshold_change_pct percent.
        log_dir: gets run_info.txt, timing_log.csv and task_log.csv."""
        y = self._of_scan(sinogram, "sinogram")
        w = None if weights is None else self._of_scan(weights, "weights")
        shares, rho = prior_weights(self.get_params("mace_prior_weight")), self.get_params("rho_mann")
        x, source = self._begin(y, w, init_recon, init_dir)
        sigma = self._sigma(x)
        settings = self._settings(source, shares, sigma, w, max_iterations, stop_threshold_change_pct)
        log = Log(log_dir, settings)
        denoisers = [Planes(axes, sigma) for axes in ORIENTATIONS]
        agents, states = [x.copy() for _ in range(4)], [x.copy() for _ in range(4)]  # X and W of Mann's iteration
        for iteration in range(1, max_iterations + 1):
            log.begin(iteration)
            frames = [log.timed("prox", t, self._prox, t, y, w, states[0][t], agents[0][t]) for t in range(self.num_frames)]
            results = [log.timed("denoise", k, denoiser, self._dejitter(states[k + 1])) for k, denoiser in enumerate(denoisers)]
            agents = [self._dejitter(numpy.stack(frames)), *results]
            z = sum(FLOAT32.type(share) * (2 * agent - state) for share, agent, state in zip(shares, agents, states))
            for agent, state in zip(agents, states):
                state += FLOAT32.type(2 * rho) * (z - agent)
            before, x = x, sum(FLOAT32.type(share) * agent for share, agent in zip(shares, agents))
            norm = numpy.linalg.norm(before)
            change = 100 * float(numpy.linalg.norm(x - before) / norm) if norm > 0 else numpy.inf
            log.end(iteration, change)
            if self.get_params("verbose"):
                print(f"[MACE] Iteration {iteration}/{max_iterations}: change={change:.4f}%")
            if change < stop_threshold_change_pct:
                break
        settings["iterations completed"] = len(log.times)
        log.write_settings()
        return x, {"recon_params": settings, "timing": log.times, "notes": f"Reconstruction completed: {datetime.datetime.now()}\n\n",
                   "model_params": self.params.copy()}

    def _of_scan(self, array, name):
        array = numpy.asarray(array)
        if array.shape != self.sinogram_shape:
            raise ValueError(f"{name} shape {array.shape} does not match the model's sinogram shape {self.sinogram_shape}.")
        return array

    def _begin(self, y, w, given, folder):
        if given is not None:
            return self._of_frames(given), "provided by caller"
        cached = self._load_cached_init(folder) if folder is not None else None
        if cached is not None:
            return cached, f"cached ({os.path.join(folder, 'init_recon.npy')})"
        options = {"max_iterations": INIT_ITERATIONS, "stop_threshold_change_pct": self.get_params("prox_stop_threshold"), "print_logs": False}
        x = numpy.stack([numpy.asarray(model.recon(y[views], None if w is None else w[views], **options)[0])
                         for model, views in zip(self.model_list, self.view_slices)])
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
            numpy.save(os.path.join(folder, "init_recon.npy"), x)
        return x, f"computed ({self.num_frames} frames, {INIT_ITERATIONS} MBIR iterations each)"

    def _of_frames(self, x):
        x, expected = numpy.asarray(x, FLOAT32), (self.num_frames, *self.recon_shape)
        if x.shape != expected:
            raise ValueError(f"init_recon shape {x.shape} does not match expected {expected}.")
        return x

    def _load_cached_init(self, folder):
        path = os.path.join(folder, "init_recon.npy")
        if not os.path.isfile(path):
            return None
        try:
            return self._of_frames(numpy.load(path))
        except (ValueError, OSError) as error:
            warnings.warn(f"init_dir has an invalid initialization image ({error}); recomputing.", stacklevel=3)
            return None

    @staticmethod
    def _sigma(x):
        image = x.reshape(-1, *x.shape[2:])
        try:
            return QGGMRFDenoiser(image.shape).estimate_image_noise_std(image)
        except ValueError as error:
            raise ValueError(f"The noise of the initial image cannot be estimated, which happens when it is constant: {error}") from None

    def _prox(self, t, y, w, at, begin):
        views, model = self.view_slices[t], self.model_list[t]
        return numpy.asarray(model.prox_map(at, y[views], sigma_prox=self.get_params("sigma_prox"), weights=None if w is None else w[views], init_recon=begin,
                                            max_iterations=self.get_params("prox_num_iterations"), print_logs=False,
                                            stop_threshold_change_pct=self.get_params("prox_stop_threshold"))[0])

    def _dejitter(self, x):
        if not self.get_params("dejitter"):
            return x
        return dejitter(x, self.frames_per_rotation, bool(self.get_params("dejitter_verbose")))

    def _settings(self, source, shares, sigma, weights, iterations, threshold):
        names = ("rho_mann", "prox_num_iterations", "prox_stop_threshold", "dejitter")
        automatic = self.get_params("sigma_prox")
        return {"date": time.strftime("%Y-%m-%d %H:%M:%S"), "tomoprof version": self.version, "time frames": self.num_frames, "frame shape": self.recon_shape,
                "views per frame": self.view_slices[0].stop - self.view_slices[0].start, "mode": f"serial on {self.devices[0]}", "init source": source,
                "weights": "unit (weights=None)" if weights is None else "supplied by caller",
                "beta [fwd, xyt, yzt, xzt]": [round(float(share), 4) for share in shares], **dict(zip(names, self.get_params(names))),
                "max_iterations": iterations, "stop_threshold_change_pct": threshold, "sigma_prox": "auto" if automatic is None else automatic,
                "denoiser sigma (global)": float(sigma), "frames_per_rotation": self.frames_per_rotation,
                "frame_overlap_factor": self.frame_overlap_factor}


def frame_views(angles, frames_per_rotation, frame_overlap_factor):
    """The views of each frame, as slices; views behind the last whole frame are left out."""
    angles = numpy.asarray(angles)
    step = float(numpy.median(numpy.abs(numpy.diff(angles)))) if len(angles) > 1 else 0.0
    if step <= 0:
        raise ValueError("Model angles must have nonzero spacing.")
    stride = 2 * numpy.pi / frames_per_rotation
    views, stride = round(frame_overlap_factor * stride / step), round(stride / step)
    if views <= 0:
        raise ValueError("frame_overlap_factor gives a frame span smaller than one view.")
    if stride <= 0:
        raise ValueError("frames_per_rotation gives a stride smaller than one view.")
    if views > len(angles):
        raise ValueError("frame span cannot exceed the full scan.")
    return [slice(start, start + views) for start in range(0, len(angles) - views + 1, stride)]


def prior_weights(weight):
    """[forward, XY-t, YZ-t, XZ-t] of the weight of all denoisers, or of a list of three."""
    prior = [float(w) for w in weight] if isinstance(weight, (list, tuple, numpy.ndarray)) else [float(weight) / 3] * 3
    if len(prior) != 3:
        raise ValueError("mace_prior_weight list must have 3 entries [xyt, yzt, xzt].")
    if any(w < 0 for w in prior) or sum(prior) > 1.0:
        raise ValueError("mace_prior_weight must be nonnegative and sum to at most 1.")
    return [1.0 - sum(prior), *prior]


def dejitter(x, period, verbose=False):
    """Removes what repeats with `period` frames and its harmonics: modes of the cosine transform of the time axis, each with its neighbours."""
    count = len(x)
    if count < 2:
        return x
    index = numpy.arange(count)
    ends = numpy.where((index == 0) | (index == count - 1), numpy.sqrt(0.5), 1.0)
    modes = numpy.sqrt(2 / (count - 1)) * ends[:, None] * ends * numpy.cos(numpy.pi * numpy.outer(index, index) / (count - 1))  # orthonormal, its own inverse
    kept = numpy.ones(count)
    for harmonic in range(1, int(period // 2) + 1):
        middle = round(2 * (count - 1) * harmonic / period)
        kept[max(0, middle - 1):middle + 2] = 0
        if verbose:
            print(f"  Removed period {period / harmonic:.3g}: modes {max(0, middle - 1)} to {min(count, middle + 2) - 1}")
    filtered = (modes * kept) @ modes
    return numpy.tensordot(filtered.astype(FLOAT32), x, 1)


class Planes:
    """Denoises the volumes (time and two axes of space) of each plane of one orientation, all with one sigma, one prior and one partition."""

    def __init__(self, axes, sigma) -> None:
        self.axes, self.sigma, self.denoiser, self.visits = axes, sigma, None, None

    def _prepare(self, stack):
        denoiser = QGGMRFDenoiser(stack.shape[1:])
        deviation = typical_deviation(stack.reshape(-1, *stack.shape[2:]), self.sigma)
        denoiser.set_params(no_warning=True, auto_regularize_flag=False, sigma_x=max(0.2 * deviation, LEAST_SIGMA_X), sigma_y=self.sigma)
        subsets = max(1, min(DENOISER_SUBSETS, stack.shape[1] * stack.shape[2] // PIXELS_OF_SUBSET))
        self.denoiser, self.visits = denoiser, Visits([gen_pixel_partition(stack.shape[1:], subsets, False)], [])

    def __call__(self, x):
        stack = numpy.ascontiguousarray(x.transpose(self.axes))
        if self.denoiser is None:
            self._prepare(stack)
        result, used = numpy.empty_like(stack), c_double()
        run = Run(15, 0.2, visits=self.visits)
        with Call() as call:
            plan = self.denoiser._plan(call.context)
            for volume, out in zip(stack, result):
                call("denoise", plan.handle, header(volume), self.sigma, byref(run.options), header(out), byref(used))
        return result.transpose(numpy.argsort(self.axes))


def typical_deviation(image, sigma):
    """Mean deviation of a voxel and its three predecessors where the object is."""
    inside = numpy.nonzero(image >= FLOAT32.type(min(0.05 * numpy.abs(image).mean(dtype=float) + sigma, float(image.max()))))
    values = [image[inside], *(image[tuple(index - (axis == moved) for axis, index in enumerate(inside))] for moved in range(3))]
    return float(numpy.std(numpy.stack(values), axis=0).mean(dtype=float))


class Log:
    """Times of tasks and iterations, and the files of log_dir."""

    def __init__(self, folder, settings) -> None:
        self.folder, self.settings = folder, settings
        self.times: list[dict] = []
        self.tasks: list[tuple] = []
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
            self.write_settings()
            self._rows("timing_log.csv", "w", TIMES)
            self._rows("task_log.csv", "w", TASKS)

    def _rows(self, name, mode, *rows):
        with open(os.path.join(self.folder, name), mode, newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)

    def write_settings(self):
        if self.folder is None:
            return
        width = max(map(len, self.settings))
        with open(os.path.join(self.folder, "run_info.txt"), "w", encoding="utf-8") as file:
            file.writelines(["# MACE4DModel run settings\n", *(f"{key:<{width}} = {value}\n" for key, value in self.settings.items())])

    def begin(self, iteration):
        self.iteration, self.began, self.tasks = iteration, time.monotonic(), []

    def timed(self, kind, index, call, *arguments):
        start = time.monotonic() - self.began
        result = call(*arguments)
        self.tasks.append((self.iteration, kind, index, 0, round(start, 3), round(time.monotonic() - self.began, 3)))
        return result

    def end(self, iteration, change):
        sums = [sum(end - start for _, of, _, _, start, end in self.tasks if of == kind) for kind in ("prox", "denoise")]
        row = (iteration, *sums, max(task[-1] for task in self.tasks), time.monotonic() - self.began, change)
        self.times.append(dict(zip(TIMES, row)))
        if self.folder is not None:
            self._rows("timing_log.csv", "a", row)
            self._rows("task_log.csv", "a", *self.tasks)
