/* Uploads the next piece and downloads the last result while the device computes, double-buffered.
 */
#include "base/memory.h"
#include "host/recon/slabs/slab_job.h"
#include "base/mark/mark.h"

#define DEPTH   2
#define STAGING ((size_t)16 << 20) /* of one pinned buffer: 0.3 ms at 50 GB/s */

/* A buffer that two streams take turns with. */
struct pipeline_slot {
    struct buffer buffer;
    struct fence *full, *empty; /* filled; read */
};

/* Pinned memory, whose other side is the calling thread. */
struct staging {
    float *host;
    struct fence *moved;
};

struct pipeline_state {
    const struct slab_pipeline *s;
    const struct backend_streams *streams;
    size_t staging_bytes;
    struct pipeline_slot in[DEPTH], out[DEPTH];
    struct buffer part;
    struct staging up[DEPTH], down[DEPTH];
    int64_t uploads, results, chunks; /* so far: they choose the slots */
    struct piece waiting;             /* its result is computed and not yet fetched */
    struct pipeline_slot *waits;      /* where; NULL: nothing waits */
};

size_t pipeline_bytes(const struct slab_pipeline *s)
{
    return (size_t)s->depth * (s->in_bytes + s->out_bytes) + (s->sums ? s->out_bytes : 0);
}

static enum err slot_create(struct pipeline_state *r, const char *what, size_t bytes,
                            struct pipeline_slot *out)
{
    struct backend *be = r->s->be;
    TRY(be->ops->alloc(be, what, bytes, &out->buffer));
    TRY(r->streams->fence_create(be, &out->full));
    return r->streams->fence_create(be, &out->empty);
}

static void slot_free(struct pipeline_state *r, struct pipeline_slot *slot)
{
    if (slot->buffer.ptr)
        r->s->be->ops->release(r->s->be, &slot->buffer);
    r->streams->fence_free(slot->full);
    r->streams->fence_free(slot->empty);
}

static enum err staging_create(struct pipeline_state *r, struct staging *out)
{
    void *host;
    TRY(mem_alloc_pages("pinned memory for copies", r->staging_bytes, &host));
    enum err e = r->streams->pin(r->s->be, host, r->staging_bytes);
    if (e) {
        mem_free(host);
        return e;
    }
    out->host = host;
    return r->streams->fence_create(r->s->be, &out->moved);
}

static void staging_free(struct pipeline_state *r, struct staging *p)
{
    if (p->host)
        r->streams->unpin(r->s->be, p->host);
    mem_free(p->host);
    r->streams->fence_free(p->moved);
}

static enum err run_create(struct pipeline_state *r)
{
    const struct slab_pipeline *s = r->s;
    const size_t largest = s->in_bytes > s->out_bytes ? s->in_bytes : s->out_bytes;
    r->staging_bytes = largest < STAGING ? largest : STAGING;
    for (int i = 0; i < s->depth; i++) {
        if (s->in_bytes)
            TRY(slot_create(r, "a piece of the input", s->in_bytes, &r->in[i]));
        TRY(slot_create(r, "a piece of the result", s->out_bytes, &r->out[i]));
    }
    if (s->sums)
        TRY(s->be->ops->alloc(s->be, "a part of a result", s->out_bytes, &r->part));
    for (int i = 0; i < DEPTH; i++) {
        TRY(staging_create(r, &r->down[i]));
        if (s->in_bytes)
            TRY(staging_create(r, &r->up[i]));
    }
    return ERR_OK;
}

static void run_free(struct pipeline_state *r)
{
    for (int i = 0; i < DEPTH; i++) {
        slot_free(r, &r->in[i]);
        slot_free(r, &r->out[i]);
        staging_free(r, &r->up[i]);
        staging_free(r, &r->down[i]);
    }
    if (r->part.ptr)
        r->s->be->ops->release(r->s->be, &r->part);
}

static int64_t chunk_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static enum err pipeline_upload(struct pipeline_state *r, const struct piece *p,
                                struct pipeline_slot *slot)
{
    struct backend *be = r->s->be;
    const int64_t count = box_count(&p->in);
    const int64_t chunk = (int64_t)(r->staging_bytes / sizeof(float));
    TRY(r->streams->fence_hold(be, slot->empty, STREAM_UPLOAD));
    for (int64_t at = 0; at < count; at += chunk) {
        struct staging *const via = &r->up[r->chunks++ % DEPTH];
        const int64_t n = chunk_min(chunk, count - at);
        const size_t bytes = (size_t)n * sizeof(float);
        TRY(r->streams->fence_await(be, via->moved));
        box_pack(&p->in, r->s->in, at, n, via->host);
        TRY(r->streams->send(be, via->host, bytes, &slot->buffer, (size_t)at * sizeof(float)));
        TRY(r->streams->fence_set(be, via->moved, STREAM_UPLOAD));
    }
    return r->streams->fence_set(be, slot->full, STREAM_UPLOAD);
}

