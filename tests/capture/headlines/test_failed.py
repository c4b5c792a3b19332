"""Programs that fail: how they ended comes first, then their costs. They end as bare, with the same output."""

import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from pythons import pythons, version
from recorded import command, compiled, main, need_library, of_samples, profile, run, tomoprof

# Name: source, exit status (-N: signal N), exception, its line; what the program leaves of its name is in its output.
RAISES = """import sys
def inner(value):
    return value.size  # raises
def outer():
    inner(len(sys.argv))
outer()
"""
IN_LIBRARY = """import json
def load(text):
    return json.loads(text)  # raises
load("{")
"""
COROUTINE = """import asyncio
async def fetch():
    await asyncio.sleep(0.01)
    raise LookupError("none")  # raises
async def main():
    await asyncio.gather(fetch())
asyncio.run(main())
"""
LONG = """class Überlauf(Exception):
    pass
raise Überlauf("ä€" * 500)  # raises
"""
SILENT = """class Odd(Exception):
    def __str__(self): raise ValueError("no text")
raise Odd(1)  # raises
"""
DEEP = """def down(n):
    return down(n + 1) + 1  # raises
down(0)
"""
HOOKED = """import sys
sys.excepthook = lambda *words: print("mine", words[0].__name__)
{}["views"]  # raises
"""
CHAINED = """def first():
    try:
        1 / 0
    except ZeroDivisionError as e:
        raise RuntimeError("second") from e  # raises
first()
"""
BESIDE_THREADS = """import threading, time
def work():
    for _ in range(30): time.sleep(0.01)
threading.Thread(target=work).start()
raise OSError("main")  # raises
"""
IGNORES_SIGINT = """import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
[][1]  # raises
"""
SYNTAX = "def broken(:\n    pass\n"
EXCEPTIONS = {
    "raises": (RAISES, 1, "AttributeError"),
    "in_library": (IN_LIBRARY, 1, "JSONDecodeError"),
    "coroutine": (COROUTINE, 1, "LookupError"),
    "long": (LONG, 1, "Überlauf"),
    "silent": (SILENT, 1, "Odd"),
    "deep": (DEEP, 1, "RecursionError"),
    "hooked": (HOOKED, 1, "KeyError"),
    "chained": (CHAINED, 1, "RuntimeError"),
    "beside_threads": (BESIDE_THREADS, 1, "OSError"),
}
INTERRUPTED = """import os, signal
os.kill(os.getpid(), signal.SIGINT)  # raises
for _ in range(10**9): pass
"""
# No exception of these ended the program, or none that is known: the status alone is told.
STATUSES = {
    "exits": ("import sys\nsys.exit(3)\n", 3),
    "exits_with_text": ("import sys\nsys.exit('sorry')\n", 1),
    "leaves": ("import os\nos._exit(3)\n", 3),
    # As after PyErr_Print() in a callback of C, which the program survives; and one without a traceback.
    "after_another": ("""import sys
def callback(): {}[1]
try: callback()
except KeyError: sys.last_type, sys.last_traceback = sys.exc_info()[0], sys.exc_info()[2].tb_next
sys.exit(1)
""", 1),
    "after_a_print": ("import sys\nsys.last_type = KeyError\nsys.exit(1)\n", 1),
    "handled": ("try: {}[1]\nexcept KeyError: raise SystemExit(4)\n", 4),
}
FINE = {
    "worker_thread": "import threading\ndef work(): raise ValueError('worker')\nt = threading.Thread(target=work)\nt.start()\nt.join()\n",
    "failing_child": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', '1 / 0'])\nsubprocess.run(['sh', '-c', 'kill -9 $$'])\n",
    "worker_process": """import multiprocessing
def work(): raise ValueError("worker")
if __name__ == "__main__":
    p = multiprocessing.Process(target=work)
    p.start()
    p.join()
    print(p.exitcode)
""",
}
BUSY = """import time
def work():
    while time.process_time() < 1.5: sum(range(400000))
work()
raise ValueError("after the work")
"""
KILLED = {"kill": ("os.kill(os.getpid(), 9)", "SIGKILL"), "term": ("os.kill(os.getpid(), 15)", "SIGTERM")}


