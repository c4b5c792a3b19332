"""What profile.json says of waits for locks, against the programs' own clocks: how long, at which line, and which line held.

On a busy machine a thread that was woken waits for a CPU: its own clock and the recorder count that alike. Where a program
can only know its waits as time off the CPU, its waits for a CPU by the kernel's account are the width of the answer.
"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from injected import same, target
from recorded import command, compiled, main, need_library, of_samples, profile, run

MODES = ("--modes", "cpu,wait,python,locks", "--rate", "500")


def recorded(folder, *words, **options):
    """The program's stdout, and its profile."""
    done = run(command(folder / "out", *MODES, "--", *words), **options)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return done.stdout.decode(), profile(folder / "out")


def line_of(text, mark):
    return 1 + next(i for i, line in enumerate(text.splitlines()) if mark in line)


def near(found, expected, whole):
    """Within 10 %, or 3 points of 100."""
    return abs(found - expected) <= max(0.1 * expected, 0.03 * whole)


def rows(p, role, *kinds):
    return [r for r in p["locks"] if r["role"] == role and r["kind"] in kinds]


def seconds(rows):
    return sum(r["wait_s"] for r in rows)


def top(row):
    """The line that held the lock for most of the row's wait."""
    return row["holders"][0] if row["holders"] else {"line": None, "share": 0, "native": None}


@of_samples
def native(check, folder):
    program = target(folder, "locks")
    if not program:
        return print("skipped: no compiler")
    text = (program.parent / "locks.c").read_text()
    out, p = recorded(folder, program)
    truth = json.loads(out)
    whole = p["meta"]["wall_s"]
    for name, kind, role, mark, holds in (
            ("mutex", "mutex", "contention", "waits for the mutex", "holds the mutex"),
            ("read", "rwlock", "contention", "waits to read", "writes"),
            ("condition", "condition", "work", "waits for work", None),
            ("futex", "futex", "work", "waits in the kernel", None),
            ("semaphore", "semaphore", "contention", "waits for the semaphore", "holds the semaphore"),
            ("sleeper", "mutex", "contention", "waits for a sleeper", None),
            ("handed", "rwlock", "contention", "waits for one that is to write", None)):
        line = line_of(text, mark)
        found = [r for r in rows(p, role, kind) if r["line"] == line]
        if not check.that(len(found) == 1, f"{name}: {len(found)} rows at line {line}: {p['locks']}"):
            continue
        row, (count, s, longest) = found[0], truth[name]
        check.that(near(row["wait_s"], s, whole), f"{name}: waited {row['wait_s']:.4f} s, by its own clock {s:.4f} s")
        check.that(near(row["longest_s"], longest, whole), f"{name}: longest {row['longest_s']:.4f} s, by its clock {longest:.4f} s")
        # a wait of just 100 us is on one side of the limit by one clock, and on the other by the other
        check.that(abs(row["waits"] - count) <= 2 + 0.1 * count or kind == "futex", f"{name}: {row['waits']} waits, by its count {count}")
        # over time, to 1 us a part
        check.that(not row["waited_s"] or abs(sum(row["waited_s"]) - row["wait_s"]) < 1e-6 * len(row["waited_s"]), f"{name}: {sum(row['waited_s'])} s over time, {row['wait_s']} s in all")
        if name == "sleeper":
            sleeps = line_of(text, "sleeps with the mutex")
            most = top(row)  # 0.12 s each; on a busy machine the holder waits for a CPU then, for any time
            check.that(most["line"] == sleeps and most["asleep"] and (most["share"] > 0.3 or most["held_s"] > 0.1), f"{name}: held by {row['holders']}")
            continue
        if name == "handed":
            continue
        if not holds:
            check.that(not row["holders"] and row["unknown_s"] is None, f"{name}: held by {row['holders']}")
            continue
        awake = [h for h in row["holders"] if not h["asleep"]]
        # In spin(), which that line calls; that itself, where no thread was seen to wait for the lock before the line.
        spin = range(line_of(text, "static double now"), line_of(text, "static pthread_mutex_t mutex"))
        places = [line_of(text, holds), *(spin if name == "read" else [])]
        inside = sum(h["held_s"] for h in awake if h["line"] in places and not h["locked_file"])
        check.that(inside > 0.8 * sum(h["held_s"] for h in awake) > 0, f"{name}: {inside} s are at {holds} of {row['holders']}")
        parts = sum(h["held_s"] for h in row["holders"]) + row["unknown_s"]
        check.that(abs(parts - row["wait_s"]) < 1e-6 or len(row["holders"]) == 20, f"{name}: {parts} s in parts of {row['wait_s']}")
    still = [r for r in rows(p, "contention", "mutex") if r["line"] == line_of(text, "waits until the end")]
    check.that(len(still) == 1 and 0.1 < still[0]["wait_s"] < whole, f"a thread that waits at the end: {still}")
    check.that(still and len(still[0]["waited_s"]) >= max(len(r["waited_s"]) for r in p["locks"]) - 1, f"over time, the wait until the end does not last longest: {p['locks']}")
    check.that(not [r for r in p["locks"] if r["function"] == "recursive"], "a thread waits for its own mutex")
    print(json.dumps(p["contention"]))


