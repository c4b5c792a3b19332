/* Device memory that each line held: allocations and releases of an image, replayed in order of
 * time. */
#include <stdlib.h>

#include "base/array.h"
#include "profiler/analyze/gpu/gpu.h"

static void device_change_site(struct run *r, int site, double bytes)
{
    if (site < 0)
        return;
    struct live_heap *h = &r->sites.items[site].device;
    h->live += bytes;
    h->peak = h->live > h->peak ? h->live : h->peak;
}

ARRAY_ORDER(by_time, struct memory_event, COMPARE(x->time, y->time) ?: COMPARE(x->order, y->order));

struct device_replay {
    struct table live; /* address and device -> event */
    double *total;     /* by device */
};

static enum err device_memory_replay(struct image *im, const struct gpu *g, struct device_replay *p)
{
    struct run *r = im->run;
    for (size_t i = 0; i < g->events.count; i++) {
        const struct memory_event *e = &g->events.items[i];
        uint64_t key = table_mix(e->address, e->device);
        uint32_t at = table_get(&p->live, key);
        if (at != TABLE_NONE) {
            const struct memory_event *old = &g->events.items[at];
            const struct sample_context *s =
                old->context == TABLE_NONE ? NULL : &im->contexts.items[old->context];
            device_change_site(r, s ? s->site : -1, -(double)old->bytes);
            device_change_site(r, s ? s->function : -1, -(double)old->bytes);
            p->total[e->device] -= (double)old->bytes;
            table_remove(&p->live, key);
        }
        if (!e->allocate)
            continue;
        const struct sample_context *s =
            e->context == TABLE_NONE ? NULL : &im->contexts.items[e->context];
        device_change_site(r, s ? s->site : -1, (double)e->bytes);
        device_change_site(r, s ? s->function : -1, (double)e->bytes);
        TRY(table_put(&p->live, key, (uint32_t)i));
        p->total[e->device] += (double)e->bytes;
        struct run_device *d = &r->gpu.devices.items[e->device];
        if (p->total[e->device] > d->peak) {
            d->peak = p->total[e->device];
            for (size_t k = 0; k < r->sites.count && r->sites.count * g->events.count < 20000000;
                 k++)
                r->sites.items[k].device.at_peak = r->sites.items[k].device.live;
        }
    }
    return ERR_OK;
}

enum err gpu_attribute_memory(struct image *im, struct gpu *g)
{
    struct run *r = im->run;
    struct device_replay p = {.total = calloc(r->gpu.devices.count + 1, sizeof *p.total)};
    FAIL_IF(!p.total, ERR_MEMORY, "no memory for the analysis");
    vector_sort(&g->events, by_time);
    enum err e = device_memory_replay(im, g, &p);
    for (size_t i = 0; i < r->sites.count; i++) {
        r->sites.items[i].device.end += r->sites.items[i].device.live;
        r->sites.items[i].device.live = 0;
    }
    table_free(&p.live);
    free(p.total);
    return e;
}
