/* links: tp_recon */
/* Literals from numpy 2.4.6: np.random.seed(s), then RandomState.randint or permutation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "host/recon/partition.h"

static void test_seed(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 7);
    assert_int_equal(r.key[0], 7);
    assert_int_equal(r.key[1], 4097098180u);
    assert_int_equal(r.key[2], 3572822661u);
    assert_int_equal(r.key[623], 1352272845u);
    assert_int_equal(r.position, 624);
}

/* RandomState(7).randint(0, 2**32, 2000): around the two refills of 624 words. */
static void test_words(void **state)
{
    (void)state;
    static const struct {
        int at;
        uint32_t value;
    } expected[] = {{0, 327741615u},    {1, 976413892u},    {2, 3349725721u},  {3, 1369975286u},
                    {623, 3222554838u}, {624, 3732577367u}, {625, 469411292u}, {1999, 1233290179u}};
    struct rng r;
    rng_seed(&r, 7);
    int at = 0;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        uint32_t word = 0;
        for (; at <= expected[i].at; at++)
            word = rng_interval(&r, UINT32_MAX);
        assert_int_equal(word, expected[i].value);
    }
}

static void shuffled(struct rng *r, int32_t *a, int64_t n)
{
    for (int32_t i = 0; i < n; i++)
        a[i] = i;
    rng_shuffle(r, a, n);
}

static void test_permutation(void **state)
{
    (void)state;
    static const int32_t ten[] = {8, 5, 0, 2, 1, 9, 7, 3, 6, 4};
    static const int32_t more[] = {20, 18, 13, 21, 1,  10, 15, 17, 23, 3,  32, 14, 28, 22, 9, 31, 2,
                                   24, 27, 5,  25, 19, 29, 11, 0,  12, 30, 16, 4,  6,  7,  8, 26};
    struct rng r;
    int32_t a[700];
    rng_seed(&r, 7);
    shuffled(&r, a, 10);
    assert_memory_equal(a, ten, sizeof ten);
    shuffled(&r, a, 33); /* the stream goes on */
    assert_memory_equal(a, more, sizeof more);
}

/* More draws than one refill gives, with rejections; then the generator's place in the stream. */
static void test_long_permutation(void **state)
{
    (void)state;
    static const int32_t first[] = {306, 604, 40, 493, 14, 548}, after[] = {3, 0, 2, 4, 1};
    struct rng r;
    int32_t a[700];
    rng_seed(&r, 0);
    shuffled(&r, a, 700);
    assert_memory_equal(a, first, sizeof first);
    shuffled(&r, a, 5);
    assert_memory_equal(a, after, sizeof after);
}

static void test_largest_seed(void **state)
{
    (void)state;
    static const int32_t nine[] = {5, 1, 8, 7, 0, 6, 4, 2, 3};
    struct rng r;
    int32_t a[9];
    rng_seed(&r, UINT32_MAX);
    shuffled(&r, a, 9);
    assert_memory_equal(a, nine, sizeof nine);
}

static void test_nothing_drawn(void **state)
{
    (void)state;
    struct rng r;
    int32_t one = 3;
    rng_seed(&r, 7);
    assert_int_equal(rng_interval(&r, 0), 0);
    rng_shuffle(&r, &one, 1);
    rng_shuffle(&r, NULL, 0);
    assert_int_equal(one, 3);
    assert_int_equal(rng_interval(&r, UINT32_MAX), 327741615u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seed),         cmocka_unit_test(test_words),
        cmocka_unit_test(test_permutation),  cmocka_unit_test(test_long_permutation),
        cmocka_unit_test(test_largest_seed), cmocka_unit_test(test_nothing_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
