/* Names what a thread waits for, by its state and its system call. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "profiler/outside/outside.h"
#include "profiler/outside/process.h"

/* System calls that wait; descriptor 1: their first argument is one. */
static const struct call_row {
    long number;
    const char *name, *what;
    int descriptor;
} call_rows[] = {
    {SYS_read, "read", "input", 1},
    {SYS_readv, "readv", "input", 1},
    {SYS_pread64, "pread64", "input", 1},
    {SYS_recvfrom, "recvfrom", "data", 1},
    {SYS_recvmsg, "recvmsg", "data", 1},
    {SYS_write, "write", "room for output", 1},
    {SYS_writev, "writev", "room for output", 1},
    {SYS_pwrite64, "pwrite64", "room for output", 1},
    {SYS_sendto, "sendto", "room for data", 1},
    {SYS_sendmsg, "sendmsg", "room for data", 1},
    {SYS_accept, "accept", "a connection", 1},
    {SYS_accept4, "accept4", "a connection", 1},
    {SYS_connect, "connect", "a connection", 1},
    {SYS_fsync, "fsync", "the disk", 1},
    {SYS_fdatasync, "fdatasync", "the disk", 1},
    {SYS_ioctl, "ioctl", "a device", 1},
    {SYS_flock, "flock", "a lock of a file", 1},
    {SYS_epoll_pwait, "epoll_pwait", "events", 1},
    {SYS_ppoll, "ppoll", "events", 0},
    {SYS_pselect6, "pselect6", "events", 0},
#ifdef SYS_poll
    {SYS_poll, "poll", "events", 0},
    {SYS_select, "select", "events", 0},
    {SYS_epoll_wait, "epoll_wait", "events", 1},
    {SYS_pause, "pause", "a signal", 0},
#endif
    {SYS_io_getevents, "io_getevents", "events", 0},
    {SYS_futex, "futex", "a lock, a condition or another thread", 0},
    {SYS_nanosleep, "nanosleep", "a time to pass", 0},
    {SYS_clock_nanosleep, "clock_nanosleep", "a time to pass", 0},
    {SYS_restart_syscall, "restart_syscall", "a time to pass", 0},
    {SYS_wait4, "wait4", "a child process", 0},
    {SYS_waitid, "waitid", "a child process", 0},
    {SYS_rt_sigsuspend, "rt_sigsuspend", "a signal", 0},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait", "a signal", 0},
};

/* Appends what a descriptor of the process is. */
static void waits_descriptor(pid_t pid, unsigned long number, char out[OUTSIDE_STATE])
{
    char name[40], path[PROCESS_PATH], target[PATH_MAX];
    snprintf(name, sizeof name, "fd/%lu", number & 0xFFFFFFFF);
    process_path(path, pid, name);
    const ssize_t n = readlink(path, target, sizeof target - 1);
    text_append(out, OUTSIDE_STATE, " of descriptor %lu", number & 0xFFFFFFFF);
    if (n > 0)
        text_append(out, OUTSIDE_STATE, ", %.*s", n > 150 ? 150 : (int)n, target);
}

static void waits_call(pid_t pid, pid_t tid, char out[OUTSIDE_STATE])
{
    char text[256];
    long number;
    unsigned long first;
    if (!process_read(pid, tid, "syscall", text, sizeof text) ||
        sscanf(text, "%ld 0x%lx", &number, &first) != 2)
        return;
    for (size_t i = 0; i < sizeof call_rows / sizeof *call_rows; i++) {
        const struct call_row *row = &call_rows[i];
        if (row->number != number)
            continue;
        text_append(out, OUTSIDE_STATE, " for %s (%s", row->what, row->name);
        if (row->descriptor)
            waits_descriptor(pid, first, out);
        text_append(out, OUTSIDE_STATE, ")");
        return;
    }
    if (number >= 0)
        text_append(out, OUTSIDE_STATE, " in system call %ld", number);
}

int outside_state(pid_t pid, pid_t tid, char out[OUTSIDE_STATE])
{
    static const struct {
        char state;
        const char *text;
    } states[] = {{'R', "runs, or is ready to"},
                  {'S', "waits"},
                  {'D', "waits, and cannot be interrupted,"},
                  {'T', "is stopped by a signal"},
                  {'t', "is stopped by a debugger"},
                  {'Z', "has ended"}};
    struct process_stat st;
    *out = 0;
    if (!process_stat(pid, tid, &st))
        return 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (states[i].state == st.state)
            text_append(out, OUTSIDE_STATE, "%s", states[i].text);
    if (!*out)
        text_append(out, OUTSIDE_STATE, "is in state %c", st.state);
    if (st.state == 'S' || st.state == 'D')
        waits_call(pid, tid, out);
    return 1;
}
