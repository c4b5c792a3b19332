/* Rings of io_uring are read beside the program: entries stay in its memory after the kernel took
 * or gave them, until others are written over them. libaio hands out results in its calls. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/recorders/io/rings.h"
#include "profiler/capture/recorders/io/state.h"

enum { RINGS = 64, FILES = 256, PENDING_MOST = 4096, TRIES = 200, BATCH = 64 };

/* As the kernel has them, as far as they are read here. */
struct sqe {
    uint8_t opcode, flags;
    uint16_t priority;
    int32_t fd;
    uint64_t offset, address;
    uint32_t bytes, op_flags;
    uint64_t user_data;
};
struct cqe {
    uint64_t user_data;
    int32_t result;
    uint32_t flags;
};
enum {
    SQE_FIXED_FILE = 1,
    CQE_MORE = 2,
    SETUP_SQE128 = 1 << 10,
    SETUP_CQE32 = 1 << 11,
    SETUP_NO_SQARRAY = 1 << 16
};
enum {
    OP_READV = 1,
    OP_WRITEV,
    OP_FSYNC,
    OP_READ_FIXED,
    OP_WRITE_FIXED,
    OP_SYNC_RANGE = 8,
    OP_SENDMSG,
    OP_RECVMSG,
    OP_OPEN = 18,
    OP_CLOSE,
    OP_READ = 22,
    OP_WRITE,
    OP_SEND = 26,
    OP_RECV,
    OP_OPEN2
};

struct ring_pending {
    uint64_t user_data;
    int64_t offset; /* below 0: none */
    uint32_t row;   /* place + 1 */
    int fd;         /* below 0: of a registered file */
    uint8_t op, opens;
};

static struct ring {
    int fd; /* + 1; 0: free */
    int lock;
    struct io_ring_parts p;
    uint32_t flags, offsets[6]; /* until it is mapped: see io_ring_setup */
    unsigned sq_seen, cq_seen;
    struct ring_pending *pending;
    unsigned count, room;
    uint32_t rows[FILES]; /* of registered files, + 1 */
} * rings;
int io_rings;
uint64_t io_ring_calls, io_ring_requests, io_ring_lost;

static struct ring *ring_of(int fd)
{
    for (int i = 0; i < RINGS && rings; i++)
        if (rings[i].fd == fd + 1)
            return &rings[i];
    return NULL;
}

