"""tests/peers/targets.py writes its tables into the page, with a number in each row, and leaves the rest of the page alone."""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import TOMOPROF, main  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/internals/performance.md"
BEGIN, END = "<!-- targets -->\n", "<!-- targets end -->\n"


def run(page, *more):
    call = [sys.executable, ROOT / "tests/peers/targets.py", "--program", TOMOPROF, "--size", "16", "--others", "20,24", "--write", page, *more]
    return subprocess.run(list(map(str, call)), capture_output=True, text=True)


def tables(check, folder):
    page = folder / "performance.md"
    page.write_text(PAGE.read_text())
    made = run(page)
    check.that(made.returncode == 0, made.stderr)
    before, after = PAGE.read_text(), page.read_text()
    check.that(before.split(BEGIN)[0] == after.split(BEGIN)[0] and before.split(END)[1] == after.split(END)[1], "text around the tables changed")
    rows = [line.split("|")[1:-1] for line in after.split(BEGIN)[1].split(END)[0].splitlines() if re.match(r"\| (parallel|cone|median)_", line)]
    check.that(len(rows) == 16, f"{len(rows)} rows, 12 of targets and 4 of shares expected")
    for row in rows:
        numbers = row[4:5] if len(row) == 7 else row[1:]
        check.that(all(re.search(r"\d", cell) for cell in numbers), f"a row without a number: {row}")


def page_without_marks(check, folder):
    page = folder / "other.md"
    page.write_text("# Other\n")
    made = run(page)
    check.that(made.returncode == 1 and "needs one line <!-- targets -->" in made.stderr, f"{made.returncode}: {made.stderr}")
    check.that(page.read_text() == "# Other\n", "the page changed")


main(tables, page_without_marks)
