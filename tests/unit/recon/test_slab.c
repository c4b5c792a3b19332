/* links: tp_recon */
#include "host/recon/slabs/slab.h"
#include "tests/unit/check.h"

/* 100 bytes whatever happens, 10 per unit of thickness. */
static size_t linear(const void *context, int64_t thickness)
{
    (void)context;
    return 100 + 10 * (size_t)thickness;
}

static void plan(int64_t length, size_t available, struct slabs *out)
{
    assert_ok(slabs_plan("a test", "of memory", length, linear, NULL, available, out));
}

/* Slabs cover the axis once, in order, with their halos inside; none is thicker than fits, and one
 * slab less would not fit. */
static void check_cover(const struct slabs *p, size_t available, int64_t halo)
{
    int64_t next = 0;
    for (int64_t i = 0; i < p->count; i++) {
        const struct slab s = slab_at(p, i, halo);
        assert_int_equal(s.first, next);
        assert_in_range(s.count, 1, p->thickness);
        assert_int_equal(s.from, s.first > halo ? s.first - halo : 0);
        const int64_t end = s.first + s.count + halo;
        assert_int_equal(s.from + s.length, end < p->length ? end : p->length);
        next += s.count;
    }
    assert_int_equal(next, p->length);
    assert_true(linear(NULL, p->thickness) <= available);
    if (p->count > 1) {
        const int64_t thicker = (p->length + p->count - 2) / (p->count - 1);
        assert_true(linear(NULL, thicker) > available);
    }
}

static void any_sizes_are_covered_with_as_few_slabs_as_fit(void **state)
{
    (void)state;
    for (int64_t length = 1; length < 40; length++)
        for (size_t available = 110; available < 540; available += 7)
            for (int64_t halo = 0; halo < 3; halo++) {
                struct slabs p;
                plan(length, available, &p);
                check_cover(&p, available, halo);
            }
}

static void room_for_all_is_one_slab(void **state)
{
    (void)state;
    struct slabs p;
    plan(37, 100 + 370, &p);
    assert_int_equal(p.count, 1);
    const struct slab s = slab_at(&p, 0, 5);
    assert_int_equal(s.from, 0);
    assert_int_equal(s.length, 37);
    plan(37, 100 + 369, &p);
    assert_int_equal(p.count, 2);
    assert_int_equal(p.thickness, 19);
}

static void room_for_one_is_a_slab_each(void **state)
{
    (void)state;
    struct slabs p;
    plan(5, 119, &p);
    assert_int_equal(p.count, 5);
    const struct slab s = slab_at(&p, 2, 1);
    assert_int_equal(s.first, 2);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.from, 1);
    assert_int_equal(s.length, 3);
}

static void an_empty_axis_has_no_slab(void **state)
{
    (void)state;
    struct slabs p;
    plan(0, 0, &p);
    assert_int_equal(p.count, 0);
}

static size_t gigabytes(const void *context, int64_t thickness)
{
    (void)context;
    return (size_t)thickness << 30;
}

static void too_little_room_is_refused_with_both_numbers(void **state)
{
    (void)state;
    struct slabs p;
    assert_error(
        slabs_plan("cone beam", "of GPU memory", 9, gigabytes, NULL, (size_t)512 << 20, &p),
        ERR_MEMORY,
        "cone beam needs 1.0 GiB of GPU memory for its thinnest slab, 512 MiB available");
    assert_int_equal(p.count, 0);
}

static void long_axes_do_not_overflow(void **state)
{
    (void)state;
    struct slabs p;
    const int64_t length = (int64_t)1 << 33;
    assert_ok(slabs_plan("a test", "of memory", length, gigabytes, NULL, (size_t)3 << 60, &p));
    assert_int_equal(p.thickness, 2863311531); /* 3 slabs of at most 3 * 2^30 */
    assert_int_equal(p.count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_sizes_are_covered_with_as_few_slabs_as_fit),
        cmocka_unit_test(room_for_all_is_one_slab),
        cmocka_unit_test(room_for_one_is_a_slab_each),
        cmocka_unit_test(an_empty_axis_has_no_slab),
        cmocka_unit_test(too_little_room_is_refused_with_both_numbers),
        cmocka_unit_test(long_axes_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
