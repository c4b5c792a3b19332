"""`tomoprof record` is not there: exit status, signals, terminal, pipes and environment are those of a bare run."""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import LIBRARY, TOMOPROF, command, compiled, main, need_library, newest, profile, run, tomoprof

QUIET = ["--no-analysis"]


def recorded(folder, *args):
    return command(folder / "runs", *QUIET, "--", *args)


def the_exit_status_is_the_programs(check, folder):
    for code in (0, 1, 2, 77, 255):
        done = run(recorded(folder, "sh", "-c", f"echo out; echo err >&2; exit {code}"))
        check.that(done.returncode == code, f"exit {done.returncode} instead of {code}")
        check.that(done.stdout == b"out\n", f"stdout {done.stdout}")
        check.that(done.stderr.startswith(b"err\n"), f"stderr {done.stderr}")
        check.that(newest(folder / "runs").name.encode() in done.stderr.splitlines()[-1], f"last line {done.stderr}")
    for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL, signal.SIGINT, signal.SIGUSR1, signal.SIGPIPE):
        done = run(recorded(folder, "sh", "-c", f"kill -{int(number)} $$"), preexec_fn=signal_defaults)
        check.that(done.returncode == -number, f"{number.name}: returncode {done.returncode}")
        said = json.loads((newest(folder / "runs") / "record.json").read_text())
        check.that(said["end"]["signal"] == number and said["end"]["exit_code"] is None, f"{said['end']}")


