/* links: tp_store tp_base */
/* Decoded chunks between reads: the same values, each decoded once, the least recently used ones
 * leave, the limit holds; requests are joined up to a largest gap and a largest size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/engine/engine.h"
#include "host/store/engine/chunk_cache.h"
#include "tests/unit/check.h"

static void the_least_recently_used_leave(void **state)
{
    (void)state;
    struct chunk_cache *k;
    struct store_array a = {0}, other = {0};
    unsigned char bytes[100];
    assert_ok(chunk_cache_create(100, &k));
    assert_false(chunk_cache_takes(k, 101));
    memset(bytes, 7, sizeof bytes);
    for (int i = 0; i < 2; i++)
        chunk_cache_add(k, &a, i, bytes, 40);
    struct cached_chunk *held = chunk_cache_get(k, &a, 0); /* 1 is now the oldest, and 0 is held */
    assert_memory_equal(chunk_cache_bytes(held), bytes, 40);
    chunk_cache_add(k, &a, 2, bytes, 40);
    assert_null(chunk_cache_get(k, &a, 1));
    assert_null(chunk_cache_get(k, &other, 0));
    chunk_cache_add(k, &a, 3, bytes, 40); /* 2 leaves: 0 is older, but held */
    assert_null(chunk_cache_get(k, &a, 2));
    chunk_cache_add(k, &a, 4, bytes, 100); /* only what nobody holds can leave: no room */
    assert_null(chunk_cache_get(k, &a, 4));
    chunk_cache_release(k, held);
    held = chunk_cache_get(k, &a, 0);
    assert_non_null(held);
    chunk_cache_release(k, held);
    const struct chunk_cache_facts f = chunk_cache_facts(k);
    assert_int_equal(f.hits, 2);
    assert_int_equal(f.misses, 4);
    assert_int_equal(f.bytes_saved, 80);
    assert_int_equal(f.bytes_peak, 80);
    assert_int_equal(f.dropped, 3);
    assert_int_equal(f.bytes, 40);
    chunk_cache_free(k);
}

static void open_array(const char *file, const char *name, struct store **s, struct store_array **a)
{
    char path[512];
    snprintf(path, sizeof path, "%s/store/%s", TP_DATA, file);
    assert_ok(store_open(path, s));
    assert_ok(store_find(*s, name, a));
}

/* Reads slices of an array, one after the other. */
static int64_t read_slices(struct store *s, struct store_array *a, const struct engine_options *o,
                           uint16_t *out)
{
    int64_t requests = 0;
    for (int64_t z = 0; z < a->shape[0]; z++) {
        struct engine_box b = engine_all(a);
        struct engine_plan *p;
        struct engine_result r;
        b.start[0] = z;
        b.count[0] = 1;
        assert_ok(engine_plan(s, a, &b, o, &p));
        assert_ok(engine_run(p, (struct store_dtype){'u', 2, 0},
                             out + z * a->shape[1] * a->shape[2], NULL, NULL, &r));
        requests += r.requests;
        engine_plan_free(p);
    }
    return requests;
}

