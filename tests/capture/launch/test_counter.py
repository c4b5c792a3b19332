"""Programs that may not read the processor's counter (PR_SET_TSC), as the clock of the kernel's page does: they end as bare, and are sampled.

A program that such a process executes ends bare too: the loader of glibc reads the counter."""

import pathlib
import platform
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, newest, run
from trace_file import SAMPLE, traces

PROGRAM = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile double s;
static void *work(void *rounds) /* does what is recorded: CPU time, files, memory, locks, sleeps */
{
    for (long k = 0; k < (long)rounds; k++) {
        pthread_mutex_lock(&lock);
        for (long i = 0; i < 2000000; i++) s = s + 1.0 / (i + 1);
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < 200; i++) {
            char c;
            int f = open("/dev/null", O_RDWR);
            if (read(f, &c, 1) < 0 || write(f, &c, 1) < 0) abort();
            close(f);
            free(malloc(3 << 20));
        }
        usleep(2000);
    }
    return NULL;
}
static int forbid(const char *how)
{
    long r = -1;
    if (!strcmp(how, "prctl"))
        r = prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    if (!strcmp(how, "call"))
        r = syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
#ifdef __x86_64__
    if (!strcmp(how, "instruction"))
        __asm__ volatile("syscall" : "=a"(r) : "a"(SYS_prctl), "D"(PR_SET_TSC), "S"(PR_TSC_SIGSEGV), "d"(0) : "rcx", "r11", "memory");
#endif
    return (int)r;
}
int main(int argc, char **argv)
{
    pthread_t t;
    work((void *)30); /* long enough to learn how fast the counter counts */
    if (forbid(argv[1])) {
        puts("refused");
        return 0;
    }
    if (!strcmp(argv[1], "instruction")) /* the next sample notices */
        for (long i = 0; i < 30000000; i++) s = s + 1.0 / (i + 1);
    pthread_create(&t, NULL, work, (void *)10);
    work((void *)10);
    pthread_join(t, NULL);
    pid_t child = fork();
    if (!child) {
        work((void *)3);
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
    work((void *)3);
    printf("done %d\\n", status);
    return 3;
}
"""


def a_program_without_the_counter_goes_on(check, folder):
    program = compiled(folder, "counter", PROGRAM, "-O1", "-pthread")
    if not program:
        print("  not tested: no C compiler")
        return
    for how in ("prctl", "call") + (("instruction",) if platform.machine() == "x86_64" else ()):
        bare = run([program, how])
        if bare.stdout == b"refused\n":
            print("  skipped: this kernel cannot forbid the counter")
            return
        done = run(command(folder / how, "--no-analysis", "--rate", "1000", "--", program, how))
        check.must((bare.returncode, bare.stdout) == (3, b"done 0\n"), f"{how}, bare: {bare}")
        check.must((done.returncode, done.stdout) == (3, b"done 0\n"), f"{how}: {done}")
        files = traces(newest(folder / how) / "trace")
        check.that(len(files) == 2 and all(f.of(SAMPLE) for f in files), f"{how}: {[(f.pid, len(f.of(SAMPLE))) for f in files]}")


need_library()
main(a_program_without_the_counter_goes_on)
