"""Recursion in Python, 900 deep, from two lines."""

from truth import phase


def descend(depth, n):
    if depth:
        return descend(depth - 1, n)
    s = 0
    for i in range(n):  # truth: bottom
        s += i & 3  # truth: bottom
    return s


a = b = 0
with phase("bottom"):
    for i in range(30):
        with phase("seven"):
            a += descend(900, 700000)  # inclusive: seven
        with phase("three"):
            b += descend(900, 300000)  # inclusive: three
print(a, b)
