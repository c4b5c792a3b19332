/* Smaller versions of an array: a level that the file holds, or means of its elements; the time of
 * each, and how far they are from the array. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "host/load/against.h"

/* Dimensions y and x, which a scaling shortens: the last two that do not hold colours. */
static void plane_axes(const struct store_array *a, int *y, int *x)
{
    const int colours = a->dims > 2 && a->axis[a->dims - 1] && !strcmp(a->axis[a->dims - 1], "c");
    *x = a->dims - 1 - colours;
    *y = *x - 1;
}

/* Levels are rounded up or down, and those of microscopes to whole tiles' edges. */
static int is_shortened(int64_t full, int64_t level, int64_t factor)
{
    return level >= full / factor && level <= (full + factor - 1) / factor + 1;
}

static int level_fits(const struct store_array *a, const struct store_array *b, int64_t factor)
{
    int y, x;
    plane_axes(a, &y, &x);
    if (a == b || b->dims != a->dims || memcmp(&a->dtype, &b->dtype, sizeof a->dtype) != 0)
        return 0;
    for (int d = 0; d < a->dims; d++) {
        const int other = d != y && d != x && b->shape[d] == a->shape[d];
        if (!other && !is_shortened(a->shape[d], b->shape[d], factor))
            return 0;
    }
    return 1;
}

/* Prefers a level whose name begins with the array's, as those of the same scene do. */
static struct store_array *level_find(const struct store *s, const struct store_array *a,
                                      int64_t factor)
{
    struct store_array *found = NULL;
    for (int i = s->arrays_count - 1; i >= 0; i--)
        if (level_fits(a, s->arrays[i], factor) &&
            (!found || text_begins(s->arrays[i]->name, a->name)))
            found = s->arrays[i];
    return found;
}

/* An array in C order as float32. */
struct plane_stack {
    float *data;
    int64_t shape[STORE_DIMS];
    int64_t elements;
};

static enum err stack_read(struct load_session *s, struct store_array *a, struct plane_stack *out)
{
    void *data;
    memcpy(out->shape, a->shape, sizeof out->shape);
    out->elements = store_elements(a);
    TRY(store_index(s->store, a));
    TRY(mem_alloc("an array to compare with", (size_t)out->elements * sizeof(float), &data));
    out->data = data;
    return engine_read(s->store, a, NULL, (struct store_dtype){'f', 4, 0}, data, NULL);
}

/* Rows along the last dimension, and the row of the smaller array that holds each. */
struct row_walk {
    const struct plane_stack *full, *small;
    int last; /* dimension */
    int64_t steps[STORE_DIMS], rows;
};

static struct row_walk rows_of(const struct plane_stack *full, const struct plane_stack *small,
                               int dims, const int64_t *steps)
{
    struct row_walk w = {full, small, dims - 1, {0}, full->elements / full->shape[dims - 1]};
    memcpy(w.steps, steps, sizeof w.steps);
    return w;
}

/* Levels may be shorter than the array by a part of a block: its last elements take the last one. */
static int64_t row_at(const struct row_walk *w, int64_t row)
{
    int64_t at = 0, stride = w->small->shape[w->last];
    for (int d = w->last - 1; d >= 0; d--) {
        const int64_t i = row % w->full->shape[d] / w->steps[d], n = w->small->shape[d];
        at += stride * (i < n ? i : n - 1);
        stride *= n;
        row /= w->full->shape[d];
    }
    return at;
}

/* Sums of the blocks along a row. */
static void row_add(const struct row_walk *w, int64_t row, double *sum, int32_t *count)
{
    const int64_t n = w->full->shape[w->last], step = w->steps[w->last], at = row_at(w, row);
    const float *from = w->full->data + row * n;
    for (int64_t i = 0, k = at; i < n; i += step, k++)
        for (int64_t j = i; j < n && j < i + step; j++) {
            sum[k] += (double)from[j];
            count[k]++;
        }
}

