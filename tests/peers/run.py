"""Times tomoprof's operators and other projects' in turn on the same arrays. README.md says how and what.

    python3 tests/peers/run.py --build build [--quick | --sizes 64 128 256] [--peers NAME ...] [--operations TEXT ...]

Writes BUILD/peers/peers.json and peers.md. Exit 0: all that ran agrees; 1: a result differs by more than its
tolerance, or tomoprof failed; 77: no peer could run."""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from datetime import datetime, timezone

import jsonschema
import numpy as np

import environments
import report
from peers import COMPARISONS, PEERS
from process import Gone, Process

HERE = os.path.dirname(os.path.abspath(__file__))
SETTLE = 0.05  # seconds between two runs: thread pools stop spinning
DEATH = 1800   # seconds without an answer after which a peer is ended


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build", help="CMake's folder, configured with -DTP_PEERS=ON (default build)")
    p.add_argument("--environments", help="where the peers are installed (default BUILD/peers)")
    p.add_argument("--quick", action="store_true", help="N = 64 only")
    p.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256])
    p.add_argument("--peers", nargs="+", choices=[peer.name for peer in PEERS])
    p.add_argument("--operations", nargs="+", metavar="TEXT", help="only operations whose name holds one of these")
    p.add_argument("--pairs", type=int, default=11, help="at most, per row (default 11)")
    p.add_argument("--seconds", type=float, default=60,
                   help="no further pair that would end later than this after the first began (default 60)")
    p.add_argument("--longest", type=float, default=300, metavar="SECONDS",
                   help="leave a row out whose call is expected to take longer, by the size before (default 300)")
    p.add_argument("--keep", action="store_true", help="keep rows of the last result that this run lacks")
    p.add_argument("--markdown", metavar="FILE", help="another copy of the table")
    o = p.parse_args()
    o.build = os.path.abspath(o.build)
    o.folder = os.path.join(o.build, "peers")
    o.environments = os.path.abspath(o.environments or o.folder)
    o.sizes = [64] if o.quick else sorted(o.sizes)
    return o


def beam_of(operation):
    return "cone" if operation.startswith("cone") else "parallel"


class Arrays:
    """The files of one size, made by tomoprof simulate: the published set-up."""

    def __init__(self, o, size):
        self.folder = os.path.join(o.folder, "arrays", str(size))
        os.makedirs(self.folder, exist_ok=True)
        for beam in ("parallel", "cone"):
            subprocess.run([os.path.join(o.build, "tomoprof"), "simulate", "--geometry", beam, "--size", str(size), "--out",
                            os.path.join(self.folder, beam)], check=True, capture_output=True)
        clean = np.load(os.path.join(self.folder, "parallel_volume.npy"))
        noise = np.random.default_rng(42).standard_normal(clean.shape, dtype=np.float32)
        np.save(os.path.join(self.folder, "noisy_volume.npy"), clean + 0.01 * clean.max() * noise)

    def of(self, operation):
        """(geometry file, input file or -)"""
        prefix = os.path.join(self.folder, beam_of(operation))
        if "hessian" in operation:
            return prefix + ".json", "-"
        if "median" in operation:  # noise: some medians are fast where all values are equal
            return prefix + ".json", os.path.join(self.folder, "noisy_volume.npy")
        return prefix + ".json", prefix + ("_volume.npy" if "forward" in operation else "_sinogram.npy")


