"""Threads that compute under each CPython there is: where there is a GIL its waits are found, in free-threaded builds there are none.

TP_PYTHONS=PATH:PATH names further interpreters."""

import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, main, need_library, of_samples, profile, run
from pythons import pythons

SCRIPT = """
import json, sys, threading, time
start = threading.Barrier(3)
def compute():
    start.wait()
    end = time.thread_time() + 0.25
    while time.thread_time() < end:
        sum(i * i for i in range(40000))   # @compute
threads = [threading.Thread(target=compute) for _ in range(3)]
[t.start() for t in threads], [t.join() for t in threads]
enabled = getattr(sys, "_is_gil_enabled", lambda: True)
print(json.dumps([sys.version_info[1], enabled(), hasattr(sys, "_is_gil_enabled") and "free-threading" in sys.version]))
"""


def check_one(check, folder, python):
    done = run(command(folder / "out", "--modes", "cpu,wait,python,locks", "--", python, folder / "compute.py"))
    check.must(done.returncode == 0, f"{python}: {done.stderr.decode()[-300:]}")
    minor, has_gil, free_threaded = json.loads(done.stdout)
    p = profile(folder / "out")
    what, version = f"3.{minor}{'t' if free_threaded else ''}", p["environment"].get("python", "")
    if free_threaded and minor > 13:
        return print(f"skipped: {what}: its frames are not known")
    check.that(version == f"3.{minor}" + (", free-threaded" if free_threaded else ""), f"{what}: recorded as {version!r}")
    waits = [r for r in p["locks"] if r["kind"] == "gil" and r["role"] == "contention"]
    line = 1 + next(i for i, text in enumerate(SCRIPT.splitlines()) if "@compute" in text)
    if has_gil:
        lines = {r["line"] for r in waits}
        check.that(sum(r["wait_s"] for r in waits) > 0.25, f"{what}: {[(r['line'], r['wait_s']) for r in waits]}")
        check.that(line in lines, f"{what}: waits at lines {lines}, not at {line}")
        check.that(p["contention"] and p["contention"][0]["gil_s"] > 0.25, f"{what}: {p['contention']}")
    else:
        check.that(not waits, f"{what}: waits for a GIL that it has not: {waits}")
    print(what, "with" if has_gil else "without", "a GIL: waited", round(sum(r["wait_s"] for r in waits), 2), "s")


@of_samples
def test(check, folder):
    (folder / "compute.py").write_text(SCRIPT)
    for python in pythons():
        check_one(check, folder, python)
        shutil.rmtree(folder / "out", ignore_errors=True)


need_library()
main(test)
