"""torch.compile: the first call compiles, in this process."""

import os

os.environ.update(TORCHINDUCTOR_COMPILE_THREADS="1", TORCHINDUCTOR_CACHE_DIR="cache")
import torch
from truth import phase


def blend(x, y):
    return torch.sin(x) * y + torch.cos(y) * torch.exp(-x * x)


x = torch.rand(1 << 16)
fast = torch.compile(blend)
with phase("compile"):
    z = fast(x, x)  # truth: compile
with phase("run"):
    for _ in range(200):
        z = fast(z, x)  # truth: run
print(float(z.sum()))
