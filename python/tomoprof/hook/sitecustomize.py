"""Python loads this at its start where `tomoprof try` put this folder on PYTHONPATH. Modules that tomoprof has functions for are then
given to tomoprof._replace when the program imports them. Nothing else is loaded: a program that imports none of them starts as before."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class ModuleFinder:
    """Leaves all modules but those of TOMOPROF_TRY_MODULES to the other finders."""

    def __init__(self, modules):
        self.tops, self.replace = frozenset(name.partition(".")[0] for name in modules), None

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.tops:
            return None
        try:
            self.replace = self.replace or load_replace()
        except Exception as error:  # the program goes on with what it asked for, and the command passes the sentence on
            self.tops = frozenset()
            note("failed", f"{type(error).__name__}: {error}")
            return None
        return self.replace.find_spec(name, path, target)


def load_replace():
    """tomoprof._replace of the package that this folder belongs to, whatever lies on sys.path."""
    import importlib.util
    if "tomoprof" not in sys.modules:
        package = os.path.dirname(HERE)
        spec = importlib.util.spec_from_file_location("tomoprof", os.path.join(package, "__init__.py"), submodule_search_locations=[package])
        sys.modules["tomoprof"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return importlib.import_module("tomoprof._replace")


def note(name, text=""):
    """Leaves a file for the command."""
    try:
        with open(os.path.join(os.environ["TOMOPROF_TRY_OUT"], name), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        pass  # then the command says that no Python was started


def load_next():
    """The sitecustomize that this one hides, as Debian and Conda have it."""
    own = sys.modules.pop(__name__, None)
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if own is not None:
            sys.modules.setdefault(__name__, own)


if os.environ.get("TOMOPROF_TRY"):
    note("started")
    sys.meta_path.insert(0, ModuleFinder(os.environ["TOMOPROF_TRY_MODULES"].split(":")))
load_next()
