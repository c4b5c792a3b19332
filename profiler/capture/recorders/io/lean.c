/* If recording each call takes too much of the CPU time, a read that goes on where the one
 * before ended only adds to its descriptor: 10 ns instead of 100. Counts, bytes, sizes, places and
 * pages stay exact. Times are those of one call in LEAN_ONE_IN or LEAN_MANY_ONE_IN. */
#include <errno.h>

#include "profiler/capture/raw/near.h"
#include "profiler/capture/recorders/io/lean.h"
#include "profiler/capture/recorders/io/names.h"

#define CALLER __builtin_return_address(0)

enum {
    MEASURED_ONE_IN = 4, /* of the calls that are drawn */
    LARGE = 1 << 20,
    ENTRY_NS = 3, /* the wrapper, of 39 instructions; 77 took 5, by pairs of runs at 3 GHz */
};

/* The run is one call at a place of its own: it waits with others like it. Not in files that are read
 * as a whole (lean_is_whole). 0: it is to be placed, with those. */
static inline int lean_run_jumps(struct io_descriptor *d)
{
    struct io_pending *r = &d->run;
    const unsigned n = r->jumps;
    if (r->calls != 1 || n >= IO_JUMPS || !d->seekable || d->many)
        return 0;
    io->jumps[d - io->descriptors].call[n] = (struct io_jump){
        .offset = r->end - r->bytes, .bytes = (uint32_t)r->bytes, .op = r->op - 1u};
    r->jumps = (uint8_t)(n + 1);
    return 1;
}

