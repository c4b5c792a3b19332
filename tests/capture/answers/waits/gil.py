"""Four threads of Python compute: only one runs at a time."""

import threading

from truth import phase


def worker(n):
    total = 0
    with phase("loop"):
        for i in range(n):  # truth: loop
            total += i * i % 7  # truth: loop


threads = [threading.Thread(target=worker, args=(6000000,)) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
