"""joblib calls a library's function in two processes; the main one waits."""

import numpy as np
from joblib import Parallel, delayed
from truth import phase

matrices = np.random.default_rng(1).random((8, 450, 450))
with phase("svd"):
    found = Parallel(n_jobs=2)(delayed(np.linalg.svd)(matrix) for matrix in matrices)  # truth: svd
with phase("sum"):
    print(sum(float(values.sum()) for _, values, _ in found))  # truth: sum
