"""Handlers of timers that come again and again, which keep step with the kernel's ticks: their share by the program's own clock."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, of_samples, profile, run

SOURCE = """#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static volatile double sink, handled;
static volatile int jumps, in_step;
static sigjmp_buf start_over;
__attribute__((noinline)) static void burn(double seconds)
{
    double end = now() + seconds;
    while (now() < end)
        for (int i = 0; i < 1000; i++) sink = sink + 1.0 / (i + 1);
}
static void handler(int n)
{
    double begin = now();
    (void)n;
    burn(0.0018); /* handler */
    handled += now() - begin;
    if (!jumps || !in_step) return;
    in_step = 0; /* a signal that waits comes within the jump, still on this stack: without end where the machine is busy */
    siglongjmp(start_over, 1);
}
int main(int argc, char **argv)
{
    const char *kind = argv[1];
    jumps = argc > 2 && !strcmp(argv[2], "jumps");
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct itimerval every = {{0, 10000}, {0, 10000}}, never = {0};
    struct itimerspec each = {{0, 10000000}, {0, 10000000}}, none = {0};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    int which = !strcmp(kind, "real") ? ITIMER_REAL : !strcmp(kind, "virtual") ? ITIMER_VIRTUAL : ITIMER_PROF;
    int number = which == ITIMER_REAL ? SIGALRM : which == ITIMER_VIRTUAL ? SIGVTALRM : SIGPROF, made = !strncmp(kind, "made", 4);
    timer_t timer;
    sigaltstack(&stack, NULL);
    if (argc > 2 && !strcmp(argv[2], "masked")) sigfillset(&act.sa_mask);
    sigdelset(&act.sa_mask, SIGKILL); /* as the kernel does */
    sigdelset(&act.sa_mask, SIGSTOP);
    sigaction(made ? SIGUSR1 : number, &act, NULL);
    if (made && timer_create(!strcmp(kind, "made-cpu") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &event, &timer)) return 1;
    double begin = now();
    if (made) timer_settime(timer, 0, &each, NULL);
    else setitimer(which, &every, NULL);
    sigsetjmp(start_over, 1);
    in_step = 1;
    while (now() < begin + 1.2)
        for (int i = 0; i < 1000; i++) sink = sink + 1.0 / (i + 1); /* main */
    in_step = 0;
    if (made) timer_settime(timer, 0, &none, NULL);
    else setitimer(which, &never, NULL);
    struct sigaction was;
    sigaction(made ? SIGUSR1 : number, NULL, &was);
    printf("[%g, %g, %d]\\n", handled, now() - begin, memcmp(&was.sa_mask, &act.sa_mask, 8));
    return 0;
}
"""
LINES = SOURCE.splitlines()


def share(check, folder, program, *words):
    done = run(command(folder / "runs", "--rate", "1000", "--", program, *words))
    check.must(done.returncode == 0, f"{words}: exit {done.returncode}: {done.stderr.decode()}")
    handled, total, mask = json.loads(done.stdout)
    check.must(mask == 0, f"{words}: the program reads another mask of its handler than it set")
    data = profile(folder / "runs")
    lines = {line["line"]: line["cpu_incl"] for path, file in data["files"].items() if path.split("/")[-1] == "handlers.c" for line in file["lines"]}
    cost = lines.get(next(i for i, text in enumerate(LINES, 1) if "/* handler */" in text), {"user": 0, "sys": 0})
    found, truth = 100 * (cost["user"] + cost["sys"]) / total, 100 * handled / total
    # some 1,000 samples, of which a sixth are in handlers: 1.2 points are their standard error
    check.that(abs(found - truth) <= 4, f"{words}: {found:.1f} % of the CPU time in handlers, truth {truth:.1f} %")


def handlers(kind):
    @of_samples
    def test(check, folder):
        program = compiled(folder, "handlers", SOURCE, "-O1")
        for way in ((), ("masked",), ("jumps",)):
            share(check, folder, program, kind, *way)

    test.__name__ = kind.replace("-", "_")
    return test


need_library()
main(*map(handlers, ("virtual", "prof", "real", "made", "made-cpu")))
