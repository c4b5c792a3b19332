"""run --threads 1,2: a run for each number, a table of both, and runs that compare reads."""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import SANITIZED, main, tomoprof

OPS = "median_filter3d,parallel_fbp_recon,volume_flip"


def a_run_for_each_number(check, folder):
    done = tomoprof("run", "--threads", "1,2", "--ops", OPS, "--sizes", "16,24", "--runs", 3, "--no-trace", "--out", folder / "out")
    check.must(done.returncode == 0 and done.stdout == "", f"{done}")
    runs = sorted(p for p in (folder / "out").iterdir() if p.name != "latest")
    data = [json.loads((run / "timing.json").read_text()) for run in runs]
    check.must([d["environment"]["threads"] for d in data] == [1, 2], f"{[d['environment'] for d in data]}")
    lines = done.stderr.splitlines()
    head = next((i for i, line in enumerate(lines) if "1 thread" in line and "2 threads" in line and "speed-up" in line), None)
    check.must(head is not None, done.stderr)
    medians = [{(s["operation"], s["volume_size"]): s["median"] for s in d["statistics"]} for d in data]
    rows, name = {}, None
    for line in lines[head + 1 : head + 7]:
        name = line[:30].strip() or name
        rows[name, int(line[30:42])] = float(line.split()[-1])
    check.that(rows.keys() == medians[0].keys(), f"{rows}")
    for key, speed in rows.items():
        check.that(abs(speed / (medians[0][key] / medians[1][key]) - 1) < 0.01, f"{key}: {speed}, {medians[0][key]} and {medians[1][key]}")
    check.that(all(len(line) <= 100 for line in lines[head : head + 7]), "wider than 100 columns")
    offered = next(line for line in lines if "tomoprof compare " in line)
    words = re.search(r"`tomoprof (compare [^`]*)`", offered)[1].split()
    check.that(words[1:] == list(map(str, runs)), f"{words}")
    compared = tomoprof(*words)
    check.that(compared.returncode == 0 and all(op in compared.stdout for op in OPS.split(",")) and "threads differs: 1 in A, 2 in B" in compared.stdout, f"{compared}")


def processes_are_named(check, folder):
    """By operation and size in the suite, by script where Python runs several."""
    if SANITIZED:
        return print("  not tried: a build with sanitizers is not recorded")
    done = tomoprof("run", "--ops", "median_filter3d,volume_flip", "--sizes", "16,24", "--runs", 2, "--out", folder / "out")
    check.must(done.returncode == 0, f"{done}")
    profile = json.loads((folder / "out/latest/profile.json").read_text())
    check.that(sorted(p["task"] or "" for p in profile["processes"]) == [f"{op} {n}" for op in ("median_filter3d", "volume_flip") for n in (16, 24)],
               f"{profile['processes']}")
    rows = {r["name"]: r for r in profile["ranges"] if r["domain"] == "tomoprof"}
    for op in ("median_filter3d", "volume_flip"):
        sizes = {x["payload"]: x for x in rows[op]["payloads"]}
        check.that(sizes.keys() == {16, 24} and all(x["time"]["n"] == 2 for x in sizes.values()), f"{op}: {rows[op]}")
        check.that(abs(sum(x["time"]["total_s"] for x in sizes.values()) / rows[op]["time"]["total_s"] - 1) < 1e-6, f"{op}: {rows[op]}")
    text = tomoprof("report", folder / "out/latest", "--text").stdout
    check.that(all(f"  at {n}\n" in text for n in (16, 24)), text)
    for name in ("first", "second"):
        (folder / f"{name}.py").write_text("sum(range(3000000))\n")
    done = tomoprof("record", "--out", folder / "two", "--", "sh", "-c", f"{sys.executable} first.py; {sys.executable} -O second.py; {sys.executable} -c pass", cwd=folder)
    check.must(done.returncode == 0, f"{done}")
    profile = json.loads((folder / "two/latest/profile.json").read_text())
    check.that([p["task"] for p in profile["processes"] if p["python"]] == ["first.py", "second.py", None], f"{profile['processes']}")


def wrong_numbers_are_refused(check, folder):
    for words, sentence in (("1,x", "x"), ("1,1", "twice"), ("", "number"), ("1,,2", "number"), ("1,2,3,4,5,6,7,8,9", "at most 8"), ("-1", "0"), ("1,9999", "4096")):
        done = tomoprof("run", "--threads", words, "--ops", OPS, "--sizes", 16, "--out", folder / "never")
        check.that(done.returncode == 2 and "--threads" in done.stderr and sentence in done.stderr and done.stderr.count("\n") == 1, f"{words!r}: {done}")
    check.that(not (folder / "never").exists(), "a refused call made a folder")


if __name__ == "__main__":
    main(a_run_for_each_number, processes_are_named, wrong_numbers_are_refused)
