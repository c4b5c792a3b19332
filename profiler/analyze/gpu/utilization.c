#include <stdlib.h>

#include "profiler/analyze/gpu/gpu.h"

enum {
    WINDOW = 65536, /* operations come this much out of order, at most */
    BUSY_MAX =
        1000000,    /* intervals kept per device, for several processes on one and for waiting */
    GAPS_MAX = 4096 /* kept; the longest 50 are told */
};

struct stream {
    uint32_t device, context, stream, lanes[3]; /* + 1; by kind */
    uint64_t end;
};
struct front {         /* of a device */
    uint64_t from, to; /* of the interval that is growing */
    int any;
};
struct busy {
    struct operation *heap; /* smallest start first */
    size_t count, room;
    struct stream *streams;
    size_t streams_count, streams_room;
    struct table stream_by_key;
    struct front *fronts;
    size_t fronts_room;
};

enum err busy_create(struct busy **out)
{
    *out = calloc(1, sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "no memory for the analysis");
    return ERR_OK;
}

void busy_free(struct busy *b)
{
    if (!b)
        return;
    free(b->heap);
    free(b->streams);
    free(b->fronts);
    table_free(&b->stream_by_key);
    free(b);
}

static void sift_up(struct operation *heap, size_t i)
{
    for (; i && heap[(i - 1) / 2].start > heap[i].start; i = (i - 1) / 2) {
        struct operation t = heap[i];
        heap[i] = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = t;
    }
}

static struct operation pop(struct busy *b)
{
    struct operation top = b->heap[0], last = b->heap[--b->count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= b->count)
            break;
        child += child + 1 < b->count && b->heap[child + 1].start < b->heap[child].start;
        if (b->heap[child].start >= last.start)
            break;
        b->heap[i] = b->heap[child];
        i = child;
    }
    if (b->count)
        b->heap[i] = last;
    return top;
}

static int by_length(const void *a, const void *b)
{
    const struct gap *x = a, *y = b;
    uint64_t p = x->end - x->start, q = y->end - y->start;
    return (p < q) - (p > q);
}

static enum err add_gap(struct run *r, uint64_t start, uint64_t end, int device)
{
    if (r->gaps_count >= GAPS_MAX) {
        array_sort(r->gaps, r->gaps_count, sizeof *r->gaps, by_length);
        r->gaps_count = GAPS_MAX / 2;
    }
    TRY(array_room(&r->gaps, &r->gaps_room, r->gaps_count + 1, sizeof *r->gaps));
    r->gaps[r->gaps_count++] = (struct gap){start, end, device};
    return ERR_OK;
}

/* Ends the interval that is growing on the device. */
static enum err end_interval(struct run *r, const struct front *f, uint32_t index)
{
    struct device *d = &r->devices[index];
    d->busy += (double)(f->to - f->from);
    if (d->busy_count >= BUSY_MAX)
        return ERR_OK;
    TRY(array_room(&d->busy_list, &d->busy_room, d->busy_count + 1, sizeof *d->busy_list));
    d->busy_list[d->busy_count++] = (struct interval){f->from, f->to};
    return ERR_OK;
}

static enum err advance(struct run *r, struct busy *b, const struct operation *o)
{
    TRY(array_room(&b->fronts, &b->fronts_room, o->device + 1, sizeof *b->fronts));
    struct front *f = &b->fronts[o->device];
    if (!f->any) {
        r->devices[o->device].images++;
        *f = (struct front){o->start, o->end, 1};
        return ERR_OK;
    }
    if (o->start > f->to) {
        TRY(end_interval(r, f, o->device));
        TRY(add_gap(r, f->to, o->start, (int)o->device));
        r->devices[o->device].idle += (double)(o->start - f->to);
        *f = (struct front){o->start, o->end, 1};
    }
    f->to = f->to > o->end ? f->to : o->end;
    return ERR_OK;
}

static enum err stream_of(struct busy *b, const struct operation *o, struct stream **out)
{
    uint64_t key = table_mix(table_mix(o->device, o->context), o->stream);
    uint32_t index = table_get(&b->stream_by_key, key);
    if (index == TABLE_NONE) {
        TRY(array_room(&b->streams, &b->streams_room, b->streams_count + 1, sizeof *b->streams));
        index = (uint32_t)b->streams_count++;
        b->streams[index] = (struct stream){o->device, o->context, o->stream, {0}, 0};
        TRY(table_put(&b->stream_by_key, key, index));
    }
    *out = &b->streams[index];
    return ERR_OK;
}

static enum err release(struct image *im, struct busy *b)
{
    static const char *const kinds[] = {"kernel", "copy", "set"};
    struct operation o = pop(b);
    struct run *r = im->run;
    struct stream *s;
    TRY(advance(r, b, &o));
    TRY(stream_of(b, &o, &s));
    if (!o.graph) { /* branches of a graph run side by side under one stream */
        r->q.overlaps += o.start < s->end;
        s->end = s->end > o.end ? s->end : o.end;
    }
    if (!s->lanes[o.kind]) {
        struct lane *l =
            run_lane(r, kinds[o.kind], im->index, -1, (int)o.device, o.context, o.stream);
        FAIL_IF(!l, ERR_MEMORY, "no memory for the timeline");
        s->lanes[o.kind] = (uint32_t)(l - r->lanes) + 1;
    }
    return track_add(&r->lanes[s->lanes[o.kind] - 1].track, o.start, o.end, o.what,
                     run_track_limit(r));
}

enum err busy_add(struct image *im, struct busy *b, const struct operation *o)
{
    TRY(array_room(&b->heap, &b->room, b->count + 1, sizeof *b->heap));
    b->heap[b->count] = *o;
    sift_up(b->heap, b->count++);
    return b->count > WINDOW ? release(im, b) : ERR_OK;
}

enum err busy_settle(struct image *im, struct busy *b)
{
    while (b->count)
        TRY(release(im, b));
    for (uint32_t i = 0; i < b->fronts_room && i < im->run->devices_count; i++)
        if (b->fronts[i].any)
            TRY(end_interval(im->run, &b->fronts[i], i));
    return ERR_OK;
}
