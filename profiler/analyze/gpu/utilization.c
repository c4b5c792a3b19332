/* How long each device was busy: operations of all streams in order of time, their union and the
 * gaps in between. */
#include <stdlib.h>

#include "base/array.h"
#include "profiler/analyze/gpu/gpu.h"

enum {
    WINDOW = 65536, /* operations come this much out of order, at most */
    BUSY_MAX =
        1000000,    /* intervals kept per device, for several processes on one and for waiting */
    GAPS_MAX = 4096 /* kept; the longest 50 are shown */
};

struct device_stream {
    uint32_t device, cuda_context, stream, tracks[3]; /* + 1; by kind */
    uint64_t end;
};
struct front {         /* of a device */
    uint64_t from, to; /* of the interval that is growing */
    int any;
};
struct utilization {
    VECTOR(struct device_operation) heap; /* smallest start first */
    VECTOR(struct device_stream) streams;
    struct table stream_by_key;
    VECTOR(struct front) fronts; /* by device */
};

enum err utilization_create(struct utilization **out)
{
    *out = calloc(1, sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "no memory for the analysis");
    return ERR_OK;
}

void utilization_free(struct utilization *u)
{
    if (!u)
        return;
    vector_free(&u->heap);
    vector_free(&u->streams);
    vector_free(&u->fronts);
    table_free(&u->stream_by_key);
    free(u);
}

static void sift_up(struct device_operation *heap, size_t i)
{
    for (; i && heap[(i - 1) / 2].start > heap[i].start; i = (i - 1) / 2) {
        struct device_operation t = heap[i];
        heap[i] = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = t;
    }
}

static struct device_operation utilization_pop(struct utilization *u)
{
    struct device_operation top = u->heap.items[0], last = vector_pop(&u->heap);
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= u->heap.count)
            break;
        child += child + 1 < u->heap.count &&
                 u->heap.items[child + 1].start < u->heap.items[child].start;
        if (u->heap.items[child].start >= last.start)
            break;
        u->heap.items[i] = u->heap.items[child];
        i = child;
    }
    if (u->heap.count)
        u->heap.items[i] = last;
    return top;
}

ARRAY_ORDER(by_length, struct gap, COMPARE(y->end - y->start, x->end - x->start));

static enum err add_gap(struct run *r, uint64_t start, uint64_t end, int device)
{
    if (r->gpu.gaps.count >= GAPS_MAX) {
        vector_sort(&r->gpu.gaps, by_length);
        r->gpu.gaps.count = GAPS_MAX / 2;
    }
    TRY(vector_add(&r->gpu.gaps, (struct gap){start, end, device}));
    return ERR_OK;
}

/* Ends the interval that is growing on the device. */
static enum err end_interval(struct run *r, const struct front *f, uint32_t index)
{
    struct run_device *d = &r->gpu.devices.items[index];
    d->busy += (double)(f->to - f->from);
    if (d->busy_intervals.count >= BUSY_MAX)
        return ERR_OK;
    TRY(vector_add(&d->busy_intervals, (struct interval){f->from, f->to}));
    return ERR_OK;
}

static enum err utilization_advance(struct run *r, struct utilization *u,
                                    const struct device_operation *o)
{
    TRY(vector_room(&u->fronts, o->device + 1));
    u->fronts.count = u->fronts.room;
    struct front *f = &u->fronts.items[o->device];
    if (!f->any) {
        r->gpu.devices.items[o->device].images++;
        *f = (struct front){o->start, o->end, 1};
        return ERR_OK;
    }
    if (o->start > f->to) {
        TRY(end_interval(r, f, o->device));
        TRY(add_gap(r, f->to, o->start, (int)o->device));
        r->gpu.devices.items[o->device].idle += (double)(o->start - f->to);
        *f = (struct front){o->start, o->end, 1};
    }
    f->to = f->to > o->end ? f->to : o->end;
    return ERR_OK;
}

static enum err stream_of(struct utilization *u, const struct device_operation *o,
                          struct device_stream **out)
{
    uint64_t key = table_mix(table_mix(o->device, o->cuda_context), o->stream);
    uint32_t index = table_get(&u->stream_by_key, key);
    if (index == TABLE_NONE) {
        index = (uint32_t)u->streams.count;
        TRY(vector_add(&u->streams,
                       (struct device_stream){o->device, o->cuda_context, o->stream, {0}, 0}));
        TRY(table_put(&u->stream_by_key, key, index));
    }
    *out = &u->streams.items[index];
    return ERR_OK;
}

static enum err utilization_release(struct image *im, struct utilization *u)
{
    static const char *const kinds[] = {"kernel", "copy", "set"};
    struct device_operation o = utilization_pop(u);
    struct run *r = im->run;
    struct device_stream *s;
    TRY(utilization_advance(r, u, &o));
    TRY(stream_of(u, &o, &s));
    if (!o.graph) { /* branches of a graph run side by side under one stream */
        r->q.overlaps += o.start < s->end;
        s->end = s->end > o.end ? s->end : o.end;
    }
    if (!s->tracks[o.kind]) {
        struct timeline_track *l =
            run_track(r, kinds[o.kind], im->index, -1, (int)o.device, o.cuda_context, o.stream);
        FAIL_IF(!l, ERR_MEMORY, "no memory for the timeline");
        s->tracks[o.kind] = (uint32_t)(l - r->timeline.items) + 1;
    }
    return track_add(&r->timeline.items[s->tracks[o.kind] - 1].track, o.start, o.end, o.what,
                     run_track_limit(r));
}

enum err utilization_add(struct image *im, struct utilization *u, const struct device_operation *o)
{
    TRY(vector_add(&u->heap, *o));
    sift_up(u->heap.items, u->heap.count - 1);
    return u->heap.count > WINDOW ? utilization_release(im, u) : ERR_OK;
}

enum err utilization_finish(struct image *im, struct utilization *u)
{
    while (u->heap.count)
        TRY(utilization_release(im, u));
    for (uint32_t i = 0; i < u->fronts.count && i < im->run->gpu.devices.count; i++)
        if (u->fronts.items[i].any)
            TRY(end_interval(im->run, &u->fronts.items[i], i));
    return ERR_OK;
}
