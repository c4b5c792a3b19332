"""Lines and tables of peers.json. By itself it writes the Markdown of a result:

    python3 tests/peers/report.py build/peers/peers.json > docs/internals/peers.md"""

import json
import statistics
import sys

from peers import COMPARISONS, PEERS

TITLES = {peer.name: peer.title for peer in PEERS}
ORDER = [(c.operation, c.peer, c.variant) for c in COMPARISONS]
DISTURBED = 0.15  # a row whose machine was this much slower than in the median row gets a mark


def three(value):
    """Three digits, and all those before the point."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def seconds(value):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if value * scale >= 0.9995 or unit == "us":
            return f"{three(value * scale)} {unit}"


def ratios(row):
    return [theirs / ours for ours, theirs in zip(row["ours"], row["theirs"])]


def title(row):
    return TITLES[row["peer"]] + (f" ({row['variant']})" if row["variant"] else "")


def line(row):
    """One row for a person who waits."""
    head = f"{row['operation']:26} {row['size']:4} {title(row):22}"
    if not row["theirs"]:
        return f"{head} {row['status']}: {row['reason']}"
    r = statistics.median(ratios(row))
    return (f"{head} {seconds(min(row['ours'])):>9} {seconds(min(row['theirs'])):>9} x {three(r):6} "
            f"difference {row['difference']:.1e} {row['status']}")


def slowdown(row, normal):
    """How far the slower of the two calibrations around a row lies below the run's median, 0..1, of the worse peak."""
    return max(1 - min(row["before"][key], row["after"][key]) / normal[key] for key in normal)


def machine(rows):
    return {key: statistics.median(row[side][key] for row in rows for side in ("before", "after"))
            for key in ("flops_per_s", "bytes_per_s")}


def agreement(row):
    if row["difference"] is None:
        return ""
    says = "" if row["tolerance"] is None else f" <= {row['tolerance']:g}"
    if row["status"] == "differs":
        says = f" > {row['tolerance']:g}: **differs**"
    return f"{row['difference']:.1e}{says}"


def cell(row, normal, full):
    """Of one size: how many times as long the peer takes; `full` adds tomoprof's median time and the range of all pairs."""
    if not row or not row["theirs"]:
        return f"{row['status']}: {row['reason']}" if row else ""
    r = sorted(ratios(row))
    mark = " †" if slowdown(row, normal) > DISTURBED else ""
    spans = f" ({three(r[0])} - {three(r[-1])})" if full and len(r) > 1 else ""
    time = f"{seconds(statistics.median(row['ours']))}, " if full else ""
    return f"{time}**{three(statistics.median(r))} x**{spans}{mark}"


def table(rows, normal):
    """A line for each operation and peer, a column for each size."""
    sizes = sorted({row["size"] for row in rows})
    text = "| operation | peer | " + " | ".join(f"N = {size}" for size in sizes) + " | difference, largest N |\n"
    text += "|---" * (len(sizes) + 3) + "|\n"
    for compared in ORDER:
        of = {row["size"]: row for row in rows if (row["operation"], row["peer"], row["variant"]) == compared}
        ran = [row for row in of.values() if row["theirs"]]
        largest = max(ran or of.values(), key=lambda row: row["size"], default=None)
        if of:
            line = [compared[0], title(largest), *(cell(of.get(size), normal, of.get(size) is largest) for size in sizes), agreement(largest)]
            text += "| " + " | ".join(line) + " |\n"
    return text


def markdown(result):
    rows = result["rows"]
    normal = machine(rows)
    gflops = [row[side]["flops_per_s"] / 1e9 for row in rows for side in ("before", "after")]
    gbytes = [row[side]["bytes_per_s"] / 1e9 for row in rows for side in ("before", "after")]
    text = "# tomoprof beside its peers\n\n"
    text += "Pairs of runs in turn on the same arrays, results compared: see "
    text += "[tests/peers/README.md](../../tests/peers/README.md). Made by\n\n"
    for run in result["runs"]:
        text += f"    python3 {run['command']}\n"
    text += "\n"
    for run in result["runs"]:
        text += f"- {run['made']}: {run['tomoprof']} on {run['device']}\n"
    text += "\n"
    text += "| machine, measured around every operation | median | lowest | highest |\n|---|---|---|---|\n"
    for name, values in (("float32 multiply-add, GFLOP/s", gflops), ("copy, GB/s", gbytes)):
        text += f"| {name} | {statistics.median(values):.0f} | {min(values):.0f} | {max(values):.0f} |\n"
    text += (f"\nN^3 voxels, N/2 views of N x N: how many times as long the peer takes, median of pairs; at the largest N with tomoprof's time and the range.\n"
             f"† The machine was more than {100 * DISTURBED:.0f} % slower around this row than in the median one.\n\n")
    text += table(rows, normal)
    text += "\n## What a peer computes instead\n\n| peer | operations | what |\n|---|---|---|\n"
    for name, what in dict.fromkeys((title(r), r["what"]) for r in rows if r["what"]):
        operations = dict.fromkeys(r["operation"] for r in rows if (title(r), r["what"]) == (name, what))
        text += f"| {name} | {', '.join(operations)} | {what} |\n"
    text += "\n## Versions\n\n| peer | packages |\n|---|---|\n"
    for name, versions in result["versions"].items():
        text += f"| {TITLES[name]} | {', '.join(f'{package} {v}' for package, v in versions.items())} |\n"
    return text


if __name__ == "__main__":
    with open(sys.argv[1]) as source:
        print(markdown(json.load(source)), end="")
