/* How the chunks of an array lie: a grid, tiles that overlap, tiles with holes between them. */
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
