"""The CPU time of a run against the launcher's own account of it: what ran before the library was loaded and after its last
record has a row, and coverage is of all of it."""

import json
import math
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, newest, of_samples, profile, run
from trace_file import SAMPLE, WAIT, traces

# Its clock is read each 3 ms: a loop that reads it more often loses samples where other work has the CPU.
WORK = """#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static double work(double seconds)
{
    volatile double x = 1;
    double begin = now(CLOCK_THREAD_CPUTIME_ID), end = begin + seconds;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 1000000; i++) x = x * 1.0000001 + 1e-9;
    return now(CLOCK_THREAD_CPUTIME_ID) - begin;
}
"""
# A library of the program: its constructor runs before the recorder's, and so its handler at the end after the recorder's.
EARLY = WORK + """static void late(int status, void *unused) { work(0.2); }
__attribute__((constructor)) static void early(void) { work(0.3); on_exit(late, NULL); }
int early_there;
"""
PROGRAM = WORK + """extern int early_there;
static void at_exit(void) { work(0.1); /* handler */ }
__attribute__((destructor)) static void destroy(void) { work(0.1); /* destructor */ }
int main(void)
{
    atexit(at_exit);
    printf("%.6f\\n", now(CLOCK_PROCESS_CPUTIME_ID) + early_there);
    work(0.4); /* main */
    return 0;
}
"""
# Sleeps between work, too short for each of them to be seen: the time asleep in main by the program's own clock and the kernel's counts.
RESTS = WORK + """static double asleep(void)
{
    double on_cpu, ready;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (!f || fscanf(f, "%lf %lf", &on_cpu, &ready) != 2) exit(77);
    fclose(f);
    return now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID) - ready * 1e-9;
}
int main(void)
{
    const struct timespec rest = {0, 7000000};
    double before = asleep();
    for (int i = 0; i < 60; i++) {
        work(0.003);
        nanosleep(&rest, NULL);
    }
    printf("%.6f\\n", asleep() - before);
    return 0;
}
"""

# Rounds of the recorder's 50 ms between two polls: without a random part each poll would meet the same of the two sleeps.
ROUNDS = WORK + """__attribute__((noinline)) static void rest(long ns)
{
    const struct timespec t = {0, ns};
    nanosleep(&t, NULL);
    __asm__ volatile(""); /* no tail call */
}
int main(void)
{
    for (double end = now(CLOCK_MONOTONIC) + 5; now(CLOCK_MONOTONIC) < end;) {
        rest(12400000); /* little */
        rest(37500000); /* much */
    }
    return 0;
}
"""


def built(folder):
    (folder / "early.c").write_text(EARLY)
    (folder / "program.c").write_text(PROGRAM)
    compiler = os.environ.get("CC", "cc")
    for words in (["-shared", "-fPIC", "-o", "libearly.so", "early.c"], ["-o", "program", "program.c", "-L.", "-learly", "-Wl,-rpath,$ORIGIN"]):
        done = run([compiler, "-g", "-O1", *words], cwd=folder)
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
    return folder / "program"


def recorded(check, folder, *words):
    done = run(command(folder / "runs", "--rate", "500", "--", *words))
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr.decode()}")
    end = json.loads((newest(folder / "runs") / "record.json").read_text())["end"]
    data = profile(folder / "runs")
    rows = {row["module"]: row["cpu"]["user"] + row["cpu"]["sys"] for row in data["unattributed"]}
    items = {item["id"]: item for item in data["quality"]["items"]}
    return data, rows, items, end["user_s"] + end["system_s"], done.stdout.decode()


def near(check, value, expected, tolerance, what):
    check.that(abs((value or 0) - expected) <= tolerance, f"{what}: {value}, expected {expected} +- {tolerance}")


def longest_sample(folder):
    """Seconds: 5 ms, more where other work has the CPU."""
    return max((s.weight for trace in traces(newest(folder / "runs") / "trace") for s in trace.of(SAMPLE)), default=0) / 1e9


@of_samples
def before_and_after(check, folder):
    data, rows, items, total, said = recorded(check, folder, built(folder))
    near(check, rows.get("[start-up]"), 0.3, 0.05, "seconds before the library")
    check.that(0.3 <= rows.get("[start-up]", 0) <= float(said), f"more than what was used when main began: {float(said)}")
    near(check, rows.get("[shutdown]"), 0.2, 0.05, "seconds after the last record")
    lines = {line["text"]: line["cpu_incl"]["user"] for path, file in data["files"].items() if path.endswith("program.c") for line in file["lines"]}
    # What is before a sample is told of where it meets the program, and what is after the last of none.
    longest = longest_sample(folder)
    near(check, data["quality"]["cpu_sample_coverage"], 1, 0.03 + longest / total, "coverage")
    for mark, seconds in (("handler", 0.1), ("destructor", 0.1), ("main", 0.4)):
        near(check, sum(s for text, s in lines.items() if f"/* {mark}" in (text or "")), seconds, max(0.03, 2 * longest), f"seconds of {mark}")
    for key, seconds in (("cpu.startup", 0.3), ("cpu.shutdown", 0.2)):
        if check.that(key in items, f"{key} is not told: {sorted(items)}"):
            near(check, items[key]["share"], seconds / total, 0.05, f"share of {key}")
    text = run([os.environ["TOMOPROF"], "report", newest(folder / "runs"), "--text"]).stdout.decode()
    check.that("[start-up]" in text and "[shutdown]" in text, f"no rows in the text:\n{text}")


