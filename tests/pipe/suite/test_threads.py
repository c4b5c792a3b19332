"""run --threads 1,2: a run for each number, a table of both, and runs that compare reads."""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main, tomoprof

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


def wrong_numbers_are_refused(check, folder):
    for words, sentence in (("1,x", "x"), ("1,1", "twice"), ("", "number"), ("1,,2", "number"), ("1,2,3,4,5,6,7,8,9", "at most 8"), ("-1", "0"), ("1,9999", "4096")):
        done = tomoprof("run", "--threads", words, "--ops", OPS, "--sizes", 16, "--out", folder / "never")
        check.that(done.returncode == 2 and "--threads" in done.stderr and sentence in done.stderr and done.stderr.count("\n") == 1, f"{words!r}: {done}")
    check.that(not (folder / "never").exists(), "a refused call made a folder")


if __name__ == "__main__":
    main(a_run_for_each_number, wrong_numbers_are_refused)
