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

#include "profiler/trace/brief.h"
#include "profiler/trace/writer_file.h"

/* System calls are made raw: mmap may lead to the capture library's own hook, and libc's
 * open, close, fallocate are points where a thread may be cancelled. */

static int writer_is_open(const struct trace_writer *w)
{
    return w && w->header && *w->alive;
}

void trace_lost(struct trace_writer *w, enum trace_loss what, uint64_t n)
{
    if (writer_is_open(w))
        __atomic_fetch_add(&w->header->lost[what], n, __ATOMIC_RELAXED);
}

void trace_clock_shift(struct trace_writer *w, int which, int64_t shift_ns, uint64_t error_ns)
{
    if (writer_is_open(w) && (which == 0 || which == 1))
        w->header->clock.shift[which] = (struct trace_clock_shift){shift_ns, error_ns, trace_now()};
}

/* Children of a fork write nothing into it. */
static void writer_set_alive(struct trace_writer *w, char *page)
{
    syscall(SYS_madvise, page, TRACE_PAGE, MADV_WIPEONFORK);
    *(int *)page = 1;
    w->alive = (int *)page;
}

/* Clears what the caller gives: this process or its parent may have used it before. */
static char *writer_memory(struct trace_writer *w, size_t bytes, char *given)
{
    w->is_given = given != NULL;
    if (!given)
        return writer_map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(given + TRACE_PAGE, 0, sizeof(struct trace_header));
    memset(given + TRACE_PAGE + TRACE_HEADER_BYTES, 0, sizeof(struct trace_chunk));
    return given;
}

