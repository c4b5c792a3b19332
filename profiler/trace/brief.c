/* Brief traces: in memory, then in a file of their own or added to the common one. */
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

#include "profiler/trace/brief.h"
#include "profiler/trace/writer_file.h"

#define WAIT_NS      50000
#define WAIT_MOST_NS 20000000u /* for another thread, which a busy machine may not let run */

struct trace_chunk *brief_chunk(const struct trace_writer *w)
{
    return w->brief ? (struct trace_chunk *)(w->brief + TRACE_PAGE + TRACE_HEADER_BYTES) : NULL;
}

struct trace_chunk *brief_take(struct trace_writer *w, uint32_t bytes)
{
    if (bytes != TRACE_CHUNK_FIRST || __atomic_exchange_n(&w->taken_first, 1, __ATOMIC_ACQ_REL))
        return NULL;
    return brief_chunk(w);
}

int brief_hold(struct trace_writer *w)
{
    const struct timespec t = {0, WAIT_NS};
    const uint64_t end = trace_now() + WAIT_MOST_NS;
    long self = syscall(SYS_gettid);
    do {
        int place = __atomic_load_n(&w->state, __ATOMIC_ACQUIRE);
        if (place == TRACE_IN_FILE)
            return 0;
        if (place == TRACE_MOVING && __atomic_load_n(&w->mover, __ATOMIC_RELAXED) == self)
            return 0; /* a handler of the program interrupted it */
        if (place == TRACE_MOVING)
            syscall(SYS_nanosleep, &t, NULL);
        else if (__atomic_compare_exchange_n(&w->state, &place, TRACE_MOVING, 0, __ATOMIC_ACQUIRE,
                                             __ATOMIC_RELAXED)) {
            __atomic_store_n(&w->mover, self, __ATOMIC_RELAXED);
            return 1;
        }
    } while (trace_now() < end);
    return 0;
}

void brief_release(struct trace_writer *w, enum trace_place place)
{
    __atomic_store_n(&w->mover, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&w->state, place, __ATOMIC_RELEASE);
}

/* Brings the chunk in the file up to what its thread has published in memory. */
static void brief_copy_chunk(struct trace_chunk *to, const struct trace_chunk *from)
{
    if (__atomic_load_n(&from->magic, __ATOMIC_ACQUIRE) != TRACE_CHUNK_MAGIC)
        return;
    uint32_t used = __atomic_load_n(&from->used, __ATOMIC_ACQUIRE), had = to->used;
    to->bytes = from->bytes;
    to->tid = from->tid;
    to->sequence = from->sequence;
    to->first_ns = from->first_ns;
    memcpy((char *)(to + 1) + had, (const char *)(from + 1) + had, used - had);
    __atomic_store_n(&to->used, used, __ATOMIC_RELEASE);
    __atomic_store_n(&to->magic, TRACE_CHUNK_MAGIC, __ATOMIC_RELEASE);
}

void brief_follow(struct trace_stream *s)
{
    struct trace_writer *w = s->writer;
    struct trace_chunk *to = __atomic_load_n(&w->moved, __ATOMIC_ACQUIRE);
    if (!to || s->chunk != brief_chunk(w) || !*w->alive)
        return;
    brief_copy_chunk(to, s->chunk);
    s->chunk = to;
    __atomic_store_n(&w->followed, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&w->moved, NULL, __ATOMIC_RELEASE);
}

/* Adds to the new header what was counted in the old one while it was being made. */
static void brief_switch_header(struct trace_writer *w, struct trace_header *to)
{
    struct trace_header *from = w->header;
    uint64_t lost[TRACE_LOSSES], bytes = from->capture_bytes;
    memcpy(lost, from->lost, sizeof lost);
    memcpy((char *)to + sizeof to->magic, (char *)from + sizeof to->magic,
           sizeof *to - sizeof to->magic);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(to->magic, TRACE_MAGIC, sizeof to->magic);
    __atomic_store_n(&w->header, to, __ATOMIC_SEQ_CST);
    for (int i = 0; i < TRACE_LOSSES; i++)
        __atomic_fetch_add(&to->lost[i], from->lost[i] - lost[i], __ATOMIC_RELAXED);
    __atomic_fetch_add(&to->capture_bytes, from->capture_bytes - bytes, __ATOMIC_RELAXED);
}

static int brief_move(struct trace_writer *w)
{
    int why = 0, fd;
    struct trace_header *header;
    struct trace_chunk *chunk = NULL;
    uint64_t first = writer_first_offset(), bytes = 0;
    if ((fd = writer_make_file(w, &header, &why)) < 0)
        return why;
    if (__atomic_exchange_n(&w->taken_first, 1, __ATOMIC_ACQ_REL)) {
        bytes = TRACE_CHUNK_FIRST;
        chunk = writer_map_room(fd, first, bytes, &why);
        if (chunk)
            brief_copy_chunk(chunk, brief_chunk(w));
    }
    if (why) {
        syscall(SYS_unlinkat, AT_FDCWD, w->path, 0);
        syscall(SYS_close, fd);
        writer_unmap(header, TRACE_HEADER_BYTES);
        return why;
    }
    w->header->clock.id = trace_clock_id();
    w->header->inode = w->inode;
    w->header->born_ns = trace_birth_time(fd, "");
    w->header->file_bytes = TRACE_HEADER_BYTES;
    if (bytes)
        w->header->file_bytes = first + bytes;
    w->header->capture_bytes += TRACE_HEADER_BYTES + bytes;
    w->taken = first + bytes;
    writer_keep_file(w, fd);
    brief_switch_header(w, header);
    __atomic_store_n(&w->moved, chunk, __ATOMIC_RELEASE);
    return 0;
}

