"""tomoprof.torch: gradients of first and second order, batches, compilation in one graph, and ten lines that learn."""

import copy
import pickle

import module

module.need("torch")
import numpy as np
import torch
from module import raised
from tool import main, relative

import tomoprof
import tomoprof.torch
from tomoprof.torch import Projector


def models():
    angles = np.linspace(0, np.pi, 6, endpoint=False)
    made = tomoprof.ParallelBeamModel((6, 3, 8), angles), tomoprof.ConeBeamModel((6, 3, 8), 2 * angles, 32, 16)
    for model in made:
        model.set_params(verbose=0)
    return made


def gradients(check, folder):
    for model in models():
        projector, shape = Projector(model), model.get_params("recon_shape")
        x = torch.rand(2, *shape, requires_grad=True)
        y = projector(x)
        check.that(tuple(y.shape) == (2, *model.get_params("sinogram_shape")), f"{y.shape}")
        check.that(relative(y[1].detach(), model.forward_project(x[1].detach().numpy())) == 0, "a batch differs from one")
        target = torch.rand_like(y)
        ((y - target) ** 2).sum().backward()
        expected = np.stack([model.back_project(2 * (a - b).numpy()) for a, b in zip(y.detach(), target)])
        check.that(relative(x.grad, expected) < 1e-6, "the gradient of a squared error is not 2 A'(Ax - y)")
        double = torch.rand(*shape, dtype=torch.float64, requires_grad=True)
        for layer in (projector, projector.T):
            start = double if layer is projector else torch.rand(*model.get_params("sinogram_shape"), dtype=torch.float64, requires_grad=True)
            options = {"eps": 1e-2, "atol": 1e-3, "rtol": 1e-3, "nondet_tol": 1e-5}
            check.that(torch.autograd.gradcheck(layer, (start,), **options), f"gradcheck of {layer}")
            check.that(torch.autograd.gradgradcheck(lambda t: layer(t) ** 2, (start,), **{**options, "atol": 1e-1, "rtol": 1e-2}), "gradgradcheck")
        z = torch.rand(3, 2, *shape)
        check.that(relative(torch.vmap(projector)(z), projector(z)) == 0, "vmap")
        check.that(relative(projector(z.half()), projector(z.half().float())) < 1e-3 and projector(z.half()).dtype == torch.half, "half")


def kinds_of_tensors(check, folder):
    """Integers give line integrals, not integers; complex numbers are refused; a gradient outlives the name of its model."""
    model = models()[0]
    projector, shape = Projector(model), model.get_params("recon_shape")
    x = torch.rand(*shape)
    for whole in (torch.ones(shape, dtype=torch.int32), x > 0.5):
        y = projector(whole)
        check.that(y.dtype == torch.float32 and relative(y, projector(whole.float())) == 0, f"{whole.dtype}: {y.dtype}")
    check.that("complex64" in (raised(TypeError, projector, x.to(torch.complex64)) or ""), "complex numbers")
    wanted = x.clone().requires_grad_()
    y = tomoprof.torch.forward_project(models()[0], wanted)  # nothing else holds this model
    y.sum().backward()
    check.that(relative(wanted.grad, model.back_project(torch.ones_like(y))) < 1e-6, "the gradient through a model without a name")
    for call, start in ((model.forward_project, x), (model.back_project, torch.rand(model.get_params("sinogram_shape")))):
        start = start.clone().requires_grad_()
        result = call(start)
        check.that(result.requires_grad and relative(result.detach(), call(start.detach())) == 0, "a method of a tensor that wants a gradient has none")
        with torch.no_grad():
            check.that(not call(start).requires_grad, "no_grad")


