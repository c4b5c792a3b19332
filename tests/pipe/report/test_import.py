"""Captures of other tools become runs that hold what the captures hold. tests/data/import has real ones, made by the tools
themselves; the CUDA tables of Nsight Systems are made here, with its column names, because no GPU was at hand."""

import collections
import csv
import gzip
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

import jsonschema
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, TOMOPROF, main, newest, tomoprof

HERE = DATA / "import"
SCHEMA = json.loads((DATA.parents[1] / "profiler/analyze/model/profile.schema.json").read_text())


def imported(check, folder, file, *args, out="out"):
    done = tomoprof("import", "--out", folder / out, *args, file)
    if not check.that(done.returncode == 0, f"{file}: {done.returncode} {done.stderr}"):
        return None
    run = newest(folder / out)
    check.that((run / "report.html").stat().st_size > 10000, f"{file}: no page")
    profile = json.loads((run / "profile.json").read_text())
    jsonschema.validate(profile, SCHEMA)
    for c in profile["quality"]["checks"]:
        check.that(c["ok"], f"{file}: {c}")
    return profile


def total(profile, column):
    return sum(v or 0 for v in profile["stacks"][column])


def names_of(profile, node):
    """Functions from the leaf to the root."""
    stacks, frames = profile["stacks"], profile["frames"]
    while node is not None:
        yield frames["function"][stacks["frame"][node]], frames["kind"][stacks["frame"][node]]
        node = stacks["parent"][node]


def by_function(profile, column, inclusive):
    sums = collections.Counter()
    for node, value in enumerate(profile["stacks"][column]):
        names = [name for name, _ in names_of(profile, node)]
        for name in set(names) if inclusive else names[:1]:
            sums[name] += value or 0
    return sums


def nsys_sums_are_its_own(check, folder):
    file = HERE / "three_parts.sqlite.gz"
    done = tomoprof("import", "--out", folder / "probe", file)
    if "libsqlite3" in done.stderr:
        print("this build has no libsqlite3: Nsight Systems' captures were not read")
        return
    profile = imported(check, folder, file)
    database = sqlite3.connect(":memory:")
    database.deserialize(gzip.decompress(file.read_bytes()))
    # CPU time of the threads that have samples, by the scheduler's events
    since, cpu = {}, collections.Counter()
    for at, scheduled, thread in database.execute("SELECT start, isSchedIn, globalTid FROM SCHED_EVENTS ORDER BY start"):
        if scheduled:
            since[thread] = at
        elif thread in since:
            cpu[thread] += at - since.pop(thread)
    stop = database.execute("SELECT stopTime FROM ANALYSIS_DETAILS").fetchone()[0]
    for thread, at in since.items():
        cpu[thread] += max(stop - at, 0)
    sampled = {t for (t,) in database.execute("SELECT DISTINCT globalTid FROM COMPOSITE_EVENTS")}
    expected = sum(cpu[t] for t in sampled)
    check.that(abs(total(profile, "cpu_ns") - expected) <= 0.03 * expected, f"CPU {total(profile, 'cpu_ns')}, the scheduler's events say {expected}")
    check.that(by_function(profile, "cpu_ns", True)["work"] > 0.9 * total(profile, "cpu_ns"), "work has not most of the time")
    check.that(sum(v or 0 for v in [profile["totals"]["cpu"]["samples"]]) == database.execute("SELECT count(*) FROM COMPOSITE_EVENTS").fetchone()[0], "samples")
    waited = by_function(profile, "wait_ns", True)["nanosleep"] or by_function(profile, "wait_ns", True)["clock_nanosleep"]
    check.that(0.095e9 < waited < 0.16e9, f"five sleeps of 20 ms: {waited} ns")
    done = tomoprof("export", newest(folder / "out"), "--to", "nvtx", "--out", folder / "nvtx.csv")
    theirs = list(csv.DictReader((HERE / "three_parts_nvtx.csv").open()))
    ours = list(csv.DictReader((folder / "nvtx.csv").open()))
    check.that(done.returncode == 0 and ours == theirs, f"NVTX statistics {ours}, nsys stats prints {theirs}")