def signal_defaults():
    for number in (signal.SIGPIPE, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def signals_reach_the_program(check, folder):
    program = "trap 'echo got; exit 3' {}; echo ready; i=0; while [ $i -lt 6000 ]; do sleep 0.05; i=$((i+1)); done"
    for name in ("INT", "TERM", "HUP", "USR1", "USR2", "QUIT"):
        p = subprocess.Popen(recorded(folder, "sh", "-c", program.format(name)), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
        check.that(p.stdout.readline() == b"ready\n", "the program did not start")
        p.send_signal(getattr(signal, f"SIG{name}"))
        out, err = p.communicate(timeout=300)
        check.that(p.returncode == 3 and out == b"got\n", f"SIG{name}: exit {p.returncode}, {out} {err}")


def ignored_signals_stay_ignored(check, folder):
    done = run(recorded(folder, "sh", "-c", "kill -HUP $$; echo alive"),
               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    check.that(done.returncode == 0 and done.stdout == b"alive\n", f"{done}")
    # As under nohup: a program with a handler of its own gets them all the same, one without ignores them.
    for handler, wanted in ("lambda *a: os._exit(3)", 3), ("signal.SIG_IGN", 0):
        program = (f"import os, signal, sys, time\nsignal.signal(signal.SIGHUP, {handler})\nprint('ready', flush=True)\n"
                   "sys.stdin.read()\ntime.sleep(300 if len(sys.argv) > 1 else 0)\n")
        p = subprocess.Popen(recorded(folder, sys.executable, "-c", program, *["wait"] * (wanted > 0)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        check.that(p.stdout.readline() == b"ready\n", "the program did not start")
        p.send_signal(signal.SIGHUP)
        out, err = p.communicate(timeout=300)
        check.that(p.returncode == wanted, f"SIGHUP, which tomoprof was started to ignore, with {handler}: exit {p.returncode}, {err}")


def a_terminals_interrupt_comes_once(check, folder):
    """The program counts what Ctrl-C sends; the terminal sends it to both."""
    counter = ("import signal, sys, time\nn = 0\ndef f(*a):\n    global n\n    n += 1\nsignal.signal(signal.SIGINT, f)\n"
               "print('ready', flush=True)\nend = time.monotonic() + 300\n"
               "while not n and time.monotonic() < end:\n    time.sleep(0.05)\n"
               "time.sleep(0.5)\nprint('interrupts', n, sys.stdin.isatty(), flush=True)\n")
    pid, screen = pty.fork()
    if pid == 0:
        os.execv(TOMOPROF, recorded(folder, sys.executable, "-c", counter))
    text = b""
    while b"ready" not in text:
        text += os.read(screen, 1000)
    os.write(screen, b"\x03")
    while True:
        try:
            more = os.read(screen, 1000)
        except OSError:
            break
        if not more:
            break
        text += more
    _, status = os.waitpid(pid, 0)
    os.close(screen)
    check.that(b"interrupts 1 True" in text, f"{text}")
    check.that(os.waitstatus_to_exitcode(status) == 0, f"status {status}")


def a_stopped_program_stops_the_launcher(check, folder):
    p = subprocess.Popen(recorded(folder, "sh", "-c", "kill -STOP $$; exit 5"), stderr=subprocess.PIPE, start_new_session=True)
    pid, status = os.waitpid(p.pid, os.WUNTRACED)
    check.that(os.WIFSTOPPED(status), f"status {status}")
    os.kill(p.pid, signal.SIGCONT)
    p.communicate(timeout=300)
    check.that(p.returncode == 5, f"exit {p.returncode}")


STOPPED = """
import os, signal, sys, time
conts = []
signal.signal(signal.SIGCONT, lambda *_: conts.append(1))
if sys.argv[1] == "alone":
    os.setpgid(0, 0)  # a signal to the launcher's group does not reach it
child = os.fork()
if child == 0:
    while open(f"/proc/{os.getppid()}/stat").read().rsplit(")", 1)[1].split()[0] != "T":
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(os.getppid(), signal.SIGKILL if sys.argv[1] == "killed" else signal.SIGCONT)
    os._exit(0)
for _ in range(int(sys.argv[2])):
    os.kill(os.getpid(), signal.SIGSTOP)
os.waitpid(child, 0)
print("continued", len(conts))
"""


def a_program_that_others_continue_goes_on(check, folder):
    """By its own number, which is all that they know of it. One that is killed while it is stopped ends."""
    for how, code, said in (("group", 0, b"continued 1\n"), ("alone", 0, b"continued 1\n"), ("killed", -signal.SIGKILL, b"")):
        program = [sys.executable, "-c", STOPPED, how, "1"]
        bare = run(program)
        p = subprocess.Popen(recorded(folder, *program), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        out, _ = p.communicate(timeout=300)
        check.that((bare.returncode, bare.stdout) == (code, said), f"{how}, bare: {bare}")
        check.that(out == said, f"{how}: {out}")
        check.that(p.returncode in (code, 128 - code), f"{how}: exit {p.returncode}")


def pipes_end_when_the_program_ends_them(check, folder):
    """Nobody but the program holds the other end."""
    feeder = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
    program = "import os, time; os.read(0, 1); os.write(1, b'x'); os.close(0); os.close(1); time.sleep(600)"
    p = subprocess.Popen(recorded(folder, sys.executable, "-c", program), stdin=feeder.stdout, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    feeder.stdout.close()
    check.that(p.stdout.read() == b"x", "stdout")
    feeder.wait(timeout=300)
    check.that(p.poll() is None, "the feeder's end came with the program's: a pipe stayed open")
    p.terminate()
    p.communicate(timeout=300)
    check.that(p.returncode == -signal.SIGTERM, f"exit {p.returncode}")


def standard_input_arrives(check, folder):
    data = os.urandom(300000)
    done = subprocess.run(
        recorded(folder, "cat"), input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    check.that(done.stdout == data, f"{len(done.stdout)} bytes of {len(data)}")


def the_environment_is_kept(check, folder):
    other = pathlib.Path("/lib/x86_64-linux-gnu/libutil.so.1")
    other = str(other) if other.exists() else "libm.so.6"
    env = {**os.environ, "LD_PRELOAD": other, "NVTX_INJECTION64_PATH": "/nowhere/nvtx.so", "CUDA_INJECTION64_PATH": "/nowhere/cuda.so"}
    done = run(recorded(folder, "/usr/bin/env"), env=env)
    said = dict(line.split("=", 1) for line in done.stdout.decode().splitlines() if "=" in line)
    check.that(said["LD_PRELOAD"].split(":")[1:] == [other], said["LD_PRELOAD"])
    name = said["LD_PRELOAD"].split(":")[0]  # the open file, where the path has a blank
    check.that(name.endswith("libtomoprof_capture.so") or (" " in str(LIBRARY) and name.startswith("/proc/")), said["LD_PRELOAD"])
    check.that(said["TOMOPROF_CAPTURE_NVTX_CHAIN"] == "/nowhere/nvtx.so", "the other NVTX tool is lost")
    check.that(said["CUDA_INJECTION64_PATH"] == "/nowhere/cuda.so", "the other CUDA tool lost its place")
    check.that(b"CUDA_INJECTION64_PATH=/nowhere/cuda.so is set already" in done.stderr, f"{done.stderr}")
    for key, value in env.items():
        if key not in ("LD_PRELOAD", "NVTX_INJECTION64_PATH", "_"):
            check.that(said.get(key, value) == value, f"{key}: {said.get(key)} instead of {value}")


def odd_names_work(check, folder):
    """Blanks, colons and letters beyond ASCII in the path of library, program, output and argument."""
    place = folder / "a b:c ä'\"\\n"
    place.mkdir()
    program = place / "tomo prof"
    shutil.copy(TOMOPROF, program)
    shutil.copy(pathlib.Path(TOMOPROF).with_name("libtomoprof_capture.so"), place)
    script = place / "skript ü.sh"
    script.write_text("#!/bin/sh\nprintf '%s|' \"$@\"\n")
    script.chmod(0o755)
    words = [program, "record", "--no-analysis", "--out", place / "aus gäbe", "--", script, "", "a b", "ä\n'\"$x", "--help", "--"]
    done = run(words)
    check.that(done.returncode == 0, f"{done}")
    check.that(done.stdout.decode() == "|a b|ä\n'\"$x|--help|--|", f"{done.stdout}")
    check.that(b"cannot be preloaded" not in done.stderr, f"{done.stderr}")


def options_end_at_the_program(check, folder):
    done = run([TOMOPROF, "record", "--no-analysis", "--out", folder / "runs", "printf", "%s", "--help"])
    check.that(done.stdout == b"--help", f"{done}")
    check.that(b"Usage: tomoprof record" in run([TOMOPROF, "record", "--help"]).stdout, "no help")


def scripts_of_python(check, folder):
    """A script without the right to be executed is run by python3, and that is said; one that has it is run as it is."""
    script = folder / "script.py"
    script.write_text("#!/bin/sh\nprint = 0; echo shell; exit 3\n")
    script.chmod(0o755)
    done = tomoprof("record", "--no-analysis", "--out", folder / "runs", script)
    check.that(done.returncode == 3 and done.stdout == "shell\n" and "python3" not in done.stderr, f"{done}")
    script.write_text("import sys; print(sys.argv[1:])")
    script.chmod(0o644)
    for words in ([script, "--a", "b"], ["--", "script.py", "--a", "b"]):
        done = tomoprof("record", "--no-analysis", "--out", folder / "runs", *words, cwd=folder)
        check.that(done.returncode == 0 and done.stdout == "['--a', 'b']\n" and "runs it with python3" in done.stderr, f"{words}: {done}")


def wrong_calls_run_nothing(check, folder):
    text = folder / "text"
    text.write_text("no program")
    for words, sentence in (
        (["no-such-program-here"], "no such program is in PATH"),
        (["/no/such/file"], "No such file"),
        ([str(text)], "not an executable file\n"),
        ([str(folder)], "not an executable file"),
        ([""], "name of the program is empty"),
        (["--modes", "cpu,pyton", "--", "true"], "did you mean python?"),
        (["--modes", "", "--", "true"], "list is empty"),
        (["--rate", "0.5", "--", "true"], "--rate 0.5: must be between 1 and 10000"),
        ([], "record needs"),
    ):
        done = tomoprof("record", "--out", folder / "never", *words)
        check.that(done.returncode == 2 and sentence in done.stderr, f"{words}: {done.returncode} {done.stderr}")
        check.that(done.stdout == "" and not (folder / "never").exists(), f"{words}: something was made")
    done = tomoprof("record", "--out", "/proc/never", "echo", "ran")
    check.that(done.returncode == 1 and done.stdout == "", f"{done}")
    junk = folder / "junk"
    junk.write_bytes(b"\x7fELF" + b"\xff" * 60)
    junk.chmod(0o755)
    done = tomoprof("record", "--out", folder / "runs", junk)
    check.that(done.returncode == 2 and "cannot be executed" in done.stderr, f"{done}")


def what_cannot_be_seen_is_said(check, folder):
    source = "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 4; }\n"
    for flags, sentence in ((["-static"], "statically linked"), (["-static-pie"], "record --pid PID"),
                            (["-fsanitize=address"], "built with a sanitizer"), (["-m32"], "not a 64-bit program")):
        try:
            program = compiled(folder, "p", source, *flags)
        except RuntimeError:
            print(f"  skipped: the compiler cannot link {flags[0]}")
            continue
        done = run(recorded(folder, program))
        check.that(done.returncode == 4 and done.stdout == b"ran\n", f"{flags}: {done}")
        check.that(sentence in done.stderr.decode() and done.stderr.count(b"\n") == 2, f"{flags}: {done.stderr}")
    # A runtime that is linked into the program, as clang's, which exports its functions; in a program without a hash table of names as well.
    for more in ([], ["-Wl,--hash-style=sysv"], ["-Wl,-z,pack-relative-relocs"]):
        linked = source + "void __tsan_init(void) {}\n" + "".join(f"int name_{i}(void) {{ return {i}; }}\n" for i in range(40))
        try:
            program = compiled(folder, "linked", linked, "-rdynamic", *more)
        except RuntimeError:
            print(f"  skipped: the linker does not know {more[0]}")
            continue
        done = run(recorded(folder, program))
        check.that(done.returncode == 4 and b"built with a sanitizer" in done.stderr, f"a runtime inside, {more}: {done}")
        mentions = compiled(folder, "mentions", source.replace("ran", "ran __tsan_init libasan.so"), "-rdynamic", *more)
        done = run(recorded(folder, mentions))
        check.that(done.returncode == 4 and done.stderr.count(b"\n") == 1, f"a program that says its name, {more}: {done}")
    done = run(recorded(folder, sys.executable, "-c", ""))
    check.that(done.stderr.count(b"\n") == 1, f"an ordinary program: {done.stderr}")


def what_cannot_load_the_library_starts_without_it(check, folder):
    """Children of the program: what musl's loader or a sanitizer would do is to end them. The loader here is glibc's by a
    name of musl's, so that each says what was handed to it."""
    loader = pathlib.Path("/lib64/ld-linux-x86-64.so.2")
    if not loader.exists():
        print("  skipped: no x86-64 loader")
        return
    (folder / "ld-musl-x86_64.so.1").symlink_to(loader)
    say = '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { const char *p = getenv("LD_PRELOAD"), *o = getenv("OTHER"); ' \
          'printf("[%s] %s\\n", p ? p : "", o ? o : ""); return 0; }\n'
    foreign = compiled(folder, "foreign", say, f"-Wl,--dynamic-linker={folder}/ld-musl-x86_64.so.1")
    own = compiled(folder, "own", say)
    (folder / "script").write_text(f"#!{foreign}\n")
    (folder / "script").chmod(0o755)
    starts = {"sh": ["sh", "-c", "./foreign; ./own"], "a script": ["sh", "-c", "./script"], "env": ["env", "./foreign"],
              "posix_spawn": [sys.executable, "-c", "import os; os.waitpid(os.posix_spawn('./foreign', ['f'], os.environ), 0)"],
              "posix_spawnp": [sys.executable, "-c", "import os; os.waitpid(os.posix_spawnp('foreign', ['f'], os.environ), 0)"],
              "fexecve": [sys.executable, "-c", "import os; os.execve(os.open('foreign', os.O_RDONLY), ['f'], os.environ)"],
              "execvpe": [sys.executable, "-c", "import ctypes, os; a = (ctypes.c_char_p * 2)(b'f', None); "
                          "e = (ctypes.c_char_p * 3)(b'OTHER=x', b'LD_PRELOAD=' + os.environb[b'LD_PRELOAD'], None); "
                          "ctypes.CDLL(None).execvpe(b'foreign', a, e)"]}
    if " " in str(folder):
        del starts["a script"]  # the kernel reads a first line of a script up to a blank
    other = "libm.so.6"  # of the program's own, and harmless
    for name, words in starts.items():
        done = run(recorded(folder, *words), cwd=folder, env={**os.environ, "LD_PRELOAD": other, "OTHER": "x", "PATH": f"{folder}:" + os.environ["PATH"]})
        lines = done.stdout.decode().splitlines()
        check.that(done.returncode == 0 and lines and lines[0] == f"[{other}] x", f"{name}: {done}")
        check.that(name != "sh" or (re.search("tomoprof|/proc/", lines[1]) and other in lines[1]), f"a program that can load it: {lines}")
    sanitized = compiled(folder, "sanitized", "int main(void) { return 5; }\n", "-fsanitize=address")
    done = run(recorded(folder, "sh", "-c", "./sanitized; echo $?"), cwd=folder)
    check.that(sanitized is None or done.stdout == b"5\n", f"with AddressSanitizer: {done}")


def a_program_of_musl_runs_as_it_would(check, folder):
    """With musl's own compiler and loader: the sentence, and the program's words and exit code; as a child without a word of its loader."""
    if not shutil.which("musl-gcc"):
        print("  skipped: musl-gcc is not installed (Debian: musl-tools)")
        return
    program = compiled(folder, "of_musl", '#include <stdio.h>\nint main(void) { puts("ran"); return 4; }\n', compiler="musl-gcc")
    done = run(recorded(folder, program))
    said = done.stderr.decode()
    check.that(done.returncode == 4 and done.stdout == b"ran\n", f"{done}")
    check.that("uses musl instead of glibc, into which the capture library cannot be loaded: nothing of it will be seen" in said, said)
    done = run(recorded(folder, "sh", "-c", f"{program}; echo $?"))
    check.that(done.returncode == 0 and done.stdout == b"ran\n4\n" and b"LD_PRELOAD" not in done.stderr and b"loading shared" not in done.stderr, f"{done}")


RIGHTS = """#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct d[2];
    prctl(PR_SET_KEEPCAPS, 1);
    if (setresuid(65534, 65534, 65534))
        return 2;
    syscall(SYS_capget, &h, d);
    d[0].effective = d[0].permitted;
    syscall(SYS_capset, &h, d);
    printf("%d %d %d\\n", setgroups(0, NULL), setgid(65534), (int)getuid());
    return 7;
}
"""


def a_daemon_gives_up_its_rights(check, folder):
    """Keeping a capability over setuid is of one thread: libc ends a program whose other threads then may not do the same."""
    if os.getuid():
        print("  skipped: only root has rights to give up")
        return
    program = compiled(folder, "rights", RIGHTS)
    bare, mine = run([program]), run(recorded(folder, program))
    check.that(bare.returncode == 7 and bare.stdout == b"0 0 65534\n", f"bare: {bare}")
    check.that((mine.returncode, mine.stdout) == (bare.returncode, bare.stdout), f"{mine}")


def processes_without_data_are_named(check, folder):
    """Spawned, forked or vforked and then replaced; a failed exec and an ordinary child are none of them. So is their CPU time."""
    source = "int main(void) { return 0; }\n"
    works = "#include <time.h>\nint main(void) { while (clock() < CLOCKS_PER_SEC / 2); return 0; }\n"
    try:
        lone, other, third = (compiled(folder, n, text, "-static") for n, text in (("lonely", works), ("other", source), ("third", source)))
    except RuntimeError:
        print("  skipped: the compiler cannot link -static")
        return
    ordinary, junk = compiled(folder, "ordinary", source), folder / "junk"
    junk.write_bytes(b"\x7fELF" + b"\xff" * 60)
    junk.chmod(0o755)
    script = ("import os, subprocess, sys\nlone, other, third, ordinary, junk = sys.argv[1:]\n"
              "os.waitpid(os.posix_spawn(lone, ['x'], os.environ), 0)\n"
              "for p in (other, ordinary): os.spawnv(os.P_WAIT, p, ['x'])\n"
              "for p in (third, ordinary): subprocess.run([p], check=True)\n"
              "for p in (junk, '/nowhere/at/all'):\n    try: subprocess.run([p])\n    except OSError: pass\n"
              "if os.fork() == 0:\n    try: os.execv('/nowhere/at/all', ['x'])\n    except OSError: os._exit(0)\nos.wait()\n")
    done = run(command(folder / "runs", "--", sys.executable, "-c", script, lone, other, third, ordinary, junk))
    check.that(done.returncode == 0, f"{done}")
    items = {i["id"]: i for i in profile(folder / "runs")["quality"]["items"]}
    said = items.get("trace.children", {})
    check.that(said.get("text") == "3 processes of the program left no data: lonely, other, third.", f"{said}")
    missing = re.search(r"counted ([0-9.]+) s of CPU time", said.get("effect", ""))
    check.that(missing and 0.4 < float(missing.group(1)) < 0.8, f"0.5 s of CPU time have no recording: {said}")


def what_outlives_the_program_is_said(check, folder):
    done = run(recorded(folder, "sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"), timeout=300)
    left = int(done.stdout)
    check.that(pathlib.Path(f"/proc/{left}/cmdline").read_bytes().startswith(b"sleep"), "the process that the program left is gone")
    os.kill(left, signal.SIGKILL)
    check.that(b"1 of the program's processes still run" in done.stderr, f"{done.stderr}")


def a_bare_run_is_compared(check, folder):
    marker = folder / "count"
    done = run(command(folder / "runs", "--measure-overhead", *QUIET, "--", "sh", "-c", f"echo x >> '{marker}'; cat; sleep 0.1"))
    check.that(marker.read_text() == "x\nx\n" and done.returncode == 0, f"{done}")
    said = json.loads((newest(folder / "runs") / "record.json").read_text())
    check.that(said["cpus"] == len(os.sched_getaffinity(0)), f"{said['cpus']} CPUs")
    models = [line.split(": ", 1)[1] for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    check.that(said["cpu"] == models[0] if models else said["cpu"] is None or "part" in said["cpu"], f"{said['cpu']}, {models[:1]}")
    check.that(said["baseline"]["wall_s"] >= 0.1 and said["end"]["wall_s"] >= 0.1, f"{said}")
    check.that(b" s without the recorder: " in done.stderr, f"{done.stderr}")


def a_recording_ends_before_its_program(check, folder):
    """After --seconds nothing is recorded, of what it starts neither; the run can be looked at, the exit code is the program's."""
    script = folder / "phases.py"
    script.write_text("import subprocess, sys, time\ndef spin(s):\n    end = time.process_time() + s\n"
                      "    while time.process_time() < end: sum(range(300000))\n"
                      "def before(): spin(0.2)  # before\ndef after(): spin(0.3)  # after\n"
                      "before()\nprint('ready', flush=True)\nsys.stdin.readline()\nafter()\n"
                      "subprocess.run([sys.executable, '-c', ''])\nprint('end')\nsys.exit(7)\n")
    p = subprocess.Popen(command(folder / "runs", "--seconds", 3, "--", sys.executable, script), stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.stdout.readline() != "ready\n" or p.poll() is not None:
        check.that(False, "the program did not start")
    said = p.stderr.readline()
    check.that("the recording ended after 3 s" in said and "tomoprof report " in said, f"{said}")
    done = tomoprof("report", newest(folder / "runs"), "--text")
    check.that(done.returncode == 0 and p.poll() is None, f"report meanwhile: {done}")
    out, err = p.communicate("go on\n", timeout=300)
    check.that((p.returncode, out) == (7, "end\n"), f"exit {p.returncode}: {out} {err}")
    data = profile(folder / "runs")
    lines = {line["line"] for path, f in data["files"].items() if path.endswith("phases.py") for line in f["lines"]}
    check.that(6 not in lines, f"the line after the end is recorded: {lines}")
    check.that([q["end"] for q in data["processes"]] == ["left"], f"{data['processes']}")
    said = json.loads((newest(folder / "runs") / "record.json").read_text())["end"]
    check.that(said["exit_code"] == 7 and said["wall_s"] == 3, f"{said}")
    for words in (["--seconds", "0"], ["--seconds", "1", "--measure-overhead"]):
        done = tomoprof("record", "--out", folder / "never", *words, "--", "true")
        check.that(done.returncode == 2 and not (folder / "never").exists(), f"{words}: {done}")


def an_interrupt_during_the_analysis_keeps_the_recording(check, folder):
    """The signal comes a moment after the program's last act; the exit code stays the program's."""
    interrupted = 0
    for delay in (0.05, 0.15, 0.3, 0.6, None):  # None: as the page gets its name
        done, runs = folder / f"done{delay}", folder / f"runs{delay}"
        work = f"i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo $i | tr 1 2; done >/dev/null; touch {done}; exit 3"
        p = subprocess.Popen(command(runs, "--", "sh", "-c", work), stderr=subprocess.PIPE, text=True)
        while not done.exists() and p.poll() is None:
            time.sleep(0.005)
        while delay is None and p.poll() is None and not list(runs.glob("*/report.html")):
            pass
        time.sleep(delay or 0)
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=300)[1]
        files = sorted(f.name for f in newest(runs).iterdir())
        check.that(p.returncode in (3, -signal.SIGINT), f"exit {p.returncode}: {err}")
        check.that(not [f for f in files if f.endswith(".tmp")], f"left behind: {files}")
        if "tomoprof report " in err:
            interrupted += 1
            check.that(p.returncode == 3 and "report.html" not in files, f"{files}: {err}")
            if "profile.json" in files:  # it came while the page was written
                profile(runs)
            again = tomoprof("report", newest(runs), "--text")
            check.that(again.returncode == 0 and "CPU" in again.stdout, f"report: {again}")
    print(f"  {interrupted} of 5 came during the analysis")


need_library()
main(the_exit_status_is_the_programs, signals_reach_the_program, ignored_signals_stay_ignored, a_terminals_interrupt_comes_once,
     a_stopped_program_stops_the_launcher, a_program_that_others_continue_goes_on, pipes_end_when_the_program_ends_them, standard_input_arrives,
     the_environment_is_kept, odd_names_work, options_end_at_the_program, scripts_of_python, wrong_calls_run_nothing,
     what_cannot_be_seen_is_said, what_cannot_load_the_library_starts_without_it,
     a_program_of_musl_runs_as_it_would, a_daemon_gives_up_its_rights,
     processes_without_data_are_named, what_outlives_the_program_is_said, a_bare_run_is_compared, a_recording_ends_before_its_program,
     an_interrupt_during_the_analysis_keeps_the_recording)
