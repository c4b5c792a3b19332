"""One peer in its own process and environment, driven through the lines of ours.c: prepare, run, save; and versions.

    python worker.py ADAPTER"""

import importlib
import importlib.metadata
import json
import os
import sys
import time

import numpy as np


class Worker:
    def __init__(self, adapter):
        self.adapter = adapter
        self.compute = self.fetch = self.result = None

    def versions(self):
        packages = {name: importlib.metadata.version(name) for name in self.adapter.PACKAGES}
        return {"versions": {**getattr(self.adapter, "BUILT", {}), **packages}}

    def prepare(self, operation, geometry, array):
        self.compute = self.fetch = self.result = None
        with open(geometry) as f:
            described = json.load(f)
        values = None if array == "-" else np.load(array)
        self.compute, self.fetch = self.adapter.OPERATIONS[operation](described, values)
        return {}

    def run(self):
        self.result = None  # or two results would be alive at once
        start, cpu = time.perf_counter(), time.process_time()
        self.result = self.compute()
        return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}

    def save(self, path):
        np.save(path, np.ascontiguousarray(self.fetch(self.result), np.float32))
        return {}


def answer(worker, line):
    command, *words = line.split()
    try:
        return {"ok": True, **getattr(worker, command)(*words)}
    except Exception as e:  # whatever a peer raises becomes the reason of its row
        return {"ok": False, "reason": f"{type(e).__name__}: {e}"}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # peers print; the answers stay clean
    worker = Worker(importlib.import_module("adapters." + sys.argv[1]))
    for line in sys.stdin:
        print(json.dumps(answer(worker, line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
