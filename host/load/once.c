/* Runs one way of loading once: the whole array, or boxes of it one after the other. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "host/load/load.h"

#define BOXES_MOST 65536

size_t load_piece_bytes = (size_t)16 << 20;

static double cpu_seconds(void)
{
    double s = 0;
    for (int i = 0; i < 2; i++) {
        struct rusage u;
        getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &u);
        s += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
             1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    }
    return s;
}

enum err load_boxes(struct load_session *s)
{
    const struct load_request *r = s->request;
    const struct store_array *a = s->array;
    double boxes = 1;
    s->boxes = 1;
    if (!r->box_dims)
        return ERR_OK;
    FAIL_IF(r->box_dims != a->dims, ERR_USAGE, "`boxes` has %d sizes; %s has %d dimensions",
            r->box_dims, a->name, a->dims);
    FAIL_IF(r->chunks, ERR_USAGE, "`boxes` reads whole boxes: leave `tiles` out");
    for (int d = 0; d < a->dims; d++)
        boxes *= (double)((s->box.count[d] + r->box[d] - 1) / r->box[d]);
    FAIL_IF(boxes > BOXES_MOST, ERR_USAGE,
            "`boxes`: this array has %.0f boxes of that size, %d are the most; choose larger ones",
            boxes, BOXES_MOST);
    s->boxes = (int64_t)boxes;
    s->part_dims = r->box_dims;
    memcpy(s->part, r->box, sizeof s->part);
    return ERR_OK;
}

void load_parts(struct load_session *s)
{
    const struct load_request *r = s->request;
    const struct store_array *a = s->array;
    const int slowest = a->order[0];
    const int64_t length = s->box.count[slowest], layer = (int64_t)s->out_bytes / length;
    int64_t n = (int64_t)load_piece_bytes / (layer > 0 ? layer : 1);
    s->sends = r->to == TO_DEVICE && !r->box_dims && !r->chunks && !a->tiles;
    if (!s->sends)
        return;
    int codecs = 0;
    for (int i = 0; i < a->pipelines_count; i++)
        codecs |= a->pipelines[i].count > 0;
    n = n < 1 ? 1 : n;
    if (codecs) /* no chunk is decoded twice */
        n = (n + a->chunk[slowest] - 1) / a->chunk[slowest] * a->chunk[slowest];
    if (length / n > BOXES_MOST)
        n = length;
    memcpy(s->part, s->box.count, sizeof s->part);
    s->part[slowest] = n < length ? n : length;
    s->part_dims = a->dims;
    s->boxes = (length + s->part[slowest] - 1) / s->part[slowest];
}

/* Box number i, in C order. */
static struct engine_box box_at(const struct load_session *s, int64_t i)
{
    struct engine_box b = s->box;
    for (int d = s->array->dims - 1; d >= 0 && s->part_dims; d--) {
        const int64_t size = s->part[d], n = (s->box.count[d] + size - 1) / size, at = i % n * size,
                      left = s->box.count[d] - at;
        b.start[d] = s->box.start[d] + at;
        b.count[d] = left < size ? left : size;
        i /= n;
    }
    return b;
}

struct plans {
    struct engine_plan **of;
    int64_t count;
};

static void plans_free(struct plans *p)
{
    for (int64_t i = 0; i < p->count; i++)
        engine_plan_free(p->of[i]);
    free(p->of);
}

static enum err make_plans(struct load_session *s, const struct engine_options *o, struct plans *p,
                           struct engine_facts *sum)
{
    int64_t moved = 0;
    *sum = (struct engine_facts){.covered = 1};
    p->of = calloc((size_t)s->boxes, sizeof *p->of);
    FAIL_IF(!p->of, ERR_MEMORY, "no memory left to plan %" PRId64 " boxes", s->boxes);
    for (; p->count < s->boxes; p->count++) {
        const struct engine_box b = box_at(s, p->count);
        TRY(engine_plan(s->store, s->array, &b, o, &p->of[p->count]));
        const struct engine_facts *f = engine_facts(p->of[p->count]);
        sum->covered &= f->covered;
        sum->chunks += f->chunks;
        sum->chunks_stored += f->chunks_stored;
        sum->tasks += f->tasks;
        sum->bytes_wanted += f->bytes_wanted;
        sum->bytes_fetched += f->bytes_fetched;
        sum->bytes_decoded += f->bytes_decoded;
    }
    moved = sum->bytes_decoded ? sum->bytes_decoded : sum->bytes_fetched;
    sum->amplification = (double)moved / (double)sum->bytes_wanted;
    return ERR_OK;
}