class Harness:
    def __init__(self, o):
        self.o = o
        self.reasons = {}    # peer -> why it cannot run
        self.processes = {}  # peer -> Process
        self.versions = {}
        self.expected = {}   # (operation, peer, variant) -> (size, seconds) of the latest size
        os.makedirs(o.folder, exist_ok=True)
        self.ours = Process([os.path.join(o.build, "tests", "peers", "peers_ours")],
                            os.path.join(o.folder, "ours.log"), {"GOMP_SPINCOUNT": "10000"})  # as tomoprof run does

    def tomoprof(self, *words):
        answer = self.ours.ask(*words, limit=DEATH)
        if not answer["ok"]:
            sys.exit("tomoprof: " + answer["reason"])
        return answer

    def device(self):
        return self.tomoprof("calibrate")["device"]

    def calibrate(self):
        answer = self.tomoprof("calibrate")
        return {key: answer[key] for key in ("flops_per_s", "bytes_per_s")}

    def install(self, peer):
        if peer.folder and not os.path.isdir(os.environ.get(peer.folder, "")):
            self.reasons[peer.name] = f"{peer.folder} names no folder in which {peer.title} was built"
            return
        reason = environments.install(peer, os.path.join(self.o.environments, peer.name))
        if reason:
            self.reasons[peer.name] = reason

    def process(self, peer):
        if peer.name not in self.processes:
            folder = os.path.join(self.o.environments, peer.name)
            # Caches of compiled code stay in the environment; no peer looks for a GPU.
            environment = {"CUDA_VISIBLE_DEVICES": "", "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "compiled"),
                           "TOMOPROF_LIBRARY": os.path.join(self.o.build, "libtomoprof.so.0"),
                           **peer.environment}
            started = Process([os.path.join(folder, "bin", "python"), os.path.join(HERE, "worker.py"), peer.name],
                              os.path.join(self.o.folder, peer.name + ".log"), environment)
            self.processes[peer.name] = started
            self.versions[peer.name] = ask(started, "versions")["versions"]
        return self.processes[peer.name]

    def compare(self, c, size, arrays):
        """One row of the result."""
        row = {"operation": c.operation, "size": size, "peer": c.peer, "variant": c.variant, "what": c.what,
               "same": c.same, "tolerance": c.tolerance, "status": "skipped", "reason": None, "difference": None,
               "warm_up": None, "ours": [], "theirs": []}
        peer = next(p for p in PEERS if p.name == c.peer)
        key = (c.operation, c.peer, c.variant)
        before, took = self.expected.get(key, (size, 0.0))
        guess = took * (size / before) ** 4  # N^3 voxels, N/2 views
        if c.peer in self.reasons or guess > self.o.longest:
            row["reason"] = self.reasons.get(c.peer) or f"a call would take about {guess:.0f} s"
            return row
        try:
            self.measure(row, self.process(peer), c, arrays)
        except (Failed, Gone) as e:
            row.update(status="failed", reason=str(e))
            if isinstance(e, Gone):
                self.processes.pop(c.peer, None)
        self.expect([row])
        return row

    def expect(self, rows):
        for row in rows:
            if row["theirs"]:
                self.expected[row["operation"], row["peer"], row["variant"]] = row["size"], min(row["theirs"])

    def measure(self, row, process, c, arrays):
        geometry, array = arrays.of(c.operation)
        name = c.operation + ("/" + c.variant if c.variant else "")
        ask(process, "prepare", name, geometry, array)
        row["warm_up"] = ask(process, "run")["seconds"]
        saved = os.path.join(arrays.folder, "theirs.npy")
        ask(process, "save", saved)
        row["difference"] = difference(os.path.join(arrays.folder, "ours.npy"), saved, c.operation)
        start = time.monotonic()
        pair = 0.0
        while len(row["ours"]) < self.o.pairs and (not pair or time.monotonic() - start + pair < self.o.seconds):
            began = time.monotonic()
            time.sleep(SETTLE)
            row["ours"].append(self.tomoprof("run")["seconds"])
            time.sleep(SETTLE)
            row["theirs"].append(ask(process, "run")["seconds"])
            pair = time.monotonic() - began
        row["status"] = verdict(row["difference"], c.tolerance)

    def operation(self, operation, size, arrays):
        """The rows of one operation at one size, and the machine before and after."""
        before = self.calibrate()
        self.tomoprof("prepare", operation, *arrays.of(operation))
        self.tomoprof("run")
        self.tomoprof("save", os.path.join(arrays.folder, "ours.npy"))
        rows = []
        for c in COMPARISONS:
            if c.operation == operation and (not self.o.peers or c.peer in self.o.peers):
                rows.append(self.compare(c, size, arrays))
                print(report.line(rows[-1]), file=sys.stderr, flush=True)
        after = self.calibrate()
        return [{**row, "run": 0, "before": before, "after": after} for row in rows]

    def end(self):
        for process in (self.ours, *self.processes.values()):
            process.end()


class Failed(Exception):
    """A peer said why it could not do something."""