/* Means of the elements of each block. */
static enum err stack_bin(const struct plane_stack *full, int dims, const int64_t *steps,
                          struct plane_stack *out)
{
    void *data, *sums = NULL, *counts = NULL;
    out->elements = 1;
    for (int d = 0; d < dims; d++) {
        out->shape[d] = (full->shape[d] + steps[d] - 1) / steps[d];
        out->elements *= out->shape[d];
    }
    const size_t n = (size_t)out->elements;
    const struct row_walk w = rows_of(full, out, dims, steps);
    TRY(mem_alloc("the smaller array", n * sizeof(float), &data));
    out->data = data;
    enum err e = mem_alloc("sums of the smaller array", n * sizeof(double), &sums);
    if (!e)
        e = mem_alloc("counts of the smaller array", n * sizeof(int32_t), &counts);
    if (!e) {
        double *sum = memset(sums, 0, n * sizeof(double));
        int32_t *count = memset(counts, 0, n * sizeof(int32_t));
        for (int64_t i = 0; i < w.rows; i++)
            row_add(&w, i, sum, count);
        for (size_t i = 0; i < n; i++)
            out->data[i] = (float)(sum[i] / count[i]);
    }
    mem_free(sums);
    mem_free(counts);
    return e;
}

/* The smaller array, each element in the place of its block, against the full one. */
static void stack_compare(const struct plane_stack *full, const struct plane_stack *small, int dims,
                          const int64_t *steps, struct load_scaling *out)
{
    const struct row_walk w = rows_of(full, small, dims, steps);
    const int64_t n = full->shape[dims - 1], m = small->shape[dims - 1], step = steps[dims - 1];
    double squares = 0, low = INFINITY, high = -INFINITY;
    for (int64_t row = 0; row < w.rows; row++) {
        const int64_t at = row_at(&w, row);
        for (int64_t i = 0; i < n; i++) {
            const int64_t k = i / step < m ? i / step : m - 1;
            const double v = (double)full->data[row * n + i], d = v - (double)small->data[at + k];
            squares += d * d;
            low = fmin(low, v);
            high = fmax(high, v);
        }
    }
    out->rmse = sqrt(squares / (double)full->elements);
    if (out->rmse > 0 && high > low)
        out->psnr_db = 20 * log10((high - low) / out->rmse);
}

static enum err scaling_of(struct load_session *s, struct loading *l, int64_t factor,
                           const struct plane_stack *full, double bin_from_s,
                           struct load_scaling *out)
{
    struct store_array *a = s->array, *level = level_find(s->store, a, factor);
    struct plane_stack small = {.data = NULL};
    int64_t steps[STORE_DIMS];
    int y, x;
    enum err e = ERR_OK;
    plane_axes(a, &y, &x);
    out->factor = factor;
    out->full_s = bin_from_s;
    for (int d = 0; d < a->dims; d++)
        steps[d] = (level ? level->shape[d] < a->shape[d] : d == y || d == x) ? factor : 1;
    if (level) {
        out->level = arena_text(l->arena, level->name);
        TRY(load_time_whole(s->request, s->request->path, level->name, &out->seconds));
        e = stack_read(s, level, &small);
    } else {
        const int64_t begin = clock_ns();
        e = stack_bin(full, a->dims, steps, &small);
        out->seconds = bin_from_s + clock_seconds_since(begin);
    }
    if (!e) {
        stack_compare(full, &small, a->dims, steps, out);
        out->speedup = bin_from_s / out->seconds;
        out->shape = arena_take(l->arena, sizeof small.shape);
        e = out->shape ? ERR_OK : FAIL(ERR_MEMORY, "no memory left for the times");
    }
    if (!e) {
        memcpy(out->shape, small.shape, sizeof small.shape);
        out->shape_count = a->dims;
    }
    mem_free(small.data);
    return e;
}

enum err load_scalings(struct load_session *s, struct loading *l, const int64_t *factors, int n)
{
    struct plane_stack full = {.data = NULL};
    double seconds;
    FAIL_IF(s->array->dims < 2, ERR_USAGE, "`scaling`: %s has %d dimension; 2 are needed",
            s->array->name, s->array->dims);
    TRY(json_items(l->arena, &record_load_scaling, (size_t)n, &l->scalings, &l->scalings_count));
    TRY(load_time_whole(s->request, s->request->path, s->array->name, &seconds));
    enum err e = stack_read(s, s->array, &full);
    for (int i = 0; i < n && !e; i++)
        e = scaling_of(s, l, factors[i], &full, seconds, &l->scalings[i]);
    mem_free(full.data);
    return e;
}
