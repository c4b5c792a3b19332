"""`report --text` of programs that measure themselves: self and inclusive shares of lines and functions, and who calls them."""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, newest, of_samples, run, tomoprof

# leaf is called by heavy and light; down calls itself. Each adds up what it took by the clock of the process.
IN_C = r"""#include <stdio.h>
#include <time.h>
#define OWN __attribute__((noinline, noclone))
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static volatile double x = 1;
static double leaf_s, down_s;
OWN static void leaf(int parts)
{
    double begin = now();
    for (int i = 0; i < parts * 10000000; i++) x = x * 1.0000001 + 1e-9; /* leaf's line */
    leaf_s += now() - begin;
}
OWN static void heavy(void) { leaf(9); x = 1; }
OWN static void light(void) { leaf(3); x = 1; }
OWN static void down(int deep)
{
    double begin = now();
    for (int i = 0; i < 10000000; i++) x = x * 1.0000001 + 1e-9;
    down_s += now() - begin;
    if (deep) down(deep - 1); /* down's line */
    x = 1;
}
int main(void)
{
    double begin = now();
    heavy();
    double middle = now();
    light();
    double end = now();
    down(5);
    printf("{\"heavy\": %g, \"light\": %g, \"leaf\": %g, \"down\": %g, \"all\": %g}\n", middle - begin, end - middle, leaf_s, down_s, now());
    return 0;
}
"""
IN_PYTHON = """import json
from time import process_time as now
spent = {"leaf": 0, "down": 0}
def leaf(parts):
    begin = now()
    for i in range(parts * 900000): i * i + 1  # leaf's line
    spent["leaf"] += now() - begin
def heavy(): leaf(9)
def light(): leaf(3)
def down(deep):
    begin = now()
    for i in range(900000): i * i + 1
    spent["down"] += now() - begin
    if deep: down(deep - 1)  # down's line
for function in (heavy, light):
    begin = now()
    function()
    spent[function.__name__] = now() - begin
down(5)
print(json.dumps({**spent, "all": now()}))
"""
NUMBER = r" +(\d+\.\d+|\.|-)"
POINTS = 6  # of 100: about twice a sampling error of half a second at 500 Hz on a machine that other work shares


def share(text):
    return 0.0 if text in (".", "-") else float(text)


def tables(text, source):
    """{"leaf's line": (self, inclusive)}, {function: (self, inclusive, {caller: share})}, in percent."""
    lines, functions = text.split("Functions, by their CPU time")
    marks = {n: m[0] for n, line in enumerate(source.splitlines(), 1) if (m := re.search(r"\w+'s line", line))}
    rows = re.finditer(rf"^{NUMBER}{NUMBER}.*calls\.(?:c|py):(\d+) ", lines, re.M)
    by_line = {marks[int(m[3])]: (share(m[1]), share(m[2])) for m in rows if int(m[3]) in marks}
    rows = re.finditer(rf"^{NUMBER}{NUMBER}{NUMBER}  (\S+) \([^)]*\) *(.*)$", functions, re.M)
    return by_line, {m[4]: (share(m[1]), share(m[2]), {who: int(n) for who, n in re.findall(r"(\S+) (\d+) %", m[5])}) for m in rows}


def judge(check, folder, source, *words):
    done = run(command(folder / "runs", "--rate", "500", "--modes", "cpu,python", "--", *words))
    check.must(done.returncode == 0, done.stderr.decode())
    truth = json.loads(done.stdout)
    text = tomoprof("report", newest(folder / "runs"), "--text").stdout
    wide = [line for line in text.split("Functions, by")[-1].splitlines()[:8] if len(line) > 100]
    check.must(not wide, f"wider than 100 columns: {wide}")
    lines, functions = tables(text, source)
    true = {name: 100 * s / truth["all"] for name, s in truth.items()}
    expected = {"leaf": (true["leaf"], true["leaf"]), "down": (true["down"], true["down"]), "heavy": (0, true["heavy"]), "light": (0, true["light"])}
    for name, (own, inclusive) in expected.items():
        found = functions.get(name, (-100, -100, {}))
        check.that(abs(found[0] - own) < POINTS and abs(found[1] - inclusive) < POINTS, f"{name}: {found}, truth {own:.1f} {inclusive:.1f}\n{text}")
    callers = functions["leaf"][2] if "leaf" in functions else {}
    for name in ("heavy", "light"):
        check.that(abs(callers.get(name, -100) - 100 * truth[name] / truth["leaf"]) < POINTS, f"leaf is called by {callers}\n{text}")
    check.that("down" not in functions.get("down", (0, 0, {}))[2], f"down calls itself: {functions.get('down')}")
    # down's line calls itself: its inclusive time is that of all frames but the last, once.
    for line, own, inclusive in (("leaf's", true["leaf"], true["leaf"]), ("down's", 0, true["down"] * 5 / 6)):
        found = lines.get(line + " line", (0, 0) if not own else (-100, -100))
        check.that(abs(found[0] - own) < POINTS and abs(found[1] - inclusive) < POINTS, f"{line} line: {found}, truth {own:.1f} {inclusive:.1f}\n{text}")


@of_samples
def in_c(check, folder):
    judge(check, folder, IN_C, compiled(folder, "calls", IN_C, "-g", "-O1"))


@of_samples
def in_python(check, folder):
    (folder / "calls.py").write_text(IN_PYTHON)
    judge(check, folder, IN_PYTHON, sys.executable, folder / "calls.py")


need_library()
main(in_c, in_python)