static void add_result(struct engine_result *sum, const struct engine_result *r)
{
    const struct engine_result was = *sum;
    *sum = *r;
    sum->tasks_done += was.tasks_done;
    sum->wall_ns += was.wall_ns;
    sum->fill_ns += was.fill_ns;
    sum->child_cpu_ns += was.child_cpu_ns;
    sum->requests += was.requests;
    sum->bytes_fetched += was.bytes_fetched;
    sum->workers = was.workers > r->workers ? was.workers : r->workers;
    if (was.buffer_bytes > r->buffer_bytes)
        sum->buffer_bytes = was.buffer_bytes;
    if (was.fallback[0])
        memcpy(sum->fallback, was.fallback, sizeof was.fallback);
}

static enum err run_plans(struct load_session *s, const struct plans *p, struct load_run *run,
                          struct engine_time *times)
{
    int64_t stride[STORE_DIMS], task = 0;
    engine_strides(s->array, &s->box, s->type.bytes, 1, stride); /* the order of the file */
    const double cpu = cpu_seconds();
    const int64_t begin = clock_ns();
    for (int64_t i = 0; i < p->count; i++) {
        const struct engine_box b = box_at(s, i);
        const int64_t tasks = engine_facts(p->of[i])->tasks;
        struct engine_result r;
        unsigned char *out = s->out;
        for (int d = 0; d < s->array->dims; d++)
            out += (b.start[d] - s->box.start[d]) * stride[d];
        TRY(engine_run(p->of[i], s->type, out, stride, times ? times + task : NULL, &r));
        add_result(&run->result, &r);
        for (int64_t k = 0; times && k < tasks; k++)
            times[task + k].box = s->sends ? 0 : (int)i;
        task += tasks;
        if (r.tasks_done < tasks) /* it was stopped; the rest was not read */
            break;
        if (s->sends) {
            const int slowest = s->array->order[0];
            const size_t bytes = (size_t)(b.count[slowest] * stride[slowest]);
            const struct load_device *d = s->request->device;
            TRY(d->send(d->self, s->out, s->given, bytes));
            s->given += bytes;
        }
    }
    run->seconds = clock_seconds_since(begin);
    run->fill_s = 1e-9 * (double)run->result.fill_ns;
    run->cpu_s = cpu_seconds() - cpu + 1e-9 * (double)run->result.child_cpu_ns;
    for (; times && task < run->facts.tasks; task++)
        times[task].worker = -1;
    return ERR_OK;
}

static enum err way_run_once(struct load_session *s, struct engine_options *o, struct plans *p,
                             struct load_run *run, struct engine_time **times)
{
    struct engine_time *t = NULL;
    const size_t n = sizeof *t;
    TRY(make_plans(s, o, p, &run->facts));
    if (times) /* shared, for the workers may be processes */
        TRY(engine_shared((size_t)(run->facts.tasks + 1) * n, (void **)&t));
    enum err e = run_plans(s, p, run, t);
    if (times && !e)
        *times = t;
    else
        engine_unshare(t, (size_t)(run->facts.tasks + 1) * n);
    return e;
}

enum err load_once(struct load_session *s, const struct engine_options *o, enum load_cache cache,
                   struct load_run *run, struct engine_time **times)
{
    struct engine_options options = *o;
    struct plans plans = {0};
    *run = (struct load_run){0};
    options.stop = s->request->stop;
    options.deadline_ns = s->deadline_ns;
    options.chunks_most = s->request->chunks;
    if (s->request->keep_bytes)
        TRY(chunk_cache_create(s->request->keep_bytes, &options.kept));
    load_set_cache(s->store, cache);
    run->cached_share = load_cached_share(s->store);
    enum err e = way_run_once(s, &options, &plans, run, times);
    if (!e && options.kept) { /* what it held was not decoded again */
        run->kept = chunk_cache_facts(options.kept);
        const int64_t decoded = run->facts.bytes_decoded - run->kept.bytes_saved;
        if (run->facts.bytes_decoded)
            run->facts.amplification = (double)decoded / (double)run->facts.bytes_wanted;
        run->result.buffer_bytes += run->kept.bytes_peak;
    }
    plans_free(&plans);
    chunk_cache_free(options.kept);
    return e;
}
