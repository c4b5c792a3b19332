/* links: tp_store tp_base */
/* Every format against what its own library wrote (tests/data/store/make.py): shape, type, all
 * values, boxes, and conversions; every way to fetch, order and number of workers gives the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/base/memory.h"
#include "host/store/engine/engine.h"
#include "host/store/format/npy.h"
#include "host/store/writer/writer.h"
#include "tests/unit/check.h"

static const int64_t usual[] = {5, 37, 41};

/* Element i (C order) of the files' arrays. */
static int64_t value(int64_t i, int bytes)
{
    const int64_t v = (i * i + 3 * i) % 1021;
    return bytes == 1 ? v % 251 : v;
}

struct known {
    const char *file, *array; /* array NULL: the first */
    const char *dtype;
    int whole; /* 0: all but the first 3 x 20 x 24 elements are the fill value 7 */
    const char *library;
};

static const struct known all[] = {
    {"f4.npy", NULL, "float32", 1, NULL},
    {"u2_big.npy", NULL, "uint16", 1, NULL},
    {"i4_fortran.npy", NULL, "int32", 1, NULL},
    {"i2.nii", NULL, "int16", 1, NULL},
    {"i2.nii.gz", NULL, "int16", 1, NULL},
    {"i2_bgzf.nii.gz", NULL, "int16", 1, NULL},
    {"i2_members.nii.gz", NULL, "int16", 1, NULL},
    {"f4_v2.nii", NULL, "float32", 1, NULL},
    {"u2_pages.tif", NULL, "uint16", 1, NULL},
    {"u2_big.tif", NULL, "uint16", 1, NULL},
    {"u2_deflate_tiles.tif", NULL, "uint16", 1, NULL},
    {"u1_lzw.tif", NULL, "uint8", 1, NULL},
    {"u2_lzw_predict.tif", NULL, "uint16", 1, NULL},
    {"f4_predict3.tif", NULL, "float32", 1, NULL},
    {"u1_packbits.tif", NULL, "uint8", 1, NULL},
    {"u2_zstd.tif", NULL, "uint16", 1, "zstd"},
    {"u2_imagej.tif", NULL, "uint16", 1, NULL},
    {"stack", NULL, "uint16", 1, NULL},
    {"kinds.h5", "contiguous", "uint16", 1, "hdf5"},
    {"kinds.h5", "gzip", "uint16", 1, "hdf5"},
    {"kinds.h5", "lzf", "uint16", 1, "hdf5"},
    {"kinds.h5", "big", "uint16", 1, "hdf5"},
    {"kinds.h5", "f8", "float64", 1, "hdf5"},
    {"kinds.h5", "blosc", "uint16", 1, "hdf5 blosc"},
    {"kinds.h5", "lz4", "uint16", 1, "hdf5 lz4"},
    {"kinds.h5", "zstd", "uint16", 1, "hdf5 zstd"},
    {"kinds.h5", "holes", "uint16", 0, "hdf5"},
    {"skipped_filter.h5", "data", "uint16", 1, "hdf5"},
    {"filters.h5", "bitshuffle_lz4", "uint16", 1, "hdf5 lz4"},
    {"filters.h5", "bitshuffle_zstd", "uint16", 1, "hdf5 zstd"},
    {"filters.h5", "bitshuffle", "uint16", 1, "hdf5"},
    {"filters.h5", "bitshuffle_f8", "float64", 1, "hdf5 lz4"},
    {"filters.h5", "blosc_bits", "uint16", 1, "hdf5 blosc"},
    {"filters.h5", "szip_nn", "uint16", 1, "hdf5 szip"},
    {"filters.h5", "szip_f8", "float64", 1, "hdf5 szip"},
    {"filters.h5", "szip_big", "uint16", 1, "hdf5 szip"},
    {"zarr2", "raw", "uint16", 1, NULL},
    {"zarr2", "zlib", "uint16", 1, NULL},
    {"zarr2", "gzip", "uint16", 1, NULL},
    {"zarr2", "zstd", "uint16", 1, "zstd"},
    {"zarr2", "blosc", "uint16", 1, "blosc"},
    {"zarr2", "lz4", "uint16", 1, "lz4"},
    {"zarr2", "fortran", "uint16", 1, NULL},
    {"zarr2", "slash", "uint16", 1, NULL},
    {"zarr2", "shuffle", "uint16", 1, NULL},
    {"zarr2", "big", "uint16", 1, NULL},
    {"zarr2", "holes", "uint16", 0, NULL},
    {"zarr3", "raw", "uint16", 1, NULL},
    {"zarr3", "gzip", "uint16", 1, NULL},
    {"zarr3", "zstd", "uint16", 1, "zstd"},
    {"zarr3", "zstd_crc", "uint16", 1, "zstd"},
    {"zarr3", "blosc", "uint16", 1, "blosc"},
    {"zarr3", "transpose", "uint16", 1, NULL},
    {"zarr3", "big", "uint16", 1, NULL},
    {"zarr3", "sharded", "uint16", 1, "zstd"},
    {"zarr3", "sharded_holes", "uint16", 0, NULL},
    {"zarr3", "v2keys", "uint16", 1, NULL},
    {"ome.zarr", "0", "uint16", 1, NULL},
    {"ome5.zarr", "0", "uint16", 1, "zstd"},
    {"u2.txrm", NULL, "uint16", 1, NULL},
    {"refs.json", "contiguous", "uint16", 1, NULL},
    {"refs.json", "big", "uint16", 1, NULL},
    {"refs.json", "f8", "float64", 1, NULL},
    {"refs.json", "holes", "uint16", 0, NULL},
};
#define KNOWN (sizeof all / sizeof *all)

