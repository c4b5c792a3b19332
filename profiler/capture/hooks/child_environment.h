/* The environment of a program that is about to be started. One that cannot load the library
 * (musl's or a 32-bit loader, a sanitizer that must come first) would fail or complain, so it gets
 * LD_PRELOAD without it. Async-signal-safe, and safe in a child of vfork. */
#ifndef TP_CAPTURE_CHILD_ENVIRONMENT_H
#define TP_CAPTURE_CHILD_ENVIRONMENT_H

#include <stddef.h>

/* The file that exec*p takes for `file`, in `path` of child_file_bytes; "" where it finds none. */
const char *child_file(const char *file, char *path, size_t bytes);
size_t child_file_bytes(const char *file); /* as much as the C library takes from the stack */
/* Bytes for child_environment's copy; 0: `path` can have `envp` as it is. */
size_t child_environment_bytes(const char *path, char *const envp[]);
/* `envp` without the library, in `room`. */
char *const *child_environment(char *const envp[], void *room);

/* Sets `envp` for the program `path`; the copy lies on the caller's stack, since nothing runs after
 * an exec to free it. */
#define CHILD_ENVIRONMENT(path, envp)                                                              \
    do {                                                                                           \
        size_t child_bytes = child_environment_bytes(path, envp);                                  \
        if (child_bytes)                                                                           \
            (envp) = child_environment(envp, __builtin_alloca(child_bytes));                       \
    } while (0)

#endif
