"""Works for a second, then fails."""

import time

from truth import phase


def work():
    end = time.process_time() + 1
    while time.process_time() < end:
        sum(range(400000))  # truth: work


def store(result):
    result.save("volume.npy")  # truth: store


with phase("work"):
    made = work()
store(made)
