"""Two runs side by side: ratios, intervals, verdicts, exit codes."""

import json
import math
import pathlib
import random
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, main, tomoprof, write_json


def timing(times, **environment):
    """times: {(operation, size): [seconds]}; a cold and a failed row stand beside them and must not count."""
    rows = []
    for (operation, size), values in times.items():
        row = {"operation": operation, "volume_size": size, "traced": False, "cold": False, "status": "ok", "reason": None}
        rows += [{**row, "run": 0, "time": 100.0, "cold": True}, {**row, "run": 99, "time": None, "status": "failed", "reason": "x"}]
        rows += [{**row, "run": i + 1, "time": t} for i, t in enumerate(values)]
    return {"schema": "tomoprof-timing/1", "environment": {"backend": "cpu", "cpu": "X", "threads": 2, "compiler": "gcc 12", **environment},
            "measurements": rows, "statistics": [], "scaling": []}


STEADY = [1.00, 1.01, 0.99, 1.00, 1.02]


def pair(folder, a, b):
    for name, value in (("a", a), ("b", b)):
        (folder / name).mkdir(exist_ok=True)
        write_json(folder / name / "timing.json", value)
    return folder / "a", folder / "b"


def compare(check, *args, code=0):
    done = tomoprof("compare", *args, "--json")
    check.that(done.returncode == code, f"exit {done.returncode}, not {code}: {done.stderr}")
    return json.loads(done.stdout) if done.stdout else None, done.stderr


def verdicts_follow_the_interval(check, folder):
    times = {("slow", 64): STEADY, ("fast", 64): STEADY, ("same", 64): STEADY, ("few", 64): [1.0], ("wide", 64): [1.0, 1.4], ("gone", 64): STEADY}
    changed = {("slow", 64): [1.3 * t for t in STEADY], ("fast", 64): [0.5 * t for t in STEADY], ("same", 64): list(reversed(STEADY)),
               ("few", 64): [2.0, 2.0], ("wide", 64): [1.5, 1.1], ("new", 32): STEADY}
    result, _ = compare(check, *pair(folder, timing(times), timing(changed)))
    rows = {o["operation"]: o for o in result["operations"]}
    for name, verdict in {"slow": "slower", "fast": "faster", "same": "unchanged", "few": "undecided", "wide": "undecided", "gone": "only in A", "new": "only in B"}.items():
        check.that(rows[name]["verdict"] == verdict, f"{name}: {rows[name]}")
    check.that(abs(rows["slow"]["ratio"] - 1.3) < 1e-9 and rows["slow"]["low"] <= 1.3 <= rows["slow"]["high"], f"{rows['slow']}")
    check.that(rows["few"]["low"] is None and rows["gone"]["ratio"] is None, "unknown must be null")
    check.that(any("2 of 7" in w for w in result["warnings"]), f"{result['warnings']}")


def three_runs_decide_a_clear_change(check, folder):
    """The first of three is cold: two count. A factor of three is not noise of a few percent; undecided rows are counted as that."""
    times = {("cone", 64): [1.00, 1.03], ("ramp", 64): [1.00, 1.03], ("hess", 64): [1.0, 1.3], ("back", 64): [1.0, 1.001]}
    changed = {("cone", 64): [3.06, 3.10], ("ramp", 64): [0.33, 0.34], ("hess", 64): [1.2, 1.5], ("back", 64): [1.001, 1.002]}
    result, _ = compare(check, *pair(folder, timing(times), timing(changed)))
    check.that([o["verdict"] for o in result["operations"]] == ["slower", "faster", "undecided", "unchanged"], f"{result['operations']}")
    for part in ("Of 4 operations and sizes: 1 slower, 1 faster, 1 unchanged, 1 undecided.", "cone at size 64 takes 3.0", "ramp at size 64 takes 0.33 of its time"):
        check.that(part in result["answer"], f"{part} is not in: {result['answer']}")


