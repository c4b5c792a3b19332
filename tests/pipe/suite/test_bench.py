"""`tomoprof bench`: rows that agree with each other, a file that fits its schema, comparisons with a file. No time is
judged: what is compared was saved once and changed by hand."""

import copy
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import TOMOPROF, main, tomoprof, write_json

SUITE = pathlib.Path(__file__).resolve().parents[3] / "host/suite"
SCHEMA = json.loads((SUITE / "bench/bench.schema.json").read_text())
TIMING = json.loads((SUITE.parent / "timing/timing.schema.json").read_text())
ENVIRONMENT = {"$defs": TIMING["$defs"], "$ref": "#/$defs/environment"}
jsonschema.Draft202012Validator.check_schema(SCHEMA)

OPERATIONS = [line.split()[0] for line in tomoprof("bench", "--list").stdout.splitlines()]
SIZE = 17


def rows_of(check, path):
    data = json.loads(path.read_text(), parse_constant=lambda c: check.that(False, f"{c} in {path}"))
    for schema, part in ((SCHEMA, data), (ENVIRONMENT, data["environment"])):
        errors = list(jsonschema.Draft202012Validator(schema).iter_errors(part))
        check.that(not errors, f"schema: {[e.json_path + ': ' + e.message for e in errors[:3]]}")
    return data


def refused(check, sentence, *args, code=2, **options):
    done = tomoprof("bench", *args, **options)
    last = done.stderr.splitlines()[-1] if done.stderr else ""
    check.that(done.returncode == code, f"{args}: exit {done.returncode}, expected {code}: {done.stderr}")
    check.that(last.startswith("tomoprof: ") and sentence in last, f"{args}: said {last!r}, expected {sentence!r}")


def changed(folder, data, name, change):
    """A copy of the file with `change` done to each row (or to the whole, when it takes the file's keys)."""
    other = copy.deepcopy(data)
    change(other)
    return write_json(folder / f"{name}.json", other)


def everything(check, folder):
    """All operations on one and two threads: each planned row once, numbers that agree with each other."""
    saved = folder / "all.json"
    r = tomoprof("bench", "--sizes", SIZE, "--threads", "1,2", "--repeat", 2, "--save", saved)
    check.that(r.returncode == 0 and r.stdout == "", f"exit {r.returncode}: {r.stderr} {r.stdout}")
    data = rows_of(check, saved)
    rows = data["rows"]
    planned = [(SIZE, o, t) for o in OPERATIONS for t in (1, 2)]
    check.that([(m["size"], m["operation"], m["threads"]) for m in rows] == planned, f"{len(rows)} of {len(planned)}")
    least = {(m["operation"], m["size"], m["threads"]): m["min"] for m in rows}
    for m in rows:
        where = f"{m['operation']} {m['size']} on {m['threads']}"
        if not check.that(m["status"] == "ok", f"{where}: {m['reason']}"):
            continue
        check.that(m["runs"] == 2 and m["min"] <= m["median"], f"{where}: {m}")
        check.that(math.isclose(m["rate"], m["amount"] / m["min"], rel_tol=1e-9), f"{where}: rate {m['rate']}")
        one = least[m["operation"], m["size"], 1]
        check.that(math.isclose(m["thread_efficiency"], one / (m["threads"] * m["min"]), rel_tol=1e-9),
                   f"{where}: efficiency {m['thread_efficiency']}")
        best = {k: max(m["calibration"][w][k] or 0 for w in ("before", "after"))
                for k in ("gflops", "gbytes_per_s", "cached_gbytes_per_s")}
        shares = {"arithmetic": m["flops"] / m["min"] / best["gflops"],
                  "copy": m["bytes"] / m["min"] / max(best["gbytes_per_s"], best["cached_gbytes_per_s"])}
        check.that(math.isclose(m["roof_share"], 1e-9 * max(shares.values()), rel_tol=1e-6)
                   and shares[m["bound"]] == max(shares.values()), f"{where}: {m['roof_share']} {m['bound']} {shares}")
        check.that((m["cycles_per_unit"] is None) == bool(m["cycles_reason"]), f"{where}: cycles")
        check.that(m["peak_bytes"] > 0 and m["closed_form_bytes"] > 0, f"{where}: memory")
        check.that(re.search(rf"^{m['operation']} +{m['size']} +{m['threads']} ", r.stderr, re.M), f"{where}: no line")
    amounts(check, rows)
    markdown(check, saved, data)


