"""Times each operator from Python beside the C function and beside other packages, each in a process of its own, in turn.

    python3 tests/peers/python.py --build build [--sizes 32 128 256] [--peers tomoprof mbirjax astra skimage torchtomo] [--python FILE]

CMake's folder is configured with -DTP_PEERS=ON. Each round calls every process once; the least CPU time of all threads counts, which
other work on the machine changes little. Both sides of tomoprof wait for threads alike (GOMP_SPINCOUNT). Prints a Markdown table; no time
is a matter of pass or fail. --python: an interpreter that has all the packages, in place of an environment for each peer."""

import argparse
import os
import sys
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


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--sizes", type=int, nargs="+", default=[32, 128, 256])
    p.add_argument("--peers", nargs="+", default=["tomoprof", "mbirjax", "astra", "skimage", "torchtomo"])
    p.add_argument("--operations", nargs="+", metavar="TEXT", default=[""])
    p.add_argument("--python", help="an interpreter that has the packages of all peers")
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


def least(processes, words, o):
    """{name: least CPU seconds of a call}, or the reason why there is none."""
    found = {}
    for name, process in processes.items():
        operation = words[0] + ("" if name == "C" else VARIANTS.get(name, ""))
        try:
            for command in (("prepare", operation, *words[1:]), ("run",)):
                answer = process.ask(*command, limit=600)
                if not answer["ok"]:
                    found[name] = answer["reason"]
                    break
        except Gone as error:
            found[name] = str(error)
    running = {name: process for name, process in processes.items() if name not in found}
    began = time.monotonic()
    for _ in range(o.rounds):
        for name, process in running.items():
            found[name] = min(found.get(name, float("inf")), process.ask("run", limit=600)["cpu"])
        if time.monotonic() - began > o.seconds:
            break
    return found


def cell(value, unit):
    return f"{value / unit:.3g} x" if isinstance(value, float) else "" if "KeyError" in str(value) else str(value)[:40]


def main():
    o = arguments()
    os.makedirs(o.folder, exist_ok=True)
    processes = {"C": Process([os.path.join(o.build, "tests", "peers", "peers_ours")], os.path.join(o.folder, "ours.log"), SPIN)}
    for peer in [peer for peer in [*PEERS, *MORE] if peer.name in o.peers]:
        process = started(o, peer)
        if isinstance(process, str):
            print(f"{peer.name}: {process}", file=sys.stderr)
        else:
            processes[peer.name] = process
    names = [name for name in processes if name != "C"]
    print("| operation | N | C, ms | " + " | ".join(names) + " |\n|" + "---|" * (3 + len(names)))
    for size in o.sizes:
        arrays = Arrays(o, size)
        for operation in OPERATIONS:
            if any(text in operation for text in o.operations):
                found = least(processes, (operation, *arrays.of(operation)), o)
                print(f"| {operation} | {size} | {1e3 * found['C']:.3g} | " + " | ".join(cell(found[name], found["C"]) for name in names) + " |",
                      flush=True)
    for process in processes.values():
        process.end()


if __name__ == "__main__":
    main()
