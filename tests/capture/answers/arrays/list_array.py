"""A list of Python numbers becomes an array again for each new value."""

import numpy as np
from truth import phase


def smoothed(n):
    values, means = [0.5] * 40000, []
    for k in range(n):
        values.append((k * 7919 % 1009) / 7)
        with phase("array"):
            a = np.array(values)  # truth: array
        with phase("mean"):
            means.append(a[-50:].mean())  # truth: mean
    return means


print(sum(smoothed(1500)))
