"""A moving average in a Python loop, which adds up the whole window again for each value. With the word "fast" it does not."""
import itertools
import math
import sys

WINDOW = 80
values = [math.sin(i / 50) for i in range(1000000)]


def moving_average(values, window):
    out = []
    for i in range(len(values) - window):
        out.append(sum(values[i : i + window]) / window)  # slow
    return out


def running_average(values, window):
    sums = [0, *itertools.accumulate(values)]
    return [(b - a) / window for a, b in zip(sums, sums[window:-1])]


average = running_average if sys.argv[1:] == ["fast"] else moving_average
smooth = average(values, WINDOW)
print(f"{len(smooth)} values, the largest is {max(smooth):.3f}")
