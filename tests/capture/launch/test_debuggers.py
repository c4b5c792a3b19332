"""Debuggers inside of a recording, and programs that close every descriptor: both go on as if bare."""

import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, newest, of_samples, profile, run
from trace_file import SAMPLE, traces

WORK = """
#include <stdio.h>
#include <time.h>
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
int main(void)
{
    volatile double x = 1;
    while (cpu() < 0.3)
        for (int i = 0; i < 100000; i++)
            x = x * 1.0000001;
    printf("worked %d\\n", x > 0);
    return 7;
}
"""

# Stops at what a debugger stops at: not at the signals that gdb and lldb pass on in silence.
DEBUGGER = """
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    static const int silent[] = {SIGALRM, SIGURG, SIGIO, SIGVTALRM, SIGPROF, SIGCHLD, SIGWINCH, SIGTRAP};
    int status, stops = 0, passed = 0;
    pid_t child = fork();
    if (!child) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[1], argv + 1);
        _exit(126);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        int number = WSTOPSIG(status), known = 0;
        for (unsigned i = 0; i < sizeof silent / sizeof *silent; i++)
            known |= silent[i] == number;
        stops += !known;
        passed += number == SIGPROF;
        ptrace(PTRACE_CONT, child, 0, (void *)(long)(number == SIGTRAP ? 0 : number));
    }
    fprintf(stderr, "%d stops, exit %d, %d samples\\n", stops, WIFEXITED(status) ? WEXITSTATUS(status) : -1, passed);
    return argc > 9;
}
"""


@of_samples
def a_debugger_runs_its_program_to_the_end(check, folder):
    work, debugger = compiled(folder, "work", WORK), compiled(folder, "debugger", DEBUGGER)
    if not work:
        print("  not tested: no C compiler")
        return
    done = run(command(folder / "runs", "--", debugger, work))
    check.must(done.returncode == 0 and done.stdout == b"worked 1\n" and b"0 stops, exit 7," in done.stderr, f"{done}")
    check.that(b" 0 samples" not in done.stderr, f"{done.stderr}")
    lines = [line for name, f in profile(folder / "runs")["files"].items() if name.endswith("work.c") for line in f["lines"]]
    check.that(sum(line["cpu"]["samples"] for line in lines) > 0, "no sample of the debugged program")


# The parent stops at every signal. The child works before exec for as long as its argument says, or never calls it.
BEFORE_EXEC = """
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
int main(int argc, char **argv)
{
    int status, stops = 0, silent = 0;
    for (int k = 0; k < 5; k++) {
        pid_t child = fork();
        if (!child) {
            if (argc > 3 ? syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) : ptrace(PTRACE_TRACEME, 0, 0, 0))
                _exit(125);
            for (double end = cpu() + atof(argv[1]); cpu() < end;)
                ;
            if (argv[2][0])
                execl(argv[2], argv[2], (char *)0);
            _exit(7);
        }
        int execs = 0;
        while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
            int number = WSTOPSIG(status);
            execs += number == SIGTRAP;
            silent += !execs && number == SIGPROF;
            stops += !execs && number != SIGTRAP && number != SIGPROF;
            ptrace(PTRACE_CONT, child, 0, (void *)(long)(number == SIGTRAP ? 0 : number));
        }
        stops += !WIFEXITED(status);
    }
    printf("%d stops, %d silent\\n", stops, silent);
    return 0;
}
"""


def a_tracer_sees_no_signal_before_exec(check, folder):
    """30 ms of CPU time between PTRACE_TRACEME and exec, of which a sampler at 1000 Hz takes 30 samples."""
    program = compiled(folder, "before_exec", BEFORE_EXEC)
    if not program:
        print("  not tested: no C compiler")
        return
    for how in ([], ["call"]):
        words = command(folder / "runs", "--no-analysis", "--rate", "1000", "--", program, "0.03", "/bin/true", *how)
        done = run(words)
        check.that(done.returncode == 0 and done.stdout == b"0 stops, 0 silent\n", f"{how}: {done}")
    done = run(command(folder / "runs", "--no-analysis", "--", program, "0.4", ""))
    check.that(done.stdout.startswith(b"0 stops, ") and b" 0 silent" not in done.stdout, f"without exec: {done}")


def gdb_runs_its_program_to_the_end(check, folder):
    work = compiled(folder, "work", WORK)
    if not work or not shutil.which("gdb"):
        print("  not tested: no C compiler, or gdb is not installed")
        return
    for commands in (["run"], ["break main", "run", "backtrace", "continue"]):
        words = [w for c in commands for w in ("-ex", c)]
        done = run(command(folder / "runs", "--no-analysis", "--", "gdb", "-nx", "-q", "-batch", *words, work))
        check.that(b"worked 1" in done.stdout and b"exited with code 07" in done.stdout, f"{commands}: {done.stdout[-600:]}")
        check.that(b"received signal" not in done.stdout, f"{commands}: {done.stdout[-600:]}")


CLOSES = """
import os, resource, sys, threading, time
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]),) * 2)
os.closerange(3, 4096)
def work():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        bytearray(200000)
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
names = sorted(int(n) for n in os.listdir('/proc/self/fd'))
print([n for n in names if n < 200][:-1], os.open('/dev/null', os.O_RDONLY), os.pipe())
"""


@of_samples
def descriptors_are_the_programs(check, folder):
    """Also where its limit is so low that no number is out of its way."""
    for limit in (1024, 300, 64):
        program = [sys.executable, "-c", CLOSES, str(limit)]
        bare, done = run(program), run(command(folder / "runs", "--no-analysis", "--", *program))
        check.must(bare.returncode == 0 and bare.stdout == done.stdout, f"limit {limit}: {done.stdout} {done.stderr}, bare {bare.stdout}")
        (trace,) = traces(newest(folder / "runs") / "trace")
        samples = [r for r in trace.records if r.kind == SAMPLE]
        check.that(len({s.tid for s in samples}) >= 4, f"limit {limit}: {len(samples)} samples of {len({s.tid for s in samples})} threads")
        check.must(trace.lost["records"] == 0, f"limit {limit}: {trace.lost}")


if __name__ == "__main__":
    need_library()
    main(a_debugger_runs_its_program_to_the_end, a_tracer_sees_no_signal_before_exec, gdb_runs_its_program_to_the_end, descriptors_are_the_programs)
