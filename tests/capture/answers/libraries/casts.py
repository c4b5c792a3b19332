"""Each view is converted to float64 before it is added."""

import numpy as np
from truth import phase

with phase("make"):
    views = np.random.default_rng(1).integers(0, 4096, (24, 1024, 1024), dtype=np.uint16)  # truth: make
total = np.zeros((1024, 1024))
with phase("cast"):
    for _ in range(80):
        for view in views:
            np.maximum(total, view.astype(np.float64), out=total)  # truth: cast
print(total[0, 0])
