/* Some slices of a volume array, to and from an array of them alone. */
#include <string.h>

#include "host/cpu/common/elementwise.h"
#include "host/cpu/common/team.h"

static void move_line(enum slices_move how, int64_t count, float *x, float *packed)
{
    const size_t bytes = (size_t)count * sizeof *x;
    if (how == SLICES_TAKE)
        memcpy(packed, x, bytes);
    else if (how == SLICES_PUT)
        memcpy(x, packed, bytes);
    else
        for (int64_t k = 0; k < count; k++)
            x[k] += packed[k];
}

enum err cpu_move_slices(struct backend *be, const struct volume *v, const struct pixel_set *pixels,
                         enum slices_move how, int64_t first, int64_t count, struct buffer *x,
                         struct buffer *packed)
{
    float *volume = x->ptr, *alone = packed->ptr;
    const double n = (double)pixels->count * (double)count;
    const double bytes = (how == SLICES_ADD ? 12 : 8) * n;
#pragma omp parallel for num_threads(cpu_team(be, pixels->count *count)) schedule(static)
    for (int64_t q = 0; q < pixels->count; q++) {
        const int64_t p = pixels->indices ? pixels->indices[q] : q;
        move_line(how, count, volume + p * v->slices + first, alone + q * count);
    }
    backend_declare(be, how == SLICES_ADD ? n : 0, bytes, bytes);
    return ERR_OK;
}
