"""What `tomoprof try` does in the program: functions of other packages that replacements.json lists are replaced as they are imported.

TOMOPROF_TRY is "replace", or "check": then ours and the original compute the first TOMOPROF_TRY_CHECK calls from each line, and the
program gets the original's result. TOMOPROF_TRY_ONLY names the functions that are replaced (all where it is empty). Each process
leaves TOMOPROF_TRY_OUT/PID.json with its calls. Nothing is changed on disk."""

import atexit
import functools
import importlib
import importlib.machinery
import importlib.util
import json
import math
import os
import pathlib
import sys
import threading
import time
import types

from tomoprof.instead import NotEqual

PACKAGE = pathlib.Path(__file__).resolve().parent
ROWS = json.loads((PACKAGE / "replacements.json").read_text(encoding="utf-8"))
CHECK = int(os.environ.get("TOMOPROF_TRY_CHECK") or 0) if os.environ.get("TOMOPROF_TRY") == "check" else 0
CHECKS = os.environ.get("TOMOPROF_TRY") == "check"
PARENTS = {".".join(parts[:n]) for parts in (row["hook"].split(".") for row in ROWS) for n in range(1, len(parts))}  # packages that hold them
ONLY = [name for name in os.environ.get("TOMOPROF_TRY_ONLY", "").split(",") if name]
OUT = os.environ.get("TOMOPROF_TRY_OUT")
SEED = 1  # of both computations of a checked call, where the program has not just set one itself
WHOLE = {row["module"]: row for row in ROWS if "." not in row["module"]}  # modules that are replaced as a whole
INSIDE = (str(PACKAGE) + os.sep, os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep, "<frozen ")
local = threading.local()
lock = threading.RLock()


# ---- What is told to the command ----

class Report:
    """The calls of this process, written when something is new and at the end."""

    def __init__(self):
        self.sites, self.notes, self.written, self.process = {}, [], 0.0, os.getpid()
        atexit.register(self.write)
        os.register_at_fork(after_in_child=self.begin_child)

    def begin_child(self):
        self.sites, self.notes, self.process = {}, [], os.getpid()

    def site(self, row, name):
        """The entry of the calls of a function from one line of the program."""
        file, line = caller()
        key = row["module"], name, file, line
        with lock:
            if key not in self.sites:
                self.sites[key] = {"module": row["module"], "name": name, "ours": row["ours"], "label": row["label"], "equal": row["equal"],
                                   "tolerance": row["tolerance"], "file": file, "line": line, "calls": 0, "ours_s": 0.0, "original_s": 0.0,
                                   "checked": 0, "relative_l2": None, "largest": None, "scale": None, "refused": None, "failed": None, "mismatch": None}
            return self.sites[key]

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            self.write()

    def changed(self, entry):
        if entry["calls"] == 1 or time.monotonic() > self.written + 1:
            self.write()

    def write(self):
        """A process that ends without handlers (os._exit, a signal) leaves what was written last."""
        if not OUT or not (self.sites or self.notes):
            return
        path = os.path.join(OUT, f"{os.getpid()}.json")
        try:
            with lock:
                with open(path + ".new", "w", encoding="utf-8") as file:
                    json.dump({"schema": "tomoprof-replaced/1", "calls": list(self.sites.values()), "notes": self.notes}, file)
                os.replace(path + ".new", path)
            self.written = time.monotonic()
        except OSError:
            pass  # a full disk ends no program; the command then misses this file


report = Report()


def caller():
    """File and line of the innermost code that belongs to no package."""
    frame = sys._getframe(2)
    while frame is not None and any(part in frame.f_code.co_filename for part in INSIDE):
        frame = frame.f_back
    return (os.path.abspath(frame.f_code.co_filename), frame.f_lineno) if frame is not None else (None, None)


# ---- One call ----

def replaced_call(row, name, ours, original, arguments, options):
    """Calls ours, in checks beside the original. `original` is called where ours has no equal, or fails."""
    if getattr(local, "inside", False):
        return ours(*arguments, **options)
    entry = report.site(row, name)
    local.inside = True
    try:
        entry["calls"] += 1
        if entry["checked"] < CHECK:
            return checked_call(entry, ours, original, arguments, options)
        begun = time.perf_counter()
        try:
            return ours(*arguments, **options)
        except NotEqual as error:
            entry["refused"] = str(error)
        except Exception as error:
            entry["failed"] = f"{type(error).__name__}: {error}"
        finally:
            entry["ours_s"] += time.perf_counter() - begun
        begun = time.perf_counter()
        try:
            return original(*arguments, **options)
        finally:
            entry["original_s"] += time.perf_counter() - begun
    finally:
        local.inside = False
        report.changed(entry)


