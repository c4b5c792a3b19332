"""A memory-mapped file is read page by page; the file cache has been emptied of it."""

import os

import numpy as np
from truth import phase


def dropped(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def pages(path):
    dropped(path)
    mapped = np.memmap(path, np.uint8, "r")
    with phase("read"):
        return int(mapped[::4096].astype(np.int64).sum())  # truth: read


with phase("write"):
    with open("volume", "wb") as f:
        for k in range(96):
            f.write(bytes([k]) * (1 << 20))  # truth: write
total = 0
for _ in range(30):
    total += pages("volume")
    with phase("scale"):
        total += int(np.sqrt(np.arange(200000.0)).sum())  # truth: scale
print(total)