def ask(process, *words):
    answer = process.ask(*words, limit=DEATH)
    if not answer["ok"]:
        raise Failed(answer["reason"].strip().splitlines()[0])
    return answer


def difference(ours, theirs, operation):
    """Relative l2 difference, of reconstructions and back projections inside the ellipse that tomoprof fills."""
    a, b = np.load(ours).astype(np.float64), np.load(theirs).astype(np.float64)
    if a.shape != b.shape:
        raise Failed(f"its result has the shape {b.shape}, tomoprof's {a.shape}")
    if "back" in operation or "recon" in operation:
        y, x = (np.linspace(-1, 1, n) for n in a.shape[:2])
        inside = x[None, :] ** 2 + y[:, None] ** 2 <= 1
        a, b = a[inside], b[inside]
    return float(np.linalg.norm(a - b) / np.linalg.norm(a))


def chosen(o):
    """Operations in the order of the table."""
    names = dict.fromkeys(c.operation for c in COMPARISONS)
    return [name for name in names if not o.operations or any(text in name for text in o.operations)]


def verdict(found, tolerance):
    return "ok" if tolerance is None or found <= tolerance else "differs"  # NaN differs


def judged(row):
    """An earlier row by the tables of today."""
    c = next(c for c in COMPARISONS if identity(row) == (c.operation, row["size"], c.peer, c.variant))
    status = verdict(row["difference"], c.tolerance) if row["theirs"] else row["status"]
    return {**row, "tolerance": c.tolerance, "same": c.same, "what": c.what, "status": status}


def identity(row):
    return row["operation"], row["size"], row["peer"], row["variant"]


def with_earlier(result, earlier):
    """`result`, and the rows of an earlier one that it lacks with their runs, in the order of the tables."""
    measured = {identity(row) for row in result["rows"]}
    kept = [judged(row) for row in earlier["rows"] if identity(row) not in measured]
    shift = len(earlier["runs"])
    rows = kept + [{**row, "run": row["run"] + shift} for row in result["rows"]]
    order = [(c.operation, c.peer, c.variant) for c in COMPARISONS]
    rows.sort(key=lambda row: (row["size"], order.index((row["operation"], row["peer"], row["variant"]))))
    return {**result, "versions": {**earlier["versions"], **result["versions"]},
            "runs": earlier["runs"] + result["runs"], "rows": rows}


def read_earlier(o):
    path = os.path.join(o.folder, "peers.json")
    if not o.keep or not os.path.exists(path):
        return None
    with open(path) as f:
        return json.load(f)


def write(o, result):
    """After every operation: an interrupted run leaves what it has measured."""
    with open(os.path.join(HERE, "peers.schema.json")) as f:
        jsonschema.validate(result, json.load(f))
    with open(os.path.join(o.folder, "peers.json"), "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    for path in filter(None, (os.path.join(o.folder, "peers.md"), o.markdown)):
        with open(path, "w") as f:
            f.write(report.markdown(result))


def main():
    o = arguments()
    os.environ.pop("OMP_WAIT_POLICY", None)  # ctest sets it; each side has its own way to wait
    h = Harness(o)
    for peer in PEERS:
        if not o.peers or peer.name in o.peers:
            h.install(peer)
    made = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    version = subprocess.run([os.path.join(o.build, "tomoprof"), "--version"], check=True, capture_output=True,
                             text=True).stdout.strip()
    run = {"made": made, "command": shlex.join(["tests/peers/run.py", *sys.argv[1:]]), "device": h.device(),
           "tomoprof": version}
    earlier = read_earlier(o)
    h.expect(earlier["rows"] if earlier else [])
    rows = []
    for size in o.sizes:
        arrays = Arrays(o, size)
        for operation in chosen(o):
            rows += h.operation(operation, size, arrays)
            result = {"schema": "tomoprof-peers/1", "runs": [run], "versions": h.versions, "rows": rows}
            write(o, with_earlier(result, earlier) if earlier else result)
    h.end()
    if not any(row["status"] in ("ok", "differs") for row in rows):
        print("skipped: no peer could run: " + "; ".join(sorted({str(row["reason"]) for row in rows})))
        return 77
    return 1 if any(row["status"] == "differs" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