static int there(const char *libraries)
{
    const char *unused;
    if (!libraries)
        return 1;
#ifndef TP_HDF5
    if (strstr(libraries, "hdf5"))
        return 0;
#endif
    return (!strstr(libraries, "zstd") || codec_available(CODEC_ZSTD, &unused)) &&
           (!strstr(libraries, "blosc") || codec_available(CODEC_BLOSC, &unused)) &&
           (!strstr(libraries, "szip") || codec_available(CODEC_SZIP, &unused)) &&
           (!strstr(libraries, "lz4") || codec_available(CODEC_LZ4, &unused));
}

static void open_known(const struct known *k, struct store **s, struct store_array **a)
{
    char path[512], dtype[16];
    snprintf(path, sizeof path, "%s/store/%s", TP_DATA, k->file);
    assert_ok(store_open(path, s));
    assert_ok(store_find(*s, k->array, a));
    store_dtype_name((*a)->dtype, dtype);
    assert_string_equal(dtype, k->dtype);
    assert_int_equal((*a)->dims, 3);
    assert_memory_equal((*a)->shape, usual, sizeof usual);
}

static double wanted(const struct known *k, const struct store_array *a, int64_t z, int64_t y,
                     int64_t x)
{
    if (!k->whole && (z >= 3 || y >= 20 || x >= 24))
        return 7;
    return (double)value((z * usual[1] + y) * usual[2] + x, a->dtype.bytes);
}

/* The box in float64. */
static int64_t wrong(const struct known *k, const struct store_array *a, const struct engine_box *b,
                     const double *x)
{
    int64_t bad = 0, i = 0;
    for (int64_t z = 0; z < b->count[0]; z++)
        for (int64_t y = 0; y < b->count[1]; y++)
            for (int64_t c = 0; c < b->count[2]; c++, i++)
                bad += x[i] != wanted(k, a, b->start[0] + z, b->start[1] + y, b->start[2] + c);
    return bad;
}

static const struct store_dtype f8 = {'f', 8, 0};

static void check_box(const struct known *k, struct store *s, struct store_array *a,
                      const struct engine_box *b, const struct engine_options *o)
{
    struct engine_plan *p;
    struct engine_result r;
    const size_t bytes = (size_t)(b->count[0] * b->count[1] * b->count[2]) * sizeof(double);
    double *x = NULL;
    assert_ok(engine_shared(bytes, (void **)&x));
    memset(x, 0xab, bytes);
    assert_ok(engine_plan(s, a, b, o, &p));
    assert_ok(engine_run(p, f8, x, NULL, NULL, &r));
    const int64_t bad = wrong(k, a, b, x);
    if (bad)
        fail_msg("%s %s: %lld of %lld values are wrong", k->file, a->name, (long long)bad,
                 (long long)(bytes / sizeof(double)));
    assert_int_equal(r.tasks_done, engine_facts(p)->tasks);
    engine_plan_free(p);
    engine_unshare(x, bytes);
}

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
    static const char *const files[] = {"f4.npy", "i2_bgzf.nii.gz", "u2_deflate_tiles.tif", "stack",
                                        "zarr2"};
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

