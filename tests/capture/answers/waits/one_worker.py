"""The main thread sleeps and asks again, while one worker computes."""

import threading
import time

from truth import phase

done = threading.Event()


def relax():
    x = [float(i % 13) for i in range(2000)]
    for _ in range(6000):
        with phase("relax"):
            x = [(a + 2 * b + c) / 4 for a, b, c in zip(x[-1:] + x, x, x[1:] + x[:1])]  # truth: relax
    done.set()


def main():
    threading.Thread(target=relax).start()
    while not done.is_set():
        time.sleep(0.05)
    print("done")


main()
