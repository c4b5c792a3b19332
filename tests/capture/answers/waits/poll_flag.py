"""Polls a flag without sleeping, until a timer sets it."""

import threading

from truth import phase

done = threading.Event()


def wait_for(flag):
    while not flag.is_set():  # truth: poll
        pass  # truth: poll


threading.Timer(2.5, done.set).start()
with phase("poll"):
    wait_for(done)
with phase("sum"):
    print(sum(range(9000000)))  # truth: sum
