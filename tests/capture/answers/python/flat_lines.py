"""Twelve lines of equal cost after imports of a tenth."""

from truth import phase

with phase("import"):
    import asyncio  # noqa: F401  # truth: import
    import http.client  # noqa: F401  # truth: import
    import sqlite3  # noqa: F401  # truth: import
    import unittest.mock  # noqa: F401  # truth: import


def power(n, k):
    return sum([i * k % 7 for i in range(n)])  # truth: own


def main(n):
    power(n, 1)  # truth: own
    sum([i + 1 for i in range(n)])  # truth: own
    len([i * i for i in range(n)])  # truth: own
    max([i ^ 5 for i in range(n)])  # truth: own
    min([i | 5 for i in range(n)])  # truth: own
    sum([i & 5 for i in range(n)])  # truth: own
    len([-i for i in range(n)])  # truth: own
    max([i - 9 for i in range(n)])  # truth: own
    min([i + 9 for i in range(n)])  # truth: own
    sum([i << 1 for i in range(n)])  # truth: own
    len([i >> 1 for i in range(n)])  # truth: own


with phase("own"):
    for _ in range(12):
        main(200000)
