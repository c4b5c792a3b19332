"""The headline against the programs' own clocks: what computes, what waits, what imports, and who is named without lines."""

import json
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, newest, of_samples, profile, run, tomoprof

# Work of one line each: on a busy machine one that lasts longer than the sleep leads, and no other takes a part of that.
SLEEPER = """import json, time
a = time.perf_counter()
def acquire():
    time.sleep(1.6)
def work():
    while time.process_time() < 0.6: sum(range(400000))
acquire()
b = time.perf_counter()
work()
print(json.dumps({"waited": b - a, "wall": time.perf_counter() - a, "cpu": time.process_time(), "lines": [4, 6]}))
"""
WORKERS = """import json, threading, time
slept = [0.0, 0.0]
def worker(k):
    for _ in range(6):
        a = time.perf_counter()
        time.sleep(0.24)
        slept[k] += time.perf_counter() - a
        end = time.thread_time() + 0.06
        while time.thread_time() < end: sum(range(400000))
a = time.perf_counter()
threads = [threading.Thread(target=worker, args=(k,)) for k in range(2)]
for t in threads: t.start()
for t in threads: t.join()
print(json.dumps({"waited": sum(slept) / 2, "wall": time.perf_counter() - a, "cpu": time.process_time(), "lines": [6, 9]}))
"""
# Parts of many ticks of the kernel each, of no one length: rounds of 10 ms were told up to 25 points wrong at a load of 16.
TREE = """import json, random, time
T = {}
def timed(name, begin):
    T[name] = T.get(name, 0) + time.process_time() - begin
def load(n):
    return [i * 0.5 + i * 0.25 for i in range(n)]
def filtered(rows):
    return [a * 0.7 + b * 0.3 for a, b in zip(rows, rows[1:])]
def recon(rows):
    c = time.process_time()
    out = filtered(rows)
    timed(8, c)
    return out
def main():
    rows, dice = None, random.Random(1)
    while time.process_time() < 1.4:
        rows = None  # freeing them is not part of the next load
        c = time.process_time()
        rows = load(dice.randrange(600000, 1200000))
        timed(6, c)
        recon(rows)
        sum(x * x for x in rows)
begin = time.perf_counter()
main()
print(json.dumps({"lines": T, "cpu": time.process_time(), "wall": time.perf_counter() - begin}))
"""
IMPORTS = """import json, sys, time
a, cpu = time.perf_counter(), time.process_time()
sys.path.insert(0, "modules")
import slow
b, cpu = time.perf_counter(), time.process_time() - cpu
def work(until):
    s, cpu = 0, time.process_time() + 0.4  # enough samples on a fast machine, and on a busy one
    while time.perf_counter() < until or time.process_time() < cpu:
        for i in range(100000):
            s += i
work(b + 0.7 * (b - a))
print(json.dumps({"imports": b - a, "cpu": cpu, "work": time.perf_counter() - b}))
"""
PLAIN = """#include <math.h>
#include <stdio.h>
#include <time.h>
static double cpu(void) { return (double)clock() / CLOCKS_PER_SEC; }
__attribute__((noinline)) static double waves(double until) { double s = 0; for (int i = 0; cpu() < until; i++) for (int k = 0; k < 300000; k++) s += sin(i * 1e3 + k); return s; }
__attribute__((noinline)) static double other(double until) { double s = 0; while (cpu() < until) for (int k = 0; k < 3000000; k++) s += k; return s; }
int main(void) { double s = waves(1.5), w = cpu(); s += other(2); printf("{\\"waves\\": %g, \\"cpu\\": %g, \\"s\\": %g}\\n", w, cpu(), s); return 0; }
"""


def recorded(folder, name, text):
    (folder / f"{name}.py").write_text(text)
    return answers(folder, name, sys.executable, f"{name}.py")


def answers(folder, name, *words):
    """What the program said, the answers, the last line of record: the page and the headline."""
    done = run(command(folder / f"out_{name}", "--", *words), cwd=folder)
    if done.returncode:
        sys.exit(f"{name} failed: {done.stderr.decode()}")
    made, last = profile(folder / f"out_{name}"), done.stderr.decode().splitlines()[-1]
    if not last.endswith("report.html: " + made["headline"]):
        sys.exit(f"{name}: the last line is not the page and the headline {made['headline']!r}: {last}")
    return json.loads(done.stdout or b"{}"), made["answers"], last


