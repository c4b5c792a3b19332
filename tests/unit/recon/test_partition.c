/* links: tp_recon */
/* Literals from MBIRJAX 0.7.3's gen_pixel_partition after one np.random.seed(7), calls in this
 * order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/recon/partition.h"

static void iota(int32_t *a, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        a[i] = i;
}

static void expect(struct rng *r, const int32_t *pixels, int64_t count, int64_t subsets,
                   int64_t rows, int64_t length, const int32_t *expected)
{
    struct partition p;
    assert_int_equal(partition_create(pixels, count, subsets, r, &p), ERR_OK);
    assert_int_equal(p.subsets, rows);
    assert_int_equal(p.length, length);
    assert_memory_equal(p.indices, expected, (size_t)(rows * length) * sizeof *expected);
    partition_free(&p);
}

static void test_mbirjax(void **state)
{
    (void)state;
    /* the ellipse in 5 x 6 pixels */
    static const int32_t inside[] = {7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22};
    static const int32_t three[] = {7, 9, 13, 20, 21, 8, 15, 16, 19, 22, 10, 12, 14, 17, 20};
    static const int32_t four[] = {8, 9, 12, 17, 7, 14, 20, 22, 13, 15, 16, 19, 10, 12, 16, 21};
    /* more places left over than the last row has: 9 pixels in 8 rows of 2 */
    static const int32_t eight[] = {1, 3, 2, 8, 4, 7, 5, 6, 0, 2, 0, 5, 1, 6, 4, 7};
    static const int32_t twelve[] = {0, 6, 2, 5, 9, 7, 4, 8, 10, 11, 3, 1};
    static const int32_t after[] = {1, 4, 0, 2, 5, 3};
    int32_t all[20];
    iota(all, 20);
    struct rng r;
    rng_seed(&r, 7);
    expect(&r, inside, 14, 3, 3, 5, three);
    expect(&r, inside, 14, 4, 4, 4, four);
    expect(&r, all, 9, 8, 8, 2, eight);
    expect(&r, all, 20, 1, 1, 20, all);     /* draws nothing */
    expect(&r, all, 12, 20, 12, 1, twelve); /* fewer pixels than subsets */
    int32_t six[6];
    iota(six, 6);
    rng_shuffle(&r, six, 6);
    assert_memory_equal(six, after, sizeof after);
}

static int seen_in_row(const struct partition *p, int64_t row, int32_t pixel)
{
    int times = 0;
    for (int64_t i = 0; i < p->length; i++)
        times += p->indices[row * p->length + i] == pixel;
    return times;
}

/* Rows of one length, ascending; every pixel at least once, at most twice, the second time in the
 * last row. */
static void test_invariants(void **state)
{
    (void)state;
    static const int64_t cases[][2] = {{997, 4}, {997, 128}, {1000, 8}, {256, 16}, {131, 64}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int32_t count = (int32_t)cases[c][0];
        int32_t *pixels = malloc((size_t)count * sizeof *pixels);
        for (int32_t i = 0; i < count; i++)
            pixels[i] = 3 * i + 1;
        struct rng r;
        struct partition p;
        rng_seed(&r, (uint32_t)c);
        assert_int_equal(partition_create(pixels, count, cases[c][1], &r, &p), ERR_OK);
        assert_int_equal(p.length, (count + cases[c][1] - 1) / cases[c][1]);
        int64_t total = 0;
        for (int32_t i = 0; i < count; i++) {
            int times = 0;
            for (int64_t s = 0; s < p.subsets; s++)
                times += seen_in_row(&p, s, pixels[i]);
            assert_in_range(times, 1, 2);
            total += times;
        }
        assert_int_equal(total, p.subsets * p.length);
        for (int64_t i = 1; i < p.subsets * p.length; i++)
            if (i % p.length)
                assert_true(p.indices[i] >= p.indices[i - 1]);
        partition_free(&p);
        free(pixels);
    }
}

static void test_degenerate(void **state)
{
    (void)state;
    const size_t before = mem_held();
    int32_t pixel = 5;
    struct rng r;
    struct partition p;
    rng_seed(&r, 7);
    assert_int_equal(partition_create(&pixel, 0, 8, &r, &p), ERR_OK);
    assert_int_equal(p.subsets, 1);
    assert_int_equal(p.length, 0);
    partition_free(&p);
    assert_int_equal(partition_create(&pixel, 1, 8, &r, &p), ERR_OK);
    assert_int_equal(p.subsets, 1);
    assert_int_equal(p.indices[0], 5);
    partition_free(&p);
    assert_int_equal(partition_create(&pixel, 1, 0, &r, &p), ERR_USAGE);
    assert_int_equal(mem_held(), before);
}

/* Each row has the quarter turns of its pixels, where the image is a square of an even side. */
static void test_turns(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{20, 20}, {34, 34}, {21, 21}, {20, 22}};
    for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
        const int64_t side = shapes[c][1];
        const struct volume v = {shapes[c][0], side, 1, 1, 1, 1, 0, ROR_ELLIPSE, 0};
        const int turns = shapes[c][0] == side && side % 2 == 0;
        struct rng r;
        struct partition p;
        int64_t count;
        int32_t *pixels;
        assert_int_equal(volume_pixels_inside(&v, &pixels, &count), ERR_OK);
        rng_seed(&r, 3);
        assert_int_equal(partition_create_turns(&v, 16, &r, &p), ERR_OK);
        assert_int_equal(p.length, turns ? (count / 4 + 15) / 16 * 4 : (count + 15) / 16);
        for (int64_t i = 0; i < count; i++) {
            int times = 0;
            for (int64_t s = 0; s < p.subsets; s++)
                times += seen_in_row(&p, s, pixels[i]);
            assert_in_range(times, 1, 2);
        }
        for (int64_t i = 0; i < p.subsets * p.length && turns; i++) {
            const int32_t row = p.indices[i] / (int32_t)side, col = p.indices[i] % (int32_t)side;
            const int32_t turned = ((int32_t)side - 1 - col) * (int32_t)side + row;
            assert_int_equal(seen_in_row(&p, i / p.length, turned), 1);
            assert_true(i % p.length == 0 || p.indices[i] > p.indices[i - 1]);
        }
        partition_free(&p);
        free(pixels);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mbirjax),
        cmocka_unit_test(test_invariants),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_degenerate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