def torch_operators_are_its_table(check, folder):
    profile = imported(check, folder, HERE / "torch_step.json.gz")
    own = by_function(profile, "cpu_ns", False)
    table = sorted(json.loads((HERE / "torch_step_table.json").read_text()), key=lambda r: -r["self_cpu_us"])
    # Annotations around Python code (record_function) are left out: with stacks, PyTorch's table counts only some of the Python in them.
    operators = [row for row in table if "::" in row["name"] or row["name"].endswith("Backward0")]
    check.that(len(operators) >= 20, f"{len(operators)} operators")
    for row in operators:
        check.that(abs(own[row["name"]] / 1e3 - row["self_cpu_us"]) <= 1 + 0.01 * row["self_cpu_us"], f"{row['name']}: {own[row['name']] / 1e3} us, its table has {row['self_cpu_us']}")
    check.that(profile["totals"]["cpu"]["sys"] is None and profile["totals"]["cpu"]["wait"] is None, "what the capture does not tell is not null")
    check.that(profile["totals"]["alloc_mb"] > 1, "no allocations")
    step = next(r for r in profile["ranges"] if r["name"] == "step")
    check.that(step["time"]["n"] == 2, f"{step}")
    lines = {(path, line["line"]) for path, f in profile["files"].items() for line in f["lines"]}
    check.that(any(path.endswith("step.py") for path, _ in lines), f"{lines}")


def jax_twice_the_same(check, folder):
    a = imported(check, folder, HERE / "jax_step.json.gz", out="a")
    b = imported(check, folder, HERE / "jax_step.xplane.pb", out="b")
    fa, fb = by_function(a, "cpu_ns", False), by_function(b, "cpu_ns", False)
    # The saved file is older than the modules in the export.
    check.that(total(a, "cpu_ns") > 0 and abs(total(a, "cpu_ns") - total(b, "cpu_ns")) < 1000 * len(fa), f"{total(a, 'cpu_ns')} and {total(b, 'cpu_ns')} ns")
    check.that(set(fa) == set(fb), f"only in one: {set(fa) ^ set(fb)}")
    check.that("jaxrun.py" in " ".join(a["files"]), "no line of the program")


def perf_counts_every_sample(check, folder):
    text = (HERE / "three_parts.perf.txt").read_text()
    profile = imported(check, folder, HERE / "three_parts.perf.txt")
    periods = [int(m) for m in re.findall(r"^\S.*?\d+\.\d+:\s+(\d+) cpu-clock", text, re.M)]
    check.that(periods and total(profile, "cpu_ns") == sum(periods), f"{total(profile, 'cpu_ns')} ns, the text has {sum(periods)}")
    check.that(profile["totals"]["cpu"]["samples"] == len(periods), "number of samples")
    shares = by_function(profile, "cpu_ns", True)
    check.that(shares["work"] > 0.8 * sum(periods), f"{shares}")


def stacks_with_lines(check, folder):
    counts = [line.rsplit(" ", 1) for line in (HERE / "pyspy.folded").read_text().splitlines()]
    profile = imported(check, folder, HERE / "pyspy.folded", "--rate", "100")
    check.that(total(profile, "cpu_ns") == 10**7 * sum(int(n) for _, n in counts), "folded: not its counts")
    line = next(l for path, f in profile["files"].items() if path.endswith("pyprog.py") for l in f["lines"] if l["line"] == 3)
    want = sum(int(n) for stack, n in counts if stack.endswith("(pyprog.py:3)")) / 100
    check.that(abs(line["cpu"]["user"] - want) < 1e-9, f"line 3: {line['cpu']['user']}, not {want}")
    (folder / "empty.folded").write_text("a;b 2\n 3\n")  # py-spy writes a thread without frames so
    check.that(total(imported(check, folder, folder / "empty.folded"), "cpu_ns") == 5, "a stack without frames")
    profile = imported(check, folder, HERE / "pyspy.folded", out="counts")  # without a rate: samples, of unknown length
    all_, first = sum(int(n) for _, n in counts), profile["answers"][0]
    check.that(profile["environment"].get("import.unit") == "samples" and profile["totals"]["cpu"]["samples"] == all_, f"counts: {profile['environment']}, {profile['totals']['cpu']}")
    check.that(first["text"].startswith(f"pyprog.py:3 takes {100 * want * 100 / all_:.0f} % of the CPU time ({want * 100:.0f} of {all_} samples)") and first["gain_s"] is None, f"the answer of counts: {first}")
    run = next(path.parent for path in (folder / "counts").glob("*/profile.json"))
    text = tomoprof("report", "--text", run).stdout
    check.that(f"{all_} samples" in text and not re.search(r"0\.0000|saves up to", text), f"report --text of counts: {text}")
    (folder / "ns.folded").write_text("main;a 3000000000\nmain;b 12\n")  # as tomoprof exports: nobody takes a million samples of one stack
    profile = imported(check, folder, folder / "ns.folded", out="ns")
    check.that("import.unit" not in profile["environment"] and total(profile, "cpu_ns") == 3 * 10**9 + 12, f"nanoseconds: {profile['environment']}")
    file = json.loads((HERE / "pyspy.speedscope.json").read_text())
    profile = imported(check, folder, HERE / "pyspy.speedscope.json")
    want = sum(sum(p["weights"]) for p in file["profiles"])
    check.that(abs(total(profile, "cpu_ns") - 1e9 * want) < 1000, f"speedscope: {total(profile, 'cpu_ns')}, not {want} s")
    for unit, weights, column in (("nanoseconds", [3 * 10**9 + 1, 5], "cpu_ns"), ("bytes", [7 * 10**9, 1], "alloc_bytes"), ("seconds", [3600.000000001, 2], "cpu_ns")):
        big = {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}, {"name": "g"}]},
               "profiles": [{"type": "sampled", "name": "t", "unit": unit, "startValue": 0, "endValue": sum(weights), "samples": [[0], [0, 1]], "weights": weights}]}
        (folder / "big.speedscope.json").write_text(json.dumps(big))
        want = round(sum(weights) * (10**9 if unit == "seconds" else 1))
        found = total(imported(check, folder, folder / "big.speedscope.json"), column)
        check.that(found == want, f"speedscope, {unit}: {found}, not {want}")


