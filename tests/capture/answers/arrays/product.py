"""A matrix product in the BLAS of NumPy's wheel, which has no symbols for it; beside it an exponential."""

import numpy as np
from truth import phase


def solve(a, b):
    with phase("product"):
        c = a @ b  # truth: product
    with phase("exponential"):
        return np.exp(-np.abs(c[:200]))  # truth: exponential


def main():
    random = np.random.default_rng(0)
    a, b = random.random((1500, 1500)), random.random((1500, 1500))
    print(sum(solve(a, b).sum() for _ in range(10)))


main()
