"""JAX computes asynchronously, so the line that waits for the result has the time of the product before it."""

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
from truth import phase  # noqa: E402

with phase("import"):
    import jax  # truth: import
    import jax.numpy as jnp  # truth: import


@jax.jit
def smooth(a):
    for _ in range(3):
        a = a @ a / a.shape[0] + jnp.sin(a)
    return a


a = jnp.ones((1400, 1400)) / 3
with phase("compile"):
    smooth(a).block_until_ready()  # truth: compile
for _ in range(16):
    with phase("compute"):
        b = smooth(a)  # truth: compute
        b.block_until_ready()  # truth: compute
print(float(b[0, 0]))