GLOBAL = 1 << 48 | 77 << 24
CUDA = {
    "META_DATA_EXPORT": ("name TEXT, value TEXT", [("EXPORT_PRODUCT_VERSION", "made")]),
    "StringIds": ("id INTEGER, value TEXT", [(1, "cudaLaunchKernel_v7000"), (2, "back_project(float *)"), (3, "cudaMemcpy_v3020")]),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER",
                                    [(1000, 1500, GLOBAL | 77, 5, 1, 0), (2000, 9000, GLOBAL | 77, 6, 3, 0)]),
    "CUPTI_ACTIVITY_KIND_KERNEL": ("start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
                                   "demangledName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER",
                                   [(1800, 5800, 0, 1, 7, 5, GLOBAL, 2, 32, 8, 4, 1, 256, 1, 1)]),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, "
                                   "srcKind INTEGER, dstKind INTEGER", [(5000, 8000, 0, 8, 6, GLOBAL, 4096, 1, 1, 2)]),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": ("start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, globalPid INTEGER, graphId INTEGER", [(10000, 12000, 0, 7, GLOBAL, 3)]),
    "TARGET_INFO_GPU": ("id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER", [(0, "Made GPU", 1 << 30, 10)]),
}


def database(path, tables):
    db = sqlite3.connect(path)
    for name, (columns, rows) in tables.items():
        db.execute(f"CREATE TABLE {name} ({columns.replace('end ', chr(34) + 'end' + chr(34) + ' ')})")
        for row in rows:
            db.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(row))})", row)
    db.commit()
    db.close()
    return path


def cuda_tables_of_nsys(check, folder):
    path = database(folder / "made.sqlite", CUDA)
    if "libsqlite3" in tomoprof("import", "--out", folder / "probe", path).stderr:
        return
    profile = imported(check, folder, path)
    kernels = {k["name"]: k for k in profile["kernels"]}
    check.that(abs(kernels["back_project(float *)"]["time"]["total_s"] - 4e-6) < 1e-12, f"{kernels}")
    check.that(kernels["back_project(float *)"]["variants"][0]["grid"] == [8, 4, 1], f"{kernels}")
    check.that(abs(kernels["back_project(float *)"]["queue_s"] - 0.3e-6) < 1e-12, "queue")
    copy = profile["transfers"][0]
    check.that((copy["direction"], copy["from"], copy["to"], copy["bytes"]) == ("h2d", "pinned", "device", 4096), f"{copy}")
    check.that(abs(profile["totals"]["gpu_busy_s"] - 8.2e-6) < 1e-12 and abs(profile["totals"]["gpu_sum_s"] - 9e-6) < 1e-12, f"{profile['totals']}")
    check.that({a["name"] for a in profile["apis"]} == {"cudaLaunchKernel", "cudaMemcpy"}, "versions of calls")
    check.that(by_function(profile, "gpu_ns", True)["cudaLaunchKernel"] == 4000, "the kernel is not below the call that launched it")
    flows = [tuple(profile["flows"][key][i] for key in ("called", "kind", "stream", "began")) for i in range(len(profile["flows"]["kind"]))]
    check.that(sorted(flows) == [(0, "kernel", 7, 800), (1000, "copy", 8, 4000)], f"from calls to operations: {flows}")
    check.that(any(i["id"] == "import_graphs" for i in profile["quality"]["items"]), "nothing says that graphs were traced whole")
    check.that(profile["devices"][0]["name"] == "Made GPU", f"{profile['devices']}")


