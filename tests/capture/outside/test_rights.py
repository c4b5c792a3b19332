"""`tomoprof record --pid` where the system forbids it, or where the process is of another kind: levels of Yama, set-user-id programs, other
namespaces, Go and musl. One sentence that says what to do, or a recording; the process goes on in either case."""

import contextlib
import ctypes
import os
import pathlib
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "faults"))
import fuse
from recorded import TOMOPROF, compiled, main, need_library, of_samples, profile, run

NOBODY, SOMEBODY = 65534, 65533
PTRACE, NO_NEW_PRIVILEGES, SECCOMP = 101, 38, 22  # of x86-64; of prctl()
WAITS = """#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int n, char **words)
{
    (void)words;
    if (n > 1)
        prctl(PR_SET_DUMPABLE, 0);
    puts("ready");
    fflush(stdout);
    char c;
    return read(0, &c, 1) == 1 ? 9 : 8;
}
"""
WORKS = """#include <stdio.h>
#include <time.h>
static volatile double x = 1;
__attribute__((noinline)) static void heavy(void)
{
    for (long i = 0; i < 6000000; i++) x = x * 1.0000001 + 1e-9;
}
int main(void)
{
    struct timespec t;
    puts("ready");
    fflush(stdout);
    do {
        heavy(); /* works */
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec < 2);
    return 9;
}
"""
GO = """package main

import (
    "fmt"
    "os"
    "time"
)

//go:noinline
func heavy(n int) float64 {
    x := 1.0
    for i := 0; i < n; i++ {
        x = x*1.0000001 + 1e-9 // works
    }
    return x
}

func main() {
    fmt.Println("ready")
    go func() { time.Sleep(time.Hour) }()
    x := 0.0
    for i := 0; i < 300; i++ {
        x += heavy(6000000)
    }
    fmt.Fprintln(os.Stderr, x > 0)
    os.Exit(9)
}
"""


def as_user(user):
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def no_tracing():
    """ptrace fails with EPERM, as Yama has it."""
    rows = [(0x20, 0, 0, 0), (0x15, 0, 1, PTRACE), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(code)))
    if fuse.LIBC.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or fuse.LIBC.prctl(SECCOMP, 2, ctypes.byref(program)):
        os._exit(99)


@contextlib.contextmanager
def running(words, user=None):
    p = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         preexec_fn=(lambda: as_user(user)) if user else None)
    p.said = p.stdout.readline()
    try:
        yield p
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()
        for stream in (p.stdin, p.stdout, p.stderr):
            stream.close()


def recorded(folder, pid, before=None, *options):
    return run([TOMOPROF, "record", "--pid", pid, "--out", folder / "runs", "--for", "0.3s", *options], preexec_fn=before)


def goes_on(check, what, p):
    p.stdin.write("e")
    p.stdin.flush()
    check.that(p.wait(300) == 9, f"{what}: the process ended with {p.returncode}")


def open_folder(folder):
    for path in (folder, folder / "runs"):
        path.mkdir(exist_ok=True)
        path.chmod(0o777)


def levels_of_yama(check, folder):
    """The file of the level is replaced; the kernel's refusal is that of a filter."""
    open_folder(folder)
    program = compiled(folder, "waits", WAITS)
    place = pathlib.Path("/proc/sys/kernel")
    try:
        subprocess.run(["true"], preexec_fn=fuse.own_mounts, check=True)
    except subprocess.SubprocessError:
        print("  skipped: no right to a mount namespace")
        return
    for level, sentence in ((1, "allows to trace own children only (kernel.yama.ptrace_scope is 1): use sudo"),
                            (2, "ptrace_scope is 2): use sudo"),
                            (3, "forbids tracing until it is started again")):
        def before(level=level):
            fuse.own_mounts()
            fuse.called(fuse.LIBC.mount(b"none", str(place).encode(), b"tmpfs", 0, None), "a file system in memory")
            (place / "yama").mkdir()
            (place / "yama/ptrace_scope").write_text(f"{level}\n")
            for path in (place, place / "yama"):
                path.chmod(0o755)
            as_user(NOBODY)
            no_tracing()
        with running([program], NOBODY) as p:
            done = recorded(folder, p.pid, before)
            err = done.stderr.decode()
            check.that(done.returncode == 1 and sentence in err and err.count("\n") == 1, f"level {level}: {done.returncode} {err}")
            check.that(not list((folder / "runs").iterdir()), f"level {level}: something was made")
            goes_on(check, f"level {level}", p)
    with running([program], NOBODY) as p:  # no Yama, or level 0: one's own processes
        done = recorded(folder, p.pid, lambda: as_user(NOBODY), "--no-analysis")
        check.that(done.returncode == 0, f"one's own process: {done.returncode} {done.stderr.decode()}")
        goes_on(check, "one's own process", p)


