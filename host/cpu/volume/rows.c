/* Rows of a result, made by all threads. */
#include "host/backend/course.h"
#include "host/cpu/volume/volume.h"
#include "host/cpu/volume/volume_kernel.h"

/* Thread t makes rows [rows t / threads, rows (t + 1) / threads), one after another. */
static void rows_make_part(const struct volume_job *j, volume_row *make, const void *context, int t)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    const int64_t rows = j->step->out[0] * j->step->out[1], n = j->step->out[2];
    const int64_t first = rows * t / j->threads, end = rows * (t + 1) / j->threads;
    struct volume_line line __attribute__((aligned(64))) = {
        .stream = j->stream, .ahead = j->ahead ? j->ahead : VOLUME_FETCH};
    k->begin(&line, (float *)j->out + first * n);
    int64_t r = first / j->step->out[1], c = first % j->step->out[1]; /* no division a row */
    int64_t row = first;
    for (; row < end && !backend_stopped_at(j->be, row); row++) {
        make(j, context, t, r, c, (float *)j->out + row * n, &line);
        if (++c == j->step->out[1]) {
            c = 0;
            r++;
        }
    }
    k->end(&line, (float *)j->out + row * n);
    k->fence();
}

void volume_rows(const struct volume_job *j, volume_row *make, const void *context)
{
#pragma omp parallel for num_threads(j->threads) schedule(static, 1)
    for (int t = 0; t < j->threads; t++)
        rows_make_part(j, make, context, t);
}