# As ncu 2024 prints them; the numbers are made.
NCU_HEAD = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC"'
NCU_RAW = f"""==PROF== Connected to process 1234 (/usr/bin/python3)
==PROF== Profiling "back_project": 0%....50%....100% - 2 passes
{NCU_HEAD},"dram__bytes_read.sum","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum","launch__registers_per_thread","launch__shared_mem_per_block_static","sm__maximum_warps_per_active_cycle_pct","sm__warps_active.avg.pct_of_peak_sustained_active"
"","","","","","","","","","","","Gbyte","%","usecond","register/thread","Kbyte/block","%","%"
"0","1234","/usr/bin/python3","secret-host","back_project(float *, int)","1","7","(256, 1, 1)","(8, 4, 1)","0","9.0","2.5","80","2,000.5","32","1.5","75","50"
"1","1234","/usr/bin/python3","secret-host","ramp<""a"", 3>(float *)","1","7","(128, 1, 1)","(80, 1, 1)","0","9.0","0.5","n/a","3","16","0","100","25"
"2","1234","/usr/bin/python3","secret-host","back_project(float *, int)","1","7","(256, 1, 1)","(8, 4, 1)","0","9.0","2.5","60","1,000.5","32","1.5","75","20"
==PROF== Disconnected from process 1234
"""
NCU_LONG_HEAD = '"ID","Process ID","Process Name","Host Name","Kernel Name","Kernel Time","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"'


# --page source --print-source cuda,sass: a row of each line, and below it those of its instructions.
NCU_SOURCE = """"Kernel Name","back_project(float *, int)"
"File Path","/src/recon/back.cu"
"Line No","Source","Address","Source","Warp Stall Sampling (All Samples)","Instructions Executed","stall_long_sb","stall_long_sb (not issued)","stall_mio","stall_selected","L2 Theoretical Sectors Global","L2 Theoretical Sectors Global Excessive","L1 Wavefronts Shared","L1 Wavefronts Shared Excessive"
"12","  float x = in[i * n];","","","800","64","700","650","0","60","8,000","7,000","-","-"
"","","0x7f10","LDG.E R0, [R2] ;","800","64","700","650","0","60","8,000","7,000","-","-"
"13","  part[t * 32] += x;","","","200","64","0","0","150","30","-","-","3200","3100"
"...","","","","","","","","","","","","",""
"Kernel Name","ramp<""a"", 3>(float *)"
"Address","Source","Warp Stall Sampling (All Samples)","stall_barrier"
"0x10","BAR.SYNC ;","7","7"
"""


def ncu_rows(rows):
    return "".join(f'"{i}","7","app","host","{kernel}","2020-Apr-07 17:01:05","1","7","Any","{metric}","{unit}","{value}"\n' for i, kernel, metric, unit, value in rows)


