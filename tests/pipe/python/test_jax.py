"""tomoprof.jax: jit, grad, vmap and gradients of second order; models take JAX's arrays."""

import copy
import gc
import pickle

import module

module.need("jax")
import jax
import jax.numpy as jnp
import numpy as np
from module import raised
from tool import main, relative

import tomoprof
import tomoprof.jax


def transformations(check, folder):
    angles = np.linspace(0, np.pi, 6, endpoint=False)
    for model in (tomoprof.ParallelBeamModel((6, 3, 8), angles), tomoprof.ConeBeamModel((6, 3, 8), 2 * angles, 32, 16)):
        model.set_params(verbose=0)
        shape = model.get_params("recon_shape")
        x = np.random.default_rng(0).random((4, *shape), np.float32)
        y = model.forward_project(x[0])

        def project(volume):
            return tomoprof.jax.forward_project(model, volume)

        check.that(relative(project(x[0]), y) == 0 and relative(jax.jit(project)(x[0]), y) == 0, "jit")
        check.that(relative(jax.vmap(project)(x), np.stack([model.forward_project(one) for one in x])) == 0, "vmap")
        check.that(relative(jax.jit(jax.vmap(jax.vmap(project)))(x[None]), jax.vmap(project)(x)[None]) == 0, "vmap of vmap under jit")
        target = np.random.default_rng(1).random(y.shape, np.float32)

        def loss(volume):
            return ((project(volume) - target) ** 2).sum()

        gradient = jax.jit(jax.grad(loss))(x[0])
        check.that(relative(gradient, model.back_project(2 * (y - target))) < 1e-5, "grad of a squared error is not 2 A'(Ax - y)")
        batch = jax.vmap(jax.grad(loss))(x)
        check.that(relative(batch[0], gradient) < 1e-6, "vmap of grad")
        second = jax.grad(lambda v: (jax.grad(loss)(v) * x[1]).sum())(x[0])
        check.that(relative(second, model.back_project(2 * model.forward_project(x[1]))) < 1e-5, "second order: not 2 A'A v")
        back = jax.grad(lambda s: (tomoprof.jax.back_project(model, s) * x[0]).sum())(jnp.asarray(target))
        check.that(relative(back, y) < 1e-6, "the gradient of back_project")
        check.that("(2, 2)" in raised(ValueError, project, jnp.zeros((2, 2))), "a wrong shape")


def models_in_functions(check, folder):
    """A model that is made inside of a compiled function, a method that is compiled, and a copy of a model that was compiled."""
    angles = np.linspace(0, np.pi, 6, endpoint=False)

    def loss(volume):
        return (tomoprof.jax.forward_project(tomoprof.ParallelBeamModel((6, 3, 8), angles), volume) ** 2).sum()

    model = tomoprof.ParallelBeamModel((6, 3, 8), angles)
    x = jnp.asarray(np.random.default_rng(0).random(model.get_params("recon_shape"), np.float32))
    y = model.forward_project(x)
    gc.collect()
    check.that(relative(jax.jit(jax.grad(loss))(x), model.back_project(2 * y)) < 1e-5, "a model made inside of the function")
    check.that(relative(jax.jit(model.forward_project)(x), y) == 0, "jit of a method")
    check.that(relative(jax.grad(lambda v: (model.forward_project(v) ** 2).sum())(x), model.back_project(2 * y)) < 1e-5, "grad of a method")
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.set_params(det_channel_offset=2.0)
        check.that(relative(tomoprof.jax.forward_project(other, x), other.forward_project(x)) == 0, "a copy computes with the original")


def types(check, folder):
    """Any real type goes in, float32 comes out, and the gradient has the type of the array."""
    model = tomoprof.ParallelBeamModel((6, 3, 8), np.linspace(0, 3, 6))
    x = np.random.default_rng(0).random(model.get_params("recon_shape"), np.float32)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        for kind in (jnp.float64, jnp.bfloat16, jnp.float32):
            array = jnp.asarray(x).astype(kind)
            y = tomoprof.jax.forward_project(model, array)
            gradient = jax.grad(lambda v: tomoprof.jax.forward_project(model, v).sum())(array)
            check.that(y.dtype == jnp.float32 and gradient.dtype == array.dtype, f"{kind}: {y.dtype}, {gradient.dtype}")
    check.that("complex64" in (raised(TypeError, tomoprof.jax.forward_project, model, x + 1j) or ""), "complex numbers")


def arrays(check, folder):
    model = tomoprof.ParallelBeamModel((6, 3, 8), np.linspace(0, 3, 6))
    x = jnp.ones(model.get_params("recon_shape"))
    y = model.forward_project(x)
    check.that(isinstance(y, jax.Array) and relative(y, model.forward_project(np.asarray(x))) == 0, f"{type(y)}")
    half = x.astype(jnp.bfloat16)
    check.that(relative(model.forward_project(half), y) == 0 and relative(model.direct_recon(y.astype(jnp.bfloat16)), model.direct_recon(y)) < 0.01, "bfloat16")
    said = raised(TypeError, jax.jit(model.direct_recon), y)
    check.that("sinogram: an array that JAX traces" in (said or ""), f"a method that cannot be traced: {said}")
    check.that("model: NoneType" in (raised(TypeError, tomoprof.jax.forward_project, None, x) or ""), "not a model")
    check.that("cannot be changed" in raised(TypeError, model.forward_project, x, out=y), "out= of a JAX array")


main(transformations, models_in_functions, types, arrays)