def calls_do_what_they_did(check, folder):
    """Return values, errno, cancellation, robust mutexes, a fork: with the library as without."""
    program = target(folder, "lock_calls")
    if program:
        same(check, folder, "lock_calls", [program])
        same(check, folder, "lock_calls", [program], MODES="cpu,locks", RATE=2000)


HELPER = """#include <time.h>
#include <unistd.h>
static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
void decode(double seconds)
{
    volatile double x = 1;
    for (double end = cpu() + seconds; cpu() < end;)
        for (int i = 0; i < 1000; i++)
            x = x * 1.0000001 + 1e-9;
}
"""

PYTHON = '''import ctypes, json, multiprocessing, os, queue, sys, threading, time
library, what = sys.argv[1:]
native = (ctypes.PyDLL if what == "pydll" else ctypes.CDLL)(library).decode
native.argtypes = [ctypes.c_double]
native.restype = None
lock = threading.Lock()
waited = []


def python(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(i * i for i in range(500))  # decodes in Python


def compiled(seconds):
    for _ in range(10):
        native(seconds / 10)  # decodes in C


def locked(seconds):
    for _ in range(10):
        begin = time.perf_counter()
        with lock:  # waits for the lock
            waited.append(time.perf_counter() - begin)
            native(seconds / 10)  # decodes under the lock
        time.sleep(0.001)


# What waits for the GIL here are four threads from one common start, each to its own end, and nobody else: before and after
# that all wait in pipes, where none has the GIL.
go, done, rest = os.pipe(), os.pipe(), os.pipe()


def work(decode, seconds, ends):
    os.read(go[0], 1)
    decode(seconds)
    ends.append(time.perf_counter())
    if len(ends) == 4:
        os.write(done[1], b"d")
    os.read(rest[0], 1)


def threads(decode, seconds):
    def scheduled():
        """On a CPU, and ready for one, in seconds."""
        stat = [open(f"/proc/self/task/{t.native_id}/schedstat").read().split() for t in all]
        return [sum(int(s[i]) for s in stat) * 1e-9 for i in (0, 1)]

    ends = []
    all = [threading.Thread(target=work, args=(decode, seconds, ends)) for _ in range(4)]
    [t.start() for t in all]
    before, start = scheduled(), time.perf_counter()
    os.write(go[1], b"gogo")
    os.read(done[0], 1)
    cpu, ready = [now - then for now, then in zip(scheduled(), before)]
    os.write(rest[1], b"rest")
    [t.join() for t in all]
    return {"off": sum(ends) - 4 * start - cpu, "ready": ready}


def idle(seconds):
    q, done = queue.Queue(), []

    def worker():
        while (item := q.get()) is not None:
            native(item)
        done.append(1)

    all = [threading.Thread(target=worker) for _ in range(4)]
    [t.start() for t in all]
    for _ in range(5):
        native(seconds / 5)
        q.put(0.001)
    [q.put(None) for _ in all]
    [t.join() for t in all]
    return {}


if __name__ == "__main__":
    begin = time.perf_counter()
    if what == "python":
        truth = threads(python, 0.25)
    elif what == "lock":
        truth = threads(locked, 0.15)
        truth["lock"] = sum(w for w in waited if w >= 1e-4)
    elif what == "idle":
        truth = idle(0.4)
    elif what == "processes":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pool.map(python, [0.1] * 4)
        truth = {}
    else:
        truth = threads(compiled, 0.15)
    truth["seconds"] = time.perf_counter() - begin
    print(json.dumps(truth))
'''


