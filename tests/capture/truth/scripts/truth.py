"""A program's own clocks: phases by thread CPU time, process CPU time and wall time, written as JSON into the folder that
TRUTH names when the process ends, or by write() where it ends by os._exit or exec. With TRUTH_DELAY, own_s is wall time
without the thread's waiting for a CPU."""

import atexit
import json
import os
import threading
import time

_lock = threading.Lock()
_phases = {}
_CLOCKS = ["thread_s", "process_s", "wall_s", *(["own_s"] if os.environ.get("TRUTH_DELAY") else [])]


def _now():
    for _ in range(9):  # a wait between the clocks would be counted in one of them alone
        clocks = time.thread_time(), time.process_time(), time.monotonic()
        if len(_CLOCKS) == len(clocks):
            return clocks
        with open("/proc/thread-self/schedstat") as f:
            delay = int(f.read().split()[1]) * 1e-9
        if time.monotonic() < clocks[-1] + 1e-3:
            break
    return *clocks, clocks[-1] - delay


class phase:
    """with phase("svd"): ... adds to the sums of that name, from any thread."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.begin = _now()

    def __exit__(self, *_):
        end = _now()
        with _lock:
            sums = _phases.setdefault(self.name, {**dict.fromkeys(_CLOCKS, 0.0), "calls": 0})
            for key, a, b in zip(_CLOCKS, self.begin, end):
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