def equal_programs_are_not_called_different(check, folder):
    """400 pairs of samples of one distribution, with few and more runs: of 99 % intervals hardly one may exclude 1."""
    chance = random.Random(7)
    for count, most in ((2, 6), (3, 6), (6, 6)):
        a, b = ({(f"op{i}", 64): [math.exp(chance.gauss(0, 0.1)) for _ in range(count)] for i in range(400)} for _ in "ab")
        result, _ = compare(check, *pair(folder, timing(a), timing(b)))
        called = sum(o["verdict"] in ("slower", "faster") for o in result["operations"])
        outside = sum(not o["low"] <= 1 <= o["high"] for o in result["operations"])
        check.that(called <= most and outside <= 10, f"{count} runs a side: {called} of 400 equal pairs called different, {outside} outside")


def ranks_give_the_exact_interval(check, folder):
    """5 and 5 times: 2 of 252 orders are as far out as none above; the interval is that of the outermost differences."""
    a, b = [1.0, 1.1, 1.2, 1.3, 1.4], [2.0, 2.5, 3.0, 3.5, 40.0]
    row = compare(check, *pair(folder, timing({("op", 1): a}), timing({("op", 1): b})))[0]["operations"][0]
    check.that(abs(row["low"] - 2.0 / 1.4) < 1e-9 and abs(row["high"] - 40.0) < 1e-9 and row["verdict"] == "slower", f"{row}")


def edits_are_followed(check, folder):
    """Two lines are put in above the loop, which gets faster: the loop's line is paired with itself, the edit is shown with its cost."""
    profile = json.loads((DATA / "profile" / "example.json").read_text())
    blank = next(iter(profile["files"].values()))["lines"][0]
    none = ("findings", "kernels", "timeline", "transfers", "apis", "memory", "gpu", "ranges", "memsets", "unattributed", "frames", "stacks")

    def empty(value):
        return {k: [] if isinstance(v, list) else v for k, v in value.items()} if isinstance(value, dict) else []

    def of(source, costs):
        lines = [{**json.loads(json.dumps(blank)), "line": n, "text": source[n - 1], "function": None, "ranges": []} for n in costs]
        for line in lines:
            line["cpu"] = {**line["cpu"], "user": costs[line["line"]], "sys": 0.0, "error": 0.01}
        rest = [{"line": n + 1, "text": t} for n, t in enumerate(source) if n + 1 not in costs]
        return {**profile, **{k: empty(profile[k]) for k in none}, "files": {"a.py": {**next(iter(profile["files"].values())), "length": len(source), "lines": lines, "functions": [],
                                              "source": {"line": [r["line"] for r in rest], "text": [r["text"] for r in rest]}}}}

    old = ["import x", "def f(n):", "    s = 0", "    for i in range(n):", "        s += g(i)", "    return s", "f(9)"]
    new = ["import x", "import y", "", "def f(n):", "    s = y.sum(g, n)", "    return s", "f(9)"]
    write_json(folder / "a.profile.json", of(old, {4: 0.2, 5: 2.0, 7: 0.5}))
    write_json(folder / "b.profile.json", of(new, {5: 0.4, 7: 0.5}))
    result, _ = compare(check, folder / "a.profile.json", folder / "b.profile.json")
    top = result["edits"][0]
    check.that((top["line_a"], top["lines_a"], top["line_b"], top["lines_b"], top["verdict"]) == (3, 3, 5, 1, "faster"), f"{top}")
    check.that(top["diff"] == "".join(f"-{t}\n" for t in old[2:5]) + f"+{new[4]}\n" and abs(top["a"] - 2.2) < 1e-9 and abs(top["b"] - 0.4) < 1e-9, f"{top}")
    rows = {(row["line_a"], row["line_b"]): row["verdict"] for row in result["lines"]}
    check.that(rows == {(5, None): "removed", (4, None): "removed", (None, 5): "added", (7, 7): "unchanged"}, f"{rows}")
    check.that("The edit at a.py:5 changed 2.2 s to 0.4 s" in result["answer"], result["answer"])


