"""A run that is exported and imported again has the same first sentence and the same own lines, for every format that is written
and read. Captures of other tools, of programs whose hot line is known, name that line first."""

import collections
import json
import re
import shutil
import subprocess
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from test_import_back import message
from tool import DATA, main, newest, tomoprof

# Exports that nobody reads back, and why.
ONE_WAY = {"csv": "a table of lines without stacks", "nvtx": "statistics of ranges, without times", "svg": "a picture", "openmetrics": "of timing.json", "junit": "of timing.json"}
# Formats that come back, and what one of them cannot hold: then lines of C of an interpreter may look like the program's. None holds the text of a line.
NO_MODULES = "frames have a name, a file and a line, and no module"
FORMATS = {"speedscope": NO_MODULES, "pprof": "", "callgrind": "", "folded": NO_MODULES, "firefox": "", "perfetto": NO_MODULES, "chrome": ""}

PYTHON = """import subprocess
import sys


def hot(n):
    return sum(i * i % 7 for i in range(n))


def warm(n):
    return sum(i for i in range(n))


for _ in range(10):
    hot(int(sys.argv[1]))
    warm(int(sys.argv[1]) // 8)
    subprocess.run(["true"])
"""
C = """static volatile double sink;
static double warm(long n)
{
    double s = 0;
    for (long i = 0; i < n; i++) s += (double)(i % 7);
    return s;
}
static double hot(long n)
{
    double s = 0;
    for (long i = 1; i < n; i++) s += 1.0 / (double)i;
    return s;
}
int main(void)
{
    sink = hot(500000000);
    sink = warm(50000000);
    return 0;
}
"""


NUMBER = re.compile(r"(?<![\w.:])\d+(?:\.\d+)?(?![\w.:]\w)")


def read(run):
    return json.loads((run / "profile.json").read_text())


def sentence(profile):
    return re.sub(" `[^`]*`", "", profile["headline"])


def parts(text):
    """The sentence without its line's parts, and their percentages by name."""
    before, _, after = text.partition(" s): ")
    return before, {what: int(share) for share, what in re.findall(r"(\d+) % ([^,]*?)[,.](?: |$)", after)}


def same(found, wanted, slack):
    """Parts may differ by 3 points: exports do not hold which CPU time was the system's. `slack`: a share of the other numbers, beside a unit of their last digit."""
    (a, mine), (b, theirs) = parts(found), parts(wanted)
    close = all(x == y or slack and abs(float(x) - float(y)) <= slack * float(y) + 10.0 ** -len(y.partition(".")[2]) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)))
    return close and NUMBER.sub("#", a) == NUMBER.sub("#", b) and all(abs(mine.get(k, 0) - theirs.get(k, 0)) <= 3 for k in [*mine, *theirs] if max(mine.get(k, 0), theirs.get(k, 0)) > 12)


def own_lines(profile):
    """CPU time in ns of each line of the program."""
    own, lines = profile["own"], collections.Counter()
    for file, line, ns in zip(own["file"], own["line"], own["cpu_ns"]):
        if file:
            lines[file, line] += ns or 0
    return +lines


def cpu(profile):
    """CPU time in ns, with that of threads that ended before their first sample."""
    return sum(ns or 0 for ns in profile["stacks"]["cpu_ns"])


