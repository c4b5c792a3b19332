"""All programs of programs.py, bare and recorded; prints docs/capture.md's table.

    TOMOPROF=build/tomoprof TP_MATRIX_PYTHON=venv/bin/python python3 tests/capture/matrix.py [NAME...]"""

import os
import pathlib
import sys
import tempfile

os.environ.setdefault("TP_LONG", "ON")  # as much work as the table says
from programs import PROGRAMS, compare, facts, mentions  # noqa: E402


def row(program, folder):
    """The cells of a program's row and whether all is well."""
    reason = program.absent()
    if reason:
        return [program.name, program.kind, "skipped: " + reason, "", "", "", ""], True
    bare, mine, differences = compare(program, folder)
    same = "same" if not differences else "; ".join(differences)
    try:
        data, record, size = facts(folder)
    except FileNotFoundError:
        return [program.name, program.kind, same, "no profile", "", "", ""], False
    total = (data["totals"]["cpu"]["user"] or 0) + (data["totals"]["cpu"]["sys"] or 0)
    kernel = record["end"]["user_s"] + record["end"]["system_s"]
    loose = data["quality"]["unattributed_cpu_share"]
    hot = f"{program.hot} {100 * mentions(data, program.hot)[1]:.0f} %" if program.hot else ""
    return [program.name, program.kind, same, f"{total:.2f} of {kernel:.2f}", "" if loose is None else f"{100 * loose:.0f}", hot,
            f"{size / 2**20:.1f}"], not differences


def main():
    print("| program | what it is | exit, output, results | CPU s sampled | no line % | expected in | trace MB |")
    print("|---|---|---|---|---|---|---|")
    well = True
    for program in PROGRAMS:
        if sys.argv[1:] and program.name not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory(prefix="tomoprof-matrix-") as folder:
            cells, good = row(program, pathlib.Path(folder))
        print("| " + " | ".join(cells) + " |", flush=True)
        well &= good
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
