"""Runs are found again: `latest`, `previous` and `list`, wherever --out put them."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main, newest, tomoprof


def runs_are_found(check, folder):
    (folder / "here").mkdir()
    away = {"env": {"XDG_STATE_HOME": str(folder / "state")}, "cwd": folder / "here"}
    none = tomoprof("report", **away)
    check.that(none.returncode == 2 and "latest: no run is known" in none.stderr, f"{none}")
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
    check.that(tomoprof("report", "latest", **elsewhere).returncode == 0, "the newest of all")
    (runs[0] / "record.json").write_text("{")
    lines = tomoprof("list", **away).stdout.splitlines()
    check.that(len(lines) == 3 and "(record.json is damaged)" in lines[0] and "nan" not in lines[0], f"a damaged run: {lines}")
    check.that(json.loads(tomoprof("list", "--json", **away).stdout)[0]["wall_s"] is None, "the time of a damaged run")


if __name__ == "__main__":
    main(runs_are_found)
