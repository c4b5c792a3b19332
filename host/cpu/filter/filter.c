/* The ramp filter of a sinogram: blocks of rows with their cosine weights, shared out among
 * threads. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "host/backend/checks.h"
#include "host/backend/course.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/filter/ramp.h"
#include "base/mark/mark.h"

/* A larger result would not be in a cache when it is read next: writing past the caches
 * saves reading the old contents first (1.4 x at 256 channels). */
#define STREAM_BYTES ((size_t)16 << 20)

/* A sample takes as long as this many of other loops: threads are woken from 32,768 samples on. */
#define SAMPLE_WORK 8

struct filter_job {
    const struct scan *scan;
    int weighted; /* cone: cosine weights */
    struct ramp ramp;
    const float *y;
    float *out;
};

/* Memory that a thread works in. */
struct scratch {
    float *x;           /* the kernel's, or for the library [2][2 n]: rows, transform */
    float *weight;      /* of one detector row, [channels] */
    int64_t weight_row; /* which, or -1 */
};

/* w = D / sqrt(D^2 + u^2 + v^2) at flat coordinates u, v also on a curved detector, as MBIRJAX has
 * it. */
static void fill_weights(const struct scan *s, int64_t row, float *weight)
{
    const double inverse = 1 / s->source_detector;
    const double v = ((double)row - 0.5 * (double)(s->rows - 1)) * s->delta_row - s->row_offset;
    const double base = 1 + v * inverse * (v * inverse);
    for (int64_t c = 0; c < s->channels; c++) {
        const double u =
            ((double)c - 0.5 * (double)(s->channels - 1)) * s->delta_channel - s->channel_offset;
        weight[c] = (float)(1 / sqrt(base + u * inverse * (u * inverse)));
    }
}

static int64_t blocks_per_row(const struct filter_job *job)
{
    return (job->scan->views + job->ramp.rows - 1) / job->ramp.rows;
}

/* Block `index`: views of one detector row, since rows of a block round together: a slab of
 * detector rows then has the same bits as the whole. And they share their weights. */
static struct row_block filter_block_at(const struct filter_job *job, struct scratch *t,
                                        int64_t index)
{
    const struct scan *s = job->scan;
    struct row_block b = {0};
    const int64_t row = index / blocks_per_row(job);
    const int64_t view = index % blocks_per_row(job) * job->ramp.rows;
    if (job->weighted && t->weight_row != row) {
        fill_weights(s, row, t->weight);
        t->weight_row = row;
    }
    for (int i = 0; i < job->ramp.rows && view + i < s->views; i++) {
        const int64_t at = ((view + i) * s->rows + row) * s->channels;
        b.weight[i] = job->weighted ? t->weight : NULL;
        b.from[i] = job->y + at;
        b.to[i] = job->out + at;
    }
    return b;
}

/* Two rows as the real and imaginary parts of one: the spectrum is real and even, so that neither
 * mixes with the other. */
static void library_block(const struct ramp *r, const struct row_block *b, float *x)
{
    const int64_t n = r->filter.n, channels = r->filter.channels;
    float *rows = x, *transform = x + (2 * n + 15) / 16 * 16;
    memset(rows, 0, (size_t)(2 * n) * sizeof *rows);
    for (int part = 0; part < 2 && b->from[part]; part++)
        for (int64_t c = 0; c < channels; c++)
            rows[2 * c + part] =
                b->weight[part] ? b->weight[part][c] * b->from[part][c] : b->from[part][c];
    fft_forward(r->fft, rows, transform);
    for (int64_t k = 0; k < n; k++) {
        transform[2 * k] *= r->filter.spectrum[k];
        transform[2 * k + 1] *= r->filter.spectrum[k];
    }
    fft_inverse(r->fft, transform, rows);
    for (int part = 0; part < 2 && b->to[part]; part++)
        for (int64_t c = 0; c < channels; c++)
            b->to[part][c] = rows[2 * c + part];
}

static void filter_block(const struct filter_job *job, struct scratch *t, int64_t index)
{
    const struct row_block b = filter_block_at(job, t, index);
    if (job->ramp.kernels)
        job->ramp.kernels->block(&job->ramp.filter, &b, t->x);
    else
        library_block(&job->ramp, &b, t->x);
}

static enum err filter_all_rows(struct backend *be, const struct filter_job *job)
{
    const int threads = cpu_team(be, SAMPLE_WORK * scan_samples(job->scan));
    const struct ramp *r = &job->ramp;
    const int64_t blocks = job->scan->rows * blocks_per_row(job);
    const int64_t x_floats = r->kernels ? r->filter.n * r->rows : (2 * r->filter.n + 15) / 16 * 32;
    const int64_t floats = x_floats + (job->weighted ? (r->filter.channels + 15) / 16 * 16 : 0);
    void *memory;
    TRY(mem_alloc("ramp filter", (size_t)(threads * floats) * sizeof(float), &memory));
    struct course way = {be, blocks, 0};
#pragma omp parallel num_threads(threads)
    {
        float *x = (float *)memory + omp_get_thread_num() * floats;
        struct scratch t = {x, x + x_floats, -1};
#pragma omp for schedule(static)
        for (int64_t index = 0; index < blocks; index++)
            if (course_next(&way))
                filter_block(job, &t, index);
    }
    mem_free(memory);
    return ERR_OK;
}

/* Counted as 2.5 n log2 n for each real transform, there and back; radix 2 for the bytes that pass
 * the cache. */
static void filter_declare_work(struct backend *be, const struct filter_job *job)
{
    const double n = (double)job->ramp.filter.n, steps = log2(n);
    const double rows = (double)(job->scan->views * job->scan->rows);
    backend_declare(be, rows * 2 * 2.5 * n * steps, rows * (double)job->scan->channels * 8,
                    rows * 2 * 8 * n * steps);
}

enum err cpu_ramp_filter(struct backend *be, const struct scan *s, double scale,
                         const struct buffer *y, struct buffer *out)
{
    const size_t bytes = (size_t)scan_samples(s) * sizeof(float);
    TRY(backend_check_sizes("a ramp filter", bytes, bytes, y, out));
    if (!bytes)
        return ERR_OK;
    struct filter_job job = {.scan = s, .y = y->ptr, .out = out->ptr};
    job.weighted = s->beam == BEAM_CONE && isfinite(s->source_detector);
    mark_push("ramp_filter", bytes);
    enum err e = ramp_create(s->channels, s->views, scale, be->threads, &job.ramp);
    job.ramp.filter.stream = bytes >= STREAM_BYTES && s->channels % 16 == 0;
    if (e == ERR_OK)
        e = filter_all_rows(be, &job);
    if (e == ERR_OK)
        filter_declare_work(be, &job);
    ramp_free(&job.ramp);
    mark_pop();
    return e;
}