def the_longer_one_leads(check, said, truth, threads=1):
    """The line that waited, or the one that worked, by its CPU time: a busy machine stretches the work alone, and that changes nothing.
    What leads in threads that it stretches (the work, or the GIL) depends on which of them slept meanwhile."""
    top, share = said[0], truth["waited"] / (truth["waited"] + truth["cpu"])
    asleep, *awake = truth["lines"]
    if share > 0.55:
        check.that((top["kind"], top["line"]) == ("wait", asleep), f"the headline: {top}, truth {truth}")
    elif share < 0.45 and threads == 1:
        check.that(top["kind"] == "cpu" and top["line"] in awake, f"the headline: {top}, truth {truth}")
    waits = [a for a in said if a["kind"] == "wait" and a["line"] == asleep]
    check.that(waits, f"the wait is told: {said}")
    return waits[0]["cost_s"] if waits else 0


@of_samples
def a_sleep_is_weighed_against_the_work(check, folder):
    truth, said, last = recorded(folder, "sleeper", SLEEPER)
    waited = the_longer_one_leads(check, said, truth)
    check.that(abs(waited - truth["waited"]) < 0.3, f"waited {waited}, truth {truth}")
    check.that(any(a["kind"] == "cpu" and a["line"] in truth["lines"] for a in said), f"the work is told too: {said}")
    page = newest(folder / "out_sleeper") / "report.html"
    check.must(last.startswith(f"tomoprof: {page}: ") and page.exists(), f"the last line: {last}")


@of_samples
def an_abort_keeps_the_answer(check, folder):
    """The wait is told, not the imports, where the run ends by a signal of its own."""
    (folder / "aborts.py").write_text("import json, os, time\ndef wait():\n    time.sleep(3)\nbegin = time.perf_counter()\nwait()\n"
                                      "print(json.dumps(time.perf_counter() - begin), flush=True)\nos.abort()\n")
    done = run(command(folder / "out_aborts", "--", sys.executable, "aborts.py"), cwd=folder)
    check.must(done.returncode != 0 and done.stdout, f"it ended with {done.returncode}")
    waits = [a for a in profile(folder / "out_aborts")["answers"] if a["kind"] == "wait"]
    check.must(waits and waits[0]["line"] == 3, f"{profile(folder / 'out_aborts')['answers']}")
    check.that(abs(waits[0]["cost_s"] - float(done.stdout)) < 0.5, f"{waits[0]}, by its clock {done.stdout}")


# Nobody works for it: the wait is all that there is to tell.
EVENT = """import json, threading, time
def wait():
    threading.Event().wait(3)
begin = time.perf_counter()
wait()
waited = time.perf_counter() - begin
while time.process_time() < 0.6: sum(range(400000))
print(json.dumps({"waited": waited, "wall": time.perf_counter() - begin, "cpu": time.process_time(), "lines": [3, 7]}))
"""


@of_samples
def a_wait_for_nobody_is_told(check, folder):
    truth, said, _ = recorded(folder, "event", EVENT)
    waited = the_longer_one_leads(check, said, truth)
    check.that(abs(waited - truth["waited"]) < 0.5, f"waited {waited}, truth {truth}")


# multiprocessing's helper process waits for orders meanwhile, in a line that Python itself made up: <string>:1.
TRACKED = EVENT.replace("import json, threading, time\n", "import json, threading, time; import multiprocessing.resource_tracker as r; r.ensure_running()\n")


@of_samples
def a_helper_process_that_waits_for_orders_is_not_told(check, folder):
    truth, said, _ = recorded(folder, "tracked", TRACKED)
    check.that(not [a for a in said if a["file"] == "<string>"], f"{said}, truth {truth}")


