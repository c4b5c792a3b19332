/* links: tp_operators */
/* Steps on volumes on every back end against their float64 twin: copies and conversions exactly,
 * arithmetic within a rounding. */
#include "host/backend/volume.h"
#include "tests/operators/harness.h"
#include "tests/operators/twin_volume.h"

static const struct volume_step copy = {
    .kind = VOLUME_PLACE, .from = {0, 1, 2}, .turn = {1, 1, 1}, .dtype = VOLUME_F32};

static struct volume_step shaped(struct volume_step s, const int64_t in[3], const int64_t out[3])
{
    memcpy(s.in, in, sizeof s.in);
    memcpy(s.out, out, sizeof s.out);
    return s;
}

/* Results of at least so many bytes are written past the caches. Absent where the device alone is
 * tested. */
extern size_t cpu_volume_stream_least __attribute__((weak));

/* The result of one back end, malloc'ed. */
static void *apply(const char *backend, const struct volume_step *s, const float *x)
{
    struct rig r = {0};
    const int64_t bytes = volume_step_voxels(s->out) * volume_dtype_bytes(s->dtype);
    assert_ok(backend_open(backend, &(struct backend_options){.threads = 2}, &r.be));
    float *noise = random_floats(9, 5, 6, (bytes + 3) / 4); /* must be overwritten */
    struct buffer in = rig_push(&r, x, volume_step_voxels(s->in));
    struct buffer out = rig_push(&r, noise, (bytes + 3) / 4);
    assert_ok(r.be->ops->volume_step(r.be, s, &in, &out));
    assert_near(r.be->declared.bytes_min, volume_step_bytes(s), 0);
    r.be->ops->release(r.be, &in);
    float *found = rig_pull(&r, &out, (bytes + 3) / 4);
    free(noise);
    backend_close(r.be);
    return found;
}

/* Float results: off by at most `share` of the largest magnitude, NaN where the twin has it. */
static void compare(const char *what, const struct volume_step *s, const float *x, double share)
{
    const int64_t n = volume_step_voxels(s->out);
    double *expected = doubles(n), most = 0;
    twin_volume(s, x, expected);
    for (int64_t i = 0; i < n; i++)
        most = isfinite(expected[i]) ? fmax(most, fabs(expected[i])) : most;
    for (int b = 0; harness_backend(b); b++) {
        float *found = apply(harness_backend(b), s, x);
        for (int64_t i = 0; i < n; i++) {
            const double apart = fabs((double)found[i] - expected[i]);
            const int same = isnan(expected[i]) ? isnan(found[i]) : apart <= share * most;
            if (!same)
                fail_msg("%s on %s: voxel %lld is %.9g, not %.9g", what, harness_backend(b),
                         (long long)i, (double)found[i], expected[i]);
        }
        free(found);
    }
    free(expected);
}

/* Large results take another way out of the CPU: all tests a second time. */
static int past_the_caches(void **state)
{
    if (&cpu_volume_stream_least)
        cpu_volume_stream_least = 0;
    return harness_setup(state);
}

static const int64_t sizes[][3] = {{1, 1, 1},  {3, 3, 3},   {1, 5, 9},    {7, 1, 2},  {4, 6, 16},
                                   {5, 3, 17}, {9, 12, 33}, {20, 30, 70}, {2, 2, 131}};
#define SIZES (sizeof sizes / sizeof *sizes)

static int64_t voxels(const int64_t n[3])
{
    return n[0] * n[1] * n[2];
}

static void normalisation_equals_its_twin(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZES; i++)
        for (int norm = VOLUME_Z_NORM; norm <= VOLUME_RESCALE; norm++) {
            struct volume_step s = shaped(copy, sizes[i], sizes[i]);
            s.kind = VOLUME_MAP;
            s.norm = (enum volume_norm)norm;
            s.low = -2;
            s.high = 3;
            float *x = random_floats(i, 999, 1003, voxels(sizes[i]));
            compare("normalisation", &s, x, 2e-6);
            s.low = 3; /* upside down */
            s.high = -2;
            compare("normalisation", &s, x, 2e-6);
            x[voxels(sizes[i]) / 2] = NAN;
            x[0] = NAN;
            compare("normalisation with NaN", &s, x, 2e-6);
            for (int64_t k = 0; k < voxels(sizes[i]); k++)
                x[k] = k % 5 == 4 ? NAN : 0.1f;
            compare("a constant volume", &s, x, 2e-6);
            for (int64_t k = 0; k < voxels(sizes[i]); k++)
                x[k] = NAN;
            compare("a volume of NaN", &s, x, 2e-6);
            free(x);
        }
}