def recorded(functions, path="smooth.py", runs=(), cpu=10.0):
    """A recording whose `functions`, {name: (line, own s, inclusive s)}, are all that it holds; `runs`: seconds without the recorder."""
    profile = json.loads((DATA / "profile" / "example.json").read_text())
    file = profile["files"]["recon.py"]
    blank = file["functions"][0]

    def empty(value):
        return {k: [] if isinstance(v, list) else v for k, v in value.items()} if isinstance(value, dict) else []

    rows = []
    for name, (line, own, inclusive) in functions.items():
        rows.append({**json.loads(json.dumps(blank)), "name": name, "line": line})
        rows[-1]["cpu"].update(user=own, sys=0.0)
        rows[-1]["cpu_incl"].update(user=inclusive, sys=0.0)
    none = ("findings", "kernels", "timeline", "transfers", "apis", "memory", "gpu", "ranges", "memsets", "unattributed", "frames", "stacks")
    totals = {**profile["totals"], "cpu": {**profile["totals"]["cpu"], "user": cpu, "sys": 0.0, "samples": round(100 * cpu)}}
    source = {"line": [line for line, _, _ in functions.values()], "text": [f"def {name}():" for name in functions]}
    return {**profile, **{k: empty(profile[k]) for k in none}, "totals": totals, "meta": {**profile["meta"], "wall_s": cpu},
            "timed_runs": [{"wall_s": t, "user_s": t, "sys_s": 0.0, "peak_rss_mb": 100.0} for t in runs],
            "files": {path: {**file, "lines": [], "functions": rows, "length": 99, "source": source}}}


def functions_are_judged(check, folder):
    """moving_average leaves with its 0.65 s, whose caller is faster by as much; what did not change is not judged, and a few samples are too few."""
    a = {"moving_average": (12, 0.65, 0.65), "main": (30, 0.05, 2.65), "load": (3, 1.9, 1.9), "rare": (40, 0.03, 0.03)}
    b = {"main": (28, 0.06, 2.1), "load": (3, 1.9, 1.9), "smooth": (20, 0.4, 0.4)}
    write_json(folder / "a.profile.json", recorded(a))
    write_json(folder / "b.profile.json", recorded(b))
    result, _ = compare(check, folder / "a.profile.json", folder / "b.profile.json")
    rows = {f["name"]: f for f in result["functions"]}
    wanted = {"moving_average": "gone", "smooth": "new", "load": "unchanged", "main": "undecided", "rare": "undecided"}
    check.that({name: f["verdict"] for name, f in rows.items()} == wanted, f"{rows}")
    gone = result["functions"][0]
    check.that((gone["name"], gone["file"], gone["line_a"], gone["line_b"], gone["text"], gone["a_s"], gone["b_s"]) ==
               ("moving_average", "smooth.py", 12, None, "def moving_average():", 0.65, 0.0), f"{gone}")
    check.that("moving_average (smooth.py:12) is gone: it took 0.65 s of CPU time" in result["answer"], result["answer"])
    check.that(result["totals"][0]["verdict"] == "undecided" and result["totals"][0]["low"] is None, "one run a side decides nothing")
    # the same code at 100 times the time: what sampling left open is decided
    write_json(folder / "a.profile.json", recorded({k: (line, 100 * own, 100 * all_) for k, (line, own, all_) in a.items()}, cpu=1000.0))
    write_json(folder / "b.profile.json", recorded({k: (line, 100 * own, 100 * all_) for k, (line, own, all_) in b.items()}, cpu=1000.0))
    rows = {f["name"]: f["verdict"] for f in compare(check, folder / "a.profile.json", folder / "b.profile.json")[0]["functions"]}
    check.that(rows == {"moving_average": "gone", "smooth": "new", "load": "unchanged", "main": "faster", "rare": "gone"}, f"{rows}")


def noise_of_the_runs_counts(check, folder):
    """Runs that scatter by a tenth say that a function's change of a tenth may be chance."""
    for runs, verdict in (([10.0, 10.01, 9.99, 10.0, 10.02], "slower"), ([10.0, 11.0, 9.0, 10.5, 9.5], "undecided")):
        write_json(folder / "a.profile.json", recorded({"f": (1, 1000.0, 1000.0)}, runs=runs, cpu=1000.0))
        write_json(folder / "b.profile.json", recorded({"f": (1, 1150.0, 1150.0)}, runs=runs, cpu=1150.0))
        result, _ = compare(check, folder / "a.profile.json", folder / "b.profile.json")
        check.that([f["verdict"] for f in result["functions"]] == [verdict], f"{runs}: {result['functions']}")


