/* Classifies calls by their place in the file; calls that go on from each other wait for that in
 * their descriptor. */
#include <string.h>

#include "profiler/capture/raw/near.h"
#include "profiler/capture/recorders/io/lean.h"

int io_threaded CAPTURE_HOT;

static const uint64_t size_most[] = {100,     1 << 10,  10 << 10,  100 << 10, 1 << 20,
                                     4 << 20, 10 << 20, 100 << 20, 1 << 30};

static unsigned size_cell(uint64_t bytes)
{
    unsigned i = 0;
    while (i < 9 && bytes > size_most[i])
        i++;
    return i;
}

uint32_t io_size_from(uint64_t bytes, uint32_t *sizes)
{
    unsigned i = size_cell(bytes);
    uint64_t low = i ? size_most[i - 1] + 1 : 1;
    *sizes = (uint32_t)(size_most[i < 9 ? i : 8] - low + 1);
    return (uint32_t)low;
}

static void add_moment(struct io_file *f, const struct io_moment *m)
{
    if (f->seen++ & (f->stride ? f->stride - 1 : 0))
        return;
    if (!f->stride) {
        f->stride = 1;
        f->moment = f->first;
        f->moment_room = IO_MOMENTS_FIRST;
    }
    if (f->moments == f->moment_room && f->moment_room < IO_MOMENTS) {
        struct io_moment *more = io_take(IO_MOMENTS * sizeof *more);
        if (more) {
            memcpy(more, f->moment, f->moments * sizeof *more);
            f->moment = more;
            f->moment_room = IO_MOMENTS;
        }
    }
    if (f->moments == f->moment_room) {
        for (uint32_t i = 0; i < f->moments / 2; i++)
            f->moment[i] = f->moment[2 * i];
        f->moments /= 2;
        f->stride *= 2;
        if ((f->seen - 1) & (f->stride - 1))
            return;
    }
    f->moment[f->moments++] = *m;
}

/* Adds the call's place among those before it on this descriptor; `rest` of its bytes are of
 * others, which go on from it. */
static void add_place(uint64_t *cell, struct io_descriptor *d, uint64_t offset, uint64_t bytes,
                      uint64_t rest)
{
    const unsigned streams = d->streams;
    unsigned next = streams, near = streams, at;
    enum trace_io_place place;
    for (unsigned i = streams; i-- > 0;) { /* the last used counts; without branches */
        const uint64_t over = offset - d->end[i];
        next = over ? next : i;
        near = over - 1 < IO_NEAR ? i : near;
    }
    if (!d->streams)
        place = TRACE_IO_FIRST;
    else if (next < d->streams)
        place = TRACE_IO_NEXT;
    else if (near < d->streams)
        place = TRACE_IO_NEAR;
    else
        place = offset > d->end[0] ? TRACE_IO_FORWARD : TRACE_IO_BACK;
    cell[TRACE_IO_PLACED + place]++;
    if (place >= TRACE_IO_FORWARD) {
        uint64_t jump = place == TRACE_IO_FORWARD ? offset - d->end[0] : d->end[0] - offset;
        unsigned power = jump ? 63u - (unsigned)__builtin_clzll(jump) : 0;
        cell[TRACE_IO_JUMPS + (power < 39 ? power : 39)]++;
        cell[TRACE_IO_GOING_ON] += rest;
    } else {
        cell[TRACE_IO_GOING_ON] += bytes;
    }
    at = next < d->streams ? next : near;
    if (at == d->streams)
        at = d->streams < IO_STREAMS ? d->streams++ : IO_STREAMS - 1;
    if (at == IO_STREAMS - 1) { /* as nearly always, where calls jump about: in registers */
        uint64_t end[IO_STREAMS - 1];
        __builtin_memcpy(end, d->end, sizeof end);
        __builtin_memcpy(d->end + 1, end, sizeof end);
    } else
        for (unsigned i = at; i > 0; i--)
            d->end[i] = d->end[i - 1];
    d->end[0] = offset + bytes;
}

void io_add_data(struct io_file *f, struct io_descriptor *d, const struct io_add *a,
                 const struct capture_thread *t)
{
    uint64_t bytes = (uint64_t)a->bytes;
    int reads = a->op == TRACE_IO_READ;
    uint64_t *cell = f->cell + trace_io_part(a->op, 0);
    cell[TRACE_IO_SIZES + size_cell(bytes)]++;
    if (t->io_weight != LEAN_UNTIMED)
        cell[TRACE_IO_TIMES + trace_io_time_cell(a->end - a->begin)] +=
            t->io_weight ? t->io_weight : 1;
    if (!bytes || !d->seekable)
        return;
    if (a->offset < 0) {
        cell[TRACE_IO_SOMEWHERE]++;
        return;
    }
    add_place(cell, d, (uint64_t)a->offset, bytes, 0);
    if (reads && !(f->flags & TRACE_IO_MANY))
        io_pages_add(&f->pages, (uint64_t)a->offset, bytes, io_take);
    add_moment(f, &(struct io_moment){a->begin, (uint64_t)a->offset, bytes,
                                      (uint64_t)t->tid << 8 | a->op});
}