def transformations(check, folder):
    """torch.func's transformations, in both directions of differentiation."""
    projector = Projector(models()[1])
    shape = projector.model.get_params("recon_shape")
    x, v = torch.rand(2, *shape)
    expected = 2 * projector.T(projector(x))
    gradient = torch.func.grad(lambda t: (projector(t) ** 2).sum())
    check.that(relative(gradient(x), expected) < 1e-6 and relative(torch.vmap(gradient)(torch.stack([x, v]))[0], expected) < 1e-6, "torch.func.grad, alone and under vmap")
    y, tangent = torch.func.jvp(projector, (x,), (v,))
    check.that(relative(y, projector(x)) == 0 and relative(tangent, projector(v)) == 0, "torch.func.jvp")
    _, product = torch.func.jvp(gradient, (x,), (v,))
    check.that(relative(product, 2 * projector.T(projector(v))) < 1e-6, "the product of the Hessian and a vector, forward over reverse")
    check.that("from_numpy" in (raised(TypeError, projector, x.numpy()) or "") and "dense" in (raised(TypeError, projector, x.to_sparse()) or ""), "no tensor, no dense one")


def compiled(check, folder):
    """One graph, with the gradient: fullgraph=True fails at a break."""
    model = models()[0]
    projector = Projector(model)
    loss = torch.compile(lambda x: (torch.relu(projector(x) - 1) ** 2).sum(), fullgraph=True, backend="aot_eager")
    grads = []
    for call in (loss, lambda x: (torch.relu(projector(x) - 1) ** 2).sum()):
        x = torch.linspace(0, 1, 192).reshape(model.get_params("recon_shape")).requires_grad_()
        call(x).backward()
        grads.append(x.grad)
    check.that(relative(*grads) < 1e-6, "compiled gradients differ")
    both = torch.compile(lambda y: projector(projector.T(y)), fullgraph=True, backend="aot_eager")
    y = torch.rand(model.get_params("sinogram_shape"))
    check.that(relative(both(y), projector(projector.T(y))) < 1e-6, "the adjoint layer is taken inside of a graph")
    torch.library.opcheck(tomoprof.torch._project, (torch.rand(1, *model.get_params("recon_shape")), projector.name, False))


def modules(check, folder):
    model = models()[1]
    projector, x = Projector(model), torch.rand(model.get_params("recon_shape"))
    y = projector(x)
    for name, other in (("pickle", pickle.loads(pickle.dumps(projector))), ("deepcopy", copy.deepcopy(projector)), ("T.T", projector.T.T)):
        check.that((other(x) == y).all().item(), name)
    torch.save(projector, folder / "projector.pt")
    check.that((torch.load(folder / "projector.pt", weights_only=False)(x) == y).all().item(), "torch.save")
    check.that("ConeBeamModel" in repr(torch.nn.Sequential(projector)), repr(projector))
    check.that("(6, 3, 7)" in raised(ValueError, projector.T, torch.rand(6, 3, 7)), "a wrong shape")
    check.that("model: NoneType" in (raised(TypeError, Projector, None) or ""), "not a model")
    numbers = model.forward_project(x)
    check.that(isinstance(numbers, torch.Tensor) and (numbers == y).all().item(), "models take tensors and return them")
    out = torch.zeros_like(y)
    check.that(model.forward_project(x, out=out) is out and (out == y).all().item(), "out= of a tensor")
    for other, word, error in ((out.half(), "float16", TypeError), (out.clone().requires_grad_(), "gradient", ValueError)):
        check.that(word in (raised(error, model.forward_project, x, out=other) or ""), f"out= with {word} is refused")


def learned(check, folder):
    """Unrolled gradient descent with a step size and a filter that are learned: the loss falls to less than half."""
    model = models()[0]
    torch.manual_seed(0)
    projector, step = Projector(model), torch.nn.Parameter(torch.tensor(0.01))
    smooth = torch.nn.Conv3d(1, 1, 3, padding=1)
    torch.nn.init.dirac_(smooth.weight)
    truth = (torch.rand(4, 1, *model.get_params("recon_shape")) > 0.5).float()
    y = projector(truth)
    optimizer, losses = torch.optim.Adam([step, *smooth.parameters()], 0.01), []
    for _ in range(40):
        x = torch.zeros_like(truth)
        for _ in range(3):
            x = smooth(x - step * projector.T(projector(x) - y))
        losses.append(((x - truth) ** 2).mean())
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    check.that(losses[-1] < 0.6 * losses[0], f"the loss went from {losses[0]:.3g} to {losses[-1]:.3g}")


main(gradients, kinds_of_tensors, transformations, compiled, modules, learned)
