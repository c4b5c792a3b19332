"""Two runs side by side: ratios, intervals, verdicts, exit codes."""

import json
import shutil

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
    times = {("slow", 64): STEADY, ("fast", 64): STEADY, ("same", 64): STEADY, ("few", 64): [1.0, 1.0], ("gone", 64): STEADY}
    changed = {("slow", 64): [1.3 * t for t in STEADY], ("fast", 64): [0.5 * t for t in STEADY], ("same", 64): list(reversed(STEADY)),
               ("few", 64): [2.0, 2.0], ("new", 32): STEADY}
    result, _ = compare(check, *pair(folder, timing(times), timing(changed)))
    rows = {o["operation"]: o for o in result["operations"]}
    for name, verdict in {"slow": "slower", "fast": "faster", "same": "same", "few": "too few runs", "gone": "only in A", "new": "only in B"}.items():
        check.that(rows[name]["verdict"] == verdict, f"{name}: {rows[name]}")
    check.that(abs(rows["slow"]["ratio"] - 1.3) < 1e-9 and rows["slow"]["low"] <= 1.3 <= rows["slow"]["high"], f"{rows['slow']}")
    check.that(rows["few"]["low"] is None and rows["gone"]["ratio"] is None, "unknown must be null")
    check.that(any("2 of 6" in w for w in result["warnings"]), f"{result['warnings']}")


def a_limit_decides_the_exit_code(check, folder):
    a, b = pair(folder, timing({("op", 64): STEADY}), timing({("op", 64): [1.3 * t for t in STEADY]}))
    for limit, code in (("10%", 1), ("10", 1), ("40%", 0)):
        _, said = compare(check, a, b, "--fail-over", limit, code=code)
        check.that(("op at size 64" in said) == (code == 1), said)
    compare(check, b, a, "--fail-over", "10%")
    noisy = {("op", 64): [0.5, 1.2, 3.0, 0.7, 1.3]}
    compare(check, *pair(folder, timing({("op", 64): STEADY}), timing(noisy)), "--fail-over", "10%")
    for bad in ("x", "-1", "10%%", "nan"):
        check.that(tomoprof("compare", a, b, "--fail-over", bad).returncode == 2, f"--fail-over {bad} was taken")


def another_machine_is_not_judged(check, folder):
    a, b = pair(folder, timing({("op", 64): STEADY}), timing({("op", 64): [2 * t for t in STEADY]}, cpu="Y", compiler="clang"))
    result, _ = compare(check, a, b)
    check.that(result["machines_differ"] and len(result["warnings"]) == 2, f"{result['warnings']}")
    _, said = compare(check, a, b, "--fail-over", "10%", code=2)
    check.that("CPU" in said and "--force" in said, said)
    compare(check, a, b, "--fail-over", "10%", "--force", code=1)


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
    check.that(all(row["verdict"] == "same" for row in result["lines"][1:]), "an unchanged line is judged")


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
    main(verdicts_follow_the_interval, a_limit_decides_the_exit_code, another_machine_is_not_judged, lines_are_judged_by_their_error,
         the_page_says_the_same, wrong_input_is_named)
