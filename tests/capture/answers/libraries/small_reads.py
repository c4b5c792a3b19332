"""Reads a file in pieces of 4 KiB."""

from truth import phase

with open("raw", "wb") as f:
    f.write(bytes(64 << 20))


def volume(path):
    with open(path, "rb", buffering=0) as f:
        return sum(len(piece) for piece in iter(lambda: f.read(4096), b""))  # truth: read


with phase("read"):
    sizes = [volume("raw") for _ in range(48)]
with phase("sum"):
    print(sum(sizes), sum(range(6000000)))  # truth: sum
