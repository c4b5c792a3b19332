"""Children that live for a millisecond share one file, and nothing of them is missing: each is there with its exit code, its I/O and no
more CPU time than the kernel counted for it; descriptors are those of a bare run; one that is killed is named where it left no data."""

import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, newest, run
from trace_file import EXEC, EXIT, QUICK, RUNNING, traces

ACCOUNT, AT_END, IO_FILE = 20, 2, 22
ROUNDS = 20
PROGRAM = """
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static int open_now(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}
static void child(const char *kind, const char *self)
{
    char *again[] = {(char *)self, "leaf", NULL}, *chain[] = {"sh", "-c", "exec \\"$0\\" leaf", (char *)self, NULL};
    if (!strcmp(kind, "exit")) exit(4);
    if (!strcmp(kind, "quick")) _exit(5);
    if (!strcmp(kind, "exec")) execv(self, again);
    if (!strcmp(kind, "chain")) execv("/bin/sh", chain);
    if (!strcmp(kind, "fails")) { execv("/dev/null", again); execv("/etc/hostname", again); _exit(127); }
    if (!strcmp(kind, "crash")) *(volatile int *)8 = 1;
    if (!strcmp(kind, "killed")) { kill(getpid(), SIGKILL); pause(); }
    if (!strcmp(kind, "files")) {
        char c;
        int fd = open("/proc/self/exe", O_RDONLY);
        for (int i = 0; i < 7; i++) if (read(fd, &c, 1) != 1) _exit(1);
        _exit(open_now());
    }
    _exit(99);
}
int main(int argc, char **argv)
{
    static const char *const kinds[] = {"exit", "quick", "exec", "chain", "fails", "killed", "files", "crash", "spawn"};
    if (argc > 1 && !strcmp(argv[1], "leaf")) return 6;
    for (int round = 0; round < atoi(argv[1]); round++)
        for (int k = 0; k < 9; k++) {
            char *leaf[] = {argv[0], "leaf", NULL};
            struct rusage u;
            int status;
            pid_t p = 0;
            fflush(stdout);
            if (k == 8) posix_spawn(&p, argv[0], NULL, NULL, leaf, environ);
            else if (!(p = fork())) child(kinds[k], argv[0]);
            wait4(p, &status, 0, &u);
            printf("%s %d %d %ld\\n", kinds[k], (int)p, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
                   (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec);
        }
    return 0;
}
"""
ENDS = {  # of a kind's process images, in their order
    "exit": [EXIT], "quick": [QUICK], "exec": [EXEC, EXIT], "chain": [EXEC, EXEC, EXIT], "fails": [QUICK], "files": [QUICK], "crash": [RUNNING], "spawn": [EXIT],
}


def rows(output):
    return [(kind, int(pid), int(code), int(us)) for kind, pid, code, us in map(bytes.split, output.splitlines())]


def account(trace):
    """us of CPU time of its process at its last record"""
    ends = [struct.unpack_from("<QQI", r.tail) for r in trace.of(ACCOUNT)]
    return max((user + system) / 1000 for user, system, at in ends if at == AT_END)


def nothing_of_them_is_missing(check, folder):
    program = compiled(folder, "brief", PROGRAM)
    if not program:
        print("skipped: no compiler")
        return
    bare = run([program, 1], timeout=300)
    done = run(command(folder / "runs", "--", program, ROUNDS), timeout=300)
    check.must(bare.returncode == done.returncode == 0, f"exit {bare.returncode}, {done.returncode}: {done.stderr[-500:]!r}")
    codes = {kind.decode(): code for kind, _, code, _ in rows(bare.stdout)}
    out = newest(folder / "runs")
    files = traces(out / "trace")
    named = list((out / "trace").glob("*.tpt"))
    check.must(not any(t.damage for t in files), f"{[t.damage for t in files if t.damage]}")
    check.that(len(named) < len(files) / 4, f"{len(named)} files of {len(files)} process images")
    made = rows(done.stdout)
    check.must(len(made) == ROUNDS * 9 and len({pid for _, pid, _, _ in made}) == len(made), f"{len(made)} children")
    lost = 0
    for kind, pid, code, us in made:
        kind, images = kind.decode(), [t for t in files if t.pid == pid]
        check.must(code == codes[kind], f"{kind}: exit {code}, bare {codes[kind]}")
        if kind == "killed":
            lost += not images
            continue
        check.must([t.end for t in images] == ENDS[kind], f"{kind}: ended {[t.end for t in images]}")
        if kind == "crash":
            continue
        check.must(images[-1].detail == code, f"{kind}: exit {images[-1].detail} recorded, {code} by wait4")
        check.must(0 < account(images[-1]) <= us + 1, f"{kind}: {account(images[-1])} us, the kernel counted {us}")
        check.must(kind != "files" or images[0].of(IO_FILE), "a file that was read is missing")
    profile = json.loads((out / "profile.json").read_text())
    told = [item for item in profile["quality"]["items"] if item["id"] == "trace.children"]
    check.must(sum(item["count"] for item in told) == lost, f"{lost} left no data, told: {told}")
    ours = {pid: code for _, pid, code, _ in made}
    check.must(len([p for p in profile["processes"] if p["pid"] in ours]) == sum(t.pid in ours for t in files),
               f"{len(profile['processes'])} processes in the profile")


need_library()
main(nothing_of_them_is_missing)
