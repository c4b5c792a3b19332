"""A thread reads an HDF5 file across its chunks, the main thread waits for each slice."""

from concurrent.futures import ThreadPoolExecutor

from truth import phase

with phase("import"):
    import h5py  # truth: import
    import numpy as np  # truth: import


def load(dataset, k):
    with phase("read"):
        return dataset[:, :, k]  # truth: read


def main():
    with phase("write"), h5py.File("scan.h5", "w") as f:
        data = np.arange(192 * 192 * 64, dtype=np.float32).reshape(192, 192, 64)
        f.create_dataset("data", data=data, chunks=(24, 24, 64), compression="gzip", compression_opts=1)  # truth: write
    total = 0.0
    with h5py.File("scan.h5") as f, ThreadPoolExecutor(1) as pool:
        for k in range(24):
            image = pool.submit(load, f["data"], k).result()
            with phase("sum"):
                total += float(np.sqrt(image).sum())  # truth: sum
    print(total)


main()
