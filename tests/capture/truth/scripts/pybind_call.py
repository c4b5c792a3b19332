"""Calls a pybind11 module: lines in C++, in Python, and in Python called from C++."""

import numpy as np
import projector

from truth import phase


def small(i):
    s = 0.0
    for k in range(200):  # truth: back
        s += (i + k) % 7  # truth: back
    return s


with phase("smooth"):
    a = projector.smooth(np.arange(100000.0), 1000)
with phase("spin"):
    b = projector.spin(1.0, 200000000)
with phase("back"):
    c = projector.each(small, 30000)
with phase("python"):
    d = 0
    for i in range(7000000):  # truth: python
        d += i & 3  # truth: python
print(f"{a:.6f} {b:.6f} {c} {d}")