def checked_call(entry, ours, original, arguments, options):
    """Computes both and compares. Returns the original's result; its exception is the program's."""
    with same_random() as again:
        begun = time.perf_counter()
        mine = failed = None
        try:
            mine = ours(*arguments, **options)
        except NotEqual as error:
            failed = entry["refused"] = str(error)
        except Exception as error:
            failed = entry["failed"] = f"{type(error).__name__}: {error}"
        middle = time.perf_counter()
        again()
        result = original(*arguments, **options)
    if failed is None:
        entry["ours_s"] += middle - begun
        entry["original_s"] += time.perf_counter() - middle
        entry["checked"] += 1
        compare_results(entry, mine, result)
    return result


class same_random:
    """Both computations draw the same numbers from numpy.random: from the seed that the program just set, else from SEED."""

    def __enter__(self):
        import numpy
        self.random, self.state = numpy.random, numpy.random.get_state()
        name, key, position = self.state[:3]
        self.fresh = name == "MT19937" and position == len(key) and (numpy.random.RandomState(int(key[0])).get_state()[1] == key).all()
        self.begin()
        return self.begin

    def begin(self):
        self.random.set_state(self.state) if self.fresh else self.random.seed(SEED)

    def __exit__(self, *_):
        if not self.fresh:
            self.random.set_state(self.state)


# ---- How equal two results are ----

def leaves(value):
    """The arrays and numbers of a result, in order. Dictionaries hold times and logs, which are not compared."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, (int, float)) and not isinstance(value, bool) or hasattr(value, "dtype") and hasattr(value, "shape"):
        return [value]
    return []


def compare_results(entry, mine, result):
    """Keeps the largest relative l2 error and difference of all results that were compared."""
    import numpy
    pairs = leaves(mine), leaves(result)
    if len(pairs[0]) != len(pairs[1]):
        entry["mismatch"] = f"{len(pairs[0])} arrays in place of {len(pairs[1])}"
    for a, b in zip(*pairs):
        a, b = numpy.asarray(a), numpy.asarray(b)
        if a.shape != b.shape:
            entry["mismatch"] = f"an array of shape {a.shape} in place of {b.shape}"
            continue
        if not (numpy.isfinite(a) == numpy.isfinite(b)).all():
            entry["mismatch"] = "values that are not finite are in other places"
            continue
        finite = numpy.isfinite(b)
        a, b = a[finite].astype(float), b[finite].astype(float)
        norm, error = float(numpy.linalg.norm(b)), float(numpy.linalg.norm(a - b))
        largest = float(numpy.abs(a - b).max(initial=0))
        l2 = error / norm if norm > 0 else 0.0 if error == 0 else math.inf
        if math.isinf(l2):
            entry["mismatch"] = "values in place of zeros"
            continue
        if entry["relative_l2"] is None or l2 >= entry["relative_l2"]:
            entry["relative_l2"], entry["scale"] = l2, float(numpy.abs(b).max(initial=0))
        entry["largest"] = max(entry["largest"] or 0.0, largest)


# ---- Functions of modules that stay ----

suspended = threading.local()


def wanted(row):
    return not ONLY or row["module"] in ONLY or f"{row['module']}.{row['name']}" in ONLY


def number(text):
    return [int(part) for part in text.split(".") if part.isdigit()]


def version_fits(row):
    """Whether the installed package is of a version that the row was compared with; a note where it is not."""
    import importlib.metadata
    package = {"skimage": "scikit-image"}.get(row["module"].partition(".")[0], row["module"].partition(".")[0])
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        version = None
    if version and number(row["from"]) <= number(version) < number(row["below"]):
        return True
    report.note(f"{package} {version or 'of unknown version'} is not replaced: tomoprof knows versions from {row['from']} up to {row['below']}")
    return False


def find_spec(name, path=None, target=None):
    """Called by the finder for each module of the table."""
    if getattr(suspended, "on", False):
        return None
    top = name.partition(".")[0]
    if top in WHOLE:
        rows = [row for row in ROWS if row["module"] == top]
        if top not in whole:
            whole[top] = WholePackage(WHOLE[top]) if any(map(wanted, rows)) and version_fits(WHOLE[top]) else None
        return whole[top] and whole[top].spec(name)
    rows = [row for row in ROWS if row["hook"] == name and wanted(row)]
    if name in PARENTS and not CHECKS:
        return late_parent(name, path, target)
    if not rows or not version_fits(rows[0]):
        LateParent.load_above(name)
        return None
    spec = original_spec(name, path, target)
    if spec is not None and spec.loader is not None:
        spec.loader = ReplacingLoader(spec.loader, rows)
        if not CHECKS:
            return LateLoader(spec, rows).spec
    return spec


def late_parent(name, path, target):
    """The spec of a package that holds a module of the table; None where nothing in it is replaced."""
    rows = [row for row in ROWS if row["hook"].startswith(name + ".") and wanted(row)]
    spec = original_spec(name, path, target) if rows else None
    if spec is None or spec.loader is None:
        LateParent.load_above(name)
        return None
    spec.loader = LateParent(name, spec.loader, rows)
    return spec


def original_spec(name, path, target):
    """The spec that the program would get without us."""
    suspended.on = True
    try:
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                return spec
        return None
    finally:
        suspended.on = False


class ReplacingLoader:
    """The module's own loader; functions are replaced once the module has run."""

    def __init__(self, loader, rows):
        self.loader, self.rows = loader, rows

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        for row in self.rows:
            original = module.__dict__.get(row["name"])
            if callable(original):
                setattr(module, row["name"], replaced_function(row, original))


