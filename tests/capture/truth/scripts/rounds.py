"""Rounds of some 10 ms of three kinds of work, which may keep step with the kernel's tick; with ROUNDS_REST, each waits before."""

import mmap
import os
import time

from truth import phase

BLOCK = bytes(1 << 20)


def compute(n):
    s = 0
    for i in range(n):
        s += i * i % 7
    return s


def touch(n):
    done = 0
    for _ in range(n):  # pages that are new each time
        with mmap.mmap(-1, len(BLOCK)) as pages:
            done += pages.write(BLOCK)
    return done


def calls(n):
    return sum(os.stat("/proc/self").st_nlink > 0 for _ in range(n))


rest = float(os.environ.get("ROUNDS_REST", "0"))
sums = [0, 0, 0]
for i in range(150):
    if rest:
        time.sleep(rest)
    with phase("compute"):
        sums[0] += compute(100000)  # inclusive: compute
    with phase("touch"):
        sums[1] += touch(4)  # inclusive: touch
    with phase("calls"):
        sums[2] += calls(1200)  # inclusive: calls
print(*sums)