def tables_of_ncu(check, folder):
    (folder / "raw.csv").write_text(NCU_RAW)
    profile = imported(check, folder, folder / "raw.csv")
    kernels = {k["name"]: k for k in profile["kernels"]}
    k, other = kernels["back_project(float *, int)"], kernels['ramp<"a", 3>(float *)']
    check.that(k["time"]["n"] == 2 and abs(k["time"]["total_s"] - 3001e-6) < 1e-12, f"{k['time']}")
    check.that((k["dram_read_bytes"], k["dram_write_bytes"], other["dram_read_bytes"]) == (5e9, None, 5e8), f"bytes: {k} {other}")
    check.that(abs(k["memory_share"] - (0.8 * 2000.5 + 0.6 * 1000.5) / 3001) < 1e-9 and other["memory_share"] is None, "share of the memory's peak, weighted by time")
    check.that(abs(k["occupancy_achieved"] - (0.5 * 2000.5 + 0.2 * 1000.5) / 3001) < 1e-9 and k["compute_share"] is None, f"{k}")
    v = k["variants"][0]
    check.that((v["grid"], v["block"], v["registers"], v["static_shared"], v["dynamic_shared"], v["occupancy"]) == ([8, 4, 1], [256, 1, 1], 32, 1500, None, 0.75), f"{v}")
    t = profile["totals"]
    check.that((t["kernels"], t["gpu_busy_s"], t["copy_s"], t["h2d_bytes"], profile["timeline"]) == (3, None, None, None, []), f"what ncu does not know is not null: {t}")
    check.that("secret-host" not in json.dumps(profile) and profile["processes"][0]["program"] == "python3", "names of the machine")
    old = NCU_LONG_HEAD + "\n" + ncu_rows([(0, "a", "Duration", "us", "5.00"), (0, "a", "Registers Per Thread", "register/thread", "40"), (1, "b", "gpu__time_duration.sum", "nsecond", "1,250"),
                                           (1, "b", "dram__bytes_read.sum", "parsec", "3"), (2, "c", "Duration", "us", "n/a")]) + '"3","7"\n'
    (folder / "old.csv").write_text(old)
    profile = imported(check, folder, folder / "old.csv")
    check.that({k["name"]: k["time"]["total_s"] for k in profile["kernels"]} == {"a": 5e-6, "b": 1.25e-6}, f"{profile['kernels']}")
    check.that({i["id"]: i["count"] for i in profile["quality"]["items"] if i["count"]} == {"import_damaged": 1, "import_no_time": 1, "import_unit": 1}, f"{profile['quality']}")
    (folder / "none.csv").write_text(NCU_HEAD + "\n")
    done = tomoprof("import", "--out", folder / "none", folder / "none.csv")
    check.that(done.returncode == 2 and "gpu__time_duration" in done.stderr, f"a table without rows: {done.stderr}")


def lines_of_ncu(check, folder):
    (folder / "both.csv").write_text(NCU_RAW + NCU_SOURCE)
    profile = imported(check, folder, folder / "both.csv")
    kernels = profile["kernels"]
    rows = {row["line"]: row for row in profile["device_lines"]}
    k = next(k for k in kernels if k["name"] == "back_project(float *, int)")
    check.that(set(rows) == {12, 13, None} and rows[12]["file"].endswith("recon/back.cu"), f"{rows}")
    stalls = {line: {s["reason"]: s["samples"] for s in row["stalls"]} for line, row in rows.items()}
    check.that(stalls == {12: {"memory": 700, "issues": 60, "other": 40}, 13: {"shared_queue": 150, "issues": 30, "other": 20}, None: {"barrier": 7}}, f"{stalls}")
    check.that((rows[12]["sectors"], rows[12]["sectors_ideal"], rows[12]["wavefronts"]) == (8000, 1000, None), f"{rows[12]}")
    check.that((rows[13]["wavefronts"], rows[13]["wavefronts_ideal"], rows[13]["sectors"]) == (3200, 100, None), f"{rows[13]}")
    check.that(abs(rows[12]["s"] - 0.8 * k["time"]["total_s"]) < 1e-12 and rows[12]["share"] == 0.8 and kernels[rows[12]["kernel"]] is k, f"{rows[12]}")
    told = {f["id"]: ([p["line"] for p in f["lines"]], f["evidence"]) for f in profile["findings"]}
    check.that(told["gpu.uncoalesced"][0] == [12] and "8000 sectors of 32 bytes of memory where 1000 would do" in told["gpu.uncoalesced"][1], f"{told}")
    check.that(told["gpu.bank_conflicts"][0] == [13] and "3200 passes through shared memory where 100 would do" in told["gpu.bank_conflicts"][1], f"{told}")
    check.that(told["gpu.memory_wait"][0] == [12] and "700 of the kernel's 1000 samples" in told["gpu.memory_wait"][1], f"{told}")
    (folder / "alone.csv").write_text(NCU_SOURCE)
    profile = imported(check, folder, folder / "alone.csv")
    rows = {row["line"]: (row["samples"], row["share"], row["s"]) for row in profile["device_lines"]}
    check.that(rows == {12: (800, 0.8, None), 13: (200, 0.2, None), None: (7, 1, None)}, f"without launches: {rows}")


