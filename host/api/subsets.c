/* Partitions of the caller's, for MBIR and the denoiser. */
#include <inttypes.h>
#include <stdlib.h>

#include "host/api/call.h"
#include "host/recon/partition.h"

#define PARTITIONS_MOST 1024

static enum err check_rows(const tomoprof_partition_rows *p, int64_t number, int64_t pixels)
{
    FAIL_IF(!p->pixels || p->subsets < 1 || p->length < 1 || p->subsets > INT32_MAX / p->length,
            ERR_USAGE,
            "partitions[%" PRId64 "] has %" PRId64 " subsets of %" PRId64
            " pixels; expected 1 or more of each",
            number, p->subsets, p->length);
    for (int64_t i = 0; i < p->subsets * p->length; i++) {
        FAIL_IF(p->pixels[i] < 0 || p->pixels[i] >= pixels, ERR_USAGE,
                "partitions[%" PRId64 "] has the pixel %" PRId32 "; expected 0 to %" PRId64
                " (rows x columns - 1)",
                number, p->pixels[i], pixels - 1);
        FAIL_IF(i % p->length && p->pixels[i] <= p->pixels[i - 1], ERR_USAGE,
                "partitions[%" PRId64 "]: row %" PRId64 " does not ascend; sort it", number,
                i / p->length);
    }
    return ERR_OK;
}

/* Each row of the partition is visited once, or the sums of an iteration would mean nothing. */
static enum err check_order(const int32_t *order, int64_t iteration, int64_t subsets)
{
    char *seen = calloc((size_t)subsets, 1);
    FAIL_IF(!seen, ERR_MEMORY, "no memory for %" PRId64 " subsets", subsets);
    int64_t i = 0;
    for (; i < subsets; i++) {
        if (order[i] < 0 || order[i] >= subsets || seen[order[i]])
            break;
        seen[order[i]] = 1;
    }
    free(seen);
    FAIL_IF(i < subsets, ERR_USAGE,
            "orders: that of iteration %" PRId64 " is not a permutation of its %" PRId64 " rows",
            iteration, subsets);
    return ERR_OK;
}

static enum err check_visits(const tomoprof_recon_options *o)
{
    const int32_t *order = o->orders;
    FAIL_IF(!o->sequence || !order, ERR_USAGE, "%s is NULL; partitions need sequence and orders",
            o->sequence ? "orders" : "sequence");
    for (int64_t i = 0; i < o->iterations; i++) {
        FAIL_IF(o->sequence[i] < 0 || o->sequence[i] >= o->partition_count, ERR_USAGE,
                "sequence[%" PRId64 "] is %" PRId32 "; expected 0 to %" PRId64, i, o->sequence[i],
                o->partition_count - 1);
        const int64_t subsets = o->partitions[o->sequence[i]].subsets;
        TRY(check_order(order, i, subsets));
        order += subsets;
    }
    return ERR_OK;
}

enum err subsets_take(const tomoprof_recon_options *o, int64_t pixels, int visits,
                      struct mbir_subsets *out)
{
    *out = (struct mbir_subsets){0};
    if (!o->partitions)
        return ERR_OK;
    FAIL_IF(o->partition_count < 1 || o->partition_count > PARTITIONS_MOST, ERR_USAGE,
            "partition_count=%" PRId64 "; expected 1 to %d", o->partition_count, PARTITIONS_MOST);
    for (int64_t i = 0; i < o->partition_count; i++) {
        FAIL_IF(o->partitions[i].size != sizeof *o->partitions, ERR_USAGE,
                "partitions[%" PRId64 "]: size is %zu; set it to sizeof(tomoprof_partition_rows)",
                i, o->partitions[i].size);
        TRY(check_rows(&o->partitions[i], i, pixels));
    }
    if (visits)
        TRY(check_visits(o));
    struct partition *all = calloc((size_t)o->partition_count, sizeof *all);
    FAIL_IF(!all, ERR_MEMORY, "no memory for %" PRId64 " partitions", o->partition_count);
    for (int64_t i = 0; i < o->partition_count; i++)
        all[i] = (struct partition){o->partitions[i].subsets, o->partitions[i].length,
                                    (int32_t *)(uintptr_t)o->partitions[i].pixels};
    *out = (struct mbir_subsets){all, o->partition_count, o->sequence, o->orders};
    return ERR_OK;
}

void subsets_free(struct mbir_subsets *s)
{
    free((void *)(uintptr_t)s->partitions);
}
