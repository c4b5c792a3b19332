/* Checks if a process may be traced; if not, one sentence gives the reason and the remedy. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/capture/raw/system.h"
#include "profiler/outside/outside.h"
#include "profiler/outside/process.h"

#define CAPABILITY 19 /* CAP_SYS_PTRACE */

/* A number of /proc/PID/status behind `key`, in `base`; -1: it is not there. */
static long status_of(pid_t pid, const char *key, int base)
{
    char text[4096];
    process_read(pid, 0, "status", text, sizeof text);
    const char *at = strstr(text, key);
    return at ? strtol(at + strlen(key), NULL, base) : -1;
}

static int may_trace_all(void)
{
    long capabilities = status_of(getpid(), "\nCapEff:", 16);
    return capabilities >= 0 && capabilities >> CAPABILITY & 1;
}

/* Reads Yama's ptrace scope; -1: the kernel has none. */
static int check_yama_scope(void)
{
    char text[16];
    return raw_read_file("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text)
               ? (int)strtol(text, NULL, 10)
               : -1;
}

static enum err check_refused(pid_t pid, int why)
{
    long tracer = status_of(pid, "\nTracerPid:", 10), user = status_of(pid, "\nUid:", 10);
    int allowed = may_trace_all(), yama = check_yama_scope();
    if (tracer > 0)
        return FAIL(ERR_UNSUPPORTED,
                    "process %d is traced by process %ld (a debugger or strace) already: end that "
                    "first",
                    (int)pid, tracer);
    if (why == EPERM && geteuid() == 0 && !allowed)
        return FAIL(ERR_UNSUPPORTED,
                    "process %d: this container has no permission to trace: start it by "
                    "`docker run --cap-add=SYS_PTRACE`, or run tomoprof on the host",
                    (int)pid);
    if (why == EPERM && user >= 0 && (uid_t)user != geteuid() && !allowed)
        return FAIL(ERR_UNSUPPORTED,
                    "process %d belongs to another user (uid %ld): run tomoprof as that user, or "
                    "with sudo",
                    (int)pid, user);
    if (why == EPERM && yama == 3)
        return FAIL(
            ERR_UNSUPPORTED,
            "process %d: this machine forbids tracing until it is started again (kernel.yama."
            "ptrace_scope is 3): use `tomoprof record PROGRAM`, which needs no tracing",
            (int)pid);
    if (why == EPERM && yama > 0 && !allowed)
        return FAIL(ERR_UNSUPPORTED,
                    "process %d: this machine allows to trace own children only (kernel.yama."
                    "ptrace_scope is %d): use sudo, or `sudo sysctl kernel.yama.ptrace_scope=0`",
                    (int)pid, yama);
    return FAIL(ERR_UNSUPPORTED,
                "process %d cannot be traced (%s): it has changed its rights, or a security policy "
                "forbids it; try sudo, or `tomoprof record PROGRAM`",
                (int)pid, strerror(why));
}

enum err outside_check(pid_t pid)
{
    struct process_stat st;
    char text[64];
#ifndef __x86_64__
    return FAIL(ERR_UNSUPPORTED, "`pid`: running processes can be recorded on x86-64 only; use "
                                 "`tomoprof record PROGRAM`");
#endif
    FAIL_IF(!process_stat(pid, 0, &st), ERR_INPUT,
            "`pid=%d`: no process has this number; `ps -e` lists those that run", (int)pid);
    FAIL_IF(pid == getpid(), ERR_INPUT, "`pid=%d`: this is tomoprof itself", (int)pid);
    FAIL_IF(st.state == 'Z' || st.state == 'X', ERR_INPUT, "`pid=%d`: this process has ended",
            (int)pid);
    FAIL_IF(status_of(pid, "\nTgid:", 10) != pid, ERR_INPUT,
            "`pid=%d`: this is a thread of process %ld; give that number", (int)pid,
            status_of(pid, "\nTgid:", 10));
    int why = stop_errno(pid);
    if (why == ESRCH)
        return FAIL(ERR_INPUT, "`pid=%d`: this process has ended", (int)pid);
    if (why)
        return check_refused(pid, why);
    FAIL_IF(!process_read(pid, 0, "maps", text, sizeof text), ERR_INPUT,
            "`pid=%d`: this is a part of the kernel, not a program", (int)pid);
    return ERR_OK;
}
