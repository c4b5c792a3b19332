/* Checks of the steps on volumes: voxels of the result, each computed anew in float64. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "host/suite/catalogue/volume.h"

/* Statistics of a box's values. */
struct measure {
    double mean, std, low, high;
};

static double input_voxel(const struct run_state *s, int64_t r, int64_t c, int64_t k)
{
    const int64_t *n = s->step.in;
    return (double)s->in.host[(r * n[1] + c) * n[2] + k];
}

static struct measure measure_volume(const struct run_state *s)
{
    const struct volume_step *p = &s->step;
    const double n = (double)volume_step_voxels(p->out);
    double sum = 0, squares = 0;
    struct measure m = {0, 0, INFINITY, -INFINITY};
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t r = p->start[0]; r < p->start[0] + p->out[0]; r++)
            for (int64_t c = p->start[1]; c < p->start[1] + p->out[1]; c++)
                for (int64_t k = p->start[2]; k < p->start[2] + p->out[2]; k++) {
                    const double v = input_voxel(s, r, c, k);
                    sum += v;
                    squares += (v - m.mean) * (v - m.mean);
                    m.low = v < m.low ? v : m.low;
                    m.high = v > m.high ? v : m.high;
                }
        m.mean = pass ? m.mean : sum / n;
        m.std = sqrt(squares / n);
        squares = 0;
    }
    return m;
}

static double mapped_value(const struct run_state *s, const struct measure *m, double v)
{
    const struct volume_step *p = &s->step;
    if (p->norm == VOLUME_Z_NORM)
        return m->std > 0 ? (v - m->mean) / m->std : 0;
    if (p->norm == VOLUME_RESCALE)
        return m->high > m->low ? (v - m->low) / (m->high - m->low) * (p->high - p->low) + p->low
                                : p->low;
    return v;
}

static double placed_voxel(const struct run_state *s, const int64_t i[3])
{
    const struct volume_step *p = &s->step;
    int64_t at[3];
    for (int a = 0; a < 3; a++) {
        const int64_t v = p->start[a] + p->turn[a] * i[a];
        if (v < 0 || v >= p->in[p->from[a]])
            return 0;
        at[p->from[a]] = v;
    }
    return input_voxel(s, at[0], at[1], at[2]);
}

/* The sum over the corners of the cell that voxel i falls in. */
static double resampled_voxel(const struct run_state *s, const int64_t i[3])
{
    const struct volume_step *p = &s->step;
    int64_t at[2][3];
    double t[3], sum = 0;
    for (int a = 0; a < 3; a++) {
        const double ratio = (double)p->in[a] / (double)p->out[a];
        double v = ((double)i[a] + 0.5) * ratio - 0.5;
        v = fmin(fmax(v, 0), (double)(p->in[a] - 1));
        at[0][a] = (int64_t)(p->kind == VOLUME_NEAREST ? v + 0.5 : v);
        at[1][a] = at[0][a] + 1 < p->in[a] ? at[0][a] + 1 : at[0][a];
        t[a] = p->kind == VOLUME_NEAREST ? 0 : v - (double)at[0][a];
    }
    for (int e = 0; e < 8; e++) {
        const int r = e >> 2, c = e >> 1 & 1, k = e & 1;
        sum += (r ? t[0] : 1 - t[0]) * (c ? t[1] : 1 - t[1]) * (k ? t[2] : 1 - t[2]) *
               input_voxel(s, at[r][0], at[c][1], at[k][2]);
    }
    return sum;
}

static double halved_voxel(const struct run_state *s, const int64_t i[3])
{
    const int64_t *n = s->step.in;
    double sum = 0, count = 0;
    for (int64_t r = 2 * i[0]; r < 2 * i[0] + 2 && r < n[0]; r++)
        for (int64_t c = 2 * i[1]; c < 2 * i[1] + 2 && c < n[1]; c++)
            for (int64_t k = 2 * i[2]; k < 2 * i[2] + 2 && k < n[2]; k++, count++)
                sum += input_voxel(s, r, c, k);
    return sum / count;
}

static double expected_voxel(const struct run_state *s, const struct measure *m, const int64_t i[3])
{
    const struct volume_step *p = &s->step;
    switch (p->kind) {
    case VOLUME_MAP:
        return mapped_value(
            s, m, input_voxel(s, i[0] + p->start[0], i[1] + p->start[1], i[2] + p->start[2]));
    case VOLUME_PLACE:
        return placed_voxel(s, i);
    case VOLUME_HALVE:
        return halved_voxel(s, i);
    default:
        return resampled_voxel(s, i);
    }
}

/* Returns the allowed error of a stored number: half a step of its type, and a rounding of the
 * arithmetic. */
static double rounding_slack(enum volume_dtype t, double v)
{
    const double rounding = 4e-6 * fmax(1, fabs(v));
    switch (t) {
    case VOLUME_F16:
        return rounding + fabs(v) * 0x1p-11 + 0x1p-25;
    case VOLUME_BF16:
        return rounding + fabs(v) * 0x1p-8;
    case VOLUME_F32:
        return rounding;
    default:
        return rounding + 0.5;
    }
}

enum err check_volume(struct run_state *s)
{
    const struct volume_step *p = &s->step;
    const int64_t n = volume_step_voxels(p->out), step = n / 499 + 1;
    const struct measure m =
        p->kind == VOLUME_MAP ? measure_volume(s) : (struct measure){0, 1, 0, 1};
    const float *y;
    float *copy;
    enum err e = ERR_OK;
    TRY(state_result(s, &y, &copy));
    for (int64_t v = 0; v < n && !e; v += step) {
        const int64_t i[3] = {v / p->out[2] / p->out[1], v / p->out[2] % p->out[1], v % p->out[2]};
        double want = expected_voxel(s, &m, i);
        if (p->dtype == VOLUME_I16 || p->dtype == VOLUME_U8)
            want =
                p->dtype == VOLUME_U8 ? fmin(fmax(want, 0), 255) : fmin(fmax(want, -32768), 32767);
        const double found = volume_value(p->dtype, y, v);
        if (!(fabs(found - want) <= rounding_slack(p->dtype, want)))
            e = FAIL(ERR_FAILED, "wrong result: %.9g at voxel %" PRId64 ", float64 says %.9g",
                     found, v, want);
    }
    mem_free(copy);
    return e;
}
