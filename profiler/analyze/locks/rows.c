/* Rows of waits: one for each kind of lock and line that waits, and which lines held it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/analyze/attribute/frames.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/locks/locks_state.h"

/* Finds the place of a thread that waits for a lock or holds one: the innermost line of the
 * program's own code, and the compiled function below it. */

/* Functions in which programs wait for locks that they build on futexes: Rust, Abseil, parking_lot,
 * LLVM's OpenMP. */
static int is_locking(const char *function)
{
    static const char *const parts[] = {"lock_contended", "lock_slow", "LockSlow", "Mutex::lock",
                                        "RwLock",         "SpinLock",  "_raw_lock"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (function && strstr(function, parts[i]))
            return 1;
    return 0;
}

/* 1: the C library, the interpreter or a module of its own. */
static int frame_is_runtime(const struct resolved *f)
{
    return f->owner == OWNER_RUNTIME || (f->module && strstr(f->module, "/lib-dynload/"));
}

static const char *place_text(struct image *im, const char *s)
{
    return s ? run_text(im->run, s) : NULL;
}

/* Keeps the frames that are own as much as the innermost own one. */
static enum err place_frames(struct image *im, struct locks *l, const struct resolved *f, int n,
                             enum owner own, struct lock_place *p)
{
    p->frames = l->frames.count;
    for (int i = n - 1; i >= 0; i--) {
        if (f[i].owner > own || !f[i].file || f[i].line <= 0)
            continue;
        const struct lock_frame frame = {path_shown(im->run, f[i].file),
                                         place_text(im, f[i].function), f[i].line};
        TRY(vector_add(&l->frames, frame));
    }
    p->depth = l->frames.count - p->frames;
    return ERR_OK;
}

static enum err place_resolve(struct image *im, struct locks *l, uint32_t stack, struct resolved *f,
                              struct lock_place *p)
{
    int interpreter, n = frames_of(im, stack, f, RESOLVED_MAX, &interpreter), python = 0;
    const struct resolved *own = frames_line(f, n, OWNER_OWN);
    p->known = 1;
    while (python < n && !f[python].python)
        python++;
    p->releases = python < n;
    for (int i = 0; i < python; i++) {
        p->releases &= frame_is_runtime(&f[i]);
        p->locking |= is_locking(f[i].function);
        if (!interpreter && !p->native && f[i].owner != OWNER_RUNTIME && f[i].function)
            p->native = place_text(im, f[i].function);
    }
    if (!interpreter && !p->native && python && python < n) /* in the C library alone */
        p->native = place_text(im, f[0].function);
    p->signalling = python < n && f[python].file && text_ends(f[python].file, "/threading.py");
    if (!own) {
        for (int i = 0; i < n && !p->function; i++)
            if (f[i].owner != OWNER_RUNTIME)
                p->function = place_text(im, f[i].function);
        return ERR_OK;
    }
    p->file = path_shown(im->run, own->file);
    p->line = own->line;
    p->function = place_text(im, own->function);
    return place_frames(im, l, f, n, own->owner, p);
}

enum err lock_places(struct image *im, struct locks *l)
{
    struct resolved *room = malloc(RESOLVED_MAX * sizeof *room);
    FAIL_IF(!room, ERR_MEMORY, "no memory for the stacks of locks");
    enum err e = vector_room(&l->places, im->stacks.count);
    l->places.count = e == ERR_OK ? im->stacks.count : 0;
    for (size_t i = 0; i < l->waits.count && e == ERR_OK; i++) {
        struct lock_place *p = &l->places.items[l->waits.items[i].stack];
        e = p->known ? ERR_OK : place_resolve(im, l, l->waits.items[i].stack, room, p);
    }
    for (size_t i = 0; i < l->samples.count && e == ERR_OK; i++) {
        struct lock_place *p = &l->places.items[l->samples.items[i].stack];
        e = p->known ? ERR_OK : place_resolve(im, l, l->samples.items[i].stack, room, p);
    }
    free(room);
    return e;
}

enum { HOLDERS_SHOWN = 20, ROWS_MAX = 2000 };

static const char *const kinds[TRACE_LOCK_KINDS] = {[TRACE_LOCK_GIL] = "gil",
                                                    [TRACE_LOCK_MUTEX] = "mutex",
                                                    [TRACE_LOCK_READ] = "rwlock",
                                                    [TRACE_LOCK_WRITE] = "rwlock",
                                                    [TRACE_LOCK_CONDITION] = "condition",
                                                    [TRACE_LOCK_SEMAPHORE] = "semaphore",
                                                    [TRACE_LOCK_PYTHON] = "python_lock",
                                                    [TRACE_LOCK_FUTEX] = "futex"};

enum err lock_row_of(struct locks *l, const struct lock_wait *w, int *out)
{
    const struct lock_place *p = &l->places.items[w->stack];
    uint64_t key = table_mix((uintptr_t)kinds[w->kind] + (uint64_t)(w->contention != 0),
                             table_mix((uintptr_t)p->file, (uint64_t)p->line));
    key = p->file ? key : table_mix(key, (uintptr_t)p->function);
    uint32_t row = table_get(&l->row_by_key, key);
    if (row == TABLE_NONE) {
        row = (uint32_t)l->rows.count;
        TRY(vector_room(&l->rows, l->rows.count + 1));
        l->rows.items[l->rows.count++] =
            (struct lock_row){.kind = w->kind, .contention = w->contention, .at = p};
        TRY(table_put(&l->row_by_key, key, row));
    }
    struct lock_row *r = &l->rows.items[row];
    const struct {
        uint64_t key, *count;
    } different[] = {{table_mix(2 * (uint64_t)row, (uint64_t)w->thread), &r->threads},
                     {table_mix(2 * (uint64_t)row + 1, w->address), &r->locks}};
    for (int i = 0; i < 2; i++)
        if (table_get(&l->seen, different[i].key) == TABLE_NONE) {
            TRY(table_put(&l->seen, different[i].key, 1));
            ++*different[i].count;
        }
    *out = (int)row;
    return ERR_OK;
}

ARRAY_ORDER(longest_first, struct lock_holder, COMPARE(y->ns, x->ns));

static const char *reason_of(const struct lock_row *r, double unknown)
{
    if (unknown < 0.01 * r->ns)
        return NULL;
    if (r->kind == TRACE_LOCK_FUTEX || r->kind == TRACE_LOCK_PYTHON)
        return "nothing tells which thread holds a lock of this kind";
    if (r->readers * 2 > (int)r->waits)
        return "several threads held it for reading";
    if (r->no_owner * 2 > (int)r->waits)
        return "the lock named no owner when the wait began";
    return "the holder had no sample, or the lock was free and the thread that waited had no CPU";
}

/* Waits over time: as many parts of the run as fit, each a power of two of ns long. */
enum { WAIT_BINS = 128 };
#define BINS_LEAST 0.001 /* of the longest row: rows below it have none */

struct wait_bins {
    int shift;
    double least, *of; /* ns; WAIT_BINS for each row, s */
};

static void bins_add(double *bins, int shift, const struct lock_wait *w)
{
    for (uint64_t i = w->start >> shift; i <= w->end >> shift && i < WAIT_BINS; i++) {
        const uint64_t from = i << shift, to = (i + 1) << shift;
        bins[i] += (double)((w->end < to ? w->end : to) - (w->start > from ? w->start : from));
    }
}

/* Sums the waits of each row over time. free(b->of). */
static enum err bins_fill(const struct locks *l, struct wait_bins *b)
{
    uint64_t end = 1;
    double longest = 0;
    b->of = calloc(l->rows.count * WAIT_BINS + 1, sizeof *b->of);
    FAIL_IF(!b->of, ERR_MEMORY, "no memory for %zu rows of locks", l->rows.count);
    for (size_t i = 0; i < l->waits.count; i++)
        end = l->waits.items[i].end > end ? l->waits.items[i].end : end;
    while (end >> b->shift >= WAIT_BINS)
        b->shift++;
    for (size_t i = 0; i < l->waits.count; i++)
        if (l->waits.items[i].row != NO_ROW)
            bins_add(b->of + (size_t)l->waits.items[i].row * WAIT_BINS, b->shift,
                     &l->waits.items[i]);
    for (size_t i = 0; i < l->rows.count; i++)
        longest = fmax(longest, l->rows.items[i].ns);
    b->least = BINS_LEAST * longest;
    return ERR_OK;
}

/* Gives a row its waits over time, to 1 us. */
static enum err put_bins(struct run *run, const struct wait_bins *b, size_t index, double ns,
                         struct model_lock *row)
{
    const double *bins = b->of + index * WAIT_BINS;
    int n = WAIT_BINS;
    if (!(ns > 0) || ns < b->least)
        return ERR_OK;
    while (n > 1 && bins[n - 1] <= 0)
        n--;
    row->bin_s = ldexp(1e-9, b->shift);
    row->waited_s_count = n;
    row->waited_s = arena_take(run->m->arena, (size_t)n * sizeof *row->waited_s);
    FAIL_IF(!row->waited_s, ERR_MEMORY, "no memory for the profile");
    for (int i = 0; i < n; i++)
        row->waited_s[i] = rint(bins[i] * 1e-3) * 1e-6;
    return ERR_OK;
}

static enum err put_row(struct image *im, struct lock_row *r, const struct wait_bins *b,
                        size_t index)
{
    struct run *run = im->run;
    struct model_lock row;
    json_blank(&record_model_lock, &row);
    row.process = im->index;
    row.kind = kinds[r->kind];
    row.role = r->contention ? "contention" : "work";
    row.locks = (int64_t)r->locks;
    row.file = r->at->file;
    row.line = r->at->file ? r->at->line : MODEL_UNKNOWN;
    row.function = r->at->function;
    row.waits = (int64_t)r->waits;
    row.threads = (int64_t)r->threads;
    row.wait_s = r->ns * 1e-9;
    row.longest_s = r->longest * 1e-9;
    TRY(put_bins(run, b, index, r->ns, &row));
    vector_sort(&r->holders, longest_first);
    size_t n = r->holders.count < HOLDERS_SHOWN ? r->holders.count : HOLDERS_SHOWN;
    double scale = r->known > r->ns ? r->ns / r->known : 1; /* samples vary */
    if (r->contention) {
        double unknown = r->ns - scale * r->known;
        row.unknown_s = unknown * 1e-9;
        row.reason = reason_of(r, unknown);
        row.cpu_wait_s = fmin(r->queued, r->ns) * 1e-9;
    }
    TRY(model_list(run->m, model_holder, &row, holders, n));
    for (size_t i = 0; i < n; i++) {
        const struct lock_holder *h = &r->holders.items[i];
        row.holders[i] = (struct model_holder){
            .file = h->at.file,
            .line = h->at.file ? h->at.line : MODEL_UNKNOWN,
            .function = h->at.function,
            .native = h->native,
            .locked_file = h->locked.file,
            .locked_line = h->locked.file ? h->locked.line : MODEL_UNKNOWN,
            .asleep = h->asleep,
            .held_s = scale * h->ns * 1e-9,
            .share = scale * h->ns / r->ns,
        };
    }
    return run->locks.rows.count < ROWS_MAX ? vector_add(&run->locks.rows, row) : ERR_OK;
}

enum err lock_rows(struct image *im, const struct locks *l)
{
    struct wait_bins b = {0};
    enum err e = bins_fill(l, &b);
    for (size_t i = 0; i < l->rows.count && e == ERR_OK; i++)
        e = put_row(im, &l->rows.items[i], &b, i);
    free(b.of);
    return e;
}
