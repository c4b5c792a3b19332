"""`apply NAME SIZE N --flamegraph`: a run of that operation with a flame graph, in which short operations run until there are samples enough."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import SANITIZED, main, newest, tomoprof


def a_short_operation(check, folder):
    if SANITIZED:
        print("  not tried: a build with sanitizers records no samples")
        return
    done = tomoprof("apply", "parallel_fbp_recon", 16, 2, "--flamegraph", "--threads", 1, cwd=folder)
    check.must(done.returncode == 0 and done.stdout == "", f"{done}")
    run = newest(folder / "tomoprof-runs")
    pictures = [p.name for p in (run / "flamegraphs").iterdir()]
    check.that(len(pictures) == 1 and pictures[0].endswith("_16.svg"), f"{pictures}")
    profile = json.loads((run / "profile.json").read_text())
    check.that(profile["totals"]["cpu"]["user"] + profile["totals"]["cpu"]["sys"] > 0.8, f"runs go on to 1 s of CPU time: {profile['totals']['cpu']}")
    timing = json.loads((run / "timing.json").read_text())
    rows = [r for r in timing["measurements"] if not r.get("traced")]
    check.that(len(rows) == 3, f"2 runs and a warm-up, not those of the profile: {rows}")


def more_warm_ups(check, folder):
    done = tomoprof("run", "--ops", "parallel_fbp_recon", "--sizes", 16, "--runs", 2, "--warmup", 3, "--no-trace", cwd=folder)
    check.must(done.returncode == 0, f"{done}")
    rows = json.loads((newest(folder / "tomoprof-runs") / "timing.json").read_text())["measurements"]
    check.that([r["run"] for r in rows] == [1, 2], f"warm-up runs have no rows: {rows}")


def wrong_calls(check, folder):
    for words, text in ((("--flamegraph",), "needs a SIZE"), (("16", "--flamegraph", "--set", "a=1"), "")):
        done = tomoprof("apply", "parallel_fbp_recon", *words, cwd=folder)
        check.that(done.returncode == 2 and text in done.stderr, f"{words}: {done}")


if __name__ == "__main__":
    main(a_short_operation, more_warm_ups, wrong_calls)
