/* Resampling at half-pixel centres, edges repeated, and the mean of 2x2x2. */
#include <stdlib.h>
#include <string.h>

#include "host/backend/volume_math.h"
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/volume/volume.h"
#include "host/cpu/volume/volume_kernel.h"

/* Of one dimension: the voxel at or before each place, and how far behind it the place lies. */
struct resample_axis {
    int32_t *at;
    float *t;
};

static enum err axis_make(const struct volume_step *s, int a, struct resample_axis *out)
{
    const int64_t n = s->out[a], room = n + VOLUME_AHEAD;
    *out = (struct resample_axis){malloc((size_t)room * sizeof *out->at),
                                  malloc((size_t)room * sizeof *out->t)};
    FAIL_IF(!out->at || !out->t, ERR_MEMORY, "no memory left to resample");
    for (int64_t i = 0; i < room; i++)
        volume_axis(s->kind, s->in[a], n, least(i, n - 1), &out->at[i], &out->t[i]);
    return ERR_OK;
}

static void axis_free(struct resample_axis *a)
{
    free(a->at);
    free(a->t);
}

static const float *row_of(const struct volume_job *j, int64_t r, int64_t c)
{
    return j->in + (r * j->step->in[1] + c) * j->step->in[2];
}

static int64_t next(int64_t i, int64_t n)
{
    return i + 1 < n ? i + 1 : i;
}

struct linear {
    const struct resample_axis *axis;
    float *room; /* [threads][width]: what is blended along the first two dimensions */
    size_t width;
};

/* All voxels of a cell count, also those of weight 0: a NaN goes as far as in scipy.ndimage. */
static void linear_row(const struct volume_job *j, const void *context, int thread, int64_t row,
                       float *out, struct volume_line *line)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    const struct volume_step *s = j->step;
    const struct linear *all = context;
    const struct resample_axis *axis = all->axis;
    const int64_t n = s->in[2], r = row / s->out[1], c = row % s->out[1];
    const int64_t low[2] = {axis[0].at[r], axis[1].at[c]};
    const int64_t high[2] = {next(low[0], s->in[0]), next(low[1], s->in[1])};
    const float t[2] = {axis[0].t[r], axis[1].t[c]};
    float *blended = all->room + (size_t)thread * all->width;
    k->blend(row_of(j, low[0], low[1]), row_of(j, high[0], low[1]), row_of(j, low[0], high[1]),
             row_of(j, high[0], high[1]), t, n, blended);
    blended[n] = blended[n - 1];
    k->pick(blended, axis[2].at, axis[2].t, s->out[2], out, line);
}

static enum err linear(const struct volume_job *j, const struct resample_axis axis[3])
{
    struct linear all = {axis, NULL, (size_t)round_up(j->step->in[2] + 1, 16)};
    all.room = calloc((size_t)j->threads * all.width, sizeof *all.room);
    FAIL_IF(!all.room, ERR_MEMORY, "no memory left to resample");
    volume_rows(j, linear_row, &all);
    free(all.room);
    return ERR_OK;
}

static void nearest_row(const struct volume_job *j, const void *context, int thread, int64_t row,
                        float *out, struct volume_line *line)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    const struct volume_step *s = j->step;
    const struct resample_axis *axis = context;
    (void)thread;
    const float *x = row_of(j, axis[0].at[row / s->out[1]], axis[1].at[row % s->out[1]]);
    if (s->in[2] == s->out[2])
        k->copy(x, s->out[2], out, line);
    else
        k->pick(x, axis[2].at, NULL, s->out[2], out, line);
}

enum err volume_resample(const struct volume_job *j)
{
    struct resample_axis axis[3] = {{0}};
    enum err e = ERR_OK;
    for (int a = 0; a < 3 && !e; a++)
        e = axis_make(j->step, a, &axis[a]);
    if (!e && j->step->kind == VOLUME_LINEAR)
        e = linear(j, axis);
    else if (!e)
        volume_rows(j, nearest_row, axis);
    for (int a = 0; a < 3; a++)
        axis_free(&axis[a]);
    return e;
}

static void halve_row(const struct volume_job *j, const void *context, int thread, int64_t row,
                      float *out, struct volume_line *line)
{
    const struct volume_step *s = j->step;
    const int64_t r = row / s->out[1] * 2, c = row % s->out[1] * 2;
    const float *rows[4];
    int n = 0;
    (void)context;
    (void)thread;
    (void)line;
    for (int64_t a = r; a < least(r + 2, s->in[0]); a++)
        for (int64_t b = c; b < least(c + 2, s->in[1]); b++)
            rows[n++] = row_of(j, a, b);
    ISA_PICK(volume_kernels)->halve(rows, n, s->in[2], out);
}

void volume_halve(const struct volume_job *j)
{
    struct volume_job stored = *j; /* the result is an eighth of what is read */
    stored.stream = 0;
    volume_rows(&stored, halve_row, NULL);
}
