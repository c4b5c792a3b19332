"""The first sentence of recordings beside the programs' own clocks, for the programs of answers/catalogue.py:

    TOMOPROF=build/tomoprof python3 tests/capture/first_sentences.py --venv FOLDER [NAME...]

FOLDER is a virtual environment with what the programs need; it is made and filled where it is not there. A program whose tools are
absent is skipped with the reason. `--times N` recordings are made of each program, and with `--busy N` as many again beside N busy
processes. The clocks tell how long each marked phase took in the recorded run itself. The sentence is right where it names a line or
the function of the longest phase, or of one that lasted nine tenths as long, and the cause that the catalogue asks for.

`--before OTHER` records with another tomoprof as well. `--docs FILE` puts what was recorded into the table between that file's marks;
its other cells stay. `--wrong FILE` writes the wrong sentences. Exit code 1: less than 95 % are right."""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ANSWERS, SCRIPTS = HERE / "answers", HERE / "truth" / "scripts"
CLOSE, GOAL = 0.9, 0.95
STATES = ("idle", "busy")
COLUMNS = ["program", "truth by its own clocks", *(title + when for when in (" before", "") for title in ("first sentence", *STATES))]
UNITS = {"wall": "s", "own": "s without waiting for a CPU", "thread": "s of CPU time", "process": "s of CPU time"}
BUSY = "import ctypes, os; ctypes.CDLL(None).prctl(1, 9)\nwhile os.getppid() == {}: sum(range(1000000))"  # 1: PR_SET_PDEATHSIG


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="a program's name in the table, or its file's name")
    parser.add_argument("--venv", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=1, help="recordings of each program in each state")
    parser.add_argument("--busy", type=int, default=0, help="record beside this many busy processes too")
    parser.add_argument("--only", choices=STATES)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--wrong", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="run in this folder and leave it")
    asked = parser.parse_args()
    if asked.only == "busy" and not asked.busy:
        parser.error("--only busy: how many processes? Add --busy N")
    return asked


