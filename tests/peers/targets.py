"""Makes the tables of targets and shares of docs/internals/performance.md anew: 4 to 8 minutes on a machine that does nothing else.

    python3 tests/peers/targets.py --program build/tomoprof --write docs/internals/performance.md

Without --write it prints them. Rates are those of the least time, in one process for each operation and size; --size and --others
take smaller sizes for a try."""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

BEGIN, END = "<!-- targets -->\n", "<!-- targets end -->\n"

# operation, unit, target, stretch or None. "at most" targets are the larger ones reversed.
TARGETS = [
    ("parallel_forward_project", "GUP/s", 25, 35),
    ("parallel_back_project", "GUP/s", 25, 35),
    ("cone_forward_project", "GUP/s", 5, 8),
    ("cone_back_project", "GUP/s", 5, 8),
    ("cone_voxel_back_project", "GUP/s", 8, 11),
    ("parallel_ramp_filter_2048", "k rows/s", 400, 1000),
    ("median_filter3d", "Gvoxel/s", 1.4, 2),
    ("parallel_hessian_diagonal", "x rate of back", 1, None),
    ("cone_hessian_diagonal", "x rate of back", 1, None),
    ("parallel_vcd_iteration", "x (forward + back), at most", 3, 2),
    ("cone_vcd_iteration", "x (forward + back), at most", 3, 2),
]
RABBIT = ("cone_rabbitct_voxel_recon", "s, at most", 9, 6.5)
SHARES = ["parallel_forward_project", "parallel_back_project", "cone_forward_project", "cone_back_project"]


def times(program, operations, sizes, runs, folder):
    """(operation, size): its statistics; and the environment and calibrations of the run."""
    out = folder / f"{len(list(folder.iterdir()))}"
    call = [program, "run", "--ops", ",".join(operations), "--sizes", ",".join(map(str, sizes)), "--runs", str(runs), "--backend", "cpu",
            "--no-trace", "--out", out]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True)
    found = list(out.glob("*/timing.json"))
    if not found:
        sys.exit(f"{' '.join(map(str, call))}: exit code {done.returncode}: {done.stderr.strip()}")
    model = json.loads(found[0].read_text())
    peaks = [m["calibration"]["gflops"] for m in model["measurements"] if m.get("calibration")]
    return {(s["operation"], s["volume_size"]): s for s in model["statistics"]}, model["environment"], peaks


def share(row):
    """Share of the peak, by the least time, in per cent; None where it is unknown."""
    return row["roof_share"] * row["median"] / row["min"] * 100 if row and row.get("roof_share") else None


def measured(rows, name, size):
    """The rate in the unit of its target, or None."""
    row = rows.get((name, size))
    if not row or not row.get("min"):
        return None
    beam = name.split("_")[0]
    least = {other: rows[f"{beam}_{other}_project", size]["min"] for other in ("forward", "back") if (f"{beam}_{other}_project", size) in rows}
    if "ramp" in name:
        return size // 2 * size / row["min"] / 1e3
    if "median" in name:
        return size ** 3 / row["min"] / 1e9
    if "hessian" in name:  # of all pixels, where back has those of a circle
        return least["back"] / row["min"] * 4 / math.pi if "back" in least else None
    if "vcd" in name:
        return row["min"] / sum(least.values()) if len(least) == 2 else None
    return row["updates_per_s"] * row["median"] / row["min"] / 1e9


def line(name, size, unit, target, stretch, value, of_peak):
    most = "at most" in unit
    good = [value is not None and (value <= limit if most else value >= limit) for limit in (target, stretch) if limit is not None]
    reached = "not measured" if value is None else "stretch" if len(good) == 2 and good[1] else "yes" if good[0] else "no"
    bound = f"{target:g}" + (f" ({stretch:g})" if stretch else "")
    return (f"| {name} | {size} | {unit} | {bound} | {'' if value is None else format(value, '.3g')} | {reached} | "
            f"{'' if of_peak is None else format(of_peak, '.0f') + ' %'} |")


def tables(arguments, folder):
    size, others = arguments.size, arguments.others
    rows, environment, peaks = times(arguments.program, [t[0] for t in TARGETS], [size], 6, folder)
    more, _, _ = times(arguments.program, SHARES, others, 4, folder)
    rabbit, _, _ = times(arguments.program, [RABBIT[0]], [max(others)], 2, folder)
    rows.update(more)
    text = [f"{environment['cpu']}, {environment['threads']} threads, {environment['isa']}; multiply-add "
            f"{min(peaks):.0f} to {max(peaks):.0f} GFLOP/s in its {len(peaks)} processes.", "",
            "| operation | N | unit | target (stretch) | measured | reached | share of peak |", "| --- | --- | --- | --- | --- | --- | --- |"]
    text += [line(name, size, unit, target, stretch, measured(rows, name, size), share(rows.get((name, size))))
             for name, unit, target, stretch in TARGETS]
    row = rabbit.get((RABBIT[0], max(others)))
    text.append(line(RABBIT[0], max(others), *RABBIT[1:], row["min"] if row else None, share(row)))
    sizes = sorted({*others, size})
    text += ["", "| share of the arithmetic peak | " + " | ".join(f"N = {n}" for n in sizes) + " |", "| --- " * (len(sizes) + 1) + "|"]
    for name in SHARES:
        cells = [share(rows.get((name, n))) for n in sizes]
        text.append(f"| {name} | " + " | ".join("" if c is None else f"{c:.0f} %" for c in cells) + " |")
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/tomoprof", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE.md")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--others", type=lambda t: [int(n) for n in t.split(",")], default=[128, 512])
    arguments = parser.parse_args()
    page = arguments.write.read_text() if arguments.write else BEGIN + END
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        sys.exit(f"{arguments.write}: needs one line {BEGIN.strip()} and one {END.strip()}")
    with tempfile.TemporaryDirectory() as folder:
        text = tables(arguments, pathlib.Path(folder))
    if not arguments.write:
        print(text, end="")
        return
    before, rest = page.split(BEGIN)
    arguments.write.write_text(before + BEGIN + text + END + rest.split(END)[1])


main()
