/* The file of a trace: its path, its descriptor, room in it, and the clock that it names. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "profiler/trace/writer_file.h"

/* System calls are made raw: mmap may lead to the capture library's own hook, and libc's
 * open, close, fallocate are points where a thread may be cancelled. */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels refuse it */
#endif
#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif
/* Above the numbers that programs expect to get or close by hand. */
#define FD_FROM 400
#define FD_LEAST                                                                                   \
    200            /* where the limit is lower; below it none is kept, each chunk opens the file */
#define FD_SPARE 4 /* so many free numbers a program keeps beside a thread that opens the file */

uint64_t trace_now(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t writer_page(void)
{
#ifdef __x86_64__
    return TRACE_PAGE;
#else
    return (uint64_t)sysconf(_SC_PAGESIZE);
#endif
}

/* Kernels of aarch64 may have pages of 16 or 64 KiB: chunks lie at their multiples. */
uint64_t writer_first_offset(void)
{
    uint64_t page = writer_page();
    return page > TRACE_HEADER_BYTES ? page : TRACE_HEADER_BYTES;
}

void writer_fail(struct trace_writer *w, int why)
{
    int none = 0;
    __atomic_compare_exchange_n(&w->failed, &none, why, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int writer_elsewhere(struct trace_writer *w, trace_job *job, uint32_t bytes, long *result)
{
    return w->elsewhere && w->elsewhere(w, job, bytes, result);
}

void *writer_map(size_t bytes, int flags, int fd, uint64_t offset)
{
    long p = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);
    return p == -1 ? NULL : (void *)p;
}

void writer_unmap(const volatile void *p, size_t bytes)
{
    if (p)
        syscall(SYS_munmap, p, bytes);
}

/* Gives the file space on the disk, so that a full one is an error here and not SIGBUS later. 0 or
 * errno. Zeros are written: on every file system, and the pages are then there for the mapping
 * (ext4: 70 ns for a record of 40 bytes all in all, with fallocate 115). */
static int writer_allocate(int fd, uint64_t offset, size_t bytes)
{
    static char zeros[TRACE_PAGE] __attribute__((aligned(64)));
    struct rlimit limit;
    /* past the limit the kernel would send SIGXFSZ, which ends the program */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && offset + bytes > limit.rlim_cur)
        return EFBIG;
    struct iovec parts[TRACE_CHUNK_BYTES / TRACE_PAGE];
    for (size_t i = 0; i < bytes / TRACE_PAGE; i++)
        parts[i] = (struct iovec){zeros, TRACE_PAGE};
    long written = syscall(SYS_pwritev, fd, parts, bytes / TRACE_PAGE, offset, 0);
    if (written == (long)bytes)
        return 0;
    return written < 0 ? errno : ENOSPC;
}

void *writer_map_room(int fd, uint64_t offset, size_t bytes, int *why)
{
    *why = writer_allocate(fd, offset, bytes);
    if (*why)
        return NULL;
    void *p = writer_map(bytes, MAP_SHARED, fd, offset);
    if (!p) {
        *why = errno;
        return NULL;
    }
    /* A single call replaces a page fault per page; EFAULT: they would have been SIGBUS. */
    if (syscall(SYS_madvise, p, bytes, MADV_POPULATE_WRITE) && errno == EFAULT) {
        *why = EIO;
        writer_unmap(p, bytes);
        return NULL;
    }
    return p;
}

/* PID-START.tpt without printf, which is not async-signal-safe. 0 or ENAMETOOLONG. */
int writer_make_path(struct trace_writer *w, const char *folder, int pid, uint64_t start)
{
    char *path = w->path;
    size_t n = strlen(folder);
    if (n + 48 > sizeof w->path)
        return ENAMETOOLONG;
    memcpy(path, folder, n);
    char digits[40], *p = digits + sizeof digits;
    p -= sizeof ".tpt";
    memcpy(p, ".tpt", sizeof ".tpt");
    do
        *--p = "0123456789abcdef"[start % 16];
    while (start /= 16);
    *--p = '-';
    do
        *--p = (char)('0' + pid % 10);
    while (pid /= 10);
    *--p = '/';
    memcpy(path + n, p, (size_t)(digits + sizeof digits - p));
    return 0;
}

static int writer_open(struct trace_writer *w, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags,
                        0600);
}

