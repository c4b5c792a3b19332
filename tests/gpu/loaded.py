"""What `tomoprof load FILE --to device` leaves on the GPU is what the file holds: loaded.py PROGRAM CELL FOLDER. The program compares both
itself, and says how long the way took; a file of another type takes it converted."""

import pathlib
import subprocess
import sys

import numpy as np

import cells


def main():
    program, cell, folder = sys.argv[1:]
    folder = cells.make(pathlib.Path(folder), tuple(int(n) for n in cell.split("x")))
    file, counts = folder / "sinogram.npy", folder / "counts.npy"
    np.save(counts, (np.load(file) * 65535).astype(np.uint16))
    for words in ([file], [counts, "--float32"]):
        done = subprocess.run([program, "load", *words, "--to", "device", "--out", folder / "loads"], capture_output=True, text=True)
        print(done.stdout + done.stderr)
        if done.returncode:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
