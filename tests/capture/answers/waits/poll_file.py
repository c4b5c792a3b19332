"""Polls with a sleep until a file is there."""

import os
import subprocess
import time

from truth import phase


def wait_for(path):
    while not os.path.exists(path):  # truth: poll
        time.sleep(0.02)  # truth: poll


child = subprocess.Popen(["sh", "-c", "sleep 2.5; echo 1 >ready"])
with phase("poll"):
    wait_for("ready")
with phase("sum"):
    print(sum(range(20000000)))  # truth: sum
child.wait()
