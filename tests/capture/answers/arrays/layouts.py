"""A volume is copied between C and Fortran order for each filter."""

import numpy as np
from truth import phase


def filtered(volume):
    with phase("copy"):
        turned = np.ascontiguousarray(volume.transpose(2, 1, 0))  # truth: copy
    with phase("scale"):
        turned *= 0.5  # truth: scale
    with phase("copy"):
        return np.asfortranarray(turned.T).copy(order="C")  # truth: copy


with phase("make"):
    volume = np.random.default_rng(0).random((192, 192, 192), dtype=np.float32)  # truth: make
for _ in range(20):
    volume = filtered(volume)
print(volume.sum())
