/* Converts CUPTI's times to CLOCK_MONOTONIC by straight lines between readings of both clocks. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/gpu/clock.h"

#define STEP_NS 100000

/* Readings of both clocks, by CUPTI's time; between them a straight line. */
struct reading {
    uint64_t gpu, host;
};
struct clock_map {
    VECTOR(struct reading) readings;
};

void clock_free(struct gpu *g)
{
    if (g->clock)
        vector_free(&g->clock->readings);
    free(g->clock);
}

ARRAY_ORDER(by_gpu, struct reading, COMPARE(x->gpu, y->gpu));

static enum err clock_read_all(struct image *im, struct clock_map *m, struct trace_reader *reader)
{
    struct quality_count *q = &im->run->q;
    for (;;) {
        struct trace_item item;
        int more;
        TRY(trace_next(reader, &item, &more));
        if (!more)
            return ERR_OK;
        const struct trace_clock *c = (const void *)item.record;
        if (item.record->kind != TRACE_CLOCK || !c->cupti_ns)
            continue;
        TRY(vector_add(&m->readings, (struct reading){c->cupti_ns, c->r.time_ns}));
        double half = (double)c->bracket_ns / 2;
        q->clock_error = half > q->clock_error ? half : q->clock_error;
    }
}

enum err clock_need(struct image *im, struct gpu *g)
{
    struct trace_reader *reader;
    if (g->clock || g->monotonic)
        return ERR_OK;
    struct clock_map *m = g->clock = calloc(1, sizeof *m);
    FAIL_IF(!m, ERR_MEMORY, "no memory for the analysis");
    TRY(trace_open(im->path, &reader));
    enum err e = clock_read_all(im, m, reader);
    trace_reader_free(reader);
    TRY(e);
    vector_sort(&m->readings, by_gpu);
    for (size_t i = 1; i < m->readings.count; i++) {
        uint64_t before = m->readings.items[i - 1].host - m->readings.items[i - 1].gpu;
        uint64_t change = m->readings.items[i].host - m->readings.items[i].gpu - before;
        im->run->q.clock_steps += change + STEP_NS > 2 * STEP_NS; /* outside of -STEP..STEP */
    }
    if (m->readings.count)
        im->run->q.clock_method = "interpolated";
    return ERR_OK;
}

int clock_unknown(const struct gpu *g)
{
    return g->clock && !g->monotonic && !g->clock->readings.count;
}

uint64_t clock_of(const struct gpu *g, uint64_t gpu_ns)
{
    const struct clock_map *m = g->clock;
    if (!m || !m->readings.count)
        return gpu_ns;
    /* The first reading after it. */
    size_t low = ARRAY_BOUND(0, m->readings.count, i, m->readings.items[i].gpu <= gpu_ns);
    const struct reading *a = &m->readings.items[low ? low - 1 : 0];
    uint64_t offset = a->host - a->gpu;
    if (low && low < m->readings.count) {
        const struct reading *b = a + 1;
        int64_t change = (int64_t)(b->host - b->gpu - offset);
        double share = (double)(gpu_ns - a->gpu) / (double)(b->gpu - a->gpu);
        if (change <= STEP_NS && change >= -STEP_NS) /* across a step the earlier offset holds */
            offset += (uint64_t)(int64_t)((double)change * share);
    }
    return gpu_ns + offset;
}
