"""Loaders of modules that stay, but for some of their functions."""

import functools
import importlib
import importlib.machinery
import importlib.util
import sys

from tomoprof._replace.calls import local, replaced_call
from tomoprof._replace.table import ROWS, lock, original_spec, wanted


def late_parent(name, path, target):
    """The spec of a package that holds a module of the table; None where nothing in it is replaced."""
    rows = [row for row in ROWS if row["hook"].startswith(name + ".") and wanted(row)]
    spec = original_spec(name, path, target) if rows else None
    if spec is None or spec.loader is None:
        return unchanged_spec(name)
    spec.loader = LateParent(name, spec.loader, rows)
    return spec


def unchanged_spec(name):
    """Runs the packages that hold a module in which nothing is replaced. None: the other finders know it, unless a package has just
    imported it itself, so that it must not be loaded again."""
    LateParent.load_above(name)
    return LoadedAlready(name, sys.modules[name]).module.__spec__ if name in sys.modules else None


class LoadedAlready:
    """Gives a module that was imported while it was looked for. Python takes its spec then, whatever a finder says: it is ours until
    the module is given."""

    def __init__(self, name, module):
        self.module, self.spec = module, module.__spec__
        module.__spec__ = importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        module.__spec__ = self.spec


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
            set_beside(module, row)


class LateParent:
    """A package whose own code runs when something of it is used that is not replaced. A program that was changed imports ours alone, so
    the trial should not take the time of the package's start either."""

    late: dict[type, type] = {}

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
            set_beside(module, row)
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


def set_beside(module, row):
    """Functions that make what ours needs are ours, too; they are not counted."""
    for name in row.get("beside", "").split():
        def call(*arguments, name=name, **options):
            return getattr(importlib.import_module(row["ours"]), name)(*arguments, **options)

        setattr(module, name, call)


def replaced_function(row, original):
    @functools.wraps(original)
    def call(*arguments, **options):
        if getattr(local, "inside", False):
            return original(*arguments, **options)
        ours = getattr(importlib.import_module(row["ours"]), row["name"]).ours
        return replaced_call(row, row["name"], ours, original, arguments, options)

    return call
