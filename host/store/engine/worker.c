/* A worker: fetches the parts of a group together, then decodes, converts and places each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/memory.h"
#include "host/store/codec/children.h"
#include "host/store/engine/worker.h"

#define HUGE_PAGE    ((size_t)2 << 20)
#define HUGE_FROM    ((size_t)4 << 20)
#define DIRECT_BYTES 16384 /* parts from this size on are read straight into their place */

void worker_fail(struct engine_job *job, enum err e)
{
    if (__atomic_exchange_n(&job->failed, 1, __ATOMIC_ACQ_REL))
        return;
    snprintf(job->text, sizeof job->text, "%s", err_text());
    job->e = e;
}

/* Room in one of the worker's buffers, aligned for O_DIRECT; large ones are asked for first. */
static enum err worker_room(struct engine_worker *w, unsigned char **buffer, size_t *have,
                            size_t need)
{
    if (*have >= need)
        return ERR_OK;
    need = (need + need / 8 + FETCH_ALIGN - 1) / FETCH_ALIGN * FETCH_ALIGN;
    if (need > (size_t)64 << 20)
        TRY(mem_require("a chunk of the file", need, NULL));
    free(*buffer);
    __atomic_fetch_add(&w->job->buffer_bytes, (int64_t)(need - *have), __ATOMIC_RELAXED);
    const int huge = need >= HUGE_FROM; /* fewer page faults: they cost more than a copy */
    need = huge ? (need + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : need;
    *buffer = aligned_alloc(huge ? HUGE_PAGE : FETCH_ALIGN, need);
    if (*buffer && huge)
        madvise(*buffer, need, MADV_HUGEPAGE);
    *have = *buffer ? need : 0;
    FAIL_IF(!*buffer, ERR_MEMORY, "no memory left for %zu bytes of chunks", need);
    return ERR_OK;
}

static unsigned char *target_of(const struct engine_job *job, const struct engine_task *t)
{
    unsigned char *out = job->out;
    for (int d = 0; d < job->plan->array->dims; d++)
        out += (t->start[d] - job->plan->box.start[d]) * job->stride[d];
    return out;
}

/* Computes the strides of a box of `shape` in the order of the array's chunks, in bytes. */
static void packed_strides(const struct store_array *a, const int64_t shape[STORE_DIMS],
                           int64_t bytes, int64_t stride[STORE_DIMS])
{
    for (int k = a->dims - 1; k >= 0; k--) {
        stride[a->order[k]] = bytes;
        bytes *= shape[a->order[k]];
    }
}

static int64_t task_elements(const struct store_array *a, const struct engine_task *t)
{
    int64_t n = 1;
    for (int d = 0; d < a->dims; d++)
        n *= t->count[d];
    return n;
}

/* Returns 1 where the part's bytes in the file are its bytes in the output. */
static int is_direct(const struct engine_worker *w, const struct engine_task *t)
{
    const struct engine_job *job = w->job;
    const struct store_array *a = job->plan->array;
    int64_t stride[STORE_DIMS];
    const int same = a->dtype.kind == job->type.kind && a->dtype.bytes == job->type.bytes &&
                     !a->dtype.swap && !a->tiles;
    if (!same || !w->fetch.way->any_memory || t->bytes < DIRECT_BYTES ||
        a->pipelines[a->chunks[t->chunk].pipeline].count || a->chunks[t->chunk].whole ||
        t->bytes != task_elements(a, t) * a->dtype.bytes)
        return 0;
    packed_strides(a, t->count, a->dtype.bytes, stride);
    for (int d = 0; d < a->dims; d++)
        if (t->count[d] > 1 && stride[d] != job->stride[d])
            return 0;
    return 1;
}

/* A part goes into the request before it when it follows closely in the same file. */
static int request_follows(const struct engine_worker *w, const struct fetch_request *r,
                           const struct store_object *o, const struct engine_task *t)
{
    const struct engine_options *options = &w->job->plan->options;
    const int64_t end = r->offset + r->bytes;
    return options->gap >= 0 && !r->whole && r->object == o && t->offset >= r->offset &&
           t->offset <= end + options->gap && r->to == NULL &&
           (t->offset + t->bytes <= end || t->offset + t->bytes - r->offset <= options->largest);
}

/* The task's chunk where it is kept. Neighbours of one chunk share what is held. */
static struct cached_chunk *task_held_chunk(const struct engine_worker *w, int64_t first, int64_t i)
{
    const struct engine_plan *p = w->job->plan;
    const int64_t chunk = p->tasks[i].chunk;
    if (!p->options.kept || !p->array->pipelines[p->array->chunks[chunk].pipeline].count)
        return NULL;
    if (i > first && p->tasks[i - 1].chunk == chunk)
        return w->held[i - 1 - first];
    return chunk_cache_get(p->options.kept, p->array, chunk);
}

/* Requests of tasks [first, last); request_of says which one each has, -1: none. */
static int plan_requests(struct engine_worker *w, int64_t first, int64_t last, int64_t *buffer)
{
    const struct engine_plan *p = w->job->plan;
    int n = 0;
    *buffer = 0;
    for (int64_t i = first; i < last; i++) {
        const struct engine_task *t = &p->tasks[i];
        const int32_t object = p->array->chunks[t->chunk].object;
        w->request_of[i - first] = -1;
        w->held[i - first] = NULL;
        if (object < 0 || !t->bytes)
            continue;
        if ((w->held[i - first] = task_held_chunk(w, first, i)))
            continue;
        const struct store_object *o = &p->store->objects[object];
        struct fetch_request *r = n ? &w->requests[n - 1] : NULL;
        const int direct = is_direct(w, t);
        if (!direct && r && request_follows(w, r, o, t)) {
            const int64_t end = t->offset + t->bytes - r->offset;
            r->bytes = end > r->bytes ? end : r->bytes;
        } else {
            w->requests[n++] = (struct fetch_request){.object = o,
                                                      .offset = t->offset,
                                                      .bytes = t->bytes,
                                                      .whole = p->array->chunks[t->chunk].whole,
                                                      .to = direct ? target_of(w->job, t) : NULL};
        }
        w->request_of[i - first] = n - 1;
    }
    for (int i = 0; i < n; i++)
        if (!w->requests[i].to)
            *buffer += (w->requests[i].bytes + 3 * FETCH_ALIGN - 1) / FETCH_ALIGN * FETCH_ALIGN;
    return n;
}

static enum err fetch_all(struct engine_worker *w, int n, int plain)
{
    if (plain == n)
        return n ? fetch_read(&w->fetch, w->requests, n) : ERR_OK;
    for (int i = 0; i < n; i++) {
        struct fetch_request *r = &w->requests[i];
        if (!r->object->memory) {
            TRY(fetch_read(&w->fetch, r, 1));
            continue;
        }
        r->begin_ns = clock_ns();
        r->data = memcpy(r->to, (const char *)r->object->memory + r->offset, (size_t)r->bytes);
        r->end_ns = clock_ns();
    }
    return ERR_OK;
}

static enum err fetch_group(struct engine_worker *w, int64_t first, int64_t last)
{
    int64_t buffer;
    if (last - first > w->requests_room) {
        free(w->requests);
        free(w->request_of);
        free(w->held);
        w->requests_room = last - first;
        w->requests = calloc((size_t)w->requests_room, sizeof *w->requests);
        w->request_of = calloc((size_t)w->requests_room, sizeof *w->request_of);
        w->held = calloc((size_t)w->requests_room, sizeof *w->held);
        FAIL_IF(!w->requests || !w->request_of || !w->held, ERR_MEMORY,
                "no memory left for a batch");
    }
    const int n = plan_requests(w, first, last, &buffer);
    w->held_count = last - first;
    TRY(worker_room(w, &w->stored, &w->stored_room, (size_t)buffer));
    unsigned char *to = w->stored;
    int plain = 0; /* requests of files; what lies in memory needs no reading */
    for (int i = 0; i < n; i++) {
        struct fetch_request *r = &w->requests[i];
        if (!r->to) {
            r->to = to;
            to += (r->bytes + 3 * FETCH_ALIGN - 1) / FETCH_ALIGN * FETCH_ALIGN;
        }
        plain += !r->object->memory;
    }
    TRY(fetch_all(w, n, plain));
    int64_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += w->requests[i].whole ? w->requests[i].got > 0 ? w->requests[i].got : 0
                                      : w->requests[i].bytes;
    __atomic_fetch_add(&w->job->requests, n, __ATOMIC_RELAXED);
    __atomic_fetch_add(&w->job->bytes_fetched, bytes, __ATOMIC_RELAXED);
    return ERR_OK;
}

/* The decoded chunk's bytes that the part needs end here. */
static int64_t task_needed_bytes(const struct store_array *a, const struct engine_task *t,
                                 const int64_t stride[STORE_DIMS])
{
    int64_t last = t->first;
    for (int d = 0; d < a->dims; d++)
        last += (t->count[d] - 1) * stride[d] / a->dtype.bytes;
    return (last + 1) * a->dtype.bytes;
}

/* Returns 1 where a decoded chunk is, byte for byte, the same as its part of the output. */
static int is_in_place(const struct engine_job *job, const struct engine_task *t,
                       const int64_t shape[STORE_DIMS], const int64_t stride[STORE_DIMS])
{
    const struct store_array *a = job->plan->array;
    if (a->tiles || a->dtype.kind != job->type.kind || a->dtype.bytes != job->type.bytes ||
        a->dtype.swap || a->chunks[t->chunk].skip)
        return 0;
    for (int d = 0; d < a->dims; d++)
        if (t->count[d] != shape[d] || (shape[d] > 1 && stride[d] != job->stride[d]))
            return 0;
    return 1;
}

/* A chunk into the worker's own memory, and from there to those that are kept. Of others only what
 * the part needs, `needed` bytes at most; several parts of a tile need it whole. */
static enum err task_decode_chunk(struct engine_worker *w, const struct engine_task *t,
                                  const unsigned char *stored, size_t n, int64_t needed)
{
    const struct store_array *a = w->job->plan->array;
    const struct store_chunk *c = &a->chunks[t->chunk];
    const struct codec_pipeline *p = &a->pipelines[c->pipeline];
    struct chunk_cache *kept = w->job->plan->options.kept;
    const size_t whole = (size_t)(c->skip + store_chunk_bytes(a, t->chunk)),
                 begin = (size_t)(c->skip + t->first * a->dtype.bytes),
                 end = (size_t)(c->skip + needed);
    const int keep = kept && chunk_cache_takes(kept, whole);
    const size_t all = keep || a->tiles ? whole : codec_part_bytes(p, whole, end);
    const int part = !keep && !a->tiles;
    w->decoded_chunk = -1;
    TRY(worker_room(w, &w->decoded, &w->decoded_room, all)); /* no page of it where a child lends */
    TRY(codec_decode_lent(&w->codecs, p, stored, n, w->decoded, all, part ? begin : 0,
                          part ? end : 0, &w->chunk));
    w->decoded_chunk = a->tiles ? t->chunk : -1;
    if (keep)
        chunk_cache_add(kept, a, t->chunk, w->chunk, whole);
    return ERR_OK;
}

/* Finds the part's first element, and the strides between its elements. */
static enum err task_decode(struct engine_worker *w, const struct engine_task *t,
                            const struct fetch_request *r, const struct cached_chunk *held,
                            const unsigned char **from, int64_t stride[STORE_DIMS])
{
    const struct store_array *a = w->job->plan->array;
    const struct store_chunk *c = &a->chunks[t->chunk];
    int64_t from_chunk[STORE_DIMS], shape[STORE_DIMS];
    store_chunk_shape(a, t->chunk, from_chunk, shape);
    packed_strides(a, shape, a->dtype.bytes, stride);
    if (held) {
        *from = chunk_cache_bytes(held) + c->skip + t->first * a->dtype.bytes;
        return ERR_OK;
    }
    const int64_t stored = r->whole ? r->got : t->bytes;
    const unsigned char *bytes = r->data + (t->offset - r->offset);
    if (a->pipelines[c->pipeline].count == 0) {
        FAIL_IF(r->whole && stored < store_chunk_bytes(a, t->chunk), ERR_INPUT,
                "%lld bytes are stored, %lld are needed", (long long)stored,
                (long long)store_chunk_bytes(a, t->chunk));
        *from = bytes + t->first * a->dtype.bytes;
        return ERR_OK;
    }
    const int apart = codec_needs_child(&a->pipelines[c->pipeline]);
    if (!apart && !w->job->plan->options.kept && is_in_place(w->job, t, shape, stride)) {
        unsigned char *target = target_of(w->job, t);
        *from = target;
        return codec_decode(&w->codecs, &a->pipelines[c->pipeline], bytes, (size_t)stored, target,
                            (size_t)store_chunk_bytes(a, t->chunk));
    }
    if (w->decoded_chunk != t->chunk)
        TRY(task_decode_chunk(w, t, bytes, (size_t)stored, task_needed_bytes(a, t, stride)));
    *from = w->chunk + c->skip + t->first * a->dtype.bytes;
    return ERR_OK;
}

/* The part's elements in the wanted type, one after the other. */
static enum err task_convert(struct engine_worker *w, const struct engine_task *t,
                             const unsigned char **from, int64_t stride[STORE_DIMS])
{
    const struct engine_job *job = w->job;
    const struct store_array *a = job->plan->array;
    if (a->dtype.kind == job->type.kind && a->dtype.bytes == job->type.bytes && !a->dtype.swap)
        return ERR_OK;
    const int64_t n = task_elements(a, t), stored = n * a->dtype.bytes;
    int64_t tight[STORE_DIMS];
    int gaps = 0;
    packed_strides(a, t->count, a->dtype.bytes, tight);
    for (int d = 0; d < a->dims; d++)
        gaps |= t->count[d] > 1 && tight[d] != stride[d];
    TRY(worker_room(w, &w->converted, &w->converted_room,
                    (size_t)(n * job->type.bytes + (gaps ? stored + 64 : 0))));
    if (gaps) {
        unsigned char *pieces = w->converted + (n * job->type.bytes + 63) / 64 * 64;
        struct place p = {.dims = a->dims, .bytes = a->dtype.bytes};
        memcpy(p.count, t->count, sizeof p.count);
        memcpy(p.from, stride, sizeof p.from);
        memcpy(p.to, tight, sizeof p.to);
        place_box(p, *from, pieces);
        *from = pieces;
    }
    convert_run(a->dtype, job->type, *from, w->converted, n);
    *from = w->converted;
    packed_strides(a, t->count, job->type.bytes, stride);
    return ERR_OK;
}

static void task_place(const struct engine_job *job, const struct engine_task *t,
                       const unsigned char *from, const int64_t stride[STORE_DIMS])
{
    struct place p = {.dims = job->plan->array->dims, .bytes = job->type.bytes};
    memcpy(p.count, t->count, sizeof p.count);
    memcpy(p.from, stride, sizeof p.from);
    memcpy(p.to, job->stride, sizeof p.to);
    place_box(p, from, target_of(job, t));
}

/* The fill value in the wanted type, at every element of a box (strides of 0 on its side). */
static void place_fill(const struct engine_job *job, const struct engine_task *t)
{
    const struct store_array *a = job->plan->array;
    unsigned char value[16];
    int64_t none[STORE_DIMS] = {0};
    if (a->dtype.kind == job->type.kind && a->dtype.bytes == job->type.bytes && !a->dtype.swap)
        memcpy(value, a->fill, sizeof value);
    else
        convert_run(a->dtype, job->type, a->fill, value, 1);
    task_place(job, t, value, none);
}

void worker_fill(struct engine_job *job)
{
    struct engine_task all = {0};
    memcpy(all.start, job->plan->box.start, sizeof all.start);
    memcpy(all.count, job->plan->box.count, sizeof all.count);
    place_fill(job, &all);
}

static enum err worker_task(struct engine_worker *w, int64_t number, const struct fetch_request *r,
                            const struct cached_chunk *held, int64_t *now)
{
    struct engine_job *job = w->job;
    const struct engine_task *t = &job->plan->tasks[number];
    const unsigned char *from = NULL;
    int64_t stride[STORE_DIMS], at[4] = {*now};
    if (!held && (!r || (r->whole && r->got < 0))) {
        place_fill(job, t);
        at[1] = at[2] = at[0];
    } else if (!held && r->to == target_of(job, t) && !r->whole) {
        at[1] = at[2] = at[0]; /* it is there */
    } else {
        TRY(task_decode(w, t, r, held, &from, stride));
        at[1] = clock_ns();
        TRY(task_convert(w, t, &from, stride));
        at[2] = clock_ns();
        if (from != target_of(job, t))
            task_place(job, t, from, stride);
    }
    at[3] = clock_ns();
    if (job->times) {
        const struct store_array *a = job->plan->array;
        const int64_t share = r && r->bytes ? t->bytes : 0;
        job->times[number] =
            (struct engine_time){.chunk = t->chunk,
                                 .queue = r ? at[0] - r->end_ns : 0,
                                 .fetch = r ? (int64_t)((double)(r->end_ns - r->begin_ns) *
                                                        (double)share / (double)r->bytes)
                                            : 0,
                                 .decode = at[1] - at[0],
                                 .convert = at[2] - at[1],
                                 .place = at[3] - at[2],
                                 .stored = held            ? 0
                                           : r && r->whole ? r->got < 0 ? 0 : r->got
                                                           : t->bytes,
                                 .decoded = task_elements(a, t) * a->dtype.bytes,
                                 .worker = w->number};
        waits_take_out(w, &job->times[number]);
    }
    *now = at[3];
    return ERR_OK;
}

static void worker_release(struct engine_worker *w)
{
    for (int64_t i = 0; i < w->held_count; i++)
        if (w->held[i] && (i == 0 || w->held[i] != w->held[i - 1]))
            chunk_cache_release(w->job->plan->options.kept, w->held[i]);
    w->held_count = 0;
}

static enum err group_parts(struct engine_worker *w, int64_t first, int64_t last)
{
    struct engine_job *job = w->job;
    const int64_t begin = clock_ns();
    w->decoded_chunk = -1;
    waits_fetch(w);
    TRY(fetch_group(w, first, last));
    int64_t now = clock_ns();
    waits_fetched(w, now - begin);
    for (int64_t i = first; i < last; i++) {
        const int64_t r = w->request_of[i - first];
        enum err e = worker_task(w, i, r < 0 ? NULL : &w->requests[r], w->held[i - first], &now);
        if (e)
            return err_prefix(e, "%s: chunk %lld of %s", job->plan->store->name,
                              (long long)job->plan->tasks[i].chunk, job->plan->array->name);
        __atomic_fetch_add(&job->tasks_done, 1, __ATOMIC_RELAXED);
    }
    return ERR_OK;
}

static enum err group_run(struct engine_worker *w, int64_t first, int64_t last)
{
    enum err e = group_parts(w, first, last);
    worker_release(w);
    return e;
}

static int job_is_over(const struct engine_job *job)
{
    const struct engine_options *o = &job->plan->options;
    return __atomic_load_n(&job->failed, __ATOMIC_ACQUIRE) || (o->stop && *o->stop) ||
           (o->deadline_ns && clock_ns() >= o->deadline_ns);
}

void worker_run(struct engine_worker *w)
{
    struct engine_job *job = w->job;
    const struct engine_plan *p = job->plan;
    const struct fetch_way *way = p->options.way ? p->options.way : &fetch_pread;
    char reason[200];
    int64_t longest = 1;
    for (int64_t g = 0; g < p->groups_count; g++)
        if (p->groups[g + 1] - p->groups[g] > longest)
            longest = p->groups[g + 1] - p->groups[g];
    waits_begin(w);
    enum err e = fetch_start(&w->fetch, way, longest < 256 ? (int)longest : 256, reason);
    if (reason[0] && !__atomic_exchange_n(&job->refused, 1, __ATOMIC_ACQ_REL))
        memcpy(job->fallback, reason, sizeof reason);
    while (!e && !job_is_over(job)) {
        const int64_t g = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
        if (g >= p->groups_count)
            break;
        const int64_t begin = w->first_done ? clock_ns() : 0;
        e = group_run(w, p->groups[g], p->groups[g + 1]);
        if (w->first_done) {
            w->first_done(w, clock_ns() - begin);
            w->first_done = NULL;
        }
        if (e == ERR_UNSUPPORTED && w->fetch.way == &fetch_direct) { /* tmpfs, overlays */
            fetch_end(&w->fetch);
            if (!__atomic_exchange_n(&job->refused, 1, __ATOMIC_ACQ_REL))
                snprintf(job->fallback, sizeof job->fallback,
                         "O_DIRECT is refused by this file system");
            e = fetch_start(&w->fetch, &fetch_pread, 1, reason);
            e = e ? e : group_run(w, p->groups[g], p->groups[g + 1]);
        }
    }
    if (e)
        worker_fail(job, e);
    fetch_end(&w->fetch);
    waits_end(w);
    codec_children_take(&job->plan->store->decoders, &w->codecs);
    codec_worker_free(&w->codecs);
    free(w->stored);
    free(w->decoded);
    free(w->converted);
    free(w->requests);
    free(w->request_of);
    free(w->held);
}
