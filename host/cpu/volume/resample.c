/* Resampling at half-pixel centres, edges repeated, and the mean of 2x2x2. */
#include <stdlib.h>
#include <string.h>

#include "host/backend/volume_math.h"
#include "host/cpu/common/arithmetic.h"
#include "host/backend/course.h"
#include "host/cpu/volume/volume.h"
#include "host/cpu/volume/volume_kernel.h"

/* A dimension's places: the voxel at or before each, and how far behind it the place lies. */
struct resample_axis {
    int32_t *at;
    float *t;
    int32_t *behind; /* at[i] less at[i / VOLUME_AHEAD * VOLUME_AHEAD] */
    int close;       /* all `behind` are at most 2 VOLUME_AHEAD - 2 */
    int one;         /* places of a vector lie within a vector: the kernel's `between` */
};

/* Aligned, for rows that begin a vector. */
static void *axis_alloc(int64_t n)
{
    return aligned_alloc(64, (size_t)round_up(n, 16) * 4);
}

static enum err axis_make(const struct volume_step *s, int a, struct resample_axis *out)
{
    const int64_t n = s->out[a], room = n + VOLUME_AHEAD;
    const int width = ISA_PICK(volume_kernels)->width;
    *out =
        (struct resample_axis){axis_alloc(room), axis_alloc(room), axis_alloc(room), 1, width > 0};
    FAIL_IF(!out->at || !out->t || !out->behind, ERR_MEMORY, "no memory left to resample");
    for (int64_t i = 0; i < room; i++) {
        volume_axis(s->kind, s->in[a], n, int_min(i, n - 1), &out->at[i], &out->t[i]);
        out->behind[i] = out->at[i] - out->at[i / VOLUME_AHEAD * VOLUME_AHEAD];
        out->close &= out->behind[i] <= 2 * VOLUME_AHEAD - 2;
        out->one = out->one && (i < width - 1 || out->at[i] - out->at[i - width + 1] <= width - 2);
    }
    return ERR_OK;
}

static void axis_free(struct resample_axis *a)
{
    free(a->at);
    free(a->t);
    free(a->behind);
}

static const float *resample_row(const struct volume_job *j, int64_t r, int64_t c)
{
    return j->in + (r * j->step->in[1] + c) * j->step->in[2];
}

static int64_t index_after(int64_t i, int64_t n)
{
    return i + 1 < n ? i + 1 : i;
}

/* Each thread keeps rows of the input that are blended along the first dimension, each used by all
 * rows of the result between it and its neighbours; and two rows that are blended along the second
 * one too. The next of these is made before the last one is read: what was stored just now would
 * have to leave the store buffer first. */
#define LINEAR_ROWS 4
#define APART       128 /* bytes: two lines, which are fetched together. No two threads share one */
struct linear_thread {
    float *flat[2], *both[2];
    int64_t r, col[2]; /* of flat; -1: none */
    int64_t ready;     /* row of the result that both[ready & 1] holds; -1: none */
} __attribute__((aligned(APART)));
struct linear {
    const struct resample_axis *axis;
    struct linear_thread *threads;
};

static const float *flat_row(const struct volume_job *j, const struct resample_axis *axis,
                             struct linear_thread *own, int64_t r, int64_t col)
{
    const struct volume_step *s = j->step;
    const int k = (int)(col & 1);
    if (own->r != r)
        own->col[0] = own->col[1] = -1;
    own->r = r;
    if (own->col[k] != col)
        ISA_PICK(volume_kernels)
            ->blend(resample_row(j, axis->at[r], col),
                    resample_row(j, index_after(axis->at[r], s->in[0]), col), axis->t[r], s->in[2],
                    own->flat[k]);
    own->col[k] = col;
    return own->flat[k];
}

/* All voxels of a cell count, also those of weight 0: a NaN reaches all places of its cells. */
static void linear_both(const struct volume_job *j, const struct resample_axis *axis,
                        struct linear_thread *own, int64_t r, int64_t c)
{
    const struct volume_step *s = j->step;
    const int64_t n = s->in[2], low = axis[1].at[c];
    float *both = own->both[(r * s->out[1] + c) & 1];
    const float *a = flat_row(j, axis, own, r, low);
    const float *b = flat_row(j, axis, own, r, index_after(low, s->in[1]));
    ISA_PICK(volume_kernels)->blend(a, b, axis[1].t[c], n, both);
    both[n] = both[n - 1];
}

/* All voxels of a cell count, also those of weight 0: a NaN reaches all places of its cells. */
static void linear_row(const struct volume_job *j, const void *context, int thread, int64_t r,
                       int64_t c, float *out, struct volume_line *line)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    const struct volume_step *s = j->step;
    const struct linear *all = context;
    const struct resample_axis *last = &all->axis[2];
    struct linear_thread *own = &all->threads[thread];
    const int64_t row = r * s->out[1] + c, soon = row + 1;
    if (own->ready != row)
        linear_both(j, all->axis, own, r, c);
    if (c + 1 < s->out[1])
        linear_both(j, all->axis, own, r, c + 1);
    else if (r + 1 < s->out[0])
        linear_both(j, all->axis, own, r + 1, 0);
    own->ready = soon;
    if (last->close)
        k->pick_close(own->both[row & 1], last->at, last->behind, last->t, s->out[2], out, line);
    else
        k->pick(own->both[row & 1], last->at, last->t, s->out[2], out, line);
}

