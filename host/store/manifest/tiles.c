/* Tiles of virtual datasets: each is what a mapping takes of a chunk of its source. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/memory.h"
#include "host/store/manifest/manifest.h"

#define TILES_MOST ((size_t)1 << 19)
#define RUNS_MOST  ((int64_t)1 << 22)
#define STEPS_MOST ((int64_t)1 << 28)
#define PAIRS_MOST 4096 /* mappings that are compared with each other */

struct tiles_run { /* elements that follow each other on both sides */
    int64_t from, to, count;
};

struct tiling {
    struct store *s;
    struct store_array *a;
    struct store_tile *tiles;
    struct store_chunk *chunks;
    size_t count, room, chunks_room;
    const struct tiles_mapping *m;
    int match[STORE_DIMS]; /* the dimension of `a` for each of the source, -1: of one element */
    struct tiles_run *runs[STORE_DIMS];
    int64_t runs_count[STORE_DIMS];
    int16_t pipeline[STORE_PIPELINES];
};

static int64_t axis_count(const struct tiles_axis *x)
{
    return x->count * x->block;
}

static int64_t axis_at(const struct tiles_axis *x, int64_t i)
{
    return x->start + i / x->block * x->stride + i % x->block;
}

/* Dimensions in their order, those of one element left out where the numbers differ. */
static enum err match_dims(struct tiling *t)
{
    const struct tiles_mapping *m = t->m;
    int to = 0, same = m->source_dims == t->a->dims;
    for (int d = 0; d < m->source_dims && same; d++)
        same = axis_count(&m->from[d]) == axis_count(&m->to[d]);
    for (int d = 0; d < m->source_dims; d++) {
        t->match[d] = same ? d : -1;
        if (same || axis_count(&m->from[d]) == 1)
            continue;
        while (to < t->a->dims && axis_count(&m->to[to]) == 1)
            to++;
        FAIL_IF(to == t->a->dims || axis_count(&m->to[to]) != axis_count(&m->from[d]), ERR_INPUT,
                "a mapping takes a box of another shape than its own from %s", m->source->name);
        t->match[d] = to++;
    }
    for (; to < t->a->dims && !same; to++)
        FAIL_IF(axis_count(&m->to[to]) != 1, ERR_INPUT,
                "a mapping takes a box of another shape than its own from %s", m->source->name);
    return ERR_OK;
}

static enum err runs_make(struct tiling *t, int d)
{
    const struct tiles_axis *from = &t->m->from[d],
                            *to = t->match[d] < 0 ? NULL : &t->m->to[t->match[d]];
    const int64_t n = axis_count(from);
    int64_t count = 0;
    size_t room = 0;
    for (int64_t i = 0; i < n;) {
        const int64_t left = from->block - i % from->block,
                      there = to ? to->block - i % to->block : 1;
        struct tiles_run r = {axis_at(from, i), to ? axis_at(to, i) : 0,
                              left < there ? left : there};
        struct tiles_run *last = count ? &t->runs[d][count - 1] : NULL;
        i += r.count;
        if (last && last->from + last->count == r.from && last->to + last->count == r.to) {
            last->count += r.count;
            continue;
        }
        FAIL_IF(count == RUNS_MOST, ERR_INPUT, "a mapping has more than %" PRId64 " pieces",
                RUNS_MOST);
        TRY(array_room(&t->runs[d], &room, (size_t)count + 1, sizeof **t->runs));
        t->runs[d][count++] = r;
    }
    t->runs_count[d] = count;
    return ERR_OK;
}

static enum err tile_add(struct tiling *t, const struct store_tile *tile, struct store_chunk c)
{
    FAIL_IF(t->count == TILES_MOST, ERR_INPUT, "its sources have more than %zu chunks", TILES_MOST);
    TRY(array_room(&t->tiles, &t->room, t->count + 1, sizeof *t->tiles));
    TRY(array_room(&t->chunks, &t->chunks_room, t->count + 1, sizeof *t->chunks));
    c.pipeline = t->pipeline[c.pipeline];
    t->tiles[t->count] = *tile;
    t->chunks[t->count++] = c;
    return ERR_OK;
}

