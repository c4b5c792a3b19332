/* The thickest slabs that fit into memory, by bisection, and where each of them lies. */
#include "base/array.h"
#include "host/recon/slabs/slab.h"

#include "base/memory.h"

static int64_t slab_ceil_div(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* The largest thickness in [1, length] that fits; 0 when none does. */
static int64_t slab_thickest(int64_t length, slab_bytes *bytes, const void *context,
                             size_t available)
{
    return (int64_t)ARRAY_BOUND(1, (size_t)length + 1, thick,
                                bytes(context, (int64_t)thick) <= available) -
           1;
}

enum err slabs_plan(const char *what, const char *where, int64_t length, slab_bytes *bytes,
                    const void *context, size_t available, struct slabs *out)
{
    *out = (struct slabs){length, 0, 0};
    if (length <= 0)
        return ERR_OK;
    const int64_t most = slab_thickest(length, bytes, context, available);
    if (!most) {
        char need[16], have[16];
        return FAIL(ERR_MEMORY, "%s needs %s %s for its thinnest slab, %s available", what,
                    mem_human((double)bytes(context, 1), need), where,
                    mem_human((double)available, have));
    }
    out->count = slab_ceil_div(length, most);
    out->thickness = slab_ceil_div(length, out->count);
    out->count = slab_ceil_div(length, out->thickness);
    return ERR_OK;
}

struct slab slab_at(const struct slabs *plan, int64_t index, int64_t halo)
{
    struct slab s = {.first = index * plan->thickness};
    const int64_t rest = plan->length - s.first;
    s.count = rest < plan->thickness ? rest : plan->thickness;
    s.from = s.first > halo ? s.first - halo : 0;
    const int64_t end = s.first + s.count;
    s.length = (plan->length - end > halo ? end + halo : plan->length) - s.from;
    return s;
}
