"""`tomoprof top PID`: the shares of a running program, its keys and screen on a terminal; the program goes on unharmed."""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import TOMOPROF, compiled, main, need_library, tomoprof

PROGRAM = """import sys, threading, time
stop = False
spent = {"light": 0, "heavy": 0}
def light(n):
    began = time.thread_time()
    for i in range(n):
        i * i  # light
    spent["light"] += time.thread_time() - began
def heavy(n):
    began = time.thread_time()
    for i in range(n):
        i * i  # heavy
    spent["heavy"] += time.thread_time() - began
def work():
    while not stop:
        light(3000)
        heavy(9000)
worker = threading.Thread(target=work, name="worker")
worker.start()
print("ready", flush=True)
line = sys.stdin.readline()  # input
stop = True
worker.join()
print(line.strip(), spent["heavy"] / (spent["light"] + spent["heavy"]))
sys.exit(9)
"""

NATIVE = """#include <stdio.h>
#include <unistd.h>
#include <poll.h>
double x;
__attribute__((noinline)) static void spin(void) { for (int i = 0; i < 1000000; i++) x += i * 0.5; }
int main(void)
{
    struct pollfd input = {0, POLLIN, 0};
    puts("ready");
    fflush(stdout);
    while (!poll(&input, 1, 0)) spin();
    return 9;
}
"""


def begun(*words):
    p = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "ready\n"
    return p


def rows(text, title):
    """{name: [numbers]} of the last table with that title"""
    last = text[text.rindex(f"  {title}\n") :].split("\n\n")[0].splitlines()[1:]
    return {row.split(None, 4)[4]: [float(n) for n in row.split()[:4]] for row in last}


def shares_are_right(check, folder):
    (folder / "prog.py").write_text(PROGRAM)
    p = begun(sys.executable, folder / "prog.py")
    done = tomoprof("top", p.pid, "--times", 4, "--rate", 400)
    check.that(done.returncode == 0 and done.stdout.count("Process ") == 4 and "\x1b" not in done.stdout, f"{done}")
    out, err = p.communicate("end\n", timeout=300)
    check.that(p.returncode == 9 and err == "" and out.startswith("end "), f"the program: {p.returncode} {out!r} {err!r}")
    truth = 100 * float(out.split()[1])
    functions = {name.split()[0]: values for name, values in rows(done.stdout, "function").items()}
    check.that(abs(functions["heavy"][1] - truth) < 15 and functions["heavy"][1] + functions["light"][1] > 90, f"heavy takes {truth}: {functions}")
    lines = rows(done.stdout, "line")
    marked = {mark: sum(v[1] for name, v in lines.items() if mark in name) for mark in ("# light", "# heavy")}
    check.that(marked["# heavy"] > marked["# light"] > 0, f"{lines}")
    check.that(all(0 <= values[1] <= values[2] + 0.1 for values in functions.values()), f"inclusive is at least self: {functions}")
    check.that("waits for input (read of descriptor 0" in done.stdout, done.stdout)


def native_programs(check, folder):
    p = begun(compiled(folder, "spins", NATIVE, "-O1", "-g"))
    done = tomoprof("top", p.pid, "--once")
    p.communicate("e", timeout=300)
    check.that(p.returncode == 9 and done.returncode == 0, f"{p.returncode} {done}")
    functions = {name.split()[0]: values for name, values in rows(done.stdout, "function").items()}
    check.that(functions["spin"][1] > 80, f"{functions}")
    done = tomoprof("top", p.pid)
    check.that(done.returncode == 2 and "no process has this number" in done.stderr, f"{done}")