/* A mean that is large beside the spread costs no digits but those of the input. */
static void z_norm_keeps_its_digits_far_from_zero(void **state)
{
    (void)state;
    const int64_t n[3] = {40, 50, 60};
    struct volume_step s = shaped(copy, n, n);
    s.kind = VOLUME_MAP;
    s.norm = VOLUME_Z_NORM;
    float *x = random_floats(4, -1, 1, voxels(n));
    for (int64_t i = 0; i < voxels(n); i++)
        x[i] += 65536;
    compare("z-norm around 65536", &s, x, 2e-6);
    free(x);
}

static const struct {
    const char *what;
    int64_t start[3], out[3];
    int from[3], turn[3];
} places[] = {
    {"crop", {2, 1, 3}, {5, 4, 30}, {0, 1, 2}, {1, 1, 1}},
    {"crop of one vector", {2, 1, 3}, {5, 4, 16}, {0, 1, 2}, {1, 1, 1}},
    {"crop of whole rows", {2, 1, 0}, {5, 4, 37}, {0, 1, 2}, {1, 1, 1}},
    {"pad", {-2, -1, -3}, {12, 12, 45}, {0, 1, 2}, {1, 1, 1}},
    {"pad and crop", {3, -4, 5}, {4, 20, 70}, {0, 1, 2}, {1, 1, 1}},
    {"beside", {0, 0, 37}, {9, 11, 5}, {0, 1, 2}, {1, 1, 1}},
    {"before", {0, 0, -9}, {9, 11, 5}, {0, 1, 2}, {1, 1, 1}},
    {"flip 0", {8, 0, 0}, {9, 11, 37}, {0, 1, 2}, {-1, 1, 1}},
    {"flip 1", {0, 10, 0}, {9, 11, 37}, {0, 1, 2}, {1, -1, 1}},
    {"flip 2", {0, 0, 36}, {9, 11, 37}, {0, 1, 2}, {1, 1, -1}},
    {"flip all", {8, 10, 36}, {9, 11, 37}, {0, 1, 2}, {-1, -1, -1}},
    {"flip, pad", {0, 0, 40}, {9, 11, 50}, {0, 1, 2}, {1, 1, -1}},
    {"turn 0 1", {10, 0, 0}, {11, 9, 37}, {1, 0, 2}, {-1, 1, 1}},
    {"turn 1 2", {0, 36, 0}, {9, 37, 11}, {0, 2, 1}, {1, -1, 1}},
    {"turn 0 2", {0, 0, 8}, {37, 11, 9}, {2, 1, 0}, {1, 1, -1}},
    {"round", {36, 0, 0}, {37, 9, 11}, {2, 0, 1}, {-1, 1, 1}},
};

static void copies_equal_their_twin(void **state)
{
    (void)state;
    const int64_t n[3] = {9, 11, 37};
    float *x = random_floats(3, -1, 1, voxels(n));
    x[17] = NAN;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct volume_step s = shaped(copy, n, places[i].out);
        memcpy(s.start, places[i].start, sizeof s.start);
        memcpy(s.from, places[i].from, sizeof s.from);
        memcpy(s.turn, places[i].turn, sizeof s.turn);
        compare(places[i].what, &s, x, 0);
    }
    free(x);
}

static void resampling_equals_its_twin(void **state)
{
    (void)state;
    static const int64_t to[][3] = {{1, 1, 1}, {7, 5, 40}, {3, 9, 17}, {20, 31, 67}, {3, 2, 160}};
    for (size_t i = 0; i < SIZES; i++)
        for (size_t k = 0; k < 5; k++) {
            float *x = random_floats(i, -1, 1, voxels(sizes[i]));
            struct volume_step s = shaped(copy, sizes[i], to[k]);
            s.kind = VOLUME_LINEAR;
            compare("linear", &s, x, 1e-6);
            s.kind = VOLUME_NEAREST;
            compare("nearest", &s, x, 0);
            x[voxels(sizes[i]) / 2] = NAN;
            compare("nearest with NaN", &s, x, 0);
            s.kind = VOLUME_LINEAR;
            compare("linear with NaN", &s, x, 1e-6);
            for (int64_t v = 0; v < voxels(sizes[i]); v++)
                x[v] = 0.1f;
            compare("linear, constant", &s, x, 1e-7);
            free(x);
        }
}

static void halving_equals_its_twin(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZES; i++) {
        int64_t out[3];
        for (int a = 0; a < 3; a++)
            out[a] = (sizes[i][a] + 1) / 2;
        float *x = random_floats(i, -1, 1, voxels(sizes[i]));
        struct volume_step s = shaped(copy, sizes[i], out);
        s.kind = VOLUME_HALVE;
        compare("means of 2x2x2", &s, x, 1e-6);
        x[voxels(sizes[i]) / 2] = NAN;
        compare("means of 2x2x2 with NaN", &s, x, 1e-6);
        free(x);
    }
}