CRASHES = r"""#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void smooth(double *p, long n)
{
    for (long i = 0; i < n; i++)
        p[i << 20] = 1; /* smooth */
}
__attribute__((noinline)) static int divide(int a, int b)
{
    return a / b; /* divide */
}
__attribute__((noinline)) static void check(int ok)
{
    if (!ok)
        abort(); /* check */
    puts("checked");
}
__attribute__((noinline)) static void sends(int number)
{
    raise(number); /* sends */
    puts("sent");
}
static volatile int zero;
static void handler(int number)
{
    puts("handled");
    fflush(stdout);
    _Exit(number == SIGSEGV ? 3 : 4);
}
static int down(int n)
{
    volatile char room[4096];
    room[n % 4096] = 1;
    return n < 0 ? 0 : down(n + 1) + room[0];
}
int main(int n, char **word)
{
    char stack[65536];
    struct sigaction old;
    memset(stack, n, sizeof stack);
    if (n > 2 && !strcmp(word[2], "asks"))
        for (int i = 1; i < 32; i++)
            if (i != SIGKILL && i != SIGSTOP && !sigaction(i, NULL, &old) && old.sa_handler != SIG_DFL)
                printf("%d is not default: %d\n", i, old.sa_flags);
    if (n > 2 && !strcmp(word[2], "own"))
        printf("%d\n", signal(SIGSEGV, handler) == SIG_DFL);
    if (n > 2 && !strcmp(word[2], "back")) {
        printf("%d", signal(SIGSEGV, handler) == SIG_DFL);
        printf("%d\n", signal(SIGSEGV, SIG_DFL) == handler);
    }
    fflush(stdout);
    switch (*word[1]) {
    case 's': smooth((double *)stack, 1 << 30); break;
    case 'd': return divide(n, zero);
    case 'a': check(n < 0); break;
    case 'r': sends(SIGSEGV); break;
    case 'b': sends(SIGBUS); break;
    case 'o': return down(1);
    }
    puts("went on");
    return 0;
}
"""
# Word: signal, function; the line is the one of that comment.
PLACES = {"s": ("SIGSEGV", "smooth"), "d": ("SIGFPE", "divide"), "a": ("SIGABRT", "check"), "r": ("SIGSEGV", "sends"), "b": ("SIGBUS", "sends")}
IN_LIBRARY_OF_C = """import ctypes
def poke():
    ctypes.string_at(8)  # raises
poke()
"""


def line_of(source):
    return next(i for i, line in enumerate(source.splitlines(), 1) if "# raises" in line)


def both(check, folder, name, words):
    """The profile of a program that ends recorded as bare."""
    bare, done = run(words, cwd=folder), run(command(folder / f"out_{name}", "--", *words), cwd=folder)
    check.that(done.returncode == bare.returncode, f"{name}: {done.returncode} where bare {bare.returncode}: {done.stderr.decode()[-500:]}")
    check.that(done.stdout == bare.stdout, f"{name}: {done.stdout} where bare {bare.stdout}")
    text = [re.sub(b"0x[0-9a-f]+", b"ADDRESS", run.stderr) for run in (done, bare)]
    check.that(text[0].startswith(text[1]), f"{name}: {done.stderr.decode()} where bare {bare.stderr.decode()}")
    made = profile(folder / f"out_{name}")
    print(f"  {name}: {made['headline']}")
    check.that(made["meta"]["exit_code"] == (bare.returncode if bare.returncode >= 0 else None), f"{name}: {made['meta']}")
    check.that(made["meta"]["signal"] == (-bare.returncode if bare.returncode < 0 else None), f"{name}: {made['meta']}")
    check.that(f"report.html: {made['headline'][:80]}" in done.stderr.decode().splitlines()[-1], f"the last line: {done.stderr.decode()}")
    return bare, made


def fails(check, folder, name, words, sentence, line=None, python=sys.executable):
    """Begins with `sentence`; the answer is of the kind and line."""
    bare, made = both(check, folder, name, words)
    first = made["answers"][0]
    check.that(made["headline"].startswith(sentence), f"{name}: {made['headline']}")
    check.that(first["kind"] == "failed" and first["text"] == sentence and first["line"] == line, f"{name}: {first}")
    return bare, made


def exception(check, folder, name, source, status, kind, python):
    (folder / f"{name}.py").write_text(source)
    line = line_of(source)
    bare, made = fails(check, folder, name, [python, f"{name}.py"], f"{pathlib.Path(python).name} exited with {status}: {kind} at {name}.py:{line}.", line)
    check.must(bare.returncode == status, f"{name}: bare {bare}")
    ended = [p["failure"] for p in made["processes"] if p["failure"]]
    check.that(len(ended) == 1 and ended[0]["exception"] == kind and ended[0]["file"] == f"{name}.py", f"{name}: {ended}")


def uncaught_exceptions(check, folder):
    for name, (source, status, kind) in EXCEPTIONS.items():
        exception(check, folder, name, source, status, kind, sys.executable)


def each_python(check, folder):
    for i, python in enumerate(pythons()):
        print("  {}.{}".format(*version(python)))
        at = folder / str(i)
        at.mkdir()
        for name in ("raises", "deep", "coroutine"):
            exception(check, at, name, *EXCEPTIONS[name], python)


def the_exception_may_be_unknown(check, folder):
    """A program that changed SIGINT: where it is not known, nothing is guessed."""
    (folder / "ignores.py").write_text(IGNORES_SIGINT)
    _, made = both(check, folder, "ignores", [sys.executable, "ignores.py"])
    known = f": IndexError at ignores.py:{line_of(IGNORES_SIGINT)}."
    check.that(made["headline"].split(" Its costs")[0] in (f"{pathlib.Path(sys.executable).name} exited with 1{end}" for end in (known, ".")), made["headline"])
    (folder / "syntax.py").write_text(SYNTAX)
    fails(check, folder, "syntax", [sys.executable, "syntax.py"], f"{pathlib.Path(sys.executable).name} exited with 1: SyntaxError.")


