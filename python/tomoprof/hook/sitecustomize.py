"""Python loads this at its start where `tomoprof try` put this folder on PYTHONPATH. Modules that tomoprof has functions for are then
given to tomoprof._replace when the program imports them. Nothing else is loaded: a program that imports none of them starts as before.

It is short, for Python compiles it at each start where it may keep no bytecode beside it."""

import os
import sys

HERE, OWN = os.path.dirname(__file__), sys.modules.pop(__name__)
TOPS = os.environ.get("TOMOPROF_TRY_PACKAGES", "").split(":")


def find_spec(name, path=None, target=None):
    """Leaves all modules but those of TOPS to the other finders."""
    if name.partition(".")[0] in TOPS:
        type(__loader__)(__name__, HERE + "/finder.py").exec_module(OWN)  # defines find_spec anew
        return OWN.find_spec(name, path, target)


if "TOMOPROF_TRY" in os.environ:
    sys.meta_path.insert(0, OWN)
    try:
        open(os.environ["TOMOPROF_TRY_OUT"] + "/started", "w").close()
    except OSError:
        pass  # then the command says that no Python was started
sys.path.remove(HERE)
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401  what this hides, as Debian and Conda have it; Python expects the error
