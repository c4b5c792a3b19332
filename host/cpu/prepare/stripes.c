/* Removal of stripes by sorting (N. Vo, R. Atwood and M. Drakopoulos, 2018, algorithm 3): among the
 * values of each channel in ascending order, neighbouring channels differ by their stripes alone,
 * so that a median across channels takes these away. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "host/backend/course.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/prepare/prepare.h"

struct ranked {
    float value;
    int32_t view;
};

/* Memory that a thread works in, for one detector row. */
struct row_memory {
    struct ranked *order; /* [channels][views], ascending */
    float *rank, *window; /* [channels] of one rank; [size] in order */
};

static int ranked_by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->value != y->value)
        return (x->value > y->value) - (x->value < y->value);
    return (x->view > y->view) - (x->view < y->view);
}

/* d c b a | a b c d | d c b a, as often as needed. */
static int64_t window_reflect(int64_t i, int64_t n)
{
    const int64_t turn = ((i % (2 * n)) + 2 * n) % (2 * n);
    return turn < n ? turn : 2 * n - 1 - turn;
}

/* Place of the first element >= value. */
static int64_t window_place(const float *window, int64_t n, float value)
{
    int64_t low = 0;
    while (n > 0) {
        const int64_t half = n / 2;
        if (window[low + half] < value) {
            low += half + 1;
            n -= half + 1;
        } else
            n = half;
    }
    return low;
}

static void window_replace(float *window, int64_t size, float leaves, float comes)
{
    const int64_t from = window_place(window, size, leaves);
    memmove(window + from, window + from + 1, (size_t)(size - 1 - from) * sizeof *window);
    const int64_t to = window_place(window, size - 1, comes);
    memmove(window + to + 1, window + to, (size_t)(size - 1 - to) * sizeof *window);
    window[to] = comes;
}

/* Median of `size` values around each channel; `to` is stored by view. */
static void filter_rank(const struct scan *s, int64_t size, int64_t rank, struct row_memory *w,
                        float *to)
{
    const int64_t n = s->channels, half = size / 2;
    for (int64_t c = 0; c < n; c++)
        w->rank[c] = w->order[c * s->views + rank].value;
    for (int64_t k = 0; k < size; k++)
        w->window[k] = w->rank[window_reflect(k - half, n)];
    qsort(w->window, (size_t)size, sizeof *w->window, ascending_float);
    for (int64_t c = 0; c < n; c++) {
        to[w->order[c * s->views + rank].view * s->rows * n + c] = w->window[half];
        window_replace(w->window, size, w->rank[window_reflect(c - half, n)],
                       w->rank[window_reflect(c - half + size, n)]);
    }
}

static void stripes_filter_row(const struct scan *s, int64_t size, const float *from,
                               struct row_memory *w, float *to)
{
    for (int64_t c = 0; c < s->channels; c++) {
        struct ranked *order = w->order + c * s->views;
        for (int64_t v = 0; v < s->views; v++)
            order[v] = (struct ranked){from[v * s->rows * s->channels + c], (int32_t)v};
        qsort(order, (size_t)s->views, sizeof *order, ranked_by_value);
    }
    for (int64_t rank = 0; rank < s->views; rank++)
        filter_rank(s, size, rank, w, to);
}

enum err cpu_remove_stripes(struct backend *be, const struct scan *s, int64_t size,
                            const struct buffer *y, struct buffer *out)
{
    const int threads = s->rows < be->threads ? (int)s->rows : be->threads;
    const size_t own = (size_t)(s->views * s->channels) * sizeof(struct ranked) +
                       (size_t)(s->channels + size) * sizeof(float);
    void *memory;
    FAIL_IF(size < 1 || size % 2 == 0, ERR_USAGE, "a median of %lld channels: must be odd",
            (long long)size);
    TRY(mem_alloc("removal of stripes", own * (size_t)threads, &memory));
    struct course way = {be, s->rows, 0};
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < s->rows; row++) {
        struct row_memory w = {.order =
                                   (void *)((char *)memory + (size_t)omp_get_thread_num() * own)};
        w.rank = (float *)(void *)(w.order + s->views * s->channels);
        w.window = w.rank + s->channels;
        if (course_next(&way))
            stripes_filter_row(s, size, (const float *)y->ptr + row * s->channels, &w,
                               (float *)out->ptr + row * s->channels);
    }
    mem_free(memory);
    const double bytes = (double)(y->bytes + out->bytes);
    backend_declare(be, 0, bytes, 8 * bytes);
    return ERR_OK;
}
