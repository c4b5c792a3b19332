/* exec and its like: the trace ends with the program that the process was.
 *
 * The environment is handed on as the target made it: a cleared one ends the recording there. Only
 * a program that cannot load the library gets its LD_PRELOAD without it. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/hooks/child_environment.h"
#include "profiler/capture/raw/system.h"

typedef int (*execve_fn)(const char *, char *const[], char *const[]);
typedef int (*execv_fn)(const char *, char *const[]);

static int with_environment(void **next, const char *name, const char *path, char *const argv[],
                            char *const envp[])
{
    execve_fn real = (execve_fn)raw_next(next, name);
    int left = process_leave(path);
    int r = real(path, argv, envp);
    process_return(left);
    return r;
}

CAPTURE_API int execve(const char *path, char *const argv[], char *const envp[])
{
    static void *next;
    CHILD_ENVIRONMENT(path, envp);
    return with_environment(&next, "execve", path, argv, envp);
}

CAPTURE_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
    static void *next;
    size_t bytes = child_file_bytes(file);
    char *path = __builtin_alloca(bytes);
    CHILD_ENVIRONMENT(child_file(file, path, bytes), envp);
    return with_environment(&next, "execvpe", file, argv, envp);
}

CAPTURE_API int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

CAPTURE_API int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

CAPTURE_API int fexecve(int fd, char *const argv[], char *const envp[])
{
    static void *next;
    int (*real)(int, char *const[], char *const[]) =
        (int (*)(int, char *const[], char *const[]))raw_next(&next, "fexecve");
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CHILD_ENVIRONMENT(path, envp);
    int left = process_leave(NULL);
    int r = real(fd, argv, envp);
    process_return(left);
    return r;
}

CAPTURE_API int execveat(int folder, const char *path, char *const argv[], char *const envp[],
                         int flags)
{
    static void *next;
    int (*real)(int, const char *, char *const[], char *const[], int) =
        (int (*)(int, const char *, char *const[], char *const[], int))raw_next(&next, "execveat");
    const char *program = path;
    if (folder != AT_FDCWD && *path != '/') {
        size_t bytes = strlen(path) + sizeof "/proc/self/fd/2147483647/";
        char *below = __builtin_alloca(bytes);
        snprintf(below, bytes, "/proc/self/fd/%d%s%s", folder, *path ? "/" : "", path);
        program = below;
    }
    CHILD_ENVIRONMENT(program, envp);
    int left = process_leave(NULL);
    int r = real(folder, path, argv, envp, flags);
    process_return(left);
    return r;
}

/* The arguments of a list, in an array on the stack of the caller: libc's may not allocate either.
 */
#define LIST_TO_ARRAY(first, argv, list)                                                           \
    size_t count = 1;                                                                              \
    va_start(list, first);                                                                         \
    while (va_arg(list, char *))                                                                   \
        count++;                                                                                   \
    va_end(list);                                                                                  \
    char **argv = __builtin_alloca((count + 1) * sizeof *argv);                                    \
    argv[0] = (char *)(uintptr_t)first;                                                            \
    va_start(list, first);                                                                         \
    for (size_t i = 1; i <= count; i++)                                                            \
    argv[i] = va_arg(list, char *)

CAPTURE_API int execl(const char *path, const char *first, ...)
{
    va_list list;
    LIST_TO_ARRAY(first, argv, list);
    va_end(list);
    return execve(path, argv, environ);
}

CAPTURE_API int execlp(const char *file, const char *first, ...)
{
    va_list list;
    LIST_TO_ARRAY(first, argv, list);
    va_end(list);
    return execvpe(file, argv, environ);
}

CAPTURE_API int execle(const char *path, const char *first, ...)
{
    va_list list;
    LIST_TO_ARRAY(first, argv, list);
    char **envp = va_arg(list, char **);
    va_end(list);
    return execve(path, argv, envp);
}
