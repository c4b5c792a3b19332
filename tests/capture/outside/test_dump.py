"""`tomoprof dump PID`: every thread of a running process has its stack and what it waits for, and the process goes on."""

import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import compiled, main, need_library, tomoprof

PROGRAM = """import hashlib, queue, sys, threading, time
q = queue.Queue()
def empty_queue():
    q.get()  # queue
def asleep():
    time.sleep(1000)  # sleep
def busy():
    while True:
        hashlib.sha256(b"x" * 100000).digest()  # busy
for f in (empty_queue, asleep, busy):
    threading.Thread(target=f, daemon=True).start()
print("ready", flush=True)
line = sys.stdin.readline()  # input
print("read", line.strip())
sys.exit(9)
"""

C_PROGRAM = """#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *locked(void *unused)
{
    pthread_mutex_lock(&lock);
    return unused;
}
int main(void)
{
    char c;
    pthread_t t;
    pthread_mutex_lock(&lock);
    pthread_create(&t, NULL, locked, NULL);
    puts("ready");
    fflush(stdout);
    while (read(0, &c, 1) > 0 && c != 'e') continue;
    return 9;
}
"""


def begun(words):
    p = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return p, p.stdout.readline() == "ready\n"


def dumped(check, pid, *options):
    done = tomoprof("dump", pid, *options)
    check.that(done.returncode == 0, f"exit {done.returncode}: {done.stderr}")
    return done.stdout


def a_python_program(check, folder):
    (folder / "prog.py").write_text(PROGRAM)
    number = {m[1]: n for n, line in enumerate(PROGRAM.splitlines(), 1) if (m := re.search(r"# (\w+)$", line))}
    p, ready = begun([sys.executable, folder / "prog.py"])
    check.that(ready, "the program did not start")
    threads = json.loads(dumped(check, p.pid, "--json", "--seconds", 0.3))["threads"]
    found = {f["line"]: t for t in threads for f in t["frames"] if f["kind"] == "python" and f["file"] and f["file"].endswith("prog.py")}
    check.that(len(threads) == 4 and set(found) == set(number.values()), f"{found.keys()} of {number}")
    for mark, state in (("queue", "waits for a lock, a condition or another thread (futex)"), ("sleep", "waits for a time to pass (clock_nanosleep)"), ("busy", None), ("input", "waits for input (read of descriptor 0, pipe:")):
        t = found.get(number[mark], {"state": "", "frames": []})
        check.that(state is None or t["state"].startswith(state), f"{mark}: {t['state']}")
        check.that(any(f["kind"] == "native" for f in t["frames"]), f"{mark}: no native frame: {t['frames']}")
    check.that([t["tid"] for t in threads if t["main"]] == [p.pid] and found[number["input"]]["main"], "the main thread")
    frames = [f["function"] for f in found[number["queue"]]["frames"] if f["kind"] == "python"]
    check.that(frames[:3] == ["Condition.wait", "Queue.get", "empty_queue"] or frames[:2] == ["wait", "get"], f"{frames}")
    text = dumped(check, p.pid)
    check.that("4 threads" in text and f"python empty_queue ({folder.name}/prog.py:{number['queue']})" in text.replace(".../", ""), text)
    out, err = p.communicate("hello\n", timeout=300)
    check.that((p.returncode, out, err) == (9, "read hello\n", ""), f"the program: {p.returncode} {out!r} {err!r}")


def a_c_program(check, folder):
    path = compiled(folder, "locked", C_PROGRAM, "-O1", "-g", "-pthread")
    p, ready = begun([path])
    check.that(ready, "the program did not start")
    threads = {t["main"]: t for t in json.loads(dumped(check, p.pid, "--json"))["threads"]}
    names = {main_: [f["function"] for f in t["frames"]] for main_, t in threads.items()}
    check.that("locked" in names[False] and "main" in names[True], f"{names}")
    check.that("futex" in threads[False]["state"] and "read of descriptor 0" in threads[True]["state"], f"{threads}")
    p.communicate("e", timeout=300)
    check.that(p.returncode == 9, f"the program ended with {p.returncode}")


def wrong_calls_are_named(check, folder):
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    for words, code in (((gone.pid,), 2), (("x",), 2), ((0,), 2), ((), 2)):
        done = tomoprof("dump", *words)
        check.that(done.returncode == code and done.stdout == "" and done.stderr.count("\n") == 1, f"{words}: {done.returncode} {done.stderr}")
    left = [n for n in os.listdir("/tmp") if n.startswith("tomoprof-dump-") and os.stat(f"/tmp/{n}").st_uid == os.getuid()]
    check.that(not left, f"left in /tmp: {left}")


if __name__ == "__main__":
    need_library()
    main(a_python_program, a_c_program, wrong_calls_are_named)
