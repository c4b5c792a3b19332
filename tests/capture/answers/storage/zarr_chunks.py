"""zarr: slices of an array of small chunks, each a file."""

from truth import phase

with phase("import"):
    import numpy as np  # truth: import
    import zarr  # truth: import


def main():
    with phase("write"):
        a = zarr.open_array("small.zarr", mode="w", shape=(160, 160, 16), chunks=(8, 8, 8), dtype="float32")
        a[:] = np.arange(160 * 160 * 16, dtype=np.float32).reshape(a.shape)  # truth: write
    total = 0.0
    for k in range(16):
        with phase("slice"):
            image = a[:, :, k]  # truth: slice
        with phase("sum"):
            total += float(np.sqrt(image).sum())  # truth: sum
    print(total)


main()
