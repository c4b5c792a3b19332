"""NumPy: np.append copies the whole array for each new block."""

import numpy as np
from truth import phase


def read_block(k):
    with phase("block"):
        return np.sin(np.arange(4000.0) + k)  # truth: block


def gather(n):
    values = np.empty(0)
    for k in range(n):
        block = read_block(k)
        with phase("append"):
            values = np.append(values, block)  # truth: append
    return values


values = gather(800)
with phase("sort"):
    print(np.sort(values)[5])  # truth: sort
