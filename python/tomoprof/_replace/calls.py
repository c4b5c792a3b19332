"""The calls of replaced functions: what they took, how equal ours and the original are, and what the command is told of them."""

import atexit
import json
import math
import os
import sys
import threading
import time

from tomoprof._replace.table import CHECK, INSIDE, OUT, SEED, lock
from tomoprof.instead import NotEqual

local = threading.local()


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
    """Calls ours, in checks beside the original. `original` is called where ours has no equal, and from its first failure on."""
    if getattr(local, "inside", False):
        return ours(*arguments, **options)
    entry = report.site(row, name)
    local.inside = True
    try:
        entry["calls"] += 1
        if entry["failed"] is None and entry["checked"] < CHECK:
            return checked_call(entry, ours, original, arguments, options)
        if entry["failed"] is None:
            begun = time.perf_counter()
            try:
                return called_on_host(ours, arguments, options)
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


def called_on_host(ours, arguments, options):
    """Calls ours. Arrays of JAX on a GPU stay there with the original: tomoprof would copy them to the host and back."""
    for value in (*arguments, *options.values()):
        if type(value).__module__.partition(".")[0] in ("jax", "jaxlib") and hasattr(value, "devices"):
            platforms = {device.platform for device in value.devices()} - {"cpu"}
            if platforms:
                raise NotEqual(f"an argument is an array on a {min(platforms).upper()}; tomoprof would copy it to the host")
    return ours(*arguments, **options)


def checked_call(entry, ours, original, arguments, options):
    """Computes both and compares. Returns the original's result; its exception is the program's."""
    with same_random() as again:
        begun = time.perf_counter()
        mine = failed = None
        try:
            mine = called_on_host(ours, *own_arguments(ours, arguments, options))
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


def own_arguments(ours, arguments, options):
    """The arguments, with copies of the arrays that ours changes: the original begins with the same values. `ours.changes` names them."""
    if not hasattr(ours, "changes"):
        return arguments, options
    import copy
    import inspect
    bound = inspect.signature(ours).bind(*arguments, **options)
    for name in ours.changes:
        if name in bound.arguments:
            bound.arguments[name] = copy.deepcopy(bound.arguments[name])
    return bound.args, bound.kwargs


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
    """The arrays and numbers of a result, in order. Dictionaries hold times and logs, integers are IDs: they are not compared. Images are
    read."""
    if hasattr(value, "dataobj"):
        import numpy
        return [numpy.asanyarray(value.dataobj)]
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, float) or hasattr(value, "dtype") and hasattr(value, "shape"):
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
