/* Maps each descriptor to its file. A number that is not known is looked up at its first use
 * (statx, and readlink for a file that is new: 0.4 and 3 us), so that files are known that were
 * inherited, received, or opened inside the C library. */
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/io/endpoints.h"
#include "profiler/capture/recorders/io/names.h"

enum {
    LARGE = 1 << 20, /* files whose place in the page cache is asked for */
};
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

struct cache_range {
    uint64_t offset, bytes;
};
struct cache_pages {
    uint64_t cached, dirty, writeback, evicted, recently;
};

/* Counts its bytes in the page cache. */
static uint64_t file_resident_bytes(int fd, uint64_t size)
{
    static int missing;
    struct cache_range all = {0, size};
    struct cache_pages pages;
    if (size < LARGE || __atomic_load_n(&missing, __ATOMIC_RELAXED))
        return ~0ull;
    if (syscall(SYS_cachestat, fd, &all, &pages, 0)) {
        if (errno == ENOSYS || errno == EPERM)
            __atomic_store_n(&missing, 1, __ATOMIC_RELAXED);
        return ~0ull;
    }
    uint64_t bytes = pages.cached * (uint64_t)sysconf(_SC_PAGESIZE);
    return bytes < size ? bytes : size;
}

static uint32_t kind_of_system(int fd)
{
    struct statfs s;
    if (syscall(SYS_fstatfs, fd, &s))
        return TRACE_TO_FILE;
    switch ((uint32_t)s.f_type) {
    case 0x9fa0:     /* proc */
    case 0x62656572: /* sysfs */
    case 0x27e0eb:   /* cgroup */
    case 0x63677270: /* cgroup2 */
        return TRACE_TO_KERNEL;
    case 0x01021994: /* tmpfs */
    case 0x858458f6: /* ramfs */
        return TRACE_TO_MEMORY;
    default:
        return TRACE_TO_FILE;
    }
}

/* New files are mostly of the device of the one before; the lock is held. */
static uint32_t regular_kind(int fd, uint64_t device)
{
    static uint64_t last;
    static uint32_t kind;
    if (!last || device != last)
        kind = kind_of_system(fd);
    last = device;
    return kind;
}

/* "folder/name.ending" to "folder / * .ending", in place. */
static void merge_name(char *path, size_t room)
{
    char *slash = strrchr(path, '/'), ending[32] = "";
    const char *end = path + strlen(path);
    if (!slash)
        return;
    strcpy(ending, io_ending(slash + 1, end));
    if ((size_t)(slash + 2 - path) + sizeof ending < room) {
        slash[1] = '*';
        strcpy(slash + 2, ending);
    }
}

/* The row of many files, by the name of one that is like them: `path` is changed. The lock is held.
 */
static uint32_t many_row(uint32_t kind, uint64_t device, char *path, size_t room)
{
    static struct io_file many; /* 5 KiB: under the lock, not on the program's stack */
    many.kind = kind;
    many.device = device;
    many.flags = TRACE_IO_MANY;
    many.resident = ~0ull;
    if (kind == TRACE_TO_KERNEL)
        strcpy(path, "/proc, /sys");
    else
        merge_name(path, room);
    uint64_t key = io_mix(trace_hash(path, strlen(path), kind), TRACE_IO_MANY);
    uint32_t row = io_find(key);
    return row ? row : io_insert(key, &many, path);
}

uint32_t io_folder_row(uint32_t row)
{
    static char path[4096];
    const struct io_file *f = &io->files[row - 1];
    uint32_t many = row;
    if (f->flags & TRACE_IO_MANY || !f->name || strlen(f->name) >= sizeof path - 40)
        return f->flags & TRACE_IO_MANY ? row : 0;
    if (!io_lock_rows())
        return 0;
    strcpy(path, f->name);
    many = many_row(f->kind, f->device, path, sizeof path);
    io_unlock_rows();
    return many;
}

/* Adds a regular file without a known row; `sum`: it gets none of its own. The lock is held. */
static uint32_t new_file(int fd, uint64_t key, const struct statx *s, int sum)
{
    static char path[4096];
    static struct io_file f; /* 5 KiB: under the lock, not on the program's stack */
    char link[40] = "/proc/self/fd/", digits[12], *p = digits + sizeof digits - 1;
    unsigned n = (unsigned)fd;
    *p = 0;
    do
        *--p = (char)('0' + n % 10);
    while ((n /= 10));
    strcat(link, p);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    uint64_t device = makedev(s->stx_dev_major, s->stx_dev_minor);
    f.kind = regular_kind(fd, device);
    f.device = device;
    f.inode = s->stx_ino;
    f.born = (uint64_t)s->stx_btime.tv_sec * 1000000000u + s->stx_btime.tv_nsec;
    f.size = s->stx_size;
    f.resident = ~0ull;
    if (!sum && io_file_count() < IO_FILES / 4 * 3 && f.kind != TRACE_TO_KERNEL) {
        if (f.kind == TRACE_TO_FILE)
            f.resident = file_resident_bytes(fd, f.size);
        return io_insert(key, &f, path);
    }
    return many_row(f.kind, f.device, path, sizeof path);
}

