/* How the chunks of an array lie: a grid, tiles that overlap, tiles with holes between them; whether
 * their borders show. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "host/load/load.h"

struct axis {
    int64_t shape, step; /* of all tiles; -1: they differ */
    int count;           /* of different places */
};

/* Tiles along dimension d. Returns 0 without memory. */
static int axis_of(const struct store_array *a, int d, struct axis *out)
{
    double *at = malloc(((size_t)a->chunks_count + 1) * sizeof *at);
    if (!at)
        return 0;
    *out = (struct axis){a->tiles[0].shape[d], 0, 1};
    for (int64_t i = 0; i < a->chunks_count; i++) {
        at[i] = (double)a->tiles[i].start[d];
        if (a->tiles[i].shape[d] != out->shape)
            out->shape = -1;
    }
    qsort(at, (size_t)a->chunks_count, sizeof *at, ascending_double);
    for (int64_t i = 1; i < a->chunks_count; i++) {
        const int64_t step = (int64_t)(at[i] - at[i - 1]);
        if (!step)
            continue;
        out->step = out->count++ == 1 || out->step == step ? step : -1;
    }
    free(at);
    return 1;
}

/* `covered`: the tiles leave no hole. */
const char *load_layout(const struct store_array *a, int covered, struct arena *arena)
{
    char text[200];
    if (!a->tiles)
        return "a regular grid";
    if (a->dims < 2 || a->chunks_count < 1)
        return NULL;
    struct axis y, x;
    if (!axis_of(a, a->dims - 2, &y) || !axis_of(a, a->dims - 1, &x))
        return NULL;
    const char *holes = covered ? "" : ", with holes between them";
    if (y.shape < 0 || x.shape < 0 || y.step < 0 || x.step < 0) {
        text_print(text, sizeof text, "tiles without a grid%s", holes);
        return arena_text(arena, text);
    }
    const int64_t over_y = y.count > 1 ? y.shape - y.step : 0,
                  over_x = x.count > 1 ? x.shape - x.step : 0;
    text_print(text, sizeof text, "%d x %d tiles of %lld x %lld", y.count, x.count,
               (long long)y.shape, (long long)x.shape);
    if (over_y > 0 || over_x > 0)
        text_append(text, sizeof text, ", overlapping by %lld x %lld",
                    (long long)(over_y > 0 ? over_y : 0), (long long)(over_x > 0 ? over_x : 0));
    text_append(text, sizeof text, "%s", holes);
    return arena_text(arena, text);
}

/* ---- seams ---- */

#define SEAM_SAMPLES 16 /* of a border */

static double seam_value(struct store_dtype t, const unsigned char *p)
{
    uint64_t v = 0;
    float f;
    double d;
    memcpy(&f, p, t.bytes == 4 ? sizeof f : 0);
    memcpy(&d, p, t.bytes == 8 ? sizeof d : 0);
    if (t.kind == 'f')
        return t.bytes == 4 ? (double)f : t.bytes == 8 ? d : (double)NAN;
    memcpy(&v, p, t.bytes);
    const int unused = 64 - 8 * t.bytes;
    return t.kind == 'i' ? (double)((int64_t)(v << unused) >> unused) : (double)v;
}

/* Adds steps along dimension d at `at` of the array, in some places of the tile along dimension e. */
static double seam_steps(const struct load_session *s, const struct store_tile *t,
                         const int64_t *stride, int d, int e, int64_t at)
{
    const unsigned char *out = s->out;
    double sum = 0;
    for (int i = 0; i < SEAM_SAMPLES; i++) {
        int64_t from = 0;
        for (int k = 0; k < s->array->dims; k++)
            from += stride[k] * (k == d   ? at
                                 : k == e ? t->start[k] + t->shape[k] * i / SEAM_SAMPLES
                                          : t->start[k]);
        sum += fabs(seam_value(s->type, out + from) - seam_value(s->type, out + from - stride[d]));
    }
    return sum;
}

double load_seams(const struct load_session *s)
{
    const struct store_array *a = s->array;
    int64_t stride[STORE_DIMS];
    double border = 0, inside = 0;
    if (!a->tiles || a->dims < 2 || s->boxes > 1 || s->chunks != a->chunks_count ||
        memcmp(s->box.count, a->shape, sizeof *a->shape * (size_t)a->dims) != 0)
        return (double)NAN;
    engine_strides(a, &s->box, s->type.bytes, 0, stride);
    for (int64_t i = 0; i < a->chunks_count; i++) {
        const struct store_tile *t = &a->tiles[i];
        for (int d = a->dims - 2; d < a->dims; d++) {
            const int e = 2 * a->dims - 3 - d;
            const int64_t middle = t->start[d] + t->shape[d] / 2;
            if (t->start[d] < 1 || t->shape[d] < 4)
                continue;
            border += seam_steps(s, t, stride, d, e, t->start[d]);
            inside += seam_steps(s, t, stride, d, e, middle);
        }
    }
    return inside > 0 ? border / inside : (double)NAN;
}
