/* links: tp_store tp_base */
/* Every format against what its own library wrote (tests/data/store/make.py): shape, type, all
 * values and boxes; every way to fetch, order and number of workers gives the same. */
#include "tests/unit/store/store_case.h"

static void test_all_values(void **state)
{
    (void)state;
    size_t read = 0;
    for (size_t i = 0; i < KNOWN; i++) {
        struct store *s;
        struct store_array *a;
        if (!there(all[i].library))
            continue;
        open_known(&all[i], &s, &a);
        const struct engine_box whole = engine_all(a), boxes[] = {whole,
                                                                  {{2, 0, 0}, {1, 37, 41}},
                                                                  {{0, 19, 0}, {5, 1, 41}},
                                                                  {{0, 0, 40}, {5, 37, 1}},
                                                                  {{1, 15, 23}, {3, 7, 5}},
                                                                  {{4, 36, 40}, {1, 1, 1}}};
        for (size_t b = 0; b < sizeof boxes / sizeof *boxes; b++)
            check_box(&all[i], s, a, &boxes[b], NULL);
        store_close(s);
        read++;
    }
    assert_true(read >= 25);
}

static void test_every_way(void **state)
{
    (void)state;
    static const char *const files[] = {"npy/f4.npy", "nifti/i2_bgzf.nii.gz",
                                        "tiff/u2_deflate_tiles.tif", "tiff/stack", "zarr/zarr2"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const struct known *k = all;
        while (strcmp(k->file, files[i]))
            k++;
        for (int way = 0; fetch_ways[way]; way++)
            for (int workers = 1; workers <= 4; workers += 3)
                for (int order = ORDER_OFFSET; order <= ORDER_RANDOM; order++)
                    for (int processes = 0; processes < 2; processes++) {
                        struct store *s;
                        struct store_array *a;
                        if (processes && (order || way))
                            continue;
                        open_known(k, &s, &a);
                        const struct engine_options o = {.way = fetch_ways[way],
                                                         .threads = workers,
                                                         .processes = processes ? workers : 0,
                                                         .batch = order + 1,
                                                         .gap = order % 2 ? -1 : 0,
                                                         .order = (enum engine_order)order};
                        const struct engine_box b = {{1, 3, 2}, {4, 30, 39}};
                        check_box(k, s, a, &b, &o);
                        store_close(s);
                    }
    }
}

/* Elements as they are stored, in C order and in the order of the file. */
static void test_types(void **state)
{
    (void)state;
    struct store *s;
    struct store_array *a;
    open_known(&all[2], &s, &a); /* int32 in Fortran order */
    int32_t *x = malloc((size_t)store_elements(a) * sizeof *x);
    const struct store_dtype i4 = {'i', 4, 0}, c8 = {'c', 8, 0};
    const struct engine_box whole = engine_all(a);
    int64_t stride[STORE_DIMS];
    assert_ok(engine_read(s, a, NULL, i4, x, NULL));
    for (int64_t i = 0; i < store_elements(a); i++)
        assert_int_equal(x[i], value(i, 4));
    engine_strides(a, &whole, 4, 1, stride);
    assert_int_equal(stride[0], 4);
    assert_ok(engine_read(s, a, NULL, i4, x, stride));
    assert_int_equal(x[1], value(37 * 41, 4));
    assert_int_equal(x[5], value(41, 4));
    assert_false(engine_converts(c8, f8));
    assert_true(engine_converts(i4, f8));
    free(x);
    store_close(s);
}