# Threads of a library wait in it as well, and one of them ends the program: as XLA does where its devices do not meet.
LIBRARY = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t met = PTHREAD_COND_INITIALIZER;
static void *ends(void *x) { struct timespec t = {3, 0}; nanosleep(&t, NULL); abort(); return x; }
void meet(void) { pthread_t t; pthread_create(&t, NULL, ends, NULL); pthread_mutex_lock(&lock); pthread_cond_wait(&met, &lock); }
"""
MEETS = """import ctypes, time
library = ctypes.CDLL("site-packages/library.so")
while time.process_time() < 0.5: sum(range(400000))
print(time.perf_counter(), flush=True)
library.meet()
"""


@of_samples
def an_abort_in_a_library_keeps_the_wait(check, folder):
    (folder / "site-packages").mkdir()
    if not compiled(folder / "site-packages", "library.so", LIBRARY, "-shared", "-fPIC", "-pthread"):
        return print("  skipped: no compiler")
    (folder / "meets.py").write_text(MEETS)
    done = run(command(folder / "out_meets", "--", sys.executable, "meets.py"), cwd=folder)
    check.must(done.returncode != 0 and done.stdout, f"it ended with {done.returncode}: {done.stderr[-300:]}")
    made = profile(folder / "out_meets")
    waits = [a for a in made["answers"] if a["kind"] == "wait"]
    check.that(waits and waits[0]["line"] == 5 and 2.2 < waits[0]["cost_s"] <= made["meta"]["wall_s"], f"{made['answers']}")


CHILD = """import json, subprocess, time
begin = time.perf_counter()
subprocess.run(["sh", "-c", "ulimit -t 2; while :; do :; done"])  # 2 s of CPU time on any machine: waits are answers from 20 looks on
waited = time.perf_counter() - begin
def work():
    while time.process_time() < 0.3: sum(range(400000))
work()
print(json.dumps({"waited": waited}))
"""


PIPED = CHILD.replace("subprocess.run(", "subprocess.Popen(").replace('done"])', 'done"], stdout=subprocess.PIPE).stdout.read()')


@of_samples
def a_foreign_child_belongs_to_the_line_that_waits_for_it(check, folder, text=CHILD):
    truth, said, _ = recorded(folder, "child", text)
    waits = [a for a in said if a["kind"] == "wait" and a["line"] == 3]
    if check.must(waits, f"{said}, truth {truth}"):
        check.that(1.4 < waits[0]["cost_s"] < 1.3 * truth["waited"], f"{waits[0]}, truth {truth}")  # 2 s of CPU time, and what no CPU was free for is left out
        check.that(re.search(r"waits for `\w+` \(\d.* s of CPU time\) for", waits[0]["text"]), f"{waits[0]}")


@of_samples
def a_foreign_child_belongs_to_the_line_that_reads_its_pipe(check, folder):
    a_foreign_child_belongs_to_the_line_that_waits_for_it(check, folder, PIPED)


# A library looks every 20 ms whether the own processes are done, as joblib does; then one sleeps itself.
POLLER = """import time
def join(jobs):
    while any(j.is_alive() for j in jobs): time.sleep(0.02)
def pause(seconds):
    time.sleep(seconds)
"""
POLLED = """import json, multiprocessing, sys, time
sys.path.insert(0, "site-packages")
import poller
def cell():
    while time.process_time() < 1.2: sum(range(400000))
if __name__ == "__main__":
    jobs = [multiprocessing.Process(target=cell) for k in range(2)]
    for j in jobs: j.start()
    poller.join(jobs)
    print(json.dumps({}))
"""
PAUSED = """import json, sys
sys.path.insert(0, "site-packages")
import poller
poller.pause(2)
print(json.dumps({}))
"""


@of_samples
def a_library_that_polls_for_others_is_not_told_as_a_sleep(check, folder):
    (folder / "site-packages").mkdir()
    (folder / "site-packages/poller.py").write_text(POLLER)
    _, said, _ = recorded(folder, "polled", POLLED)
    check.that((said[0]["kind"], said[0]["line"]) == ("cpu", 5), f"the headline: {said[0]}")
    check.that(not any(a["kind"] == "wait" and a["share"] > 0.5 for a in said), f"the processes worked all the time: {said}")
    _, said, _ = recorded(folder, "paused", PAUSED)
    check.that((said[0]["kind"], said[0]["line"]) == ("wait", 4) and "sleeps for" in said[0]["text"], f"the headline: {said[0]}")


@of_samples
def a_child_with_a_time_limit_is_waited_for(check, folder):
    """subprocess looks for its end by sleeping in turns then."""
    _, said, _ = recorded(folder, "limit", 'import json, subprocess\nsubprocess.run(["sleep", "2"], timeout=300)\nprint(json.dumps({}))\n')
    check.that((said[0]["kind"], said[0]["line"]) == ("wait", 2) and "waits for `sleep` (" in said[0]["text"], f"the headline: {said[0]}")


# The workers pickle what they return, and the main process unpickles it: both at the line that waits for them.
POOLED = """import multiprocessing
def rows(n):
    return list(range(n))
