/* Rows of a result, made by all threads. */
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/volume/volume.h"
#include "host/cpu/volume/volume_kernel.h"

#define SHORT 1024 /* floats of a row: 4 KiB */
#define ROOM  4096 /* floats that leave the nearest cache together */

static void make_rows(const struct volume_job *j, volume_row *make, const void *context,
                      int64_t first, int64_t end)
{
    const int64_t n = j->step->out[2];
    float *out = (float *)j->out + first * n;
    if (j->stream && n < SHORT) {
        float room[ROOM] __attribute__((aligned(64)));
        for (int64_t row = first; row < end; row++)
            make(j, context, row, room + (row - first) * n, 0);
        ISA_PICK(volume_kernels)->copy(room, (end - first) * n, out, 1);
        return;
    }
    for (int64_t row = first; row < end; row++)
        make(j, context, row, out + (row - first) * n, j->stream);
}

void volume_rows(const struct volume_job *j, volume_row *make, const void *context)
{
    const int64_t rows = j->step->out[0] * j->step->out[1];
    const int64_t group = most(ROOM / j->step->out[2], 1), groups = (rows + group - 1) / group;
#pragma omp parallel num_threads(j->threads)
    {
#pragma omp for schedule(static) nowait
        for (int64_t g = 0; g < groups; g++)
            make_rows(j, make, context, g * group, least((g + 1) * group, rows));
        ISA_PICK(volume_kernels)->fence();
    }
}
