"""A short nap after each piece of work."""

import time

from truth import phase

total = 0
for _ in range(120):
    with phase("nap"):
        time.sleep(0.02)  # truth: nap
    with phase("work"):
        total += sum(range(150000))  # truth: work
print(total)
