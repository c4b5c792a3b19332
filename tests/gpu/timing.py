"""Times the operations of one cell with their data on the device: timing.py PROGRAM CELL FOLDER OUT.json SETTINGS.json.
Each is a process of `tomoprof apply --repeat`; the first run does not count. OUT is written after every operation: what
is measured survives a limit. Exit 1 when one failed."""

import json
import math
import pathlib
import sys
import time

import cells


def repeats(operation, size, earlier, settings):
    """As many as fit the seconds of one row, by the time per unit at an earlier size; the most where there is none."""
    most, seconds = settings["repeats"], settings["seconds_per_row"]
    guesses = [row["median"] / row["amount"] for row in earlier if row["operation"] == operation and row["median"]]
    if not guesses:
        return most
    one = guesses[-1] * cells.amount(operation, size)[0]
    return max(1, min(most, math.ceil(seconds / one) - 1))


def measure(program, operation, size, folder, n, keep):
    amount, unit = cells.amount(operation, size)
    row = {"operation": operation, "size": list(size), "status": "ok", "reason": None, "amount": amount, "unit": unit,
           "began": time.time(), "ended": None, "n": 0, "times": [], "first": None, "median": None, "min": None, "flops": None,
           "bytes": None, "peak_device_bytes": None, "fingerprint": None}
    more = ["--repeat", n] + (["--out", folder / f"{operation}.npy"] if keep else [])
    try:
        said = cells.call(cells.words(program, operation, folder, "cuda", *more))
        row |= {"n": n, "times": said["times"], "first": said["first_time"], "median": said["time"],
                "min": min(said["times"]), "flops": said["work"]["flops"], "bytes": said["work"]["bytes_min"],
                "peak_device_bytes": said["peak_device_bytes"], "fingerprint": said["fingerprint"]}
    except cells.Failed as failed:
        row |= {"status": "failed", "reason": str(failed)}
    row["ended"] = time.time()
    return row


def main():
    program, cell, folder, out, settings = sys.argv[1:]
    settings, out = json.loads(pathlib.Path(settings).read_text()), pathlib.Path(out)
    size = tuple(int(n) for n in cell.split("x"))
    earlier = [row for path in sorted(out.parent.glob("timing_*.json"), key=lambda path: path.stat().st_mtime)
               for row in json.loads(path.read_text())]
    folder, rows = cells.make(folder, size), []
    for operation in settings["operations"]:
        n = repeats(operation, size, earlier, settings)
        rows.append(measure(program, operation, size, folder, n, cell in settings["reference_cells"]))
        cells.keep(out, rows)
    return cells.verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
