"""Runs the steps of check.py: each a command with a limit of its own, ended with all that it started when that is over,
and one row of check.json."""

import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
from collections import namedtuple

# name: of row and log. command: words, or a function of the folder of work that returns them; a string instead of words
# is the reason to skip the step. seconds: its limit. variables: for its environment. needs: names of steps without which
# it means nothing.
Step = namedtuple("Step", "name command seconds variables needs", defaults=({}, ()))

# A refusal before anything was computed: this machine is too small for the step, which says nothing about the program.
NO_ROOM = re.compile(r"needs [\d.]+ [KMGT]?i?B( of GPU memory)?, [\d.]+ [KMGT]?i?B available")
# The last line of a program of cmocka counts the tests that failed; the first of these says why.
COUNTED, WHY = re.compile(r"\d+ FAILED TEST\(S\)"), re.compile(r"(?:^|--- |ERROR: )(.* the limit is .*|the GPU .*)$")
LEAST = 3  # seconds: with less left a step is not begun


class Runner:
    def __init__(self, work, environment, limit):
        self.work, self.environment, self.limit = work, environment, limit
        self.rows, self.lock = [], threading.Lock()
        self.start = time.monotonic()

    def left(self):
        return self.limit - (time.monotonic() - self.start)

    def passed(self, name):
        return any(row["name"] == name and row["status"] == "passed" for row in self.rows)

    def add(self, name, status, reason="", seconds=None, log=""):
        with self.lock:
            self.rows.append({"name": name, "status": status, "reason": reason, "seconds": seconds,
                              "began": None if seconds is None else round(self.limit - self.left() - seconds, 3)})
            (self.work / "logs" / f"{name}.log").write_text(log)
            took = "" if seconds is None else f"{seconds:7.1f} s"
            print(f"{status:8} {took:10} {name} {reason}", flush=True)

    def run(self, step):
        """Adds the row of one step; its standard output when it passed, else None."""
        reason = self.not_now(step)
        command = None if reason else step.command(self.work) if callable(step.command) else step.command
        if reason or isinstance(command, str):
            return self.add(step.name, "skipped", reason or command)
        limit, began = min(step.seconds, self.left()), time.monotonic()
        code, out, log = end_of(command, {**self.environment, **step.variables}, limit)
        seconds = round(time.monotonic() - began, 3)
        status, reason = verdict(code, log, limit)
        self.add(step.name, status, reason, seconds, log)
        return out if status == "passed" else None

    def not_now(self, step):
        missing = [name for name in step.needs if not self.passed(name)]
        if missing:
            return f"{missing[0]} did not pass"
        return f"the {self.limit:g} s are used up" if self.left() < LEAST else ""

    def together(self, steps, workers):
        """What is not timed may share the machine; rows come in the order of the steps."""
        first = len(self.rows)
        with concurrent.futures.ThreadPoolExecutor(max(1, workers)) as pool:
            list(pool.map(self.run, steps))
        order = {step.name: i for i, step in enumerate(steps)}
        self.rows[first:] = sorted(self.rows[first:], key=lambda row: order[row["name"]])


def end_of(command, environment, limit):
    """(exit status, None after the limit, or a sentence when it did not start; standard output; both outputs)"""
    try:
        child = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                 start_new_session=True)
    except OSError as error:
        return f"{pathlib.Path(command[0]).name} cannot be started: {error.strerror}", "", ""
    try:
        out, complaints = child.communicate(timeout=limit)
        code = child.returncode
    except subprocess.TimeoutExpired:
        out, complaints, code = *ended(child), None
    return code, out, out + complaints


def ended(child):
    """Ends its whole process group; what it had said."""
    os.killpg(child.pid, signal.SIGKILL)
    try:
        return child.communicate(timeout=5)
    except subprocess.TimeoutExpired:  # a process of another group holds the pipe
        return "", "what it said is lost: a process that it started outlives it\n"


def verdict(code, log, limit):
    lines = log.strip().splitlines()
    last = lines[-1].strip() if lines else "it said nothing"
    if COUNTED.fullmatch(last):
        last = next((found[1] for found in map(WHY.search, lines) if found), last)
    if code == 0:
        return "passed", ""
    if code == 77 or NO_ROOM.search(last):
        return "skipped", last
    if code is None:
        return "failed", f"not done after {limit:.0f} s"
    return "failed", code if isinstance(code, str) else f"exit {code}: {last}"