def a_script_of_another_name_is_the_same_file(check, folder):
    write_json(folder / "a.profile.json", recorded({"f": (1, 500.0, 500.0)}, path="before.py", cpu=1000.0))
    write_json(folder / "b.profile.json", recorded({"f": (2, 250.0, 250.0)}, path="after.py", cpu=750.0))
    result, _ = compare(check, folder / "a.profile.json", folder / "b.profile.json")
    check.that([(f["file"], f["line_a"], f["line_b"], f["verdict"]) for f in result["functions"]] == [("after.py", 1, 2, "faster")], f"{result['functions']}")


def runs_judge_the_program(check, folder):
    """--fail-over judges the runs' wall time; a program without repeated runs is refused."""
    functions = {"f": (1, 5.0, 5.0)}
    times = {"a": STEADY, "same": list(reversed(STEADY)), "slow": [1.3 * t for t in STEADY], "once": []}
    for name, runs in times.items():
        write_json(folder / f"{name}.profile.json", recorded(functions, runs=runs))
    for name, verdict, code in (("same", "unchanged", 0), ("slow", "slower", 1)):
        pair_ = folder / "a.profile.json", folder / f"{name}.profile.json"
        result, said = compare(check, *pair_, "--fail-over", "10%", code=code)
        wall = result["totals"][0]
        check.that((wall["name"], wall["verdict"], wall["a"]["runs"], wall["b"]["runs"]) == ("wall time", verdict, 5, 5), f"{wall}")
        check.that(abs(wall["a"]["mean"] - sum(STEADY) / 5) < 1e-9 and wall["a"]["min"] == 0.99 and wall["a"]["max"] == 1.02, f"{wall}")
        check.that(("the program's wall time is 30.0 % longer" in said) == (code == 1), said)
    compare(check, folder / "a.profile.json", folder / "slow.profile.json", "--fail-over", "40%")
    _, said = compare(check, folder / "a.profile.json", folder / "once.profile.json", "--fail-over", "10%", code=2)
    check.that("--runs 5" in said, said)
    text = tomoprof("compare", folder / "a.profile.json", folder / "slow.profile.json").stdout
    check.that("1.004 s ± 0.011 s" in text and "0.99 s … 1.02 s" in text, text)


def loads_compare(check, folder):
    """Two runs of `load`: each way by its times; another array is named."""
    def loading(factor, array="/data"):
        way = {"backend": "pread", "processes": False, "batch": 1, "order": "index", "gap": 0, "status": "ok"}
        rows = [{**way, "workers": w, "seconds": t * factor, "times": [factor * t * x for x in (0.999, 1.0, 1.001)]} for w, t in ((1, 2.0), (4, 0.6))]
        return {"schema": "tomoprof-loading/1", "cache": "warm", "to": "memory", "chunks_read": 8, "read_s": 2.0 * factor, "read_cpu_s": 1.0,
                "file": {"format": "HDF5", "array": array, "bytes": 1000, "filesystem": "ext4"}, "sweep": [*rows, {**way, "workers": 8, "status": "failed"}]}

    for name, value in (("a", loading(1.0)), ("b", loading(1.5)), ("c", loading(1.0, "/other"))):
        (folder / name).mkdir()
        write_json(folder / name / "loading.json", value)
    result, said = compare(check, folder / "a", folder / "b", "--fail-over", "10%", code=1)
    rows = {o["operation"]: o["verdict"] for o in result["operations"]}
    check.that(rows == {"the load that was profiled": "undecided", "pread, 1 threads, batch 1, order index": "slower", "pread, 4 threads, batch 1, order index": "slower"}, f"{rows}")
    check.that("takes 50.0 % longer in B" in said and " at size" not in said, said)
    check.that(any("array differs" in w for w in compare(check, folder / "a", folder / "c")[0]["warnings"]), "another array is not named")


def another_program_is_said_first(check, folder):
    profile = json.loads((DATA / "profile" / "example.json").read_text())
    other = {**profile, "meta": {**profile["meta"], "command": ["python3", "else.py"]}}
    write_json(folder / "a.profile.json", profile)
    write_json(folder / "b.profile.json", other)
    done = tomoprof("compare", folder / "a.profile.json", folder / "b.profile.json")
    check.that("program differs: python3 recon.py --size 128 in A, python3 else.py in B" in done.stdout.split("operation")[0], done.stdout[:400])


