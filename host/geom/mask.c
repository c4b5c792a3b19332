/* The pixels inside the elliptical region of reconstruction, decided in float64 as MBIRJAX does. */
#include <inttypes.h>
#include <stdlib.h>

#include "host/geom/ct_model.h"

/* ((k - k0) / k0)^2 for k in 0..n). Kept in memory so that the sum below is two rounded squares
 * added, as in NumPy, and never one fused multiply-add: pixels exactly on the ellipse depend on it.
 */
static double *squared_offsets(int64_t n)
{
    double *out = malloc((size_t)n * sizeof *out);
    double middle = (double)(n - 1) / 2;
    for (int64_t k = 0; out && k < n; k++) {
        double t = ((double)k - middle) / middle;
        out[k] = t * t;
    }
    return out;
}

static int64_t mask_collect(const struct volume *v, const double *row, const double *col,
                            int32_t *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < v->rows; i++)
        for (int64_t j = 0; j < v->cols; j++) {
            if (row && !(col[j] + row[i] <= 1.0)) /* a NaN (size 1) keeps nothing */
                continue;
            if (out)
                out[n] = (int32_t)(i * v->cols + j);
            n++;
        }
    return n;
}

enum err volume_pixels_inside(const struct volume *v, int32_t **pixels, int64_t *count)
{
    *pixels = NULL;
    *count = 0;
    FAIL_IF(v->rows <= 0 || v->cols <= 0 || v->rows > INT32_MAX / v->cols, ERR_INPUT,
            "recon_shape: %" PRId64 " x %" PRId64 " pixels do not fit a 32-bit index", v->rows,
            v->cols);
    double *row = NULL, *col = NULL;
    enum err e = ERR_OK;
    if (v->ror == ROR_ELLIPSE) {
        row = squared_offsets(v->rows);
        col = squared_offsets(v->cols);
        if (!row || !col) {
            e = FAIL(ERR_MEMORY, "no memory left for the mask of the region of reconstruction");
            goto out;
        }
    }
    int64_t n = mask_collect(v, row, col, NULL);
    *pixels = malloc((size_t)(n ? n : 1) * sizeof **pixels);
    if (!*pixels) {
        e = FAIL(ERR_MEMORY, "no memory left for the list of %" PRId64 " pixels", n);
        goto out;
    }
    *count = mask_collect(v, row, col, *pixels);
out:
    free(row);
    free(col);
    return e;
}
