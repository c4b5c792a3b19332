"""A recording of a program against what the program itself said of its GPU work (programs/truth.py, programs/known.cu)."""

import collections
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))

TIME_LIMIT = 0.02  # of events against our sums: an event is placed some microseconds beside the kernel
LARGE = 64 << 20  # bytes of traces from which on kernels are not read one by one: 10^6 take a gigabyte of Python
LOSSES = ("lost.", "damage.", "trace.", "gpu.no_record", "gpu.zero_time", "analysis.")


class Recording:
    """The run's folder: .profile (profile.json), .lines {line: row} of the source file, .raw (trace files)"""

    def __init__(self, run, source):
        os.environ.setdefault("TOMOPROF", "build/tomoprof")  # fake_gpu finds its own programs by it: not used here
        import fake_gpu

        self.run = pathlib.Path(run)
        self.profile = json.loads((self.run / "profile.json").read_text())
        files = {path: rows for path, rows in self.profile["files"].items() if pathlib.PurePath(path).name == source}
        self.lines = {row["line"]: row for rows in files.values() for row in rows["lines"]}
        paths = sorted((self.run / "trace").glob("*.tpt"))
        self.large = sum(path.stat().st_size for path in paths) > LARGE
        kinds = ("meta", "memory") if self.large else None
        self.raw = [fake_gpu.Trace(path, kinds) for path in paths]

    def all(self, kind):
        return [record for trace in self.raw for record in getattr(trace, kind)]

    def kernels_on(self, line):
        row = self.lines.get(line)
        return sum(k["n"] for k in row["gpu"]["kernels"]) if row and row["gpu"] else 0

    def gpu_on(self, line, key):
        row = self.lines.get(line)
        return (row["gpu"][key] or 0) if row and row["gpu"] else 0

    def notes(self):
        return [item["text"] for item in self.profile["quality"]["items"]]

    def drops(self):
        """Sentences about records that are missing."""
        items = self.profile["quality"]["items"]
        return [i["text"] for i in items if i["severity"] == "error" or (i["id"].startswith(LOSSES) and i["severity"] == "warning")]

    def unattributed(self):
        total = self.profile["totals"]["gpu_sum_s"]
        own = sum(row["gpu_self_s"] or 0 for file in self.profile["files"].values() for row in file["lines"])
        return 1 - own / total if total else None

    def callback_ns(self):
        """{part of the capture library: (ns a call, calls)}"""
        parts = self.profile["quality"]["overhead"]
        return {p["part"]: {"ns": p["s"] / p["calls"] * 1e9, "calls": p["calls"]} for p in parts if p["calls"]}


def sums(truth, *whats):
    found = collections.Counter()
    for row in truth:
        if row["what"] in whats:
            found[row["line"]] += row["n"]
    return found


def kernels(r, truth, facts):
    expected, at_least = sums(truth, "kernel", "timed"), sums(truth, "at_least")
    found = {line: r.kernels_on(line) for line in [*expected, *at_least]}
    facts["lines"] = {"expected": len(found), "found": sum(n > 0 for n in found.values())}
    facts["kernels"] = {"ours": sum(found.values()), "own": sum(expected.values()) + sum(at_least.values())}
    for line, n in expected.items():
        if found[line] != n:
            yield f"line {line} launched {n} kernels, recorded {found[line]}"
    for line, n in at_least.items():
        if found[line] < n:
            yield f"line {line} launched at least {n} kernels, recorded {found[line]}"
    total = r.profile["totals"]["kernels"] or 0
    if any(row["what"] == "complete" for row in truth) and total != sum(expected.values()):
        yield f"the program launched {sum(expected.values())} kernels in all, recorded {total}"


def times(r, truth, facts):
    events = sum(row["n"] for row in truth if row["what"] == "event_ns") * 1e-9
    wall = sum(row["n"] for row in truth if row["what"] == "wall_ns") * 1e-9
    timed = "at_least" if wall else "timed"
    ours = sum(r.gpu_on(line, "kernel_s") for line in sums(truth, timed))
    facts["gpu_s"] = {"ours": ours, "events": events or None, "wall": wall or None,
                      "difference": ours / events - 1 if events else None}
    if events and abs(ours / events - 1) > TIME_LIMIT:
        yield f"kernels between the program's events took {events:.6g} s, recorded {ours:.6g} s: {ours / events - 1:+.1%}"
    if wall and not 0 < ours <= wall:
        yield f"kernels took {ours:.6g} s of {wall:.6g} s of wall time"


