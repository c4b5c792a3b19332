"""What all models share, with iterative reconstruction."""

from __future__ import annotations

import ctypes
import datetime
import math
import warnings
from ctypes import byref
from typing import Any, Optional, Sequence

import numpy

from tomoprof import _library
from tomoprof._arrays import FLOAT32, Array, Callback, _of_any, host, like, output
from tomoprof._calls import SINOGRAM, VOLUME, Call, Plan, check_finite, header, integer, number
from tomoprof._library import lib
from tomoprof._parameters import SIGMAS
from tomoprof._partitions import gen_partition_sequence, gen_set_of_pixel_partitions
from tomoprof._progress import callback_of
from tomoprof._records import ReconParams, Records
from tomoprof._vcd import Bar, Run, Visits, prior_loss


class TomographyModel(Records):
    """What every geometry offers; use ParallelBeamModel, ConeBeamModel, TranslationModel or MultiAxisParallelModel.

    Volumes are (rows, columns, slices), sinograms (views, detector rows, channels), both float32. Angles are in radians; lengths are in
    one unit of your choice (ALU). Arrays of NumPy, PyTorch (CPU) and JAX, and all that NumPy reads are taken, float32 in C order without
    a copy; results come in the library of the input. Parameters have MBIRJAX's names: `print_params()` lists them.

    Methods that compute take two more arguments by name: `out`, a float32 array for the result, and `callback(done, total)`, which is
    called while they run and ends them when it returns something true; a bar of tqdm in its place is moved. Ctrl-C ends them, too.
    `tomoprof.progress` iterates over the steps of a call."""

    def auto_set_regularization_params(self, sinogram: Array, weights: Array = None) -> dict:
        """Sets sigma_y, sigma_x and sigma_prox from a sinogram where auto_regularize_flag is set. Returns them as a dict."""
        if self.get_params("auto_regularize_flag"):
            shape = tuple(self.get_params("sinogram_shape"))
            y = host(sinogram, "sinogram", shape, SINOGRAM)
            w = None if weights is None else host(weights, "weights", shape, SINOGRAM)
            check_finite(y, "sinogram")
            values = [ctypes.c_double() for _ in SIGMAS]
            with Call() as call:
                call("auto_regularise", self._plan(call.context).handle, header(y), header(w), *map(byref, values))
                self._warn(call.context)
            for name, value in zip(SIGMAS, values):
                self.params[name].val = value.value
        return {name: float(self.get_params(name)) for name in SIGMAS}

    def auto_set_sigma_y(self, sinogram: Array, sino_indicator: Array, weights: Any = 1) -> None:
        """Sets sigma_y from the root mean square of a sinogram where sino_indicator is 1, and from snr_db."""
        y = _of_any(sinogram, "sinogram")
        signal = math.sqrt(numpy.average(numpy.asarray(weights) * y**2, weights=numpy.asarray(sino_indicator)))
        pitch = self.get_params("delta_voxel") / (self.get_params("delta_det_channel") / self.get_magnification())
        sigma = 10 ** (-self.get_params("snr_db") / 20) * signal * math.sqrt(pitch)
        self.set_params(no_warning=True, sigma_y=sigma, auto_regularize_flag=True)

    def auto_set_sigma_x(self, recon_std: float) -> None:
        """Sets sigma_x, the deviation of the qGGMRF prior, from that of the volume and from `sharpness`."""
        self.set_params(no_warning=True, sigma_x=0.2 * 2 ** self.get_params("sharpness") * float(recon_std), auto_regularize_flag=True)

    def auto_set_sigma_prox(self, recon_std: float) -> None:
        """Sets sigma_prox, the deviation of the proximal term, in the same way."""
        self.set_params(no_warning=True, sigma_prox=0.2 * 2 ** self.get_params("sharpness") * float(recon_std), auto_regularize_flag=True)

    @staticmethod
    def get_forward_model_loss(error_sinogram: Array, sigma_y: float, weights: Any = None, normalize: bool = True, num_real_elements: Optional[int] = None) -> float:
        """The loss of the data: the root of the weighted mean square of a sinogram minus the projection, over sigma_y.

        normalize False: half of the weighted sum of squares, over sigma_y squared. num_real_elements: so many samples count for the mean."""
        error = _of_any(error_sinogram, "error_sinogram").astype(float)
        w = numpy.asarray(1.0 if weights is None else weights, float)
        squares, count = float((error * error * w).sum()), num_real_elements or error.size
        if not normalize:
            return squares / (2 * sigma_y**2)
        mean = float(w) if w.ndim == 0 else float(w.sum()) / (num_real_elements or w.size)
        return math.sqrt(squares / (mean * count)) / sigma_y

    _schedule = {"granularity": [1, 2, 4, 8, 16, 32, 64, 128, 128, 128, 128], "partition_sequence": [2, 4, 6] + [7, 8, 9, 10] * 25}

    def _visits(self, iterations, first):
        """None where the library draws the same by itself."""
        granularity, sequence, mask = self.get_params(["granularity", "partition_sequence", "use_ror_mask"])
        same = list(granularity) == self._schedule["granularity"] and list(sequence) == self._schedule["partition_sequence"]
        if same and isinstance(mask, (bool, int)):
            return None
        partitions = gen_set_of_pixel_partitions(self.get_params("recon_shape"), granularity, use_ror_mask=mask)
        return Visits(partitions, gen_partition_sequence(sequence, iterations)[first:])

    def recon(self, sinogram: Array, weights: Array = None, init_recon: Array = None, max_iterations: int = 15, stop_threshold_change_pct: float = 0.2, first_iteration: int = 0,
              compute_prior_loss: bool = False, logfile_path: Optional[str] = None, print_logs: bool = True, output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> tuple[Array, dict]:
        """Reconstructs by MBIR: vectorized coordinate descent on the posterior with the qGGMRF prior.

        sinogram, weights: (views, detector rows, channels); weights are inverse variances, None for ones (see `tomoprof.gen_weights`).
        init_recon: a volume to begin with, 0 for zeros, None for `direct_recon` with a fitted scale. The iterations end after
        max_iterations, or when the volume changes by less than stop_threshold_change_pct percent (0: never). With `verbose` 1 or more
        and print_logs a bar shows the progress on a terminal. The order of the pixels follows numpy.random: call numpy.random.seed
        for a reproducible result. To go on, give the last volume as init_recon and the number of iterations that are done as
        first_iteration: it counts to max_iterations. compute_prior_loss: computes the loss of the prior after each iteration, on the CPU.
        logfile_path: a file for the log; None for none.

        Returns (volume, dict): attenuation per ALU (rows, columns, slices), and 'recon_params', 'recon_log', 'notes', 'model_params'."""
        return self._iterate("Reconstruction", sinogram, None, weights, init_recon, max_iterations, stop_threshold_change_pct,
                             first_iteration, logfile_path, print_logs, out, callback, loss=compute_prior_loss)

    def prox_map(self, prox_input: Array, sinogram: Array, sigma_prox: Optional[float] = None, weights: Array = None, init_recon: Array = None, do_initialization: bool = True,
                 stop_threshold_change_pct: float = 0.2, max_iterations: int = 3, first_iteration: int = 0, logfile_path: Optional[str] = None,
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

    def _iterate(self, what, sinogram, prox, weights, init, iterations, threshold, first, logfile, print_logs, out, callback, changes=None, loss=False):
        total, first = integer("max_iterations", iterations), integer("first_iteration", first)
        threshold = number("stop_threshold_change_pct", threshold)
        y, w, x0, p, result = self._take(sinogram, weights, init, prox, out)
        self._begin_log(logfile)
        run = Run(max(total - first, 0), threshold, w, self._start(y, w, x0), p, first, self._visits(total, first))
        losses = self._solve(run, y, result, changes or {}, callback, loss, what if print_logs else None)
        for name in SIGMAS:
            if self.get_params("auto_regularize_flag") and not (changes and name == "sigma_prox"):
                self.params[name].val = float(getattr(run.report, name))
        self._log_iterations(run, losses, first, total)
        sigmas = {name: float(getattr(run.report, name)) for name in SIGMAS}
        sequence = [int(i) for i in gen_partition_sequence(self.get_params("partition_sequence"), total)[first:]]
        params = ReconParams(run.report.iterations, self.get_params("granularity"), sequence, run.stats("fm_rmse"), losses or [0], sigmas,
                             run.stats("change_percent"), run.stats("alpha"), None)._asdict()
        notes = f"{what} completed: {datetime.datetime.now()}\n\n"
        return (out if out is not None else like(sinogram, result)), self.get_recon_dict(params, notes=notes)

    def _take(self, sinogram, weights, init, prox, out):
        """The arrays of a run as the library takes them."""
        shape, recon_shape = (tuple(value) for value in self.get_params(["sinogram_shape", "recon_shape"]))
        y = host(sinogram, "sinogram", shape, SINOGRAM)
        check_finite(y, "sinogram")
        w = None if weights is None else host(weights, "weights", shape, SINOGRAM)
        p = None if prox is None else host(prox, "prox_input", recon_shape, VOLUME)
        if isinstance(init, (int, float)):
            init = numpy.full(recon_shape, init, FLOAT32)
        x0 = None if init is None else host(init, "init_recon", recon_shape, VOLUME)
        return y, w, x0, p, output(out, recon_shape)

    def _start(self, y, w, x0):
        """The initial volume of a run. None where the library computes it; it knows no masks."""
        if x0 is not None or self._mask() is None:
            return x0
        x0 = self.direct_recon(y)
        projection = self.forward_project(x0)
        weighted = projection if w is None else w * projection
        norm = (weighted * projection).sum(dtype=float)
        return x0 * FLOAT32.type((weighted * y).sum(dtype=float) / norm if norm > 0 else 1)

    def _solve(self, run, y, result, changes, callback, loss, title):
        """Runs the iterations. Returns the prior's losses, where `loss` is true: for these the library computes in `result` itself."""
        losses: list[float] = []
        names = ["qggmrf_nbr_wts", "sigma_x", "p", "q", "T"]
        changes = {"use_ror_mask": False, **changes} if self._masked else changes

        callback = callback_of(callback)

        def after(done, total):
            losses.append(prior_loss(result, *self.get_params(names)))
            return callback(done, total) if callback else 0

        if loss:
            changes = {**self.auto_set_regularization_params(y, run.weights), "auto_regularize_flag": False, **changes}
        with Call(after if loss else callback, "cpu" if loss else None) as call, Bar(call, title, self.get_params("verbose") > 0):
            plan = Plan(call.context, self._text(**changes)) if changes else self._plan(call.context)
            self.logger.info(f"tomoprof {_library.version}: {lib.tomoprof_device(call.context.handle).decode()}")
            call("recon", plan.handle, header(y), byref(run.options), header(result), byref(run.report))
            self._warn(call.context)
        if losses and not math.isclose(losses[-1], prior_loss(result, *self.get_params(names)), rel_tol=1e-4):
            return [math.nan] * len(losses)  # the library iterated in other units, because float32 does not hold squares of these
        return losses

    def vcd_recon(self, sinogram: Array, partitions: Sequence[Any], partition_sequence: Sequence[int], stop_threshold_change_pct: float, weights: Array = None,
                  init_recon: Array = None, prox_input: Array = None, compute_prior_loss: bool = False, first_iteration: int = 0,
                  init_error_sinogram: Array = None, fm_hessian: Array = None, return_checkpoint: bool = False) -> tuple:
        """Runs the iterations of `recon` on partitions of yours, with sigma_y, sigma_x and sigma_prox as they are.

        partitions: arrays of pixel indices (subsets, pixels), see `gen_set_of_pixel_partitions`. partition_sequence: the index of the
        partition of each iteration. The order of the subsets is drawn by numpy.random. Returns (volume, stats): stats are arrays with one
        number for each iteration, (fm_rmse, prior_loss, change, alpha), and None for the norms of the slices. The change is a fraction.

        init_error_sinogram and fm_hessian are computed again from init_recon. return_checkpoint: adds a dict of both."""
        if init_error_sinogram is not None and init_recon is None:
            raise ValueError("init_error_sinogram needs init_recon, the volume that it belongs to")
        first = integer("first_iteration", first_iteration)
        y, w, x0, p, result = self._take(sinogram, weights, init_recon, prox_input, None)
        visits = Visits(partitions, partition_sequence)
        if self.logger is None:
            self._begin_log(None)
        run = Run(len(visits.sequence), number("stop_threshold_change_pct", stop_threshold_change_pct), w, self._start(y, w, x0), p, first, visits)
        losses = self._solve(run, y, result, {"auto_regularize_flag": False}, None, compute_prior_loss, None)
        self._log_iterations(run, losses, first, first + run.iterations)
        done = run.report.iterations
        stats = (*map(numpy.array, (run.stats("fm_rmse"), losses or [0.0] * done)), numpy.array(run.stats("change_percent")) / 100,
                 numpy.array(run.stats("alpha")), None)
        volume = like(sinogram, result)
        if not return_checkpoint:
            return volume, stats
        hessian = self.compute_hessian_diagonal(w).reshape(-1, result.shape[2])
        return volume, stats, {"error_sinogram": like(sinogram, y - self.forward_project(result)), "fm_hessian": like(sinogram, hessian)}

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
