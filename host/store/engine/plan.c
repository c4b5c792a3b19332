/* Lists the bytes that a box needs, in the order of reading. */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "host/store/engine/parts.h"
#include "host/store/fetch/http.h"

#define GAP           4096
#define LARGEST       ((int64_t)16 << 20)
#define TASKS_MOST    ((size_t)1 << 26)
#define OVERLAPS_MOST 1000
#define TILES_MOST    4096
#define BATCH_BYTES   ((int64_t)1 << 18)   /* they stay in the second cache */
#define BATCH_LEAST   ((int64_t)128 << 10) /* decoded: less is not worth a turn of its own */

struct engine_box engine_all(const struct store_array *a)
{
    struct engine_box b = {{0}, {0}};
    memcpy(b.count, a->shape, sizeof b.count);
    return b;
}

static enum err plan_add_task(struct engine_plan *p, const struct engine_task *t)
{
    const size_t n = (size_t)p->facts.tasks;
    FAIL_IF(n >= TASKS_MOST, ERR_UNSUPPORTED, "%s: %s: this box lies in more than %zu pieces",
            p->store->name, p->array->name, TASKS_MOST);
    if (n + 1 > p->room) {
        size_t room = p->room ? 2 * p->room : 256;
        void *more = realloc(p->tasks, room * sizeof *p->tasks);
        FAIL_IF(!more, ERR_MEMORY, "%s: no memory left to plan its reading", p->store->name);
        p->tasks = more;
        p->room = room;
    }
    p->tasks[n] = *t;
    p->facts.tasks++;
    p->facts.bytes_fetched += t->bytes;
    return ERR_OK;
}

/* Elements between neighbours along each dimension of a decoded chunk. */
static void strides_in(const struct store_array *a, const int64_t shape[STORE_DIMS],
                       int64_t stride[STORE_DIMS])
{
    int64_t n = 1;
    for (int k = a->dims - 1; k >= 0; k--) {
        stride[a->order[k]] = n;
        n *= shape[a->order[k]];
    }
}

/* Makes one request where gaps between wanted runs are small and it is not too large with them;
 * else halves along the slowest dimension that has a large one. `t` has box and chunk. */
static enum err plan_split_task(struct engine_plan *p, struct engine_task t, const int64_t origin[],
                                const int64_t stride[])
{
    const struct store_array *a = p->array;
    const struct store_chunk *c = &a->chunks[t.chunk];
    const int64_t gap = p->options.gap < 0 ? 0 : p->options.gap;
    int64_t span = 1, at = 0;
    int cut = -1, gaps = -1;
    for (int k = a->dims - 1; k >= 0; k--) {
        const int d = a->order[k];
        if (t.count[d] > 1 && (stride[d] - span) * a->dtype.bytes > gap)
            cut = d;
        if (t.count[d] > 1 && stride[d] > span)
            gaps = d;
        span += (t.count[d] - 1) * stride[d];
        at += (t.start[d] - origin[d]) * stride[d];
    }
    if (cut < 0 && span * a->dtype.bytes > p->options.largest)
        cut = gaps;
    if (cut < 0) {
        t.offset = c->offset + c->skip + at * a->dtype.bytes;
        t.bytes = span * a->dtype.bytes;
        return plan_add_task(p, &t);
    }
    struct engine_task half = t;
    half.count[cut] = t.count[cut] / 2;
    TRY(plan_split_task(p, half, origin, stride));
    t.start[cut] += half.count[cut];
    t.count[cut] -= half.count[cut];
    return plan_split_task(p, t, origin, stride);
}

