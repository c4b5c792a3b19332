/* Functions that make processes, end this one, have it traced, or need it to have one thread: fork,
 * posix_spawn, _exit, quick_exit, ptrace, unshare, setns, setuid and its like. */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/hooks/child_environment.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/io/io.h"

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

static int spawn_recorded(void **next, const char *name, pid_t *child, const char *path,
                          const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                          char *const argv[], char *const envp[])
{
    pid_t unnamed;
    child = child ? child : &unnamed;
    int failed = ((spawn_fn)raw_next(next, name))(child, path, actions, attr, argv, envp);
    if (!failed) {
        process_made(TRACE_SPAWNED, *child, path);
        io_makes_child();
    }
    return failed;
}

CAPTURE_API int posix_spawn(pid_t *child, const char *path,
                            const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    static void *next;
    CHILD_ENVIRONMENT(path, envp);
    return spawn_recorded(&next, "posix_spawn", child, path, actions, attr, argv, envp);
}

CAPTURE_API int posix_spawnp(pid_t *child, const char *file,
                             const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    static void *next;
    size_t bytes = child_file_bytes(file);
    char *path = __builtin_alloca(bytes);
    CHILD_ENVIRONMENT(child_file(file, path, bytes), envp);
    return spawn_recorded(&next, "posix_spawnp", child, file, actions, attr, argv, envp);
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

CAPTURE_API long ptrace(enum __ptrace_request request, ...)
{
    static void *next;
    va_list list;
    void *word[3];
    va_start(list, request);
    for (int i = 0; i < 3; i++)
        word[i] = va_arg(list, void *);
    va_end(list);
    int begun = request == PTRACE_TRACEME && process_traced_begin();
    long r = ((long (*)(enum __ptrace_request, ...))raw_next(&next, "ptrace"))(request, word[0],
                                                                               word[1], word[2]);
    if (begun) {
        int saved = errno;
        process_traced_end(r == 0);
        errno = saved;
    }
    return r;
}

/* Calls that need a process with one thread, which ours would make two: unshare and setns refuse
 * then, and libc changes the rights of all threads and aborts where they do not all succeed (the
 * program's own may keep a capability that ours does not have). */
#define ALONE(name, parameters, ...)                                                               \
    CAPTURE_API int name parameters                                                                \
    {                                                                                              \
        static void *next;                                                                         \
        int alone = process_alone();                                                               \
        int r = ((int(*) parameters)raw_next(&next, #name))(__VA_ARGS__), saved = errno;           \
        process_alone_end(alone);                                                                  \
        errno = saved;                                                                             \
        return r;                                                                                  \
    }

ALONE(unshare, (int flags), flags)
ALONE(setns, (int fd, int type), fd, type)
ALONE(setuid, (uid_t user), user)
ALONE(seteuid, (uid_t user), user)
ALONE(setreuid, (uid_t real, uid_t effective), real, effective)
ALONE(setresuid, (uid_t real, uid_t effective, uid_t saved_id), real, effective, saved_id)
ALONE(setgid, (gid_t group), group)
ALONE(setegid, (gid_t group), group)
ALONE(setregid, (gid_t real, gid_t effective), real, effective)
ALONE(setresgid, (gid_t real, gid_t effective, gid_t saved_id), real, effective, saved_id)
ALONE(setgroups, (size_t n, const gid_t *groups), n, groups)
ALONE(initgroups, (const char *user, gid_t group), user, group)
