/* PSNR and structural similarity. */
#include <math.h>

#include "host/recon/common/similarity.h"

#define SIDE 7 /* of a window */

/* Similarity of the windows whose first corner is row i, column j; x and y at a stride. */
static double similarity_window(const float *x, const float *y, const struct volume *v,
                                double range)
{
    const double n = SIDE * SIDE, c1 = 1e-4 * range * range, c2 = 9e-4 * range * range;
    double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            const int64_t at = (i * v->cols + j) * v->slices;
            const double a = (double)x[at], b = (double)y[at];
            sx += a;
            sy += b;
            xx += a * a;
            yy += b * b;
            xy += a * b;
        }
    sx /= n;
    sy /= n;
    const double vx = (xx / n - sx * sx) * n / (n - 1), vy = (yy / n - sy * sy) * n / (n - 1);
    const double both = (xy / n - sx * sy) * n / (n - 1);
    return (2 * sx * sy + c1) * (2 * both + c2) / ((sx * sx + sy * sy + c1) * (vx + vy + c2));
}

static double similarity_mean(const struct volume *v, const float *x, const float *y, double range)
{
    const int64_t rows = v->rows - SIDE + 1, cols = v->cols - SIDE + 1;
    double sum = 0;
    if (rows < 1 || cols < 1)
        return (double)NAN;
#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (int64_t p = 0; p < rows * cols; p++) {
        const int64_t at = (p / cols * v->cols + p % cols) * v->slices;
        for (int64_t k = 0; k < v->slices; k++)
            sum += similarity_window(x + at + k, y + at + k, v, range);
    }
    return sum / (double)(rows * cols * v->slices);
}

static struct quality quality_measure(const struct volume *v, const float *x,
                                      const float *reference, double range)
{
    const int64_t n = volume_voxels(v);
    double square = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)x[i] - (double)reference[i];
        square += d * d;
    }
    return (struct quality){10 * log10(range * range / (square / (double)n)),
                            similarity_mean(v, x, reference, range)};
}

struct quality quality_of(const struct volume *v, const float *x, const float *reference)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < volume_voxels(v); i++) {
        low = fmin(low, (double)reference[i]);
        high = fmax(high, (double)reference[i]);
    }
    return quality_measure(v, x, reference, high - low);
}

struct quality quality_of_image(int64_t rows, int64_t cols, const float *x, const float *reference,
                                double range)
{
    const struct volume v = {.rows = rows, .cols = cols, .slices = 1};
    return quality_measure(&v, x, reference, range);
}