/* Splits the box of t into tasks for the parts that later tiles do not cover. */
static enum err plan_uncovered(struct engine_plan *p, struct engine_task t, int64_t above,
                               int depth)
{
    const struct store_array *a = p->array;
    FAIL_IF(depth > OVERLAPS_MOST, ERR_INPUT, "%s: %s: more than %d tiles overlap in one place",
            p->store->name, a->name, OVERLAPS_MOST);
    for (int64_t i = above; i < a->chunks_count; i++) {
        const struct store_tile *over = &a->tiles[i];
        int apart = 0;
        for (int d = 0; d < a->dims && !apart; d++)
            apart = over->start[d] >= t.start[d] + t.count[d] ||
                    over->start[d] + over->shape[d] <= t.start[d];
        if (apart)
            continue;
        for (int d = 0; d < a->dims; d++) {
            struct engine_task side = t;
            const int64_t low = over->start[d], high = over->start[d] + over->shape[d],
                          end = t.start[d] + t.count[d];
            if (low > t.start[d]) {
                side.count[d] = low - t.start[d];
                TRY(plan_uncovered(p, side, i + 1, depth + 1));
                t.count[d] -= side.count[d];
                t.start[d] = low;
            }
            if (high < end) {
                side = t;
                side.start[d] = high;
                side.count[d] = end - high;
                TRY(plan_uncovered(p, side, i + 1, depth + 1));
                t.count[d] = high - t.start[d];
            }
        }
        return ERR_OK; /* what is left lies under `over` */
    }
    return plan_add_task(p, &t);
}

static enum err plan_add_chunk(struct engine_plan *p, int64_t chunk)
{
    const struct store_array *a = p->array;
    const struct store_chunk *c = &a->chunks[chunk];
    struct engine_task t = {.chunk = chunk};
    int64_t origin[STORE_DIMS], shape[STORE_DIMS], stride[STORE_DIMS], from[STORE_DIMS];
    store_chunk_box(a, chunk, origin, shape);
    for (int d = 0; d < a->dims; d++) {
        const int64_t end = p->box.start[d] + p->box.count[d], chunk_end = origin[d] + shape[d];
        t.start[d] = origin[d] > p->box.start[d] ? origin[d] : p->box.start[d];
        t.count[d] = (chunk_end < end ? chunk_end : end) - t.start[d];
        if (t.count[d] <= 0)
            return ERR_OK;
    }
    if (c->object < 0 && a->tiles)
        return ERR_OK;
    const int64_t before = p->facts.tasks;
    store_chunk_shape(a, chunk, from, shape);
    strides_in(a, shape, stride);
    if (c->object < 0) {
        TRY(plan_add_task(p, &t));
    } else if (a->pipelines[c->pipeline].count == 0 && !a->tiles && !c->whole) {
        TRY(plan_split_task(p, t, origin, stride));
    } else {
        t.offset = c->offset;
        t.bytes = c->stored;
        TRY(a->tiles && !a->apart ? plan_uncovered(p, t, chunk + 1, 0) : plan_add_task(p, &t));
    }
    if (p->facts.tasks == before) /* a tile that others hide */
        return ERR_OK;
    p->facts.chunks++;
    p->facts.chunks_stored += c->object >= 0;
    if (c->object >= 0 && a->pipelines[c->pipeline].count)
        p->facts.bytes_decoded += store_chunk_bytes(a, chunk) + c->skip;
    for (int64_t i = before; i < p->facts.tasks; i++) {
        struct engine_task *n = &p->tasks[i];
        const int raw =
            c->object < 0 || (a->pipelines[c->pipeline].count == 0 && !a->tiles && !c->whole);
        for (int d = 0; d < a->dims && !raw; d++)
            n->first += (n->start[d] - origin[d] + from[d]) * stride[d];
        if (i > before && !raw) /* decoded once */
            p->facts.bytes_fetched -= n->bytes;
    }
    return ERR_OK;
}

/* Every n-th chunk where not all are wanted. */
static int is_sampled(const struct engine_plan *p, int64_t number, int64_t of)
{
    const int64_t most = p->options.chunks_most;
    return !most || most >= of || number * most / of != (number - 1) * most / of || number == 0;
}

static enum err plan_add_grid(struct engine_plan *p)
{
    const struct store_array *a = p->array;
    int64_t low[STORE_DIMS], at[STORE_DIMS], count[STORE_DIMS], all = 1;
    for (int d = 0; d < a->dims; d++) {
        at[d] = low[d] = p->box.start[d] / a->chunk[d];
        count[d] = (p->box.start[d] + p->box.count[d] - 1) / a->chunk[d] - low[d] + 1;
        all *= count[d];
    }
    for (int64_t n = 0; n < all; n++) {
        int64_t chunk = 0;
        for (int d = 0; d < a->dims; d++)
            chunk = chunk * a->grid[d] + at[d];
        if (is_sampled(p, n, all))
            TRY(plan_add_chunk(p, chunk));
        for (int d = a->dims - 1; d >= 0 && ++at[d] == low[d] + count[d]; d--)
            at[d] = low[d];
    }
    return ERR_OK;
}

