/* Writes a trace file: its header, and the chunks that each thread maps and fills. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "profiler/trace/writer.h"

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

static int writer_is_open(const struct trace_writer *w)
{
    return w && w->header && *w->alive;
}

void trace_lost(struct trace_writer *w, enum trace_loss what, uint64_t n)
{
    if (writer_is_open(w))
        __atomic_fetch_add(&w->header->lost[what], n, __ATOMIC_RELAXED);
}

static void *writer_map(size_t bytes, int flags, int fd, uint64_t offset)
{
    long p = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);
    return p == -1 ? NULL : (void *)p;
}

static void writer_unmap(const volatile void *p, size_t bytes)
{
    if (p)
        syscall(SYS_munmap, p, bytes);
}

/* Gives the file space on the disk, so that a full one is an error here and not SIGBUS later. 0 or
 * errno. Zeros are written: on every file system, and the pages are then there for the mapping
 * (ext4: 70 ns for a record of 40 bytes all in all, with fallocate 115). */
static int writer_allocate(int fd, uint64_t offset, size_t bytes)
{
    static char zeros[TRACE_PAGE];
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

static void *map_room(int fd, uint64_t offset, size_t bytes, int *why)
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
static int make_path(char *path, size_t room, const char *folder, int pid, uint64_t start)
{
    size_t n = strlen(folder);
    if (n + 48 > room)
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

static int writer_owns(const struct trace_writer *w, int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == w->device && st.st_ino == w->inode;
}

/* Another thread than the first would take one of the program's last numbers for a moment, in which
 * the program may want it. The first does nothing of its own meanwhile. */
static int few_numbers(void)
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
 * another file's; -1: there is none. Below FD_LEAST it is not kept: descriptor_close(). */
static int own_fd(struct trace_writer *w)
{
    int old = __atomic_load_n(&w->fd, __ATOMIC_RELAXED);
    if (writer_owns(w, old))
        return old;
    if (w->apart && w->apart == syscall(SYS_gettid)) /* its numbers are low: descriptor_close */
        return writer_open(w, 0);
    if (few_numbers()) {
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

static void descriptor_close(int fd)
{
    if (fd < FD_LEAST)
        syscall(SYS_close, fd);
}

void trace_writer_unshare(struct trace_writer *w)
{
    int number = __atomic_load_n(&w->fd, __ATOMIC_RELAXED);
    if (number < FD_LEAST || syscall(SYS_close_range, 0u, ~0u, 2u /* CLOSE_RANGE_UNSHARE */))
        return;
    w->apart = syscall(SYS_gettid);
    int fd = writer_open(w, 0);
    if (fd >= 0) {
        (void)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, number); /* that very one: all are free */
        syscall(SYS_close, fd);
    }
}

static int open_new(struct trace_writer *w, struct trace_header **header)
{
    struct stat st;
    int why = 0, fd = writer_open(w, O_CREAT | O_EXCL);
    *header = NULL;
    if (fd < 0)
        return errno;
    fd = raise_fd(fd);
    if (fstat(fd, &st))
        why = errno;
    else
        *header = map_room(fd, 0, TRACE_HEADER_BYTES, &why);
    if (!*header) {
        syscall(SYS_unlinkat, AT_FDCWD, w->path, 0);
        syscall(SYS_close, fd);
        return why;
    }
    descriptor_close(fd);
    w->fd = fd < FD_LEAST ? -1 : fd;
    w->device = st.st_dev;
    w->inode = st.st_ino;
    return 0;
}

/* When the file was made, by the file system: what is copied or unpacked has another time. */
static uint64_t writer_birth_time(int fd, const char *path)
{
    struct statx st;
    if (syscall(SYS_statx, fd, path, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) ||
        !(st.stx_mask & STATX_BTIME))
        return 0;
    return (uint64_t)st.stx_btime.tv_sec * 1000000000u + st.stx_btime.tv_nsec;
}

/* The boot of the machine, and the name space that may move its clock. */
uint64_t trace_clock_id(void)
{
    static uint64_t known; /* of the boot: once, also for the child of a fork */
    struct statx st;
    char boot[64];
    uint64_t h = known ? known : 0xcbf29ce484222325u;
    static const char id[] = "/proc/sys/kernel/random/boot_id";
    const long fd = known ? -1 : syscall(SYS_openat, AT_FDCWD, id, O_RDONLY | O_CLOEXEC);
    const long n = fd < 0 ? 0 : syscall(SYS_read, fd, boot, sizeof boot);
    if (fd >= 0)
        syscall(SYS_close, fd);
    for (long i = 0; i < n; i++)
        h = (h ^ (uint8_t)boot[i]) * 0x100000001b3u;
    known = known || n > 0 ? h : 0;
    if (!syscall(SYS_statx, AT_FDCWD, "/proc/self/ns/time", 0, STATX_INO, &st))
        h = (h ^ st.stx_ino) * 0x100000001b3u;
    return !known ? 0 : h ? h : 1;
}

void trace_clock_shift(struct trace_writer *w, int which, int64_t shift_ns, uint64_t error_ns)
{
    if (writer_is_open(w) && (which == 0 || which == 1))
        w->header->clock.shift[which] = (struct trace_clock_shift){shift_ns, error_ns, trace_now()};
}

/* Kernels of aarch64 may have pages of 16 or 64 KiB: chunks lie at their multiples. */
static uint64_t first_offset(void)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return page > TRACE_HEADER_BYTES ? page : TRACE_HEADER_BYTES;
}

static int writer_create(struct trace_writer *w, const char *folder, const uint8_t run_id[16])
{
    struct trace_header *h = NULL;
    struct timespec real = {0};
    uint64_t start = trace_now();
    int *alive = writer_map(TRACE_PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int why = alive ? make_path(w->path, sizeof w->path, folder, getpid(), start) : errno;
    if (!why)
        why = open_new(w, &h);
    if (why) {
        writer_unmap(alive, TRACE_PAGE);
        return why;
    }
    syscall(SYS_madvise, alive, TRACE_PAGE, MADV_WIPEONFORK);
    *alive = 1;
    w->alive = alive;
    clock_gettime(CLOCK_REALTIME, &real);
    h->version = TRACE_VERSION;
    h->header_bytes = TRACE_HEADER_BYTES;
    h->pid = getpid();
    h->parent = getppid();
    h->start_ns = start;
    h->start_realtime_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
    h->file_bytes = TRACE_HEADER_BYTES;
    w->taken = first_offset();
    h->capture_bytes = TRACE_HEADER_BYTES + TRACE_PAGE;
    memcpy(h->run_id, run_id, sizeof h->run_id);
    h->clock.id = trace_clock_id();
    h->inode = w->inode;
    h->born_ns = writer_birth_time(AT_FDCWD, w->path);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(h->magic, TRACE_MAGIC, sizeof h->magic);
    w->header = h;
    return 0;
}

int trace_create(struct trace_writer *w, const char *folder, const uint8_t run_id[16],
                 uint64_t byte_limit)
{
    int saved = errno;
    *w = (struct trace_writer){.fd = -1, .byte_limit = byte_limit};
    w->failed = writer_create(w, folder, run_id);
    errno = saved;
    return w->failed;
}

void trace_finish(struct trace_writer *w, enum trace_end end, int detail)
{
    if (!writer_is_open(w))
        return;
    w->header->end_detail = detail;
    w->header->end_ns = end == TRACE_RUNNING ? 0 : trace_now();
    __atomic_store_n(&w->header->end, end, __ATOMIC_RELEASE);
}

void trace_abandon(struct trace_writer *w)
{
    int saved = errno;
    writer_unmap(w->header, TRACE_HEADER_BYTES);
    writer_unmap(w->alive, TRACE_PAGE);
    if (w->header && writer_owns(w, w->fd))
        syscall(SYS_close, w->fd);
    *w = (struct trace_writer){.fd = -1};
    errno = saved;
}

static void writer_fail(struct trace_writer *w, int why)
{
    int none = 0;
    __atomic_compare_exchange_n(&w->failed, &none, why, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* NULL: no room, w->failed says why. */
static struct trace_chunk *new_chunk(struct trace_writer *w, uint32_t bytes)
{
    if (w->failed)
        return NULL;
    int why, fd = own_fd(w);
    if (fd < 0) {
        if (errno != EMFILE && errno != ENFILE) /* else the program may close one */
            writer_fail(w, EBADF);
        return NULL;
    }
    uint64_t offset = __atomic_load_n(&w->taken, __ATOMIC_RELAXED);
    do {
        if (w->byte_limit && offset + bytes > w->byte_limit) {
            descriptor_close(fd);
            writer_fail(w, EFBIG);
            return NULL;
        }
    } while (!__atomic_compare_exchange_n(&w->taken, &offset, offset + bytes, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    struct trace_chunk *c = map_room(fd, offset, bytes, &why);
    descriptor_close(fd);
    if (!c) {
        writer_fail(w, why);
        return NULL;
    }
    struct trace_header *h = w->header;
    __atomic_fetch_add(&h->capture_bytes, bytes, __ATOMIC_RELAXED);
    /* only now, so that after a kill the file is not shorter than its header says */
    uint64_t end = __atomic_load_n(&h->file_bytes, __ATOMIC_RELAXED);
    while (end < offset + bytes &&
           !__atomic_compare_exchange_n(&h->file_bytes, &end, offset + bytes, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
    return c;
}

static void release_chunk(struct trace_stream *s)
{
    struct trace_chunk *c = s->chunk;
    uint32_t bytes = c->bytes;
    s->sealing = 1;
    if (writer_is_open(s->writer)) {
        c->crc = trace_crc(0, &c->bytes, sizeof *c - offsetof(struct trace_chunk, bytes) + c->used);
        __atomic_store_n(&c->sealed, 1, __ATOMIC_RELEASE);
        __atomic_fetch_sub(&s->writer->header->capture_bytes, bytes, __ATOMIC_RELAXED);
    }
    s->chunk = NULL;
    s->sealing = 0;
    writer_unmap(c, bytes);
}

/* Without room for a new chunk the old one stays: smaller records may still fit. */
static int writer_next_chunk(struct trace_stream *s, size_t record_bytes, uint64_t now)
{
    int saved = errno;
    uint32_t bytes = TRACE_CHUNK_BYTES;
    if (!s->sequence && sizeof(struct trace_chunk) + record_bytes <= TRACE_CHUNK_FIRST &&
        first_offset() <= TRACE_CHUNK_FIRST)
        bytes = TRACE_CHUNK_FIRST;
    struct trace_chunk *c = new_chunk(s->writer, bytes);
    if (c) {
        c->bytes = bytes;
        c->tid = s->tid;
        c->sequence = s->sequence++;
        c->first_ns = now;
        __atomic_store_n(&c->magic, TRACE_CHUNK_MAGIC, __ATOMIC_RELEASE);
        if (s->chunk)
            release_chunk(s);
        s->chunk = c;
    }
    errno = saved;
    return c != NULL;
}

void trace_stream_open(struct trace_stream *s, struct trace_writer *w, uint32_t tid)
{
    *s = (struct trace_stream){.writer = w, .tid = tid};
}

/* A chunk that was sealed takes no more: it may be unmapped already, or about to be. */
void trace_stream_interrupted(struct trace_stream *s)
{
    if (s->sealing)
        s->chunk = NULL;
    s->sealing = s->busy = 0;
}

void trace_stream_close(struct trace_stream *s)
{
    int saved = errno;
    s->busy = 1;
    if (s->chunk)
        release_chunk(s);
    s->writer = NULL;
    s->busy = 0;
    errno = saved;
}

static int writer_append(struct trace_stream *s, const struct trace_record *record,
                         size_t record_bytes, const void *tail, size_t tail_bytes, const void *more,
                         size_t more_bytes)
{
    size_t bytes = (size_t)record->words * 8;
    struct trace_chunk *c = s->chunk;
    if (!c || sizeof *c + c->used + bytes > c->bytes) {
        if (!writer_next_chunk(s, bytes, record->time_ns))
            return 0;
        c = s->chunk;
    }
    char *start = (char *)(c + 1) + c->used, *to = start;
    memcpy(to, record, record_bytes);
    to += record_bytes;
    if (tail_bytes)
        memcpy(to, tail, tail_bytes);
    to += tail_bytes;
    if (more_bytes)
        memcpy(to, more, more_bytes);
    to += more_bytes;
    memset(to, 0, (size_t)(start + bytes - to));
    __atomic_store_n(&c->used, c->used + (uint32_t)bytes, __ATOMIC_RELEASE);
    return 1;
}

int trace_put2(struct trace_stream *s, struct trace_record *record, size_t record_bytes,
               const void *tail, size_t tail_bytes, const void *more, size_t more_bytes)
{
    if (!writer_is_open(s->writer))
        return 0;
    int written = 0;
    if (!s->busy && record_bytes <= TRACE_RECORD_MAX) {
        s->busy = 1;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        size_t room = TRACE_RECORD_MAX - record_bytes;
        if (tail_bytes > room || more_bytes > room - tail_bytes) {
            tail_bytes = tail_bytes < room ? tail_bytes : room;
            more_bytes = room - tail_bytes;
            record->flags |= TRACE_CUT;
        }
        record->words = (uint16_t)((record_bytes + tail_bytes + more_bytes + 7) / 8);
        if (!record->time_ns)
            record->time_ns = trace_now();
        written = writer_append(s, record, record_bytes, tail, tail_bytes, more, more_bytes);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        s->busy = 0;
    }
    if (!written)
        trace_lost(s->writer, TRACE_LOST_RECORDS, 1);
    return written;
}

int trace_put(struct trace_stream *s, struct trace_record *record, size_t record_bytes,
              const void *tail, size_t tail_bytes)
{
    return trace_put2(s, record, record_bytes, tail, tail_bytes, NULL, 0);
}