def python_case(folder, python, what):
    library = compiled(folder, "libdecode.so", HELPER, "-O1", "-g0", "-shared", "-fPIC")
    script = folder / f"{what}.py"
    script.write_text(PYTHON)
    out, p = recorded(folder, python, script, library, what)
    return json.loads(out), p


def found_rules(p):
    return [f["id"] for f in p["findings"] if f["id"].startswith("lock.")]


def contention(p):
    return p["contention"][0] if p["contention"] else {"ran": None, "gil_s": 0, "wait_s": 0, "threads": 0}


@of_samples
def interpreter(check, folder, python=sys.executable):
    """The GIL: held by Python itself, held by compiled code, and released by it."""
    for what, mark in (("python", "decodes in Python"), ("pydll", "decodes in C")):
        truth, p = python_case(folder, python, what)
        gil = rows(p, "contention", "gil")
        slack = 0.1 * truth["off"] + 0.03 * 4 * truth["seconds"]
        check.that(truth["off"] - truth["ready"] - slack <= seconds(gil) <= truth["off"] + slack,
                   f"{what}: {seconds(gil):.3f} s for the GIL, {truth}")
        c = contention(p)
        check.that(c["ran"] is not None and 0.5 < c["ran"] < 1.5 and 0 < c["on_cpu"] <= c["ran"], f"{what}: {c['ran']} threads ran at a time: {c}")
        held = {}
        for r in gil:
            for h in r["holders"]:
                held[h["line"], h["native"]] = held.get((h["line"], h["native"]), 0) + h["held_s"]
        (line, function), s = max(held.items(), key=lambda item: item[1]) if held else ((None, None), 0)
        expected = line_of(PYTHON, mark)
        in_loop = (expected - 1, expected) if what == "python" else (expected,)
        check.that(line in in_loop, f"{what}: the GIL is held at line {line}, not {expected}: {held}")
        check.that((function == "decode") == (what == "pydll"), f"{what}: the GIL is held in {function}: {held}")
        share = c["python_share"]
        check.that(share is not None and (share > 0.8 if what == "python" else share < 0.2), f"{what}: the interpreter's share is {share}")
        said = [f for f in p["findings"] if f["id"] == ("lock.gil_python" if what == "python" else "lock.gil_native")]
        words = "python()" if what == "python" else "compiled()"
        if len(os.sched_getaffinity(0)) == 1 and not said:
            print(f"  {what}: one CPU, on which threads without a GIL would run no sooner: no finding")
        elif check.that(len(said) == 1 and "ran at a time" in said[0]["evidence"] and f"{words} at " in said[0]["evidence"] and
                      "holds the GIL" in said[0]["evidence"], f"{what}: {p['findings']}"):
            check.that(0 <= said[0]["gain_low_s"] <= said[0]["gain_s"] <= p["meta"]["wall_s"] and said[0]["refuted_by"] and said[0]["test"],
                       f"{what}: {said}")
    truth, p = python_case(folder, python, "cdll")
    check.that(seconds(rows(p, "contention", "gil")) < 0.1 * truth["seconds"] * 4, f"cdll: waits for the GIL: {rows(p, 'contention', 'gil')}")
    check.that(not found_rules(p), f"cdll: {p['findings']}")