static void set_key(struct engine_plan *p, struct engine_task *t)
{
    const struct store_array *a = p->array;
    const enum engine_order order = p->options.order;
    int64_t start[STORE_DIMS] = {0}, shape[STORE_DIMS] = {0}, plane = 0, side = 1;
    t->key = t->chunk;
    if (order == ORDER_RANDOM)
        t->key = (int64_t)(table_mix(42, (uint64_t)t->chunk) >> 1);
    if (a->dims < 2 || order == ORDER_OFFSET || order == ORDER_INDEX || order == ORDER_RANDOM)
        return;
    store_chunk_box(a, t->chunk, start, shape);
    for (int d = 0; d + 2 < a->dims; d++)
        plane = plane * (a->shape[d] / shape[d] + 1) + start[d] / shape[d];
    const int64_t y = start[a->dims - 2] / shape[a->dims - 2],
                  x = start[a->dims - 1] / shape[a->dims - 1];
    while (side <= a->shape[a->dims - 2] / shape[a->dims - 2] ||
           side <= a->shape[a->dims - 1] / shape[a->dims - 1])
        side *= 2;
    t->key = plane * side * side + (order == ORDER_YX ? y * side + x : x * side + y);
}

ARRAY_ORDER(by_key, struct engine_task,
            COMPARE(x->key, y->key) ?: COMPARE(x->chunk, y->chunk)
                ?: COMPARE(x->offset, y->offset));

static _Thread_local const struct store_array *sorted; /* of by_offset */

static int by_offset(const void *x, const void *y)
{
    const struct engine_task *a = x, *b = y;
    const int32_t oa = sorted->chunks[a->chunk].object, ob = sorted->chunks[b->chunk].object;
    if (oa != ob)
        return oa < ob ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->chunk < b->chunk ? -1 : a->chunk > b->chunk;
}

static int32_t task_object(const struct engine_plan *p, int64_t task)
{
    return p->array->chunks[p->tasks[task].chunk].object;
}

int engine_processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n > ENGINE_PROCESSORS ? ENGINE_PROCESSORS : n;
}

int engine_workers(const struct engine_plan *p)
{
    const struct engine_options *o = &p->options;
    return o->processes       ? o->processes
           : o->threads       ? o->threads
           : p->store->remote ? HTTP_CONNECTIONS
                              : engine_processors();
}

/* Parts of one chunk stay together: it is decoded once. */
static enum err plan_group_parts(struct engine_plan *p)
{
    const int64_t n = p->facts.tasks;
    int64_t batch = p->options.batch;
    if (batch <= 0) {
        const struct engine_facts *f = &p->facts;
        const int64_t mean = n ? f->bytes_fetched / n + 1 : 1,
                      moved =
                          (f->bytes_decoded ? f->bytes_decoded : f->bytes_fetched) / (n + 1) + 1,
                      least = p->store->remote ? 1 : BATCH_LEAST / moved + 1,
                      turns = (p->store->remote ? 2 : 4) * (int64_t)engine_workers(p);
        int64_t share = n / turns + 1; /* all workers have work until the end */
        share = share < least ? least : share;
        batch = BATCH_BYTES / mean < 1 ? 1 : BATCH_BYTES / mean > 64 ? 64 : BATCH_BYTES / mean;
        batch = batch > share ? share : batch;
    }
    p->groups = malloc((size_t)(n + 1) * sizeof *p->groups);
    FAIL_IF(!p->groups, ERR_MEMORY, "%s: no memory left to plan its reading", p->store->name);
    int64_t in_group = 0;
    for (int64_t i = 0; i < n; i++) {
        const int same = i > 0 && p->tasks[i].chunk == p->tasks[i - 1].chunk &&
                         (p->array->tiles || p->array->pipelines_count > 1);
        const int leaves = i > 0 && p->options.way && p->options.way->maps &&
                           task_object(p, i) != task_object(p, i - 1);
        if (i == 0 || (in_group >= batch && !same) || leaves) {
            p->groups[p->groups_count++] = i;
            in_group = 0;
        }
        in_group++;
    }
    p->groups[p->groups_count] = n;
    return ERR_OK;
}

