/* links: tp_scan */
/* PSNR and SSIM against scikit-image (tests/data/quality), of a volume and of planes of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "host/scan/reconstruct.h"
#include "host/store/format/npy.h"
#include "tests/unit/check.h"

static float *data(const char *name, int dims, int64_t *shape)
{
    char path[4200];
    float *x;
    for (int i = 0; i < dims; i++)
        shape[i] = -1;
    snprintf(path, sizeof path, "%s/quality/%s.npy", TP_DATA, name);
    assert_ok(npy_read(path, dims, shape, NULL, 1, &x));
    return x;
}

static void same(struct quality found, const float *expected, const char *what, int64_t i)
{
    if (!(fabs(found.psnr - (double)expected[0]) <= 1e-6 * fabs((double)expected[0])) ||
        !(fabs(found.ssim - (double)expected[1]) <= 1e-6))
        fail_msg("%s %lld: PSNR %.9g, SSIM %.9g; scikit-image has %.9g, %.9g", what, (long long)i,
                 found.psnr, found.ssim, (double)expected[0], (double)expected[1]);
}

/* Takes the plane across a dimension, without gaps. */
static void plane_of(const float *x, const int64_t shape[3], int across, int64_t index, float *out)
{
    int64_t at[3];
    for (at[0] = 0; at[0] < shape[0]; at[0]++)
        for (at[1] = 0; at[1] < shape[1]; at[1]++)
            for (at[2] = 0; at[2] < shape[2]; at[2]++)
                if (at[across] == index)
                    *out++ = x[(at[0] * shape[1] + at[1]) * shape[2] + at[2]];
}

static void equals_scikit_image(void **state)
{
    static const int axes[] = {2, 0, 1};
    int64_t shape[3], lines[2];
    float *x = data("volume", 3, shape), *y = data("reference", 3, shape);
    float *expected = data("expected", 2, lines);
    const struct volume v = {.rows = shape[0], .cols = shape[1], .slices = shape[2]};
    float *a = malloc((size_t)volume_voxels(&v) * sizeof *a);
    float *b = malloc((size_t)volume_voxels(&v) * sizeof *b);
    double low = INFINITY, high = -INFINITY;
    int64_t line = 1;
    (void)state;
    assert_int_equal(lines[0], 1 + shape[0] + shape[1] + shape[2]);
    assert_int_equal(lines[1], 2);
    same(quality_of(&v, x, y), expected, "volume", 0);
    for (int64_t i = 0; i < volume_voxels(&v); i++) {
        low = fmin(low, (double)y[i]);
        high = fmax(high, (double)y[i]);
    }
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; i < shape[axes[k]]; i++, line++) {
            const int64_t rows = axes[k] ? shape[0] : shape[1];
            const int64_t cols = axes[k] == 2 ? shape[1] : shape[2];
            plane_of(x, shape, axes[k], i, a);
            plane_of(y, shape, axes[k], i, b);
            same(quality_of_image(rows, cols, a, b, high - low), expected + 2 * line, "plane",
                 line);
        }
    free(a);
    free(b);
    mem_free(x);
    mem_free(y);
    mem_free(expected);
}

static void equal_and_small_pictures_are_defined(void **state)
{
    float x[64];
    (void)state;
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i % 5);
    const struct quality same_one = quality_of_image(8, 8, x, x, 4),
                         small = quality_of_image(6, 8, x, x, 4);
    assert_true(isinf(same_one.psnr) && fabs(same_one.ssim - 1) < 1e-12);
    assert_true(isinf(small.psnr) && isnan(small.ssim));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_scikit_image),
        cmocka_unit_test(equal_and_small_pictures_are_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
