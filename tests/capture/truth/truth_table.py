"""Measures programs bare and recorded in turn, and makes the rows of the truth table (matrix.py)."""

import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

from programs import differences, mentions, ready, start
from recorded import TOMOPROF, newest

GOAL_POINTS, GOAL_RATIO, LEAST_S = 3.0, 1.05, 1.0  # below LEAST_S of CPU time a ratio says little
MOST_PAIRS, INTERVAL_S = 40, 0.011  # a sample each 10 ms; one more in ten, for their weights differ
HEAD = ["program", "what it is", "exit, output, results", "CPU s", "CPU x least, median", "wall x least, median", "sampled %",
        "phases: profile (own clocks) %", "worst ± sampling error"]


def own_clocks(folder, clock, tree_s):
    """Phase -> share of the CPU time of all processes, by what they wrote; and that time: `tree_s`, the kernel's, which counts those
    that wrote nothing, or the processes' own where some were not waited for."""
    sums, processes = {}, {}
    for path in folder.iterdir():
        said = json.loads(path.read_text())
        processes[said["pid"]] = max(processes.get(said["pid"], 0), said["process_s"])
        for name, phase in said["phases"].items():
            sums[name] = sums.get(name, 0) + phase[clock + "_s"]
    total = max(tree_s, sum(processes.values()))
    return {name: seconds / total for name, seconds in sums.items()}, total


def marks(sources):
    """Phase -> [(file name, line, key in a profile's line)]."""
    found = {}
    for path in sources:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for kind, names in re.findall(r"(?:#|//|/\*|!) (truth|inclusive): ([a-z ]+)", line):
                for name in names.split():
                    found.setdefault(name, []).append((path.name, number, "cpu" if kind == "truth" else "cpu_incl"))
    return found


def shown(profile, sources):
    """Phase -> share on its lines."""
    shares = {}
    for path, file in profile["files"].items():
        for line in file["lines"]:
            for key in ("cpu", "cpu_incl"):
                at = (path.rpartition("/")[2], line["line"], key)
                shares[at] = shares.get(at, 0) + (line[key]["share"] or 0)
    return {name: sum(shares.get(at, 0) for at in places) for name, places in marks(sources).items()}


def recorded_run(program, folder, place, pair):
    truth, out = folder / f"truth-{pair}", folder / f"runs-{pair}"
    truth.mkdir()
    run = start(program, place, lambda words: [TOMOPROF, "record", "--no-analysis", "--out", out, "--", *words], {"TRUTH": str(truth)})
    at = newest(out)
    done = subprocess.run([TOMOPROF, "report", at, "--text"], capture_output=True)
    if done.returncode:
        raise RuntimeError(f"report: {done.stderr.decode()[-300:]}")
    profile, record = json.loads((at / "profile.json").read_text()), json.loads((at / "record.json").read_text())
    run["truth"], run["tree_s"] = own_clocks(truth, program.clock, record["end"]["user_s"] + record["end"]["system_s"])
    run["cpu"] = max(run["cpu"], run["tree_s"])
    run["shown"] = shown(profile, program.sources)
    if set(run["shown"]) - set(run["truth"]):
        raise RuntimeError(f"no clock of phase {', '.join(sorted(set(run['shown']) - set(run['truth'])))}")
    run["sampled_s"] = (profile["totals"]["cpu"]["user"] or 0) + (profile["totals"]["cpu"]["sys"] or 0)
    run["items"] = [i["id"] for i in profile["quality"]["items"] if i["severity"] != "info"]
    lines = [(line["cpu"]["share"] or 0, f"{path}:{line['line']}") for path, f in profile["files"].items() for line in f["lines"]]
    run["top"] = [f"{where} {100 * share:.1f}" for share, where in sorted(lines, reverse=True)[:6] if share > 0.01]
    run["run"], run["hot"] = str(at), None
    if program.hot:
        run["hot"] = mentions(profile, program.hot)[1]
    return run


def measure(program, folder, pairs, seconds=0, until=math.inf):
    """All runs of a program, and sentences on what differed. Programs with clocks run until the recorded runs have so many
    seconds of CPU time, which is the number of samples. After `until`, of time.monotonic(), no further pair begins; one is always run."""
    place = ready(program, folder / "x")
    runs, differ, pair = {"bare": [], "recorded": []}, [], -1
    while (pair := pair + 1) < pairs or (program.sources and pair < MOST_PAIRS and sum(r["cpu"] for r in runs["recorded"]) < seconds):
        if pair and time.monotonic() >= until:
            break
        for how in ("bare", "recorded") if pair % 2 == 0 else ("recorded", "bare"):
            if how == "recorded":
                runs[how].append(recorded_run(program, folder, place, pair))
                continue
            truth = folder / f"truth-bare-{pair}"
            truth.mkdir()
            run = start(program, place, lambda words: words, {"TRUTH": str(truth)})
            run["truth"], run["cpu"] = own_clocks(truth, program.clock, run["cpu"])
            runs[how].append(run)
        differ += [d for d in differences(program, runs["bare"][-1], runs["recorded"][-1]) if d not in differ]
    return runs, differ