static int64_t part_elements(const struct store_array *a, const struct engine_task *t)
{
    int64_t n = 1;
    for (int d = 0; d < a->dims; d++)
        n *= t->count[d];
    return n;
}

static int tile_touches(const struct engine_plan *p, const struct store_tile *t)
{
    for (int d = 0; d < p->array->dims; d++)
        if (t->start[d] >= p->box.start[d] + p->box.count[d] ||
            t->start[d] + t->shape[d] <= p->box.start[d])
            return 0;
    return 1;
}

/* All tiles tell whether they cover the box, also where only some are read; of very many, a sample
 * would take longer to plan than to read. */
static enum err plan_add_tiles(struct engine_plan *p)
{
    const struct store_array *a = p->array;
    int64_t parts = 0, inside = 0, number = 0; /* no two parts overlap */
    for (int64_t i = 0; i < a->chunks_count; i++)
        inside += tile_touches(p, &a->tiles[i]);
    for (int64_t i = 0; i < a->chunks_count; i++) {
        const struct engine_facts before = p->facts;
        if (!tile_touches(p, &a->tiles[i]))
            continue;
        const int wanted = is_sampled(p, number++, inside);
        if (a->chunks_count > TILES_MOST && !wanted)
            continue;
        TRY(plan_add_chunk(p, i));
        for (int64_t k = before.tasks; k < p->facts.tasks; k++)
            parts += part_elements(a, &p->tasks[k]);
        if (!wanted)
            p->facts = before;
    }
    p->facts.covered = parts * a->dtype.bytes == p->facts.bytes_wanted ||
                       (p->options.chunks_most && a->chunks_count > TILES_MOST);
    return ERR_OK;
}

static enum err plan_make_tasks(struct engine_plan *p)
{
    const struct store_array *a = p->array;
    p->facts.bytes_wanted = a->dtype.bytes;
    for (int d = 0; d < a->dims; d++) {
        FAIL_IF(p->box.start[d] < 0 || p->box.count[d] < 1 ||
                    p->box.start[d] > a->shape[d] - p->box.count[d],
                ERR_INPUT,
                "%s: %s: %" PRId64 " from %" PRId64 " on are wanted in dimension %d, which has "
                "%" PRId64,
                p->store->name, a->name, p->box.count[d], p->box.start[d], d, a->shape[d]);
        p->facts.bytes_wanted *= p->box.count[d];
    }
    TRY(store_index_box(p->store, p->array, p->box.start, p->box.count));
    if (!a->tiles)
        TRY(plan_add_grid(p));
    p->facts.covered = 1;
    if (a->tiles)
        TRY(plan_add_tiles(p));
    for (int64_t i = 0; i < p->facts.tasks; i++)
        set_key(p, &p->tasks[i]);
    sorted = a;
    array_sort(p->tasks, (size_t)p->facts.tasks, sizeof *p->tasks,
               p->options.order == ORDER_OFFSET ? by_offset : by_key);
    const int64_t moved = p->facts.bytes_decoded ? p->facts.bytes_decoded : p->facts.bytes_fetched;
    p->facts.amplification = (double)moved / (double)p->facts.bytes_wanted;
    return plan_group_parts(p);
}

enum err engine_plan(struct store *s, struct store_array *a, const struct engine_box *box,
                     const struct engine_options *o, struct engine_plan **out)
{
    struct engine_plan *p = calloc(1, sizeof *p);
    *out = NULL;
    FAIL_IF(!p, ERR_MEMORY, "%s: no memory left to plan its reading", s->name);
    p->store = s;
    p->array = a;
    p->box = *box;
    if (o)
        p->options = *o;
    if (s->remote)
        p->options.way = &fetch_http;
    if (p->options.largest <= 0)
        p->options.largest = LARGEST;
    if (p->options.processes) /* they share no table */
        p->options.kept = NULL;
    if (!p->options.gap)
        p->options.gap = s->remote ? HTTP_GAP : GAP;
    enum err e = plan_make_tasks(p);
    if (e)
        engine_plan_free(p);
    else
        *out = p;
    return e;
}

void engine_plan_free(struct engine_plan *p)
{
    if (!p)
        return;
    free(p->tasks);
    free(p->groups);
    free(p);
}

const struct engine_facts *engine_facts(const struct engine_plan *p)
{
    return &p->facts;
}
