/* A picture of volume, reference and difference. */
#include <math.h>

#include "base/memory.h"
#include "host/scan/quality.h"
#include "host/store/format/png.h"

enum err quality_picture(const char *path, const struct volume *v, const float *x,
                         const float *reference)
{
    const int64_t cols = v->cols, middle = v->slices / 2;
    double low, high, most = 0;
    void *memory;
    TRY(mem_alloc("picture", (size_t)(3 * volume_pixels(v)) * sizeof(float), &memory));
    float *out = memory;
    image_window(v->rows, cols, reference + middle, cols * v->slices, v->slices, &low, &high);
    for (int64_t p = 0; p < volume_pixels(v); p++) {
        const int64_t at = p * v->slices + middle;
        const double d = fabs((double)x[at] - (double)reference[at]);
        most = d > most ? d : most; /* GCC 12 for aarch64 fails on fmax in a loop of its own */
    }
    for (int64_t p = 0; p < volume_pixels(v); p++) {
        const int64_t at = p * v->slices + middle;
        const double d = most > 0 ? ((double)x[at] - (double)reference[at]) / most : 0;
        float *to = out + p / cols * 3 * cols + p % cols;
        to[0] = x[at];
        to[cols] = reference[at];
        to[2 * cols] = (float)(low + 0.5 * (1 + d) * (high - low));
    }
    const enum err e = png_write_grey(path, v->rows, 3 * cols, out, 3 * cols, 1, low, high);
    mem_free(memory);
    return e;
}
