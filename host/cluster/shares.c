/* Slices and detector rows of each rank. */
#include <stdlib.h>

#include "host/cluster/ranks_backend.h"

static int64_t end_of(struct index_range r)
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
        const int64_t end = r == size - 1 ? m->scan.rows : end_of(rows);
        rows.first = rows.first < first ? rows.first : first; /* no gap */
        rows.count = end - rows.first;
        s->rows[r] = rows;
    }
}

/* Half of what two neighbours share is either's. */
static void own_rows(int size, struct shares *s)
{
    int64_t first = 0;
    for (int r = 0; r < size; r++) {
        int64_t end = end_of(s->rows[r]);
        if (r + 1 < size)
            end = (end + s->rows[r + 1].first + 1) / 2;
        end = end > first ? end : first;
        s->owned[r] = (struct index_range){first, end - first};
        first = end;
    }
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
    own_rows(size, out);
    return ERR_OK;
}

void shares_free(struct shares *s)
{
    free(s->slices);
    free(s->rows);
    free(s->owned);
    *s = (struct shares){0};
}
