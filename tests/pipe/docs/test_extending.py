"""The examples of docs/internals/extending.md, put into a copy of the program: it builds without a warning, and does what the page says."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import SANITIZED, TOMOPROF, main

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(TOMOPROF).resolve().parent
LIKE = {"profiler/report/export/lines.c": "profiler/report/export/folded.c"}  # a new file is compiled as its neighbour


def call(*words, **options):
    return subprocess.run(list(map(str, words)), text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=500, **options)


def changed_sources(check):
    """{path: text} with every block of the page where its comment says."""
    text = (ROOT / "docs/internals/extending.md").read_text()
    found = re.findall(r'^<!-- (\S+)(?: before "(.+)")? -->\n```c\n((?:(?!```).*\n)*)```$', text, re.M)
    check.that(len(found) == text.count("```c") == 7, f"{len(found)} of {text.count('```c')} blocks say where they belong")
    sources = {}
    for path, before, block in found:
        source = sources.get(path) or ((ROOT / path).read_text() if before else "")
        before = before.replace('\\"', '"')
        if check.that(before in source, f"{path} has no {before!r} any more"):
            sources[path] = source.replace(before, block + before, 1) if before else block
    return sources


def program(check, folder):
    """The copy's path."""
    commands = {c["file"]: c for c in json.loads((BUILD / "compile_commands.json").read_text())}
    objects = []
    for path, text in changed_sources(check).items():
        source, made = folder / path.replace("/", "-"), folder / (path.replace("/", "-") + ".o")
        source.write_text(text)
        command = commands[str(ROOT / LIKE.get(path, path))]
        words = [w for w in shlex.split(command["command"]) if w != command["file"] and w != "-Werror"]
        words[words.index("-o") + 1] = str(made)
        done = call(*words, "-Wall", "-Wextra", "-Werror", source, cwd=command["directory"])
        check.that(done.returncode == 0, f"{path}: {done.stderr[-3000:]}")
        objects.append(str(made))
    link = call("ninja", "-C", BUILD, "-t", "commands", "tomoprof").stdout.splitlines()[-1]
    words = shlex.split(link.replace(": &&", "").replace("&& :", ""))
    words[words.index("-o") + 1] = str(folder / "tomoprof")
    words[words.index("-o"):words.index("-o")] = objects  # before the libraries, whose members they take the place of
    done = call(*words, cwd=BUILD)
    check.that(done.returncode == 0, f"linking: {done.stderr[-3000:]}")
    shutil.copy(BUILD / "libtomoprof_capture.so", folder)
    return folder / "tomoprof"


def examples(check, folder):
    tool = program(check, folder)
    run = call(tool, "run", "--ops", "parallel_normal,parallel_back_project", "--sizes", 16, "--runs", 2, "--out", "normal", cwd=folder)
    check.that(run.returncode == 0 and "parallel_normal" in run.stderr, f"the operation: {run}")
    newest = folder / "normal/latest"
    rows = json.loads((newest / "timing.json").read_text())["measurements"]
    check.that(rows and all(r["status"] == "ok" for r in rows), f"the operation's rows: {rows}")
    check.that("parallel_normal" in call(tool, "run", "--list").stdout, "run --list")

    spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    check.that(call(tool, "record", "--", "/bin/sh", "-c", spin, cwd=folder).returncode == 0, "record")
    done = call(tool, "export", "--to", "lines", "latest", "--out", "lines.tsv", cwd=folder)
    check.that(done.returncode == 0, f"the exporter: {done}")
    profile = folder / "tomoprof-runs/latest/profile.json"
    files = json.loads(profile.read_text())["files"]
    seconds = sum(line["cpu"]["user"] or 0 for f in files.values() for line in f["lines"])
    told = [float(line.split("\t")[1]) for line in (folder / "lines.tsv").read_text().splitlines()]
    check.that(abs(sum(told) - seconds) <= 1e-6 * max(seconds, 1), f"the exporter's sum {sum(told)}, the profile's {seconds}")
    done = call(tool, "export", "--to", "nothing", "latest", cwd=folder)
    check.that(done.returncode == 2 and "lines" in done.stderr, f"an unknown format: {done}")

    done = call(tool, "triage", newest, "--device", "example", "--size", 16, cwd=folder)
    check.that(done.returncode == 0 and "Example card" in (newest / "triage.md").read_text(), f"the card: {done}")


if SANITIZED:
    print("skipped: the page is tried in the release build")
    raise SystemExit(77)
if not shutil.which("ninja") or not (BUILD / "build.ninja").exists():
    print("skipped: this build was not made by ninja, which says how to link")
    raise SystemExit(77)
main(examples)
