"""A dask graph on its threads: a slow task and a quick one for each block."""

import dask
import numpy as np
from truth import phase


def smooth(seed):
    with phase("smooth"):
        block = np.random.default_rng(seed).random(1 << 20)
        for _ in range(12):
            block = np.sin(block) + np.cos(block)  # truth: smooth
    return block


def total(block):
    with phase("total"):
        return float(block.sum())  # truth: total


print(sum(dask.compute(*[dask.delayed(total)(dask.delayed(smooth)(k)) for k in range(12)], scheduler="threads", num_workers=2)))
