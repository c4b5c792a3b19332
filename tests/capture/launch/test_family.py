"""Short processes are asleep until something of them is to be recorded: their number and CPU time are those that the kernel counts, and
one that lives on wakes as if it had been recorded from its start: with samples, whole sleeps, its own mask of signals, its own files."""

import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, newest, run
from trace_file import SAMPLE, traces

ACCOUNT, AT_END, IO_FILE, IO_KERNEL = 20, 2, 22, 27
ROUNDS = 60
PROGRAM = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void burn(double s) { for (double end = cpu() + s; cpu() < end;) ; }
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
/* The first call is interrupted, if any: each in a process of its own. */
static int sleeps(int how)
{
    struct timespec t = {0, 150000000};
    struct timeval v = {0, 150000};
    struct epoll_event event;
    double begin = now();
    int r = how == 0 ? nanosleep(&t, NULL) : how == 1 ? poll(NULL, 0, 150) : how == 2 ? select(0, NULL, NULL, NULL, &v)
          : how == 3 ? usleep(150000) : epoll_wait(epoll_create1(0), &event, 1, 150);
    return r == 0 && now() - begin >= 0.149 ? 0 : 20 + how;
}
static void *other(void *unused) { burn(0.3); return unused; }
static int leaf(const char *what)
{
    if (!strcmp(what, "short")) burn(0.002);
    if (!strcmp(what, "long")) burn(0.3);
    if (!strncmp(what, "sleep", 5)) return sleeps(what[5] - '0');
    if (!strcmp(what, "blocked")) {
        sigset_t all, old, pending;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        burn(0.3);
        sigprocmask(SIG_BLOCK, NULL, &old);
        sigpending(&pending);
        for (int s = 1; s < 32; s++)
            if (s != SIGKILL && s != SIGSTOP && (!sigismember(&old, s) || sigismember(&pending, s))) return s + 30;
    }
    if (!strcmp(what, "thread")) {
        pthread_t t;
        pthread_create(&t, NULL, other, NULL);
        pthread_join(t, NULL);
    }
    if (!strcmp(what, "files")) {
        char c;
        int fd = open("/proc/self/exe", O_RDONLY), to = dup2(fd, 77);
        close(fd);
        for (int i = 0; i < 7; i++) if (read(to, &c, 1) != 1) return 9;
    }
    return 0;
}
int main(int argc, char **argv)
{
    static const char *const kinds[] = {"short", "long", "blocked", "thread", "files", "sleep0", "sleep1", "sleep2", "sleep3", "sleep4"};
    if (argc > 2) return leaf(argv[2]);
    for (int round = 0; round < atoi(argv[1]) * 2 + 18; round++) {
        int is_short = round >= 18, way = round % 2;
        const char *kind = is_short ? "short" : kinds[1 + round / 2];
        char *words[] = {argv[0], "0", (char *)kind, NULL};
        struct rusage u;
        int status;
        pid_t p = 0;
        fflush(stdout);
        if (way) posix_spawn(&p, argv[0], NULL, NULL, words, environ);
        else if (!(p = fork())) _exit(leaf(kind));
        wait4(p, &status, 0, &u);
        printf("%s %d %d %ld\\n", kind, (int)p, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
               (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    }
    return 0;
}
"""
OWN_MALLOC = """
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { ROOM = 4 << 20 };
static volatile char held;
static size_t used = ROOM;
static char *room;
void *malloc(size_t n)
{
    while (__atomic_test_and_set(&held, __ATOMIC_ACQUIRE)) ;
    if (used + n > ROOM) {
        room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        used = 0;
    }
    char *at = room + used;
    used = (used + n + 15) / 16 * 16;
    for (volatile int i = 0; i < 20000; i++) ;
    __atomic_clear(&held, __ATOMIC_RELEASE);
    return at;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t each) { return memset(malloc(n * each), 0, n * each); }
void *realloc(void *p, size_t n) { void *to = malloc(n); return p ? memcpy(to, p, n) : to; }
int main(int argc, char **argv)
{
    if (argc < 2) {
        for (int i = 0, status; i < 12; i++) {
            pid_t p = fork();
            if (!p) { execl(argv[0], argv[0], "leaf", NULL); _exit(9); }
            if (wait(&status) != p || status) return 8;
        }
        return 0;
    }
    while (clock() < CLOCKS_PER_SEC / 10) if (!malloc(16)) return 7;
    return 0;
}
"""
SHELL = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); /bin/true; done"
PYTHON = "import subprocess, sys\nfor _ in range(40): subprocess.run(['/bin/true'], check=True)"


def account(trace):
    """us of CPU time of its process at its last record"""
    return max((user + system) / 1000 for user, system, at in (struct.unpack_from("<QQI", r.tail) for r in trace.of(ACCOUNT)) if at == AT_END)


def told(data):
    return next((item for item in data["quality"]["items"] if item["id"] == "short.processes"), {"count": 0, "text": ""})


def one_of_each_kind(check, folder):
    program = compiled(folder, "family", PROGRAM, "-pthread")
    if not program:
        print("skipped: no compiler")
        return
    done = run(command(folder / "runs", "--", program, ROUNDS), timeout=300)
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-500:]!r}")
    out = newest(folder / "runs")
    data = json.loads((out / "profile.json").read_text())
    files, made = traces(out / "trace"), [line.split() for line in done.stdout.decode().splitlines()]
    check.must(len(made) == 18 + 2 * ROUNDS and not any(t.damage for t in files), f"{len(made)} children")
    few, all_us = 0, 0
    for kind, pid, code, us in made:
        mine = [t for t in files if t.pid == int(pid)]
        check.must(code == "0" and len(mine) == 1, f"{kind}: exit {code}, {len(mine)} traces")
        used = account(mine[0])
        row = [p for p in data["processes"] if p["pid"] == int(pid)]
        check.must(len(row) == 1 and row[0]["program"].endswith("/family"), f"{kind}: {row}")
        sampled = mine[0].of(SAMPLE)
        check.that(sampled or abs(1e6 * row[0]["cpu_s"] - used) < 2, f"{kind}: {row[0]['cpu_s']} s in the profile, {used} us at its end")
        least = {"short": 2000, "long": 300000, "blocked": 300000, "thread": 300000}.get(kind, 0)
        check.that(least <= used <= int(us) + 1, f"{kind}: {used} us, at least {least} by its own clock, {us} by the kernel's")
        few += used < 10000
        all_us += used if used < 10000 else 0
        if least >= 300000:
            check.that(mine[0].of(SAMPLE), f"{kind}: no sample in 0.3 s of CPU time")
        if kind == "files":
            check.that(mine[0].of(IO_FILE), "a file that was read is missing")
    item = told(data)
    check.that(item["count"] == few and f"{1e-6 * all_us:.3g} s together" in item["text"], f"{few} short ones, {all_us} us: {item}")


def in_all(check, folder, n, *words):
    """n processes or more; together at most what the kernel counted for the run"""
    done = run(command(folder / "runs", "--", *words), timeout=300)
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-500:]!r}")
    out = newest(folder / "runs")
    data, end = json.loads((out / "profile.json").read_text()), json.loads((out / "record.json").read_text())["end"]
    last = {}
    for t in sorted(traces(out / "trace"), key=lambda t: t.start):
        last[t.pid] = account(t)
    used, kernel = 1e-6 * sum(last.values()), end["user_s"] + end["system_s"]
    print(f"  {words[0]}: {len(last)} processes, {used:.3f} s; the kernel counted {kernel:.3f} s; {told(data)['text']}")
    check.that(len(last) >= n and told(data)["count"] >= n - 1, f"{len(last)} processes of {n}, told {told(data)}")
    check.that(used <= kernel + 1e-6 * len(last), f"{used} s of {kernel} s")
    wall, waited = data["meta"]["wall_s"], data["totals"]["path_ready_s"]
    check.that(waited <= max(0, wall - used) + 0.1 * wall, f"said to wait {waited} s for a CPU, in {wall} s of which {used} s were computed")
    few = data["totals"]["cpu"]["samples"] < 20 and told(data)["text"]
    named = data["headline"] == few or re.search(r"waits for `true` \(\d+ processes", data["headline"])  # beside others they take long
    check.that(not few or named, f"few samples, and the short processes are not the answer: {data['headline']}")


def loops_of_shell_and_python(check, folder):
    in_all(check, folder / "sh", 301, "sh", "-c", SHELL)
    in_all(check, folder / "python", 41, sys.executable, "-c", PYTHON)


def the_program_with_most_time_is_told_first(check, folder):
    words = ["sh", "-c", "echo 1 | sort | tr 1 2 | tail -1; i=0; while [ $i -lt 60 ]; do i=$((i+1)); /bin/true; done"]
    done = run(command(folder / "runs", "--", *words), timeout=100)
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-300:]!r}")
    text = told(json.loads((newest(folder / "runs") / "profile.json").read_text()))["text"]
    check.that(" together: 60 of true, 1 of " in text, text)


def what_only_allocates_sleeps_on(check, folder):
    """One in some 100 of these allocates what is recorded; a process that is awake says what the kernel counted of its input and output."""
    done = run(command(folder / "runs", "--", "sh", "-c", "i=0; while [ $i -lt 40 ]; do i=$((i+1)); sh -c :; done"), timeout=100)
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-300:]!r}")
    files = traces(newest(folder / "runs") / "trace")
    awake = sum(bool(t.of(IO_KERNEL)) for t in files)
    check.that(len(files) >= 41 and 1 <= awake <= 10, f"{awake} of {len(files)} processes are awake")


def what_reads_and_writes_little_sleeps_on(check, folder):
    """Nothing of it is missing: calls and bytes of all processes are those that the loop makes."""
    words = ["sh", "-c", f"i=0; while [ $i -lt {ROUNDS} ]; do i=$((i+1)); echo $i | tr 1 2; done"]
    bare, done = run(words, timeout=100), run(command(folder / "runs", "--", *words), timeout=100)
    check.must((done.returncode, done.stdout) == (bare.returncode, bare.stdout), f"exit {done.returncode}: {done.stderr[-300:]!r}")
    out = newest(folder / "runs")
    files, io = traces(out / "trace"), json.loads((out / "profile.json").read_text())["io"]
    pipes = [row for row in io["files"] if row["kind"] == "pipe"]
    awake = sum(bool(t.of(IO_KERNEL)) for t in files)
    print(f"  {awake} of {len(files)} processes are awake: {[(r['path'], r['read'], r['write']) for r in pipes]}")
    check.must(len(pipes) == 1, f"{[(r['path'], r['kind']) for r in io['files']]}")
    mb = len(bare.stdout) / 1048576
    read, write = pipes[0]["read"], pipes[0]["write"]
    check.that((read["calls"], write["calls"]) == (2 * ROUNDS, 2 * ROUNDS), f"{read['calls']} reads, {write['calls']} writes of {2 * ROUNDS} each")
    check.that(abs(read["mb"] - mb) < 1e-7 and abs(write["mb"] - 2 * mb) < 1e-7, f"{read['mb']} MiB read of {mb}, {write['mb']} written of {2 * mb}")
    check.that(len(files) >= 3 * ROUNDS and awake <= len(files) / 2, f"{awake} of {len(files)} processes are awake")


def an_allocator_of_its_own_holds_its_lock(check, folder):
    program = compiled(folder, "allocates", OWN_MALLOC, "-O1", "-fno-builtin")
    if not program:
        print("skipped: no compiler")
        return
    done = run(command(folder / "runs", "--", program), timeout=100)
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-300:]!r}")
    check.that(any(t.of(SAMPLE) for t in traces(newest(folder / "runs") / "trace")[1:]), "no sample of the child")


def git_in_one_process_and_more(check, folder):
    if not shutil.which("git"):
        print("skipped: no git")
        return
    made = "git init -q . && seq 400 > a && git add . && git -c user.name=x -c user.email=x@x commit -qm a && git gc -q"
    folder.mkdir(exist_ok=True)
    subprocess.run(["sh", "-c", made], cwd=folder, check=True)
    bare = subprocess.run(["git", "-C", folder, "log", "--stat", "--no-color"], capture_output=True, check=True)
    done = run(command(folder / "runs", "--", "git", "-C", folder, "log", "--stat", "--no-color"))
    check.that((done.returncode, done.stdout) == (0, bare.stdout), "git log differs")


need_library()
main(one_of_each_kind, the_program_with_most_time_is_told_first, what_only_allocates_sleeps_on, what_reads_and_writes_little_sleeps_on, an_allocator_of_its_own_holds_its_lock, loops_of_shell_and_python, git_in_one_process_and_more)
