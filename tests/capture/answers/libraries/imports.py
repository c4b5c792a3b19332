"""Imports for about half as long as it works."""

import time

from truth import phase

with phase("import"):
    import numba  # truth: import
    import skimage.transform  # truth: import
end = time.process_time() + 1
with phase("work"):
    while time.process_time() < end:
        sum(range(400000))  # truth: work
