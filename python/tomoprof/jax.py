"""Projections for JAX: under jit, grad and vmap, with exact gradients of any order in reverse mode.

    def loss(volume):
        return ((tomoprof.jax.forward_project(model, volume) - sinogram) ** 2).sum()

    gradient = jax.jit(jax.grad(loss))(volume)"""

import functools

import jax
import numpy

from tomoprof._arrays import host, require_model

__all__ = ["back_project", "forward_project"]


def _on_host(call, shape, result_shape, tensor):
    """Runs for one array, or for those of a batch one after the other."""
    tensor = numpy.asarray(tensor)
    source = tensor.reshape(-1, *shape)
    result = numpy.empty((len(source), *result_shape), numpy.float32)
    for one, out in zip(source, result):
        call(host(one, "array", shape), out=out)
    return result.reshape(*tensor.shape[:-3], *result_shape)


def _projection(call, shape, result_shape, name):
    def run(array):
        if array.shape != shape:
            raise ValueError(f"{name}: shape is {array.shape}; expected {shape}")
        result = jax.ShapeDtypeStruct(result_shape, numpy.float32)
        return jax.pure_callback(functools.partial(_on_host, call, shape, result_shape), result, array, vmap_method="expand_dims")
    return run


def _pair(model):
    """(forward, adjoint) of a model as it is now. The model has them, and they have it: a compiled function may outlive its name."""
    require_model(model)
    volume, sinogram = (tuple(shape) for shape in model.get_params(["recon_shape", "sinogram_shape"]))
    found = model.__dict__.get("_jax_pair")
    if found and found[0] == (volume, sinogram):
        return found[1]
    plain_forward = _projection(lambda x, out: model.forward_project(x, out=out), volume, sinogram, "volume")
    plain_back = _projection(lambda y, out: model.back_project(y, out=out), sinogram, volume, "sinogram")
    forward, back = jax.custom_vjp(plain_forward), jax.custom_vjp(plain_back)
    forward.defvjp(lambda x: (forward(x), None), lambda _, g: (back(g),))
    back.defvjp(lambda y: (back(y), None), lambda _, g: (forward(g),))
    model._jax_pair = (volume, sinogram), (forward, back)
    return forward, back


def _float32(array, name):
    """The array in float32, outside of the functions with gradients of ours: JAX's own conversion has one, whatever the type."""
    array = jax.numpy.asarray(array)
    if jax.numpy.iscomplexobj(array):
        raise TypeError(f"{name}: dtype is {array.dtype}; expected real numbers. Project .real and .imag one after the other.")
    return array.astype(numpy.float32)


def forward_project(model, volume):
    """Projects a volume (rows, columns, slices) to a sinogram (views, detector rows, channels) of float32; use jax.vmap for batches."""
    return _pair(model)[0](_float32(volume, "volume"))


def back_project(model, sinogram):
    """Back projects a sinogram (views, detector rows, channels) to a volume (rows, columns, slices) of float32."""
    return _pair(model)[1](_float32(sinogram, "sinogram"))