class LateParent:
    """A package whose own code runs when something of it is used that is not replaced. A program that was changed imports ours alone, so
    the trial should not take the time of the package's start either."""

    late = {}

    def __init__(self, name, loader, rows):
        self.name, self.loader, self.rows, self.module = name, loader, rows, None

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.module = LateParent.late[self.name] = self, module
        module.__getattr__ = self.attribute

    def attribute(self, name):
        inside = f"{self.name}.{name}"
        if any(row["hook"] == inside or row["hook"].startswith(inside + ".") for row in self.rows):
            return importlib.import_module(inside)
        row = next((row for row in self.rows if row["module"] == self.name and row["name"] == name), None)
        if row:
            return getattr(importlib.import_module(row["hook"]), name)
        if name.startswith("__") and name not in ("__version__", "__all__", "__doc__"):
            raise AttributeError(f"module {self.name!r} has no attribute {name!r}")
        self.load()
        return getattr(self.module[1], name)

    def load(self):
        with lock:
            if LateParent.late.pop(self.name, None) is None:
                return
            module = self.module[1]
            del module.__getattr__
            module.__spec__.loader = module.__loader__ = self.loader
            try:
                self.loader.exec_module(module)
            except BaseException:
                module.__getattr__, LateParent.late[self.name] = self.attribute, self.module
                raise

    @staticmethod
    def load_above(name):
        """Runs the code of the packages that hold a module, the outermost first."""
        parts = name.split(".")
        for n in range(1, len(parts)):
            above = LateParent.late.get(".".join(parts[:n]))
            if above:
                above[0].load()


class LateLoader:
    """A module that holds what is replaced; the original is loaded when another name of it is used, or a call has no equal. So the
    program takes the time that it takes with the patch, which does not load the original either."""

    def __init__(self, original, rows):
        self.original, self.rows, self.loaded = original, rows, None
        self.spec = importlib.machinery.ModuleSpec(original.name, self, origin=original.origin)
        self.spec.submodule_search_locations = original.submodule_search_locations

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        for row in self.rows:
            def original(*arguments, name=row["name"], **options):
                return getattr(self.load(), name)(*arguments, **options)

            original.__name__ = original.__qualname__ = row["name"]
            original.__module__ = module.__name__
            setattr(module, row["name"], replaced_function(row, original))
        module.__getattr__ = lambda name: getattr(self.load(), name)

    def load(self):
        """The original, which takes the place of this module in what is imported from now on."""
        LateParent.load_above(self.original.name)
        with lock:
            if self.loaded is None:
                name, (parent, _, last) = self.original.name, self.original.name.rpartition(".")
                late, module = sys.modules.get(name), importlib.util.module_from_spec(self.original)
                sys.modules[name] = self.loaded = module
                try:
                    self.original.loader.exec_module(module)
                except BaseException:
                    self.loaded = None
                    sys.modules[name] = late
                    raise
                setattr(sys.modules[parent], last, module)
            return self.loaded


def replaced_function(row, original):
    @functools.wraps(original)
    def call(*arguments, **options):
        if getattr(local, "inside", False):
            return original(*arguments, **options)
        ours = getattr(importlib.import_module(row["ours"]), row["name"]).ours
        return replaced_call(row, row["name"], ours, original, arguments, options)

    return call


# ---- A package that is replaced as a whole, so that it and what it needs is not even loaded ----

