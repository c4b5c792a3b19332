"""The folders that check.sh left, as they are kept under results/.

    results.py validate [--emulated] [FOLDER ...]     default: all under results/; exit 1 when one is wrong
    results.py render [--into FILE | --check FILE]    the table, printed, put between the marks of FILE, or compared with it"""

import json
import math
import pathlib
import statistics
import sys
import tarfile

import cells
import figures as figures_of

HERE = pathlib.Path(__file__).resolve().parent
FILES, BYTES = 8, 2_100_000  # at most, and of each
BEGIN, END = "<!-- gpu results begin -->", "<!-- gpu results end -->"
NONE = "No run on a GPU is recorded: `tests/gpu/results/` is empty."


class Wrong(Exception):
    """What is wrong with a folder."""


def must(condition, text):
    if not condition:
        raise Wrong(text)


def finite(text):
    raise Wrong(f"{text} is no number that JSON has")


def read(path, part=None):
    """A file of the folder, checked against its part of the schema."""
    must(path.exists(), f"{path.name} is missing")
    value = json.loads(path.read_text(), parse_constant=finite)
    if part:
        import jsonschema  # not needed where check.sh runs
        schema = json.loads((HERE / "results.schema.json").read_text())
        errors = list(jsonschema.Draft202012Validator({**schema, "$ref": f"#/$defs/{part}"}).iter_errors(value))
        must(not errors, f"{path.name}: " + "; ".join(f"{e.json_path}: {e.message[:200]}" for e in errors[:3]))
    return value


def near(a, b):
    return a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9))


def check_times(row, where):
    times = row["times"]
    must(row["n"] == len(times), f"{where}: n is {row['n']}, times are {len(times)}")
    must(near(row["median"], statistics.median(times) if times else None), f"{where}: the median is not that of its times")
    must(near(row["min"], min(times, default=None)), f"{where}: the least time is not that of its times")


def check_row(row, figures):
    """Everything that follows from what was measured, computed again."""
    where = f"{row['operation']} at {cells.named(row['size'])}"
    check_times(row, where)
    must((row["amount"], row["unit"]) == cells.amount(row["operation"], row["size"]), f"{where}: {row['amount']} {row['unit']}")
    again = figures_of.beside(row, figures["machine"]["device"], figures["ceilings"])
    for key in ("rate", "implausible"):
        must(near(row[key], again[key]), f"{where}: {key} is {row[key]}, computed again {again[key]}")
    l2 = (row["measured_ceiling"] or {"limits": {}})["limits"].get("l2")
    again["shares"]["l2"] = figures_of.share(row["rate"], l2)
    for name, share in again["shares"].items():
        must(near(row["shares"][name], share), f"{where}: its share of {name} is {row['shares'][name]}, computed again {share}")
    # The tables of ceilings.py may know more by now: what stands there must agree with itself.
    for name in ("recalled_ceiling", "measured_ceiling"):
        ceiling = row[name]
        must(ceiling is None or near(ceiling["share"], figures_of.share(row["rate"], ceiling["rate"])), f"{where}: {name}'s share")
        must(ceiling is None or not ceiling["limits"] or near(ceiling["rate"], min(ceiling["limits"].values())),
             f"{where}: {name} is not the lowest limit")


def check_steps(check, figures, logs):
    names = [row["name"] for row in check["steps"]]
    must(len(set(names)) == len(names), "a step is there twice")
    hidden = sorted(set(logs) ^ set(names))
    must(not hidden, f"steps and logs differ: {', '.join(hidden)}")
    status = {row["name"]: row["status"] for row in check["steps"]}
    for cell in check["machine"]["settings"]["cells"]:
        rows = [row for row in figures["rows"] if cells.named(row["size"]) == cell]
        whole = len(rows) == len(check["machine"]["settings"]["operations"]) and all(row["status"] == "ok" for row in rows)
        must(whole == (status.get(f"timing_{cell}") == "passed"), f"timing_{cell}: {status.get(f'timing_{cell}')}, {len(rows)} rows")


def check_recording(path, emulated):
    with tarfile.open(path) as archive:
        names = archive.getnames()
        must("profile.json" in names, f"{path.name}: no profile.json")
        profile = json.load(archive.extractfile("profile.json"))
    must(profile["schema"] == "tomoprof-profile/1", f"{path.name}: schema {profile['schema']}")
    must(emulated or profile["totals"]["kernels"], f"{path.name}: no kernel in it")


