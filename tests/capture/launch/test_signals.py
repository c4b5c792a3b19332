"""Signals under `tomoprof record`: the program gets each once, however it was sent, as it would without."""

import os
import pathlib
import pty
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import TOMOPROF, command, compiled, main, need_library

REPEATS = int(os.environ.get("TP_SIGNAL_REPEATS", "1"))

COUNTS = """#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int counts[65], any;
static void count(int n) { counts[n]++; any = 1; }
int main(int argc, char **argv)
{
    int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR};
    for (int i = 0; i < 11; i++) signal(numbers[i], count);
    if (argc > 2) setsid();
    FILE *out = fopen(argv[1], "w");
    if (write(1, "ready\\n", 6) != 6) return 1;
    for (int i = 0; i < 30000 && !any; i++) poll(NULL, 0, 10);
    for (int i = 0; i < 20; i++) poll(NULL, 0, 10); /* whatever comes late */
    for (int i = 0; i < 11; i++) fprintf(out, "%d ", counts[numbers[i]]);
    fclose(out);
    return 7;
}
"""
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT,
           signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGPWR)

SERVER = """import http.server, sys
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
try:
    print("ready", flush=True)
    server.serve_forever()
except KeyboardInterrupt:
    server.server_close()
    sum(range(3000000))  # tidying up: a second interrupt here would be the end
    print("closed", flush=True)
"""


def recorded(folder, *words):
    return command(folder / "runs", "--no-analysis", "--", *words)


def defaults():
    """A job in the background ignores SIGINT, under nohup SIGHUP, and so would what it starts."""
    for number in NUMBERS:
        signal.signal(number, signal.SIG_DFL)


def begin(words):
    p = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=defaults)
    return p, p.stdout.readline() == b"ready\n"


def counted(check, said, number, wanted, what):
    text = said.read_text() if said.exists() else ""
    counts = dict(zip(NUMBERS, map(int, text.split())))
    check.that(counts.get(number) == wanted and sum(counts.values()) == wanted, f"{what}: {counts}, sent {number.name}, expected {wanted}")


def each_comes_once(check, folder):
    """Sent to the process, as supervisors do, and to its group."""
    program, said = compiled(folder, "counts", COUNTS), folder / "said"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM, signal.SIGPROF):
        for what, send in (("process", os.kill), ("group", os.killpg)):
            for _ in range(REPEATS):
                p, ready = begin(recorded(folder, program, said))
                check.that(ready, "the program did not start")
                send(p.pid, number)
                p.communicate(timeout=300)
                check.that(p.returncode == 7, f"{number.name} to the {what}: exit {p.returncode}")
                counted(check, said, number, 1, f"to the {what}")


ORPHAN = """
import os, signal, sys, time
count = []
for number in map(int, sys.argv[1:]):
    signal.signal(number, lambda *_: count.append(1))
read, write = os.pipe()
if os.fork() == 0:
    middle = os.getpid()
    if os.fork() == 0:
        while os.getppid() == middle:
            time.sleep(0.01)
        for number in map(int, sys.argv[1:]):
            if os.getppid() != 1:
                signal.signal(number, signal.SIG_IGN)
                os.kill(os.getppid(), number)
                time.sleep(0.1)
        os._exit(0)
    os._exit(0)
os.wait()
os.close(write)
os.read(read, 1)  # until the orphan has ended
print(len(count), flush=True)
os._exit(7)
"""


def an_orphan_signals_its_parent(check, folder):
    """Which is the launcher while it records: nobody in a bare run gets such a signal."""
    numbers = [signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1, signal.SIGPROF, signal.SIGIO]
    done = subprocess.run(list(map(str, recorded(folder, sys.executable, "-c", ORPHAN, *map(int, numbers)))), capture_output=True, timeout=300)
    check.that((done.returncode, done.stdout) == (7, b"0\n"), f"{done}")


def several_in_turn_come_each(check, folder):
    """To the group and a second later to the process: what came before has nothing to do with it."""
    program = compiled(folder, "both", COUNTS.replace("!any", "counts[SIGTERM] + counts[SIGINT] < 2")), folder / "said"
    for first, second in ((os.killpg, os.kill), (os.kill, os.killpg)):
        p, _ = begin(recorded(folder, *program))
        first(p.pid, signal.SIGTERM)
        time.sleep(1)
        second(p.pid, signal.SIGINT)
        p.communicate(timeout=300)
        counts = dict(zip(NUMBERS, map(int, program[1].read_text().split())))
        check.that(counts[signal.SIGTERM] == counts[signal.SIGINT] == 1 and sum(counts.values()) == 2, f"{counts}")


