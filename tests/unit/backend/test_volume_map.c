/* links: tp_cpu */
/* Integers that casts make of mapped voxels: as one rounding of the multiply-add defines them, in
 * each instruction set, with and without an instruction for it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "host/backend/volume_math.h"
#include "host/cpu/volume/volume.h"
#include "tests/unit/check.h"
#include "tests/unit/each_isa.h"

#define VALUES 1000000

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static int same(float a, float b)
{
    return volume_bits(a) == volume_bits(b) || (isnan(a) && isnan(b));
}

/* All bit patterns, and such as nearly cancel or lie halfway between two numbers. */
static void one_rounding(void **state)
{
    (void)state;
    long differ = 0;
    for (int i = 0; i < VALUES; i++) {
        float a = float_of(random_bits()), b = float_of(random_bits()), c = float_of(random_bits());
        if (i % 3 == 1)
            c = -a * b;
        if (i % 3 == 2) {
            a = 1 + (float)(random_bits() & 4095) * 0x1p-12f;
            b = 1 + (float)(random_bits() & 4095) * 0x1p-12f;
            c = random_bits() & 1 ? 0x1p-30f : -0x1p-60f;
        }
        differ += !same(fused_in_double(a, b, c), fmaf(a, b, c));
        differ += !same(fused(a, b, c), fmaf(a, b, c));
    }
    if (differ)
        fail_msg("%ld of %d sums differ from fmaf", differ, 2 * VALUES);
    assert_true(isnan(fused_in_double(INFINITY, 0, 1)));
    assert_true(isinf(fused_in_double(INFINITY, 1, -1)));
    assert_true(fused_in_double(0x1p-149f, 0.5f, 0) == 0);
    assert_true(fused_in_double(0x1p-149f, 0.5f, 0x1p-149f) == fmaf(0x1p-149f, 0.5f, 0x1p-149f));
    assert_true(fused_in_double(0x1.fffffep127f, 2, -0x1.fffffep127f) == 0x1.fffffep127f);
}

/* Defines a kernel's result, with fmaf itself. */
static float defined(float x, const struct volume_map *m)
{
    const float y = fmaf(x - m->less, m->factor, m->plus);
    return y < m->low ? m->low : y > m->high ? m->high : y;
}

static long differing(const struct volume_step *s, const struct volume_map *m, const float *x,
                      const void *out)
{
    const union {
        const void *any;
        const float *f;
        const uint16_t *u16;
        const int16_t *i16;
        const uint8_t *u8;
    } o = {out};
    long differ = 0;
    for (int i = 0; i < VALUES; i++) {
        const float y = defined(x[i], m);
        switch (s->dtype) {
        case VOLUME_F32:
            differ += !same(o.f[i], y);
            break;
        case VOLUME_F16:
            differ += o.u16[i] != volume_f16(y);
            break;
        case VOLUME_BF16:
            differ += o.u16[i] != volume_bf16(y);
            break;
        case VOLUME_I16:
            differ += o.i16[i] != volume_whole(y, -32768, 32767);
            break;
        case VOLUME_U8:
            differ += o.u8[i] != volume_whole(y, 0, 255);
            break;
        }
    }
    return differ;
}

/* Rescales whole voxels of [-4000, edge] to `high`: products near halves, where two roundings make
 * other integers than one. */
static void rescale_agrees(enum volume_dtype type, float edge, double high, float *x, float *out)
{
    const struct volume_step s = {.kind = VOLUME_MAP,
                                  .in = {10, 100, VALUES / 1000},
                                  .out = {10, 100, VALUES / 1000},
                                  .norm = VOLUME_RESCALE,
                                  .low = -17.25,
                                  .high = high,
                                  .dtype = type};
    const struct buffer in = {PLACE_HOST, 0, VALUES * sizeof *x, x};
    struct buffer result = {PLACE_HOST, 0, VALUES * sizeof *out, out};
    struct backend be = {.threads = 1};
    for (int i = 0; i < VALUES; i++)
        x[i] = (float)(random_bits() % 8000) / 8000 * (edge + 4000) - 4000;
    x[0] = -4000;
    x[1] = edge;
    const struct volume_map m = volume_map_rescale(&s, -4000, edge);
    assert_ok(cpu_volume_step(&be, &s, &in, &result));
    const long differ = differing(&s, &m, x, out);
    if (differ)
        fail_msg("type %d, to %g: %ld of %d voxels differ", (int)type, high, differ, VALUES);
}

static void kernels_agree(void **state)
{
    (void)state;
    float *x = malloc(VALUES * sizeof *x), *out = malloc(VALUES * sizeof *out);
    assert_non_null(x);
    assert_non_null(out);
    for (int type = VOLUME_F32; type <= VOLUME_U8; type++) {
        rescale_agrees((enum volume_dtype)type, 4000, 255, x, out);
        rescale_agrees((enum volume_dtype)type, 3071, 32767, x, out);
        rescale_agrees((enum volume_dtype)type, -3999, 1, x, out);
    }
    free(x);
    free(out);
}

static int all_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rounding),
        cmocka_unit_test(kernels_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return for_each_isa(all_tests);
}