whole: dict = {}


class WholePackage:
    """MBIRJAX: its names are those of tomoprof.mbirjax. The original is loaded where a call fails, is checked, or a name is missing."""

    def __init__(self, row):
        self.name, self.ours, self.originals = row["module"], row["ours"], None
        self.rows = {r["name"]: r for r in ROWS if r["module"] == self.name}
        if CHECKS:
            self.load_original()  # before the program imports JAX, which it wants to set up first
        self.replace_methods()

    def spec(self, name):
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        try:
            importlib.import_module(self.ours + spec.name[len(self.name):])
        except ModuleNotFoundError:
            return self.original_module(spec.name)
        return None

    def exec_module(self, module):
        if self.originals and module is self.originals.get(module.__name__):
            return
        ours = importlib.import_module(self.ours + module.__name__[len(self.name):])
        for name, value in vars(ours).items():
            if not name.startswith("__") and not (isinstance(value, types.ModuleType) and value.__name__.startswith(self.ours)):
                setattr(module, name, self.replaced(name, value))
        module.__getattr__ = functools.partial(self.missing, module.__name__)
        module.__doc__, module.__path__ = ours.__doc__, []

    def replaced(self, name, value):
        """A function of the table counts its calls."""
        if not isinstance(value, types.FunctionType) or name not in self.rows:
            return value

        @functools.wraps(value)
        def call(*arguments, **options):
            return replaced_call(self.rows[name], name, value, functools.partial(self.call_original, name), arguments, options)

        return call

    def missing(self, module, name):
        """A name that tomoprof.mbirjax lacks."""
        if name == "__version__":
            import importlib.metadata
            return importlib.metadata.version(self.name)
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(self.original_module(module), name)
        if not isinstance(value, types.ModuleType):
            report.note(f"{module}.{name} has no equal in tomoprof: the original was loaded and used")
        return value

    def replace_methods(self):
        from tomoprof import _geometries
        for model in (_geometries.ParallelBeamModel, _geometries.ConeBeamModel, _geometries.TranslationModel, _geometries.MultiAxisParallelModel,
                      _geometries.QGGMRFDenoiser):
            for name, row in self.rows.items():
                if callable(getattr(model, name, None)):
                    setattr(model, name, self.replaced_method(row, model, name, getattr(model, name)))

    def replaced_method(self, row, model, name, method):
        @functools.wraps(method)
        def call(self_, *arguments, **options):
            return replaced_call(row, f"{model.__name__}.{name}", functools.partial(method, self_),
                                 functools.partial(self.call_original_method, self_, name), arguments, options)

        return call

    # The original

    def load_original(self):
        """Loads the real package beside ours."""
        with lock:
            if self.originals is not None:
                return
            mine = self.take_modules()
            suspended.on, begun = True, time.perf_counter()
            try:
                importlib.import_module(self.name)
            finally:
                suspended.on = False
                self.originals = self.take_modules()
                sys.modules.update(mine)
            if not CHECKS:
                report.note(f"the original {self.name} was loaded, which took {time.perf_counter() - begun:.2g} s")

    def take_modules(self):
        """Takes the package out of sys.modules. Python would go on with the original there, in place of ours."""
        return {name: sys.modules.pop(name) for name in list(sys.modules) if name == self.name or name.startswith(self.name + ".")}

    def original_module(self, name):
        self.load_original()
        if name not in self.originals:
            suspended.on = True
            try:
                self.originals[name] = importlib.import_module(name)
            finally:
                suspended.on = False
        return self.originals[name]

    def call_original(self, name, *arguments, **options):
        arguments = [self.original_model(value) for value in arguments]
        options = {key: self.original_model(value) for key, value in options.items()}
        return getattr(self.original_module(self.name), name)(*arguments, **options)

    def call_original_method(self, model, name, *arguments, **options):
        return getattr(self.original_model(model), name)(*arguments, **options)

    def original_model(self, model):
        """The original's model with the parameters of ours; another value as it is."""
        from tomoprof import _geometries, _model
        if not isinstance(model, _model.TomographyModel):
            return model
        package = self.original_module(self.name)
        if isinstance(model, _geometries.QGGMRFDenoiser):
            original = package.QGGMRFDenoiser(tuple(model.get_params("sinogram_shape")))
            original.set_params(no_warning=True, sharpness=model.get_params("sharpness"), use_ror_mask=model.get_params("use_ror_mask"))
            return original
        required, optional, regularization = model.get_all_params()
        required["geometry_type"] = str(getattr(package, type(model).__name__))
        return package.build_model(required, optional, regularization)