def by_timeout(number, *words):
    """What it wrote and its exit code; later where the machine had not started it yet."""
    for seconds in (1.5, 10, 100):
        p, ready = begin(["timeout", "--preserve-status", "-s", number.name[3:], seconds, *words])
        out, _ = p.communicate(timeout=300)
        if ready:
            break
    return p.returncode, out


def timeout_ends_a_server(check, folder):
    """It signals the process and then the group."""
    script = folder / "server.py"
    script.write_text(SERVER)
    for words in ([sys.executable, script], recorded(folder, sys.executable, script)):
        for _ in range(REPEATS):
            for last in (False, False, True):  # between its two signals timeout may have had no CPU: then bare, too, they are two
                end = by_timeout(signal.SIGINT, *words)
                if last or end == (0, b"closed\n"):
                    break
            check.that(end == (0, b"closed\n"), f"{words[0]}: {end}")
    said, program = folder / "said", compiled(folder, "counts", COUNTS)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM, signal.SIGPROF):
        for _ in range(REPEATS):
            for last in (False, False, True):  # as above
                code, _ = by_timeout(number, *recorded(folder, program, said))
                if last or said.read_text().split().count("1") == 1:
                    break
            check.that(code == 7, f"exit {code}")
            counted(check, said, number, 1, "by timeout")


def a_supervisor_ends_a_server(check, folder):
    script = folder / "server.py"
    script.write_text(SERVER)
    for what, send in (("process", os.kill), ("group", os.killpg)):
        for _ in range(REPEATS):
            p, _ = begin(recorded(folder, sys.executable, script))
            send(p.pid, signal.SIGINT)
            out, err = p.communicate(timeout=300)
            check.that((p.returncode, out) == (0, b"closed\n"), f"to the {what}: {p.returncode} {out} {err[-500:]}")


def what_left_the_group_is_reached(check, folder):
    """A program that makes a session of its own does not get what is sent to the old group."""
    program, said = compiled(folder, "counts", COUNTS), folder / "said"
    for send in (os.kill, os.killpg):
        p, _ = begin(recorded(folder, program, said, "alone"))
        send(p.pid, signal.SIGTERM)
        p.communicate(timeout=300)
        check.that(p.returncode == 7, f"exit {p.returncode}")
        counted(check, said, signal.SIGTERM, 1, "a program of its own session")


def a_terminals_come_once(check, folder):
    """Ctrl-C, Ctrl-\\ and the end of the terminal reach the program and us."""
    program, said = compiled(folder, "counts", COUNTS), folder / "said"
    for keys, number in ((b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT), (None, signal.SIGHUP)):
        for _ in range(REPEATS):
            pid, screen = pty.fork()
            if pid == 0:
                defaults()
                os.execv(TOMOPROF, list(map(str, recorded(folder, program, said))))
            text = b""
            while b"ready" not in text:
                text += os.read(screen, 1000)
            if keys:
                os.write(screen, keys)
            else:
                os.close(screen)
            while keys:
                try:
                    if not os.read(screen, 1000):
                        break
                except OSError:
                    break
            _, status = os.waitpid(pid, 0)
            if keys:
                os.close(screen)
            check.that(os.waitstatus_to_exitcode(status) == 7, f"{number.name}: status {status}")
            counted(check, said, number, 1, "of a terminal")


def nobody_else_is_seen(check, folder):
    """The process that watches the group has none of our names, ends with us, and holds no file of the program."""
    program, said = compiled(folder, "counts", COUNTS), folder / "said"
    p, _ = begin(recorded(folder, program, said))
    names = {}
    for _ in range(6000):  # it may not have had a CPU yet
        children = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
        names = {open(f"/proc/{c}/comm").read().strip(): int(c) for c in children}
        if names.keys() == {"counts", "group-witness"}:
            break
        time.sleep(0.05)
    if not check.that(len(names) == 2, f"children: {names}"):
        return
    witness = names["group-witness"]
    for _ in range(6000):
        files = os.listdir(f"/proc/{witness}/fd")
        if len(files) == 2:
            break
        time.sleep(0.05)
    words = open(f"/proc/{witness}/cmdline").read().strip("\0")
    check.that("tomoprof" not in words, f"pkill would find it: {words}")
    check.that(len(files) == 2, f"it holds {files}")
    p.kill()
    p.wait()
    for _ in range(6000):
        if not os.path.exists(f"/proc/{witness}") or open(f"/proc/{witness}/stat").read().split()[2] == "Z":
            break
        time.sleep(0.05)
    else:
        check.that(False, "it outlives us")
    os.kill(names["counts"], signal.SIGKILL)
    p.stdout.close()
    p.stderr.close()


need_library()
main(each_comes_once, an_orphan_signals_its_parent, several_in_turn_come_each, timeout_ends_a_server, a_supervisor_ends_a_server, what_left_the_group_is_reached,
     a_terminals_come_once, nobody_else_is_seen)
