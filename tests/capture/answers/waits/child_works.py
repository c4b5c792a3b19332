"""Waits for a command that computes."""

import os
import subprocess

from truth import phase

with phase("write"):
    with open("data", "wb") as f:
        f.write(os.urandom(1 << 20) * 36)  # truth: write
with phase("command"):
    subprocess.run(["gzip", "-6", "data"], check=True)  # truth: command
with phase("parse"):
    print(sum(range(6000000)) + os.path.getsize("data.gz"))  # truth: parse