def main():
    n = 0
    with multiprocessing.Pool(2) as pool:
        for k in range(6):
            n += sum(len(r) for r in pool.map(rows, [1_000_000] * 2))
    print(n)
if __name__ == "__main__":
    main()
"""


@of_samples
def a_pool_s_work_belongs_to_the_line_that_waits_for_it(check, folder):
    _, said, _ = recorded(folder, "pooled", POOLED)
    check.that((said[0]["kind"], said[0]["line"]) == ("cpu", 8) and "pickling" in said[0]["text"], f"the headline: {said[0]}")
    check.that(not any(a["line"] == 6 for a in said), f"the line that makes the pool is told: {said}")


TURNS = """import json, time
napped = 0
def work():
    end = time.process_time() + 0.001
    while time.process_time() < end: pass
def nap():
    time.sleep(0.001)
for _ in range(500):
    work()
    a = time.perf_counter()
    nap()
    napped += time.perf_counter() - a
print(json.dumps({"napped": napped}))
"""


@of_samples
def short_waits_in_turns_are_told_whole(check, folder):
    """Where others have the CPU, most of the nap's time comes after its sleep: it is the nap's by the program's clock."""
    script = folder / "turns.py"
    script.write_text(TURNS)
    done = run(command(folder / "runs", "--", sys.executable, script))
    check.must(done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-300:]}")
    napped = json.loads(done.stdout)["napped"]
    lines = {line["line"]: line["cpu"] for path, f in profile(folder / "runs")["files"].items() if path.endswith("turns.py") for line in f["lines"]}
    told = lines.get(7, {}).get("wait") or 0
    check.that(0.65 * napped < told < 1.3 * napped, f"line 7 waited {told:.2f} s, by the program's clock {napped:.2f}")


@of_samples
def two_workers_that_sleep_are_an_answer(check, folder):
    truth, said, _ = recorded(folder, "workers", WORKERS)
    waited = the_longer_one_leads(check, said, truth, threads=2)
    check.that(abs(waited - truth["waited"]) < 0.25 * truth["wall"], f"waited {waited}, truth {truth}")


@of_samples
def branches_are_listed(check, folder):
    truth, said, last = recorded(folder, "tree", TREE)
    if truth["wall"] > 5 * truth["cpu"]:  # no line has a large part of such a run
        return print(f"  skipped: the program waited for a CPU: {truth}")
    shares = {a["line"]: a["share"] for a in said if a["kind"] == "cpu"}
    check.that(" use most of the CPU time: " in last, f"the headline: {last}")
    for line, seconds in truth["lines"].items():
        check.that(abs(shares.get(int(line), 0) - seconds / truth["cpu"]) < 0.12, f"line {line}: {shares}, truth {truth}")


@of_samples
def without_lines_the_own_function_is_named_not_the_library_s(check, folder):
    program = compiled(folder, "plain", PLAIN, "-O1", "-g0")
    if not program:
        return
    truth, said, _ = answers(folder, "plain", program)
    check.that(said[0]["function"] == "waves" and said[0]["text"].startswith("waves (plain) takes"), f"the headline: {said[0]}")
    check.that(abs(said[0]["share"] - truth["waves"] / truth["cpu"]) < 0.12, f"{said[0]['share']}, truth {truth}")


