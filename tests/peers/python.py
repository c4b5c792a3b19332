"""Times each operator from Python beside the C function and beside other packages, each in a process of its own, in turn.

    python3 tests/peers/python.py --build build [--minutes 8] [--sizes 32 128 256] [--peers tomoprof mbirjax astra skimage torchtomo] [--python FILE]

CMake's folder is configured with -DTP_PEERS=ON. C and tomoprof come first, by rounds that call both once; then each other peer alone, the smallest
size first, as long as --minutes last. The least CPU time of all threads counts, which other work on the machine changes little. Both sides of tomoprof wait
for threads alike (GOMP_SPINCOUNT), and their inputs lie where malloc and NumPy place arrays. Prints what a first call takes and a Markdown table; no time is a matter of pass or fail. --python: an interpreter
that has all the packages, in place of an environment for each peer."""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import environments
from peers import PEERS, Peer
from process import Gone, Process
from run import HERE, Arrays

MORE = [Peer("skimage", "scikit-image 0.26", ["scikit-image==0.26.0", "numpy==2.4.6"], {}),
        Peer("torchtomo", "torchtomo 0.5.0", ["torchtomo==0.5.0", "torch==2.13.0", "numpy==2.4.6"], {})]
VARIANTS = {"astra": "/linear"}
OPERATIONS = [f"{beam}_{what}" for beam, direct in (("parallel", "fbp"), ("cone", "fdk"))
              for what in ("forward_project", "back_project", "hessian_diagonal", f"{direct}_filter", f"{direct}_recon", "mbir_recon")] + ["median_filter3d"]
SPIN = {"GOMP_SPINCOUNT": "10000"}  # as `tomoprof run` sets it
OURS = ("C", "tomoprof")
FIRST = """
import time
clocks = [(time.process_time(), time.monotonic())]
import numpy
clocks.append((time.process_time(), time.monotonic()))
import tomoprof
tomoprof.ParallelBeamModel
clocks.append((time.process_time(), time.monotonic()))
model = tomoprof.ParallelBeamModel((16, 4, 16), numpy.linspace(0, 3, 16))
model.forward_project(numpy.ones(model.get_params("recon_shape"), "float32"))
clocks.append((time.process_time(), time.monotonic()))
print(*(b[k] - a[k] for a, b in zip(clocks, clocks[1:]) for k in (0, 1)))
"""


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--sizes", type=int, nargs="+", default=[32, 128, 256])
    p.add_argument("--peers", nargs="+", default=["tomoprof", "mbirjax", "astra", "skimage", "torchtomo"])
    p.add_argument("--operations", nargs="+", metavar="TEXT", default=[""])
    p.add_argument("--python", help="an interpreter that has the packages of all peers")
    p.add_argument("--minutes", type=float, default=60, help="in all; rows that do not fit are left out (default 60)")
    p.add_argument("--seconds", type=float, default=5, help="of rounds, for each operation and size (default 5)")
    p.add_argument("--rounds", type=int, default=50, help="at most (default 50)")
    o = p.parse_args()
    o.build = os.path.abspath(o.build)
    o.folder = os.path.join(o.build, "peers")
    return o


def started(o, peer):
    """The process of a peer, or the reason why there is none."""
    folder = os.path.join(o.folder, peer.name)
    if not o.python:
        reason = environments.install(peer, folder)
        if reason:
            return reason
    python = o.python or os.path.join(folder, "bin", "python")
    environment = {"CUDA_VISIBLE_DEVICES": "", "TOMOPROF_LIBRARY": os.path.join(o.build, "libtomoprof.so.0"), **peer.environment,
                   **(SPIN if peer.name == "tomoprof" else {})}
    return Process([python, os.path.join(HERE, "worker.py"), peer.name], os.path.join(o.folder, peer.name + ".log"), environment)


def prepared(process, words, variant=""):
    """None where the process is ready for rounds, else the reason why it is not."""
    try:
        for command in (("prepare", words[0] + variant, *words[1:]), ("run",)):
            answer = process.ask(*command, limit=600)
            if not answer["ok"]:
                return answer["reason"]
    except Gone as error:
        return str(error)
    return None