/* Rows that are made together: what they need of the input stays in the first cache. */
#define BETWEEN_ROWS 16

static void between_part(const struct volume_job *j, const struct resample_axis axis[3], int thread)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    const struct volume_step *s = j->step;
    const int64_t n = s->out[1], rows = s->out[0] * n, end = rows * (thread + 1) / j->threads;
    for (int64_t row = rows * thread / j->threads, count; row < end; row += count) {
        if (backend_stopped_at(j->be, row / BETWEEN_ROWS))
            break;
        const int64_t r = row / n, c = row % n, r0 = axis[0].at[r];
        count = int_min(BETWEEN_ROWS, int_min(n - c, end - row));
        const struct volume_between b = {
            .slice = {resample_row(j, r0, 0), resample_row(j, index_after(r0, s->in[0]), 0)},
            .t = axis[0].t[r],
            .count = (int)count,
            .columns = s->in[1],
            .n = s->in[2],
            .ahead = BETWEEN_ROWS * s->in[2],
            .at = axis[1].at + c,
            .weight = axis[1].t + c};
        k->between(&b, axis[2].at, axis[2].t, s->out[2], (float *)j->out + row * s->out[2],
                   j->stream);
    }
    k->fence();
}

/* Vectors that two rows share are not written past the caches. */
static void linear_between(const struct volume_job *j, const struct resample_axis axis[3])
{
    struct volume_job whole = *j;
    whole.stream &= j->step->out[2] % VOLUME_AHEAD == 0 && (uintptr_t)j->out % 64 == 0;
#pragma omp parallel for num_threads(j->threads) schedule(static, 1)
    for (int t = 0; t < j->threads; t++)
        between_part(&whole, axis, t);
}

static enum err resample_linear(const struct volume_job *j, const struct resample_axis axis[3])
{
    const size_t line = APART / sizeof(float), threads = (size_t)j->threads,
                 width = (size_t)round_up(j->step->in[2] + 1 + 2 * VOLUME_AHEAD, (int64_t)line),
                 part = LINEAR_ROWS * width + VOLUME_FETCH; /* `blend` asks for what lies behind */
    struct linear all = {axis, aligned_alloc(APART, threads * sizeof *all.threads)};
    float *room = aligned_alloc(APART, threads * part * sizeof *room);
    enum err e = all.threads && room ? ERR_OK : FAIL(ERR_MEMORY, "no memory left to resample");
    for (int t = 0; t < (e ? 0 : j->threads); t++) {
        float *own = room + (size_t)t * part;
        memset(own, 0, part * sizeof *own);
        all.threads[t] = (struct linear_thread){
            {own, own + width}, {own + 2 * width, own + 3 * width}, -1, {-1, -1}, -1};
    }
    if (!e)
        volume_rows(j, linear_row, &all);
    free(room);
    free(all.threads);
    return e;
}

static void nearest_row(const struct volume_job *j, const void *context, int thread, int64_t r,
                        int64_t c, float *out, struct volume_line *line)
{
    const struct volume_kernels *k = ISA_PICK(volume_kernels);
    const struct volume_step *s = j->step;
    const struct resample_axis *axis = context;
    (void)thread;
    const float *x = resample_row(j, axis[0].at[r], axis[1].at[c]);
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
    if (!e && j->step->kind == VOLUME_LINEAR && axis[2].one)
        linear_between(j, axis);
    else if (!e && j->step->kind == VOLUME_LINEAR)
        e = resample_linear(j, axis);
    else if (!e)
        volume_rows(j, nearest_row, axis);
    for (int a = 0; a < 3; a++)
        axis_free(&axis[a]);
    return e;
}

static void halve_row(const struct volume_job *j, const void *context, int thread, int64_t row,
                      int64_t col, float *out, struct volume_line *line)
{
    const struct volume_step *s = j->step;
    const int64_t r = row * 2, c = col * 2;
    const float *rows[4];
    int n = 0;
    (void)context;
    (void)thread;
    (void)line;
    for (int64_t a = r; a < int_min(r + 2, s->in[0]); a++)
        for (int64_t b = c; b < int_min(c + 2, s->in[1]); b++)
            rows[n++] = resample_row(j, a, b);
    ISA_PICK(volume_kernels)->halve(rows, n, s->in[2], out);
}

void volume_halve(const struct volume_job *j)
{
    struct volume_job stored = *j; /* the result is an eighth of what is read */
    stored.stream = 0;
    volume_rows(&stored, halve_row, NULL);
}
