#include "host/cpu/sweep_kernel.h"
#include "host/cpu/vec.h"

static double total(vf v)
{
    double sum = 0;
    for (int i = 0; i < VEC; i++)
        sum += (double)v[i];
    return sum;
}

/* float32 inside a lane for at most RUN vectors (relative error 1e-6 at worst, 1e-8 typically after
 * adding thousands of runs), float64 across. */
static void dots(const float *w, const float *e, const float *d, int64_t n, double sums[2])
{
    enum { RUN = 16 * VEC };
    int64_t i = 0;
    while (i + VEC <= n) {
        vf linear = {0}, quadratic = {0};
        const int64_t end = i + RUN < n ? i + RUN : n;
        for (; i + VEC <= end; i += VEC) {
            vf di = vf_load(d + i), wd = di;
            if (w)
                wd *= vf_load(w + i);
            linear += wd * vf_load(e + i);
            quadratic += wd * di;
        }
        sums[0] += total(linear);
        sums[1] += total(quadratic);
    }
    for (; i < n; i++) {
        double wd = (double)d[i] * (w ? (double)w[i] : 1);
        sums[0] += wd * (double)e[i];
        sums[1] += wd * (double)d[i];
    }
}

static void update(const float *w, const float *d, float alpha, int64_t n, float *e, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        float moved = e[i] - alpha * d[i];
        e[i] = moved;
        out[i] = w ? w[i] * moved : moved;
    }
}

const struct sweep_kernels ISA_NAME(sweep_kernels) = {dots, update};