@of_samples
def of_a_tree_of_processes(check, folder):
    program = built(folder)
    data, rows, items, total, _ = recorded(check, folder, "sh", "-c", f"'{program}'; '{program}'; :")
    near(check, rows.get("[start-up]"), 0.6, 0.1, "seconds before the library, of two processes")
    # The launcher knows the end of the shell only.
    near(check, data["quality"]["cpu_sample_coverage"], 1 - 0.4 / total, 0.04 + 2 * longest_sample(folder) / total, "coverage")
    if check.that("cpu.coverage" in items, f"coverage is not told: {sorted(items)}"):
        check.that(items["cpu.coverage"]["severity"] == "warning", "a fifth is missing without a warning")


def shorter_than_an_interval(check, folder):
    done = run(command(folder / "runs", "--", "true"))
    check.must(done.returncode == 0, done.stderr.decode())
    data = profile(folder / "runs")
    coverage, items = data["quality"]["cpu_sample_coverage"], {item["id"]: item for item in data["quality"]["items"]}
    told = items.get("cpu.coverage", {}).get("text", "")
    check.that(coverage is None or coverage <= 1.1 or "interval" in told, f"coverage {coverage}, and the reason is not told: {told}")


def short_sleeps_add_up(check, folder):
    (folder / "rests.c").write_text(RESTS)
    done = run([os.environ.get("CC", "cc"), "-O1", "-o", "rests", "rests.c"], cwd=folder)
    check.must(done.returncode == 0, done.stderr.decode())
    done = run(command(folder / "runs", "--", folder / "rests"))
    if done.returncode == 77:
        print("this kernel counts no time ready for a CPU (schedstat): sleeps were not compared")
        return
    check.must(done.returncode == 0, done.stderr.decode())
    wait, said = profile(folder / "runs")["totals"]["wait"], float(done.stdout)
    near(check, sum(wait[state] or 0 for state in ("sleep", "disk")), said, 0.01 + 0.05 * said, "seconds asleep")


@of_samples
def sleeps_that_keep_step(check, folder):
    """50 to 100 polls, of which a look at a place takes two: 4 standard errors. Fewer where the recorder waits for a CPU."""
    (folder / "rounds.c").write_text(ROUNDS)
    done = run([os.environ.get("CC", "cc"), "-g", "-O1", "-o", "rounds", "rounds.c"], cwd=folder)
    check.must(done.returncode == 0, done.stderr.decode())
    done = run(command(folder / "runs", "--", folder / "rounds"))
    check.must(done.returncode == 0, done.stderr.decode())
    lines = {line["text"]: line["cpu_incl"]["wait"] for path, file in profile(folder / "runs")["files"].items()
             if path.endswith("rounds.c") for line in file["lines"]}
    waits = [sum(s or 0 for text, s in lines.items() if f"/* {mark} */" in (text or "")) for mark in ("little", "much")]
    looks = max(sum(len(trace.of(WAIT)) for trace in traces(newest(folder / "runs") / "trace")) / 2, 1)
    share = 0.0375 / (0.0375 + 0.0124)
    within = max(0.3, 4 * math.sqrt(share * (1 - share) / looks))
    near(check, waits[1] / max(sum(waits), 1e-9), share, within, f"share of the longer sleep in {looks} looks")


BURNS = "#include <time.h>\nint main(void) { volatile double x = 1; while (clock() < 1.5 * CLOCKS_PER_SEC) for (int i = 0; i < 3000000; i++) x = x * 1.0000001; return 0; }\n"


def notes_are_of_use(check, folder):
    """A higher rate is advised only where the kernel has one, and how to build only to those who have compiled code of their own."""
    def notes(name, *words):
        done = run(command(folder / name, *words), cwd=folder)
        check.must(done.returncode == 0, f"{words}: {done}")
        made = profile(folder / name)
        check.that(all(row["cpu"][kind] >= 0 for row in [made["totals"], *made["unattributed"]] for kind in ("user", "sys")), f"{made['unattributed']}")
        return {item["id"]: item for item in made["quality"]["items"]}, float(made["environment"]["hz"])
    if not compiled(folder, "burns", BURNS, "-g0"):
        print("  skipped: no C compiler")
        return
    found, tick = notes("asked", "--rate", "10000", "--", "./burns")
    if tick < 5000:
        most = 5000 if "cpu.busy" in found else 1.2 * tick  # beside others each slice has a tick, also one that is shorter than a tick
        check.that(found["cpu.rate"]["count"] <= most and f"{tick:.0f} times a second" in found["cpu.rate"]["effect"], f"{found}")
    check.that("-g" in found["symbols.lines"]["fix"] and "-g" in found["cpu.unattributed"]["fix"], f"{found}")
    found, _ = notes("few", "--rate", "10000", "--", sys.executable, "-c", "sum(range(1000000))")
    check.that("--rate" not in found["cpu.few"]["fix"], f"{found['cpu.few']}")
    check.that("symbols.lines" not in found and not any("-g" in (item["fix"] or "").split() for item in found.values()), f"{found}")
    found, _ = notes("default", "--", sys.executable, "-c", "sum(range(1000000))")
    check.that("--rate 1000" in found["cpu.few"]["fix"], f"{found['cpu.few']}")


need_library()
main(before_and_after, of_a_tree_of_processes, shorter_than_an_interval, short_sleeps_add_up, sleeps_that_keep_step, notes_are_of_use)
