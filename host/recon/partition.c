#include <stdlib.h>
#include <string.h>

#include "host/base/mem.h"
#include "host/recon/partition.h"

static int compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Fills the places that are left over with pixels drawn without replacement from all rows but the
 * last. NumPy draws a whole permutation whatever number is wanted, even none. */
static void repeat_some(struct rng *r, int32_t *indices, int64_t count, int64_t others,
                        int64_t total, int32_t *scratch)
{
    const int64_t pool = others < count ? others : count;
    for (int64_t i = 0; i < pool; i++)
        scratch[i] = (int32_t)i;
    rng_shuffle(r, scratch, pool);
    for (int64_t i = 0; i < total - count; i++)
        indices[count + i] = indices[scratch[i]];
}

enum err partition_create(const int32_t *pixels, int64_t count, int64_t subsets, struct rng *r,
                          struct partition *out)
{
    *out = (struct partition){0};
    FAIL_IF(subsets < 1, ERR_USAGE, "a partition needs at least 1 subset, not %lld",
            (long long)subsets);
    subsets = subsets > count ? count : subsets;
    subsets = subsets < 1 ? 1 : subsets;
    const int64_t length = (count + subsets - 1) / subsets, total = subsets * length;
    size_t bytes;
    TRY(mem_size("pixel partition", total, 1, 1, sizeof(int32_t), &bytes));
    void *indices, *scratch;
    TRY(mem_alloc("pixel partition", bytes, &indices));
    memcpy(indices, pixels, (size_t)count * sizeof *pixels);
    *out = (struct partition){subsets, length, indices};
    if (subsets == 1)
        return ERR_OK;

    enum err e = mem_alloc("pixel partition scratch", bytes, &scratch);
    if (e) {
        partition_free(out);
        return e;
    }
    rng_shuffle(r, indices, count);
    repeat_some(r, indices, count, (subsets - 1) * length, total, scratch);
    for (int64_t s = 0; s < subsets; s++)
        qsort(out->indices + s * length, (size_t)length, sizeof *out->indices, compare);
    mem_free(scratch);
    return ERR_OK;
}

void partition_free(struct partition *p)
{
    mem_free(p->indices);
    *p = (struct partition){0};
}
