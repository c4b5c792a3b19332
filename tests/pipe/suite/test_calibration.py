"""Calibrations that run keeps below XDG_CACHE_HOME: taken by the next run, made again where the file is of another build or damaged, or
with --calibrate. TOMOPROF_CALIBRATION=trusted: without the comparison with the machine's speed, which changes beside other tests."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main, tomoprof

KEYS = ("gflops", "gbytes_per_s", "cached_gbytes_per_s")


def calibration(check, folder, *more, cache="cache"):
    """Of the operation's rows, and what the log says."""
    env = {"TOMOPROF_CALIBRATION": "trusted", "XDG_CACHE_HOME": str(folder / cache)}
    done = tomoprof("run", "--ops", "gen_weights_unweighted", "--sizes", 16, "--runs", 2, "--no-trace", "--no-triage", "--out", folder / "out", *more, env=env)
    check.must(done.returncode == 0, f"{done}")
    run = folder / "out/latest"
    rows = json.loads((run / "timing.json").read_text())["measurements"]
    check.that(all(row["calibration"] == rows[0]["calibration"] and row["calibration"]["gflops"] > 0 for row in rows), f"{rows}")
    return rows[0]["calibration"], (run / "log.txt").read_text()


def kept_and_taken(check, folder):
    first, log = calibration(check, folder)
    files = list((folder / "cache/tomoprof").iterdir())
    check.must("kept_s" not in first and len(files) == 1 and "calibration" not in log, f"{first} {files} {log}")
    second, _ = calibration(check, folder)
    check.that(second.get("kept_s", 0) >= 1 and [second[k] for k in KEYS] == [first[k] for k in KEYS], f"{first} {second}")
    text = files[0].read_text()
    anew, _ = calibration(check, folder, "--calibrate")
    check.that("kept_s" not in anew and files[0].read_text() != text, f"{anew}")
    third, _ = calibration(check, folder)
    check.that([third[k] for k in KEYS] == [anew[k] for k in KEYS], f"{anew} {third}")
    one, _ = calibration(check, folder, "--threads", 1)
    check.that("kept_s" not in one or len(list((folder / "cache/tomoprof").iterdir())) == 1, f"{one}: of another number of threads")


def not_of_this_build_or_damaged(check, folder):
    calibration(check, folder)
    file = next((folder / "cache/tomoprof").iterdir())
    good = file.read_text()
    other, damaged = good.replace("build: ", "build: 1"), good[: len(good) // 2]
    for text, said in ((other, False), (damaged, True), ("", True)):
        file.write_text(text)
        found, log = calibration(check, folder)
        check.that("kept_s" not in found, f"{found} of {text}")
        check.that(("not a calibration that tomoprof wrote" in log) == said, log)
        check.that(calibration(check, folder)[0].get("kept_s", 0) >= 1, "it was not written again")


def nowhere_to_keep_it(check, folder):
    (folder / "file").write_text("")
    found, log = calibration(check, folder, cache="file")
    check.that("kept_s" not in found and "the calibration is not kept: " in log and (folder / "file").read_text() == "", f"{found} {log}")


if __name__ == "__main__":
    main(kept_and_taken, not_of_this_build_or_damaged, nowhere_to_keep_it)
