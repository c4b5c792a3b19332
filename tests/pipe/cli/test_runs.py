"""Runs are found again: `latest`, `previous` and `list`, wherever --out put them."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, main, newest, tomoprof


def runs_are_found(check, folder):
    (folder / "here").mkdir()
    away = {"env": {"XDG_STATE_HOME": str(folder / "state")}, "cwd": folder / "here"}
    none = tomoprof("report", **away)
    check.that(none.returncode == 2 and "latest: no run was made from this folder" in none.stderr, f"{none}")
    check.that("No run is known" in tomoprof("list", **away).stdout, "an empty list")
    runs = []
    for i, out in enumerate(("../a", "runs", folder / "b")):
        done = tomoprof("record", "--out", out, "--", sys.executable, "-c", f"sum(range({i}))", **away)
        check.must(done.returncode == 0, f"{done}")
        runs.insert(0, newest(folder / "here" / out).resolve())
    listed = json.loads(tomoprof("list", "--json", **away).stdout)
    check.that([row["folder"] for row in listed] == list(map(str, runs)), f"{listed}")
    check.that(listed[0]["command"].endswith("sum(range(2))") and listed[0]["wall_s"] > 0, f"{listed[0]}")
    text = tomoprof("list", "--top", "2", **away).stdout.splitlines()
    check.that(len(text) == 2 and str(runs[0]) in text[0] and str(runs[1]) in text[1] and "sum(range(2))" in text[0], f"{text}")
    for words, run in (([], runs[0]), (["latest"], runs[0]), (["previous"], runs[1])):
        page = run / "report.html"
        page.unlink()
        done = tomoprof("report", *words, **away)
        check.that(done.returncode == 0 and page.exists(), f"{words}: {done}")
    done = tomoprof("compare", "previous", "latest", **away)
    check.that(done.returncode == 0 and "The program took" in done.stdout, f"{done}")
    elsewhere = {**away, "cwd": folder}
    check.that("No run is known of this folder" in tomoprof("list", "--here", **elsewhere).stdout, "runs of another folder")
    done = tomoprof("report", "latest", **elsewhere)
    check.that(done.returncode == 2 and "no run was made from this folder" in done.stderr and "tomoprof list" in done.stderr, f"another folder: {done}")
    (runs[0] / "record.json").write_text("{")
    lines = tomoprof("list", **away).stdout.splitlines()
    check.that(len(lines) == 3 and "(record.json is damaged)" in lines[0] and "nan" not in lines[0], f"a damaged run: {lines}")
    check.that(json.loads(tomoprof("list", "--json", **away).stdout)[0]["wall_s"] is None, "the time of a damaged run")


def runs_have_a_folder(check, folder):
    """tomoprof-runs, or what TOMOPROF_RUNS names; latest is there for those who do not remember."""
    for variable, place in ((None, "tomoprof-runs"), ("output", "output"), ("", "tomoprof-runs")):
        env = {} if variable is None else {"TOMOPROF_RUNS": variable}
        for state in ("a", "b"):  # b remembers nothing of a
            away = {"env": {"XDG_STATE_HOME": str(folder / f"{state}{variable}"), **env}, "cwd": folder}
            if state == "a":
                check.must(tomoprof("record", "--", "/bin/true", **away).returncode == 0, f"record, {variable!r}")
            done = tomoprof("report", **away)
            check.that(done.returncode == 0 and f"{place}/2" in done.stderr, f"{variable!r}: {done}")
        check.that(tomoprof("report", "previous", **away).returncode == 2, "previous of what is not remembered")


def loads_are_runs(check, folder):
    """Two runs of `load` are `previous` and `latest`, which compare judges and report names the page of."""
    away = {"env": {"XDG_STATE_HOME": str(folder / "state")}, "cwd": folder}
    scan = DATA / "tooth.h5"
    for _ in range(2):
        check.must(tomoprof("load", scan, **away).returncode == 0, "load")
    listed = tomoprof("list", **away).stdout.splitlines()
    check.that(len(listed) == 2 and all("(tomoprof load)" in row for row in listed), f"{listed}")
    done = tomoprof("compare", "previous", "latest", **away)
    check.that(done.returncode == 0 and "the load that was profiled" in done.stdout, f"{done}")
    done = tomoprof("report", **away)
    check.that(done.returncode == 0 and "loading.html" in done.stderr, f"{done}")
    done = tomoprof("report", "latest", "--text", **away)
    check.that(done.returncode == 2 and "loading.html" in done.stderr, f"{done}")
    done = tomoprof("triage", "latest", **away)
    check.that(done.returncode == 2 and "tomoprof run" in done.stderr, f"{done}")


def commands_fill_one_row(check, folder):
    """A command with line breaks and control characters is one row of the list."""
    away = {"env": {"XDG_STATE_HOME": str(folder / "state")}, "cwd": folder}
    check.must(tomoprof("record", "--", sys.executable, "-c", "import sys\nx = '\x1b[31m'\nsys.exit(0)", **away).returncode == 0, "record")
    text = tomoprof("list", **away).stdout
    check.that(text.count("\n") == 1 and "\x1b" not in text and "-c import sys\\nx = '" in text, f"{text!r}")
    compared = tomoprof("compare", "latest", "latest", **away).stdout
    check.that("\x1b" not in compared, f"{compared!r}")


def triage_says_what_a_recording_lacks(check, folder):
    away = {"env": {"XDG_STATE_HOME": str(folder / "state")}, "cwd": folder}
    check.must(tomoprof("record", "--", sys.executable, "-c", "pass", **away).returncode == 0, "record")
    for words in ((), ("--size", "64")):
        done = tomoprof("triage", "latest", *words, **away)
        check.that(done.returncode == 2 and "recording" in done.stderr and "`tomoprof run" in done.stderr and "none of tomoprof's operations" in done.stderr and not done.stdout, f"{words}: {done}")


if __name__ == "__main__":
    main(runs_are_found, runs_have_a_folder, loads_are_runs, commands_fill_one_row, triage_says_what_a_recording_lacks)