def amounts(check, rows):
    """Units in one run, from the published set-up and from each operation's own."""
    of, n = {m["operation"]: m for m in rows}, SIZE
    inside = of["parallel_back_project"]["amount"]
    check.that(inside == of["cone_forward_project"]["amount"] and inside % (n * (n // 2)) == 0
               and 0.5 < inside / (n**3 * (n // 2)) < math.pi / 4, f"{inside} updates at {n}")
    for operation, unit, amount in (("cone_hessian_diagonal", "updates", n**3 * (n // 2)),
                                    ("ramp_filter_2048", "rows", n * (n // 2)),
                                    ("median_filter3d", "voxels", n**3),
                                    ("rabbitct_fdk_recon", "voxels", n**3),
                                    ("parallel_vcd_iteration", "iterations", 1)):
        m = of[operation]
        check.that((m["unit"], m["amount"]) == (unit, amount), f"{operation}: {m['amount']} {m['unit']}")
    # Arrays by formula: two volumes; two sinograms of 1024 channels.
    check.that(of["median_filter3d"]["closed_form_bytes"] == 8 * n**3, "closed form of the median")
    check.that(of["ramp_filter_2048"]["closed_form_bytes"] == 8 * n * (n // 2) * 1024, "closed form of the filter")


def markdown(check, saved, data):
    r = tomoprof("bench", saved, "--markdown")
    check.that(r.returncode == 0, f"exit {r.returncode}: {r.stderr}")
    tables = [t.splitlines() for t in r.stdout.split("\n\n")[1:]]
    check.that(len(tables) == 3 and len(tables[1]) == 2 + len(data["rows"]), f"tables: {r.stdout}")
    for table in tables:
        columns = {line.count("|") for line in table}
        check.that(len(columns) == 1, f"rows of {columns} columns: {table}")
    check.that(all("not measured" in line for line in tables[0][2:]), "a target at a size that was not measured")
    check.that(len(tables[2]) == 2, "growth from one size")

    def at_targets(other):
        """The same rows as if they stood for three sizes, and some numbers that decide about a target."""
        for m in other["rows"]:
            m["size"] = 256
            if m["operation"] in ("parallel_forward_project", "parallel_back_project"):
                m.update(min=0.5, median=0.6, rate=26e9)
            if m["operation"] == "parallel_vcd_iteration":
                m["min"] = 3.5
            if m["operation"] == "cone_back_project":
                m["rate"] = 5.5e9
        other["rows"] += [dict(m, size=n) for n in (512, 128) for m in other["rows"]]

    r = tomoprof("bench", changed(saved.parent, data, "targets", at_targets), "--markdown")
    line = {row.split(" | ")[0][2:]: row for row in r.stdout.split("\n\n")[1].splitlines()[2:]}
    for name, words in (("parallel_forward_project", "26 GUP/s | yes | 2 | 0.6 |"),
                        ("cone_back_project", "5.5 GUP/s | stretch | 2 | "),
                        ("parallel_vcd_iteration", "3.5 x forward + back | no | 2 | ")):
        check.that(words in line[name], f"{line[name]} lacks {words}")
    check.that("not measured" not in r.stdout, f"{r.stdout}")
    growth = r.stdout.split("\n\n")[3].splitlines()[2:]
    check.that(len(growth) == 2 * len(OPERATIONS) and "| 128 to 512 |" in growth[0], f"{growth}")

    graph = saved.parent / "graph.svg"
    refused(check, "--svg: no operation was measured at two sizes", saved, "--svg", graph)
    check.that(not graph.exists(), "a graph of nothing was left")
    r = tomoprof("bench", saved.parent / "targets.json", "--svg", graph)
    check.that(r.returncode == 0 and not r.stdout, f"exit {r.returncode}: {r.stderr}")
    lines = ElementTree.parse(graph).getroot().findall("{http://www.w3.org/2000/svg}polyline")
    points = [line.get("points").split() for line in lines]
    check.that(len(points) == len(OPERATIONS) and all(len(p) == 3 for p in points), f"{points}")
    check.that(all(float(a.split(",")[0]) < float(b.split(",")[0]) for p in points for a, b in zip(p, p[1:])), f"{points}")


def one_row(check, folder):
    """A file with one steady row, for comparisons."""
    saved = folder / "one.json"
    args = ["bench", "--ops", "median_filter3d", "--sizes", 17, "--threads", 1, "--repeat", 1]
    r = tomoprof(*args, "--save", saved)
    check.that(r.returncode == 0, f"exit {r.returncode}: {r.stderr}")
    data = rows_of(check, saved)
    data["rows"][0]["calibration"]["after"] = dict(data["rows"][0]["calibration"]["before"])
    write_json(saved, data)
    return saved, data, args


def against(check, folder):
    saved, data, args = one_row(check, folder)

    def times(factor):
        return lambda other: [m.update(min=m["min"] * factor) for m in other["rows"]]

    def compare(now, then, *more):
        r = tomoprof("bench", now, "--against", then, *more)
        line = r.stderr.split("verdict\n")[-1].splitlines()[0].split()
        return r, line[-2:]

    r, line = compare(saved, saved, "--fail-over", 1)
    check.that(r.returncode == 0 and line == ["1.000", "same"], f"exit {r.returncode}: {r.stderr}")
    slow, fast = changed(folder, data, "slow", times(1.2)), changed(folder, data, "fast", times(0.5))
    r, line = compare(slow, saved)
    check.that(r.returncode == 0 and line == ["1.200", "slower"], f"report only: exit {r.returncode}: {r.stderr}")
    r, line = compare(slow, saved, "--fail-over", 25)
    check.that(r.returncode == 0 and line == ["1.200", "same"], f"exit {r.returncode}: {r.stderr}")
    refused(check, "1 of 1 rows are more than 10 % slower", slow, "--against", saved, "--fail-over", 10, code=1)
    r, line = compare(fast, saved, "--fail-over", 10)
    check.that(r.returncode == 0 and line == ["0.500", "faster"], f"exit {r.returncode}: {r.stderr}")

    def half(other):
        m = other["rows"][0]
        m["min"] *= 2
        for when in m["calibration"].values():
            when.update({k: v / 2 for k, v in when.items()})

    r, line = compare(changed(folder, data, "half", half), saved, "--fail-over", 1)
    check.that(r.returncode == 0 and line == ["1.000", "same"], f"half the machine: exit {r.returncode}: {r.stderr}")

    # Measured now: the file says a millionth, or a million times, of any time that can be.
    quick, endless = changed(folder, data, "quick", times(1e-6)), changed(folder, data, "endless", times(1e6))
    new = folder / "new.json"
    refused(check, "% slower", *args[1:], "--against", quick, "--fail-over", 50, "--save", new, code=1)
    check.that(len(rows_of(check, new)["rows"]) == 1, "what was measured is lost when it is slower")
    r = tomoprof(*args, "--against", endless, "--fail-over", 50)
    check.that(r.returncode == 0 and r.stderr.split()[-1] == "faster", f"exit {r.returncode}: {r.stderr}")


def wrong_files_and_calls(check, folder):
    saved, data, args = one_row(check, folder)

    def environment(**values):
        return changed(folder, data, "other", lambda other: other["environment"].update(values))

    refused(check, "instruction set sse9, this is ", saved, "--against", environment(isa="sse9"))
    refused(check, "a machine of 77 threads, this has ", saved, "--against", environment(threads=77))
    refused(check, "a machine of 77 threads, this has ", *args[1:], "--against", environment(threads=77))
    refused(check, "the back end cuda, this is cpu", saved, "--against", environment(backend="cuda"))
    refused(check, "not comparable", saved, environment(isa="sse9"))
    r = tomoprof("bench", saved, "--against", environment(cpu="Abacus 1"))
    check.that(r.returncode == 0 and "another processor, Abacus 1" in r.stderr, f"exit {r.returncode}: {r.stderr}")
    if data["environment"]["isa"] not in ("plain", "neon"):
        refused(check, "this is plain", *args[1:], "--against", saved, env={"TOMOPROF_ISA": "plain"})
    timing = write_json(folder / "timing.json", {"schema": "tomoprof-timing/1"})
    refused(check, 'of the schema "tomoprof-timing/1"', saved, "--against", timing)
    refused(check, "is there already", saved, saved)
    elsewhere = changed(folder, data, "elsewhere", lambda other: other["rows"][0].update(size=18))
    refused(check, "none of these operations, sizes and threads", saved, "--against", elsewhere)
    refused(check, "cannot read", folder / "never.json")
    refused(check, "cannot read", *args[1:], "--against", folder / "never.json")
    refused(check, "--fail-over needs --against", *args[1:], "--fail-over", 5)
    refused(check, "--sizes is for measuring", saved, "--sizes", 16)
    refused(check, "did you mean cone_vcd_iteration", "--ops", "cone_vcd_iterations")
    refused(check, "--threads: 0 is outside", "--threads", "0")
    refused(check, "--repeat 0", "--repeat", 0)
    refused(check, "never", *args[1:], "--save", folder / "never" / "x.json", code=1)


def what_cannot_be_measured_is_said(check, folder):
    """Too little memory skips a row; a child that is killed fails one. Both are in the file."""
    saved = folder / "some.json"
    r = tomoprof("bench", "--ops", "median_filter3d", "--sizes", 64, "--threads", 1, "--save", saved,
                 env={"TOMOPROF_MEMORY": "16MiB"})
    row = rows_of(check, saved)["rows"][0]
    check.that(r.returncode == 0 and row["status"] == "skipped" and "needs" in row["reason"], f"{r.returncode} {row}")
    p = subprocess.Popen([TOMOPROF, "bench", "--ops", "cone_vcd_iteration", "--sizes", "64", "--threads", "1",
                          "--repeat", "1000", "--save", saved], stderr=subprocess.PIPE, text=True)
    child = []
    while not child and p.poll() is None:
        child = pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text().split()
    os.kill(int(child[0]), signal.SIGKILL)
    _, err = p.communicate(timeout=300)
    row = rows_of(check, saved)["rows"][0]
    check.that(p.returncode == 1 and "1 of 1 rows failed" in err.splitlines()[-1], f"exit {p.returncode}: {err}")
    check.that(row["status"] == "failed" and "signal 9" in row["reason"], f"{row}")


def an_interrupt_keeps_what_there_is(check, folder):
    saved = folder / "stopped.json"
    p = subprocess.Popen([TOMOPROF, "bench", "--ops", "median_filter3d,cone_vcd_iteration", "--sizes", "8,96",
                          "--threads", "1", "--repeat", "1000", "--save", saved], stderr=subprocess.PIPE, text=True)
    said = ""
    while "median_filter3d" not in said and p.poll() is None:
        said += p.stderr.readline()
    time.sleep(0.2)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=300)
    check.that(p.returncode == 130 and "interrupted" in err.splitlines()[-1], f"exit {p.returncode}: {err}")
    data = rows_of(check, saved)
    check.that(data["interrupted"] and len(data["rows"]) == 4, f"{data['interrupted']} {len(data['rows'])}")
    check.that(data["rows"][0]["status"] == "ok" and data["rows"][3]["reason"] in ("not reached", "interrupted"), f"{data['rows']}")
    check.that(list(folder.iterdir()) == [saved], f"files left: {list(folder.iterdir())}")


if __name__ == "__main__":
    main(everything, against, wrong_files_and_calls, what_cannot_be_measured_is_said,
         an_interrupt_keeps_what_there_is)
