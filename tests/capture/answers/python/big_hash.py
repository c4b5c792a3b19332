"""hashlib over a file of 320 MiB, in two ways."""

import hashlib

from truth import phase

with phase("write"):
    with open("big", "wb") as f:
        for k in range(320):
            f.write(bytes([k & 255]) * (1 << 20))  # truth: write
with phase("blake"):
    h = hashlib.blake2b()
    with open("big", "rb") as f:
        while block := f.read(1 << 20):  # truth: blake
            h.update(block)  # truth: blake
with phase("sha"):
    with open("big", "rb") as f:
        s = hashlib.file_digest(f, "sha3_512")  # truth: sha
print(h.hexdigest()[:8], s.hexdigest()[:8])
