# cython: language_level=3, emit_linenums=True
"""Cython: a typed loop, and one over Python objects."""


def typed(double x, long n):
    cdef long i
    for i in range(n):  # truth: typed
        x = x * 1.0000001 + 1e-9  # truth: typed
    return x


def untyped(n):
    s = 0
    for i in n:
        s = s + (i & 3)
    return s
