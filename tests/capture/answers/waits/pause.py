"""Waits for a signal."""

import signal

from truth import phase

signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 2.5)
with phase("pause"):
    signal.pause()  # truth: pause
with phase("sum"):
    print(sum(range(20000000)))  # truth: sum