/* The same file under a high number where there is one. */
static int raise_fd(int fd)
{
    static const int from[] = {FD_FROM, FD_LEAST};
    for (size_t i = 0; fd >= 0 && fd < FD_LEAST && i < sizeof from / sizeof *from; i++) {
        int high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from[i]);
        if (high >= 0) {
            syscall(SYS_close, fd);
            fd = high;
        }
    }
    return fd;
}

int writer_owns(const struct trace_writer *w, int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == w->device && st.st_ino == w->inode;
}

/* Another thread than the first would take one of the program's last numbers for a moment, in which
 * the program may want it. The first does nothing of its own meanwhile. */
int writer_few_numbers(void)
{
    struct rlimit limit;
    unsigned left = 0;
    if (syscall(SYS_gettid) == getpid() || getrlimit(RLIMIT_NOFILE, &limit) ||
        limit.rlim_cur > FD_LEAST)
        return 0;
    for (unsigned fd = 0; fd < limit.rlim_cur && left < FD_SPARE; fd++)
        left += syscall(SYS_fcntl, fd, F_GETFD) < 0;
    return left < FD_SPARE;
}

/* Returns the file's descriptor, opened again when the program closed it (daemons close all), never
 * another file's; -1: there is none. Below FD_LEAST it is not kept: writer_close_file(). */