/* A call that does not go on from the one before: that is settled, and this one waits. */
static int lean_run_begin(struct io_descriptor *d, enum trace_io_op op, uint64_t at, uint64_t bytes,
                          int here)
{
    struct thread_slot *s = thread_own;
    struct io_file *f = &io->files[d->file - 1];
    struct io_pending *r = &d->run;
    int none = 0;
    if (bytes - 1 >= LARGE - 1 || (here && d->seekable && (!d->known || d->shared)))
        return 0;
    if (!(r->ready & 1u << op)) { /* else the row's line and its page stay where they are */
        if (op > TRACE_IO_WRITE || !f->begun[op] || f->kind == TRACE_TO_SOCKET)
            return 0;
        r->ready |= (uint8_t)(1u << op);
    }
    if (r->calls && !lean_run_jumps(d)) {
        if (!__atomic_compare_exchange_n(&f->lock, &none, (int)s->t.tid, 0, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            return 0;
        io_run_move(f, d);
        io_unlock(f);
    }
    r->op = (uint8_t)(op + 1);
    if (bytes - r->low >= r->sizes) {
        r->low = io_size_from(bytes, &r->sizes);
        if (r->sizes > LARGE - r->low)
            r->sizes = LARGE - r->low;
    }
    r->calls = 1;
    r->bytes = bytes;
    r->end = at + bytes;
    return 1;
}

/* Goes on with the run locked. */
static __attribute__((noinline)) int lean_data_other(struct io_descriptor *d, enum trace_io_op op,
                                                     uint64_t bytes, int64_t offset)
{
    const int here = offset == IO_HERE;
    const uint64_t at = here ? d->offset : (uint64_t)offset;
    const int counts = lean_run_begin(d, op, at, bytes, here);
    if (counts && here)
        d->offset = at + bytes;
    io_run_unlock(&d->run);
    return counts;
}

/* Keeps an address in a register: the compiler came to it anew for each member. */
#define LEAN_KEEP(address) __asm__("" : "+r"(address))

/* Rare steps are in functions that this one and those below jump to, so that they keep no registers.
 * LEAN_OTHER: the run is locked. */
enum lean_step { LEAN_NOT, LEAN_COUNTED, LEAN_OTHER };
static inline __attribute__((always_inline)) enum lean_step
lean_data_step(enum trace_io_op op, int fd, uint64_t bytes, int64_t offset)
{
    struct io_descriptor *d = io_descriptor_known(fd);
    if (__builtin_expect(!d, 0))
        return LEAN_NOT;
    LEAN_KEEP(d);
    struct io_pending *r = &d->run;
    const int here = offset == IO_HERE;
    const uint64_t at = here ? d->offset : (uint64_t)offset;
    if (__builtin_expect(!io_run_lock_of(r, op + 1u), 0))
        return io_run_lock(r) ? LEAN_OTHER : LEAN_NOT;
    if (__builtin_expect(bytes - r->low >= r->sizes || (at != r->end && d->seekable), 0))
        return LEAN_OTHER;
    r->calls++; /* those that are timed end the run, long before it is full */
    r->bytes += bytes;
    uint64_t end = at + bytes;
    LEAN_KEEP(end); /* not with `bytes` in a vector, which takes longer */
    r->end = end;
    if (here)
        d->offset = end;
    io_run_unlock(r);
    return LEAN_COUNTED;
}

static int lean_data(enum trace_io_op op, int fd, uint64_t bytes, int64_t offset)
{
    const enum lean_step step = lean_data_step(op, fd, bytes, offset);
    return step == LEAN_OTHER ? lean_data_other(&io->descriptors[fd], op, bytes, offset)
                              : (int)step;
}

/* Around a piece of code whose cost is measured: the processor overlaps it with neither side. */
static inline uint64_t io_stamp_between(void)
{
    return __atomic_load_n(&io_tick_ns, __ATOMIC_RELAXED) ? IO_TICKS | raw_ticks_between()
                                                          : trace_now();
}

/* Measures one in MEASURED_ONE_IN of the calls that are drawn, and times the others. */
static uint32_t lean_drawn_one_in(uint32_t timed_one_in)
{
    return timed_one_in / MEASURED_ONE_IN * (MEASURED_ONE_IN - 1);
}

/* Such a call stands for all that are not timed, by what it costs. */
static void lean_measured(struct thread_slot *s, uint64_t begin, uint64_t end)
{
    const uint64_t ticks = end & IO_TICKS ? io_between_ticks : 0;
    uint64_t ns = io_between(begin + ticks, end);
    if (ns > COST_MOST)
        return;
    const uint64_t calls = (uint64_t)lean_drawn_one_in(io_lean_one_in(&s->t)) * MEASURED_ONE_IN;
    ns = (ns + ENTRY_NS) * calls;
    s->t.cost_calls[TRACE_PART_IO] += calls;
    s->t.cost_ns[TRACE_PART_IO] += ns;
    s->t.io_ns += ns;
}

static __attribute__((noinline)) int lean_miss(void)
{
    struct thread_slot *s = thread_own;
    if (s && !s->t.busy) {
        s->t.io_weight = LEAN_UNTIMED;
        s->t.io_drawn = IO_DRAWN_NONE;
    }
    return 0;
}

/* Returns 1 if the call is measured, which then goes the long way from its hook. */
static int lean_miss_measured(void)
{
    const struct thread_slot *s = thread_own;
    const int is_measured = s && s->t.io_weight == LEAN_MEASURES;
    lean_miss();
    return is_measured;
}

/* io_lean_NAME by lean_NAME. A call that is measured takes the way of all others (`hot`): a copy of
 * that code, which ran once in 4,096 calls and was cold, told 2.5 times what samples saw of writes
 * and of opens in C; this 1.3 and 1.6 times. */
#define COUNTED(name, parameters, given, arguments, hot)                                           \
    static __attribute__((noinline)) int lean_##name##_measured parameters                         \
    {                                                                                              \
        struct thread_slot *s = thread_own;                                                        \
        (void)begin;                                                                               \
        s->t.io_weight = LEAN_MEASURES;                                                            \
        const uint64_t stamp = io_stamp_between();                                                 \
        (void)(hot);                                                                               \
        const uint64_t end = io_stamp_between();                                                   \
        if (s->t.io_weight == LEAN_UNTIMED)                                                        \
            return 0;                                                                              \
        s->t.io_weight = 0;                                                                        \
        lean_measured(s, stamp, end);                                                              \
        return 1;                                                                                  \
    }                                                                                              \
    int io_lean_##name parameters                                                                  \
    {                                                                                              \
        if (__builtin_expect(begin != IO_LEAN, 0))                                                 \
            return lean_##name##_measured given;                                                   \
        return __builtin_expect(lean_##name arguments, 1) ? 1 : lean_miss();                       \
    }

static __attribute__((noinline)) int64_t
lean_data_missed(int64_t result, int fd, enum trace_io_op op, int64_t offset, const void *caller)
{
    if (!lean_miss_measured())
        io_done(&(struct io_call){op, fd, result, offset, IO_LEAN, 0}, caller);
    return result;
}

static __attribute__((noinline)) int64_t lean_data_rare(int64_t result, int fd, enum trace_io_op op,
                                                        int64_t offset, const void *caller)
{
    if (lean_data_other(&io->descriptors[fd], op, (uint64_t)result, offset))
        return result;
    return lean_data_missed(result, fd, op, offset, caller);
}

static inline __attribute__((always_inline)) int64_t
lean_moved(int64_t result, int fd, enum trace_io_op op, int64_t offset, const void *caller)
{
    const enum lean_step step = lean_data_step(op, fd, (uint64_t)result, offset);
    if (__builtin_expect(step == LEAN_COUNTED, 1))
        return result;
    return step == LEAN_OTHER ? lean_data_rare(result, fd, op, offset, caller)
                              : lean_data_missed(result, fd, op, offset, caller);
}

CAPTURE_HOT_CODE int64_t io_lean_moved_here(int64_t result, int fd, enum trace_io_op op)
{
    return lean_moved(result, fd, op, IO_HERE, CALLER);
}

CAPTURE_HOT_CODE int64_t io_lean_moved_at(int64_t result, int fd, enum trace_io_op op,
                                          int64_t offset)
{
    return lean_moved(result, fd, op, offset, CALLER);
}

COUNTED(data, (enum trace_io_op op, int fd, int64_t result, int64_t offset, uint64_t begin),
        (op, fd, result, offset, begin), (op, fd, (uint64_t)result, offset),
        offset == IO_HERE ? io_lean_moved_here(result, fd, op)
                          : io_lean_moved_at(result, fd, op, offset))

static inline int lean_seek(int fd, int64_t result)
{
    struct io_descriptor *d = io_descriptor_known(fd);
    if (result < 0 || !d || !d->seekable || !io_run_lock(&d->run))
        return 0;
    d->offset = (uint64_t)result;
    d->known = 1;
    d->run.seeks++;
    io_run_unlock(&d->run);
    return 1;
}

static __attribute__((noinline)) int64_t lean_seek_missed(int64_t result, int fd,
                                                          const void *caller)
{
    if (!lean_miss_measured())
        io_seeked(fd, result, IO_LEAN, caller);
    return result;
}

CAPTURE_HOT_CODE int64_t io_lean_sought(int64_t result, int fd)
{
    if (__builtin_expect(lean_seek(fd, result), 1))
        return result;
    return lean_seek_missed(result, fd, CALLER);
}

COUNTED(seek, (int fd, int64_t result, uint64_t begin), (fd, result, begin), (fd, result),
        io_lean_sought(result, fd))

/* Above a few names, or opens of unknown ones, all belong to their folder. */
static uint32_t row_of_name(const char *path, int flags)
{
    enum { FEW = 64 };
    struct io_name n;
    uint32_t row = 0;
    if (__atomic_load_n(&io_names_known, __ATOMIC_RELAXED) > FEW) {
        n = io_name_of(path, 0);
        row = io_name_find(n.folder);
    }
    if (row) {
        io_name_keep(&thread_own->t.io_name, path, flags, row);
        io_summed = 1;
        return row;
    }
    n = io_name_of(path, 1);
    row = io_name_row(&n);
    if (row && __atomic_load_n(&io_names_known, __ATOMIC_RELAXED) > FEW) {
        int saved = errno;
        uint32_t many = io_folder_row(row);
        if (many)
            io_name_set(n.folder, many);
        errno = saved;
    }
    return row;
}

/* A read like the last one of the file before under this number goes on from it: `op`, `low` and
 * `sizes` of that are still there. */
static inline void lean_open_row(struct io_descriptor *d, uint32_t row, int flags, int many)
{
    io_open_by_name(d, flags);
    d->many = many != 0;
    d->run.opens = 1;
    if (d->whole.row != row || d->shared)
        d->run.op = d->run.ready = 0;
}

static __attribute__((noinline)) int lean_open_other(int fd, const char *path, int flags)
{
    struct io_descriptor *d = &io->descriptors[fd];
    uint32_t row = io_name_again(&thread_own->t.io_name, path);
    if (!row)
        row = io_name_suffices(path, flags) ? row_of_name(path, flags) : 0;
    if (!row)
        return 0;
    if (d->file)
        io_forget(fd);
    lean_open_row(d, row, flags, io->files[row - 1].flags & TRACE_IO_MANY);
    io_set_row(fd, row);
    return 1;
}

static inline int lean_open_is_by_name(int fd, const char *path, int flags)
{
    return __atomic_load_n(&io_storm, __ATOMIC_RELAXED) && (unsigned)fd < IO_DESCRIPTORS && path &&
           !(flags & ~IO_NAME_FLAGS);
}

/* Counts one more of the folder and ending that the thread opened last, where the one that lay
 * under this number before was such a file too. */
static inline __attribute__((always_inline)) int lean_open_again(int fd, const char *path,
                                                                 int flags)
{
    const struct capture_io_name *last = &thread_own->t.io_name;
    struct io_descriptor *d = &io->descriptors[fd];
    LEAN_KEEP(d);
    const uint32_t row = (uint32_t)flags == last->flags ? io_name_again(last, path) : 0;
    if (__builtin_expect(!row || d->file || d->whole.row != row, 0))
        return 0;
    d->writes = last->writes;
    d->many = 1;
    d->run.opens = 1;
    io_head_set(d, row | IO_HEAD_SEEKABLE | IO_HEAD_KNOWN);
    return 1;
}

static inline int lean_open(int fd, const char *path, int flags)
{
    if (!lean_open_is_by_name(fd, path, flags))
        return 0;
    return lean_open_again(fd, path, flags) || lean_open_other(fd, path, flags);
}

static __attribute__((noinline)) int lean_open_rare(int fd, const char *path, int flags,
                                                    const void *caller)
{
    if (lean_open_is_by_name(fd, path, flags) && lean_open_other(fd, path, flags))
        return fd;
    if (!lean_miss_measured())
        io_opened(fd, fd >= 0 ? path : NULL, flags, IO_LEAN, caller);
    return fd;
}

CAPTURE_HOT_CODE int io_lean_opened(int fd, const char *path, int flags)
{
    if (__builtin_expect(__atomic_load_n(&io_storm, __ATOMIC_RELAXED) &&
                             (unsigned)fd < IO_DESCRIPTORS && lean_open_again(fd, path, flags),
                         1))
        return fd;
    return lean_open_rare(fd, path, flags, CALLER);
}

COUNTED(open, (int fd, const char *path, int flags, uint64_t begin), (fd, path, flags, begin),
        (fd, path, flags), io_lean_opened(fd, path, flags))

enum { WHOLE_FEW = 64 }; /* what a SIGKILL loses */

/* Adds a file that was read from its start on, or not at all, to those before it; the run is locked. */
static inline void lean_add_whole(struct io_descriptor *d)
{
    struct io_pending *r = &d->run;
    struct io_whole *w = &d->whole;
    uint32_t files = w->files + (r->calls > 0);
    LEAN_KEEP(files);
    w->files = files;
    w->opens += r->opens;
    w->calls += r->calls;
    w->bytes += r->bytes;
    r->calls = r->opens = 0;
    r->end = r->bytes = 0;
    io_run_unlock(r);
    io_head_set(d, 0);
    d->streams = d->accepted = d->writes = d->many = 0;
    d->offset = 0;
}

static inline int lean_is_whole(const struct io_descriptor *d)
{
    const struct io_pending *r = &d->run;
    return d->many && !d->streams && !r->seeks && r->end == r->bytes && !d->wrote_ns;
}

static __attribute__((noinline)) int lean_close_other(int fd)
{
    struct io_descriptor *d = &io->descriptors[fd];
    struct io_pending *r = &d->run;
    struct io_whole *w = &d->whole;
    if (!lean_is_whole(d) || !io_run_lock(r)) {
        io_forget(fd);
        return 1;
    }
    if (w->row != d->file || w->files >= WHOLE_FEW ||
        (r->calls && w->calls && (w->op != r->op || w->low != r->low))) {
        io_whole_end(w);
        w->row = d->file;
    }
    if (r->calls) {
        w->op = r->op;
        w->low = r->low;
    }
    lean_add_whole(d);
    return 1;
}

/* The same as lean_is_whole, of the descriptor's first line: those of many files had no socket. */
static inline int lean_is_whole_soon(const struct io_descriptor *d)
{
    uint32_t has;
    const uint32_t looked_at = IO_HAS_STREAMS | IO_HAS_MANY;
    __builtin_memcpy(&has, &d->streams, sizeof has);
    return (has & looked_at) == IO_HAS_MANY_ONE && !d->run.seeks && d->run.end == d->run.bytes;
}

/* 0: lean_close_other is to count it. */
static inline __attribute__((always_inline)) int lean_close_again(int fd)
{
    struct io_descriptor *d = io_descriptor_known(fd);
    if (!d)
        return 1;
    LEAN_KEEP(d);
    const struct io_pending *r = &d->run;
    const struct io_whole *w = &d->whole;
    d->run.opens++;
    if (__builtin_expect(!lean_is_whole_soon(d) || w->row != d->file || w->files >= WHOLE_FEW ||
                             w->op != r->op || w->low != r->low || !io_run_lock(&d->run),
                         0))
        return 0;
    lean_add_whole(d);
    return 1;
}

static inline int lean_close(int fd)
{
    return lean_close_again(fd) || lean_close_other(fd);
}

static __attribute__((noinline)) int lean_close_rare(int fd, int (*real)(int))
{
    (void)lean_close_other(fd);
    return real(fd);
}

CAPTURE_HOT_CODE int io_lean_closes(int fd, int (*real)(int))
{
    return __builtin_expect(lean_close_again(fd), 1) ? real(fd) : lean_close_rare(fd, real);
}

static int close_nothing(int fd)
{
    return fd;
}

COUNTED(close, (int fd, uint64_t begin), (fd, begin), (fd), io_lean_closes(fd, close_nothing))

static __attribute__((noinline)) uint64_t lean_draw(struct capture_thread *t)
{
    uint64_t x = (uint64_t)(capture_random(t) * 0x1p32);
    const uint32_t one_in = io_lean_one_in(t);
    t->io_draws++;
    t->io_left = 1 + (uint32_t)(x % (2 * lean_drawn_one_in(one_in) - 1));
    x >>= 16;
    if (x % MEASURED_ONE_IN == 0)
        return IO_LEAN_MEASURED;
    unsigned d = (unsigned)__atomic_load_n(&io_doublings, __ATOMIC_RELAXED);
    unsigned log = (unsigned)__builtin_ctz(one_in);
    t->io_weight = one_in;
    io_lean_timed(t);
    d = d > log ? d : log;
    t->io_drawn = capture_random(t) * (double)(1u << (d - log)) <= 1 ? IO_DRAWN + d : IO_DRAWN_NONE;
    return io_stamp();
}

uint64_t io_lean_begin(void)
{
    struct thread_slot *s = thread_own;
    if (!s || s->t.busy)
        return io_stamp();
    if (s->t.io_left <= 1)
        return lean_draw(&s->t);
    s->t.io_left--;
    return IO_LEAN;
}
