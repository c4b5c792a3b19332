"""Waits for a command that sleeps, then parses what it wrote."""

import subprocess

from truth import phase

with phase("command"):
    out = subprocess.run(["sh", "-c", "sleep 2.5; seq 100000"], capture_output=True, text=True).stdout  # truth: command
with phase("parse"):
    for _ in range(10):
        numbers = [int(line) for line in out.splitlines()]  # truth: parse
print(sum(numbers))
