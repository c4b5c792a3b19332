"""What a recording says of its own cost: calls that are known in number are told, each at the cost that was measured for one,
and wrappers that cost too much go, which is said; what they would have recorded is unknown then, not 0."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, newest, of_samples, profile, run
from trace_file import traces  # noqa: E402

TARGETS = pathlib.Path(__file__).resolve().parents[1] / "targets"
NEVER, SOON = "1", "0.000001"  # the share of CPU time at which wrappers go
LEAST_S = 0.2e-9  # a call costs no less on any machine: some ten instructions


def storm(check, folder, share, *words, options=()):
    """What the program says of itself, bare and recorded, and the profile."""
    program = compiled(folder, "storm", (TARGETS / "storm.c").read_text(), "-O2", "-fno-builtin-malloc", "-pthread")
    if not program:
        print("skipped: no C compiler")
        return None, None
    env = dict(os.environ, TOMOPROF_CAPTURE_CALLS=share, TOMOPROF_CAPTURE_ALLOC_MEAN="65536", TOMOPROF_CAPTURE_COPY_MEAN="65536")
    done = run(command(folder / "runs", *options, "--", program, *words), env=env)
    check.must(done.returncode == 0, f"{words}: {done}")
    return json.loads(done.stdout), profile(folder / "runs")


def parts(p):
    return {row["part"]: row for row in p["quality"]["overhead"]}


def ids(p):
    return {item["id"] for item in p["quality"]["items"]}


def check_calls(check, what, truth, p, kinds):
    rows = parts(p)
    for kind in kinds:
        row, known = rows.get(f"{kind} calls"), truth[kind]
        if not check.that(row is not None, f"{what}: no row for calls of {kind}"):
            continue
        # a call counts as 16 bytes more than it moves: 800 samples at least, a standard error of 3.5 %
        check.that(abs(row["calls"] - known) <= 0.12 * known, f"{what}: {row['calls']} calls of {kind} instead of {known}")
        check.must(row["s"] >= LEAST_S * row["calls"] * 0.99, f"{what}: {row['s']} s for {row['calls']} calls of {kind}")
    q = p["quality"]
    cpu = p["totals"]["cpu"]["user"] + p["totals"]["cpu"]["sys"]
    told = sum(row["s"] for row in q["overhead"])
    check.must(abs(q["overhead_share"] * cpu - told) <= 1e-6 * told, f"{what}: share {q['overhead_share']} of {cpu} s is not {told} s")


@of_samples
def calls_are_told(check, folder):
    for words, kinds in ((("malloc", 4000000), ("malloc", "free")), (("copy", 10000000), ("copy",)),
                         (("threads", 2000000), ("malloc", "free", "copy")), (("tiny", 8000000), ("malloc", "copy"))):
        truth, p = storm(check, folder, NEVER, *words)
        if not truth:
            return
        check_calls(check, words[0], truth, p, kinds)
        check.must(not ids(p) & {"malloc.off", "copies.off"}, f"{words}: {ids(p)}")


@of_samples
def a_calm_program_keeps_its_wrappers(check, folder):
    truth, p = storm(check, folder, "0.02", "calm", 600000)
    if not truth:
        return
    check_calls(check, "calm", truth, p, ("malloc", "free"))
    check.that("malloc.off" not in ids(p), f"calm: {ids(p)}")
    check.must(p["totals"]["peak_heap_mb"] is not None, "calm: no peak")


@of_samples
def wrappers_that_cost_too_much_go(check, folder):
    truth, p = storm(check, folder, SOON, "malloc", 20000000)
    if not truth:
        return
    told = parts(p)["malloc calls"]["calls"]
    check.that("malloc.off" in ids(p), f"malloc: {ids(p)}")
    check.that(0 < told < 0.9 * truth["malloc"], f"malloc: {told} calls told of {truth['malloc']}, as if all came to the wrapper")
    rows = [line["mem"] for f in p["files"].values() for line in f["lines"] if line["mem"] and line["mem"]["n"]]
    check.that(rows and all(row["alloc_mb"] > 0 for row in rows), "malloc: what was allocated before is not there")
    unknown = ("error_mb", "peak_mb", "at_peak_mb", "avg_mb", "live_end_mb", "leak_score")
    check.that(all(row[k] is None for row in rows for k in unknown), f"malloc: known all the same: {rows}")
    check.that(p["totals"]["peak_heap_mb"] is None and not p["memory"]["leaks"] and not p["memory"]["peak_lines"], "malloc: a peak")
    check.that(all(x is None for s in p["memory"]["series"] for x in s["heap_mb"]), "malloc: a live heap over time")
    check.that(not p["quality"]["complete"], "malloc: complete")

    truth, p = storm(check, folder, SOON, "copy", 50000000)
    told = parts(p)["copy calls"]["calls"]
    check.that("copies.off" in ids(p) and "malloc.off" not in ids(p), f"copies: {ids(p)}")
    check.that(0 < told < 0.9 * truth["copy"], f"copies: {told} calls told of {truth['copy']}, as if all came to the wrapper")
    check.that(all(line["copy"]["host_mb_s"] is None for f in p["files"].values() for line in f["lines"]), "copies: a rate")


@of_samples
def what_is_not_asked_for_is_not_in_the_way(check, folder):
    truth, p = storm(check, folder, NEVER, "malloc", 10000000, options=("--modes", "cpu"))
    if not truth:
        return
    told = parts(p)["malloc calls"]["calls"]
    check.that(told < 0.9 * truth["malloc"], f"cpu alone: {told} calls told of {truth['malloc']}, as if all came to the wrapper")
    check.must("malloc.off" not in ids(p) and p["totals"]["alloc_mb"] is None, f"cpu alone: {ids(p)}, {p['totals']['alloc_mb']} MB")


@of_samples
def a_child_of_such_a_process_says_so(check, folder):
    truth, p = storm(check, folder, SOON, "fork", 20000000)
    if not truth:
        return
    texts = [item["text"] for item in p["quality"]["items"] if item["id"] == "malloc.off"]
    found = traces(newest(folder / "runs") / "trace")  # a short child's lies in a file that it shares
    sampled = [row["cpu_s"] > 0 for row in p["processes"]]
    check.that(len(texts) == 2 and len(found) == 2 and sampled == [True, True], f"fork: {texts}, {[t.path.name for t in found]}, {sampled}")


# Its child reads, sleeps, and is killed as soon as 1.2 s later: it has no last word.
KILLED = """
import os, signal, sys, time
done, says = os.pipe()
child = os.fork()
if child == 0:
    fd = os.open(sys.executable, os.O_RDONLY)
    for at in range(20000):
        os.pread(fd, 64, at)
    os.write(says, b"x")
    time.sleep(1000)
