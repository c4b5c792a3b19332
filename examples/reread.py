"""Reads a compressed file again for each of its rows: most of the time goes to inflating what was inflated before."""
import gzip
import os
import tempfile

ROWS, ROW_BYTES = 40, 20000
path = os.path.join(tempfile.mkdtemp(), "rows.gz")
with gzip.open(path, "wb") as f:
    for row in range(ROWS):
        f.write(bytes((row * i) % 251 for i in range(ROW_BYTES)))


def read_row(row):
    with gzip.open(path) as f:
        return f.read()[row * ROW_BYTES : (row + 1) * ROW_BYTES]  # slow


total = sum(sum(read_row(row % ROWS)) for row in range(1600))
os.remove(path)
os.rmdir(os.path.dirname(path))
print(total)
