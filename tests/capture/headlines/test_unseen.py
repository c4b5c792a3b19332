"""What of a run is not seen comes first, or is said beside: processes without the recorder, lines of an interpreter that is too old, greenlets."""

import importlib.util
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, of_samples, profile, run

BURN = "#include <time.h>\nint main(void) { volatile double x = 1; while (clock() < 1.5 * CLOCKS_PER_SEC) for (int i = 0; i < 3000000; i++) x = x * 1.0000001; return 0; }\n"
# The symbols by which interpreters are known: up to 3.6, and 3.7 or 3.8.
OLD = {"up_to_3_6": "void *_PyThreadState_Current;", "up_to_3_8": "char _PyRuntime[4096];"}
KEEPS = """import sys
kept = []
def step(i):
    block = bytearray(1 << 20)
    kept.append(bytes(block))  # keeps
for i in range(100): step(i)
"""
GREENLETS = """import gevent
def fetch(seconds): gevent.sleep(seconds)
gevent.joinall([gevent.spawn(fetch, s) for s in (0.5, 3)])
"""


def recorded(check, folder, *words):
    done = run(command(folder / "runs", "--", *words), cwd=folder)
    check.must(done.returncode == 0, f"{words}: {done}")
    made = profile(folder / "runs")
    print(f"  {words}: {made['headline']}")
    return made


def processes_without_the_recorder(check, folder):
    if not compiled(folder, "burns", BURN):
        print("  skipped: no C compiler")
        return
    cases = [("a cleared environment", "burns", ["env", "-i", "./burns"])]
    try:
        compiled(folder, "alone", BURN, "-static")
        cases.append(("a static child", "alone", ["sh", "-c", "./alone; true"]))
    except RuntimeError:
        print("  skipped: no static C library")
    for name, program, words in cases:
        made = recorded(check, folder, *words)
        first = made["answers"][0]
        check.that(first["kind"] == "unseen" and made["headline"].startswith(first["text"]), f"{name}: {made['headline']}")
        check.that(first["text"].endswith(f"was in processes that were not recorded: {program}."), f"{name}: {first}")
        check.that(first["share"] > 0.9 and 1.4 < first["cost_s"] < 1.7, f"{name}: {first}")
        check.that("--pid" in first["advice"] and "cleared environment" in first["advice"], f"{name}: {first}")
        check.that(made["quality"]["unrecorded"] == 1 and made["quality"]["unrecorded_names"] == program, f"{made['quality']}")
    compiled(folder, "brief", BURN.replace("1.5", "0.3"))
    made = recorded(check, folder, "env", "-i", "./brief")  # half a second would be too much to ask where nothing else is known
    check.that(made["answers"][0]["kind"] == "unseen", f"a brief one: {made['headline']}")
    made = recorded(check, folder, "sh", "-c", "./burns; true")
    check.that(made["answers"][0]["kind"] != "unseen" and made["quality"]["unrecorded"] is None, f"recorded as a whole: {made['answers'][0]}")


@of_samples
def old_interpreters(check, folder):
    for name, symbol in OLD.items():
        source = f"{symbol}\nchar PyCode_Type[512];\n{BURN}"
        if not compiled(folder, name, source, "-rdynamic", "-g0"):
            print("  skipped: no C compiler")
            return
        made = recorded(check, folder, f"./{name}")
        check.that("Python lines cannot be read: the interpreter is older than 3.9; those of 3.9 to 3.14 can be read." in made["headline"], f"{name}: {made['headline']}")
    made = recorded(check, folder, sys.executable, "-c", BURN and "import time\nwhile time.process_time() < 1: pass")
    check.that("cannot be read" not in made["headline"], made["headline"])


def memory_until_the_end(check, folder):
    """An interpreter frees all as it ends: what lived until then was kept."""
    (folder / "keeps.py").write_text(KEEPS)
    made = recorded(check, folder, sys.executable, "keeps.py")
    line = next(i for i, text in enumerate(KEEPS.splitlines(), 1) if "# keeps" in text)
    leaks = {(leak["file"], leak["line"]): leak["live_mb"] for leak in made["memory"]["leaks"]}
    check.that(abs(leaks.get(("keeps.py", line), 0) - 100) < 20, f"{leaks}")
    check.that(len(leaks) == 1, f"the block of each call is freed: {leaks}")


@of_samples
def greenlets(check, folder):
    if not importlib.util.find_spec("gevent"):
        print("  skipped: gevent is not installed")
        return
    (folder / "green.py").write_text(GREENLETS)
    made = recorded(check, folder, sys.executable, "green.py")
    check.that(made["headline"].startswith("green.py:3 waits") or made["headline"].startswith("green.py:3 `gevent"), made["headline"])
    check.that("is not read" not in made["headline"], made["headline"])


def a_program_elsewhere_keeps_its_name(check, folder):
    """Recorded from another folder, without lines: its path is shortened once, so no other file can have its name."""
    if not compiled(folder, "burns", BURN, "-g0"):
        print("  skipped: no C compiler")
        return
    (folder / "here").mkdir()
    done = run(command(folder / "runs", "--", folder / "burns"), cwd=folder / "here")
    check.must(done.returncode == 0, f"{done}")
    made = profile(folder / "runs")
    names = {m["module"] for m in made["unattributed"]} | {*made["frames"]["module"]} - {None}
    check.that("(burns)" in made["headline"] and not any("(2)" in name for name in names), f"{made['headline']} {names}")


need_library()
main(processes_without_the_recorder, old_interpreters, memory_until_the_end, greenlets, a_program_elsewhere_keeps_its_name)
