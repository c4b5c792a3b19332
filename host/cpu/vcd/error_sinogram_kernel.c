/* Element loops of VCD: sums in float32 over short runs, float64 across them. */
#include "host/cpu/vcd/vcd.h"
#include "host/cpu/common/vec.h"
#include "host/cpu/vcd/lane_sum.h"

/* float32 inside a lane for at most RUN vectors (relative error 1e-6 at worst, 1e-8 typically after
 * adding thousands of runs), float64 across. */
VEC_INLINE void dots_with(const float *w, const float *e, float *d, int64_t n, double sums[2],
                          int weighted, int both)
{
    enum { RUN = 16 * VEC };
    int64_t i = 0;
    while (i + VEC <= n) {
        vf linear = {0}, quadratic = {0};
        const int64_t end = i + RUN < n ? i + RUN : n;
        for (; i + VEC <= end; i += VEC) {
            vf di = vf_load(d + i), wd = di;
            if (weighted)
                wd *= vf_load(w + i);
            if (both)
                linear += wd * vf_load(e + i);
            quadratic += wd * di;
            vf_store(d + i, (vf){0});
        }
        sums[0] += both ? vf_sum(linear) : 0;
        sums[1] += vf_sum(quadratic);
    }
    for (; i < n; i++) {
        double wd = (double)d[i] * (weighted ? (double)w[i] : 1);
        sums[0] += both ? wd * (double)e[i] : 0;
        sums[1] += wd * (double)d[i];
        d[i] = 0;
    }
}

static void error_dots(const float *w, const float *e, float *d, int64_t n, double sums[2])
{
    if (w && e)
        dots_with(w, e, d, n, sums, 1, 1);
    else if (w)
        dots_with(w, e, d, n, sums, 1, 0);
    else if (e)
        dots_with(w, e, d, n, sums, 0, 1);
    else
        dots_with(w, e, d, n, sums, 0, 0);
}

static void error_update(const float *w, float *restrict d, float alpha, int64_t n,
                         float *restrict e, float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        float moved = e[i] - alpha * d[i];
        e[i] = moved;
        out[i] = w ? w[i] * moved : moved;
        d[i] = 0;
    }
}

static void direction_rest(const struct direction_terms *t, int64_t i, int64_t n, float *d,
                           double sums[3])
{
    for (; i < n; i++) {
        const float before = d[i], pull = t->pull ? t->pull[i] : 0;
        d[i] = (pull + (t->inverse * before - t->g[i])) / (t->h[i] + t->inverse * t->hessian[i]);
        sums[0] += (double)t->g[i] * (double)d[i];
        sums[1] += (double)t->h[i] * (double)d[i] * (double)d[i];
        sums[2] += (double)before * (double)d[i];
    }
}

/* Sums as in `error_dots`. */
VEC_INLINE void direction_with(const struct direction_terms *t, int64_t n, float *d, double sums[3],
                               int pulled)
{
    enum { RUN = 16 * VEC };
    int64_t i = 0;
    while (i + VEC <= n) {
        vf linear = {0}, quadratic = {0}, data = {0};
        const int64_t end = i + RUN < n ? i + RUN : n;
        for (; i + VEC <= end; i += VEC) {
            const vf before = vf_load(d + i), g = vf_load(t->g + i), h = vf_load(t->h + i);
            vf step = t->inverse * before - g;
            if (pulled)
                step += vf_load(t->pull + i);
            step /= h + t->inverse * vf_load(t->hessian + i);
            vf_store(d + i, step);
            linear += g * step;
            quadratic += h * step * step;
            data += before * step;
        }
        sums[0] += vf_sum(linear);
        sums[1] += vf_sum(quadratic);
        sums[2] += vf_sum(data);
    }
    direction_rest(t, i, n, d, sums);
}

static void vcd_direction(const struct direction_terms *t, int64_t n, float *d, double sums[3])
{
    if (t->pull)
        direction_with(t, n, d, sums, 1);
    else
        direction_with(t, n, d, sums, 0);
}

static double vcd_add(float alpha, const float *d, int64_t n, float *x)
{
    enum { RUN = 16 * VEC };
    double moved = 0;
    int64_t i = 0;
    while (i + VEC <= n) {
        vf sum = {0};
        const int64_t end = i + RUN < n ? i + RUN : n;
        for (; i + VEC <= end; i += VEC) {
            const vf step = alpha * vf_load(d + i);
            vf_store(x + i, vf_load(x + i) + step);
            sum += vf_max(step, -step);
        }
        moved += vf_sum(sum);
    }
    for (; i < n; i++) {
        const float step = alpha * d[i];
        x[i] += step;
        moved += (double)(step < 0 ? -step : step);
    }
    return moved;
}

const struct vcd_kernels ISA_NAME(vcd_kernels) = {error_dots, error_update, vcd_direction, vcd_add};