class Screen:
    """`tomoprof top` on a terminal."""

    def __init__(self, pid, columns, lines):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ["TERM"] = "xterm"
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execv(TOMOPROF, [TOMOPROF, "top", str(pid), "--interval", "0.2"])
        self.text = ""

    def resize(self, columns, lines):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def frames(self):
        """What was drawn, frame by frame, without styles."""
        return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", part) for part in self.text.split("\x1b[H")[1:]]

    def until(self, found, seconds=120):
        """Reads until the last whole frame is `found`; that frame, or None."""
        began, end = len(self.frames()), time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    return None
            for frame in self.frames()[max(began - 1, 0) : -1]:
                if found(frame):
                    return frame
        return None

    def ended(self):
        with contextlib.suppress(OSError):
            while part := os.read(self.fd, 65536):
                self.text += part.decode(errors="replace")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def keys_and_screen(check, folder):
    (folder / "prog.py").write_text(PROGRAM)
    p = begun(sys.executable, folder / "prog.py")
    screen = Screen(p.pid, 80, 24)
    frame = screen.until(lambda f: "# heavy" in f) or ""
    lines = frame.split("\r\n")
    check.that(len(lines) == 24 and max(map(len, lines)) <= 80, f"{len(lines)} lines: {lines}")
    screen.press("f")
    check.that(screen.until(lambda f: "functions, by CPU now" in f and "heavy (" in f), screen.text[-2000:])
    screen.press("T")
    check.that(screen.until(lambda f: "functions, by self time" in f), screen.text[-2000:])
    screen.press("H")
    check.that(screen.until(lambda f: "waits for input" in f), screen.text[-2000:])
    screen.press("h")
    check.that(screen.until(lambda f: "F10: quit" in f), screen.text[-2000:])
    screen.press("hl\x1b[17~")
    check.that(screen.until(lambda f: "lines, by inclusive" in f), screen.text[-2000:])
    screen.resize(60, 12)
    frame = screen.until(lambda f: len(f.split("\r\n")) == 12) or ""
    check.that(frame and max(map(len, frame.split("\r\n"))) <= 60, f"{frame!r}")
    screen.press(" ")
    paused = screen.until(lambda f: "PAUSED" in f) or ""
    check.that(paused, screen.text[-2000:])
    screen.press(" ")
    check.that(screen.until(lambda f: "seen" in f and "PAUSED" not in f), screen.text[-2000:])
    screen.press("q")
    check.that(screen.ended() == 0 and screen.text.rindex("\x1b[?1049l") > screen.text.rindex("\x1b[H"), f"{screen.text[-300:]!r}")
    out, err = p.communicate("end\n", timeout=300)
    check.that((p.returncode, out[:4], err) == (9, "end ", ""), f"the program: {p.returncode} {out!r} {err!r}")


def ends_of_either(check, folder):
    (folder / "prog.py").write_text(PROGRAM)
    for how in ("Ctrl-C", "kill -9", "the program ends"):
        p = begun(sys.executable, folder / "prog.py")
        screen = Screen(p.pid, 80, 24)
        check.that(screen.until(lambda f: "# heavy" in f), f"{how}: {screen.text[-1000:]}")
        if how == "Ctrl-C":
            screen.press("\x03")
        elif how == "kill -9":
            os.kill(screen.pid, signal.SIGKILL)
        else:
            p.communicate("end\n", timeout=300)
        code = screen.ended()
        check.that(code == (-9 if how == "kill -9" else 0), f"{how}: {code}, {screen.text[-300:]!r}")
        if how == "the program ends":
            check.that("has ended" in screen.text, screen.text[-300:])
        else:
            out, err = p.communicate("end\n", timeout=300)
            check.that((out[:4], err) == ("end ", ""), f"{how}: {out!r} {err!r}")
        check.that(p.returncode == 9, f"{how}: the program ended with {p.returncode}")


def nothing_is_left(check, folder):
    left = [pathlib.Path("/tmp") / n for n in os.listdir("/tmp") if n.startswith("tomoprof-top-")]
    left = [n for n in left if n.stat().st_uid == os.getuid()]
    check.that(len(left) <= 1, f"left in /tmp: {left}")  # that of the one which was killed
    for n in left:
        shutil.rmtree(n, ignore_errors=True)


if __name__ == "__main__":
    need_library()
    main(shares_are_right, native_programs, keys_and_screen, ends_of_either, nothing_is_left)