/* Values where rounding, saturation and small numbers begin. */
static const float edges[] = {0,
                              -0.0f,
                              0.5f,
                              1.5f,
                              2.5f,
                              -0.5f,
                              -1.5f,
                              254.5f,
                              255.5f,
                              256,
                              -1,
                              32766.5f,
                              32767.5f,
                              -32768.5f,
                              40000,
                              -40000,
                              65504,
                              65519,
                              65520,
                              70000,
                              -70000,
                              1e30f,
                              -1e30f,
                              INFINITY,
                              -INFINITY,
                              NAN,
                              0x1p-14f,
                              0x1p-15f,
                              0x1p-24f,
                              0x1p-25f,
                              0x1.8p-24f,
                              0x1.8p-25f,
                              1.0004883f,
                              1.0014648f,
                              0x1.fffp-15f,
                              0x1.ffcp-15f,
                              0x1.fffffep127f,
                              0x1.ff8p127f,
                              1.00390625f,
                              1.01171875f,
                              0x1p-133f,
                              0x1.8p-133f,
                              3.14159274f,
                              0x1.002p0f,
                              0x1.006p0f};

static void conversions_are_exact(void **state)
{
    (void)state;
    const int64_t n[3] = {1, 3, 400};
    float *x = random_floats(8, -70000, 70000, voxels(n));
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        x[300 + i] = edges[i];
    for (int64_t i = 500; i < 900; i++)
        x[i] *= 0x1p-24f;
    for (int t = VOLUME_F16; t <= VOLUME_U8; t++)
        for (int b = 0; harness_backend(b); b++) {
            struct volume_step s = shaped(copy, n, n);
            s.kind = VOLUME_MAP;
            s.dtype = (enum volume_dtype)t;
            void *found = apply(harness_backend(b), &s, x);
            for (int64_t i = 0; i < voxels(n); i++) {
                const double want = twin_volume_cast(s.dtype, (double)x[i]);
                const double got = twin_volume_value(s.dtype, found, i);
                if (!(got == want || (isnan(got) && isnan(want))))
                    fail_msg("%.9g becomes %.9g as type %d on %s, not %.9g", (double)x[i], got, t,
                             harness_backend(b), want);
            }
            free(found);
        }
    free(x);
}

/* Crop, z-norm and conversion in one step: the twin's values, rounded to the type. */
static void the_fused_step_equals_its_parts(void **state)
{
    (void)state;
    const int64_t n[3] = {12, 14, 50}, out[3] = {7, 9, 33};
    struct volume_step s = shaped(copy, n, out);
    s.kind = VOLUME_MAP;
    s.norm = VOLUME_Z_NORM;
    s.dtype = VOLUME_F16;
    s.start[0] = 3;
    s.start[1] = 2;
    s.start[2] = 5;
    float *x = random_floats(6, 10, 30, voxels(n));
    double *expected = doubles(voxels(out));
    twin_volume(&s, x, expected);
    for (int b = 0; harness_backend(b); b++) {
        void *found = apply(harness_backend(b), &s, x);
        for (int64_t i = 0; i < voxels(out); i++)
            assert_near(twin_volume_value(VOLUME_F16, found, i), expected[i], 0x1p-10);
        free(found);
    }
    free(expected);
    free(x);
}

static void all_numbers_of_16_bits_are_read(void **state)
{
    (void)state;
    for (int bits = 0; bits < 1 << 16; bits++)
        for (int t = VOLUME_F16; t <= VOLUME_BF16; t++) {
            const uint16_t x = (uint16_t)bits;
            const double found = volume_value((enum volume_dtype)t, &x, 0);
            const double expected = twin_volume_value((enum volume_dtype)t, &x, 0);
            assert_true(isnan(expected)
                            ? isnan(found)
                            : found == expected && !signbit(found) == !signbit(expected));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normalisation_equals_its_twin),
        cmocka_unit_test(z_norm_keeps_its_digits_far_from_zero),
        cmocka_unit_test(copies_equal_their_twin),
        cmocka_unit_test(resampling_equals_its_twin),
        cmocka_unit_test(halving_equals_its_twin),
        cmocka_unit_test(conversions_are_exact),
        cmocka_unit_test(the_fused_step_equals_its_parts),
        cmocka_unit_test(all_numbers_of_16_bits_are_read),
    };
    const int failed = cmocka_run_group_tests(tests, harness_setup, NULL);
    return failed + cmocka_run_group_tests_name("past the caches", tests, past_the_caches, NULL);
}
