/* Notes where the program writes its jitdump; the analysis reads it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/core/capture.h"
#include "profiler/capture/recorders/jit/jit.h"

static int is_jitdump(const char *path)
{
    const char *name = strrchr(path, '/');
    if (!name || strncmp(name, "/jit-", 5))
        return 0;
    name += 5;
    size_t digits = strspn(name, "0123456789");
    return digits && !strcmp(name + digits, ".dump");
}

void jit_mapped(int fd)
{
    int saved = errno;
    enum { ROOM = 1024 };
    char link[32], *path;
    struct capture_thread *t = capture_enter();
    if (!t)
        return;
    path = t->scratch;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, ROOM - 1);
    path[n > 0 ? n : 0] = 0;
    if (is_jitdump(path)) {
        capture_meta(t, "jitdump", path);
        jit_dump_is(path);
    }
    capture_leave(t, TRACE_PART_WRITER, 0);
    errno = saved;
}
