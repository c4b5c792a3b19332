"""Each view is converted to float64 before it is added."""

import numpy as np
from truth import phase

views = np.random.default_rng(1).integers(0, 4096, (24, 1024, 1024), dtype=np.uint16)
total = np.zeros((1024, 1024))
for _ in range(20):
    for view in views:
        with phase("cast"):
            real = view.astype(np.float64)  # truth: cast
        with phase("add"):
            total += real  # truth: add
print(total[0, 0])
