/* Resampling at half-pixel centres, edges repeated, and the mean of 2x2x2. */
#include <stdlib.h>
#include <string.h>

#include "host/backend/volume_math.h"
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/volume/volume.h"
#include "host/cpu/volume/volume_kernel.h"

/* Floats of the result that leave the nearest cache together, and rows of it at most. */
#define ROOM  4096
#define BLOCK 32

/* Of one dimension: the voxel at or before each place, and how far behind it the place lies. */
struct resample_axis {
    int32_t *at;
    float *t;
};

static enum err axis_make(const struct volume_step *s, int a, struct resample_axis *out)
{
    const int64_t n = s->out[a];
    *out = (struct resample_axis){malloc((size_t)n * sizeof *out->at),
                                  malloc((size_t)n * sizeof *out->t)};
    FAIL_IF(!out->at || !out->t, ERR_MEMORY, "no memory left to resample");
    for (int64_t i = 0; i < n; i++)
        volume_axis(s->kind, s->in[a], n, i, &out->at[i], &out->t[i]);
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

/* Rows of the input at one row of the result, blended along the first dimension: of the columns at
 * hand two. */
struct blended_columns {
    float *row[2];
    int64_t column[2];
};

static const float *column_of(const struct volume_job *j, const struct resample_axis *rows,
                              int64_t r, int64_t c, int64_t keep, struct blended_columns *b)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    const int64_t low = rows->at[r], high = next(low, j->step->in[0]);
    if (rows->t[r] == 0)
        return row_of(j, low, c);
    for (int i = 0; i < 2; i++)
        if (b->column[i] == c)
            return b->row[i];
    const int i = b->column[0] == keep;
    k->blend(row_of(j, low, c), row_of(j, high, c), rows->t[r], j->step->in[2], b->row[i]);
    b->column[i] = c;
    return b->row[i];
}

/* Floats of a row of the input, with what `pick` reads behind it. */
static int64_t width_of(const struct volume_step *s)
{
    return round_up(s->in[2] + VOLUME_AHEAD + 1, 16);
}

/* room: three rows of the input, then ROOM. Rows [first, end) of the result's row r. */
static void linear_rows(const struct volume_job *j, const struct resample_axis axis[3], int64_t r,
                        int64_t first, int64_t end, float *room)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    const struct volume_step *s = j->step;
    const int64_t n = s->in[2], width = width_of(s), length = s->out[2];
    struct blended_columns b = {{room, room + width}, {-1, -1}};
    float *line = room + 2 * width, *out = (float *)j->out + (r * s->out[1] + first) * length;
    const int gather = j->stream && (end - first) * length <= ROOM;
    float *to = gather ? room + 3 * width : out;
    for (int64_t c = first; c < end; c++) {
        const int64_t low = axis[1].at[c], high = next(low, s->in[1]);
        const float *x = column_of(j, &axis[0], r, low, high, &b);
        if (axis[1].t[c] != 0)
            k->blend(x, column_of(j, &axis[0], r, high, low, &b), axis[1].t[c], n, line);
        else
            memcpy(line, x, (size_t)n * sizeof *line);
        line[n] = line[n - 1];
        k->pick(line, axis[2].at, axis[2].t, length, to + (c - first) * length,
                j->stream && !gather);
    }
    if (gather)
        k->copy(to, (end - first) * length, out, 1);
}

static enum err linear(const struct volume_job *j, const struct resample_axis axis[3])
{
    const struct volume_step *s = j->step;
    const int64_t block = most(1, least(BLOCK, ROOM / s->out[2]));
    const int64_t blocks = (s->out[1] + block - 1) / block, tasks = s->out[0] * blocks;
    const size_t room = (size_t)(3 * width_of(s) + ROOM);
    float *all = calloc((size_t)j->threads * room, sizeof *all);
    FAIL_IF(!all, ERR_MEMORY, "no memory left to resample");
#pragma omp parallel for num_threads(j->threads) schedule(static, 1)
    for (int t = 0; t < j->threads; t++) {
        for (int64_t i = tasks * t / j->threads; i < tasks * (t + 1) / j->threads; i++)
            linear_rows(j, axis, i / blocks, i % blocks * block,
                        least(i % blocks * block + block, s->out[1]), all + (size_t)t * room);
        ISA_PICK(volume_kernels)->fence();
    }
    free(all);
    return ERR_OK;
}

static void nearest_row(const struct volume_job *j, const void *context, int64_t row, float *out,
                        int stream)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    const struct volume_step *s = j->step;
    const struct resample_axis *axis = context;
    const float *x = row_of(j, axis[0].at[row / s->out[1]], axis[1].at[row % s->out[1]]);
    if (s->in[2] == s->out[2])
        k->copy(x, s->out[2], out, stream);
    else
        k->pick(x, axis[2].at, NULL, s->out[2], out, stream);
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

static void halve_row(const struct volume_job *j, const void *context, int64_t row, float *out,
                      int stream)
{
    const struct volume_step *s = j->step;
    const int64_t r = row / s->out[1] * 2, c = row % s->out[1] * 2;
    const float *rows[4];
    int n = 0;
    (void)context;
    (void)stream; /* the result is an eighth of what is read */
    for (int64_t a = r; a < least(r + 2, s->in[0]); a++)
        for (int64_t b = c; b < least(c + 2, s->in[1]); b++)
            rows[n++] = row_of(j, a, b);
    ISA_PICK(volume_kernels)->halve(rows, n, s->in[2], out);
}

void volume_halve(const struct volume_job *j)
{
    volume_rows(j, halve_row, NULL);
}
