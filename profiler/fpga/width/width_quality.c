/* Error and similarity of two pictures, and whether they keep the stated quality. */
#include <math.h>

#include "profiler/fpga/width/width_sweep.h"

static double range_of(const double *v, int n)
{
    double low = v[0], high = v[0];
    for (int i = 1; i < n; i++) {
        low = fmin(low, v[i]);
        high = fmax(high, v[i]);
    }
    return high > low ? high - low : 1;
}

double width_rmse(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum / n) / range_of(b, n);
}

#define WINDOW 7

/* (2 ab + c1)(2 cov + c2) / ((a^2 + b^2 + c1)(va + vb + c2)) of the window at `p`. */
static double window_ssim(const double *a, const double *b, int edge, double c1, double c2)
{
    double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
    const double n = WINDOW * WINDOW;
    for (int i = 0; i < WINDOW; i++)
        for (int j = 0; j < WINDOW; j++) {
            const double x = a[i * edge + j] - b[0], y = b[i * edge + j] - b[0];
            sa += x, sb += y, saa += x * x, sbb += y * y, sab += x * y;
        }
    const double va = (saa - sa * sa / n) / (n - 1), vb = (sbb - sb * sb / n) / (n - 1);
    const double covariance = (sab - sa * sb / n) / (n - 1);
    const double ma = sa / n + b[0], mb = sb / n + b[0];
    return (2 * ma * mb + c1) * (2 * covariance + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
}

double width_ssim(const double *a, const double *b, int edge)
{
    const double range = range_of(b, edge * edge);
    const double c1 = 1e-4 * range * range, c2 = 9e-4 * range * range;
    double sum = 0;
    int windows = 0;
    for (int i = 0; i + WINDOW <= edge; i++)
        for (int j = 0; j + WINDOW <= edge; j++, windows++)
            sum += window_ssim(a + i * edge + j, b + i * edge + j, edge, c1, c2);
    return windows ? sum / windows : (double)NAN;
}

/* A NaN keeps nothing. */
int width_keeps(const struct width_quality *q, struct width_limits limits)
{
    return q->rmse <= limits.rmse && q->ssim >= limits.ssim;
}