def validate(folder, emulated):
    files = [path for path in folder.rglob("*") if path.is_file()]
    must(len(files) <= FILES, f"{len(files)} files, {FILES} at most")
    for path in files:
        must(path.stat().st_size <= BYTES, f"{path.name}: {path.stat().st_size} bytes, {BYTES} at most")
    check = read(folder / "check.json", "check")
    must(check["machine"], f"no GPU worked: {check['steps'][0]['reason'] or check['steps'][0]['name']}")
    must(emulated or not check["machine"]["emulated"], "measured on the emulator: its numbers mean nothing")
    must(check["complete"], "check.sh was ended before its end")
    figures, logs = read(folder / "figures.json", "figures"), read(folder / "logs.json")
    must(figures["machine"] == check["machine"], "check.json and figures.json are of two runs")
    check_steps(check, figures, logs)
    for row in figures["rows"]:
        check_row(row, figures)
    must(figures["padding"] == figures_of.padding(figures["rows"], check["machine"]["settings"]), "the ratios of padding are others")
    for peer in figures["peers"]:
        check_times(peer, f"{peer['peer']} {peer['operation']} at {cells.named(peer['size'])}")
        must(near(peer["ratio"], figures_of.with_ratio(peer, figures["rows"])["ratio"]), f"{peer['peer']}: the ratio of {peer['operation']}")
    if (folder / "recording.tar.xz").exists():
        check_recording(folder / "recording.tar.xz", check["machine"]["emulated"])
    failed = sum(row["status"] == "failed" for row in check["steps"])
    return f"{len(check['steps'])} steps, {failed} failed, {len(figures['rows'])} rows"


def folders():
    return sorted(path.parent for path in (HERE / "results").glob("*/check.json"))


def peer_of(figures, row, name):
    return next((p for p in figures["peers"] if (p["peer"], p["operation"], p["size"]) == (name, row["operation"], row["size"])), {})


def rows_of(figures):
    short = figures_of.short
    for row in figures["rows"]:
        ceiling = row["measured_ceiling"] or {}
        jax = peer_of(figures, row, "mbirjax")
        yield [row["operation"], cells.named(row["size"]), short(ceiling.get("rate"), factor=1e-9),
               short(row["rate"], factor=1e-9) + (" (implausible)" if row["implausible"] else "") if row["rate"] else "failed",
               short(row["median"], "{:.4g}"), figures_of.percent(ceiling.get("share")), ceiling.get("bound", "-"),
               short(jax.get("median"), "{:.4g}"), short(jax.get("ratio"), "{:.2f}")]


def rendered(folder):
    figures, check = read(folder / "figures.json"), read(folder / "check.json")
    machine, clocks = figures["machine"], figures["clocks"]["all"] or {}
    failed = [f"{row['name']} ({row['reason']})" for row in check["steps"] if row["status"] == "failed"]
    head = ["operation", "size", "ceiling", "measured", "s", "share", "limiter", "MBIRJAX s", "ratio"]
    lines = [f"{machine['device']}; driver {machine['driver'] or 'unknown'}; {machine['made']}, commit {machine['commit'] or 'unknown'}; "
             f"SM clock {figures_of.short(clocks.get('sm_mhz'), '{:.0f}')} MHz (median), {figures_of.short(clocks.get('power_w'), '{:.0f}')} W at most. "
             f"Steps that failed: {'; '.join(failed) or 'none'}. `tests/gpu/results/{folder.name}`", "",
             "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(texts) + " |" for texts in rows_of(figures)]
    lines += ["", "Ceiling and measured: 10^9 updates (filter: samples, median: voxels) per second; the ceiling from rates measured on the same "
              "device. Size: views x detector rows x channels; mbir_recon: 3 iterations with what comes before them. Ratio: MBIRJAX's time over ours."]
    lines += [f"- {p['operation']}: {p['ratio']:.2f} of the time per unit at {cells.named(p['of'])} for {cells.named(p['size'])}" for p in figures["padding"]]
    return "\n".join(lines)


def render():
    """The newest folder of each device."""
    newest = {}
    for folder in folders():
        machine = read(folder / "check.json")["machine"]
        newest[machine["device"]] = max(newest.get(machine["device"], (machine["made"], folder)), (machine["made"], folder))
    return "\n\n".join(rendered(folder) for _, folder in newest.values()) or NONE


def place(path, text, only_check):
    old = path.read_text()
    must(BEGIN in old and END in old, f"{path.name}: no {BEGIN} and {END}")
    new = old[:old.index(BEGIN) + len(BEGIN)] + "\n" + text + "\n" + old[old.index(END):]
    must(not only_check or new == old, f"{path.name} shows other results: tests/gpu/results.py render --into {path.name}")
    path.write_text(new)


def main():
    command, *words = sys.argv[1:] or [""]
    failed = False
    try:
        if command == "render":
            text = render()
            place(pathlib.Path(words[1]), text, words[0] == "--check") if words else print(text)
        elif command == "validate":
            emulated = "--emulated" in words
            for folder in [pathlib.Path(word) for word in words if word != "--emulated"] or folders():
                try:
                    print(f"{folder.name}: {validate(folder, emulated)}")
                except Wrong as wrong:
                    print(f"{folder.name}: {wrong}")
                    failed = True
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except Wrong as wrong:
        print(wrong)
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