@contextlib.contextmanager
def busy(count):
    """That many processes that compute; they end with this one too."""
    started = [subprocess.Popen([sys.executable, "-c", BUSY.format(os.getpid())], stdin=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def clocks(folder, clock):
    """Phase -> seconds, over all processes and threads."""
    sums = {}
    for path in folder.iterdir():
        for name, phase in json.loads(path.read_text())["phases"].items():
            sums[name] = sums.get(name, 0) + phase[clock + "_s"]
    return sums


def places(sources):
    """Phase -> {(file, line)} and phase -> {function}, by the marks in the sources. A function in which another phase is marked too
    names none of them."""
    lines, functions = {}, {}
    for path in sources:
        function = None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            begins = re.match(r" *(?:async )?def (\w+)|(?:[\w:<>*&]+[ *]+)+(\w+)\([^;]*$", line)
            function = next(filter(None, begins.groups())) if begins else function
            for name in re.findall(r"(?:#|//|/\*) truth: ([a-z]+)", line):
                lines.setdefault(name, set()).add((path.name, number))
                if function not in (None, "main"):
                    functions.setdefault(name, set()).add(function)
    shared = {f for name in functions for f in functions[name] if any(f in functions[n] for n in functions if n != name)}
    return lines, {name: functions[name] - shared for name in functions}


def names_phase(sentence, phase, lines, functions):
    """Whether the sentence names a line or a function of the phase, or imports where it is these."""
    places_named = re.findall(r"(?<!main\(\) \()\b([\w.]+):(\d+)(?: to (\d+))?", sentence)
    named = {(file, line) for file, first, last in places_named for line in range(int(first), int(last or first) + 1)}
    called = any(re.search(rf"(?<![\w.]){re.escape(f)}(\(| \()", sentence) for f in functions | {phase})
    return bool(named & lines) or called or (phase == "import" and re.match("Start-up|Import", sentence) is not None)


class Recording:
    """One recording: the program's own clocks, the first sentence without source text, and the first answer with its advice."""

    def __init__(self, sums=None, sentence="", answer="", failed=None):
        self.sums, self.sentence, self.answer, self.failed = sums, sentence, answer, failed

    def wrong(self, row):
        """Why the sentence is wrong, or None."""
        if self.failed:
            return self.failed
        at, inside = places(row.program.sources)

        def names(phase):
            return names_phase(self.sentence, phase, at.get(phase, set()), inside.get(phase, set()))

        most = max(self.sums.values(), default=0)
        lead = row.lead if row.lead is not None else [name for name, seconds in self.sums.items() if seconds >= CLOSE * most]
        if lead and not any(map(names, lead)):
            return f"names no line of {', '.join(lead)}"
        if not all(map(names, row.every)):
            return f"does not name all of {', '.join(row.every)}"
        sentence, both = (re.sub(r"[\w./-]+:\d+", "", text) for text in (self.sentence, f"{self.sentence} {self.answer}"))
        if row.says and not re.search(row.says, sentence):
            return f"does not say {row.says}"
        if row.advises and not re.search(row.advises, both):
            return f"neither it nor the advice says {row.advises}"
        if row.never and re.search(row.never, both):
            return f"says {row.never}"
        return None


def recorded(row, folder, tomoprof):
    from programs import absolute, ready

    program = row.program
    folder.mkdir(parents=True)
    place, truth = ready(program, folder / "x"), folder / "truth"
    truth.mkdir()
    words = [w.strip("{}") for w in program.words]
    env = {**os.environ, **program.env, "TRUTH": str(truth), "TRUTH_DELAY": "1", "PYTHONDONTWRITEBYTECODE": "1",
           "PYTHONPATH": os.pathsep.join([*filter(None, [program.env.get("PYTHONPATH")]), str(SCRIPTS)])}
    beside = row.beside and subprocess.Popen([program.words[0], row.beside], cwd=place, env={**env, "TRUTH": ""})
    try:
        done = subprocess.run([tomoprof, "record", "--out", folder / "runs", "--", *absolute(program, place, words)], cwd=place, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800)
    finally:
        if beside:
            beside.kill()
            beside.wait()
    if done.returncode != program.end:
        return Recording(failed=f"ended with {done.returncode}, expected {program.end}: {done.stderr[-300:]}")
    profile = json.loads(max((folder / "runs").glob("*Z/profile.json")).read_text())  # an older one's `latest` is a text
    headline = profile.get("headline") or re.sub(r"^tomoprof: .*?: ", "", done.stderr.splitlines()[-1])  # once the terminal alone had it
    first = re.split(r"(?<=\.) (?=[A-Z])", headline)[0]
    answer = (profile.get("answers") or [{}])[0]
    return Recording(clocks(truth, row.clock), without_source(first), f"{without_source(answer.get('text', ''))} {answer.get('advice', '')}")


def without_source(text):
    return re.sub(r"(:\d+) `[^`]*`", r"\1", text)


def told(row, sums):
    """The truth in words: the three longest phases, with their lines."""
    at, _ = places(row.program.sources)

    def where(name):
        file, first = min(at.get(name, {(None, 0)}), key=lambda place: (place[0] != row.program.sources[0].name, place))
        last = max(line for other, line in at.get(name, {(file, 0)}) if other == file)
        return name + (f", {file}:{first}" + f" to {last}" * (last > first) if file else "")

    longest = sorted(sums.items(), key=lambda x: -x[1])[:3]
    return "; ".join(f"{where(name)}: {seconds:.1f}" for name, seconds in longest) + f" {UNITS[row.clock]}"


class Bench:
    """The recordings of all programs, by one tomoprof after the other."""

    def __init__(self, asked, folder):
        self.folder, self.times, self.busy = folder, asked.times, asked.busy
        self.keep, self.mistakes = bool(asked.keep), []
        self.states = [s for s in STATES if (s == "idle" or asked.busy) and asked.only in (None, s)]
        self.tools = [*([("before", asked.before.resolve())] if asked.before else []), ("", pathlib.Path(os.environ["TOMOPROF"]))]

    def head(self):
        cells = [f"{title}{' before' * bool(when)}" for when, _ in self.tools for title in ("first sentence", *self.states)]
        return ["program", "truth by its own clocks", *cells]

    def recordings(self, row, number, when, tool, state):
        made = []
        for k in range(self.times):
            folder = self.folder / f"{number}{when}-{state}-{k}"
            with busy(self.busy if state == "busy" else 0):
                made.append(recorded(row, folder, tool))
            if not self.keep:
                shutil.rmtree(folder, ignore_errors=True)
        return made

    def row(self, row, number):
        """Its cells."""
        name, absent, truth = row.program.name, row.program.absent(), None
        if absent:
            return [name, f"skipped: {absent}"] + [""] * (len(self.head()) - 2)
        cells = []
        for when, tool in self.tools:
            made = {state: self.recordings(row, number, when, tool, state) for state in self.states}
            first = made[self.states[0]][0]
            truth = truth or (first.sums and told(row, first.sums))
            cells.append(first.failed or first.sentence)
            for state in self.states:
                wrong = [(r.sentence, r.wrong(row)) for r in made[state] if r.wrong(row)]
                self.mistakes += [f"{name}, {state}{' before' * bool(when)}: {sentence} ({why})" for sentence, why in wrong]
                cells.append(f"{self.times - len(wrong)} of {self.times}")
        return [name, truth or "none", *cells]


def table_line(cells):
    return "| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in cells) + " |"


def with_rows(text, head, rows, names):
    """The page whose table has the cells of these rows; other cells of the programs `names` stay, and the last row adds up. Where the
    idle state was not recorded, truth and sentence stay too."""

    def put(found):
        old = [[cell.replace("\\|", "|") for cell in line[2:-2].split(" | ")] for line in found[2].splitlines() if not line.startswith("|---")]
        table = {row[0]: dict(zip(old[0], row)) for row in old[1:] if row[0] in names}
        for row in rows:
            before = table.get(row[0], {})
            stay = {title: cell for title, cell in before.items() if title not in STATES} if before.get("idle") and "idle" not in head else {}
            table[row[0]] = {**before, **dict(zip(head, row)), **stay}
        columns = [title for title in COLUMNS if any(title in row for row in table.values())]
        lines = [[table[name].get(title, "") for title in columns] for name in names if name in table]
        lines = [table_line(columns), "|---" * len(columns) + "|", *map(table_line, lines), table_line(totals(columns, lines))]
        return found[1] + "\n".join(lines) + "\n" + found[3]

    return re.sub(r"(<!-- answers -->\n)(.*?)(<!-- answers end -->)", put, text, flags=re.S)


def totals(head, rows):
    """The last row: right sentences of all."""
    cells = ["all"]
    for column in range(1, len(head)):
        pairs = [tuple(map(int, m.groups())) for row in rows if (m := re.fullmatch(r"(\d+) of (\d+)", row[column]))]
        cells.append(f"{sum(a for a, _ in pairs)} of {sum(b for _, b in pairs)}" if pairs else "")
    return cells


def main():
    asked = options()
    os.environ["TOMOPROF"] = str(pathlib.Path(os.environ["TOMOPROF"]).resolve())  # runs start in folders of their own
    if asked.venv:
        os.environ["TP_MATRIX_PYTHON"] = str(asked.venv.resolve() / "bin/python")
    sys.path[:0] = [str(HERE / "truth"), str(ANSWERS)]
    from catalogue import catalogue  # these go by the environment
    from matrix import virtual_environment

    answers = catalogue(os.environ.get("TP_MATRIX_PYTHON", sys.executable))
    names = [row.program.name for row in answers]
    unknown = set(asked.names) - {n for row in answers for n in (row.program.name, row.program.sources[0].name)}
    if unknown:
        sys.exit(f"not in the catalogue: {', '.join(sorted(unknown))}")
    answers = [row for row in answers if not asked.names or {row.program.name, row.program.sources[0].name} & set(asked.names)]
    if asked.venv:
        virtual_environment(asked.venv.resolve(), [row.program for row in answers])
    rows = []
    with tempfile.TemporaryDirectory(prefix="tomoprof-") as temporary:
        bench = Bench(asked, (asked.keep or pathlib.Path(temporary)).resolve())
        head = bench.head()
        print(table_line(head), "|---" * len(head) + "|", sep="\n", flush=True)
        for number, row in enumerate(answers):
            rows.append(bench.row(row, number))
            print(table_line(rows[-1]), flush=True)
            if asked.wrong:
                asked.wrong.write_text("".join(line + "\n" for line in bench.mistakes))
    sums = totals(head, rows)
    right = {title: cell.split(" of ") for title, cell in zip(head, sums) if " of " in cell}
    print("\n" + "\n".join(f"right {title}: {a} of {b}" for title, (a, b) in right.items()), *bench.mistakes, sep="\n")
    if asked.docs:
        asked.docs.write_text(with_rows(asked.docs.read_text(), head, rows, names))
    now = [(int(a), int(b)) for title, (a, b) in right.items() if "before" not in title]
    return 0 if sum(a for a, _ in now) >= GOAL * sum(b for _, b in now) else 1


if __name__ == "__main__":
    sys.exit(main())
