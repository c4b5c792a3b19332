"""Operators of tomography for arrays, and runs of the profiler as tables for pandas.

    import numpy, tomoprof
    model = tomoprof.ParallelBeamModel(sinogram.shape, numpy.linspace(0, numpy.pi, 180, endpoint=False))
    volume = model.direct_recon(sinogram)   # or model.recon(sinogram)

    import pandas, tomoprof
    run = tomoprof.read()
    pandas.DataFrame(run.lines).nlargest(10, "cpu_user")
    run                                     # in Jupyter: the report itself

    with tomoprof.region("load"):           # a part of your program that `tomoprof record` names
        scan = read_scan()

Operators, modules of Python that not all programs need, and tomoprof.preprocess, tomoprof.torch, tomoprof.jax and tomoprof.scipy are loaded when first used.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tomoprof._functions import find_center, gen_weights, gen_weights_mar, median_filter3d, step, weigh_rays
    from tomoprof._geometries import ConeBeamModel, MultiAxisParallelModel, ParallelBeamModel, QGGMRFDenoiser, TranslationModel
    from tomoprof._library import Cancelled, __version__, configure, device
    from tomoprof._models import build_model, copy_ct_model, load_model
    from tomoprof._open import open
    from tomoprof._partitions import gen_pixel_partition
    from tomoprof._phantoms import generate_demo_data, phantom
    from tomoprof._picture import picture
    from tomoprof._progress import progress
    from tomoprof._region import region, start
    from tomoprof._sart import sart

__all__ = ["Cancelled", "ConeBeamModel", "MultiAxisParallelModel", "ParallelBeamModel", "QGGMRFDenoiser", "Run", "TranslationModel",
           "build_model", "configure", "copy_ct_model", "device", "find_center", "gen_pixel_partition", "gen_weights", "gen_weights_mar",
           "generate_demo_data", "load_model", "median_filter3d", "open", "phantom", "picture", "program", "progress", "read", "region", "sart", "start", "step", "weigh_rays"]
LAZY = {"_geometries": ("ConeBeamModel", "MultiAxisParallelModel", "ParallelBeamModel", "QGGMRFDenoiser", "TranslationModel"),
        "_functions": ("find_center", "gen_weights", "gen_weights_mar", "median_filter3d", "step", "weigh_rays"),
        "_models": ("build_model", "copy_ct_model", "load_model"), "_partitions": ("gen_pixel_partition",),
        "_open": ("open",), "_phantoms": ("generate_demo_data", "phantom"),
        "_picture": ("picture",), "_progress": ("progress",),
        "_region": ("region", "start"), "_sart": ("sart",),
        "_library": ("Cancelled", "__version__", "configure", "device")}
MODULES = ("instead", "jax", "jupyter", "mbirjax", "preprocess", "scipy", "torch")


def __getattr__(name):
    """Loads the operators, or a module, when one of them is first used."""
    import importlib
    if name in MODULES:
        return importlib.import_module("tomoprof." + name)
    for module, names in LAZY.items():
        if name in names:
            value = globals()[name] = getattr(importlib.import_module("tomoprof." + module), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})


def program():
    """The path of the program that came with this package: in it (pip), or in PREFIX/bin of PREFIX/share/tomoprof/python."""
    import pathlib
    package = pathlib.Path(__file__).resolve().parent
    path = package / "bin/tomoprof"
    if not path.is_file() and package.parts[-4:] == ("share", "tomoprof", "python", "tomoprof"):
        path = package.parents[3] / "bin/tomoprof"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: install the package with `pip install .`, not as an editable one")
    return path


def main():
    """The command `tomoprof`: becomes the program."""
    os.execv(program(), ["tomoprof", *sys.argv[1:]])


def flat(record, prefix=""):
    """{"cpu": {"user": 1}} as {"cpu_user": 1}; lists stay as they are."""
    row = {}
    for key, value in record.items():
        if isinstance(value, dict):
            row.update(flat(value, f"{prefix}{key}_"))
        else:
            row[prefix + key] = value
    return row


def aligned(rows):
    """Rows with the columns of all: what is missing in one is None. {"io": None} beside {"io_calls": 1} is the former's io_calls."""
    columns = dict.fromkeys(key for row in rows for key in row)
    absent = {key for key in columns if all(row.get(key) is None for row in rows) and any(other.startswith(key + "_") for other in columns)}
    return [{key: row.get(key) for key in columns if key not in absent} for row in rows]


