"""A Python loop of its own between imports and NumPy."""

from truth import phase

with phase("import"):
    import numpy as np  # truth: import
    import scipy.signal  # truth: import


def weigh(rows):
    total = 0.0
    for row in rows:
        for x in row:  # truth: weigh
            if x > 0:  # truth: weigh
                total += x * x  # truth: weigh
    return total


def main():
    a = np.random.default_rng(1).standard_normal((2400, 2400))
    with phase("filter"):
        b = scipy.signal.fftconvolve(a, a[:64, :64], mode="same")  # truth: filter
    with phase("weigh"):
        w = sum(weigh(a) for _ in range(3))
    print(w, float(abs(b).max()))


main()
