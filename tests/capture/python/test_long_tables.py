"""Lines of code objects with long line tables, under each Python of this machine: two lines behind the long part, whose shares the
program's own clock tells. On a crowded machine single samples stood for up to 40 ms of CPU time, which is more than 5 % of 0.6 s: each
program has at least 1.2 s."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from pythons import pythons
from recorded import command, main, need_library, of_samples, profile, run

# A table of 9,000 rows in the source, as generated modules have them, then work at the level of the module.
WRITTEN = ["from time import thread_time as now", "TABLE = {", *(f"    {i}: ({i}.5, 'x{i}')," for i in range(9000)), "}", "begin = now()",
           "while now() < begin + 0.4: sum(range(20000))  # one", "middle = now()", "while now() < middle + 0.8: sum(range(20000))  # two",
           "print('[%g, %g]' % (middle - begin, now() - middle))"]

# A function with many instructions that do nothing before its work, each with an entry of its own in the table.
MADE = """import sys
from time import thread_time as now
def work(end):
    while now() < end: sum(range(20000))
def lines():
    begin = now()
    work(begin + 0.4)  # one
    middle = now()
    work(middle + 0.8)  # two
    return middle - begin, now() - middle
import dis
nop, n, code = bytes([dis.opmap["NOP"], 0]), int(sys.argv[1]), lines.__code__
entries = {9: (b"\\2\\0", "co_lnotab"), 10: (b"\\2\\0", "co_linetable")}
entry, name = entries.get(sys.version_info[1], (b"\\xd0\\0\\0", "co_linetable"))
lines.__code__ = code.replace(co_code=nop * n + code.co_code, **{name: entry * n + getattr(code, name)})
print("[%g, %g]" % lines())
"""


def shares(check, folder, name, source, *words):
    (folder / name).write_text(source)
    done = run(command(folder / "runs", "--rate", "500", "--", *words))
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr.decode()}")
    data = profile(folder / "runs")
    took = json.loads(done.stdout)
    lines = {line["line"]: line["cpu_incl"] for path, file in data["files"].items() if path.split("/")[-1] == name for line in file["lines"]}
    seconds = {line: cost["user"] + cost["sys"] for line, cost in lines.items()}
    for mark, truth in zip(("# one", "# two"), took):
        number = next(i for i, text in enumerate(source.splitlines(), 1) if mark in text)
        found = seconds.get(number, 0)
        check.that(abs(found - truth) <= 0.05 * sum(took), f"{words[0]}: {name}, line {number}: {found:.2f} s, truth {truth:.2f}; found {seconds}")
    items = {item["id"]: item for item in data["quality"]["items"]}
    unread = items.get("python.lines")  # while the table is read, some MB in each sample
    check.that(not unread or unread["share"] < 0.08, f"{words[0]}: {unread}")


@of_samples
def written_tables(check, folder):
    for python in pythons():
        shares(check, folder, "rows.py", "\n".join(WRITTEN) + "\n", python, folder / "rows.py")


@of_samples
def made_tables(check, folder):
    for python in pythons():
        shares(check, folder, "made.py", MADE, python, folder / "made.py", 1000000)


@of_samples
def tables_of_tens_of_megabytes(check, folder):
    """Read in several steps: 36 MB from 3.11 on, 24 MB before."""
    shares(check, folder, "made.py", MADE, sys.executable, folder / "made.py", 12000000)


need_library()
main(written_tables, made_tables, tables_of_tens_of_megabytes)
