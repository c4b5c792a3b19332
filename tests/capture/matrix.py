"""The truth table: every program of programs.py and truth/truth_programs.py in paired runs, bare and recorded in turn.

    TOMOPROF=build/tomoprof python3 tests/capture/matrix.py --venv FOLDER [NAME...]

FOLDER is a virtual environment with what the Python rows need; it is made and filled where it is not there. Programs whose
tools are not installed are skipped with the reason; apt packages that bring them are named. A row holds: whether exit, output
and results are the same in all pairs; recorded over bare CPU and wall time, of the least and the median of the pairs; CPU time
that the samples add up to, of the kernel's; and for each phase the share that the profile shows on its lines, of the share
by the program's own clocks. The worst phase has the standard error that its number of samples leaves: below a point after
25 s (`--seconds`). `--json FILE` keeps all runs, `--docs FILE` puts the table between that file's matrix marks; with names,
the rows of those programs alone. `--minutes N` ends after about N minutes."""

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--venv", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=25, help="more pairs, until the recorded runs of a program with clocks have this CPU time")
    parser.add_argument("--minutes", type=float, default=math.inf, help="share this time among the programs; rows that were not reached stay as they are, and are named")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="run in this folder and leave it")
    return parser.parse_args()


def virtual_environment(folder, programs):
    """A virtual environment with the packages that the programs need."""
    if not (folder / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    packages = sorted({p for program in programs for p in program.pip})
    if packages:
        subprocess.run([folder / "bin/pip", "install", "-q", *packages], check=True)


def page_row(line):
    """A row as the page has it: without wall time and sampled share; what differs, or the reason for a skip, stands for the phases."""
    name, kind, same, cpu_s, cpu, _, _, phases, worst = line.removeprefix("| ").removesuffix(" |").split(" | ")
    phases = phases if same in ("same", "exit, output, results", "---") else same
    return f"| {name} | {kind} | {cpu_s} | {cpu} | {phases} | {worst} |"


def with_rows(text, lines, some):
    """The page with this table, or with `some` of its rows replaced, told by their first cell."""
    lines = [page_row(line) for line in lines]

    def put(found):
        new = {line.split(" | ")[0]: line for line in lines}
        rows = [new.get(line.split(" | ")[0], line) for line in found[2].splitlines()] if some else lines
        return found[1] + "\n".join(rows) + "\n" + found[3]

    return re.sub(r"(<!-- matrix -->\n)(.*?)(<!-- matrix end -->)", put, text, flags=re.S)


def main():
    asked = options()
    os.environ.setdefault("TP_LONG", "ON")  # as much work as the table says
    os.environ["TOMOPROF"] = str(pathlib.Path(os.environ["TOMOPROF"]).resolve())  # runs start in folders of their own
    if asked.venv:
        os.environ["TP_MATRIX_PYTHON"] = str(asked.venv.resolve() / "bin/python")
    sys.path.insert(0, str(pathlib.Path(__file__).with_name("truth")))
    from programs import PROGRAMS  # these three go by the environment
    from truth_programs import TRUTHS
    from truth_table import GOAL_POINTS, GOAL_RATIO, table

    programs = [p for p in (*TRUTHS, *PROGRAMS) if not asked.names or p.name in asked.names]
    if asked.venv:
        virtual_environment(asked.venv.resolve(), programs)
    lines, facts, left = table(programs, asked.pairs, asked.seconds, asked.keep and asked.keep.resolve(), asked.minutes)
    missed = [f"{name}: {', '.join(f['missed'])}" for name, f in facts.items() if f.get("missed")]
    print(f"\n{len(missed)} of {len(facts)} miss a goal (lines within {GOAL_POINTS:g} points, CPU time at most x {GOAL_RATIO})", *missed, sep="\n")
    if left:
        print(f"not reached in {asked.minutes:g} minutes: {', '.join(left)}")
    if asked.json:
        asked.json.write_text(json.dumps(facts, indent=1) + "\n")
    if asked.docs:
        asked.docs.write_text(with_rows(asked.docs.read_text(), lines, bool(asked.names or left)))
    return 1 if missed or left else 0


if __name__ == "__main__":
    sys.exit(main())
