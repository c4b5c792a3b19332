"""Projections as layers of PyTorch, with exact gradients of any order.

    projector = tomoprof.torch.Projector(model)
    loss = ((projector(volume) - sinogram) ** 2).sum()
    loss.backward()                                   # volume.grad is A'(A x - y) * 2

Tensors may have leading axes (batch, channels). They are computed on one by one, in float32."""

import itertools
import weakref

import torch

from tomoprof._arrays import require_model

__all__ = ["Projector", "back_project", "forward_project"]

# The compiler of PyTorch passes numbers and words to an operator, no objects: models go by their names here.
_models: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
_numbers = itertools.count()


def _register(model):
    require_model(model)
    name = getattr(model, "_torch_name", None)
    if name is None or _models.get(name) is not model:
        name = model._torch_name = f"model{next(_numbers)}"
        _models[name] = model
    return name


def _shapes(name, adjoint):
    model = _models.get(name)
    if model is None:
        raise RuntimeError("the model of this projection no longer exists")
    volume, sinogram = (tuple(shape) for shape in model.get_params(["recon_shape", "sinogram_shape"]))
    return model, *((sinogram, volume) if adjoint else (volume, sinogram))


def _check(tensor, shape, adjoint):
    name, axes = ("sinogram", "views, detector rows, channels") if adjoint else ("volume", "rows, columns, slices")
    if tensor.is_complex():
        raise TypeError(f"{name}: dtype is {tensor.dtype}; expected real numbers. Project .real and .imag one after the other.")
    if tensor.layout is not torch.strided:
        raise TypeError(f"{name}: a tensor of layout {tensor.layout}; expected a dense one: .to_dense()")
    if tuple(tensor.shape[-3:]) != shape or tensor.dim() < 3:
        raise ValueError(f"{name}: shape is {tuple(tensor.shape)}; expected (..., {', '.join(map(str, shape))}), the last three being {axes}")


def _result_type(tensor):
    """That of the tensor; line integrals of integers are not integers."""
    return tensor.dtype if tensor.is_floating_point() else torch.float32


@torch.library.custom_op("tomoprof::project", mutates_args=())
def _project(tensor: torch.Tensor, name: str, adjoint: bool) -> torch.Tensor:
    model, shape, result_shape = _shapes(name, adjoint)
    _check(tensor, shape, adjoint)
    call = model.back_project if adjoint else model.forward_project
    source = tensor.reshape(-1, *shape)
    result = tensor.new_empty((len(source), *result_shape), dtype=torch.float32)
    for one, out in zip(source, result):
        call(one, out=out)
    return result.reshape(*tensor.shape[:-3], *result_shape).to(_result_type(tensor))


@_project.register_fake
def _(tensor, name, adjoint):
    _, shape, result_shape = _shapes(name, adjoint)
    _check(tensor, shape, adjoint)
    return tensor.new_empty((*tensor.shape[:-3], *result_shape), dtype=_result_type(tensor))


def _keep(ctx, inputs, output):
    _, ctx.name, ctx.adjoint = inputs
    ctx.model = _models.get(ctx.name)  # lives as long as the graph


def _backward(ctx, gradient):
    return _project(gradient, ctx.name, not ctx.adjoint), None, None


_project.register_autograd(_backward, setup_context=_keep)


@_project.register_vmap
def _(info, in_dims, tensor, name, adjoint):
    return _project(tensor.movedim(in_dims[0], 0), name, adjoint), 0


class _Projection(torch.autograd.Function):
    """The operator for PyTorch's other transformations: torch.func.grad, jvp and their like, which operators of libraries do not have."""

    @staticmethod
    def forward(tensor, name, adjoint):
        return _project(tensor, name, adjoint)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _keep(ctx, inputs, output)

    @staticmethod
    def backward(ctx, gradient):
        return _Projection.apply(gradient, ctx.name, not ctx.adjoint), None, None

    @staticmethod
    def jvp(ctx, tangent, *_):
        return _Projection.apply(tangent, ctx.name, ctx.adjoint)

    @staticmethod
    def vmap(info, in_dims, tensor, name, adjoint):
        return _Projection.apply(tensor.movedim(in_dims[0], 0), name, adjoint), 0


def _of_tensor(tensor, name, adjoint):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{'sinogram' if adjoint else 'volume'}: {type(tensor).__name__}; expected a tensor of PyTorch. torch.from_numpy makes one of a NumPy array.")
    return (_project if torch.compiler.is_compiling() else _Projection.apply)(tensor, name, adjoint)


def forward_project(model, volume):
    """Projects a volume (..., rows, columns, slices). Returns (..., views, detector rows, channels); its gradient is `back_project`."""
    return _of_tensor(volume, _register(model), False)


def back_project(model, sinogram):
    """Back projects a sinogram (..., views, detector rows, channels). Returns (..., rows, columns, slices)."""
    return _of_tensor(sinogram, _register(model), True)


class Projector(torch.nn.Module):
    """The projection of a model as a layer: volumes (..., rows, columns, slices) to sinograms (..., views, detector rows, channels).

    `Projector(model).T` is the back projection. torch.compile takes both in one graph. Change no parameters of the model afterwards."""

    def __init__(self, model, adjoint=False):
        super().__init__()
        self.model, self.adjoint, self.name = model, bool(adjoint), _register(model)
        self._pair_with(None)

    def _pair_with(self, other):
        """Makes the adjoint layer now: the compiler takes no layers that are made inside of a graph. It is not a child, which would be listed twice."""
        if other is None:
            other = Projector.__new__(Projector)
            torch.nn.Module.__init__(other)
            other.model, other.adjoint, other.name = self.model, not self.adjoint, self.name
            other._pair_with(self)
        self.__dict__["_adjoint_layer"] = other

    def forward(self, tensor):
        return _of_tensor(tensor, self.name, self.adjoint)

    @property
    def T(self):
        """The adjoint layer."""
        return self._adjoint_layer

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_adjoint_layer"}

    def __setstate__(self, state):
        super().__setstate__(state)
        self.name = _register(self.model)
        self._pair_with(None)

    def extra_repr(self):
        return f"{self.model!r}{', adjoint' if self.adjoint else ''}"
