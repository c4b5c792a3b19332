"""%%tomoprof: a cell is recorded from outside, by its own clocks, with its source and its number. In a made-up shell, and in
a kernel of Jupyter where nbclient and ipykernel are installed."""

import importlib.util
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import TOMOPROF, main, need_library, of_samples, run, tomoprof

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "python/tomoprof"

HEAVY = """import time
def heavy(n):
    x = 0
    for i in range(n): x += i * i  # heavy
    return x
"""
SHARES = """%%tomoprof --rate 500
import random
used = {"light": 0, "heavy": 0}
def light(n):
    x = 0
    for i in range(n): x += i * i  # light
    return x
end = time.thread_time() + 1.5
while time.thread_time() < end:
    n = random.randrange(5000, 35000)  # no two rounds keep step with the kernel's ticks
    a = time.thread_time(); light(n); b = time.thread_time(); heavy(3 * n)
    used["light"] += b - a; used["heavy"] += time.thread_time() - b
"""
BUSY = "end = time.thread_time() + 0.5\nwhile time.thread_time() < end: sum(range(300000))\n"


def package(folder):
    """The package as it is installed: the program below bin/."""
    place = folder / "site/tomoprof"
    if not place.exists():
        shutil.copytree(PYTHON, place, ignore=shutil.ignore_patterns("__pycache__"))
        (place / "bin").mkdir()
        (place / "bin/tomoprof").symlink_to(pathlib.Path(TOMOPROF).resolve())
    return place.parent


def made_up(folder, cells, check):
    """What the made-up shell showed below each cell."""
    (folder / "cells.json").write_text(json.dumps(cells))
    done = run([sys.executable, HERE / "shell.py", package(folder), folder / "cells.json", folder / "out.json"], cwd=folder)
    if not check.must(done.returncode == 0, f"the shell ended with {done.returncode}: {done.stderr.decode()}"):
        return None
    return json.loads((folder / "out.json").read_text())


def shares_are_right(check, folder, name_of_cell, used, name_of_heavy):
    """Lines of two cells, by name, number, text and share; also when the run is analysed again."""
    for again in (0, 1):
        if again:
            (folder / "profile.json").unlink()
            done = tomoprof("report", folder)
            check.must(done.returncode == 0, f"report: {done.stderr}")
        data = json.loads((folder / "profile.json").read_text())
        n = data["totals"]["cpu"]["samples"]
        check.that(n > 100, f"{n} samples")
        for cell, mark in ((name_of_heavy, "heavy"), (name_of_cell, "light")):
            lines = data["files"].get(cell, {"lines": []})["lines"]
            found = [line for line in lines if (line["text"] or "").endswith("# " + mark)]
            if not check.that(len(found) == 1, f"{cell}: no line ends in # {mark}: {[(x['line'], x['text']) for x in lines]}; {list(data['files'])}"):
                continue
            line, truth = found[0], used[mark] / sum(used.values())
            check.that(line["line"] == {"heavy": 4, "light": 6}[mark], f"{mark} at line {line['line']}")
            got = (line["cpu"]["user"] + line["cpu"]["sys"]) / (data["totals"]["cpu"]["user"] + data["totals"]["cpu"]["sys"])
            allowed = 0.03 + 3 * math.sqrt(truth * (1 - truth) / max(n, 1))
            check.that(abs(got - truth) < allowed, f"{mark}: {got:.3f}, by the cell's own clocks {truth:.3f}, {n} samples")


@of_samples
def a_cell(check, folder):
    out = made_up(folder, [HEAVY, SHARES], check)
    if not out:
        return
    first, second = out["cells"]
    check.must(first == {"error": None, "said": "", "shown": []}, f"a cell without the magic: {first}")
    if not check.must(second["error"] is None and second["said"] == "" and len(second["shown"]) == 1, f"{second['error']}, {second['said']}"):
        return
    shown = second["shown"][0]
    check.must("<iframe srcdoc=" in shown["html"] and "tomoprof: tomoprof-runs/" in shown["text"], shown["text"])
    check.that(shown["text"].startswith("In [1]:4 "), f"the first sentence is {shown['text']}")
    check.must((pathlib.Path(shown["folder"]) / "trace/cells.json").stat().st_mode & 0o777 == 0o600, "others can read cells.json")
    check.must(out["left"] == 0, f"%unload_ext leaves {out['left']}")
    shares_are_right(check, pathlib.Path(shown["folder"]), "In [2]", out["used"], "In [1]")
    cells = pathlib.Path(shown["folder"]) / "trace/cells.json"
    for text, sentence in (("{", "not a JSON object"), ('{"schema": "tomoprof-cells/9", "cells": []}', "tomoprof-cells/9"),
                           ('{"schema": "tomoprof-cells/1", "cells": [{"file": "x", "name": "", "text": "y"}]}', "cell 0 has no file")):
        cells.write_text(text)
        (cells.parents[1] / "profile.json").unlink()
        done = tomoprof("report", shown["folder"])
        items = json.loads((cells.parents[1] / "profile.json").read_text())["quality"]["items"]
        told = [i["text"] for i in items if i["id"] == "cells.refused"]
        check.must(done.returncode == 0 and len(told) == 1 and sentence in told[0], f"{text}: {done.returncode}, {told}")