@of_samples
def locks(check, folder, python=sys.executable):
    truth, p = python_case(folder, python, "lock")
    found = [r for r in rows(p, "contention", "semaphore", "python_lock") if r["line"] == line_of(PYTHON, "waits for the lock")]
    if check.that(len(found) == 1, f"a Lock around a decoder: {p['locks']}"):
        check.that(near(found[0]["wait_s"], truth["lock"], 4 * truth["seconds"]), f"lock: {found[0]['wait_s']} s, by its clock {truth}")
        holder = top(found[0])
        check.that(holder["line"] == line_of(PYTHON, "decodes under the lock") and holder["native"] == "decode", f"lock: held by {holder}")
    check.that(contention(p)["gil_s"] < 0.2 * truth["lock"], f"lock: the GIL is blamed: {contention(p)}")
    # On one CPU other threads could run only while the holder of the lock waits.
    check.that(found_rules(p) == ["lock.contention"] or (len(os.sched_getaffinity(0)) == 1 and not found_rules(p)), f"lock: {p['findings']}")
    truth, p = python_case(folder, python, "idle")
    c = contention(p)
    check.that(not found_rules(p), f"idle: {p['findings']}")
    check.that(c["wait_s"] < 0.1 * truth["seconds"], f"idle workers are called contention: {p['locks']}")
    check.that(c["work_s"] > 1.5 * truth["seconds"], f"idle workers wait for {c} in {truth}")
    truth, p = python_case(folder, python, "processes")
    check.that(not found_rules(p), f"processes: {p['findings']}, {p['contention']}")


HELPED = """#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long taken;
static double sum;
static __thread volatile double apart; /* read: a call without a use is left out, and the thread would take the lock again before another wakes */
__attribute__((noinline)) static double work(double x, long n)
{
    for (long i = 0; i < n; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}
__attribute__((noinline)) static void take(void)
{
    pthread_mutex_lock(&mutex);
    taken++; /* no tail call */
}
static void *worker(void *arg)
{
    for (int i = 0; i < 40; i++) {
        take(); // has it taken
        sum = work(sum, 2500000);
        pthread_mutex_unlock(&mutex);
        apart = work(apart, 250000);
    }
    return arg;
}
int main(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    return taken != 160;
}
"""


@of_samples
def helper_takes_it(check, folder):
    """The section is the function that had the lock taken, not the helper and not what computes."""
    program = compiled(folder, "helped", HELPED, "-O2", "-g", "-pthread")
    if not program:
        return print("skipped: no compiler")
    _, p = recorded(folder, program)
    held = {}
    for r in rows(p, "contention", "mutex"):
        for h in r["holders"]:
            held[h["line"], h["function"], h["locked_line"]] = held.get((h["line"], h["function"], h["locked_line"]), 0) + h["held_s"]
    most = max(held, key=held.get, default=None)
    expected = line_of(HELPED, "has it taken"), "worker", line_of(HELPED, "pthread_mutex_lock")
    check.that(most == expected and held[most] > 0.8 * sum(held.values()), f"held by {held}, not {expected}")


IN_TURN = """
import threading, time
lock = threading.Lock()
def hold(start):
    start.wait()
    with lock:
        time.sleep(0.01)
for _ in range(6):
    start = threading.Barrier(4)
    pool = [threading.Thread(target=hold, args=(start,)) for _ in range(4)]
    [t.start() for t in pool], [t.join() for t in pool]
"""


@of_samples
def pools_in_turn(check, folder, python=sys.executable):
    """Six pools of four threads, one after another: four threads and the main one are the most that want a lock at a moment."""
    (folder / "turn.py").write_text(IN_TURN)
    _, p = recorded(folder, python, folder / "turn.py")
    c = contention(p)
    check.must(c.get("at_once") is None or c["at_once"] <= 5, f"{c['at_once']} threads at once, of 5 that there were: {c}")
    check.that(c["threads"] > 5 and c["at_once"] >= 2, f"threads of six pools waited: {c}")


if __name__ == "__main__":
    need_library()
    sys.exit(main(calls_do_what_they_did, native, interpreter, locks, helper_takes_it, pools_in_turn))