os.read(done, 1)
time.sleep(1.2)
os.kill(child, signal.SIGKILL)
os.wait()
"""
LINES = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned length_drawn(void) { static unsigned x = 1; return (x = x * 1103515245 + 12345) >> 16; }
int main(int n, char **arg)
{
    enum { LINES = 300000 };
    char text[6000], b[4096], *line = NULL;
    size_t room = 0;
    long calls = 0, bytes = 0, got;
    FILE *f = fopen(arg[1], "w");
    if (n < 2 || !f) return 2;
    memset(text, 'x', sizeof text);
    for (int i = 0; i < LINES; i++) {
        unsigned length = length_drawn() % 2000 ? length_drawn() % 60 : 5000;
        bytes += length + 1;
        if (i % 4) calls += fwrite(text, 1, length, f) == length;
        else for (unsigned k = 0; k < length; k++) putc('y', f);
        putc('\\n', f);
    }
    fclose(f);
    printf("{\\"writes\\": %ld, \\"bytes\\": %ld", calls, bytes);
    f = fopen(arg[1], "r");
    for (calls = 0; (got = getline(&line, &room, f)) > 0; calls++) bytes -= got;
    rewind(f);
    for (; fgets(b, sizeof b, f); calls++) ;
    printf(", \\"reads\\": %ld, \\"left\\": %ld}", calls, bytes);
    return 0;
}
"""
MANY = """
import threading
for _ in range(40):
    some = [threading.Thread(target=sum, args=(range(1000),)) for _ in range(5)]
    for t in some: t.start()
    for t in some: t.join()
"""
SHELL = 'i=0; while [ $i -lt 20 ]; do i=$((i+1)); (:); sh -c :; done'


def recorded(check, folder, *words):
    """Its rows, its profile, the prices that `record` measured."""
    done = run(command(folder / "runs", "--", *words), env=dict(os.environ, TOMOPROF_CAPTURE_CALLS="0.99"))
    check.must(done.returncode == 0, f"{words}: {done}")
    p = profile(folder / "runs")
    return parts(p), p, json.loads((newest(folder / "runs") / "record.json").read_text())["prices"]