@of_samples
def imports_are_an_item_and_can_be_left_out(check, folder):
    """Modules of a package folder, long ones: to compile them takes a second; 0.8 s on the fastest machine."""
    modules = folder / "modules/site-packages"
    modules.mkdir(parents=True)
    body = "".join(f"def f{{0}}_{i}(x):\n    return [x + {i}, x * {i}, (x, {i}, 'a{i}')]\n" for i in range(1500))
    for k in range(8):
        (modules / f"slow{k}.py").write_text(body.replace("{0}", str(k)))
    (modules / "slow.py").write_text("".join(f"import slow{k}\n" for k in range(8)) + "import time\nwhile time.process_time() < 0.8: sum(range(400000))\n")
    truth, said, _ = recorded(folder, "imports", IMPORTS.replace('"modules"', '"modules/site-packages"'))
    if truth["imports"] > 8 * truth["cpu"]:
        return print(f"  skipped: the program waited for a CPU: {truth}")
    top = next((a for a in said if a["kind"] == "imports"), said[0])
    check.that(said[0]["kind"] == "cpu", f"the start-up leads a short run: {said[0]}, truth {truth}")
    check.that(top["kind"] == "imports" and top["line"] == 4, f"the imports: {top}, truth {truth}")
    # What waits for a CPU is of no line.
    check.that(0.85 * truth["cpu"] - 0.15 < top["cost_s"] < 1.15 * truth["imports"] + 0.6, f"imports {top['cost_s']}, truth {truth}")
    run_folder = newest(folder / "out_imports")
    done = tomoprof("report", run_folder, "--after", "imports")
    check.must(done.returncode == 0, f"--after imports: {done.stderr}")
    after = profile(folder / "out_imports")
    check.that(abs(after["meta"]["wall_s"] - truth["work"]) < 0.3 + 0.1 * truth["imports"], f"after the imports {after['meta']['wall_s']} s, truth {truth}")
    check.that(after["answers"][0]["line"] in (9, 10), f"after the imports: {after['answers'][0]}")
    done = tomoprof("report", run_folder, "--until", "0.3")
    check.must(done.returncode == 0 and abs(profile(folder / "out_imports")["meta"]["wall_s"] - 0.3) < 1e-6, f"--until: {done.stderr}")
    for words, sentence in ((("--from", "900"), "--from 900: the run took only "), (("--after", "lunch"), 'only "imports" is known'),
                            (("--from", "2", "--until", "1"), "must be later than --from 2")):
        done = tomoprof("report", run_folder, *words)
        check.must(done.returncode == 2 and sentence in done.stderr, f"{words}: {done.returncode} {done.stderr}")
    done = tomoprof("report", run_folder)
    check.must(profile(folder / "out_imports")["meta"]["from_s"] is None, "a report without a part shows a part")


@of_samples
def few_samples_name_no_line(check, folder):
    _, said, last = recorded(folder, "brief", "print('{}')\n")
    check.that(said[0]["kind"] == "none" and not said[0]["file"], f"the headline: {said[0]}")
    few = r"(Only \d+ CPU samples? (were|was) taken: too few to name a hotspot|No CPU sample was taken, so no hotspot is known)\.$"
    check.that(re.search(few, last), f"the last line: {last}")


@of_samples
def a_program_without_own_lines_is_named(check, folder):
    """Perl's code has no lines that are known; Perl's own clock tells the CPU time."""
    if not shutil.which("perl"):
        return print("  skipped: no perl")
    code = 'my $s = 0; while ((times)[0] < 0.8) { $s += $_ for 1 .. 400000; } printf "%g", (times)[0] + (times)[1];'
    truth, said, last = answers(folder, "perl", "perl", "-e", code)
    found = re.search(r"large part of the time: perl[\d.]* used ([\d.]+) of the [\d.]+ s of CPU time\.$", last)
    if check.that(found, f"the last line: {last}"):
        check.that(abs(float(found[1]) - truth) < 0.2, f"{last}, by its own clock {truth} s")


need_library()
main(a_sleep_is_weighed_against_the_work, an_abort_keeps_the_answer, a_wait_for_nobody_is_told, a_helper_process_that_waits_for_orders_is_not_told,
     an_abort_in_a_library_keeps_the_wait, a_foreign_child_belongs_to_the_line_that_waits_for_it,
     a_foreign_child_belongs_to_the_line_that_reads_its_pipe,
     a_library_that_polls_for_others_is_not_told_as_a_sleep, a_child_with_a_time_limit_is_waited_for,
     a_pool_s_work_belongs_to_the_line_that_waits_for_it, short_waits_in_turns_are_told_whole, two_workers_that_sleep_are_an_answer, branches_are_listed,
     without_lines_the_own_function_is_named_not_the_library_s, imports_are_an_item_and_can_be_left_out, few_samples_name_no_line,
     a_program_without_own_lines_is_named)
