#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/wait/thread_poll.h"

static pid_t pid;
static int ended;     /* 1: one thread is at it or has done it */
static int exit_code; /* as quick_exit got it */

int process_is_ours(void)
{
    return getpid() == pid;
}

static void put_process(struct capture_thread *t, enum trace_process_op op, pid_t child,
                        const char *path)
{
    size_t n = path ? strnlen(path, 4096) : 0;
    struct trace_process r = {.r.kind = TRACE_PROCESS,
                              .child = child,
                              .op = op,
                              .tid = t->tid,
                              .path_bytes = (uint32_t)n};
    trace_put(&t->stream, &r.r, sizeof r, path, n);
}

/* The last records of all threads; those that still run can write after it. `quiet`: our own can
 * not. */
static void seal(enum trace_end end, int detail, const char *path, int quiet)
{
    struct capture_thread *t = capture_enter();
    if (t) {
        parts_stop();
        facts_clock(t);
        if (end == TRACE_EXEC)
            put_process(t, TRACE_EXECED, pid, path);
        for (struct slot *s = thread_first(); s; s = s->next)
            if (s->used && s->t.tid) {
                if (quiet)
                    look_last(t, s);
                thread_put_end(t, s);
            }
    }
    trace_finish(&capture.writer, end, detail);
    if (t)
        capture_leave(t, TRACE_PART_WRITER, 0);
}

static void finish(enum trace_end end, int detail)
{
    if (!capture.on || !process_is_ours() || __atomic_exchange_n(&ended, 1, __ATOMIC_ACQUIRE))
        return;
    int quiet = wait_quiet();
    seal(end, detail, NULL, quiet);
    capture.on = 0;
    for (struct slot *s = thread_first(); s; s = s->next)
        if (s->used && (s == thread_self() || (s->t.ours && quiet)))
            trace_stream_close(&s->t.stream);
}

/* Preloaded, the library registers this before anything else does, so it comes last of all. */
static void on_exit_code(int status, void *unused)
{
    (void)unused;
    finish(TRACE_EXIT, status);
}

static void on_quick_exit(void)
{
    finish(TRACE_QUICK, exit_code);
}

/* Fork. Our own thread is kept out of libc, whose locks it would hold for ever in the child; the
 * signal is blocked, because a fork that takes longer than a period would start over and over. */
static __thread struct capture_thread *forking;

static void before_fork(void)
{
    if (!capture.on)
        return;
    int saved = errno;
    signals_hold(1);
    wait_step_aside();
    wait_hold(1);
    forking = capture_enter();
    parts_fork(0);
    errno = saved;
}

static void in_parent(void)
{
    if (!capture.on)
        return;
    int saved = errno;
    parts_fork(1);
    if (forking)
        capture_leave(forking, TRACE_PART_WRITER, 0);
    wait_hold(0);
    wait_return();
    signals_hold(0);
    errno = saved;
}

static void in_child(void)
{
    if (!capture.on)
        return;
    int saved = errno;
    uint32_t others = thread_count() - 1;
    pid = getpid();
    wait_forked(others);
    struct slot *s = thread_fork_child();
    trace_abandon(&capture.writer);
    if (start_trace()) {
        capture.on = 0;
    } else if (s) {
        trace_stream_open(&s->t.stream, &capture.writer, s->t.tid);
        thread_name(&s->t, s, s->name);
        facts_write(&s->t);
        facts_clock(&s->t);
        parts_fork(2);
    }
    if (s)
        s->t.busy = 0;
    wait_hold(0);
    signals_hold(0);
    wait_begin_child();
    errno = saved;
}

CAPTURE_API pid_t fork(void)
{
    static void *next;
    pid_t child = ((pid_t(*)(void))raw_next(&next, "fork"))();
    struct capture_thread *t = child > 0 ? capture_enter() : NULL;
    if (t) {
        put_process(t, TRACE_FORKED, child, NULL);
        capture_leave(t, TRACE_PART_WRITER, 0);
    }
    return child;
}

typedef int (*spawn_fn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const[], char *const[]);

static int spawn(void **next, const char *name, pid_t *child, const char *path,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                 char *const argv[], char *const envp[])
{
    pid_t unnamed;
    child = child ? child : &unnamed;
    int failed = ((spawn_fn)raw_next(next, name))(child, path, actions, attr, argv, envp);
    struct capture_thread *t = failed ? NULL : capture_enter();
    if (t) {
        put_process(t, TRACE_SPAWNED, *child, path);
        capture_leave(t, TRACE_PART_WRITER, 0);
    }
    return failed;
}

CAPTURE_API int posix_spawn(pid_t *child, const char *path,
                            const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    static void *next;
    return spawn(&next, "posix_spawn", child, path, actions, attr, argv, envp);
}

CAPTURE_API int posix_spawnp(pid_t *child, const char *file,
                             const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    static void *next;
    return spawn(&next, "posix_spawnp", child, file, actions, attr, argv, envp);
}

CAPTURE_API void _exit(int status)
{
    finish(TRACE_QUICK, status);
    for (;;)
        syscall(SYS_exit_group, status);
}

CAPTURE_API void _Exit(int status)
{
    _exit(status);
}

CAPTURE_API void quick_exit(int status)
{
    static void *next;
    exit_code = status;
    ((void (*)(int))raw_next(&next, "quick_exit"))(status);
    __builtin_unreachable();
}

/* The kernel refuses some of these to a process with more than one thread: ours steps aside. */
static int alone(void **next, const char *name, int a, int b)
{
    int stepped = capture.on && process_is_ours() && thread_count() == 1 && wait_stop();
    int r = ((int (*)(int, int))raw_next(next, name))(a, b), saved = errno;
    if (stepped)
        wait_begin();
    errno = saved;
    return r;
}

CAPTURE_API int unshare(int flags)
{
    static void *next;
    return alone(&next, "unshare", flags, 0);
}

CAPTURE_API int setns(int fd, int type)
{
    static void *next;
    return alone(&next, "setns", fd, type);
}

/* A child of vfork, in its parent's memory and as the thread that made it. One that has a copy of
 * that memory finds the trace switched off. */
static int borrowed(enum trace_process_op op, const char *path)
{
    struct capture_thread *t = capture_enter_handler();
    if (!t)
        return 0;
    put_process(t, op, getpid(), path);
    capture_leave(t, TRACE_PART_WRITER, 0);
    return 1;
}

enum { STAYED, LEFT, LEFT_BORROWED };

int process_leave(const char *path)
{
    int saved = errno, left = STAYED;
    if (!capture.on)
        return STAYED;
    if (path && strchr(path, '/') && access(path, X_OK)) {
        /* it will fail: programs try one folder after the other */
    } else if (!process_is_ours()) {
        left = borrowed(TRACE_SPAWNED, path) ? LEFT_BORROWED : STAYED;
    } else {
        seal(TRACE_EXEC, 0, path, 0);
        signals_leave(1);
        left = LEFT;
    }
    errno = saved;
    return left;
}

void process_return(int left)
{
    int saved = errno;
    if (left == LEFT_BORROWED)
        borrowed(TRACE_NOT_SPAWNED, NULL);
    if (left == LEFT) {
        signals_leave(0);
        trace_finish(&capture.writer, TRACE_RUNNING, 0);
    }
    errno = saved;
}

int process_setup(void)
{
    pid = getpid();
    on_exit(on_exit_code, NULL);
    at_quick_exit(on_quick_exit);
    return pthread_atfork(before_fork, in_parent, in_child);
}