static int ring_lock(struct ring *g)
{
    int none = 0;
    for (int i = 0; i < TRIES; i++, none = 0)
        if (__atomic_compare_exchange_n(&g->lock, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return 1;
    return 0;
}

static void ring_unlock(struct ring *g)
{
    __atomic_store_n(&g->lock, 0, __ATOMIC_RELEASE);
}

static struct ring *new_ring(int fd)
{
    if (!io_lock_rows())
        return NULL;
    struct ring *g = ring_of(fd);
    int known = g != NULL;
    if (!rings)
        rings = io_take(RINGS * sizeof *rings);
    for (int i = 0; !g && i < RINGS && rings; i++)
        if (!rings[i].fd)
            g = &rings[i];
    if (g) {
        struct ring_pending *kept = g->pending;
        unsigned room = g->room;
        __atomic_fetch_add(&io_ring_lost, g->count, __ATOMIC_RELAXED); /* it was closed unseen */
        memset(g, 0, sizeof *g);
        g->pending = kept;
        g->room = room;
        g->fd = fd + 1;
        __atomic_fetch_add(&io_rings, !known, __ATOMIC_RELAXED);
    }
    io_unlock_rows();
    return g;
}

void io_ring_made(int fd, const struct io_ring_parts *parts)
{
    struct capture_thread *t = io_on && fd >= 0 ? io_enter(0, 0) : NULL;
    int saved = errno;
    struct ring *g = t ? new_ring(fd) : NULL;
    if (g) {
        g->p = *parts;
        g->sq_seen = *parts->sq_head;
        g->cq_seen = *parts->cq_tail;
    }
    if (t)
        io_leave(t, 0, saved);
}

/* struct io_uring_params: entries, their flags, then the offsets within the mappings. */
enum { SQ_ENTRIES, CQ_ENTRIES, FLAGS, SQ_HEAD = 10, SQ_ARRAY = 16, CQ_TAIL = 21, CQES = 25 };

void io_ring_setup(int fd, const void *params)
{
    const unsigned *p = params;
    struct capture_thread *t = io_on && fd >= 0 ? io_enter(0, 0) : NULL;
    int saved = errno;
    struct ring *g = t ? new_ring(fd) : NULL;
    if (g) {
        g->flags = p[FLAGS];
        g->p.sq_entries = p[SQ_ENTRIES];
        g->p.cq_entries = p[CQ_ENTRIES];
        g->p.sqe_bytes = p[FLAGS] & SETUP_SQE128 ? 128 : 64;
        g->p.cqe_bytes = p[FLAGS] & SETUP_CQE32 ? 32 : 16;
        memcpy(g->offsets, (unsigned[]){p[SQ_HEAD], p[SQ_ARRAY], p[CQ_TAIL], p[CQES]},
               4 * sizeof *p);
    }
    if (t)
        io_leave(t, 0, saved);
}

void io_ring_mapped(int fd, const void *at, int64_t offset)
{
    enum { MAP_SQ, MAP_CQ = 0x8000000, MAP_SQES = 0x10000000, FEATURE_SINGLE_MMAP = 1 };
    const uint8_t *base = at;
    struct ring *g = ring_of(fd);
    if (!g || !g->offsets[3])
        return;
    if (offset == MAP_SQES)
        g->p.sqes = base;
    if (offset == MAP_SQ) {
        g->p.sq_head = (const unsigned *)(base + g->offsets[0]);
        if (!(g->flags & SETUP_NO_SQARRAY))
            g->p.sq_array = (const unsigned *)(base + g->offsets[1]);
    }
    if (offset == MAP_CQ || (offset == MAP_SQ && !g->p.cq_tail)) { /* one mapping may hold both */
        g->p.cq_tail = (const unsigned *)(base + g->offsets[2]);
        g->p.cqes = base + g->offsets[3];
    }
}

void io_ring_files(int fd, const int *files, unsigned count)
{
    struct capture_thread *t = io_on && io_rings ? io_enter(0, 0) : NULL;
    int saved = errno;
    struct ring *g = t ? ring_of(fd) : NULL;
    for (unsigned i = 0; g && i < FILES; i++) {
        struct io_file *f;
        int one = files && i < count ? files[i] : -1;
        struct io_descriptor *d = one >= 0 ? io_descriptor(one, &f) : NULL;
        g->rows[i] = d ? (uint32_t)(f - io->files) + 1 : 0;
    }
    if (t)
        io_leave(t, 0, saved);
}

/* Requests that were put into it and have no result yet are no longer followed. */
static void ring_drop(struct ring *g)
{
    __atomic_fetch_add(&io_ring_lost, g->count, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&io_rings, 1, __ATOMIC_RELAXED);
    g->count = 0;
    g->fd = 0;
}

void io_ring_gone(int fd)
{
    struct ring *g = io_rings ? ring_of(fd) : NULL;
    if (!g)
        return;
    io_ring_poll(fd, 0, NULL);
    if (ring_lock(g)) {
        ring_drop(g);
        ring_unlock(g);
    }
}

static int op_of(uint8_t opcode)
{
    switch (opcode) {
    case OP_READV:
    case OP_READ_FIXED:
    case OP_READ:
    case OP_RECV:
    case OP_RECVMSG:
        return TRACE_IO_READ;
    case OP_WRITEV:
    case OP_WRITE_FIXED:
    case OP_WRITE:
    case OP_SEND:
    case OP_SENDMSG:
        return TRACE_IO_WRITE;
    case OP_FSYNC:
    case OP_SYNC_RANGE:
        return TRACE_IO_SYNC;
    case OP_OPEN:
    case OP_OPEN2:
        return TRACE_IO_OPEN;
    default:
        return -1;
    }
}

static void ring_submitted(struct ring *g, const struct sqe *s)
{
    int op = op_of(s->opcode), fixed = s->flags & SQE_FIXED_FILE;
    struct io_file *f = &io->files[0];
    if (s->opcode == OP_CLOSE && !fixed)
        io_forget(s->fd);
    if (op < 0)
        return;
    if (g->count == g->room && g->room < PENDING_MOST) {
        unsigned more = g->room ? 4 * g->room : BATCH;
        struct ring_pending *p = io_take(more * sizeof *p);
        if (p && g->count)
            memcpy(p, g->pending, g->count * sizeof *p);
        if (p) {
            g->pending = p;
            g->room = more;
        }
    }
    if (g->count == g->room) {
        __atomic_fetch_add(&io_ring_lost, 1, __ATOMIC_RELAXED);
        return;
    }
    uint32_t row = 1;
    if (fixed)
        row = s->fd >= 0 && s->fd < FILES && g->rows[s->fd] ? g->rows[s->fd] : 1;
    else if (op != TRACE_IO_OPEN && io_descriptor(s->fd, &f))
        row = (uint32_t)(f - io->files) + 1;
    int placed = op <= TRACE_IO_WRITE && (int64_t)s->offset >= 0;
    g->pending[g->count++] = (struct ring_pending){.user_data = s->user_data,
                                                   .offset = placed ? (int64_t)s->offset : -1,
                                                   .row = row,
                                                   .fd = fixed || op == TRACE_IO_OPEN ? -1 : s->fd,
                                                   .op = (uint8_t)op,
                                                   .opens = op == TRACE_IO_OPEN};
}

static void ring_completed(struct capture_thread *t, const struct ring_pending *p,
                           const struct cqe *c, uint64_t begin, uint64_t end, const void *caller)
{
    struct io_descriptor none = {.seekable = p->offset >= 0, .shared = 1};
    struct io_descriptor *d = p->fd >= 0 ? io_descriptor_known(p->fd) : NULL;
    struct io_file *f = &io->files[p->row - 1];
    int64_t bytes = p->opens && c->result >= 0 ? 0 : c->result;
    if (p->opens && c->result >= 0) {
        io_forget(c->result);
        d = io_descriptor(c->result, &f);
    } else if (d && d->file != p->row) {
        d = NULL; /* closed, and its number is another's */
    }
    if (d && p->offset < 0)
        d->known = 0;
    if (p->op <= TRACE_IO_WRITE && bytes > 0)
        __atomic_fetch_add(&io_no_chars[p->op == TRACE_IO_WRITE], (uint64_t)bytes,
                           __ATOMIC_RELAXED);
    io_add(t, d ? d : &none, f,
           &(struct io_add){.op = p->op,
                            .bytes = p->op == TRACE_IO_SYNC && bytes > 0 ? 0 : bytes,
                            .offset = p->offset,
                            .begin = begin,
                            .end = end},
           caller);
    __atomic_fetch_add(&io_ring_requests, 1, __ATOMIC_RELAXED);
}

/* Returns one end of a queue up to `now`: the first that is still in the program's memory. */
static unsigned first_left(unsigned *seen, unsigned now, unsigned entries)
{
    if (now - *seen > entries) {
        __atomic_fetch_add(&io_ring_lost, now - *seen - entries, __ATOMIC_RELAXED);
        *seen = now - entries;
    }
    return *seen;
}

/* Some entries at once, up to the end of the queue's memory. */
static unsigned ring_contiguous(unsigned i, unsigned end, unsigned entries)
{
    unsigned left = entries - (i & (entries - 1)), n = end - i < left ? end - i : left;
    return n < BATCH ? n : BATCH;
}

static void ring_read_submissions(struct ring *g)
{
    const struct io_ring_parts *p = &g->p;
    unsigned head, mask = p->sq_entries - 1, place[BATCH];
    struct sqe s;
    if (!safe_read((uintptr_t)p->sq_head, &head, sizeof head))
        return;
    for (unsigned i = first_left(&g->sq_seen, head, p->sq_entries), n; i != head; i += n) {
        n = ring_contiguous(i, head, p->sq_entries);
        if (p->sq_array &&
            !safe_read((uintptr_t)(p->sq_array + (i & mask)), place, n * sizeof *place))
            return;
        for (unsigned k = 0; k < n; k++) {
            unsigned at = p->sq_array ? place[k] & mask : (i + k) & mask;
            if (!safe_read((uintptr_t)(p->sqes + (size_t)at * p->sqe_bytes), &s, sizeof s))
                return;
            ring_submitted(g, &s);
        }
    }
    g->sq_seen = head;
}

static void ring_result(struct capture_thread *t, struct ring *g, const struct cqe *c,
                        uint64_t begin, uint64_t end, const void *caller)
{
    unsigned k = 0;
    while (k < g->count && g->pending[k].user_data != c->user_data)
        k++;
    if (k == g->count)
        return;
    ring_completed(t, &g->pending[k], c, begin, end, caller);
    if (!(c->flags & CQE_MORE)) {
        g->count--;
        memmove(g->pending + k, g->pending + k + 1, (g->count - k) * sizeof *g->pending);
    }
}

static void ring_read_completions(struct capture_thread *t, struct ring *g, uint64_t begin,
                                  const void *caller)
{
    const struct io_ring_parts *p = &g->p;
    uint64_t end = trace_now();
    unsigned tail;
    if (!t->scratch || !safe_read((uintptr_t)p->cq_tail, &tail, sizeof tail))
        return;
    uint8_t *room = (uint8_t *)t->scratch; /* BATCH entries of the larger kind: 2 KiB */
    unsigned i = first_left(&g->cq_seen, tail, p->cq_entries), n = tail - i;
    uint64_t part = begin && n ? (end - begin) / n : 0;
    for (; i != tail; i += n) {
        n = ring_contiguous(i, tail, p->cq_entries);
        uintptr_t at = (uintptr_t)p->cqes + (size_t)(i & (p->cq_entries - 1)) * p->cqe_bytes;
        if (!safe_read(at, room, n * p->cqe_bytes))
            return;
        for (unsigned k = 0; k < n; k++)
            ring_result(t, g, (const struct cqe *)(room + k * p->cqe_bytes), end - part, end,
                        caller);
    }
    g->cq_seen = tail;
}

void io_ring_poll(int fd, uint64_t begin, const void *caller)
{
    int saved = errno;
    struct capture_thread *t = io_on && capture.on && capture_is_here() ? io_enter(0, 0) : NULL;
    struct ring *g = t ? ring_of(fd) : NULL;
    if (t)
        __atomic_fetch_add(&io_ring_calls, 1, __ATOMIC_RELAXED);
    if (g && g->p.sqes && g->p.sq_head && g->p.cq_tail && ring_lock(g)) {
        ring_read_submissions(g);
        ring_read_completions(t, g, begin, caller);
        ring_unlock(g);
    }
    if (t)
        io_leave(t, 1, saved);
    errno = saved;
}

/* struct io_event and struct iocb of the kernel. */
struct aio_event {
    uint64_t data, request;
    int64_t result, result2;
};
struct aio_request {
    uint64_t data;
    uint32_t key, flags;
    uint16_t opcode;
    int16_t priority;
    uint32_t fd;
    uint64_t buffer, bytes;
    int64_t offset;
};

void io_events_done(const void *events, long count, uint64_t begin, const void *caller)
{
    static const uint8_t ops[] = {TRACE_IO_READ, TRACE_IO_WRITE, TRACE_IO_SYNC,
                                  TRACE_IO_SYNC, UINT8_MAX,      UINT8_MAX,
                                  UINT8_MAX,     TRACE_IO_READ,  TRACE_IO_WRITE};
    int saved = errno;
    struct capture_thread *t = begin && capture.on && capture_is_here() ? io_enter(0, 0) : NULL;
    uint64_t end = trace_now(), part = t && count > 0 ? (end - begin) / (uint64_t)count : 0;
    for (long i = 0; t && i < count; i++) {
        const struct aio_event *e = (const struct aio_event *)events + i;
        struct aio_request q;
        struct io_file *f;
        if (!safe_read((uintptr_t)e->request, &q, sizeof q) || q.opcode >= sizeof ops ||
            ops[q.opcode] == UINT8_MAX || !io_descriptor((int)q.fd, &f)) {
            __atomic_fetch_add(&io_ring_lost, 1, __ATOMIC_RELAXED);
            continue;
        }
        struct ring_pending p = {.row = (uint32_t)(f - io->files) + 1,
                                 .fd = (int)q.fd,
                                 .op = ops[q.opcode],
                                 .offset = ops[q.opcode] <= TRACE_IO_WRITE ? q.offset : -1};
        ring_completed(t, &p, &(struct cqe){.result = (int32_t)e->result}, end - part, end, caller);
    }
    if (t) {
        __atomic_fetch_add(&io_ring_calls, 1, __ATOMIC_RELAXED);
        io_leave(t, 1, saved);
    }
    errno = saved;
}

void io_rings_all(void)
{
    struct capture_thread *t = capture_self();
    for (int i = 0; rings && t && i < RINGS; i++)
        if (rings[i].fd && rings[i].p.sqes && ring_lock(&rings[i])) {
            ring_read_submissions(&rings[i]);
            ring_read_completions(t, &rings[i], 0, NULL);
            __atomic_fetch_add(&io_ring_lost, rings[i].count, __ATOMIC_RELAXED);
            rings[i].count = 0;
            ring_unlock(&rings[i]);
        }
}

/* A child's own results come from rings that it makes. */
void io_rings_forked(void)
{
    for (int i = 0; rings && i < RINGS; i++)
        rings[i].fd = rings[i].lock = 0;
    io_rings = 0;
    io_ring_requests = io_ring_lost = 0;
}