def a_limit_decides_the_exit_code(check, folder):
    a, b = pair(folder, timing({("op", 64): STEADY}), timing({("op", 64): [1.3 * t for t in STEADY]}))
    for limit, code in (("10%", 1), ("10", 1), ("40%", 0)):
        _, said = compare(check, a, b, "--fail-above" if limit == "10" else "--fail-over", limit, code=code)
        check.that(("op at size 64" in said) == (code == 1), said)
    compare(check, b, a, "--fail-over", "10%")
    noisy = {("op", 64): [0.5, 1.2, 3.0, 0.7, 1.3]}
    compare(check, *pair(folder, timing({("op", 64): STEADY}), timing(noisy)), "--fail-over", "10%")
    for bad in ("x", "-1", "10%%", "nan"):
        check.that(tomoprof("compare", a, b, "--fail-over", bad).returncode == 2, f"--fail-over {bad} was taken")


def another_machine_is_not_judged(check, folder):
    a, b = pair(folder, timing({("op", 64): STEADY}), timing({("op", 64): [2 * t for t in STEADY]}, cpu="Y", threads=1))
    result, _ = compare(check, a, b)
    check.that(result["machines_differ"] and len(result["warnings"]) == 2, f"{result['warnings']}")
    _, said = compare(check, a, b, "--fail-over", "10%", code=2)
    check.that("CPU" in said and "--force" in said, said)
    compare(check, a, b, "--fail-over", "10%", "--force", code=1)
    a, b = pair(folder, timing({("op", 64): STEADY}), timing({("op", 64): [2 * t for t in STEADY]}, threads=1, compiler="clang"))
    compare(check, a, b, "--fail-over", "10%", code=1)  # a change that a person made: named, and judged


def a_slower_moment_of_the_machine_is_named(check, folder):
    """Calibrations that differ by more than 10 % are a warning; the verdict stays."""
    for gflops, warned in ((50.0, True), (95.0, False)):
        a, b = (timing({("op", 64): STEADY}) for _ in "ab")
        for run, rate in ((a, 100.0), (b, gflops)):
            for row in run["measurements"]:
                row["calibration"] = {"gflops": rate, "gbytes_per_s": 40.0, "cached_gbytes_per_s": None}
        result, _ = compare(check, *pair(folder, a, b))
        said = [w for w in result["warnings"] if "calibrations reached 100 GFLOP/s in A, 50 in B" in w]
        check.that(bool(said) == warned and not result["machines_differ"], f"{result['warnings']}")


def recordings_of_another_machine(check, folder):
    """Said first, before any time; a run that does not know its processor, as older ones, is not called another machine's."""
    profile = json.loads((DATA / "profile" / "example.json").read_text())
    for name, cpu in (("a", "X 9000"), ("b", "Y 1"), ("same", "X 9000"), ("old", None)):
        facts = {**profile["environment"], **({"launcher.cpu": cpu} if cpu else {})}
        write_json(folder / f"{name}.profile.json", {**profile, "environment": facts})
    result, _ = compare(check, folder / "a.profile.json", folder / "b.profile.json")
    check.that(result["answer"].startswith("These runs are from different machines (CPU differs: X 9000 in A, Y 1 in B)"), result["answer"])
    for name in ("same", "old"):
        result, _ = compare(check, folder / "a.profile.json", folder / f"{name}.profile.json")
        check.that("different machines" not in result["answer"], f"{name}: {result['answer']}")
        check.that(any("CPU differs: X 9000 in A, unknown in B" in w for w in result["warnings"]) == (name == "old"), f"{name}: {result['warnings']}")


def a_part_of_a_run_is_named(check, folder):
    """After `report --from --until` the run's profile is that of the part: its times are not compared as if they were the run's."""
    profile = json.loads((DATA / "profile" / "example.json").read_text())
    for name, meta in (("whole", {}), ("part", {"from_s": 1.5, "until_s": 2.25}), ("paused", {"from_s": 0.5, "until_s": 2.0, "paused": True})):
        (folder / name).mkdir()
        write_json(folder / name / "profile.json", {**profile, "meta": {**profile["meta"], **meta}})
    part, first = "seconds 1.5 to 2.25 of its run alone", "begins at its first region, after 0.5 s"
    for a, b, said in (("whole", "part", [f"B holds {part}"]), ("part", "part", [f"A holds {part}", f"B holds {part}"]), ("part", "paused", [f"A holds {part}", f"B {first}"]), ("whole", "whole", [])):
        result, _ = compare(check, folder / a, folder / b)
        check.that(result["answer"].startswith("".join(f"{text}. " for text in said) + "The program took "), f"{a}, {b}: {result['answer']}")
        check.that(sum("its run alone: `tomoprof report " in w or first in w for w in result["warnings"]) == len(said), f"{a}, {b}: {result['warnings']}")
    text = tomoprof("compare", folder / "whole", folder / "part").stdout
    check.that(f"! B holds {part}: `tomoprof report {folder / 'part'}` analyses all of it again" in text, text)


