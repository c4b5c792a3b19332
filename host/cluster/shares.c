/* Slices and detector rows of each rank. */
#include <stdlib.h>

#include "host/cluster/ranks_backend.h"

static int64_t range_end_of(struct index_range r)
{
    return r.first + r.count;
}

/* Rows under the slices; those that no slice sees belong to the first and the last rank. */
static void share_rows(const struct ct_model *m, int size, struct shares *s)
{
    const struct index_range views = {0, m->scan.views};
    for (int r = 0; r < size; r++) {
        struct index_range rows = tile_rows(m, views, s->slices[r]);
        const int64_t first = r ? s->rows[r - 1].first + s->rows[r - 1].count : 0;
        const int64_t end = r == size - 1 ? m->scan.rows : range_end_of(rows);
        rows.first = rows.first < first ? rows.first : first; /* no gap */
        rows.count = end - rows.first;
        s->rows[r] = rows;
    }
}

/* How many ranks hold each row of the detector; free() it. */
static int64_t *holders_of(int64_t rows, int size, const struct shares *s)
{
    int64_t *n = calloc((size_t)rows + 1, sizeof *n);
    for (int r = 0; n && r < size; r++) {
        n[s->rows[r].first]++;
        n[range_end_of(s->rows[r])]--;
    }
    for (int64_t k = 1; n && k < rows; k++)
        n[k] += n[k - 1];
    return n;
}

/* A row's owner sums it for all who hold it, and returns it to them: each rank owns about as many
 * such copies. At the ends of a wide cone many slabs hold the same rows. */
static enum err own_rows(int64_t rows, int size, struct shares *s)
{
    int64_t *holders = holders_of(rows, size, s), first = 0, end = 0;
    double all = 0, sum = 0;
    FAIL_IF(!holders, ERR_MEMORY, "no memory for the shares of %d ranks", size);
    for (int64_t k = 0; k < rows; k++)
        all += (double)holders[k];
    for (int r = 0; r < size; r++) {
        for (; end < rows && sum + 0.5 * (double)holders[end] < all * (r + 1) / size; end++)
            sum += (double)holders[end];
        int64_t here = r + 1 < size ? end : rows;
        if (r + 1 < size && here < s->rows[r + 1].first) /* that rank does not hold those before */
            here = s->rows[r + 1].first;
        here = here < range_end_of(s->rows[r]) ? here : range_end_of(s->rows[r]);
        here = here > first ? here : first;
        s->owned[r] = (struct index_range){first, here - first};
        first = here;
    }
    free(holders);
    return ERR_OK;
}

enum err shares_of(const struct ct_model *m, int size, struct shares *out)
{
    const int64_t length = m->volume.slices;
    const size_t n = (size_t)size;
    *out = (struct shares){calloc(n, sizeof *out->slices), calloc(n, sizeof *out->rows),
                           calloc(n, sizeof *out->owned)};
    if (!out->slices || !out->rows || !out->owned) {
        shares_free(out);
        return FAIL(ERR_MEMORY, "no memory for the shares of %d ranks", size);
    }
    for (int r = 0; r < size; r++) {
        const int64_t first = length * r / size;
        out->slices[r] = (struct index_range){first, length * (r + 1) / size - first};
    }
    share_rows(m, size, out);
    const enum err e = own_rows(m->scan.rows, size, out);
    if (e)
        shares_free(out);
    return e;
}

void shares_free(struct shares *s)
{
    free(s->slices);
    free(s->rows);
    free(s->owned);
    *s = (struct shares){0};
}