def comes_back(check, folder, command, hot):
    done = tomoprof("record", "--out", folder / "out", "--", *command, cwd=folder)
    run = newest(folder / "out")
    first = read(run)
    want = sentence(first)
    if not check.that(done.returncode == 0 and want.startswith(f"{hot} takes "), f"{want} {done.stderr}"):
        return
    for name in FORMATS:
        file = folder / f"back.{name}"
        done = tomoprof("export", run, "--to", name, "--out", file)
        check.that(done.returncode == 0, f"{name}: {done.stderr}")
        done = tomoprof("import", "--out", folder / name, file)
        check.that(done.returncode == 0, f"{name}: {done.stderr}")
        back = read(newest(folder / name))
        check.that(same(sentence(back), want, 0.01 if name == "callgrind" else 0), f"{name}: {sentence(back)} The run: {want}")
        expected, found = own_lines(first), own_lines(back)
        if FORMATS[name] == NO_MODULES:
            found = collections.Counter({place: ns for place, ns in found.items() if place[0] in {file for file, _ in expected}})
        # callgrind holds calls, no stacks: what a library's function took for the program and for the start-up is divided by an estimate.
        slack = 0.01 * sum(expected.values()) if name == "callgrind" else 0
        apart = max(abs(found[place] - expected[place]) for place in found | expected)
        check.that(apart <= slack, f"{name}: {found - expected} more, {expected - found} less than the run's own lines")
        check.that(abs(cpu(back) - cpu(first)) <= 0.1 * slack, f"{name}: {cpu(back)} of {cpu(first)} ns of CPU time")


def python_comes_back(check, folder):
    (folder / "hot.py").write_text(PYTHON)
    comes_back(check, folder, [sys.executable, "hot.py", "2400000"], "hot.py:6")


def c_comes_back(check, folder):
    if not shutil.which("cc"):
        print("  skipped: no C compiler")
        return
    (folder / "hot.c").write_text(C)
    subprocess.run(["cc", "-g", "-O0", "-o", "hot", "hot.c"], cwd=folder, check=True)
    comes_back(check, folder, ["./hot"], "hot.c:11")


def every_format_is_here(check, folder):
    text = tomoprof("export", "--help").stdout.split("\n\n")[3]
    names = {line.split()[0] for line in text.splitlines() if re.match("  [a-z]", line)}
    check.that(names == set(FORMATS) | set(ONE_WAY), f"{names ^ (set(FORMATS) | set(ONE_WAY))}: comes back, or not?")


# Recordings of programs whose hot line is known; perf without source lines and Nsight Systems know functions alone.
CAPTURES = {"pyspy.folded": (["--rate", "100"], "pyprog.py:3"), "pyspy.speedscope.json": ([], "example/pyprog.py:3"), "hot.perf.txt": ([], "hot.c:15"),
            "three_parts.perf.txt": ([], "work (three_parts)"), "three_parts.sqlite.gz": ([], "work (three_parts)"), "parts.callgrind": (["--rate", "1e9"], "parts.c:4"),
            "torch_step.json.gz": ([], "step.py:"), "jax_step.json.gz": ([], "jaxrun.py:"), "jax_step.xplane.pb": ([], "jaxrun.py:")}


def captures_name_their_hot_line(check, folder):
    for name, (options, hot) in CAPTURES.items():
        done = tomoprof("import", "--out", folder / name, *options, DATA / "import" / name)
        if "libsqlite3" in done.stderr:
            continue
        found = sentence(read(newest(folder / name)))
        check.that(done.returncode == 0 and re.match(f"(.*/)?{re.escape(hot)}.* takes ", found), f"{name}: {found} {done.stderr}")


def a_line_leads_where_the_program_mostly_waited(check, folder):
    """pprof tells a duration and no moments: 1 s of CPU time in 100 s, all of it in one line."""
    texts = b"".join(message(f6=text) for text in (b"", b"cpu", b"nanoseconds", b"hot", b"hot.c"))
    line = message(f1=1, f4=message(f1=1, f2=11))
    (folder / "waits.pb").write_bytes(message(f1=message(f1=1, f2=2)) + message(f2=message(f1=1, f2=10**9)) + message(f4=line) + message(f5=message(f1=1, f2=3, f4=4)) + texts
                                      + message(f10=10**11))
    done = tomoprof("import", "--out", folder / "out", folder / "waits.pb")
    profile = read(newest(folder / "out"))
    check.that(done.returncode == 0 and profile["meta"]["wall_s"] == 100 and sentence(profile) == "hot.c:11 takes 100 % of the CPU time (1 of 1 s).", f"{sentence(profile)} {done.stderr}")


if __name__ == "__main__":
    main(python_comes_back, c_comes_back, every_format_is_here, captures_name_their_hot_line, a_line_leads_where_the_program_mostly_waited)
