"""A queue whose producer is slow: the consumer waits for blocks."""

import queue
import threading

from truth import phase

blocks = queue.Queue(maxsize=4)


def produce():
    for k in range(40):
        with phase("decode"):
            blocks.put([(i * 7 + k) % 251 for i in range(400000)])  # truth: decode
    blocks.put(None)


threading.Thread(target=produce).start()
total = 0
while True:
    with phase("get"):
        block = blocks.get()  # truth: get
    if block is None:
        break
    with phase("add"):
        total += max(block)  # truth: add
print(total)