def ends_of_cells(check, folder):
    """Errors, Ctrl-C, little work, options; the next cell is recorded like the first."""
    out = made_up(folder, [HEAVY, "%%tomoprof\n" + BUSY + "1 / 0\n", "%%tomoprof\n2 + 2\n",
                           "%%tomoprof --link\nimport os, signal\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(600)\n",
                           "%%tomoprof --modes cpu\ndone = 1\n", "%%tomoprof --pid 1\ndone += 1\n", "%%tomoprof --colour\ndone += 1\nassert done == 3\n",
                           "%%tomoprof --seconds 0.1 --out elsewhere\n" + BUSY, "\n\n  %%tomoprof\n" + BUSY], check)
    if not out:
        return
    _, failed, short, stopped, modes, pid, unknown, part, last = out["cells"]
    check.that(failed["error"] == "ZeroDivisionError" and len(failed["shown"]) == 1, f"a cell that raises: {failed['error']}, {failed['said']}")
    check.that(len(short["shown"]) == 1 and "too few for shares of lines" in short["shown"][0]["text"], f"a short cell: {short['shown']}")
    check.that(stopped["error"] == "KeyboardInterrupt" and len(stopped["shown"]) == 1, f"Ctrl-C: {stopped['error']}, {stopped['said']}")
    html = stopped["shown"][0]["html"] if stopped["shown"] else ""
    check.that("<iframe" not in html and '<a href="tomoprof-runs/' in html, f"--link: {html[:300]}")
    for cell, sentence in ((modes, "--modes cannot be used with --pid"), (pid, "--pid is not an option of %%tomoprof")):
        check.that(cell["error"] is None and not cell["shown"] and sentence in cell["said"] and cell["said"].count("\n") == 1, f"{cell}")
    check.that(unknown["error"] is None and not unknown["shown"] and "no report: " in unknown["said"] and "--colour" in unknown["said"], f"{unknown}")
    check.that(part["error"] is None and len(part["shown"]) == 1 and "/elsewhere/" in part["shown"][0]["folder"], f"--seconds --out: {part['said']}")
    check.that(len(last["shown"]) == 1, f"empty lines before the magic: {last['said']}")


def a_kernel_that_may_not_be_traced(check, folder):
    """One sentence, and the cell runs."""
    tracer = ("import subprocess, sys\nc = subprocess.Popen([sys.executable, '-c', '''import ctypes, os\n"
              "x, kernel = ctypes.CDLL(None), os.getppid()\nx.ptrace.argtypes = [ctypes.c_long] * 4\n"
              "print(x.ptrace(0x4206, kernel, 0, 0), flush=True)\n"
              "while True: x.ptrace(7, kernel, 0, os.WSTOPSIG(os.waitpid(kernel, 0x40000000)[1]))  # its signals reach it\n'''], stdout=subprocess.PIPE, text=True)\n"
              "traced = c.stdout.readline()\n")
    out = made_up(folder, [tracer, "%%tomoprof\ndone = 1\n", "assert done == 1 and traced == '0\\n'\nc.kill()\nc.wait()\n", "%%tomoprof\ndone = 2\n"], check)
    if out and out["cells"][0]["error"] is None:
        _, refused, after, free = out["cells"]
        check.that(refused["said"].startswith("%%tomoprof: not recorded: process ") and "is traced by process" in refused["said"]
                   and refused["said"].count("\n") == 1 and not refused["shown"], f"{refused}")
        check.that(after["error"] is None, "the cell did not run")
        check.that(len(free["shown"]) == 1, f"without the tracer: {free['said']}")


