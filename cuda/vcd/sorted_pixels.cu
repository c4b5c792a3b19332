/* A cache of partitions in device memory, each sorted once for all views; the oldest lists make
 * room. */
#include <stdlib.h>
#include <string.h>

#include "cuda/vcd/vcd.cuh"

#define KEPT 4 /* as many partitions follow each other in turn (host/recon/mbir_schedule.c) */

struct cached_partition {
    int64_t serial, length; /* of the projector; serial 0: empty */
    int subsets;
    int32_t *copy; /* host memory */
    struct workspace indices, lists;
    uint64_t used;
};

struct sorted_cache {
    struct cached_partition partitions[KEPT];
    struct cached_partition *busy;
    uint64_t clock;
};

static void partition_empty(struct cuda_backend *be, struct cached_partition *e)
{
    free(e->copy);
    workspace_drop(be, &e->indices);
    workspace_drop(be, &e->lists);
    *e = cached_partition{};
}

static void partition_forget(struct cuda_backend *be, int64_t serial)
{
    for (int i = 0; be->sorted && i < KEPT; i++)
        if (be->sorted->partitions[i].serial == serial)
            partition_empty(be, &be->sorted->partitions[i]);
}

static void sorted_free(struct cuda_backend *be)
{
    for (int i = 0; be->sorted && i < KEPT; i++)
        partition_empty(be, &be->sorted->partitions[i]);
    free(be->sorted);
    be->sorted = NULL;
}

void sorted_done(struct cuda_backend *be)
{
    if (be->sorted)
        be->sorted->busy = NULL;
}

/* Lists that are not in use, the ones that waited longest; NULL: none. */
static struct cached_partition *partition_oldest(struct sorted_cache *cache)
{
    struct cached_partition *found = NULL;
    for (struct cached_partition &e : cache->partitions)
        if (&e != cache->busy && e.lists.ptr && (!found || e.used < found->used))
            found = &e;
    return found;
}

static int sorted_shrink(struct cuda_backend *be)
{
    struct cached_partition *e = be->sorted ? partition_oldest(be->sorted) : NULL;
    const int some = e != NULL;
    for (; e; e = partition_oldest(be->sorted))
        workspace_drop(be, &e->lists);
    return some;
}

const struct device_cache sorted_pixels_cache = {sorted_free, 0, sorted_shrink, partition_forget};

static enum err partition_fill(struct cuda_backend *be, struct cached_partition *e,
                               const struct projector *p, const struct vcd_iteration *s)
{
    const size_t bytes = (size_t)(s->subsets * s->length) * sizeof(int32_t);
    partition_empty(be, e);
    e->copy = static_cast<int32_t *>(malloc(bytes));
    FAIL_IF(!e->copy, ERR_MEMORY, "no memory for the pixels of %d subsets", s->subsets);
    memcpy(e->copy, s->indices, bytes);
    TRY(workspace_hold(be, "the pixels of a partition", bytes, &e->indices));
    TRY(device_put(be, e->indices.ptr, e->copy, bytes));
    e->length = s->length;
    e->subsets = s->subsets;
    e->serial = p->serial;
    return ERR_OK;
}

static int partition_holds(const struct cached_partition *e, const struct projector *p,
                           const struct vcd_iteration *s)
{
    return e->serial == p->serial && e->length == s->length && e->subsets == s->subsets &&
           !memcmp(e->copy, s->indices, (size_t)(s->subsets * s->length) * sizeof(int32_t));
}

static enum err partition_find(struct cuda_backend *be, const struct projector *p,
                               const struct vcd_iteration *s, struct cached_partition **out)
{
    if (!be->sorted)
        be->sorted = static_cast<struct sorted_cache *>(calloc(1, sizeof *be->sorted));
    FAIL_IF(!be->sorted, ERR_MEMORY, "no memory for lists of pixels");
    struct cached_partition *e = be->sorted->partitions;
    for (struct cached_partition &other : be->sorted->partitions)
        if (other.used < e->used)
            e = &other;
    for (struct cached_partition &other : be->sorted->partitions)
        if (partition_holds(&other, p, s))
            e = &other;
    be->sorted->busy = *out = e;
    if (!partition_holds(e, p, s))
        TRY(partition_fill(be, e, p, s));
    e->used = ++be->sorted->clock;
    return ERR_OK;
}

/* Half of what is left may be taken; older lists make room. */
static enum err sorted_make_room(struct cuda_backend *be, size_t bytes, int *fits)
{
    for (;;) {
        size_t left;
        TRY(device_available(be, &left));
        *fits = bytes <= left / 2;
        struct cached_partition *const old = partition_oldest(be->sorted);
        if (*fits || !old)
            return ERR_OK;
        workspace_drop(be, &old->lists);
    }
}

/* Subset by subset, as many views at a time as the scratch of a projection takes. */
static enum err partition_sort(struct cuda_backend *be, const struct projector *p,
                               const struct sorted *s, int64_t length, int subsets)
{
    struct projection_plan plan;
    TRY(plan_create(be, p, length, 0, &plan));
    for (int subset = 0; subset < subsets; subset++)
        for (int view = 0; view < p->g.views; view += plan.views) {
            const struct batch b = {view, (int)size_min(plan.views, p->g.views - view)};
            const struct pixel_list pixels = {s->indices + subset * length, length, 1, 0};
            struct projection_plan into = plan;
            struct bins bins;
            into.list =
                const_cast<int32_t *>(s->first.list) + subset * s->list_step + view * length;
            into.first = const_cast<int32_t *>(s->first.first) + subset * s->first_step +
                         (int64_t)view * (bins_of(&p->g) + 1);
            TRY(bins_fill(be, p, &into, &pixels, b, &bins));
        }
    return ERR_OK;
}

enum err sorted_get(struct cuda_backend *be, const struct projector *p,
                    const struct vcd_iteration *s, struct sorted *out)
{
    struct cached_partition *e = NULL;
    int fits = 1;
    TRY(partition_find(be, p, s, &e));
    *out = sorted{static_cast<const int32_t *>(e->indices.ptr),
                  {},
                  p->g.views * s->length,
                  (int64_t)p->g.views * (bins_of(&p->g) + 1)};
    const int64_t entries = s->subsets * out->list_step;
    const size_t bytes = (size_t)(entries + s->subsets * out->first_step) * sizeof(int32_t);
    const int sorted_before = e->lists.ptr != NULL;
    if (!sorted_before)
        TRY(sorted_make_room(be, bytes, &fits));
    if (!fits)
        return ERR_OK;
    TRY(workspace_hold(be, "sorted lists of pixels", bytes, &e->lists));
    out->first.list = static_cast<const int32_t *>(e->lists.ptr);
    out->first.first = out->first.list + entries;
    if (sorted_before)
        return ERR_OK;
    const enum err failed = partition_sort(be, p, out, s->length, s->subsets);
    if (failed)
        workspace_drop(be, &e->lists);
    return failed;
}
