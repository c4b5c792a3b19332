"""Records of reconstructions: their logs, their dicts, their files."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

import numpy

from tomoprof._arrays import Array
from tomoprof._parameters import ParameterHandler
from tomoprof._projections import Projections

ReconParams = namedtuple("ReconParams", ["num_iterations", "granularity", "partition_sequence", "fm_rmse", "prior_loss",
                                         "regularization_params", "stop_threshold_change_pct", "alpha_values", "delta_norm_per_slice"])
LEVELS = {0: 40, 1: 30, 2: 20}  # logging.ERROR, WARNING, INFO


class Records(Projections):
    """What a reconstruction tells beside its volume."""

    def _warn(self, context):
        """Passes on what the library logged: warnings, and all of it into the log of the reconstruction."""
        for level, sentence in context.watch.messages:
            if level <= 1 and self.get_params("verbose") > 0:
                warnings.warn(sentence, stacklevel=4)
            if self.logger:
                self.logger.log(LEVELS.get(level, 10), sentence)
        context.watch.messages.clear()

    def _begin_log(self, logfile):
        """A log without its copy on the terminal, which shows a bar; a file that cannot be written costs a warning."""
        try:
            self.setup_logger(logfile_path=logfile, print_logs=False)
        except OSError as error:
            warnings.warn(f"the log is not written: {error}", stacklevel=4)
            self.setup_logger(logfile_path=None, print_logs=False)

    def _log_iterations(self, run, losses, first, total):
        for i, (change, rmse) in enumerate(zip(run.stats("change_percent"), run.stats("fm_rmse"))):
            prior = f", Prior loss={losses[i]:.4f}" if losses else ""
            self.logger.info(f"After iteration {first + i + 1} of a max of {total}: Pct change={change:.4f}, Forward loss={rmse:.4f}{prior}")
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
        import json
        if not isinstance(recon_dict, dict):
            return recon_dict
        return {key: ParameterHandler.save_params(value) if key.startswith("model_params") and isinstance(value, dict)
                else json.dumps(value, indent=1, default=str) if isinstance(value, dict) else str(value)
                for key, value in recon_dict.items()}

    def save_recon_hdf5(self, filepath: Any, recon: Array, recon_dict=None):
        """Writes a volume, and what `recon` returned with it as attributes, to an HDF5 file. Needs h5py."""
        from tomoprof._files import save_data_hdf5
        save_data_hdf5(filepath, numpy.asarray(recon), "recon", recon_dict)

    @staticmethod
    def load_recon_hdf5(filepath: Any, recreate_model=False):
        """Returns (volume, dict) of a file that `save_recon_hdf5` wrote."""
        from tomoprof._files import load_data_hdf5
        if recreate_model:
            raise ValueError("recreate_model has been deprecated. Remove this option and expect only 2 return values.")
        return load_data_hdf5(filepath)