/* Chunk c of the waiting result is asked for; then chunk c - 1 has had time to arrive. */
static enum err pipeline_fetch(struct pipeline_state *r, const struct piece *p,
                               struct pipeline_slot *slot)
{
    struct backend *be = r->s->be;
    const int64_t count = box_count(&p->out);
    const int64_t chunk = (int64_t)(r->staging_bytes / sizeof(float));
    const int64_t chunks = (count + chunk - 1) / chunk;
    TRY(r->streams->fence_hold(be, slot->full, STREAM_DOWNLOAD));
    for (int64_t c = 0; c <= chunks; c++) {
        if (c < chunks) {
            struct staging *const via = &r->down[c % DEPTH];
            const int64_t n = chunk_min(chunk, count - c * chunk);
            TRY(r->streams->receive(be, &slot->buffer,
                                    (size_t)(p->skip + c * chunk) * sizeof(float),
                                    (size_t)n * sizeof(float), via->host));
            TRY(r->streams->fence_set(be, via->moved, STREAM_DOWNLOAD));
        }
        if (c > 0) {
            struct staging *const via = &r->down[(c - 1) % DEPTH];
            const int64_t at = (c - 1) * chunk;
            TRY(r->streams->fence_await(be, via->moved));
            box_unpack(&p->out, via->host, at, chunk_min(chunk, count - at), r->s->out);
        }
    }
    return r->streams->fence_set(be, slot->empty, STREAM_DOWNLOAD);
}

static enum err upload_next(struct pipeline_state *r, const struct piece *p)
{
    struct pipeline_slot *const slot = &r->in[r->uploads % r->s->depth];
    if (!box_count(&p->in))
        return ERR_OK;
    r->uploads++;
    mark_push("upload", (uint64_t)box_count(&p->in) * sizeof(float));
    const enum err e = pipeline_upload(r, p, slot);
    mark_pop();
    return e;
}

static enum err fetch_waiting(struct pipeline_state *r)
{
    if (!r->waits)
        return ERR_OK;
    mark_push("download", (uint64_t)box_count(&r->waiting.out) * sizeof(float));
    const enum err e = pipeline_fetch(r, &r->waiting, r->waits);
    mark_pop();
    r->waits = NULL;
    return e;
}

/* The first piece of a result is computed into its place, the others are added to it. */
static enum err pipeline_compute(struct pipeline_state *r, const struct piece *p,
                                 struct pipeline_slot *in, struct pipeline_slot *out)
{
    const struct slab_pipeline *s = r->s;
    if (in)
        TRY(r->streams->fence_hold(s->be, in->full, STREAM_COMPUTE));
    if (p->first)
        TRY(r->streams->fence_hold(s->be, out->empty, STREAM_COMPUTE));
    struct buffer *const to = p->first ? &out->buffer : &r->part;
    TRY(s->compute(s->context, p, in ? &in->buffer : NULL, to));
    if (in)
        TRY(r->streams->fence_set(s->be, in->empty, STREAM_COMPUTE));
    if (!p->first)
        TRY(r->streams->add(s->be, box_count(&p->out), to, &out->buffer));
    if (p->last && s->complete)
        TRY(s->complete(s->context, p, &out->buffer));
    return p->last ? r->streams->fence_set(s->be, out->full, STREAM_COMPUTE) : ERR_OK;
}

static enum err pipeline_run_all(struct pipeline_state *r)
{
    const struct slab_pipeline *s = r->s;
    struct piece now, next;
    int more = s->next(s->context, &next);
    if (more)
        TRY(upload_next(r, &next));
    while (more) {
        now = next;
        struct pipeline_slot *const in =
            box_count(&now.in) ? &r->in[(r->uploads - 1) % s->depth] : NULL;
        struct pipeline_slot *const out = &r->out[r->results % s->depth];
        if (now.first && r->waits == out) /* without a second buffer */
            TRY(fetch_waiting(r));
        TRY(pipeline_compute(r, &now, in, out));
        more = s->next(s->context, &next);
        if (more)
            TRY(upload_next(r, &next));
        TRY(fetch_waiting(r));
        if (now.last) {
            r->waiting = now;
            r->waits = out;
            r->results++;
        }
    }
    return fetch_waiting(r);
}

enum err pipeline_run(const struct slab_pipeline *s)
{
    struct pipeline_state r = {.s = s, .streams = s->be->ops->streams};
    enum err e = run_create(&r);
    if (!e)
        e = pipeline_run_all(&r);
    if (e)
        r.streams->finish(s->be); /* nobody uses the buffers any more */
    run_free(&r);
    return e;
}
