"""Modules of other packages with the functions that tomoprof computes faster. Everything else in them is the original's.

    from tomoprof.instead import ndimage                  # in place of: from scipy import ndimage
    from tomoprof.instead.transform import radon, iradon  # in place of: from skimage.transform import radon, iradon

replacements.json lists them, with how equal they are; `tomoprof try` measures what they save."""

import functools
import importlib
import sys


class NotEqual(NotImplementedError):
    """These arguments have no equal here; the sentence says which."""


def array_text(value):
    """An argument in words: "float64 of shape (3, 4)", "an array on a GPU", "list"."""
    from tomoprof._devices import is_on_device
    if is_on_device(value):
        return "an array on a GPU"
    shape = getattr(value, "shape", None)
    if shape is None:
        return type(value).__name__
    kind = getattr(value, "dtype", type(value).__name__) if type(value).__module__ == "numpy" else type(value).__name__
    return f"{kind} of shape {tuple(shape)}"


def file_equal_to(path, package, shape, dtype):
    """The `tomoprof.open` of a file that `package` reads as an array of this shape and type; NotEqual where tomoprof reads another."""
    from tomoprof._open import File
    file = File(path)
    if file.shape != tuple(shape) or file.dtype != dtype.newbyteorder("="):
        raise NotEqual(f"tomoprof reads {file.dtype} of shape {file.shape}; {package} reads {dtype} of shape {tuple(shape)}")
    return file


def box_or(file, key, other):
    """`file[key]`, or `other(key)` where that is not a box."""
    try:
        return file[key]
    except IndexError:
        return other(key)


def original_of(module, name):
    """The function of that name in `module`. Where a program has assigned ours there, the one that the package defines: by the module's
    own lazy import, else in the file of the package that has it."""
    found = getattr(importlib.import_module(module), name)
    if not hasattr(found, "ours"):
        return found
    held = sys.modules[module]
    late = vars(held).get("__getattr__")
    candidates = [late(name)] if late else []
    package = module.partition(".")[0] + "."
    candidates += [vars(other).get(name) for path, other in sorted(sys.modules.items()) if path.startswith(package) and other is not None]
    for candidate in candidates:
        if callable(candidate) and not hasattr(candidate, "ours") and getattr(candidate, "__module__", None) in sys.modules:
            return candidate
    raise NotEqual(f"{module}.{name} is tomoprof's: the original, which these arguments need, is not to be found")


def in_place_of(module):
    """A decorator: where the function raises NotEqual, the function of that name in `module` is called. `ours` is the bare function."""
    def decorate(ours):
        @functools.wraps(ours)
        def call(*arguments, **options):
            try:
                return ours(*arguments, **options)
            except NotEqual:
                return original_of(module, ours.__name__)(*arguments, **options)

        call.ours = ours
        return call

    return decorate


def rest_of(module):
    """The __getattr__ of a module here: names that are not ours are those of `module`, which is loaded then. Python itself asks for
    __path__ at each `from ... import`."""
    def attribute(name):
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        return getattr(importlib.import_module(module), name)

    return attribute