void io_add_run(struct io_file *f, struct io_descriptor *d, const struct io_add *a, uint64_t calls)
{
    uint64_t bytes = (uint64_t)a->bytes, *cell = f->cell + trace_io_part(a->op, 0);
    const uint64_t each = calls == 1 ? bytes : bytes / calls;
    cell[TRACE_IO_SIZES + size_cell(each)] += calls;
    if (!d->seekable)
        return;
    add_place(cell, d, (uint64_t)a->offset, bytes, bytes - each);
    cell[TRACE_IO_PLACED + TRACE_IO_NEXT] += calls - 1;
    f->seen += calls;
    if (a->op == TRACE_IO_READ && !(f->flags & TRACE_IO_MANY))
        io_pages_add(&f->pages, (uint64_t)a->offset, bytes, io_take);
}

/* Returns how many calls wait as jumps, which it takes out. */
static unsigned jumps_take(struct io_descriptor *d, const struct io_jump **first)
{
    const unsigned count = d->run.jumps;
    d->run.jumps = 0;
    *first = count ? io->jumps[d - io->descriptors].call : NULL;
    return count < IO_JUMPS ? count : IO_JUMPS;
}

static void jumps_move(struct io_file *f, struct io_descriptor *d)
{
    const struct io_jump *j;
    for (unsigned n = jumps_take(d, &j); n > 0; n--, j++) {
        const struct io_add a = {.op = (enum trace_io_op)j->op,
                                 .bytes = (int64_t)j->bytes,
                                 .offset = (int64_t)j->offset};
        f->op[a.op].calls++;
        f->op[a.op].bytes += j->bytes;
        io_add_run(f, d, &a, 1);
    }
}

void io_run_move(struct io_file *f, struct io_descriptor *d)
{
    struct io_pending *r = &d->run;
    if (r->jumps)
        jumps_move(f, d);
    if (r->calls) {
        struct io_add a = {.op = (enum trace_io_op)(r->op - 1), .bytes = (int64_t)r->bytes};
        a.offset = d->seekable ? (int64_t)(r->end - r->bytes) : -1;
        f->op[a.op].calls += r->calls;
        f->op[a.op].bytes += r->bytes;
        io_add_run(f, d, &a, r->calls);
    }
    f->op[TRACE_IO_OPEN].calls += r->opens;
    f->op[TRACE_IO_SEEK].calls += r->seeks;
    f->changed = 1;
    r->calls = r->opens = r->seeks = 0;
    r->bytes = 0;
}

void io_run_flush(struct io_file *f, struct io_descriptor *d)
{
    if (!io_run_waits(d) || !io_run_lock(&d->run))
        return;
    io_run_move(f, d);
    d->run.op = 0;
    io_run_unlock(&d->run);
}

/* Counts calls of a row that another thread keeps. */
static void missed_add(struct io_file *f, unsigned op, uint64_t calls, uint64_t bytes)
{
    __atomic_fetch_add(&f->missed[op][0], calls, __ATOMIC_RELAXED);
    __atomic_fetch_add(&f->missed[op][1], bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&io_unplaced, calls, __ATOMIC_RELAXED);
}

void io_whole_end(struct io_whole *w)
{
    struct thread_slot *s = thread_own;
    struct io_file *f = w->row ? &io->files[w->row - 1] : NULL;
    if (f && s && io_lock(f, s->t.tid)) {
        f->op[TRACE_IO_OPEN].calls += w->opens;
        if (w->calls) {
            enum trace_io_op op = (enum trace_io_op)(w->op - 1);
            uint64_t *cell = f->cell + trace_io_part(op, 0);
            f->op[op].calls += w->calls;
            f->op[op].bytes += w->bytes;
            cell[TRACE_IO_SIZES + size_cell(w->bytes / w->calls)] += w->calls;
            cell[TRACE_IO_PLACED + TRACE_IO_FIRST] += w->files;
            cell[TRACE_IO_PLACED + TRACE_IO_NEXT] += w->calls - w->files;
            cell[TRACE_IO_GOING_ON] += w->bytes;
            f->seen += w->calls;
        }
        f->changed = 1;
        io_unlock(f);
    } else if (f) {
        if (w->calls)
            missed_add(f, w->op - 1, w->calls, w->bytes);
        __atomic_fetch_add(&f->missed[TRACE_IO_OPEN][0], w->opens, __ATOMIC_RELAXED);
        f->changed = 1;
    }
    *w = (struct io_whole){0};
}

/* Also where a handler left the run locked by a jump. */
void io_run_end(struct io_descriptor *d)
{
    struct thread_slot *s = thread_own;
    struct io_file *f = &io->files[d->file - 1];
    int none = 0;
    if (s && (__atomic_compare_exchange_n(&f->lock, &none, (int)s->t.tid, 0, __ATOMIC_ACQUIRE,
                                          __ATOMIC_RELAXED) ||
              io_lock(f, s->t.tid))) {
        io_run_move(f, d);
        io_unlock(f);
        return;
    }
    struct io_pending *r = &d->run;
    const struct io_jump *j;
    for (unsigned n = jumps_take(d, &j); n > 0; n--, j++)
        missed_add(f, j->op, 1, j->bytes);
    if (r->calls)
        missed_add(f, r->op - 1u, r->calls, r->bytes);
    __atomic_fetch_add(&f->missed[TRACE_IO_OPEN][0], r->opens, __ATOMIC_RELAXED);
    __atomic_fetch_add(&f->missed[TRACE_IO_SEEK][0], r->seeks, __ATOMIC_RELAXED);
    f->changed = 1;
    *r = (struct io_pending){0};
}