def copies(r, truth, facts):
    found, expected = collections.Counter(), collections.Counter()
    for t in r.profile["transfers"]:
        host = {"h2d": t["from"], "d2h": t["to"]}.get(t["direction"], "device")
        found[t["direction"], host] += t["bytes"]
    for row in truth:
        if row["what"] in ("h2d", "d2h", "d2d"):
            expected[row["what"], row["detail"]] += row["n"] * row["bytes"]  # detail "": the framework chooses
            if not r.gpu_on(row["line"], "copy_s"):
                yield f"no {row['what']} copy on line {row['line']}"
    facts["bytes"] = {" ".join(key): n for key, n in sorted(found.items())}
    for way in ("h2d", "d2h", "d2d"):
        found[way, ""] = sum(n for key, n in found.items() if key[0] == way)
    complete = any(row["what"] == "complete" for row in truth)
    for key, n in expected.items():
        if found[key] < n or (complete and found[key] != n):
            yield f"{n} bytes were copied {' '.join(key)}, recorded {found[key]}"
    for row in truth:
        if row["what"] == "set" and not r.gpu_on(row["line"], "set_s"):
            yield f"no memset on line {row['line']}"
    if sum(s["bytes"] for s in r.profile["memsets"]) < sum(row["bytes"] for row in truth if row["what"] == "set"):
        yield f"memsets: {r.profile['memsets']}"


def objects(r, truth, facts):
    """Allocations, pools, streams, graph nodes, ranges: from the trace files where profile.json has no list of them."""
    allocated = [m for m in r.all("memory") if m.operation == 1]
    for row in truth:
        same = [m for m in allocated if m.bytes >= row["bytes"] and (row["what"] == "allocation" or m.pool)]
        if row["what"] in ("allocation", "pool") and not same:
            yield f"no {row['what']} of {row['bytes']} bytes (line {row['line']}) among {len(allocated)}"
    if r.large:
        return
    nodes, known = [k for k in r.all("kernel") if k.node], {n.node for n in r.all("node")}
    wanted = sums(truth, "node")
    if wanted and (len(nodes) != sum(wanted.values()) or not {k.node for k in nodes} <= known):
        yield f"{sum(wanted.values())} kernels of graph nodes, recorded {len(nodes)}, of nodes that were reported: {len(known)}"
    for line in wanted:
        if not r.gpu_on(line, "built_s"):
            yield f"line {line} built a graph node, whose time is not shown there"
    streams = len({(k.context, k.stream) for k in r.all("kernel")})
    facts["streams"], facts["graph_kernels"] = streams, len(nodes)
    ranges = {x["name"]: x for x in r.profile["ranges"]}
    for row in truth:
        if row["what"] == "streams" and streams < row["n"]:
            yield f"kernels ran in {row['n']} streams, recorded {streams}"
        if row["what"] == "range" and (row["detail"] not in ranges or not ranges[row["detail"]]["gpu_n"]):
            yield f"the range «{row['detail']}» or its GPU work is missing"


def conserved(r, truth, facts):
    facts["unattributed_share"] = r.unattributed()
    facts["drops"] = r.drops()
    facts["callbacks"] = r.callback_ns()
    facts["capture_bytes"] = r.profile["quality"]["capture_bytes"]
    facts["clock"] = [trace.meta.get("cupti.clock") for trace in r.raw if trace.meta.get("cupti.clock")]
    facts["cupti"] = sorted({trace.meta["cupti.version"] for trace in r.raw if "cupti.version" in trace.meta})
    yield from facts["drops"]
    for check in r.profile["quality"]["checks"]:
        if not check["ok"]:
            yield f"not conserved: {check['text']} ({check['expected']} and {check['found']})"
    before = [i["text"] for i in r.profile["quality"]["items"] if i["id"] == "gpu.before_call"]
    yield from before
    if r.profile["totals"]["no_origin_n"]:
        yield f"{r.profile['totals']['no_origin_n']} operations belong to no call"


def judge(recording, truth):
    """(what is wrong, one sentence each; facts for the table)"""
    facts, wrong = {}, []
    for part in (conserved, kernels, times, copies, objects):
        wrong += list(part(recording, truth, facts))
    return wrong, facts
