"""What record and report print on a terminal and in a pipe: answer, link to the page, tables; and --open."""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import TOMOPROF, main, newest, tomoprof

SOURCE = "def f():\n    return sum(i * i for i in range(10**7))  # " + "a long line " * 20 + "ends here\nf()\n"


def shown_on_terminal(folder, *words, **environment):
    """(what a terminal of 80 columns shows, exit code)"""
    pid, terminal = pty.fork()
    if not pid:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 80, 0, 0))
        os.chdir(folder)
        os.environ.update({"TERM": "xterm", **environment})
        os.execv(TOMOPROF, [TOMOPROF, *map(str, words)])
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    return shown.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def answer_and_link(check, folder):
    place = folder / "a b\u00e9"  # an address has no blanks and no bytes above 127
    place.mkdir()
    (place / "prog.py").write_text(SOURCE)
    shown, code = shown_on_terminal(place, "record", "--", sys.executable, "prog.py")
    check.that(code == 0, shown)
    link = re.search(r"tomoprof: \x1b\]8;;file://[^/]*(/[^\x1b]*)\x1b\\(tomoprof-runs/[^\x1b]*/report\.html)\x1b\]8;;\x1b\\\r?\n", shown)
    check.that(link is not None and link[1].endswith(f"/a%20b%C3%A9/{link[2]}"), f"{shown!r}")
    lines = shown.replace("\r", "").splitlines()
    check.that("prog.py:2" in lines[-2] and "\x1b]8" not in lines[-2], f"{lines[-3:]}")
    done = tomoprof("record", "--", sys.executable, "prog.py", cwd=place)
    check.that("\x1b" not in done.stderr and re.search(r"^tomoprof: tomoprof-runs/\S+/report\.html: .*prog\.py:2", done.stderr, re.M), done.stderr)
    shown, code = shown_on_terminal(place, "record", "--", sys.executable, "prog.py", TERM="dumb")
    check.that(code == 0 and "\x1b]8" not in shown, f"{shown!r}")


def report_prints_by_itself(check, folder):
    (folder / "prog.py").write_text(SOURCE)
    check.that(tomoprof("record", "--", sys.executable, "prog.py", cwd=folder).returncode == 0, "record")
    shown, code = shown_on_terminal(folder, "report")
    check.that(code == 0 and "self %" in shown and "report.html" in shown and "ends here" not in shown, f"{shown!r}")
    check.that(len([line for line in shown.splitlines() if "prog.py:2 takes" in line or "Importing" in line]) <= 1, f"the answer is there twice: {shown!r}")
    piped = tomoprof("report", cwd=folder)
    check.that(piped.returncode == 0 and piped.stdout == "" and "report.html" in piped.stderr, f"{piped}")
    text = tomoprof("report", "--text", cwd=folder)
    check.that("ends here" in text.stdout, text.stdout)


def open_opens_the_page(check, folder):
    (folder / "bin").mkdir()
    opener = folder / "bin" / "xdg-open"
    opener.write_text(f"#!/bin/sh\necho \"$1\" >> '{folder}/opened'\n")
    opener.chmod(0o755)
    path = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    done = tomoprof("record", "--open", "--out", folder / "out", "--", "/bin/true", env=path)
    check.that(done.returncode == 0 and (folder / "opened").read_text().split() == [f"{newest(folder / 'out')}/report.html"], f"{done}")
    done = tomoprof("record", "--open", "--no-analysis", "--", "/bin/true")
    check.that(done.returncode == 2 and "--open" in done.stderr, f"{done}")


def top_has_its_styles(check, folder):
    with subprocess.Popen([sys.executable, "-c", "print('ready', flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
        job.stdout.readline()
        shown, code = shown_on_terminal(folder, "top", job.pid, "--once", NO_COLOR="")
        job.stdin.write(b"\n")
    if code and "trac" in shown:
        print("  not run: this user may not trace others")
        return
    check.that(code == 0 and "\x1b[1m" in shown and "\\x1b" not in shown, f"exit {code}: {shown!r}")


if __name__ == "__main__":
    main(answer_and_link, report_prints_by_itself, open_opens_the_page, top_has_its_styles)
