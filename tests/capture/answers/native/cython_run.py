"""A Cython module without line directives, and work in Python."""

import fast

from truth import phase

with phase("mandel"):
    n = fast.mandel(3000)  # truth: mandel
with phase("python"):
    s = sum(i % 7 for i in range(6000000))  # truth: python
