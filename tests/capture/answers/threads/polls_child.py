"""The main thread asks every 0.2 s whether its child, a program of its own code, is done."""

import subprocess
import sys
import time

from truth import phase


def work():
    x = 0
    for i in range(9000000):
        x ^= i * 7  # truth: simulate


def main():
    child = subprocess.Popen([sys.executable, __file__, "work"])
    while child.poll() is None:
        time.sleep(0.2)


if len(sys.argv) > 1:
    with phase("simulate"):
        work()
else:
    main()