def statuses(check, folder):
    for name, (source, status) in STATUSES.items():
        (folder / f"{name}.py").write_text(source)
        bare, _ = fails(check, folder, name, [sys.executable, f"{name}.py"], f"{pathlib.Path(sys.executable).name} exited with {status}.")
        check.must(bare.returncode == status, f"{bare}")
    (folder / "last.sh").write_text("true\nfalse\n")
    fails(check, folder, "last", ["sh", "last.sh"], "sh exited with 1.")
    (folder / "own.sh").write_text("#!/bin/sh\nexit 7\n")
    (folder / "own.sh").chmod(0o755)
    fails(check, folder, "own", ["./own.sh"], "own.sh exited with 7.")


def signals(check, folder):
    for name, (act, number) in KILLED.items():
        (folder / f"{name}.py").write_text(f"import os\n{act}\n")
        bare, made = both(check, folder, name, [sys.executable, f"{name}.py"])
        check.must(bare.returncode == -signal.Signals[number], f"{bare}")
        check.that(made["headline"].startswith(f"{pathlib.Path(sys.executable).name} was killed by {number}"), made["headline"])
        check.that(made["answers"][0]["kind"] == "failed", f"{made['answers'][0]}")
    (folder / "interrupted.py").write_text(INTERRUPTED)
    fails(check, folder, "interrupted", [sys.executable, "interrupted.py"],
          f"{pathlib.Path(sys.executable).name} was killed by SIGINT: KeyboardInterrupt at interrupted.py:{line_of(INTERRUPTED)}.", line_of(INTERRUPTED))


def places_of_signals(check, folder):
    program = compiled(folder, "crash", CRASHES, "-O1")
    if not program:
        print("  skipped: no C compiler")
        return
    lines = CRASHES.splitlines()
    for word, (number, function) in PLACES.items():
        line = next(i for i, text in enumerate(lines, 1) if f"/* {function} */" in text)
        for more in ([], ["asks"], ["back"]) if word in "sa" else ([],):
            bare, _ = fails(check, folder, word + "".join(more), ["./crash", word, *more], f"crash was killed by {number} (in {function}(), crash.c:{line}).", line)
            check.must(bare.returncode == -signal.Signals[number], f"{bare}")
    bare, _ = fails(check, folder, "own", ["./crash", "s", "own"], "crash exited with 3.")
    check.must(bare.returncode == 3 and b"handled" in bare.stdout, f"{bare}")
    both(check, folder, "overflow", ["./crash", "o"])
    (folder / "pokes.py").write_text(IN_LIBRARY_OF_C)
    line = line_of(IN_LIBRARY_OF_C)
    fails(check, folder, "pokes", [sys.executable, "pokes.py"], f"{pathlib.Path(sys.executable).name} was killed by SIGSEGV (in poke(), pokes.py:{line}).", line)
    fails(check, folder, "handled", [sys.executable, "-X", "faulthandler", "pokes.py"],
          f"{pathlib.Path(sys.executable).name} was killed by SIGSEGV (in poke(), pokes.py:{line}).", line)
    (folder / "aborts.py").write_text("import os\nos.abort()\n")
    fails(check, folder, "aborts", [sys.executable, "aborts.py"], f"{pathlib.Path(sys.executable).name} was killed by SIGABRT (aborts.py:2).", 2)


def what_others_fail(check, folder):
    """The program itself ends well."""
    for name, source in FINE.items():
        (folder / f"{name}.py").write_text(source)
        bare, made = both(check, folder, name, [sys.executable, f"{name}.py"])
        check.must(bare.returncode == 0, f"{bare}")
        check.that(all(a["kind"] != "failed" for a in made["answers"]) and "exited" not in made["headline"], f"{name}: {made['headline']}")


@of_samples
def costs_follow(check, folder):
    (folder / "busy.py").write_text(BUSY)
    sentence = f"{pathlib.Path(sys.executable).name} exited with 1: ValueError at busy.py:5."
    _, made = fails(check, folder, "busy", [sys.executable, "busy.py"], sentence, 5)
    check.that(made["headline"].startswith(f"{sentence} Its costs until then: busy.py:3 "), made["headline"])
    check.that(made["answers"][1]["kind"] == "cpu" and made["answers"][1]["line"] == 3, f"{made['answers']}")
    said = tomoprof("report", "--text", str(next((folder / "out_busy").glob("2*")))).stdout
    check.that(sentence in said, said)


need_library()
main(uncaught_exceptions, each_python, the_exception_may_be_unknown, statuses, signals, places_of_signals, what_others_fail, costs_follow)
