"""numba: compilation, a sequential and a parallel kernel, and NumPy beside."""

import os

from truth import phase

os.environ["NUMBA_NUM_THREADS"] = "2"
with phase("import"):
    import numpy as np  # inclusive: import
    from numba import njit, prange  # inclusive: import


@njit
def alone(x, n):
    for _ in range(n):
        x = x * 1.0000001 + 1e-9
    return x


@njit(parallel=True)
def shared(a, rounds):
    for i in prange(a.shape[0]):
        x = a[i]
        for _ in range(rounds):
            x = x * 1.0000001 + 1e-9
        a[i] = x
    return a.sum()


a = np.ones(2000)
with phase("compile"):
    alone(1.0, 1)  # inclusive: compile
    shared(a, 1)  # inclusive: compile
with phase("alone"):
    x = alone(1.0, 300000000)  # inclusive: alone
with phase("shared"):
    y = shared(a, 200000)  # inclusive: shared
with phase("numpy"):
    for i in range(300):
        np.sort(np.sin(np.arange(100000.0)))  # inclusive: numpy
print(f"{x:.6f} {y:.6f}")
