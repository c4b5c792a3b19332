"""numba: the first call compiles, the others run."""

from truth import phase

with phase("import"):
    import numba  # truth: import
    import numpy as np  # truth: import


@numba.njit(parallel=False)
def blur(a):
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s = 0.0
            for k in range(-4, 5):
                s += a[i, (j + k) % a.shape[1]]
            out[i, j] = s
    return out


a = np.ones((200, 200))
with phase("compile"):
    blur(a)  # truth: compile
with phase("run"):
    for _ in range(20):
        blur(a)  # truth: run