def lines_are_judged_by_their_error(check, folder):
    profile = json.loads((DATA / "profile" / "example.json").read_text())
    other = json.loads(json.dumps(profile))
    line = max((line for f in other["files"].values() for line in f["lines"]), key=lambda line: line["cpu"]["user"])
    line["cpu"]["user"] *= 3
    write_json(folder / "a.profile.json", profile)
    write_json(folder / "b.profile.json", other)
    result, _ = compare(check, folder / "a.profile.json", folder / "b.profile.json")
    first = result["lines"][0]
    check.that(first["line"] == line["line"] and first["verdict"] == "slower", f"{first}")
    check.that(all(row["verdict"] == "unchanged" for row in result["lines"][1:]), "an unchanged line is judged")
    for scale, error, verdict in ((1.02, 0.001, "unchanged"), (1.02, 0.2, "undecided"), (1.5, 0.2, "undecided"), (1.5, 0.05, "slower"), (0.5, 0.05, "faster"), (1.0, 0.2, "unchanged")):
        before, after = (json.loads(json.dumps(line)) for _ in range(2))
        for made, by in ((before, 1), (after, scale)):
            made["cpu"].update(user=10.0 * by, sys=0.0, error=10.0 * error / 2**0.5)
        for name, made in (("a", before), ("b", after)):
            path, file = next((p, f) for p, f in profile["files"].items() if any(x["line"] == line["line"] for x in f["lines"]))
            write_json(folder / f"{name}.profile.json", {**profile, "files": {path: {**file, "lines": [made]}}})
        rows = compare(check, folder / "a.profile.json", folder / "b.profile.json")[0]["lines"]
        check.that([row["verdict"] for row in rows] == [verdict], f"{scale} with an error of {error}: {rows}")


def the_page_says_the_same(check, folder):
    a, b = pair(folder, timing({("op", 64): STEADY}), timing({("op", 64): [1.3 * t for t in STEADY]}))
    done = tomoprof("compare", a, b, "--out", folder / "c.html")
    page = (folder / "c.html").read_text()
    check.that(done.returncode == 0 and "slower" in done.stdout and 'id="data-compare"' in page, done.stderr)
    check.that(str(folder) not in page, "an absolute path is in the page")


def wrong_input_is_named(check, folder):
    a, _ = pair(folder, timing({("op", 64): STEADY}), timing({("op", 64): STEADY}))
    (folder / "p").mkdir()
    shutil.copy(DATA / "profile" / "example.json", folder / "p" / "profile.json")
    write_json(folder / "bad.json", {"measurements": [{"status": "ok", "time": "fast"}]})
    (folder / "torn.json").write_text('{"measurements": [')
    for other in (folder / "none", folder / "p", folder / "bad.json", folder / "torn.json", "/dev/null"):
        done = tomoprof("compare", a, other)
        check.that(done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, f"{other}: {done.returncode} {done.stderr}")


if __name__ == "__main__":
    main(verdicts_follow_the_interval, three_runs_decide_a_clear_change, equal_programs_are_not_called_different, ranks_give_the_exact_interval,
         edits_are_followed, another_program_is_said_first, a_limit_decides_the_exit_code, another_machine_is_not_judged, a_slower_moment_of_the_machine_is_named,
         recordings_of_another_machine, a_part_of_a_run_is_named, functions_are_judged, noise_of_the_runs_counts, a_script_of_another_name_is_the_same_file,
         runs_judge_the_program, loads_compare,
         lines_are_judged_by_their_error,
         the_page_says_the_same, wrong_input_is_named)