/* A box of one row touches few bytes where nothing is compressed, and whole chunks otherwise. */
static void test_plan(void **state)
{
    (void)state;
    struct store *s;
    struct store_array *a;
    struct engine_plan *p;
    const struct engine_box row = {{0, 19, 0}, {5, 1, 41}};
    open_known(&all[0], &s, &a);
    const struct engine_options exact = {.gap = -1};
    assert_ok(engine_plan(s, a, &row, &exact, &p));
    assert_int_equal(engine_facts(p)->tasks, 5);
    assert_int_equal(engine_facts(p)->bytes_fetched, 5 * 41 * 4);
    assert_true(engine_facts(p)->amplification == 1);
    engine_plan_free(p);
    const struct engine_box outside = {{0, 19, 0}, {6, 1, 41}};
    assert_error(engine_plan(s, a, &outside, NULL, &p), ERR_INPUT, "dimension 0");
    store_close(s);
    const struct known *k = all;
    while (strcmp(k->file, "zarr2"))
        k++;
    open_known(k, &s, &a);
    assert_ok(engine_plan(s, a, &row, NULL, &p));
    assert_int_equal(engine_facts(p)->chunks, 4);
    assert_int_equal(engine_facts(p)->chunks_stored, 4);
    engine_plan_free(p);
    store_close(s);
}

static void open_named(const char *file, const char *array, struct store **s,
                       struct store_array **a)
{
    const struct known *k = all;
    while (strcmp(k->file, file) || (array && strcmp(k->array, array)))
        k++;
    open_known(k, s, a);
}

/* A box asks for the places of its own chunks or shards; the rest comes when it is needed. */
static void test_box_index(void **state)
{
    static const char *const names[][2] = {{"zarr2", NULL}, {"zarr3", "sharded"}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct engine_box corner = {{4, 36, 40}, {1, 1, 1}};
        struct engine_plan *p;
        struct store *s, *other;
        struct store_array *a, *b;
        int64_t known = 0;
        open_named(names[i][0], names[i][1], &s, &a);
        open_named(names[i][0], names[i][1], &other, &b);
        assert_ok(engine_plan(s, a, &corner, NULL, &p));
        engine_plan_free(p);
        assert_non_null(a->indexed);
        for (int64_t c = 0; c < a->chunks_count; c++)
            known += a->indexed[c];
        assert_int_equal(known, 1);
        assert_int_equal(s->objects_count, 1);
        assert_ok(engine_plan(s, a, &corner, NULL, &p)); /* asked once */
        engine_plan_free(p);
        assert_int_equal(s->objects_count, 1);
        assert_ok(store_index(s, a));
        assert_ok(store_index(other, b));
        assert_null(a->indexed);
        assert_int_equal(s->objects_count, other->objects_count);
        for (int64_t c = 0; c < a->chunks_count; c++) {
            const struct store_chunk *x = &a->chunks[c], *y = &b->chunks[c];
            assert_string_equal(s->objects[x->object].name, other->objects[y->object].name);
            assert_true(x->offset == y->offset && x->stored == y->stored);
        }
        store_close(s);
        store_close(other);
    }
}

static enum err slow_read(struct fetch_worker *w, struct fetch_request *r, int n)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return fetch_pread.read(w, r, n);
}

/* Little is read by the calling thread alone, unless its first group shows that the rest is slow.
 */
static void test_little(void **state)
{
    (void)state;
    struct store *s;
    struct store_array *a;
    struct engine_plan *p;
    struct engine_result r;
    struct fetch_way slow = fetch_pread;
    slow.read = slow_read;
    open_known(&all[0], &s, &a);
    const struct engine_box box = {{1, 3, 2}, {4, 30, 39}};
    const struct engine_options o = {.way = &slow, .batch = 1, .gap = -1};
    check_box(&all[0], s, a, &box, &o);
    float *x = malloc((size_t)store_elements(a) * sizeof *x);
    assert_ok(engine_plan(s, a, &box, &o, &p));
    assert_true(engine_facts(p)->tasks > 16);
    assert_ok(engine_run(p, a->dtype, x, NULL, NULL, &r));
    assert_int_equal(r.workers, engine_processors());
    engine_plan_free(p);
    free(x);
    store_close(s);
}

