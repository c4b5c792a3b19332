"""Every profile that the tests of the analysis make obeys its schema, and a reader's own sums."""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

HERE = pathlib.Path(__file__).resolve()
TESTS = pathlib.Path(os.environ["TOMOPROF"]).parent / "tests"
PROGRAMS = ["test_analyze_cpu", "test_analyze_files", "test_analyze_gpu", "test_analyze_gpu_clock", "test_analyze_heap"]


def own_sums(p):
    """Problems that a schema does not see."""
    problems = []
    lines = [line for f in p["files"].values() for line in f["lines"]]
    for key in ("share",):
        total = sum(line["cpu"][key] or 0 for line in lines)
        if total > 1 + 1e-9:
            problems.append(f"cpu.{key} adds up to {total}")
    for line in lines:
        mem = line["mem"]
        if mem["avg_mb"] is not None and mem["avg_mb"] > mem["peak_mb"] + 1e-9:
            problems.append(f"line {line['line']}: average above peak")
        if line.get("live_mb") and abs(max(line["live_mb"]) - mem["peak_mb"]) > 1e-3:
            problems.append(f"line {line['line']}: peak {mem['peak_mb']}, its curve reaches {max(line['live_mb'])}")
        inside = sum(r["cpu_s"] for r in line.get("ranges", []))
        if inside > (line["cpu"].get("user") or 0) + (line["cpu"].get("sys") or 0) + 1e-9:
            problems.append(f"line {line['line']}: {inside} s in ranges, more than its CPU time")
    for i, parent in enumerate(p["stacks"]["parent"]):
        if parent is not None and parent >= i:
            problems.append(f"stack {i} comes before its parent")
    tree = sum(p["stacks"]["gpu_ns"]) * 1e-9
    charged = p["totals"]["gpu_sum_s"]
    if charged is not None and not math.isclose(tree + p["totals"]["no_origin_s"], charged, abs_tol=1e-12):
        problems.append(f"the tree has {tree} s of {charged} s on the device")
    kinds = {"cpu": "stacks", "wait": "stacks", "kernel": "kernels", "copy": "transfers", "set": "memsets", "range": "ranges"}
    for track in p["timeline"]:
        table = p[kinds[track["kind"]]]
        size = len(table["parent"]) if track["kind"] in ("cpu", "wait") else len(table)
        if any(w is None or w >= size for w in track["events"]["what"]):
            problems.append(f"a track of kind {track['kind']} points outside of its table")
    return problems


def main():
    schema = json.loads((HERE.parents[2] / "profiler/analyze/model/profile.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    if validator.is_valid({}) or not own_sums(
        {"files": {"f": {"lines": [{"line": 1, "cpu": {"share": 1.5}, "mem": {"avg_mb": None}}]}}, "stacks": {"parent": [], "gpu_ns": []},
         "totals": {"gpu_sum_s": None}, "timeline": []}
    ):
        print("this test sees nothing")
        return 1
    problems, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name in PROGRAMS:
            subprocess.run([TESTS / name], env={**os.environ, "TP_PROFILES": folder}, check=True, capture_output=True, timeout=300)
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            profile = json.loads(path.read_text())
            count += 1
            problems += [f"{path.name}: {'/'.join(map(str, e.path))}: {e.message[:200]}" for e in validator.iter_errors(profile)]
            problems += [f"{path.name}: {text}" for text in own_sums(profile)]
    for problem in problems[:50]:
        print(problem)
    print(f"{count} profiles, {len(problems)} problem(s)")
    return 1 if problems or count < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
