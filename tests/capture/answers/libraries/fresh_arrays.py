"""Each step makes a large array anew: the kernel clears its pages."""

import numpy as np
from truth import phase

a = np.ones(1 << 24, dtype=np.float32)
out = np.empty_like(a)
with phase("steps"):
    for _ in range(80):
        b = a + 1  # truth: steps
with phase("reuse"):
    for _ in range(20):
        np.add(a, 1, out=out)  # truth: reuse
print(float(b[3]) + float(out[3]))
