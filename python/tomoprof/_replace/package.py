"""A package that is replaced as a whole, so that it and what it needs is not even loaded."""

import functools
import importlib
import importlib.machinery
import sys
import time
import types

from tomoprof._replace.calls import replaced_call, report
from tomoprof._replace.table import CHECKS, ROWS, lock, suspended


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
                setattr(module, name, self.replaced(module.__name__, name, value))
        module.__getattr__ = functools.partial(self.missing, module.__name__)
        module.__doc__, module.__path__ = ours.__doc__, []

    def replaced(self, module, name, value):
        """A function of the table counts its calls."""
        if not isinstance(value, types.FunctionType) or name not in self.rows:
            return value

        @functools.wraps(value)
        def call(*arguments, **options):
            return replaced_call(self.rows[name], name, value, functools.partial(self.call_original, module, name), arguments, options)

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

    def call_original(self, module, name, *arguments, **options):
        arguments = [self.original_model(value) for value in arguments]
        options = {key: self.original_model(value) for key, value in options.items()}
        return getattr(self.original_module(module), name)(*arguments, **options)

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
