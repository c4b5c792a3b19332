/* Some slices of a volume array, to and from an array of them alone. */
#include <string.h>

#include "host/cpu/common/elementwise.h"
#include "host/cpu/common/team.h"

static void move_line(const struct slices_move *move, float *x, float *packed)
{
    const int64_t count = move->count;
    const size_t bytes = (size_t)count * sizeof *x;
    if (move->how == SLICES_TAKE)
        memcpy(packed, x, bytes);
    else if (move->how == SLICES_PUT)
        memcpy(x, packed, bytes);
    else
        for (int64_t k = 0; k < count; k++)
            x[k] += packed[k];
}

enum err cpu_move_slices(struct backend *be, const struct slices_move *move,
                         const struct pixel_set *pixels, struct buffer *x, struct buffer *packed)
{
    const int64_t count = move->count;
    const int adds = move->how == SLICES_ADD;
    float *volume = x->ptr, *alone = packed->ptr;
    const double n = (double)pixels->count * (double)count;
    const double bytes = (adds ? 12 : 8) * n;
#pragma omp parallel for num_threads(cpu_team(be, pixels->count *count)) schedule(static)
    for (int64_t q = 0; q < pixels->count; q++) {
        const int64_t p = pixels->indices ? pixels->indices[q] : q;
        move_line(move, volume + p * move->slices + move->first, alone + q * count);
    }
    backend_declare(be, adds ? n : 0, bytes, bytes);
    return ERR_OK;
}