def stand_for(folder, name, text):
    """A program of that name that records nothing: it runs the command and leaves what the tool would."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / name).write_text("#!/bin/sh\n" + text)
    (folder / "bin" / name).chmod(0o755)
    return {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


TO_OUTPUT = """[ "$1" = %s ] && { %s; exit; }
while [ "$1" != -o ]; do words="$words $1"; shift; done
out=$2; shift 2; "$@"; status=$?; echo "$words" >"$out"; exit $status
"""


def recording_with_nvidias_tools(check, folder):
    """Fakes in their place, with what the real ones leave: beside our page, their totals are their own."""
    mark, command = folder / "runs", ["--", "/bin/sh", "-c", f"echo ran >>'{folder / 'runs'}'"]
    printed = f"""case "$*" in *source*) cat '{folder / 'source.csv'}' ;; *) cat '{folder / 'raw.csv'}' ;; esac"""
    env = stand_for(folder, "ncu", TO_OUTPUT % ("--import", printed))
    (folder / "raw.csv").write_text(NCU_RAW)
    (folder / "source.csv").write_text(NCU_SOURCE)
    done = tomoprof("record", "--with", "ncu", "--out", folder / "out", *command, env=env)
    run = newest(folder / "out")
    check.that(done.returncode == 0 and "report.html#compare" in done.stderr and mark.read_text() == "ran\nran\n", f"--with ncu: {done.returncode} {done.stderr}")
    words = (run / "ncu/capture.ncu-rep").read_text()
    check.that("--set basic" in words and "--clock-control none" in words and "--section SourceCounters" in words, f"ncu was called with {words}")
    lines = json.loads((run / "ncu/profile.json").read_text())["device_lines"]
    check.that({row["line"] for row in lines} == {12, 13, None}, f"lines inside kernels: {lines}")
    beside = json.loads((run / "compare.json").read_text())
    rows = {(q["group"], q["name"]): q for q in beside["quantities"]}
    q = rows["kernel", "back_project(float *, int)"]
    check.that((q["a"], q["count_b"]) == (None, 2) and abs(q["b"] - 3001e-6) < 1e-12, f"{q}")
    check.that(b'id="data-compare"' in (run / "report.html").read_bytes(), "the report has no comparison")
    env = stand_for(folder, "nsys", TO_OUTPUT % ("export", f"gzip -dc '{HERE / 'three_parts.sqlite.gz'}' >\"$5\""))
    done = tomoprof("record", "--with", "nsys", "--out", folder / "out", *command, env=env)
    if "libsqlite3" in done.stderr:
        return
    run = newest(folder / "out")
    check.that(done.returncode == 0, f"--with nsys: {done.stderr}")
    rows = {(q["group"], q["name"]): q for q in json.loads((run / "compare.json").read_text())["quantities"]}
    for theirs in csv.DictReader((HERE / "three_parts_nvtx.csv").open()):
        q = rows["range", theirs["Range"]]
        check.that(q["count_b"] == int(theirs["Instances"]) and round(q["b"] * 1e9) == int(theirs["Total Time (ns)"]), f"{q}, nsys stats prints {theirs}")
    theirs = json.loads((run / "nsys/profile.json").read_text())
    q = rows["total", "CPU time"]
    check.that(abs(q["b"] - total(theirs, "cpu_ns") * 1e-9) < 1e-9 and q["count_b"] == theirs["totals"]["cpu"]["samples"], f"{q}")
    again = tomoprof("report", run)
    check.that(again.returncode == 0 and b'id="data-compare"' in (run / "report.html").read_bytes(), "made again, the page lost the comparison")


def own_operations_are_judged(check, folder):
    """NVTX ranges of our domain in a capture of Nsight Systems: with the size, the operations have verdicts."""
    ranges = [(0, None, 75, "tomoprof", None, GLOBAL | 77, 1)] + [(at, at + length, 59, name, None, GLOBAL | 77, 1) for at, length, name in (
        (1000, 90_000_000, "parallel_fbp_recon"), (2000, 60_000_000, "parallel_fbp_filter"), (62_000_000, 20_000_000, "parallel_back_project"))]
    tables = {**CUDA, "NVTX_EVENTS": ("start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER, domainId INTEGER", ranges)}
    path = database(folder / "own.sqlite", tables)
    done = tomoprof("import", "--out", folder / "out", path)
    if "libsqlite3" in done.stderr:
        return
    check.that(done.returncode == 0 and "--size N" in done.stderr and not (newest(folder / "out") / "triage.json").exists(), f"without --size: {done.stderr}")
    imported(check, folder, path, "--size", "64", out="sized")
    verdicts = {c["operation"]: c for c in json.loads((newest(folder / "sized") / "triage.json").read_text())["candidates"]}
    check.that("parallel_back_project" in verdicts and all(c["verdict"] in ("HIGH", "MEDIUM", "LOW", "NO") for c in verdicts.values()), f"{verdicts}")
    check.that(b'id="data-triage"' in (newest(folder / "sized") / "report.html").read_bytes(), "the page has no verdicts")
    done = tomoprof("import", "--size", "64", "--out", folder / "other", HERE / "three_parts.perf.txt")
    check.that(done.returncode == 0 and "nothing was judged" in done.stderr, f"{done.stderr}")


def hostile_databases(check, folder):
    if "libsqlite3" in tomoprof("import", "--out", folder / "probe", database(folder / "x.sqlite", CUDA)).stderr:
        return
    tables = {k: v for k, v in CUDA.items() if k not in ("StringIds", "TARGET_INFO_GPU")}
    path = database(folder / "view.sqlite", tables)
    db = sqlite3.connect(path)
    db.execute("CREATE VIEW StringIds AS SELECT 1 AS id, 'x' AS value")  # a view where a table should be
    db.commit()
    db.close()
    done = tomoprof("import", "--out", folder / "out", path)
    check.that(done.returncode == 2 and "did not export" in done.stderr, f"a view: {done.returncode} {done.stderr}")
    odd = dict(CUDA)
    odd["CUPTI_ACTIVITY_KIND_KERNEL"] = (CUDA["CUPTI_ACTIVITY_KIND_KERNEL"][0].replace(" INTEGER", ""), [("soon", None, "gpu", 1, 7, 5, GLOBAL, 2, 32, 8, 4, 1, 256, 1, 1)])
    profile = imported(check, folder, database(folder / "odd.sqlite", odd))
    check.that(any(i["id"] == "import_damaged" and i["count"] == 1 for i in profile["quality"]["items"]), "a row without times is not counted")


def compares_with_other_tools(check, folder):
    imported(check, folder, HERE / "three_parts.perf.txt", out="a")
    b = imported(check, folder, HERE / "pyspy.folded", "--rate", "100", out="b")
    done = tomoprof("compare", "--json", "--out", folder / "compare.html", newest(folder / "a"), newest(folder / "b"))
    check.that(done.returncode == 0, done.stderr)
    functions = {f["name"]: f for f in json.loads(done.stdout)["functions"]}
    want = by_function(b, "cpu_ns", True)["project"] / total(b, "cpu_ns")
    check.that(abs(functions["project"]["b"] - want) < 1e-9 and functions["work"]["a"] > 0.8, f"{functions}")
    check.that("work" in tomoprof("compare", newest(folder / "a"), newest(folder / "b")).stdout, "the text has no functions")


def recording_with_another_tool(check, folder):
    """Refused before anything runs; where perf can record here, both lie beside each other."""
    mark = folder / "ran"
    for word, code, text in (("perf", 1, "not in PATH"), ("nsys", 1, "not in PATH"), ("ncu", 1, "not in PATH"), ("vtune", 2, "perf, nsys or ncu")):
        done = tomoprof("record", "--with", word, "--out", folder / "out", "--", shutil.which("touch"), mark, env={"PATH": str(folder)})
        check.that(done.returncode == code and text in done.stderr and not mark.exists(), f"--with {word}: {done.returncode} {done.stderr}")
    trial = ["perf", "record", "-e", "cpu-clock", "-g", "-o", str(folder / "trial"), "--", "true"]
    if not shutil.which("perf") or subprocess.run(trial, capture_output=True).returncode:
        print("perf cannot record here: record --with perf was not run")
        return
    done = tomoprof("record", "--with", "perf", "--out", folder / "out", "--", shutil.which("python3"), "-c", "sum(i * i for i in range(10**7))")
    run = newest(folder / "out")
    check.that(done.returncode == 0 and (run / "compare.json").exists() and (run / "perf/report.html").stat().st_size > 10000, f"{done.stderr}")
    profile = json.loads((run / "perf/profile.json").read_text())
    jsonschema.validate(profile, SCHEMA)
    check.that(profile["environment"]["import.tool"] == "perf", f"{profile['environment']}")


def callgrind_is_its_own_table(check, folder):
    """The numbers are those of callgrind_annotate, with and without --inclusive=yes, of the same file."""
    file = HERE / "parts.callgrind"
    done = tomoprof("import", "--out", folder / "none", file)
    check.that(done.returncode == 2 and "--rate HZ" in done.stderr, f"instructions are not time: {done.returncode} {done.stderr}")
    profile = imported(check, folder, file, "--rate", "1e9")
    own, all_ = by_function(profile, "cpu_ns", False), by_function(profile, "cpu_ns", True)
    check.that(total(profile, "cpu_ns") == 104935, f"{total(profile, 'cpu_ns')} instructions")
    check.that([own[f] for f in ("work", "main", "project", "filter", "correct", "down'2", "down")] == [104056, 30, 7, 6, 5, 39, 14], f"{own}")
    check.that([all_[f] for f in ("project", "filter", "correct")] == [60015, 30014, 10013], f"{all_}")
    lines = {line["line"]: line["cpu"]["user"] for path, f in profile["files"].items() if path.endswith("parts.c") for line in f["lines"]}
    check.that(abs(lines[4] - 104056e-9) < 1e-12 and profile["totals"]["cpu"]["wait"] is None, f"{lines}")
    check.that("import_no_stacks" in {i["id"] for i in profile["quality"]["items"]}, "nothing says that the stacks are put together")


def wrong_files_say_what_is_wrong(check, folder):
    torch = (HERE / "torch_step.json.gz").read_bytes()
    cases = {"cut.json.gz": (torch[:5000], 2, "gzip"), "noise": (bytes(range(1, 200)), 2, "first bytes"), "empty": (b"", 2, "0 bytes"),
             "events.json": (b'{"traceEvents": []}', 2, "no events"), "counts.json": (b'{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}]}, '
                              b'"profiles": [{"type": "sampled", "name": "p", "unit": "none", "startValue": 0, "endValue": 1, "samples": [[0]], "weights": [1]}]}', 2, "--rate")}
    for name, (data, code, word) in cases.items():
        (folder / name).write_bytes(data)
        done = tomoprof("import", "--out", folder / "out", folder / name)
        check.that(done.returncode == code and word in done.stderr and done.stderr.count("\n") == 1, f"{name}: {done.returncode} {done.stderr}")
    check.that(not (folder / "out").exists(), "a refused file left a run")
    (folder / "perf.data").write_bytes(b"PERFILE2" + bytes(100))
    done = tomoprof("import", "--out", folder / "out", folder / "perf.data", env={"PATH": str(folder)})
    check.that(done.returncode == 1 and "perf is not installed" in done.stderr, f"without perf: {done.returncode} {done.stderr}")
    for tool in ("nsys", "ncu"):
        (folder / f"x.{tool}-rep").write_bytes(b"closed")
        done = tomoprof("import", "--out", folder / "out", folder / f"x.{tool}-rep", env={"PATH": str(folder)})
        check.that(done.returncode == 1 and f"{tool} is not installed" in done.stderr, f"without {tool}: {done.returncode} {done.stderr}")


def memory_is_limited(check, folder):
    """TOMOPROF_MEMORY holds for what inflates, and for the model of many small events."""
    with gzip.open(folder / "spaces.json.gz", "wb", 9) as f:
        f.write(b'{"schemaVersion":1,"traceEvents":[')
        for _ in range(250):
            f.write(b" " * 1000000)
        f.write(b"]}")
    with open(folder / "events.json", "w") as f:
        f.write('{"schemaVersion":1,"traceEvents":[')
        f.writelines('{"ph":"X","cat":"cpu_op","name":"f%d","pid":1,"tid":%d,"ts":%d,"dur":1},\n' % (i, i % 9, 2 * i) for i in range(120000))
        f.write("{}]}")
    cases = [("spaces.json.gz", "64MiB", "MiB available (limited by TOMOPROF_MEMORY)"), ("events.json", "24MiB", "no memory")]
    if os.environ.get("TP_SANITIZE") == "ON":  # whose address space is not limited
        cases.pop()
    for name, limit, words in cases:
        pid = os.posix_spawn(TOMOPROF, [TOMOPROF, "import", str(folder / name), "--out", str(folder / "out")], {**os.environ, "TOMOPROF_MEMORY": limit},
                             file_actions=[(os.POSIX_SPAWN_OPEN, 2, str(folder / "said"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)])
        _, status, used = os.wait4(pid, 0)
        said = (folder / "said").read_text()
        check.that(os.waitstatus_to_exitcode(status) == 1 and words in said and said.count("\n") == 1, f"{name}: {status}, {said}")
        if not os.environ.get("TP_SANITIZE") == "ON":
            check.that(used.ru_maxrss < 150 << 10, f"{name}: {used.ru_maxrss} KiB")
    check.that(not (folder / "out").exists(), "left a run")


if __name__ == "__main__":
    main(nsys_sums_are_its_own, torch_operators_are_its_table, jax_twice_the_same, perf_counts_every_sample, stacks_with_lines, cuda_tables_of_nsys,
         tables_of_ncu, lines_of_ncu, recording_with_nvidias_tools, own_operations_are_judged, hostile_databases, compares_with_other_tools, recording_with_another_tool, callgrind_is_its_own_table,
         wrong_files_say_what_is_wrong, memory_is_limited)