static uint32_t file_regular_row(int fd, const struct statx *s, int sum)
{
    uint64_t born = (uint64_t)s->stx_btime.tv_sec ^ (uint64_t)s->stx_btime.tv_nsec << 32;
    uint64_t key = io_mix(io_mix(s->stx_ino, makedev(s->stx_dev_major, s->stx_dev_minor)), born);
    uint32_t f = io_find(key);
    if (!f && io_lock_rows()) {
        f = io_find(key);
        if (!f)
            f = new_file(fd, key, s, sum);
        io_unlock_rows();
    }
    if (f && io->files[f - 1].size != s->stx_size) {
        io->files[f - 1].size = s->stx_size;
        io->files[f - 1].defined = 0;
    }
    return f ? f - 1 : 0;
}

static int is_terminal(const struct statx *s)
{
    return s->stx_rdev_major == 4 || s->stx_rdev_major == 5 ||
           (s->stx_rdev_major >= 136 && s->stx_rdev_major < 144);
}

/* `flags`: it was opened with these; below 0 unknown. */
static uint32_t file_of_descriptor(int fd, struct io_descriptor *d, long flags, int sum)
{
    struct statx s;
    char name[128];
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &s))
        return errno == EBADF ? UINT32_MAX : 0;
    if (S_ISREG(s.stx_mode)) {
        if (flags < 0)
            flags = syscall(SYS_fcntl, fd, F_GETFL);
        d->seekable = 1;
        d->shared = flags >= 0 && flags & O_APPEND; /* a write moves it to the end first */
        d->writes = flags >= 0 && (flags & O_ACCMODE) == O_WRONLY;
        uint32_t row = file_regular_row(fd, &s, sum);
        if (row && flags >= 0 && flags & O_DIRECT)
            io->files[row].flags |= TRACE_IO_DIRECT;
        return row;
    }
    if (S_ISSOCK(s.stx_mode)) {
        io_endpoint(fd, d, name, sizeof name);
        return io_row(TRACE_TO_SOCKET, name);
    }
    if (S_ISFIFO(s.stx_mode))
        return io_row(TRACE_TO_PIPE, "pipes");
    if (S_ISCHR(s.stx_mode) && is_terminal(&s))
        return io_row(TRACE_TO_TERMINAL, "terminals");
    return io_row(TRACE_TO_OTHER, S_ISCHR(s.stx_mode)   ? "devices"
                                  : S_ISDIR(s.stx_mode) ? "folders"
                                                        : "other descriptors");
}

static struct io_descriptor high; /* never known: nothing is kept in it */

struct io_descriptor *io_descriptor_opened(int fd, const char *path, int flags, struct io_file **f)
{
    int suffices = io_name_suffices(path, flags);
    struct io_name n = {0};
    uint64_t begin = trace_now();
    uint32_t row = 0;
    if (fd < 0 || (unsigned)fd >= IO_DESCRIPTORS)
        return io_descriptor(fd, f);
    struct io_descriptor *d = &io->descriptors[fd];
    io_forget(fd);
    if (suffices)
        n = io_name_of(path, 1);
    if (!io_may_ask(begin) && suffices)
        row = io_name_row(&n);
    if (row) {
        io_open_by_name(d, flags);
    } else {
        uint32_t found = file_of_descriptor(fd, d, flags, io_storm);
        uint64_t now = trace_now();
        if (found == UINT32_MAX)
            return NULL;
        row = found + 1;
        if (suffices && d->seekable)
            io_name_set(n.path, row);
        uint32_t many = suffices && d->seekable && io_storm ? io_folder_row(row) : 0;
        if (many)
            io_name_set(n.folder, many);
        io_asked(now, now - begin);
    }
    io_set_row(fd, row);
    *f = &io->files[row - 1];
    return d;
}

struct io_descriptor *io_descriptor(int fd, struct io_file **f)
{
    if (fd < 0)
        return NULL;
    if ((unsigned)fd >= IO_DESCRIPTORS) {
        *f = &io->files[0];
        return &high;
    }
    struct io_descriptor *d = &io->descriptors[fd];
    uint32_t row = __atomic_load_n(&d->file, __ATOMIC_ACQUIRE);
    if (!row) {
        uint32_t found = file_of_descriptor(fd, d, -1, 0);
        if (found == UINT32_MAX)
            return NULL;
        row = found + 1;
        d->run = (struct io_pending){0};
        io_set_row(fd, row);
    }
    *f = &io->files[row - 1];
    return d;
}