/* Times of every part, from several workers; what was not read is marked. */
static void test_times(void **state)
{
    (void)state;
    struct store *s;
    struct store_array *a;
    struct engine_plan *p;
    struct engine_result r;
    open_known(&all[0], &s, &a);
    const struct engine_box whole = engine_all(a);
    const struct engine_options o = {.threads = 2, .order = ORDER_INDEX};
    float *x = malloc((size_t)store_elements(a) * sizeof *x);
    assert_ok(engine_plan(s, a, &whole, &o, &p));
    struct engine_time *t = calloc((size_t)engine_facts(p)->tasks, sizeof *t);
    assert_ok(engine_run(p, a->dtype, x, NULL, t, &r));
    int64_t sum = 0;
    for (int64_t i = 0; i < engine_facts(p)->tasks; i++) {
        assert_true(t[i].worker >= 0 && t[i].fetch >= 0 && t[i].decode >= 0 && t[i].place >= 0);
        sum += t[i].fetch + t[i].decode + t[i].convert + t[i].place;
    }
    assert_true(sum > 0 && sum <= r.wall_ns * r.workers);
    engine_plan_free(p);
    const volatile int stop = 1;
    const struct engine_options ended = {.threads = 1, .stop = &stop};
    assert_ok(engine_plan(s, a, &whole, &ended, &p));
    assert_ok(engine_run(p, a->dtype, x, NULL, t, &r));
    assert_int_equal(r.tasks_done, 0);
    assert_int_equal(t[0].worker, -1);
    engine_plan_free(p);
    free(t);
    free(x);
    store_close(s);
}

/* Where tiles overlap, the later one is seen; what no tile covers is 0. */
static void test_mosaic(void **state)
{
    static const char *const files[] = {"raw.czi", "zstd0.czi", "tiles.czi"};
    (void)state;
    for (int f = 0; f < 3; f++) {
        char path[512];
        const char *unused;
        struct store *s;
        struct store_array *a;
        if (f && !codec_available(CODEC_ZSTD, &unused))
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
    static const char *const names[] = {"jpeg_grey", "jpeg_colour"};
    const struct store_dtype u1 = {'u', 1, 0};
    const char *unused;
    uint16_t x[40 * 48];
    unsigned char mine[70 * 90 * 3], theirs[sizeof mine];
    struct store *s;
    (void)state;
    if (codec_available(CODEC_JXR, &unused)) {
        assert_ok(store_open(TP_DATA "/store/jxr.czi", &s));
        assert_ok(engine_read(s, s->arrays[0], NULL, s->arrays[0]->dtype, x, NULL));
        for (int i = 0; i < 40 * 48; i++)
            assert_int_equal(x[i], 1000 + i / 48 * 2 + i % 48 * 3);
        store_close(s);
    }
    for (int i = 0; i < 2 && codec_available(CODEC_JPEG, &unused); i++)
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
    static const char *const files[] = {"jpeg_grey", "jpeg_colour"};
    const struct store_dtype u1 = {'u', 1, 0};
    unsigned char mine[72 * 96 * 3], theirs[sizeof mine];
    const char *unused;
    struct store *s;
    (void)state;
    if (!codec_available(CODEC_JPEG, &unused))
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

/* A slice, and a block, of a compressed store: what is read is decoded into its place, and what
 * is held beside it is the compressed bytes. */
static void test_memory(void **state)
{
    (void)state;
    char folder[] = "/tmp/tomoprof-test-store-XXXXXX", npy[64], zarr[64], command[100];
    const int64_t shape[] = {8, 512, 512};
    const struct store_dtype f4 = {'f', 4, 0};
    struct writer_options o = {.chunk = {1, 512, 512}, .chunk_dims = 3};
    struct writer_result written;
    struct engine_result result;
    struct engine_plan *p;
    struct store *s;
    assert_non_null(mkdtemp(folder));
    snprintf(npy, sizeof npy, "%s/x.npy", folder);
    snprintf(zarr, sizeof zarr, "%s/x.zarr", folder);
    float *x = calloc(8 * 512 * 512, sizeof *x), *y = calloc(512 * 512, sizeof *y);
    assert_true(x && y);
    for (int64_t i = 0; i < 8 * 512 * 512; i++)
        x[i] = (float)(i * 7 % 1013);
    assert_ok(npy_write(npy, 3, shape, x));
    assert_ok(store_convert(npy, zarr, &o, &written));
    assert_ok(store_open(zarr, &s));
    const struct engine_box slice = {{5}, {1, 512, 512}};
    assert_ok(engine_plan(s, s->arrays[0], &slice, NULL, &p));
    assert_ok(engine_run(p, f4, y, NULL, NULL, &result));
    assert_memory_equal(y, x + 5 * 512 * 512, 512 * 512 * sizeof *y);
    assert_true(result.buffer_bytes < 512 * 512 * (int64_t)sizeof *y); /* with y less than twice */
    engine_plan_free(p);
    store_close(s);
    free(x);
    free(y);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_values), cmocka_unit_test(test_every_way),
        cmocka_unit_test(test_types),      cmocka_unit_test(test_plan),
        cmocka_unit_test(test_little),     cmocka_unit_test(test_times),
        cmocka_unit_test(test_mosaic),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_pictures),   cmocka_unit_test(test_jpeg_tiles),
        cmocka_unit_test(test_box_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
