"""Polls a flag without sleeping, for 1.5 s of CPU time."""

import threading
import time

from truth import phase

done = threading.Event()


def set_later():
    while time.process_time() < 1.5:
        time.sleep(0.05)
    done.set()


def wait_for(flag):
    while not flag.is_set():  # truth: poll
        pass  # truth: poll


threading.Thread(target=set_later).start()
with phase("poll"):
    wait_for(done)
with phase("sum"):
    print(sum(range(9000000)))  # truth: sum
