/* Crop, pad, flip and exchange of axes: rows are copied where they stay rows, else tiles are
 * transposed. */
#include "host/cpu/common/arithmetic.h"
#include "host/backend/course.h"
#include "host/cpu/volume/volume.h"
#include "host/cpu/volume/volume_kernel.h"

/* Rows share: where the source of the first one is, the way to those of the next row and column,
 * which rows and columns have a source, and the voxels [first, end) of a row that do. */
struct place_rows {
    const struct volume_kernels *k;
    int64_t base, step[2], low[2], high[2], first, end;
};

static struct place_rows place_rows_of(const struct volume_job *j)
{
    const struct volume_step *s = j->step;
    const int64_t steps[2] = {s->in[1] * s->in[2], s->in[2]};
    const int64_t start = s->start[2], length = s->in[2];
    struct place_rows p = {.k = ISA_PICK(volume_kernels)};
    for (int a = 0; a < 2; a++) {
        const int64_t n = s->in[s->from[a]], from = s->start[a];
        p.step[a] = s->turn[a] * steps[s->from[a]];
        p.base += from * steps[s->from[a]];
        p.low[a] = int_max(0, s->turn[a] > 0 ? -from : from - n + 1);
        p.high[a] = int_min(s->out[a], s->turn[a] > 0 ? n - from : from + 1);
    }
    p.first = int_max(0, s->turn[2] > 0 ? -start : start - length + 1);
    p.end = int_min(s->out[2], s->turn[2] > 0 ? length - start : start + 1);
    p.base += s->turn[2] > 0 ? start + p.first : start - p.end + 1;
    return p;
}

static void place_row(const struct volume_job *j, const void *context, int thread, int64_t r,
                      int64_t c, float *out, struct volume_line *line)
{
    const struct place_rows *p = context;
    const int64_t n = j->step->out[2], first = p->first, end = p->end;
    (void)thread;
    if (r < p->low[0] || r >= p->high[0] || c < p->low[1] || c >= p->high[1] || end <= first) {
        p->k->zero(n, out, line);
        return;
    }
    const float *in = j->in + p->base + r * p->step[0] + c * p->step[1];
    if (first)
        p->k->zero(first, out, line);
    if (j->step->turn[2] > 0)
        p->k->copy(in, end - first, out + first, line);
    else
        p->k->reverse(in, end - first, out + first, line);
    if (end < n)
        p->k->zero(n - end, out + end, line);
}

/* Rows that are short, whole in the volume and kept in the caches: a box of it. */
static int is_box(const struct volume_job *j, const struct place_rows *p)
{
    const struct volume_step *s = j->step;
    return !j->stream && s->turn[2] > 0 && s->out[2] >= BOX_LEAST && s->out[2] <= VOLUME_FETCH &&
           !p->first && p->end == s->out[2] && !p->low[0] && p->high[0] == s->out[0] &&
           !p->low[1] && p->high[1] == s->out[1];
}

/* Each thread's rows: those of a slice at a time. */
static void place_box(const struct volume_job *j, const struct place_rows *p)
{
    const struct box_kernels *k = ISA_PICK(box_kernels);
    const int64_t columns = j->step->out[1], n = j->step->out[2], rows = j->step->out[0] * columns;
#pragma omp parallel for num_threads(j->threads) schedule(static, 1)
    for (int t = 0; t < j->threads; t++) {
        const int64_t end = rows * (t + 1) / j->threads;
        for (int64_t row = rows * t / j->threads; row < end && !backend_stopped(j->be);) {
            const int64_t r = row / columns, c = row % columns,
                          count = int_min(columns - c, end - row);
            const float *in = j->in + p->base + r * p->step[0] + c * p->step[1];
            k->rows(in, p->step[1], count, n, (float *)j->out + row * n);
            row += count;
        }
    }
}

#define TILE 16 /* a line of 64 bytes either way */

/* Voxels [i, i + TILE) x [k, k + TILE) of dimension `a` (the input's fastest) and the last one. */
static void transpose_tile(const struct volume_job *j, int a, const int64_t stride[3],
                           const int64_t place[3], int64_t i, int64_t k)
{
    const struct volume_step *s = j->step;
    const int64_t ends = int_min(i + TILE, s->out[a]), last = int_min(k + TILE, s->out[2]);
    const int64_t width = a == 0 ? s->out[1] * s->out[2] : s->out[2];
    const int64_t other = (int64_t)(1 - a);
    const int64_t fixed = other == 0 ? s->out[1] * s->out[2] : s->out[2];
    const float *in = j->in + place[0] + place[other + 1] * stride[other];
    float *out = (float *)j->out + place[other + 1] * fixed;
    for (int64_t x = i; x < ends; x++)
        for (int64_t z = k; z < last; z++)
            out[x * width + z] = in[x * stride[a] + z * stride[2]];
}

static void place_transpose(const struct volume_job *j)
{
    const struct volume_step *s = j->step;
    const int64_t steps[3] = {s->in[1] * s->in[2], s->in[2], 1};
    int64_t stride[3], base = 0;
    for (int a = 0; a < 3; a++) {
        stride[a] = steps[s->from[a]] * s->turn[a];
        base += s->start[a] * steps[s->from[a]];
    }
    const int a = s->from[0] == 2 ? 0 : 1, other = 1 - a;
    const int64_t along = (s->out[a] + TILE - 1) / TILE, across = (s->out[2] + TILE - 1) / TILE;
#pragma omp parallel for num_threads(j->threads) schedule(static)
    for (int64_t t = 0; t < s->out[other] * along; t++) {
        int64_t place[3] = {base, 0, 0};
        if (backend_stopped_at(j->be, t))
            continue;
        place[other + 1] = t / along;
        for (int64_t k = 0; k < across; k++)
            transpose_tile(j, a, stride, place, t % along * TILE, k * TILE);
    }
}

/* Whole rows that keep their order lie behind each other: columns and slices become one dimension,
 * where the first one has rows for all threads. */
static struct volume_step place_merge(const struct volume_step *s, int threads)
{
    const int64_t n = s->in[2];
    const int whole =
        s->out[2] == n && s->turn[1] == s->turn[2] && s->start[2] == (s->turn[2] > 0 ? 0 : n - 1);
    struct volume_step m = *s;
    if (s->from[0] != 0 || s->from[1] != 1 || !whole || s->out[0] < 8 * threads)
        return m;
    m.start[2] += s->start[1] * n;
    m.start[1] = 0;
    m.turn[1] = 1;
    m.in[2] *= m.in[1];
    m.out[2] *= m.out[1];
    m.in[1] = m.out[1] = 1;
    return m;
}

void volume_place(const struct volume_job *j)
{
    const struct volume_step s = place_merge(j->step, j->threads);
    const int64_t steps[2] = {s.in[1] * s.in[2], s.in[2]};
    struct volume_job rows = *j;
    if (s.from[2] != 2) {
        place_transpose(j);
        return;
    }
    rows.step = &s;
    if (s.in[2] > VOLUME_FETCH)
        rows.ahead = VOLUME_FETCH * s.turn[2];
    else
        rows.ahead = steps[s.from[1]] * s.turn[1] * (VOLUME_FETCH / s.in[2]);
    const struct place_rows p = place_rows_of(&rows);
    if (is_box(&rows, &p))
        place_box(&rows, &p);
    else
        volume_rows(&rows, place_row, &p);
}
