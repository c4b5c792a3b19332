"""Sleeps 2.3 s in one line, and works for the rest of about 4 s."""

import time

from truth import phase


def acquire():
    time.sleep(2.3)  # truth: sleep


def work():
    end = time.process_time() + 1.6
    while time.process_time() < end:
        sum(range(400000))  # truth: work


with phase("sleep"):
    acquire()
with phase("work"):
    work()
