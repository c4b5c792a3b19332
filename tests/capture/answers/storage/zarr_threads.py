"""Threads of a pool read slices of a zarr array: each waits for the one event loop of zarr."""

from concurrent.futures import ThreadPoolExecutor

from truth import phase

with phase("import"):
    import numpy as np  # truth: import
    import zarr  # truth: import


def total(array, k):
    with phase("slice"):
        image = array[:, :, k]  # truth: slice
    with phase("sum"):
        return float(np.sqrt(image).sum())  # truth: sum


def main():
    with phase("write"):
        a = zarr.open_array("small.zarr", mode="w", shape=(96, 96, 16), chunks=(8, 8, 8), dtype="float32")
        a[:] = np.arange(96 * 96 * 16, dtype=np.float32).reshape(a.shape)  # truth: write
    with ThreadPoolExecutor(3) as pool:
        print(sum(pool.map(lambda k: total(a, k % 16), range(48))))


main()