/* Later tiles hide earlier ones where they overlap; places without a tile are 0. */
static void test_mosaic(void **state)
{
    static const char *const files[] = {"czi/raw.czi", "czi/zstd0.czi", "czi/tiles.czi"};
    (void)state;
    for (int f = 0; f < 3; f++) {
        char path[512];
        struct store *s;
        struct store_array *a;
        if (f && !codec_available(CODEC_ZSTD))
            continue;
        snprintf(path, sizeof path, "%s/store/%s", TP_DATA, files[f]);
        assert_ok(store_open(path, &s));
        assert_ok(store_find(s, NULL, &a));
        assert_int_equal(a->dims, 2);
        assert_int_equal(a->shape[0], 72);
        assert_int_equal(a->shape[1], 88);
        assert_int_equal(a->chunks_count, 4);
        uint16_t x[72 * 88];
        assert_ok(engine_read(s, a, NULL, a->dtype, x, NULL));
        for (int y = 0; y < 72; y++)
            for (int c = 0; c < 88; c++) {
                const int i = y >= 32, j = c >= 40;
                const int64_t at = (y - 32 * i) * 48 + c - 40 * j;
                assert_int_equal(x[y * 88 + c], value(at, 2) + 1021 * (2 * i + j));
            }
        store_close(s);
    }
}

/* Lossless JPEG XR; JPEG as close as two decoders are. */
static void test_pictures(void **state)
{
    static const char *const names[] = {"tiff/jpeg_grey", "tiff/jpeg_colour"};
    const struct store_dtype u1 = {'u', 1, 0};
    uint16_t x[40 * 48];
    unsigned char mine[70 * 90 * 3], theirs[sizeof mine];
    struct store *s;
    (void)state;
    if (codec_available(CODEC_JXR)) {
        assert_ok(store_open(TP_DATA "/store/czi/jxr.czi", &s));
        assert_ok(engine_read(s, s->arrays[0], NULL, s->arrays[0]->dtype, x, NULL));
        for (int i = 0; i < 40 * 48; i++)
            assert_int_equal(x[i], 1000 + i / 48 * 2 + i % 48 * 3);
        store_close(s);
    }
    for (int i = 0; i < 2 && codec_available(CODEC_JPEG); i++)
        for (int k = 0; k < 2; k++) {
            char path[512];
            snprintf(path, sizeof path, "%s/store/%s.%s", TP_DATA, names[i], k ? "npy" : "tif");
            assert_ok(store_open(path, &s));
            assert_int_equal(store_elements(s->arrays[0]), 70 * 90 * (i ? 3 : 1));
            assert_ok(engine_read(s, s->arrays[0], NULL, u1, k ? theirs : mine, NULL));
            store_close(s);
            for (int p = 0; k && p < 70 * 90 * (i ? 3 : 1); p++)
                assert_true(abs(mine[p] - theirs[p]) <= 3);
        }
}

/* JPEG tiles of CZI, grey and blue-green-red, as czifile reads them. */
static void test_jpeg_tiles(void **state)
{
    static const char *const files[] = {"czi/jpeg_grey", "czi/jpeg_colour"};
    const struct store_dtype u1 = {'u', 1, 0};
    unsigned char mine[72 * 96 * 3], theirs[sizeof mine];
    struct store *s;
    (void)state;
    if (!codec_available(CODEC_JPEG))
        skip();
    for (int i = 0; i < 2; i++) {
        const int n = 72 * 96 * (i ? 3 : 1);
        char path[512];
        for (int k = 0; k < 2; k++) {
            snprintf(path, sizeof path, "%s/store/%s%s", TP_DATA, files[i],
                     k ? "_czi.npy" : ".czi");
            assert_ok(store_open(path, &s));
            assert_int_equal(store_elements(s->arrays[0]), n);
            assert_ok(engine_read(s, s->arrays[0], NULL, u1, k ? theirs : mine, NULL));
            store_close(s);
        }
        for (int p = 0; p < n; p++)
            assert_true(abs(mine[p] - theirs[p]) <= 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_values), cmocka_unit_test(test_every_way),
        cmocka_unit_test(test_types),      cmocka_unit_test(test_mosaic),
        cmocka_unit_test(test_pictures),   cmocka_unit_test(test_jpeg_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
