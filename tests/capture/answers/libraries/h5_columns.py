"""h5py: columns are read across compressed chunks of rows, so each chunk is unpacked again and again."""

import h5py
import numpy as np
from truth import phase

with phase("write"):
    with h5py.File("scan.h5", "w") as f:
        views = f.create_dataset("views", (512, 256, 64), "u2", chunks=(16, 256, 64), compression="gzip", compression_opts=1)
        views[:] = np.arange(512 * 256 * 64, dtype=np.uint32).reshape(512, 256, 64) // 7 % 60  # truth: write
total = 0.0
with h5py.File("scan.h5", rdcc_nbytes=1 << 20) as f:
    views = f["views"]
    for row in range(0, 256, 4):
        with phase("read"):
            sinogram = views[:, row, :]  # truth: read
        with phase("add"):
            total += float(np.log1p(sinogram).sum())  # truth: add
print(total)