@of_samples
def threads_and_signals_are_told(check, folder):
    rows, p, prices = recorded(check, folder, sys.executable, "-c", MANY)
    check.must(rows["threads"]["calls"] == 200, f"{rows['threads']} for 200 threads")
    check.must(rows["threads"]["s"] > 0, f"{rows['threads']}: they cost nothing")
    check.must(rows["second thread"]["calls"] == 0, f"{rows['second thread']}: the program has threads of its own")
    check.must(rows["signals"]["calls"] == rows["sampler"]["calls"], f"{rows['signals']}, {rows['sampler']}")
    told = rows["signals"]["calls"] * prices["signal_s"]
    check.must(prices["signal_s"] > 0 and abs(rows["signals"]["s"] - told) <= 1e-9, f"{rows['signals']}, a signal costs {prices}")
    own = sum(t["kernel_cpu_s"] or 0 for t in p["threads"] if t["name"] == "tomoprof")
    check.must(abs(rows["own threads"]["s"] - own) <= 1e-6, f"{rows['own threads']}, the kernel counted {own} s")


@of_samples
def killed_processes_are_told(check, folder):
    done = run(command(folder / "runs", "--", sys.executable, "-c", KILLED), env=dict(os.environ, TOMOPROF_CAPTURE_CALLS="0.99"))
    check.must(done.returncode == 0, f"{done}")
    rows = parts(profile(folder / "runs"))
    check.that(rows["io"]["calls"] >= 20000 and rows["io"]["s"] > 0, f"{rows['io']}: the killed child read 20,000 times")


@of_samples
def calls_of_stdio_are_told(check, folder):
    """Those that the buffer serves are not counted, but told by those that it does not serve. putc has no hook, and is none of them."""
    program = compiled(folder, "lines", LINES, "-O1", "-fno-builtin")
    if not program:
        print("skipped: no C compiler")
        return
    done = run(command(folder / "runs", "--", program, folder / "lines.txt"))
    check.must(done.returncode == 0, f"{done}")
    p, truth = profile(folder / "runs"), json.loads(done.stdout)
    check.must(truth["left"] == 0, f"{truth}")
    row, known = parts(p)["stdio calls"], truth["writes"] + truth["reads"]
    check.that(abs(row["calls"] - known) <= 0.15 * known, f"{row['calls']} calls instead of {known}")
    check.must(row["s"] >= LEAST_S * row["calls"] * 0.99, f"{row['s']} s for {row['calls']} calls")
    files = [f for f in p["io"]["files"] if f["path"].endswith("lines.txt")]
    read, wrote = (round(sum(f[op]["mb"] for f in files) * (1 << 20)) for op in ("read", "write"))
    check.must((read, wrote) == (2 * truth["bytes"], truth["bytes"]), f"{read} read and {wrote} written, twice and once {truth['bytes']}")
    # a refill in the middle of a line that is longer than those before is told with the next one
    calls, blocks = sum(f["read"]["calls"] for f in files), 2 * truth["bytes"] / 4096
    check.must(0.9 * blocks <= calls <= blocks + 2, f"{calls} reads of {blocks} blocks")


@of_samples
def processes_are_told(check, folder):
    rows, p, prices = recorded(check, folder, "sh", "-c", SHELL)
    check.must(prices["fork_s"] > 0 and prices["load_s"] > 0, f"{prices} for more than 40 processes")
    images = rows["processes"]["calls"]  # a shell may fork before it loads a program, or share its memory until then
    check.that(images in (41, 61), f"{rows['processes']}: 20 forks, 20 programs, the shell")
    least = (images - 21) * prices["fork_s"] + 20 * prices["load_s"]
    check.that(rows["processes"]["s"] >= least * (1 - 1e-9), f"{rows['processes']}: {least} s by number and price")
    check.must(not list(newest(folder / "runs").glob("*prices*")), "the runs that measured the prices are left")
    done = run(command(folder / "alone", "--no-analysis", "--", "sh", "-c", SHELL))
    told = json.loads((newest(folder / "alone") / "record.json").read_text())["prices"]
    check.must(done.returncode == 0 and told is None, f"prices are for the analysis, which is left out: {told}, {done}")


need_library()
main(calls_are_told, a_calm_program_keeps_its_wrappers, wrappers_that_cost_too_much_go, what_is_not_asked_for_is_not_in_the_way,
     a_child_of_such_a_process_says_so, threads_and_signals_are_told, killed_processes_are_told,
     calls_of_stdio_are_told, processes_are_told)
