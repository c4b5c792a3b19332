"""A function imports what it needs when it is called."""

from truth import phase


def smooth(rows):
    import pandas  # truth: load
    import scipy.ndimage  # truth: load

    return scipy.ndimage.uniform_filter(pandas.DataFrame(rows).to_numpy(dtype=float), 5)


with phase("load"):
    a = smooth([[i * k % 7 for i in range(50)] for k in range(50)])
with phase("sum"):
    print(a.sum(), sum(range(4000000)))  # truth: sum
