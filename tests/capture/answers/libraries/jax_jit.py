"""jax.jit compiles for each shape; running takes little."""

import jax
import jax.numpy as jnp
from truth import phase


@jax.jit
def filtered(x):
    for k in range(12):
        x = jnp.sin(jnp.cumsum(x, 0)) * (1 + k) - jnp.roll(x, k) + jnp.fft.irfft(jnp.fft.rfft(x), x.shape[-1])
    return x


views = [jnp.ones((n, 64)) for n in range(40, 46)]
with phase("compile"):
    for view in views:
        filtered(view).block_until_ready()  # truth: compile
with phase("run"):
    for _ in range(20):
        filtered(views[0]).block_until_ready()  # truth: run
