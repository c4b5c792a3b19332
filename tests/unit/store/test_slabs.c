/* links: tp_store tp_base */
/* Sums of slabs tell bytes apart, and slabs of arrays that are converted have chunks of both sides in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "host/store/format/npy.h"
#include "host/store/writer/slabs.h"
#include "tests/unit/check.h"

/* Changes each bit, then the highest ones of two floats at any distance, and exchanges words. */
static void sums_tell_apart(void **state)
{
    (void)state;
    enum { BYTES = 300 };
    unsigned char x[BYTES];
    for (int i = 0; i < BYTES; i++)
        x[i] = (unsigned char)(i * 37);
    const uint64_t sum = slabs_sum(x, BYTES);
    for (int i = 0; i < 8 * BYTES; i++) {
        x[i / 8] ^= (unsigned char)(1 << i % 8);
        assert_true(slabs_sum(x, BYTES) != sum);
        x[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    for (int i = 3; i < BYTES; i += 4)
        for (int k = i + 4; k < BYTES; k += 4) {
            x[i] ^= 0x80;
            x[k] ^= 0x80;
            assert_true(slabs_sum(x, BYTES) != sum);
            x[i] ^= 0x80;
            x[k] ^= 0x80;
        }
    for (int i = 0; i + 16 <= BYTES; i += 8)
        for (int k = i + 8; k + 8 <= BYTES; k += 8) {
            unsigned char other[BYTES];
            memcpy(other, x, BYTES);
            memcpy(other + i, x + k, 8);
            memcpy(other + k, x + i, 8);
            assert_true(memcmp(other, x, BYTES) == 0 || slabs_sum(other, BYTES) != sum);
        }
    assert_int_equal(slabs_sum(x, BYTES), sum);
    memset(x, 0, BYTES); /* zeros of different numbers */
    for (size_t n = 1; n <= BYTES; n++)
        assert_true(slabs_sum(x, n) != slabs_sum(x, n - 1));
}

#define PLANES 37
#define PLANE  (512 * 512) /* uint32: 1 MiB, so that slabs are 16 planes, or whole chunks */

static char folder[] = "/tmp/tomoprof-test-slabs-XXXXXX";
static uint32_t *truth;

static void array_compare(const char *path)
{
    struct store *s;
    struct store_array *a;
    uint32_t *got = calloc(PLANES, PLANE * sizeof *got);
    assert_ok(store_open(path, &s));
    assert_ok(store_find(s, NULL, &a));
    struct writer w = {.type = a->dtype, .dims = 3, .shape = {PLANES, 512, 512}, .source = a};
    for (int i = 0; i < 3; i++)
        w.from[i] = i;
    struct writer_slabs t = {
        .store = s, .array = a, .target = &w, .from = w.from, .step = 5, .total = PLANES};
    int64_t first, count, done = 0;
    void *data;
    assert_ok(slabs_begin(&t));
    for (;;) {
        assert_ok(slabs_next(&t, &first, &count, &data));
        if (!count)
            break;
        assert_int_equal(first, done);
        memcpy(got + first * PLANE, data, (size_t)count * PLANE * sizeof *got);
        done += count;
    }
    assert_ok(slabs_next(&t, &first, &count, &data)); /* and none again */
    assert_int_equal(count, 0);
    slabs_end(&t);
    assert_int_equal(done, PLANES);
    assert_memory_equal(got, truth, (size_t)PLANES * PLANE * sizeof *got);
    store_close(s);
    free(got);
}

/* Chunks of 5, then of 8 planes: those of the source do not end where those of the target do. */
static void slabs_of_both(void **state)
{
    (void)state;
    static const int64_t shape[] = {PLANES, 512, 512};
    char npy[64], five[64], eight[64];
    struct writer_result r;
    struct writer_options o = {.chunk = {5, 512, 300}, .chunk_dims = 3, .raw = 1};
    assert_non_null(mkdtemp(folder));
    snprintf(npy, sizeof npy, "%s/x.npy", folder);
    snprintf(five, sizeof five, "%s/five.zarr", folder);
    snprintf(eight, sizeof eight, "%s/eight.zarr", folder);
    truth = malloc((size_t)PLANES * PLANE * sizeof *truth);
    for (uint32_t i = 0; i < PLANES * PLANE; i++)
        truth[i] = i * 2654435761u >> 20;
    /* Written as float32 of the same bits: npy_write knows no other type. */
    assert_ok(npy_write(npy, 3, shape, (const float *)truth));
    assert_ok(store_convert(npy, five, &o, &r));
    array_compare(five);
    o = (struct writer_options){.chunk = {8, 300, 512}, .chunk_dims = 3};
    assert_ok(store_convert(five, eight, &o, &r));
    assert_int_equal(r.bytes, (int64_t)PLANES * PLANE * 4);
    array_compare(eight);
    assert_ok(store_convert(eight, npy, &(struct writer_options){0}, &r));
    array_compare(npy);
    dir_remove(folder);
    free(truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_tell_apart),
                                       cmocka_unit_test(slabs_of_both)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