/* Adds the dimensions of the source from `d` on. Those without a partner are folded into the
 * next. */
static enum err chunk_add(struct tiling *t, int64_t chunk, int d, struct store_tile tile,
                          int64_t fold, int64_t folded)
{
    const struct store_array *source = t->m->source;
    int64_t start[STORE_DIMS], shape[STORE_DIMS], from[STORE_DIMS], whole[STORE_DIMS];
    if (d == source->dims) {
        FAIL_IF(fold > 1, ERR_INPUT, "a mapping takes one element of the chunks of %s",
                source->name);
        return tile_add(t, &tile, source->chunks[chunk]);
    }
    store_chunk_box(source, chunk, start, shape);
    store_chunk_shape(source, chunk, from, whole);
    for (int64_t i = 0; i < t->runs_count[d]; i++) {
        const struct tiles_run *r = &t->runs[d][i];
        const int64_t low = r->from > start[d] ? r->from : start[d],
                      end = r->from + r->count < start[d] + shape[d] ? r->from + r->count
                                                                     : start[d] + shape[d],
                      at = folded * whole[d] + from[d] + low - start[d];
        const int to = t->match[d];
        if (low >= end)
            continue;
        if (to < 0) {
            TRY(chunk_add(t, chunk, d + 1, tile, fold * whole[d], at));
            continue;
        }
        struct store_tile next = tile;
        next.start[to] = r->to + low - r->from;
        next.shape[to] = end - low;
        next.from[to] = at;
        next.whole[to] = fold * whole[d];
        TRY(chunk_add(t, chunk, d + 1, next, 1, 0));
    }
    return ERR_OK;
}

static enum err pipelines_join(struct tiling *t)
{
    const struct store_array *source = t->m->source;
    for (int i = 0; i < source->pipelines_count; i++) {
        int k = 0;
        while (k < t->a->pipelines_count &&
               memcmp(&t->a->pipelines[k], &source->pipelines[i], sizeof *source->pipelines) != 0)
            k++;
        FAIL_IF(k == STORE_PIPELINES, ERR_UNSUPPORTED,
                "its sources are compressed in more than %d ways", STORE_PIPELINES);
        if (k == t->a->pipelines_count)
            t->a->pipelines[t->a->pipelines_count++] = source->pipelines[i];
        t->pipeline[i] = (int16_t)k;
    }
    return ERR_OK;
}

static enum err tiling_add_mapping(struct tiling *t)
{
    const struct store_array *source = t->m->source;
    struct store_tile tile = {.start = {0}};
    int64_t steps = source->chunks_count, missing = 0;
    TRY(match_dims(t));
    TRY(pipelines_join(t));
    for (int d = 0; d < t->a->dims; d++) {
        tile.start[d] = t->m->to[d].start;
        tile.shape[d] = tile.whole[d] = 1;
    }
    for (int d = 0; d < source->dims; d++) {
        TRY(runs_make(t, d));
        steps = steps > STEPS_MOST ? steps : steps * t->runs_count[d];
    }
    FAIL_IF(steps > STEPS_MOST, ERR_INPUT, "a mapping has more than %" PRId64 " pieces",
            STEPS_MOST);
    for (int64_t i = 0; i < source->chunks_count; i++) {
        if (source->chunks[i].object >= 0)
            TRY(chunk_add(t, i, 0, tile, 1, 0));
        else
            missing++;
    }
    FAIL_IF((missing || source->tiles) &&
                memcmp(source->fill, t->a->fill, sizeof source->fill) != 0,
            ERR_INPUT, "%s, its source, has gaps and another fill value", source->name);
    return ERR_OK;
}

