"""Four threads ask a device, one at a time: the lock is around the wait for its answer."""

import threading
import time

from truth import phase

lock = threading.Lock()
left = list(range(32))  # for all threads: one that starves does not end alone


def ask(k):
    while len(left) > 4:
        with phase("ask"):
            with lock:  # truth: ask
                time.sleep(0.1)  # truth: ask
                left.pop()
        with phase("check"):
            sum(range(200000 + k))  # truth: check


threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
