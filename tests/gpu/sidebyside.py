"""Times another project's operations on the files of a cell, on the same GPU: sidebyside.py PEER CELL FOLDER OUT.json
SETTINGS.json. The worker and the adapters are those of tests/peers. OUT is written after every operation. Exit 77 when
the peer cannot be imported."""

import json
import pathlib
import statistics
import subprocess
import sys
import time

import cells

PEERS = pathlib.Path(__file__).resolve().parents[1] / "peers"
sys.path.insert(0, str(PEERS))
from process import Gone, Process  # noqa: E402

# JAX would take three quarters of the memory at once.
ENVIRONMENT = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def why_not(peer):
    done = subprocess.run([sys.executable, "-c", f"import {peer}"], capture_output=True, text=True)
    lines = done.stderr.strip().splitlines()
    return (lines[-1] if lines else "import failed") if done.returncode else None


def ask(process, *words, limit=300):
    answer = process.ask(*map(str, words), limit=limit)
    if not answer["ok"]:
        raise cells.Failed(answer["reason"].strip().splitlines()[0])
    return answer


def times_of(process, settings):
    """Runs after the first, for as long as a row may take."""
    times, began = [], time.monotonic()
    while len(times) < settings["repeats"] and (not times or time.monotonic() - began + times[-1] < settings["seconds_per_row"]):
        times.append(ask(process, "run")["seconds"])
    return times


def measure(process, operation, folder, settings):
    name = operation + ("/weighted3" if "mbir" in operation else "")
    array = folder / f"{cells.input_of(operation)}.npy" if cells.input_of(operation) else "-"
    ask(process, "prepare", name, folder / f"{cells.beam_of(operation)}.json", array)
    first = ask(process, "run")["seconds"]
    times, difference = times_of(process, settings), None
    if (folder / f"{operation}.npy").exists():
        ask(process, "save", folder / "peer.npy")
        difference = cells.distance(folder / "peer.npy", folder / f"{operation}.npy")
    return {"first": first, "times": times, "n": len(times), "median": statistics.median(times), "min": min(times),
            "difference": difference}


def row_of(process, peer, versions, operation, size, folder, settings):
    row = {"peer": peer, "versions": versions, "operation": operation, "size": list(size), "status": "ok", "reason": None,
           "first": None, "times": [], "n": 0, "median": None, "min": None, "difference": None}
    try:
        return row | measure(process, operation, folder, settings)
    except cells.Failed as failed:
        return row | {"status": "failed", "reason": str(failed)}


def main():
    peer, cell, folder, out, settings = sys.argv[1:]
    settings, out, folder = json.loads(pathlib.Path(settings).read_text()), pathlib.Path(out), pathlib.Path(folder)
    reason = why_not(peer)
    if reason:
        print(f"{peer} cannot be imported: {reason}")
        return 77
    size = tuple(int(n) for n in cell.split("x"))
    cells.make(folder, size)
    process = Process([sys.executable, str(PEERS / "worker.py"), peer], str(out.with_suffix(".log")), ENVIRONMENT)
    versions, rows = ask(process, "versions")["versions"], []
    for operation in settings["operations"]:
        try:
            rows.append(row_of(process, peer, versions, operation, size, folder, settings))
        except Gone as gone:
            print(f"{peer} {operation}: {gone}")
            return 1
        cells.keep(out, rows)
    process.end()
    return cells.verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
