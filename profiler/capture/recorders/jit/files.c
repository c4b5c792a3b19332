/* The files in which a program describes its code: when they grow. A perf map has no times, and
 * code takes other code's place: how many bytes it had at which time tells from when on its entries
 * hold.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/stack.h"
#include "profiler/capture/recorders/jit/jit.h"

static int64_t map_bytes, dump_bytes; /* as seen last */
static char dump[1024];

/* Returns 1 where the file has another size than before. */
static int jit_file_grew(const char *path, int64_t *seen, struct stat *st)
{
    if (syscall(SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st->st_mode) ||
        st->st_size == *seen)
        return 0;
    *seen = st->st_size;
    return 1;
}

/* When it was written last, by the monotonic clock; not after now. */
static uint64_t jit_file_written(const struct stat *st)
{
    struct timespec t;
    uint64_t now = trace_now();
    if (clock_gettime(CLOCK_REALTIME, &t))
        return now;
    int64_t ago = (t.tv_sec - st->st_mtim.tv_sec) * 1000000000 + t.tv_nsec - st->st_mtim.tv_nsec;
    return ago > 0 && (uint64_t)ago < now ? now - (uint64_t)ago : now;
}

/* By hand: most processes that ask live for some milliseconds, and have no page of printf(). */
static void jit_map_path(char path[64])
{
    char digits[12], *d = digits + sizeof digits;
    unsigned pid = (unsigned)capture.pid;
    *--d = 0;
    do
        *--d = (char)('0' + pid % 10);
    while (pid /= 10);
    strcpy(stpcpy(stpcpy(path, "/tmp/perf-"), d), ".map");
}

void jit_files_poll(struct capture_thread *t)
{
    char path[64], value[64];
    struct stat st;
    jit_map_path(path);
    if (jit_file_grew(path, &map_bytes, &st)) {
        snprintf(value, sizeof value, "%lld %llu", (long long)map_bytes,
                 (unsigned long long)jit_file_written(&st));
        capture_meta(t, "perfmap", value);
        stack_code_changed();
    }
    if (*dump && jit_file_grew(dump, &dump_bytes, &st))
        stack_code_changed();
}

void jit_dump_is(const char *path)
{
    if (!*dump && strlen(path) < sizeof dump)
        strcpy(dump, path);
}

void jit_files_forget(void)
{
    *dump = 0;
    map_bytes = dump_bytes = 0;
}