static void each_chunk_is_decoded_once(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        {"zarr/zarr2", "zlib"}, {"zarr/zarr2", "gzip"}, {"zarr/zarr3", "gzip"}};
    for (size_t i = 0; i < 3; i++)
        for (int threads = 1; threads < 5; threads += 3) {
            struct store *s;
            struct store_array *a;
            struct engine_options o = {.threads = threads};
            open_array(files[i][0], files[i][1], &s, &a);
            const size_t bytes = (size_t)store_elements(a) * 2;
            uint16_t *truth = malloc(bytes), *found = calloc(1, bytes);
            assert_ok(engine_read(s, a, NULL, (struct store_dtype){'u', 2, 0}, truth, NULL));
            const int64_t without = read_slices(s, a, &o, found);
            assert_memory_equal(found, truth, bytes);
            assert_ok(chunk_cache_create((int64_t)1 << 20, &o.kept));
            memset(found, 0, bytes);
            const int64_t with = read_slices(s, a, &o, found);
            assert_memory_equal(found, truth, bytes);
            const struct chunk_cache_facts f = chunk_cache_facts(o.kept);
            assert_int_equal(f.misses, a->chunks_count);
            assert_true(f.hits > 0 && f.dropped == 0 && with < without);
            chunk_cache_free(o.kept);
            assert_ok(
                chunk_cache_create(1, &o.kept)); /* too small for any: all is decoded, as without */
            memset(found, 0, bytes);
            read_slices(s, a, &o, found);
            assert_memory_equal(found, truth, bytes);
            assert_int_equal(chunk_cache_facts(o.kept).hits, 0);
            assert_int_equal(chunk_cache_facts(o.kept).bytes_peak, 0);
            chunk_cache_free(o.kept);
            free(truth);
            free(found);
            store_close(s);
        }
}

/* The tiles of a CZI overlap: parts of one tile share what is held. */
static void tiles_are_kept_too(void **state)
{
    (void)state;
    struct store *s;
    struct store_array *a;
    struct engine_options o = {.threads = 2};
    if (!codec_available(CODEC_ZSTD))
        skip();
    open_array("czi/tiles.czi", NULL, &s, &a);
    const size_t bytes = (size_t)store_elements(a) * a->dtype.bytes;
    unsigned char *truth = malloc(bytes), *found = malloc(bytes);
    const struct engine_box all = engine_all(a);
    assert_ok(engine_read(s, a, NULL, a->dtype, truth, NULL));
    assert_ok(chunk_cache_create((int64_t)1 << 24, &o.kept));
    for (int i = 0; i < 2; i++) {
        struct engine_plan *p;
        memset(found, 1, bytes);
        assert_ok(engine_plan(s, a, &all, &o, &p));
        assert_ok(engine_run(p, a->dtype, found, NULL, NULL, NULL));
        engine_plan_free(p);
        assert_memory_equal(found, truth, bytes);
    }
    const struct chunk_cache_facts f = chunk_cache_facts(o.kept);
    assert_true(f.hits > 0 && f.hits == f.misses);
    chunk_cache_free(o.kept);
    free(truth);
    free(found);
    store_close(s);
}

static void requests_are_joined_up_to_a_size(void **state)
{
    (void)state;
    struct store *s;
    struct store_array *a;
    static const struct {
        int64_t gap, largest, requests;
    } rows[] = {{-1, 0, 5}, {0, 0, 1}, {1 << 20, 4592, 3}, {1 << 20, 1, 5}};
    const struct engine_box b = {{0, 0, 0},
                                 {5, 19, 41}}; /* a slice is 3034 bytes, 1558 of them wanted */
    open_array("npy/u2_big.npy", NULL, &s, &a);
    uint16_t *truth = malloc(5 * 19 * 41 * 2), *found = malloc(5 * 19 * 41 * 2);
    assert_ok(engine_read(s, a, &b, (struct store_dtype){'u', 2, 0}, truth, NULL));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct engine_options o = {
            .threads = 1, .gap = rows[i].gap, .largest = rows[i].largest, .batch = 100};
        struct engine_plan *p;
        struct engine_result r;
        assert_ok(engine_plan(s, a, &b, &o, &p));
        assert_ok(engine_run(p, (struct store_dtype){'u', 2, 0}, found, NULL, NULL, &r));
        assert_int_equal(r.requests, rows[i].requests);
        assert_memory_equal(found, truth, 5 * 19 * 41 * 2);
        engine_plan_free(p);
    }
    free(truth);
    free(found);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_recently_used_leave),
        cmocka_unit_test(each_chunk_is_decoded_once),
        cmocka_unit_test(tiles_are_kept_too),
        cmocka_unit_test(requests_are_joined_up_to_a_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
