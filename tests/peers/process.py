"""A process that answers one line of JSON to each line: ours.c or worker.py."""

import json
import os
import selectors
import subprocess


class Gone(Exception):
    """The process ended, or did not answer in time and was ended."""


class Process:
    def __init__(self, command, log, environment=None):
        self.log = open(log, "a")
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                      env={**os.environ, **(environment or {})})
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.child.stdout, selectors.EVENT_READ)

    def ask(self, *words, limit=None):
        """The answer, a dict with "ok"; Gone after `limit` seconds or when the process has died."""
        try:
            self.child.stdin.write((" ".join(words) + "\n").encode())
            self.child.stdin.flush()
        except BrokenPipeError:
            self.end()
            raise Gone(f"died before {words[0]}, see {self.log.name}") from None
        if not self.selector.select(limit):
            self.end()
            raise Gone(f"{words[0]} took more than {limit:g} s")
        line = self.child.stdout.readline()
        if not line.endswith(b"\n"):
            self.end()
            raise Gone(f"died in {words[0]} with status {self.child.returncode}, see {self.log.name}")
        return json.loads(line)

    def end(self):
        self.child.stdin.close()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()
        self.log.close()