def newest(latest):
    """The run beside it that `latest` leads to, a link or a text file; None where there is neither."""
    if latest.is_symlink():
        name = os.readlink(latest)
    elif latest.is_file():
        name = latest.read_text().strip()
    else:
        return None
    if "/" in name or name in ("", ".", ".."):
        raise ValueError(f"{latest}: does not name a run: {name[:60]!r} is not the name of a folder beside it")
    return latest.parent / name


def folder_of(name):
    """The run that `name` means: a run, a folder of runs or its `latest` (then the newest)."""
    import pathlib
    path = pathlib.Path(name)
    path = (newest(path) if path.name == "latest" else newest(path / "latest")) or path
    if not (path / "profile.json").is_file() and not (path / "timing.json").is_file():
        raise FileNotFoundError(f"{name}: no profile.json and no timing.json there; `tomoprof report {name}` makes the first "
                                "from a recording")
    return path


class Run:
    """One run. Every table is a list of flat dicts, what pandas.DataFrame takes; unknown is None. Times are seconds, _mb 2^20
    bytes; docs/profile.md defines the columns. A table of what was not recorded is empty."""

    def __init__(self, name):
        self.folder = folder_of(name)
        self.profile = self._load("profile.json")
        self.timing = self._load("timing.json")

    def _load(self, name):
        import json
        path = self.folder / name
        return json.loads(path.read_text()) if path.is_file() else None

    def _of_files(self, part):
        files = (self.profile or {}).get("files", {})
        return aligned([{"file": name, **flat(row)} for name, file in files.items() for row in file[part]])

    def table(self, part):
        """A list of profile.json or, failing that, of timing.json by its name: "kernels", "ranges", "findings" ..."""
        for source in (self.profile, self.timing):
            if source and isinstance(source.get(part), list):
                return aligned([flat(row) for row in source[part]])
        if part not in {**(self.profile or {}), **(self.timing or {})} and part not in ("measurements", "statistics", "scaling"):
            raise KeyError(f"{part}: no such table in {self.folder}")
        return []

    lines = property(lambda self: self._of_files("lines"), doc="Source lines of all files.")
    functions = property(lambda self: self._of_files("functions"), doc="Functions of all files.")
    measurements = property(lambda self: self.table("measurements"), doc="Every timed run of the suite.")
    statistics = property(lambda self: self.table("statistics"), doc="The suite's times by operation and size.")

    def __repr__(self):
        what = [name for name in ("profile", "timing") if getattr(self, name)]
        return f"<tomoprof.Run {self.folder}: {' and '.join(what)}>"

    def _repr_html_(self):
        import html
        page = self.folder / "report.html"
        if not page.is_file():
            return f"<p>{html.escape(str(self.folder))} has no report.html: <code>tomoprof report</code> makes it.</p>"
        text = html.escape(page.read_text(encoding="utf-8"), quote=True)
        return (f'<iframe srcdoc="{text}" sandbox="allow-scripts" title="tomoprof report" '
                'style="width:100%;height:48em;border:1px solid #8888"></iframe>')


def read(run=None):
    """The run in that folder; without one, the newest in tomoprof-runs."""
    return Run(run or os.path.join(os.environ.get("TOMOPROF_RUNS") or "tomoprof-runs", "latest"))


def load_ipython_extension(shell):
    """%load_ext tomoprof: cells that begin with %%tomoprof are recorded."""
    from tomoprof import jupyter
    jupyter.load(shell)


def unload_ipython_extension(shell):
    """%unload_ext tomoprof."""
    from tomoprof import jupyter
    jupyter.unload(shell)
