"""The bench of answers: its verdicts, its table, and that its catalogue is whole."""

import pathlib
import subprocess
import sys

CAPTURE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(CAPTURE), str(CAPTURE / "truth"), str(CAPTURE / "answers")]
from catalogue import ANSWERS, catalogue  # noqa: E402
from first_sentences import Recording, busy, places, with_rows  # noqa: E402
from recorded import main  # noqa: E402

SOURCE = """def quick():
    pass  # truth: quick


def slow():
    pass  # truth: slow


def main():
    pass  # truth: rest
"""


class Row:
    def __init__(self, source, lead=None, every=(), says=None, advises=None, never=None):
        self.program = type("", (), {"sources": [source]})
        self.lead, self.every, self.says, self.advises, self.never = lead, every, says, advises, never


def sentences_are_judged(check, folder):
    source = folder / "p.py"
    source.write_text(SOURCE)

    def wrong(sentence, quick=1.0, slow=2.0, answer="", **row):
        return Recording({"quick": quick, "slow": slow, "rest": 1.0}, sentence, answer).wrong(Row(source, **row))

    for sentence in ("p.py:6 takes 60 %.", "Two lines: p.py:2 and p.py:6.", "slow() takes 60 %.", "slow (a.out) takes 60 %.", "slow() at p.py:5 takes 60 %.",
                     "P.slow() (p.py:5 to 7) takes 60 %."):
        check.that(wrong(sentence) is None, f"right: {sentence}: {wrong(sentence)}")
    for sentence in ("p.py:2 takes 60 %.", "main() takes 60 %.", "q.py:6 takes 60 %.", "p.py:66 takes 60 %.", "main() (p.py:1 to 9) takes 60 %.", "at_slow() takes 60 %.", "quick() takes 60 %.",
                     "Start-up takes 60 %.", ""):
        check.that(wrong(sentence), f"wrong: {sentence}")
    check.that(wrong("p.py:2 takes 50 %.", quick=1.9) is None, "nine tenths as long")
    check.that(wrong("p.py:6 takes 50 %.", lead=["quick"]), "another phase is to lead")
    check.that(wrong("p.py:6 takes 50 %.", lead=[], says="take") is None and wrong("It takes 50 %.", lead=[], says="wait"), "no line is needed")
    check.that(wrong("p.py:6 takes 50 %.", every=["quick", "slow"]), "one of two that must be named")
    check.that(wrong("p.py:6 and p.py:2 divide.", every=["quick", "slow"]) is None, "both are named")
    check.that(wrong("p.py:6 takes 50 %.", says="p.py"), "a place is not a cause")
    check.that(wrong("p.py:6 takes 50 %.", says="lock"), "the cause is missing")
    check.that(wrong("p.py:6 waits for a lock.", says="lock") is None, "the cause is there")
    check.that(wrong("p.py:6 waits.", answer="A lock.", advises="(?i)lock") is None and wrong("p.py:6 waits.", advises="lock"), "advice")
    check.that(wrong("p.py:6, called by main() at p.py:9.", never=r"main\(\)"), "what may not be said")
    check.that(Recording(failed="ended with 1").wrong(Row(source)) == "ended with 1", "a recording that failed")
    check.that(Recording({"import": 1.0}, "Start-up takes 3 s.").wrong(Row(source)) is None, "start-up")


def functions_of_two_phases_name_none(check, folder):
    source = folder / "p.c"
    source.write_text("static double both(int n)\n{\n    f(n); // truth: a\n    g(n); // truth: b\n}\n\nvoid *alone(void *x)\n{\n    h(x); // truth: c\n}\n")
    check.that(places([source])[1] == {"a": set(), "b": set(), "c": {"alone"}}, f"{places([source])}")


def rows_are_replaced_and_added_up(check, folder):
    head, names = ["program", "truth by its own clocks", "first sentence", "idle"], ["a", "b", "c"]

    def table(page):
        return [line for line in page.splitlines() if line.startswith("|")]

    page = with_rows("x\n<!-- answers -->\n| program | right |\n|---|---|\n| gone | yes |\n<!-- answers end -->\ny", head,
                     [["a", "t", "s|u", "1 of 3"], ["b", "t", "s", "3 of 3"]], names)
    check.that(table(page)[2:] == ["| a | t | s\\|u | 1 of 3 |", "| b | t | s | 3 of 3 |", "| all |  |  | 4 of 6 |"], page)
    page = with_rows(page, head, [["c", "skipped: no c", "", ""], ["b", "t", "v", "0 of 3"]], names)
    check.that(table(page)[2:] == ["| a | t | s\\|u | 1 of 3 |", "| b | t | v | 0 of 3 |", "| c | skipped: no c |  |  |", "| all |  |  | 1 of 6 |"], page)
    page = with_rows(page, [*head[:3], "busy"], [["a", "T", "w", "2 of 3"], ["c", "T", "w", "3 of 3"]], names)
    check.that(table(page)[2] == "| a | t | s\\|u | 1 of 3 | 2 of 3 |" and table(page)[-1] == "| all |  |  | 1 of 6 | 5 of 6 |", page)
    check.that(table(page)[4] == "| c | T | w |  | 3 of 3 |", page)
    check.that(with_rows(page, head, [], names) == page, "nothing was recorded")


def busy_processes_end(check, folder):
    with busy(2):
        children = subprocess.run(["ps", "--ppid", str(pathlib.Path("/proc/self").resolve().name), "-o", "args="], capture_output=True, text=True).stdout
        check.that(children.count("getppid") == 2, f"started: {children}")
    children = subprocess.run(["ps", "--ppid", str(pathlib.Path("/proc/self").resolve().name), "-o", "args="], capture_output=True, text=True).stdout
    check.that("getppid" not in children, f"left: {children}")


def the_catalogue_is_whole(check, folder):
    rows = catalogue(sys.executable)
    names = [row.program.name for row in rows]
    check.that(len(set(names)) == len(names), f"a name twice: {sorted(names)}")
    used = set()
    for row in rows:
        name, marked = row.program.name, places(row.program.sources)[0]
        used |= {*row.program.sources, *([row.beside] if row.beside else [])}
        check.that(all(path.is_file() for path in row.program.sources), f"{name}: {row.program.sources}")
        check.that(all(lead in marked for lead in (*(row.lead or []), *row.every)), f"{name}: of {row.lead} marked are {list(marked)}")
        check.that(row.clock in ("own", "thread", "process", "wall"), f"{name}: {row.clock}")
    for room in (p for p in ANSWERS.iterdir() if p.is_dir() and p.name != "__pycache__"):
        files = {p for p in room.iterdir() if p.is_file()}
        check.that(len(files) <= 25, f"{room.name}: {len(files)} files")
        check.that(files <= used, f"in no row: {sorted(str(p) for p in files - used)}")


main(sentences_are_judged, functions_of_two_phases_name_none, rows_are_replaced_and_added_up, busy_processes_end, the_catalogue_is_whole)
