"""Forks a process of 800 MB again and again."""

import os

from truth import phase

with phase("make"):
    data = [bytearray(b"x" * 100) for _ in range(1 << 22)]  # truth: make


def snapshot():
    child = os.fork()  # truth: fork
    if not child:
        os._exit(0)
    os.waitpid(child, 0)  # truth: fork


with phase("fork"):
    for _ in range(120):
        snapshot()
with phase("sum"):
    print(sum(len(row) for row in data[::8]))  # truth: sum