def the_line_of_the_magic(check, folder):
    """Its words, and what is left of the cell."""
    script = ("import json, types, linecache\nfrom tomoprof import jupyter as j\n"
              "linecache.cache.update({n: (1, None, [n], n) for n in 'abc'})\n"
              "print(json.dumps([j.options_of('%%tomoprof'), j.options_of(' \\n%%tomoprof -r 9 --link\\nx'), j.options_of('%%tomoprofx'), j.options_of('x\\n%%tomoprof'), j.options_of(''),\n"
              " j.without_magic(['%%tomoprof\\n', 'x\\n']), j.without_magic(['%%tomoprof\\n', '%%time\\n', 'x']), j.without_magic(['x']), j.without_magic([]),\n"
              " j.split('--rate 9 --include a.py --link --seconds=3 --libraries -o d'.split()),\n"
              " j.cells(types.SimpleNamespace(_filename_map={'a': 1, 'b': 2, 'c': 1, 'gone': 4})), j.cells(None)]))\n")
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(package(folder))}, capture_output=True, text=True, timeout=300)
    check.that(done.returncode == 0, done.stderr)
    wanted = [[], ["-r", "9", "--link"], None, None, None, ["\n", "x\n"], ["%%time\n", "x"], ["x"], [],
              [["--rate", "9", "--seconds=3", "-o", "d"], ["--include", "a.py", "--libraries"], True],
              [{"file": "c", "name": "In [1]", "text": "c"}, {"file": "b", "name": "In [2]", "text": "b"}, {"file": "a", "name": "In [1]-2", "text": "a"}], []]
    for got, want in zip(json.loads(done.stdout or "[]"), wanted):
        check.that(got == want, f"{got}, not {want}")


@of_samples
def in_jupyter(check, folder):
    """A real kernel: await at the top of a cell, tracebacks, Ctrl-C by the front end, another magic below."""
    if not all(importlib.util.find_spec(name) for name in ("nbclient", "nbformat", "ipykernel")):
        print("  skipped: nbclient and ipykernel are not installed")
        return
    import nbclient
    import nbformat

    stop = "%%tomoprof\nimport os, signal, threading\nthreading.Timer(0.2, lambda: os.killpg(os.getpgid(0), signal.SIGINT)).start()\nwhile True: heavy(10000)\n"
    waits = "%%tomoprof\nimport asyncio\nasync def work(n):\n    await asyncio.sleep(0.1)\n    return heavy(n)\nsum(await asyncio.gather(work(400000), work(500000)))\n"
    cells = ["%load_ext tomoprof", HEAVY, SHARES + "used\n", waits, "%%tomoprof\nheavy(400000)\n1 / 0\n", stop, "%%tomoprof --link\n%%time\nheavy(1000000)\n",
             "%unload_ext tomoprof", "%%tomoprof\n1\n"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    site = os.pathsep.join([str(package(folder)), *filter(None, [os.environ.get("PYTHONPATH")])])
    nbclient.NotebookClient(book, timeout=300, startup_timeout=300, allow_errors=True, kernel_name="python3",
                            resources={"metadata": {"path": str(folder)}}).execute(env={**os.environ, "PYTHONPATH": site})
    keep = os.environ.get("TP_NOTEBOOK")  # a file: keep the notebook there, to look at
    if keep:
        nbformat.write(book, keep)
    pages = [[o for o in cell.outputs if o.output_type == "display_data" and "text/html" in o.data] for cell in book.cells]
    errors = [[o.ename for o in cell.outputs if o.output_type == "error"] for cell in book.cells]
    results = [[o.data["text/plain"] for o in cell.outputs if o.output_type == "execute_result"] for cell in book.cells]
    check.must([len(p) for p in pages] == [0, 0, 1, 1, 1, 1, 1, 0, 0], f"pages: {[len(p) for p in pages]}; {str(book.cells[2].outputs)[:500]}")
    check.must(errors == [[], [], [], [], ["ZeroDivisionError"], ["KeyboardInterrupt"], [], [], []] and book.cells[8].outputs, f"errors: {errors}")
    check.must(results[3] == [str(sum(i * i for i in range(400000)) + sum(i * i for i in range(500000)))], f"await: {results[3]}")
    check.must("Wall time" in "".join(o.get("text", "") for o in book.cells[6].outputs), "%%time below %%tomoprof")
    if pages[2]:
        text = pages[2][0].data["text/plain"]
        check.that(text.startswith("In [2]:4 "), f"the first sentence is {text}")
        shares_are_right(check, folder / pathlib.Path(text.split("tomoprof: ")[1]).parent, "In [3]", eval(results[2][0], {}), "In [2]")


need_library()
if os.uname().machine != "x86_64":
    print("skipped: running processes are recorded on x86-64 only")
    sys.exit(77)
main(a_cell, ends_of_cells, a_kernel_that_may_not_be_traced, the_line_of_the_magic, in_jupyter)
