/* Functions that make processes, end this one, or need it to have one thread: fork, posix_spawn,
 * _exit, quick_exit, unshare, setns. */
#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/raw/system.h"

CAPTURE_API pid_t fork(void)
{
    static void *next;
    pid_t child = ((pid_t(*)(void))raw_next(&next, "fork"))();
    if (child > 0)
        process_made(TRACE_FORKED, child, NULL);
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
    if (!failed)
        process_made(TRACE_SPAWNED, *child, path);
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
    process_finish(TRACE_QUICK, status);
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
    process_quick(status);
    ((void (*)(int))raw_next(&next, "quick_exit"))(status);
    __builtin_unreachable();
}

static int call_alone(void **next, const char *name, int a, int b)
{
    int stepped = process_alone();
    int r = ((int (*)(int, int))raw_next(next, name))(a, b), saved = errno;
    process_alone_end(stepped);
    errno = saved;
    return r;
}

CAPTURE_API int unshare(int flags)
{
    static void *next;
    return call_alone(&next, "unshare", flags, 0);
}

CAPTURE_API int setns(int fd, int type)
{
    static void *next;
    return call_alone(&next, "setns", fd, type);
}