def ratios(runs, key):
    bare, recorded = ([r[key] for r in runs[how]] for how in ("bare", "recorded"))
    return min(recorded) / min(bare), statistics.median(r / b for r, b in zip(recorded, bare))


def phases(runs):
    """Of each phase the mean shares in percent, the largest first: shown by the profile; by the clocks of the same, recorded runs;
    by those of the bare runs; and how many points the first is off the second."""
    rows = []
    for name in runs["recorded"][0]["truth"]:
        told, true, bare = (100 * statistics.mean(r[key].get(name, 0) for r in runs[how])
                            for how, key in (("recorded", "shown"), ("recorded", "truth"), ("bare", "truth")))
        rows.append({"name": name, "shown": told, "clocks": true, "bare": bare, "points": told - true})
    return sorted(rows, key=lambda phase: -phase["clocks"])


def sampling_error(share, runs):
    """Standard error in points of a share in percent, by the number of samples in all runs."""
    return 100 * math.sqrt(max(0, share * (100 - share)) / 1e4 * INTERVAL_S / sum(r["cpu"] for r in runs["recorded"]))


def row(program, runs, differ):
    """The table's cells, and which goals are missed."""
    cpu, wall, found = ratios(runs, "cpu"), ratios(runs, "wall"), phases(runs)
    bare_s = statistics.median(r["cpu"] for r in runs["bare"])
    sampled = statistics.mean(r["sampled_s"] / r["tree_s"] for r in runs["recorded"])
    worst = max(found, key=lambda f: abs(f["points"]), default=None)
    text = ", ".join("{name} {shown:.1f} ({clocks:.1f})".format(**phase) for phase in found)
    if program.hot:
        text = f"{program.hot} {100 * statistics.mean(r['hot'] for r in runs['recorded']):.0f}"
    missed = (["output"] if differ else []) + (["{name} {points:+.1f}".format(**worst)] if worst and abs(worst["points"]) > GOAL_POINTS else [])
    missed += ["ratio"] if min(cpu) > GOAL_RATIO and bare_s >= LEAST_S else []
    return [program.name, program.kind, "; ".join(differ) or "same", f"{bare_s:.2f}", "{:.2f}, {:.2f}".format(*cpu),
            "{:.2f}, {:.2f}".format(*wall), f"{100 * sampled:.0f}", text, f"{worst['points']:+.1f} ± {sampling_error(worst['clocks'], runs):.1f}" if worst else ""], missed


def table(programs, pairs, seconds, keep, minutes=math.inf):
    """Prints rows as they come; all of them, the facts behind them, and the names of those that were not reached in `minutes`: of the
    time that is left, each program has an equal part. Runs are left in the folder `keep`, where one is given."""
    lines, facts, end = [], {}, time.monotonic() + 60 * minutes

    def put(cells):
        lines.append("| " + " | ".join(c.replace("|", "/").replace("\n", " ") for c in cells) + " |")
        print(lines[-1], flush=True)

    put(HEAD)
    put(["---"] * len(HEAD))
    for at, program in enumerate(programs):
        now = time.monotonic()
        if now >= end:
            return lines, facts, [p.name for p in programs[at:]]
        reason = program.absent()
        if reason:
            hint = f" (apt-get install {' '.join(program.apt)})" if program.apt else ""
            put([program.name, program.kind, f"skipped: {reason}{hint}", *[""] * (len(HEAD) - 3)])
            facts[program.name] = {"skipped": reason}
            continue
        with tempfile.TemporaryDirectory(prefix="tomoprof-matrix-") as made:
            folder = keep / re.sub(r"\W", "_", program.name) if keep else pathlib.Path(made)
            try:
                runs, differ = measure(program, folder, pairs, seconds, now + (end - now) / (len(programs) - at))
            except (RuntimeError, FileNotFoundError) as e:
                put([program.name, program.kind, f"failed: {e}", *[""] * (len(HEAD) - 3)])
                facts[program.name] = {"failed": str(e), "missed": ["failed"]}
                continue
        cells, missed = row(program, runs, differ)
        put(cells)
        facts[program.name] = {"missed": missed, "phases": phases(runs),
                               "runs": {how: [{k: v for k, v in r.items() if k not in ("out", "err", "results")} for r in all]
                                        for how, all in runs.items()}}
    return lines, facts, []
