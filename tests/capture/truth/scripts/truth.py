"""A program's own clocks: phases by thread CPU time, process CPU time and wall time, written as JSON into the folder that
TRUTH names when the process ends, or by write() where it ends by os._exit or exec."""

import atexit
import json
import os
import threading
import time

_lock = threading.Lock()
_phases = {}


def _now():
    return time.thread_time(), time.process_time(), time.monotonic()


class phase:
    """with phase("svd"): ... adds to the sums of that name, from any thread."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.begin = _now()

    def __exit__(self, *_):
        end = _now()
        with _lock:
            sums = _phases.setdefault(self.name, {"thread_s": 0.0, "process_s": 0.0, "wall_s": 0.0, "calls": 0})
            for key, a, b in zip(sums, self.begin, end):
                sums[key] += b - a
            sums["calls"] += 1


@atexit.register
def write():
    folder = os.environ.get("TRUTH")
    if folder:
        path = f"{folder}/{os.getpid()}-{time.monotonic()}.json"
        beside = os.path.join(os.path.dirname(folder), os.path.basename(path))  # a pool ends its workers in the middle of this
        with open(beside, "w") as f:
            json.dump({"pid": os.getpid(), "process_s": time.process_time(), "phases": _phases}, f)
        os.rename(beside, path)
    _phases.clear()


os.register_at_fork(after_in_child=_phases.clear)
