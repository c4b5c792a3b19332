"""Two workers; each sleeps for 60 % of its time."""

import threading
import time

from truth import phase


def worker():
    for _ in range(8):
        with phase("sleep"):
            time.sleep(0.3)  # truth: sleep
        end = time.thread_time() + 0.1
        with phase("work"):
            while time.thread_time() < end:
                sum(range(400000))  # truth: work


threads = [threading.Thread(target=worker) for _ in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
