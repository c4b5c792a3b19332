"""A consumer waits at a condition for a producer that computes; the main thread joins both."""

import threading

from truth import phase

ready, blocks, sums = threading.Condition(), [], []


def decode(n):
    with phase("decode"):
        return [((i * i) ^ n) % 251 for i in range(60000)]  # truth: decode


def hand(block):
    with ready:
        blocks.append(block)
        ready.notify()


def producer():
    for n in range(150):
        hand(decode(n))
    hand(None)


def consumer():
    while True:
        with ready:
            while not blocks:
                ready.wait()
            block = blocks.pop(0)
        if block is None:
            return
        with phase("sum"):
            sums.append(sum(block))  # truth: sum


threads = [threading.Thread(target=f) for f in (producer, consumer)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(len(sums))
