"""Unpacks gzip blocks and sums their numbers."""

import gzip

import numpy as np
from truth import phase

rng = np.random.default_rng(1)
block = gzip.compress(rng.integers(0, 50, 1 << 21, dtype=np.uint16).tobytes(), 1)
total = 0
for _ in range(120):
    with phase("unpack"):
        raw = gzip.decompress(block)  # truth: unpack
    with phase("sum"):
        total += int(np.frombuffer(raw, dtype=np.uint16).sum())  # truth: sum
print(total)