/* Checks that all tiles are chunks of one grid, of which none is cut (or all at the edges are). */
static int is_grid(const struct tiling *t, int cut, int64_t chunk[STORE_DIMS])
{
    const struct store_array *a = t->a;
    for (int d = 0; d < a->dims; d++) {
        chunk[d] = 0;
        for (size_t i = 0; i < t->count; i++)
            if (t->tiles[i].whole[d] > chunk[d])
                chunk[d] = t->tiles[i].whole[d];
    }
    for (size_t i = 0; i < t->count; i++)
        for (int d = 0; d < a->dims; d++) {
            const struct store_tile *x = &t->tiles[i];
            const int64_t left = a->shape[d] - x->start[d],
                          inside = left < chunk[d] ? left : chunk[d];
            if (x->from[d] || x->start[d] % chunk[d] || x->shape[d] != inside ||
                x->whole[d] != (cut ? inside : chunk[d]))
                return 0;
        }
    return 1;
}

static enum err grid_fill(struct tiling *t)
{
    struct store_array *a = t->a;
    TRY(store_array_check(t->s, a));
    TRY(store_chunks_room(t->s, a));
    for (size_t i = 0; i < t->count; i++) {
        int64_t n = 0;
        for (int d = 0; d < a->dims; d++)
            n = n * a->grid[d] + t->tiles[i].start[d] / a->chunk[d];
        TRY(store_chunk_set(t->s, a, n, t->chunks[i]));
    }
    return ERR_OK;
}

static enum err tiles_fill(struct tiling *t)
{
    struct store_array *a = t->a;
    a->chunks_count = (int64_t)t->count;
    a->tiles = arena_take(t->s->arena, t->count * sizeof *a->tiles);
    FAIL_IF(!a->tiles, ERR_MEMORY, "%s: no memory left for its tiles", t->s->name);
    memcpy(a->tiles, t->tiles, t->count * sizeof *a->tiles);
    TRY(store_array_check(t->s, a));
    TRY(store_tiles_check(t->s, a));
    TRY(store_chunks_room(t->s, a));
    for (size_t i = 0; i < t->count; i++)
        TRY(store_chunk_set(t->s, a, (int64_t)i, t->chunks[i]));
    return ERR_OK;
}

/* Checks that the boxes around two mappings have no element in common. */
static int mappings_are_disjoint(const struct store_array *a, const struct tiles_mapping *x,
                                 const struct tiles_mapping *y)
{
    for (int d = 0; d < a->dims; d++)
        if (axis_at(&x->to[d], axis_count(&x->to[d]) - 1) < y->to[d].start ||
            axis_at(&y->to[d], axis_count(&y->to[d]) - 1) < x->to[d].start)
            return 1;
    return 0;
}

static int mappings_all_disjoint(const struct store_array *a, const struct tiles_mapping *m,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (count > PAIRS_MOST || (m[i].source->tiles && !m[i].source->apart))
            return 0;
        for (int d = 0; d < a->dims; d++)
            if (m[i].to[d].count > 1 && m[i].to[d].stride < m[i].to[d].block)
                return 0;
        for (size_t k = 0; k < i; k++)
            if (!mappings_are_disjoint(a, &m[i], &m[k]))
                return 0;
    }
    return 1;
}

static enum err tiling_make(struct tiling *t, const struct tiles_mapping *m, size_t count)
{
    struct store_array *a = t->a;
    for (size_t i = 0; i < count; i++) {
        t->m = &m[i];
        const enum err e = tiling_add_mapping(t);
        for (int d = 0; d < STORE_DIMS; d++) {
            free(t->runs[d]);
            t->runs[d] = NULL;
        }
        TRY(e);
    }
    if (!t->count) { /* all of it is the fill value */
        memcpy(a->chunk, a->shape, sizeof a->chunk);
        a->pipelines_count = a->pipelines_count ? a->pipelines_count : 1;
        TRY(store_array_check(t->s, a));
        return store_chunks_room(t->s, a);
    }
    a->cut_edges = is_grid(t, 1, a->chunk);
    if (a->cut_edges || is_grid(t, 0, a->chunk))
        return grid_fill(t);
    a->apart = mappings_all_disjoint(a, m, count);
    return tiles_fill(t);
}

enum err tiles_make(struct store *s, struct store_array *a, const struct tiles_mapping *m,
                    size_t count)
{
    struct tiling t = {.s = s, .a = a};
    const enum err e = tiling_make(&t, m, count);
    free(t.tiles);
    free(t.chunks);
    return e;
}
