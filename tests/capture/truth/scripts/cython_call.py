"""Calls a Cython module, and qsort of the C library with a comparison in Python."""

import ctypes

import smooth

from truth import phase

libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def compare(a, b):
    return a[0] - b[0]


with phase("typed"):
    x = smooth.typed(1.0, 300000000)
with phase("untyped"):
    s = smooth.untyped(list(range(100)) * 250000)  # inclusive: untyped
v = (ctypes.c_int * 100000)(*((i * 7919) % 100003 for i in range(100000)))
with phase("qsort"):
    libc.qsort(v, len(v), 4, COMPARE(compare))  # inclusive: qsort
print(f"{x:.6f}", s, v[500])
