"""Runs tomoprof for the pipe tests, and small helpers that they share."""

import atexit
import faulthandler
import functools
import getpass
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np

TOMOPROF = os.environ.get("TOMOPROF") or sys.exit("TOMOPROF: the path of the program is not set (run me through ctest)")
DATA = pathlib.Path(os.environ.get("TP_DATA", pathlib.Path(__file__).resolve().parents[1] / "data"))
SANITIZED = os.environ.get("TP_SANITIZE", "OFF") == "ON"
EMULATED = "TP_EMULATED" in os.environ  # packaging/arm/test.sh: a command takes 20 to 60 times as long
SLOW = 8 if EMULATED else 1  # of each limit of time
LONG = os.environ.get("TP_LONG", "OFF") == "ON"  # cmake -DTP_LONG=ON: the long versions of the tests that have one
EACH = os.environ.get("TP_EACH", "OFF") == "ON"  # checks that hold are printed too: how near was it?
# What the sanitizer says when its own search for leaks, after the program has ended, meets a thread that just goes; seen once.
LEAK_SEARCH_FAILED = "LeakSanitizer has encountered a fatal error"
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:  # as under nohup, or behind a shell's &: programs here would inherit that
        signal.signal(number, signal.SIG_DFL)
PATIENCE = 1400 * (4 if EMULATED else 1)  # seconds, less than ctest's: a test that hangs says in which line


def tomoprof(*args, env=None, cwd=None, timeout=300, **kwargs):
    """A finished run: returncode, stdout, stderr (text)."""
    full = {k: v for k, v in os.environ.items() if not k.startswith("TOMOPROF_") or k == "TOMOPROF_CALIBRATION"}
    full.update(env or {})
    for _ in range(3):
        done = subprocess.run([TOMOPROF, *map(str, args)], env=full, cwd=cwd, timeout=timeout * SLOW, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **kwargs)
        if not (SANITIZED and LEAK_SEARCH_FAILED in done.stderr):
            break
        print("  again: the search for leaks failed in itself", flush=True)
    if EMULATED:  # which has a word of its own for each fatal signal
        done.stderr = re.sub("^qemu: uncaught target signal .*\n", "", done.stderr, flags=re.M)
    return done


@functools.cache
def loadable(library):
    """A name of it for LD_PRELOAD, where blanks and colons part words: a link, where its path has one."""
    if not re.search("[ :]", str(library)):
        return str(library)
    folder = tempfile.mkdtemp(prefix="tomoprof-links-", dir="/tmp")
    atexit.register(shutil.rmtree, folder)
    link = pathlib.Path(folder, pathlib.Path(library).name)
    link.symlink_to(library)
    return str(link)


@functools.cache
def doctor_rows():
    return json.loads(tomoprof("doctor", "--json").stdout)["rows"]


def have(row, library=None):
    """Whether this build has what a row of doctor names; `library`: one of chunk_codecs, as zstd. Says so where it has not."""
    state, found = doctor_rows()[row]["state"], doctor_rows()[row]["found"]
    good = library not in found.removeprefix("missing: ").split() if library and found.startswith("missing: ") else state == "ok"
    if not good:
        print(f"  skipped: this build has no {library or row}", flush=True)
    return good


def newest(out):
    """The run that OUT/latest leads to."""
    return out / os.readlink(out / "latest")


def relative(x, reference):
    """l2 of the difference over l2 of the reference, in float64."""
    x, reference = np.asarray(x, np.float64), np.asarray(reference, np.float64)
    return np.linalg.norm(x - reference) / np.linalg.norm(reference)


def write_json(path, value):
    pathlib.Path(path).write_text(json.dumps(value))
    return path


class Checks:
    """Counts what failed, says it at once, and turns it into an exit code."""

    def __init__(self):
        self.done = self.failed = self.certain = 0

    def that(self, condition, text):
        self.done += 1
        if not condition:
            self.failed += 1
            print("FAILED:", text, flush=True)
        elif EACH:
            print("held:", text, flush=True)
        return bool(condition)

    def must(self, condition, text):
        """What no chance has a part in: not forgiven by a second recording."""
        self.certain += not condition
        return self.that(condition, text)

    def end(self):
        print(f"{self.done} checks, {self.failed} failed")
        return 1 if self.failed or not self.done else 0


def own_names():
    """Names of this machine and its user that could stand in a file by accident only: none of the words of our own sources,
    for a machine may be called main, and its user, user."""
    sources = pathlib.Path(__file__).resolve().parents[2]
    ours = {word for folder in ("base", "host", "cuda", "profiler", "cli") for path in (sources / folder).rglob("*.*")
            if path.suffix in (".c", ".h", ".cu", ".js", ".json", ".py") for word in re.findall(r"\w+", path.read_text())}
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # one without a name, as in containers
        user = ""
    names = {socket.gethostname(), user} - {"root", "localhost", ""}
    return {name for name in names if not set(re.findall(r"\w+", name)) <= ours}


def of_samples(test):
    """A test of what samples say. Chance and other work on the machine have a part in them, so that it fails only when a
    second recording fails too. What is checked by must() fails at once: results, exit status, format."""
    test.of_samples = True
    return test


def share(things):
    """Those that this process takes of a long test that is done in parts: TP_SHARE=2/5 is the second of five, without it all."""
    part, parts = map(int, os.environ.get("TP_SHARE", "1/1").split("/"))
    return list(things)[part - 1 :: parts]


def cpu_seconds():
    """User and system time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main(*tests):
    """Runs test(checks, folder) for each, every one in an empty folder of its own, and says what it cost."""
    checks = Checks()
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    for test in tests:
        before, begin, clock = checks.failed, cpu_seconds(), time.monotonic()
        with tempfile.TemporaryDirectory(prefix="tomoprof-") as folder:
            print(test.__name__, flush=True)
            test(checks, pathlib.Path(folder))
        if checks.failed > before and not checks.certain and getattr(test, "of_samples", False):
            print(f"{test.__name__}, recorded again:", flush=True)
            checks.failed = before
            with tempfile.TemporaryDirectory(prefix="tomoprof-") as folder:
                test(checks, pathlib.Path(folder))
        print(f"  {cpu_seconds() - begin:.1f} s of CPU time, {time.monotonic() - clock:.1f} s in all", flush=True)
    sys.exit(checks.end())
