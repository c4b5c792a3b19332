/* Cuts each view's line into runs, by band of rows and block of columns. */
#include <math.h>

#include "base/memory.h"
#include "host/cpu/fourier/grid_kernel.h"

#define BLOCK 64 /* columns: with the band's rows 140 KB of cells */

/* Runs of one band: counted per block first, put in their places then. */
struct sorter {
    int64_t *at;           /* per block: runs so far, or where the next one goes */
    struct grid_run *runs; /* NULL: count */
};

static void sorter_put(struct sorter *t, int64_t block, struct grid_run run)
{
    if (t->runs)
        t->runs[t->at[block]] = run;
    t->at[block]++;
}

/* Samples of a run are consecutive, have one row_base, and begin in the same block of columns. */
static void cut_by_columns(const struct grid_shape *s, struct sorter *t, struct grid_run run,
                           int64_t last)
{
    const double step = s->lines[run.view].col, half = 0.5 * GRID_TAPS;
    for (int64_t k = run.first; k <= last;) {
        const double cell = ceil(step * (double)k - half);
        const double wrap = floor(cell / (double)s->cols);
        const int64_t base = (int64_t)wrap * s->cols, block = ((int64_t)cell - base) / BLOCK;
        const int64_t low = base + block * BLOCK;
        const int64_t high = low + BLOCK < base + s->cols ? low + BLOCK : base + s->cols;
        double end = (double)last;
        if (step > 1e-9)
            end = floor(((double)(high - 1) + half) / step);
        else if (step < -1e-9)
            end = ceil(((double)(low - 1) + half) / step) - 1;
        end = fmin(fmax(end, (double)k), (double)last);
        run.first = (int32_t)k;
        run.count = (int32_t)((int64_t)end - k + 1);
        run.col_base = (int32_t)base;
        sorter_put(t, block, run);
        k = (int64_t)end + 1;
    }
}

/* The samples of which a cell lies in the band or one of its repetitions. */
static void cut_by_rows(const struct grid_shape *s, struct sorter *t, int64_t band, int32_t view)
{
    const double step = s->lines[view].row, half = 0.5 * GRID_TAPS, reach = (double)s->reach;
    const int64_t begin = band * GRID_BAND;
    const int64_t end = begin + GRID_BAND < s->rows ? begin + GRID_BAND : s->rows;
    const int64_t wraps = (int64_t)(fabs(step) * reach / (double)s->rows) + 2;
    for (int64_t m = -wraps; m <= wraps; m++) {
        const double low = (double)(begin - GRID_TAPS + m * s->rows) + half - 1e-6;
        const double high = (double)(end - 1 + m * s->rows) + half + 1e-6;
        double from = -reach, to = reach;
        if (fabs(step) > 1e-9) {
            from = fmax(from, ceil(fmin(low / step, high / step)));
            to = fmin(to, floor(fmax(low / step, high / step)));
        } else if (!(low < 0 && 0 < high)) {
            continue;
        }
        const struct grid_run run = {view, (int32_t)from, 0, (int32_t)(begin + m * s->rows), 0};
        if (from <= to)
            cut_by_columns(s, t, run, (int64_t)to);
    }
}

static void each_band(const struct grid_shape *s, struct grid_plan *p, int64_t *at, int64_t blocks,
                      int threads)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t b = 0; b < p->bands; b++) {
        struct sorter t = {at + b * blocks, p->runs};
        for (int32_t v = 0; v < s->views; v++)
            cut_by_rows(s, &t, b, v);
    }
}

enum err grid_plan_create(const struct grid_shape *s, int threads, struct grid_plan *out)
{
    const int64_t blocks = (s->cols + BLOCK - 1) / BLOCK;
    void *at = NULL, *block;
    enum err e = ERR_OK;
    *out = (struct grid_plan){.bands = (s->rows + GRID_BAND - 1) / GRID_BAND};
    FAIL_IF(s->reach > INT32_MAX / 4 || s->rows > INT32_MAX / 16 || s->cols > INT32_MAX / 16,
            ERR_INTERNAL, "gridding of %lld x %lld cells", (long long)s->rows, (long long)s->cols);
    TRY_OUT(mem_alloc_zero("gridding", (size_t)(out->bands * blocks) * sizeof(int64_t), &at));
    TRY_OUT(mem_alloc("gridding", (size_t)(out->bands + 1) * sizeof(int64_t), &block));
    out->first = block;
    each_band(s, out, at, blocks, threads);
    int64_t sum = 0;
    for (int64_t i = 0; i < out->bands * blocks; i++) {
        const int64_t count = ((int64_t *)at)[i];
        if (i % blocks == 0)
            out->first[i / blocks] = sum;
        ((int64_t *)at)[i] = sum;
        sum += count;
    }
    out->first[out->bands] = sum;
    TRY_OUT(mem_alloc("gridding", (size_t)sum * sizeof *out->runs, &block));
    out->runs = block;
    each_band(s, out, at, blocks, threads);
out:
    mem_free(at);
    return e;
}

void grid_plan_free(struct grid_plan *p)
{
    mem_free(p->first);
    mem_free(p->runs);
    *p = (struct grid_plan){0};
}
