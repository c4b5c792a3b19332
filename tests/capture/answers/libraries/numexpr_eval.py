"""numexpr on its threads, and the same by numpy."""

import numexpr
import numpy as np
from truth import phase

a, b = np.random.default_rng(1).random((2, 1 << 22))
with phase("evaluate"):
    for _ in range(20):
        c = numexpr.evaluate("sin(a) * cos(b) + exp(-a * b)")  # truth: evaluate
with phase("numpy"):
    for _ in range(3):
        d = np.sin(a) * np.cos(b) + np.exp(-a * b)  # truth: numpy
print(float(abs(c - d).max()))