int writer_file(struct trace_writer *w)
{
    int old = __atomic_load_n(&w->fd, __ATOMIC_RELAXED);
    if (writer_owns(w, old))
        return old;
    if (w->apart && w->apart == syscall(SYS_gettid)) /* its numbers are low: writer_close_file */
        return writer_open(w, 0);
    if (writer_few_numbers()) {
        errno = EMFILE;
        return -1;
    }
    int fd = raise_fd(writer_open(w, 0)), why = fd < 0 ? errno : EBADF;
    if (writer_owns(w, fd) && fd < FD_LEAST)
        return fd;
    if (writer_owns(w, fd) &&
        __atomic_compare_exchange_n(&w->fd, &old, fd, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return fd;
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (writer_owns(w, old)) /* another thread was faster */
        return old;
    errno = why;
    return -1;
}

void writer_close_file(int fd)
{
    if (fd < FD_LEAST)
        syscall(SYS_close, fd);
}

void trace_writer_unshare(struct trace_writer *w)
{
    int number = __atomic_load_n(&w->fd, __ATOMIC_RELAXED), fd;
    if (syscall(SYS_close_range, 0u, ~0u, 2u /* CLOSE_RANGE_UNSHARE */))
        return;
    w->apart = syscall(SYS_gettid);
    fd = number < FD_LEAST ? -1 : writer_open(w, 0);
    if (fd >= 0) {
        (void)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, number); /* that very one: all are free */
        syscall(SYS_close, fd);
    }
}

int writer_make_file(struct trace_writer *w, struct trace_header **header, int *why)
{
    struct stat st;
    int fd = writer_open(w, O_CREAT | O_EXCL);
    *header = NULL;
    *why = errno;
    if (fd < 0)
        return -1;
    fd = w->apart && w->apart == syscall(SYS_gettid) ? fd : raise_fd(fd);
    if (fstat(fd, &st))
        *why = errno;
    else
        *header = writer_map_room(fd, 0, TRACE_HEADER_BYTES, why);
    if (!*header) {
        syscall(SYS_unlinkat, AT_FDCWD, w->path, 0);
        syscall(SYS_close, fd);
        return -1;
    }
    w->device = st.st_dev;
    w->inode = st.st_ino;
    return fd;
}

void writer_keep_file(struct trace_writer *w, int fd)
{
    int apart = w->apart && w->apart == syscall(SYS_gettid);
    if (apart)
        syscall(SYS_close, fd);
    else
        writer_close_file(fd);
    __atomic_store_n(&w->fd, apart || fd < FD_LEAST ? -1 : fd, __ATOMIC_RELAXED);
}

/* When the file was made, by the file system: what is copied or unpacked has another time. */
uint64_t trace_birth_time(int fd, const char *path)
{
    struct statx st;
    if (syscall(SYS_statx, fd, path, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) ||
        !(st.stx_mask & STATX_BTIME))
        return 0;
    return (uint64_t)st.stx_btime.tv_sec * 1000000000u + st.stx_btime.tv_nsec;
}

/* How far CLOCK_REALTIME is ahead, to a fraction of a microsecond. */
static int64_t clock_offset(void)
{
    int64_t best = INT64_MAX, offset = 0;
    for (int i = 0; i < 3 && best > 300; i++) {
        struct timespec real = {0};
        const uint64_t before = trace_now();
        clock_gettime(CLOCK_REALTIME, &real);
        const int64_t bracket = (int64_t)(trace_now() - before);
        if (bracket >= best)
            continue;
        best = bracket;
        offset = (int64_t)real.tv_sec * 1000000000 + real.tv_nsec - (int64_t)before - bracket / 2;
    }
    return offset;
}

static int clock_may_change;
static uint64_t clock_known, clock_whole; /* by the boot; and by the name space */

#define CLOCK_DIFFERS_NS 1000

/* By hand: these functions of the C library lie in pages that a short process does not have. */
void trace_clock_given(const char *given)
{
    uint64_t id = 0, offset = 0;
    const char *p = given;
    for (; *p && *p != ':'; p++) {
        const int digit = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 87 : -1;
        if (digit < 0)
            return;
        id = id * 16 + (uint64_t)digit;
    }
    if (p == given || *p++ != ':' || !*p)
        return;
    for (; *p; p++) {
        if (*p < '0' || *p > '9')
            return;
        offset = offset * 10 + (uint64_t)(*p - '0');
    }
    const int64_t differs = clock_offset() - (int64_t)offset;
    if (differs >= -CLOCK_DIFFERS_NS && differs <= CLOCK_DIFFERS_NS)
        clock_whole = id;
}

void trace_clock_text(char out[TRACE_CLOCK_TEXT])
{
    const int64_t offset = clock_offset();
    const uint64_t id = trace_clock_id();
    *out = 0;
    if (id && offset >= 0)
        snprintf(out, TRACE_CLOCK_TEXT, "%016" PRIx64 ":%" PRId64, id, offset);
}

void trace_clock_changes(void)
{
    clock_may_change = 1;
}

/* The boot of the machine, and the name space that may move its clock. Both hold for the child of a
 * fork as well, unless the program makes name spaces. */
uint64_t trace_clock_id(void)
{
    struct statx st;
    if (clock_whole && !clock_may_change)
        return clock_whole;
    char boot[64];
    uint64_t h = clock_known ? clock_known : 0xcbf29ce484222325u;
    static const char id[] = "/proc/sys/kernel/random/boot_id";
    const long fd = clock_known ? -1 : syscall(SYS_openat, AT_FDCWD, id, O_RDONLY | O_CLOEXEC);
    const long n = fd < 0 ? 0 : syscall(SYS_read, fd, boot, sizeof boot);
    if (fd >= 0)
        syscall(SYS_close, fd);
    for (long i = 0; i < n; i++)
        h = (h ^ (uint8_t)boot[i]) * 0x100000001b3u;
    clock_known = clock_known || n > 0 ? h : 0;
    if (!syscall(SYS_statx, AT_FDCWD, "/proc/self/ns/time", 0, STATX_INO, &st))
        h = (h ^ st.stx_ino) * 0x100000001b3u;
    return clock_whole = !clock_known ? 0 : h ? h : 1;
}
