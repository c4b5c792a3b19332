"""Reads sinograms out of a compressed HDF5 file whose chunks lie the other way: each chunk is inflated again and again."""
import os

import h5py
import numpy as np

PATH = "views.h5"
if not os.path.exists(PATH):
    with h5py.File(PATH, "w") as f:
        counts = np.random.default_rng(1).poisson(40, (120, 384, 384)).astype(np.uint16)
        f.create_dataset("views", data=counts, chunks=(20, 128, 128), compression="gzip", compression_opts=4)


def sinograms(views):
    for row in range(0, views.shape[1], 8):
        yield views[:, row, :].astype(np.float32)


def attenuation(sinogram):
    return -np.log(np.maximum(sinogram, 1) / sinogram.max())


total = 0.0
with h5py.File(PATH) as f:
    for sinogram in sinograms(f["views"]):
        total += float(attenuation(sinogram).sum())
print(f"{total:.0f}")
