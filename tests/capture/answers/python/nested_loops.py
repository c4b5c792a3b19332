"""Nested Python loops over a NumPy array."""

import numpy as np
from truth import phase


def gradient(a):
    out = np.zeros_like(a)
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):  # truth: gradient
            out[i, j] = abs(a[i, j + 1] - a[i, j - 1]) + abs(a[i + 1, j] - a[i - 1, j])  # truth: gradient
    return out


a = np.random.default_rng(1).random((1400, 1400))
with phase("gradient"):
    g = gradient(a)
with phase("sort"):
    s = np.sort(g, axis=None)  # truth: sort
print(s[-1])
