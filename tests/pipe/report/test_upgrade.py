"""Runs of earlier versions, recorded by them (tests/data/upgrade), open in this one: 5 s of CPU."""

import json
import pathlib
import struct
import sys
import tarfile

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, main, tomoprof

SCHEMA = json.loads((DATA.parents[1] / "profiler/analyze/model/profile.schema.json").read_text())
# As their own version wrote them: samples, CPU seconds (user, system), and inclusive ones of functions of project.py.
RUNS = {
    "20261121-1530": (37, 0.337743376, 0.037116622, {"project": 0.255126294, "filter_rows": 0.114346609, "back_project": 0.119733704}),
    "20261121-2238": (40, 0.314381588, 0.077931889, {"project": 0.253680792, "filter_rows": 0.118676949, "back_project": 0.118676949}),
    "20261122-0545": (37, 0.341157663, 0.044978675, {"project": 0.252197821, "filter_rows": 0.123938517, "back_project": 0.123938517}),
    "20261122-1342": (39, 0.384381484, 0.015180299, {"project": 0.242730996, "filter_rows": 0.112652947, "back_project": 0.119878037}),
    "20261122-1720": (39, 0.347732280, 0.047212217, {"project": 0.250326018, "filter_rows": 0.131603995, "back_project": 0.131603995}),
    "20261122-2313": (30, 0.345246880, 0.035971922, {"project": 0.234021838, "filter_rows": 0.103319701, "back_project": 0.115226243}),
}


def unpack(folder, version):
    with tarfile.open(DATA / "upgrade" / f"{version}.tar.gz") as archive:
        archive.extractall(folder / version, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(folder / version)
    return folder / version / "run"


def near(a, b):
    return abs(a - b) < 1e-8


def check_profile(check, what, run, version):
    samples, user, system, functions = RUNS[version]
    profile = json.loads((run / "profile.json").read_text())
    jsonschema.validate(profile, SCHEMA)
    cpu = profile["totals"]["cpu"]
    check.that((cpu["samples"], near(cpu["user"], user), near(cpu["sys"], system)) == (samples, True, True), f"{version}, {what}: totals {cpu}")
    found = {f["name"]: f["cpu_incl"]["user"] + f["cpu_incl"]["sys"] for f in profile["files"]["project.py"]["functions"]}
    for name, seconds in functions.items():
        check.that(near(found.get(name, 0), seconds), f"{version}, {what}: {name}: {found.get(name)}, expected {seconds}")
    return profile


def done(check, *args):
    r = tomoprof(*args)
    check.that(r.returncode == 0, f"{args}: exit {r.returncode}: {r.stderr}")
    return r


def exports(check, folder):
    """An earlier profile.json, as it is: every stack, and all CPU time."""
    for version, (_, user, system, functions) in RUNS.items():
        run = unpack(folder, version)
        before = (run / "profile.json").read_bytes()
        done(check, "export", run, "--to", "folded", "--out", folder / "folded.txt")
        rows = [line.rsplit(" ", 1) for line in (folder / "folded.txt").read_text().splitlines()]
        check.that(near(sum(int(n) for _, n in rows) * 1e-9, user + system), f"{version}: {rows}")
        for name, seconds in functions.items():
            part = sum(int(n) for stack, n in rows if f";{name} project.py:" in stack) * 1e-9
            check.that(near(part, seconds), f"{version}: {name}: {part}, expected {seconds}")
        done(check, "export", run, "--to", "speedscope", "--out", folder / "s.json")
        check.that((run / "profile.json").read_bytes() == before, f"{version}: export changed profile.json")


def reports(check, folder):
    """The page of an earlier profile.json keeps its numbers; --reanalyze reads the earlier trace and finds them again."""
    for version in RUNS:
        run = unpack(folder, version)
        said = done(check, "report", run, "--text", "--top", "40")
        check.that("written by an earlier version" in said.stderr and "--reanalyze" in said.stderr, said.stderr)
        check.that("project.py:9" in said.stdout and "back_project" in said.stdout, said.stdout)
        check.that((run / "report.html").stat().st_size > 100000, f"{version}: report.html")
        kept = check_profile(check, "report", run, version)
        check.that(any(line["text"] for line in kept["files"]["project.py"]["lines"]), f"{version}: the source text is gone")
        check.that("earlier version" not in done(check, "report", run).stderr, f"{version}: twice an earlier version")
        done(check, "report", run, "--reanalyze")
        check_profile(check, "--reanalyze", run, version)


def comparisons(check, folder):
    """Any two versions; a run of an earlier version with what this one makes of its trace differs in nothing."""
    versions = list(RUNS)
    for a, b in zip(versions, versions[1:] + versions[:1]):
        said = json.loads(done(check, "compare", unpack(folder, a), unpack(folder, b), "--json").stdout)
        check.that(near(said["cpu_a"], sum(RUNS[a][1:3])) and near(said["cpu_b"], sum(RUNS[b][1:3])), f"{a}, {b}: {said}")
    for version in versions:
        earlier, now = unpack(folder / "a", version), unpack(folder / "b", version)
        done(check, "report", now, "--reanalyze")
        said = json.loads(done(check, "compare", earlier, now, "--json").stdout)
        check.that(said["cpu_a"] == said["cpu_b"] and said["wall_a"] == said["wall_b"], f"{version}: {said['answer']}")
        for line in said["lines"]:
            if line["file"] == "project.py":
                check.that(near(line["a"], line["b"]) and line["verdict"] == "unchanged", f"{version}: {line}")


def what_cannot_be_opened(check, folder):
    """A later version's schema and trace: one sentence, what is known and what to do."""
    run = unpack(folder, "20261122-1720")
    path, text = run / "profile.json", (run / "profile.json").read_text()
    path.write_text(text.replace("tomoprof-profile/1", "tomoprof-profile/2", 1))
    said = tomoprof("export", run, "--to", "folded", "--out", folder / "x")
    check.that(said.returncode == 2 and "schema tomoprof-profile/2, this version reads tomoprof-profile/1" in said.stderr, said.stderr)
    path.write_text(text.replace('"totals":', '"total":', 1))
    said = tomoprof("export", run, "--to", "folded", "--out", folder / "x")
    check.that(said.returncode == 2 and '"totals" is missing' in said.stderr, said.stderr)
    path.write_text(text)
    trace = next((run / "trace").glob("*.tpt"))
    data = bytearray(trace.read_bytes())
    data[8:12] = struct.pack("<I", 2)
    trace.write_bytes(data)
    said = tomoprof("report", run, "--reanalyze")
    words = "is a trace of version 2, this program reads version 1; use the program that recorded it"
    check.that(said.returncode != 0 and words in said.stderr, f"exit {said.returncode}: {said.stderr}")


main(exports, reports, comparisons, what_cannot_be_opened)
