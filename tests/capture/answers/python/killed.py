"""Works for a second, then a signal kills it."""

import os
import signal
import time

from truth import phase, write


def work():
    end = time.process_time() + 1
    while time.process_time() < end:
        sum(range(400000))  # truth: work


with phase("work"):
    work()
write()
os.kill(os.getpid(), signal.SIGKILL)
