"""record --runs and --against: how often a program runs, in which order, and what is kept of its times."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main, newest, tomoprof

# Spends CPU time that it measures itself, so that its functions' times are known on any machine.
PROGRAM = """import os, sys, time

def moving_average(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(300000))

def steady():
    until = time.process_time() + 0.1
    while time.process_time() < until:
        sum(range(300000))

with open(LOG, "a") as log:
    log.write(NAME + ("+" if "TOMOPROF_CAPTURE_DIR" in os.environ else "") + "\\n")
steady()
if SLOW:
    moving_average(0.4)
print("done")
sys.exit(EXIT(len(open(LOG).read().split())))
"""


def program(folder, name, slow, exit_="lambda n: 0"):
    path = folder / f"{name}.py"
    path.write_text(f"LOG, NAME, SLOW, EXIT = {str(folder / 'log')!r}, {name!r}, {slow}, {exit_}\n" + PROGRAM)
    return path


def runs_are_timed_without_the_recorder(check, folder):
    done = tomoprof("record", "--runs", 3, "--out", folder / "out", "--", sys.executable, program(folder, "a", False))
    check.that(done.returncode == 0 and done.stdout == "done\n", f"{done.returncode} {done.stdout!r} {done.stderr}")
    check.that((folder / "log").read_text().split() == ["a"] * 4 + ["a+"], (folder / "log").read_text())
    record = json.loads((newest(folder / "out") / "record.json").read_text())
    profile = json.loads((newest(folder / "out") / "profile.json").read_text())
    check.that(record["warmup"] == 1 and [r["exit_code"] for r in record["timed"]] == [0] * 3, f"{record['timed']}")
    check.that([r["wall_s"] for r in profile["timed_runs"]] == [r["wall_s"] for r in record["timed"]] and all(r["user_s"] + r["sys_s"] >= 0.09 for r in profile["timed_runs"]),
               f"{profile['timed_runs']}")
    check.that("Time (mean ± sd):" in done.stderr and "Range (min … max):" in done.stderr and "3 runs without the recorder" in done.stderr, done.stderr)


def two_commands_take_turns(check, folder):
    a, b = program(folder, "a", True), program(folder, "b", False)
    done = tomoprof("record", "--runs", 3, "--out", "out", "--against", f"{sys.executable} '{a.name}'", "--", sys.executable, b.name, cwd=folder)
    check.that(done.returncode == 0, f"{done.returncode} {done.stderr}")
    check.that((folder / "log").read_text().split() == ["a", "b", "a", "b", "b", "a", "a", "b", "a+", "b+"], (folder / "log").read_text())
    check.that("done" not in done.stdout and "gone" in done.stdout and "moving_average (a.py:4) is gone" in done.stdout, done.stdout)
    runs = sorted(p for p in (folder / "out").iterdir() if not p.is_symlink())
    again = json.loads(tomoprof("compare", *runs, "--json").stdout)
    rows = {f["name"]: f for f in again["functions"]}
    check.that(rows["moving_average"]["verdict"] == "gone" and rows["moving_average"]["text"] == "def moving_average(seconds):", f"{rows}")
    check.that(abs(rows["moving_average"]["a_s"] - 0.4) < 0.2, f"{rows['moving_average']}")
    wall = again["totals"][0]
    over = wall["low"] > 1 and wall["ratio"] > 1.1
    check.that((wall["a"]["runs"], wall["b"]["runs"]) == (3, 3) and not over, f"{wall}")
    check.that(tomoprof("compare", *runs, "--fail-over", "10%").returncode == 0, "B, which leaves out work, fails the gate")
    back = json.loads(tomoprof("compare", *reversed(runs), "--json").stdout)["totals"][0]
    code = 1 if back["low"] > 1 and back["ratio"] > 1.1 else 0
    check.that(tomoprof("compare", *reversed(runs), "--fail-over", "10%").returncode == code, f"the gate is not the verdict of {back}")


def a_run_that_fails_ends_them(check, folder):
    done = tomoprof("record", "--runs", 3, "--out", folder / "out", "--", sys.executable, program(folder, "a", False, "lambda n: 3 * (n == 3)"))
    check.that(done.returncode == 1 and "run 2 of 3" in done.stderr and "exit status 3" in done.stderr, f"{done.returncode} {done.stderr}")
    check.that((folder / "log").read_text().split() == ["a"] * 3 and not (folder / "out").exists(), "it went on")


def wrong_calls_are_named(check, folder):
    true = "/bin/true"
    for words, text in ((("--runs", 2, "--pid", 1), "--pid"), (("--runs", 2, "--measure-overhead", "--", true), "--measure-overhead"),
                        (("--runs", 2, "--seconds", 1, "--", true), "--seconds"), (("--against", "a | b", "--", true), "sh -c"),
                        (("--against", "'a", "--", true), "open quote"), (("--against", " ", "--", true), "empty"),
                        (("--against", "$(touch mark)", "--", true), "sh -c"), (("--against", true, "--no-analysis", "--", true), "--no-analysis"), (("--runs", 0, "--", true), "--runs"), (("--for", "2x", "--", true), "--for"),
                        (("--for", "nan", "--", true), "--for"), (("--for", "2s", "--seconds", 2, "--", true), "--seconds")):
        done = tomoprof("record", *words, cwd=folder)
        check.that(done.returncode == 2 and text in done.stderr, f"{words}: {done.returncode} {done.stderr}")
    check.that(not (folder / "mark").exists(), "--against ran a command substitution")


if __name__ == "__main__":
    main(runs_are_timed_without_the_recorder, two_commands_take_turns, a_run_that_fails_ends_them, wrong_calls_are_named)