static int writer_create(struct trace_writer *w, const char *folder, const uint8_t run_id[16],
                         int brief, uint64_t start, char *given)
{
    struct trace_header *h = NULL;
    struct timespec real = {0};
    const uint64_t now = trace_now();
    start = start ? start : now;
    size_t bytes = brief ? BRIEF_BYTES : TRACE_PAGE;
    char *memory = writer_memory(w, bytes, brief ? given : NULL);
    int fd = -1, why = memory ? writer_make_path(w, folder, getpid(), start) : errno;
    if (!why && !brief)
        fd = writer_make_file(w, &h, &why);
    if (why || (!brief && fd < 0)) {
        if (!w->is_given)
            writer_unmap(memory, bytes);
        return why;
    }
    if (brief) {
        w->brief = memory;
        h = (struct trace_header *)(memory + TRACE_PAGE);
    } else {
        writer_keep_file(w, fd);
        h->clock.id = trace_clock_id();
        h->born_ns = trace_birth_time(AT_FDCWD, w->path);
    }
    static const int given_alive = 1; /* nothing forks before writer_set_alive */
    if (w->is_given)
        w->alive = &given_alive;
    else
        writer_set_alive(w, memory);
    clock_gettime(CLOCK_REALTIME, &real);
    h->version = TRACE_VERSION;
    h->header_bytes = TRACE_HEADER_BYTES;
    h->pid = getpid();
    h->parent = getppid();
    h->start_ns = start;
    h->start_realtime_ns =
        (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec - (now - start);
    h->file_bytes = TRACE_HEADER_BYTES;
    w->taken = writer_first_offset();
    h->capture_bytes = TRACE_HEADER_BYTES + bytes - (brief ? TRACE_HEADER_BYTES : 0);
    memcpy(h->run_id, run_id, sizeof h->run_id);
    h->inode = w->inode;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(h->magic, TRACE_MAGIC, sizeof h->magic);
    w->header = h;
    return 0;
}

static int create_either(struct trace_writer *w, const char *folder, const uint8_t run_id[16],
                         uint64_t byte_limit, int brief, uint64_t start, char *given)
{
    int saved = errno;
    *w = (struct trace_writer){.fd = -1, .byte_limit = byte_limit};
    w->failed = writer_create(w, folder, run_id, brief, start, given);
    errno = saved;
    return w->failed;
}

int trace_create(struct trace_writer *w, const char *folder, const uint8_t run_id[16],
                 uint64_t byte_limit)
{
    return create_either(w, folder, run_id, byte_limit, 0, 0, NULL);
}

int trace_create_brief(struct trace_writer *w, const char *folder, const uint8_t run_id[16],
                       uint64_t byte_limit, uint64_t start_ns, void *memory)
{
    return create_either(w, folder, run_id, byte_limit, writer_page() == TRACE_PAGE, start_ns,
                         memory);
}

static void finish_header(struct trace_writer *w, enum trace_end end, int detail)
{
    w->header->end_detail = detail;
    w->header->end_ns = end == TRACE_RUNNING ? 0 : trace_now();
    __atomic_store_n(&w->header->end, end, __ATOMIC_RELEASE);
}

void trace_finish(struct trace_writer *w, enum trace_end end, int detail)
{
    int saved = errno, added = 0;
    if (!writer_is_open(w))
        return;
    int held = w->brief && brief_hold(w);
    finish_header(w, end, detail);
    if (held) {
        int was_added = w->added;
        w->added = added = end != TRACE_RUNNING && !brief_add(w);
        brief_release(w, added ? TRACE_ADDED : TRACE_HELD);
        if (!added && (end != TRACE_RUNNING || was_added))
            trace_to_file(w);
    } else if (w->brief && __atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == TRACE_MOVING &&
               end != TRACE_RUNNING) {
        brief_end_beside(w);
        finish_header(w, end, detail); /* of the file, where that is the header by now */
    }
    if (end == TRACE_RUNNING) {
        if (w->is_given)
            writer_set_alive(w, w->brief);
        brief_goes_on(w);
    }
    errno = saved;
}

void trace_abandon_file(struct trace_writer *w)
{
    int saved = errno;
    if (w->header && writer_owns(w, w->fd))
        syscall(SYS_close, w->fd);
    w->fd = -1;
    errno = saved;
}

void trace_abandon(struct trace_writer *w)
{
    int saved = errno;
    if (!w->brief || (char *)w->header != w->brief + TRACE_PAGE)
        writer_unmap(w->header, TRACE_HEADER_BYTES);
    if (w->moved)
        writer_unmap(w->moved, TRACE_CHUNK_FIRST);
    if (!w->is_given)
        writer_unmap(w->alive, w->brief ? BRIEF_BYTES : TRACE_PAGE);
    trace_abandon_file(w);
    *w = (struct trace_writer){.fd = -1};
    errno = saved;
}

/* NULL: no room, w->failed says why. */
static struct trace_chunk *chunk_in_file(struct trace_writer *w, uint32_t bytes)
{
    if (w->brief && w->state != TRACE_IN_FILE && trace_to_file(w))
        return NULL;
    int why, fd = writer_file(w);
    if (fd < 0) {
        if (errno != EMFILE && errno != ENFILE) /* else the program may close one */
            writer_fail(w, EBADF);
        return NULL;
    }
    uint64_t offset = __atomic_load_n(&w->taken, __ATOMIC_RELAXED);
    do {
        if (w->byte_limit && offset + bytes > w->byte_limit) {
            writer_close_file(fd);
            writer_fail(w, EFBIG);
            return NULL;
        }
    } while (!__atomic_compare_exchange_n(&w->taken, &offset, offset + bytes, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    struct trace_chunk *c = writer_map_room(fd, offset, bytes, &why);
    writer_close_file(fd);
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

static long chunk_job(struct trace_writer *w, uint32_t bytes)
{
    return (long)chunk_in_file(w, bytes);
}

static struct trace_chunk *new_chunk(struct trace_writer *w, uint32_t bytes)
{
    long made;
    if (w->failed)
        return NULL;
    struct trace_chunk *c = w->brief && w->state != TRACE_IN_FILE ? brief_take(w, bytes) : NULL;
    if (c)
        return c;
    if (!writer_owns(w, w->fd) && writer_elsewhere(w, chunk_job, bytes, &made))
        return (struct trace_chunk *)made;
    return chunk_in_file(w, bytes);
}

static void release_chunk(struct trace_stream *s)
{
    brief_follow(s);
    struct trace_chunk *c = s->chunk;
    uint32_t bytes = c->bytes;
    if (c == brief_chunk(s->writer)) { /* trace_finish has added it */
        s->chunk = NULL;
        return;
    }
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
        writer_first_offset() <= TRACE_CHUNK_FIRST)
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

void trace_stream_leave(struct trace_stream *s)
{
    s->chunk = NULL;
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
    if (s->writer->moved)
        brief_follow(s);
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
    if (more)
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
