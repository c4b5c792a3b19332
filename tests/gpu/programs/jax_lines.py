"""JAX: compiled functions called on lines of their own. A fused function is one kernel; JAX cannot time kernels itself."""

import time

import jax
import jax.numpy as jnp
import numpy

from truth import Truth


@jax.jit
def affine(x):
    return x * 2 + 1


@jax.jit
def product(x):
    return x @ x


def main():
    truth, size = Truth(), 1024
    host = numpy.ones((size, size), numpy.float32)
    x = jax.device_put(host)
    affine(x).block_until_ready()
    product(x).block_until_ready()
    begin = time.monotonic_ns()
    for _ in range(20):
        y = truth.on("at_least", affine(x), detail="affine")
    for _ in range(5):
        z = truth.on("at_least", product(x), detail="product")
    y.block_until_ready()
    z.block_until_ready()
    truth.row("wall_ns", time.monotonic_ns() - begin)
    total = jnp.sum(y).block_until_ready()
    print("jax", float(total))
    truth.write()


main()
