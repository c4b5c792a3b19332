"""What the hook loads, into its own module, with the first module that tomoprof has functions for."""

import importlib
import importlib.util
import os
import sys

PACKAGE = os.path.dirname(os.environ["TOMOPROF_TRY_HOOK"])
PACKAGES = os.environ["TOMOPROF_TRY_PACKAGES"].split(":")
replace = None


def find_spec(name, path=None, target=None):
    """The spec of a module in which functions are replaced; None leaves it to the other finders."""
    global replace
    if name.partition(".")[0] not in PACKAGES:
        return None
    try:
        replace = replace or load_replace()
    except Exception as error:  # the program goes on with what it asked for, and the command passes the sentence on
        PACKAGES.clear()
        note_failure(f"{type(error).__name__}: {error}")
        return None
    return replace.find_spec(name, path, target)


def load_replace():
    """tomoprof._replace of the package that this folder belongs to, whatever lies on sys.path."""
    if "tomoprof" not in sys.modules:
        spec = importlib.util.spec_from_file_location("tomoprof", os.path.join(PACKAGE, "__init__.py"), submodule_search_locations=[PACKAGE])
        sys.modules["tomoprof"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return importlib.import_module("tomoprof._replace")


def note_failure(text):
    """Leaves a file for the command."""
    try:
        with open(os.path.join(os.environ["TOMOPROF_TRY_OUT"], "failed"), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        pass  # then nothing was replaced, without a reason
