/* Calls after which a name may lead to another file: recorders/io/names.c forgets what it knows. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/io/io.h"

/* `before` the call: other roots and mounts may hide the trace's folder. */
#define NAME_CALLS(X)                                                                              \
    X(, rename, (const char *from, const char *to), (from, to))                                    \
    X(, renameat, (int at, const char *from, int in, const char *to), (at, from, in, to))          \
    X(, renameat2, (int at, const char *from, int in, const char *to, unsigned flags),             \
      (at, from, in, to, flags))                                                                   \
    X(, unlink, (const char *path), (path))                                                        \
    X(, unlinkat, (int at, const char *path, int flags), (at, path, flags))                        \
    X(, remove, (const char *path), (path))                                                        \
    X(, chdir, (const char *path), (path))                                                         \
    X(, fchdir, (int fd), (fd))                                                                    \
    X(process_keep_trace(), chroot, (const char *path), (path))                                    \
    X(process_keep_trace(), mount,                                                                 \
      (const char *from, const char *to, const char *type, unsigned long flags, const void *more), \
      (from, to, type, flags, more))                                                               \
    X(process_keep_trace(), umount, (const char *path), (path))                                    \
    X(process_keep_trace(), umount2, (const char *path, int flags), (path, flags))

#define NAME(before, name, parameters, arguments)                                                  \
    static void *next_##name;                                                                      \
    int name parameters;                                                                           \
    CAPTURE_API int name parameters                                                                \
    {                                                                                              \
        int(*real) parameters = (int(*) parameters)raw_next(&next_##name, #name);                  \
        if (!real) { /* renameat2: glibc 2.28 */                                                   \
            errno = ENOSYS;                                                                        \
            return -1;                                                                             \
        }                                                                                          \
        before;                                                                                    \
        int r = real arguments;                                                                    \
        if (!r)                                                                                    \
            io_names_change();                                                                     \
        return r;                                                                                  \
    }
NAME_CALLS(NAME)

void io_names_setup(void)
{
#define ROW(before, name, ...) {&next_##name, #name},
    static const struct {
        void **slot;
        const char *name;
    } rows[] = {NAME_CALLS(ROW)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        raw_next(rows[i].slot, rows[i].name);
}