static int brief_to_file(struct trace_writer *w)
{
    int why = 0;
    if (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == TRACE_ADDED)
        return EEXIST; /* it has ended */
    if (brief_hold(w)) {
        why = brief_move(w);
        if (why)
            writer_fail(w, why);
        brief_release(w, why ? TRACE_HELD : TRACE_IN_FILE);
    } else if (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != TRACE_IN_FILE) {
        why = EAGAIN;
    }
    return why;
}

static long brief_to_file_job(struct trace_writer *w, uint32_t bytes)
{
    (void)bytes;
    return brief_to_file(w);
}

int trace_to_file(struct trace_writer *w)
{
    int saved = errno;
    long why = 0;
    if (w->header && *w->alive && w->brief &&
        __atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != TRACE_IN_FILE &&
        !writer_elsewhere(w, brief_to_file_job, 0, &why))
        why = brief_to_file(w);
    errno = saved;
    return (int)why;
}

void trace_keep(struct trace_writer *w)
{
    int saved = errno;
    if (trace_to_file(w) == EAGAIN)
        brief_end_beside(w);
    errno = saved;
}

/* FOLDER/brief-CLOCK.tpb. The path of the trace's own file has room for it. */
static void brief_path(const struct trace_writer *w, char path[sizeof w->path + 32])
{
    static const char name[] = "brief-", end[] = ".tpb";
    const char *slash = strrchr(w->path, '/');
    size_t n = (size_t)(slash + 1 - w->path);
    memcpy(path, w->path, n);
    memcpy(path + n, name, sizeof name - 1);
    n += sizeof name - 1;
    for (int shift = 60; shift >= 0; shift -= 4)
        path[n++] = "0123456789abcdef"[w->header->clock.id >> shift & 15];
    memcpy(path + n, end, sizeof end);
}

__attribute__((noinline)) static int brief_write(const struct trace_writer *w, int fd)
{
    struct trace_header header = *w->header;
    struct trace_chunk chunk = *brief_chunk(w);
    struct statx st;
    struct rlimit limit;
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_INO | STATX_BTIME, &st))
        return errno;
    chunk.used = __atomic_load_n(&brief_chunk(w)->used, __ATOMIC_ACQUIRE);
    size_t bytes = sizeof header + sizeof chunk + chunk.used;
    /* Past the limit the kernel would send SIGXFSZ, which ends the program; others write too. */
    if (!S_ISREG(st.stx_mode) || getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur != RLIM_INFINITY)
        return EFBIG;
    header.inode = st.stx_ino;
    header.born_ns = st.stx_mask & STATX_BTIME
                         ? (uint64_t)st.stx_btime.tv_sec * 1000000000u + st.stx_btime.tv_nsec
                         : 0;
    header.file_bytes = TRACE_HEADER_BYTES + TRACE_CHUNK_FIRST;
    chunk.sealed = 1;
    uint32_t crc = trace_crc(0, &chunk.bytes, sizeof chunk - offsetof(struct trace_chunk, bytes));
    chunk.crc = trace_crc(crc, brief_chunk(w) + 1, chunk.used);
    struct iovec parts[] = {
        {&header, sizeof header}, {&chunk, sizeof chunk}, {brief_chunk(w) + 1, chunk.used}};
    long written = syscall(SYS_writev, fd, parts, 3);
    return written == (long)bytes ? 0 : written < 0 ? errno : ENOSPC;
}

/* The file under the name that readers leave out, or back. */
static void brief_hide_file(struct trace_writer *w, int hide)
{
    char hidden[sizeof w->path];
    size_t n = strlen(w->path);
    memcpy(hidden, w->path, n + 1);
    hidden[n - 1] = 'x';
    syscall(SYS_renameat, AT_FDCWD, hide ? w->path : hidden, AT_FDCWD, hide ? hidden : w->path);
    w->hidden = hide;
}

/* Until `moved` is set the memory has everything, and the file that the other thread is making may
 * have less. If that thread makes it after this, it finds all of it here. */
void brief_end_beside(struct trace_writer *w)
{
    if (__atomic_load_n(&w->moved, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&w->followed, __ATOMIC_ACQUIRE) || brief_add(w))
        return;
    brief_hide_file(w, 1);
}

void brief_goes_on(struct trace_writer *w)
{
    if (w->hidden)
        brief_hide_file(w, 0);
}

static long brief_add_here(struct trace_writer *w, uint32_t bytes)
{
    char path[sizeof w->path + 32];
    (void)bytes;
    if (writer_few_numbers() ||
        __atomic_load_n(&brief_chunk(w)->magic, __ATOMIC_ACQUIRE) != TRACE_CHUNK_MAGIC)
        return EMFILE;
    w->header->clock.id = trace_clock_id();
    brief_path(w, path);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path,
                          O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    int why = brief_write(w, fd);
    syscall(SYS_close, fd);
    return why;
}

int brief_add(struct trace_writer *w)
{
    long why;
    if (!writer_elsewhere(w, brief_add_here, 0, &why))
        why = brief_add_here(w, 0);
    return (int)why;
}
