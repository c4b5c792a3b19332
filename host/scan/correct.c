/* Corrections of counts: transmission, and defects filled ring by ring. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/backend/prepare_math.h"
#include "host/scan/correct.h"

void correct_transmission(float *y, int64_t views, int64_t pixels, const float *white,
                          const float *dark)
{
    const struct prepare_job all = {.high = (float)INFINITY};
#pragma omp parallel for schedule(static) if (views * pixels >= 1 << 16)
    for (int64_t v = 0; v < views; v++)
        for (int64_t i = 0; i < pixels; i++) {
            float *x = y + v * pixels + i;
            *x = prepare_log(&all, prepare_transmission(*x, white[i], dark[i]));
        }
}

enum state { VALID, INVALID, QUEUED };

/* A view under repair. `queue` holds the invalid samples that touch a valid one; their new values
 * wait in `values` until the ring is complete, so that no sample depends on the order of the queue.
 */
struct repair {
    float *y;
    int64_t rows, channels;
    unsigned char *state;
    int32_t *queue, *next;
    float *values;
};

struct neighbours {
    int64_t m0, m1, n0, n1;
};

static struct neighbours repair_neighbours(const struct repair *r, int64_t i)
{
    int64_t m = i / r->channels, n = i % r->channels;
    return (struct neighbours){m ? m - 1 : 0, m + 1 < r->rows ? m + 1 : m, n ? n - 1 : 0,
                               n + 1 < r->channels ? n + 1 : n};
}

/* Median of the valid neighbours, the mean of the middle two of an even number; their number into
 * *count. */
static float neighbour_median(const struct repair *r, int64_t i, int *count)
{
    float near[9];
    int c = 0;
    struct neighbours w = repair_neighbours(r, i);
    for (int64_t m = w.m0; m <= w.m1; m++)
        for (int64_t n = w.n0; n <= w.n1; n++) {
            if (r->state[m * r->channels + n] != VALID)
                continue;
            float x = r->y[m * r->channels + n];
            int at = c++;
            for (; at && near[at - 1] > x; at--)
                near[at] = near[at - 1];
            near[at] = x;
        }
    *count = c;
    if (!c)
        return NAN;
    return c % 2 ? near[c / 2] : (near[c / 2 - 1] + near[c / 2]) / 2;
}

/* Fills the queued ring and queues the next one; returns its length. */
static int64_t fill_ring(struct repair *r, int64_t n)
{
    int64_t queued = 0;
    int unused;
    for (int64_t q = 0; q < n; q++)
        r->values[q] = neighbour_median(r, r->queue[q], &unused);
    for (int64_t q = 0; q < n; q++) {
        r->y[r->queue[q]] = r->values[q];
        r->state[r->queue[q]] = VALID;
    }
    for (int64_t q = 0; q < n; q++) {
        struct neighbours w = repair_neighbours(r, r->queue[q]);
        for (int64_t m = w.m0; m <= w.m1; m++)
            for (int64_t c = w.n0; c <= w.n1; c++) {
                int64_t i = m * r->channels + c;
                if (r->state[i] != INVALID)
                    continue;
                r->state[i] = QUEUED;
                r->next[queued++] = (int32_t)i;
            }
    }
    int32_t *swap = r->queue;
    r->queue = r->next;
    r->next = swap;
    return queued;
}

/* Returns the number of samples filled, or -1 when none is valid. */
static int64_t repair_view(struct repair *r)
{
    int64_t pixels = r->rows * r->channels, invalid = 0, n = 0;
    for (int64_t i = 0; i < pixels; i++) {
        r->state[i] = isnan(r->y[i]) ? INVALID : VALID;
        invalid += r->state[i] == INVALID;
    }
    if (!invalid || invalid == pixels)
        return invalid ? -1 : 0;
    for (int64_t i = 0; i < pixels; i++) {
        int count;
        if (r->state[i] != INVALID)
            continue;
        neighbour_median(r, i, &count);
        if (count)
            r->queue[n++] = (int32_t)i;
    }
    for (int64_t q = 0; q < n; q++)
        r->state[r->queue[q]] = QUEUED;
    while (n)
        n = fill_ring(r, n);
    return invalid;
}

enum err correct_repair(float *y, int64_t views, int64_t rows, int64_t channels, int64_t *repaired)
{
    *repaired = 0;
    int64_t pixels = rows * channels, first = 0;
    while (first < views * pixels && !isnan(y[first]))
        first++;
    if (first == views * pixels)
        return ERR_OK;
    FAIL_IF(pixels > INT32_MAX, ERR_INPUT,
            "views of %" PRId64 " samples are too large to be repaired", pixels);
    void *block;
    TRY(mem_alloc("the repair of defects", (size_t)pixels * (3 * sizeof(float) + 1), &block));
    struct repair r = {.rows = rows, .channels = channels, .queue = block};
    r.next = r.queue + pixels;
    r.values = (float *)(r.next + pixels);
    r.state = (unsigned char *)(r.values + pixels);
    enum err e = ERR_OK;
    for (int64_t v = first / pixels; v < views && !e; v++) {
        r.y = y + v * pixels;
        int64_t n = repair_view(&r);
        if (n < 0)
            e = FAIL(ERR_INPUT,
                     "view %" PRId64 " has no valid sample: are its flat fields or its data dark?",
                     v);
        *repaired += n;
    }
    mem_free(block);
    return e;
}