def other_rights(check, folder):
    """A set-user-id program and one that forbids it are not their starter's to look at; root may."""
    open_folder(folder)
    program = compiled(folder, "waits", WAITS)
    other = folder / "other"
    shutil.copy(program, other)
    os.chown(other, SOMEBODY, SOMEBODY)
    other.chmod(0o4755)
    for what, words in (("set-user-id", [other]), ("not dumpable", [program, "x"])):
        for user, code, sentence in ((NOBODY, 1, "has changed its rights"), (0, 0, "")):
            with running(words, NOBODY) as p:
                done = recorded(folder, p.pid, (lambda: as_user(NOBODY)) if user else None, "--no-analysis")
                err = done.stderr.decode()
                check.that(done.returncode == code and sentence in err and (not code or err.count("\n") == 1), f"{what} by {user}: {done.returncode} {err}")
                goes_on(check, what, p)


def other_namespaces(check, folder):
    """A process whose clocks, numbers and mounts are of its own, as in a container: its monotonic clock is a day ahead."""
    program = compiled(folder, "works", WORKS, "-O1")
    words = ["unshare", "--time", "--monotonic", "86400", "--pid", "--mount", "--fork", "--kill-child", program]
    if run([*words[:-1], "true"]).returncode:
        print("  skipped: no namespaces of clocks and processes")
        return
    with running(words) as p:
        check.that(p.said == "ready\n", f"{p.said}")
        done = recorded(folder, pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text().split()[0])
        check.that(done.returncode == 0, f"{done.returncode} {done.stderr.decode()}")
        data = profile(folder / "runs")
        check.that(0.2 < data["meta"]["wall_s"] < 100, f"{data['meta']['wall_s']} s")
        lines = [n for path, f in data["files"].items() if path.endswith("works.c") for n in f["lines"] if n["cpu"]["user"]]
        check.that(lines, "no line of it")
        check.that(p.wait(300) == 9, f"ended with {p.returncode}")


@of_samples
def other_kinds(check, folder):
    """Programs into which nothing can be loaded: static Go, musl, static C."""
    kinds = [("static C", compiled(folder, "works", WORKS, "-O1", "-static"), "works.c")]
    if shutil.which("go"):
        (folder / "work.go").write_text(GO)
        built = run(["go", "build", "-o", folder / "go", folder / "work.go"], env={**os.environ, "CGO_ENABLED": "0", "GOCACHE": str(folder / "cache"), "GOFLAGS": "-mod=mod"})
        check.must(built.returncode == 0, f"go: {built.stderr.decode()}")
        kinds.append(("static Go", folder / "go", "work.go"))
    if shutil.which("musl-gcc"):
        kinds.append(("musl", compiled(folder, "musl", WORKS, "-O1", compiler="musl-gcc"), "musl.c"))
    for i, (what, program, source) in enumerate(kinds):
        out = folder / f"runs{i}"
        with running([program]) as p:
            done = run([TOMOPROF, "record", "--pid", p.pid, "--out", out])
            check.must(done.returncode == 0, f"{what}: {done.returncode} {done.stderr.decode()}")
            check.must(p.wait(300) == 9, f"{what}: ended with {p.returncode}")
        data = profile(out)
        mine = sum(n["cpu"]["user"] or 0 for path, f in data["files"].items() if path.endswith(source) for n in f["lines"])
        all_of_it = data["totals"]["cpu"]["user"] or 0
        check.that(mine > 0.8 * all_of_it > 0, f"{what}: {source} has {mine} of {all_of_it} s")


need_library()
if os.uname().machine != "x86_64":
    print("skipped: running processes are recorded on x86-64 only")
    sys.exit(77)
if os.geteuid():
    print("skipped: other users' processes are root's to make")
    sys.exit(77)
main(levels_of_yama, other_rights, other_namespaces, other_kinds)