def least(processes, words, seconds, rounds):
    """{name: least CPU seconds of a call}, or the reason why there is none."""
    found = {name: prepared(process, words, VARIANTS.get(name, "")) for name, process in processes.items()}
    running = {name: process for name, process in processes.items() if not found[name]}
    found.update(dict.fromkeys(running, float("inf")))
    began = time.monotonic()
    for _ in range(rounds):
        for name, process in running.items():
            found[name] = min(found[name], process.ask("run", limit=600)["cpu"])
        if time.monotonic() - began > seconds:
            break
    return found


def measured(o, processes):
    """{(operation, size): {name: seconds or reason}}: C and tomoprof first, then each other peer as long as there is time."""
    end = time.monotonic() + 60 * o.minutes
    rows = [(operation, size) for size in o.sizes for operation in OPERATIONS if any(text in operation for text in o.operations)]
    arrays = {size: Arrays(o, size) for size in o.sizes}
    share = min(o.seconds, 0.4 * 60 * o.minutes / max(len(rows), 1))
    found, took = {}, {}
    for row in rows:
        found[row] = least({name: processes[name] for name in OURS if name in processes}, (row[0], *arrays[row[1]].of(row[0])), share, o.rounds)
        print(f"{row[0]} {row[1]}", file=sys.stderr, flush=True)
    for number, (operation, size) in enumerate(rows):
        for name in [name for name in processes if name not in OURS]:
            began = time.monotonic()
            before, seconds = took.get((operation, name), (size, 0))
            guess = seconds * (size / before) ** 4  # N^3 voxels, N views
            if began + guess > end:
                found[operation, size][name] = "no time"
                continue
            limit = min(o.seconds, max(0.5, (end - began) / (4 * (len(rows) - number))))
            found[operation, size].update(least({name: processes[name]}, (operation, *arrays[size].of(operation)), limit, o.rounds))
            took[operation, name] = size, time.monotonic() - began
            print(f"{operation} {size} {name}", file=sys.stderr, flush=True)
    return found


def first_call(o, python, environment):
    """Prints the least times of twelve processes, after one that compiles the package: pip does so where it installs one."""
    with tempfile.TemporaryDirectory(prefix="tomoprof-bytecode-") as folder:
        variables = {**os.environ, **environment, "PYTHONPYCACHEPREFIX": folder}
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        runs = [[float(word) for word in subprocess.run([python, "-c", FIRST], env=variables, text=True, capture_output=True, check=True).stdout.split()]
                for _ in range(13)][1:]
    print("| first call, ms | CPU | wall |\n|---|---|---|")
    for k, part in enumerate(("`import numpy`", "`import tomoprof` and its first class", "a model and a projection")):
        print(f"| {part} | {1e3 * min(run[2 * k] for run in runs):.1f} | {1e3 * min(run[2 * k + 1] for run in runs):.1f} |")
    print(flush=True)


def cell(value, unit):
    return f"{value / unit:.3g} x" if isinstance(value, float) else "" if "KeyError" in str(value) else str(value)[:40]


def main():
    o = arguments()
    os.makedirs(o.folder, exist_ok=True)
    processes = {"C": Process([os.path.join(o.build, "tests", "peers", "peers_ours"), "malloc"], os.path.join(o.folder, "ours.log"), SPIN)}
    for peer in sorted((peer for peer in [*PEERS, *MORE] if peer.name in o.peers), key=lambda peer: peer.name not in OURS):
        process = started(o, peer)
        if isinstance(process, str):
            print(f"{peer.name}: {process}", file=sys.stderr)
        else:
            processes[peer.name] = process
    ours = next(peer for peer in PEERS if peer.name == "tomoprof")
    if "tomoprof" in processes:
        first_call(o, o.python or os.path.join(o.folder, "tomoprof", "bin", "python"), {"TOMOPROF_LIBRARY": os.path.join(o.build, "libtomoprof.so.0"), **ours.environment})
    names = [name for name in processes if name != "C"]
    found = measured(o, processes)
    print("| operation | N | C, ms | " + " | ".join(names) + " |\n|" + "---|" * (3 + len(names)))
    for (operation, size), row in found.items():
        print(f"| {operation} | {size} | {1e3 * row['C']:.3g} | " + " | ".join(cell(row.get(name, ""), row["C"]) for name in names) + " |", flush=True)
    for process in processes.values():
        process.end()


if __name__ == "__main__":
    main()
