"""The table of what is replaced, and what `tomoprof try` asks for by the environment."""

import json
import os
import pathlib
import sys
import threading

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
ROWS = json.loads((PACKAGE / "replacements.json").read_text(encoding="utf-8"))
CHECK = int(os.environ.get("TOMOPROF_TRY_CHECK") or 0) if os.environ.get("TOMOPROF_TRY") == "check" else 0
CHECKS = os.environ.get("TOMOPROF_TRY") == "check"
PARENTS = {".".join(parts[:n]) for parts in (row["hook"].split(".") for row in ROWS) for n in range(1, len(parts))}  # packages that hold them
ONLY = [name for name in os.environ.get("TOMOPROF_TRY_ONLY", "").split(",") if name]
OUT = os.environ.get("TOMOPROF_TRY_OUT")
SEED = 1  # of both computations of a checked call, where the program has not just set one itself
WHOLE = {row["module"]: row for row in ROWS if not row["ours"].startswith("tomoprof.instead.")}  # packages that are replaced as a whole
INSIDE = (str(PACKAGE) + os.sep, os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep, "<frozen ")
lock = threading.RLock()
suspended = threading.local()  # while the original is looked for


def wanted(row):
    return not ONLY or row["module"] in ONLY or f"{row['module']}.{row['name']}" in ONLY


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
