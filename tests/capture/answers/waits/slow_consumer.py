"""A bounded queue whose consumer is slow: the producer waits to put."""

import queue
import threading
import zlib

from truth import phase

blocks = queue.Queue(maxsize=4)


def produce():
    for k in range(60):
        with phase("produce"):
            block = bytes([k]) * (1 << 20)  # truth: produce
        with phase("put"):
            blocks.put(block)  # truth: put
    blocks.put(None)


def consume():
    while (block := blocks.get()) is not None:
        with phase("compress"):
            zlib.compress(block[: 1 << 17] + bytes(i % 251 for i in range(400000)), 9)  # truth: compress


threads = [threading.Thread(target=f) for f in (produce, consume)]
for t in threads:
    t.start()
for t in threads:
    t.join()
