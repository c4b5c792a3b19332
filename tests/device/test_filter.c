/* The two ways of the ramp filter: one kernel where rows fit into shared memory, cuFFT beyond; the
 * same numbers from both, for every sequence of radices. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/device/shim/shim.h"
#include "tests/operators/harness.h"

/* Filters the rows of a scan; *way counts the kernel's and cuFFT's launches. Malloc'ed. */
static float *filter(const struct test_case *c, const char *asked, int64_t ran[2])
{
    struct rig r;
    setenv("TOMOPROF_CUDA_FILTER", asked, 1);
    rig_open(&r, "cuda", 1, c);
    float *y = random_floats(3, -1, 1, r.samples);
    struct buffer in = rig_push(&r, y, r.samples), out = rig_push(&r, y, r.samples);
    const int64_t kernel = shim_runs_of("ramp_kernel"), packing = shim_runs_of("pack_kernel");
    assert_ok(r.be->ops->ramp_filter(r.be, &r.model.scan, 1, &in, &out));
    r.be->ops->release(r.be, &in);
    float *filtered = rig_pull(&r, &out, r.samples);
    ran[0] = shim_runs_of("ramp_kernel") - kernel;
    ran[1] = shim_runs_of("pack_kernel") - packing;
    free(y);
    rig_close(&r);
    unsetenv("TOMOPROF_CUDA_FILTER");
    return filtered;
}

static void one_kernel_gives_what_cufft_gives(void **state)
{
    (void)state;
    struct worst w = {.what = "one kernel against cuFFT", .limit = 1e-6};
    /* 2^6, 5 2^4, 3 2^5, 2^7, 2^8, 5 2^6, 5 2^7, 3 2^9 points, and a row of one. */
    static const int64_t channels[] = {32, 33, 48, 64, 100, 140, 300, 700, 1};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        const struct test_case c = {"rows", .views = 3, .rows = 3, .channels = channels[i],
                                    .shape = {4, 4, 3}};
        int64_t ran[2];
        float *kernel = filter(&c, "", ran);
        assert_int_equal(ran[0], 1);
        assert_int_equal(ran[1], 0);
        float *library = filter(&c, "cufft", ran);
        assert_int_equal(ran[0], 0);
        assert_true(ran[1] > 0);
        char where[32];
        snprintf(where, sizeof where, "%lld channels", (long long)channels[i]);
        double *expected = widen(library, 9 * channels[i]);
        worst_note(&w, where, relative_l2(kernel, expected, 9 * channels[i]));
        free(kernel);
        free(library);
        free(expected);
    }
    worst_check(&w);
}

/* The longest rows of a card go through the kernel, the next through cuFFT. */
static void how_long_rows_may_be_is_the_cards(void **state)
{
    (void)state;
    static const struct {
        size_t shared; /* KiB of a block */
        int64_t channels;
    } cards[] = {{64, 3072}, {99, 5120}, {227, 12288}};
    const size_t before = shim_block_shared;
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        for (int more = 0; more < 2; more++) {
            const struct test_case c = {"longest", .views = 1, .rows = 1, .shape = {4, 4, 1},
                                        .channels = cards[i].channels + more};
            int64_t ran[2];
            shim_block_shared = cards[i].shared << 10;
            free(filter(&c, "", ran));
            assert_int_equal(ran[0], !more);
            assert_int_equal(ran[1], more);
        }
    shim_block_shared = before;
}

/* Tables of one length are not those of another. */
static void tables_follow_the_length_of_rows(void **state)
{
    (void)state;
    struct rig r;
    const struct test_case wide = {"wide", .views = 2, .rows = 2, .channels = 60};
    rig_open(&r, "cuda", 1, &wide);
    float *y = random_floats(3, -1, 1, r.samples), *found[3];
    for (int i = 0; i < 3; i++) {
        struct scan s = r.model.scan;
        s.channels = i == 1 ? 50 : 60;
        struct buffer in = rig_push(&r, y, r.samples), out = rig_push(&r, y, r.samples);
        assert_ok(r.be->ops->ramp_filter(r.be, &s, 1, &in, &out));
        r.be->ops->release(r.be, &in);
        found[i] = rig_pull(&r, &out, r.samples);
    }
    assert_memory_equal(found[0], found[2], (size_t)r.samples * sizeof(float));
    assert_memory_not_equal(found[0], found[1], (size_t)r.samples * sizeof(float));
    for (int i = 0; i < 3; i++)
        free(found[i]);
    free(y);
    rig_close(&r);
}

/* Filters rows 1 and 2 of 3, by themselves. */
static void slabs_of_rows_have_the_bits_of_the_whole(void **state)
{
    (void)state;
    static const char *const ways[] = {"", "cufft"};
    for (int way = 0; way < 2; way++) {
        struct rig r;
        const struct test_case c = {"rows", .views = 5, .rows = 3, .channels = 40};
        setenv("TOMOPROF_CUDA_FILTER", ways[way], 1);
        rig_open(&r, "cuda", 1, &c);
        float *y = random_floats(3, -1, 1, r.samples), *part = floats(2 * 5 * 40);
        struct scan slab = r.model.scan;
        slab.rows = 2;
        for (int view = 0; view < 5; view++)
            memcpy(part + view * 80, y + view * 120 + 40, 80 * sizeof *y);
        struct buffer all = rig_push(&r, y, r.samples), some = rig_push(&r, part, 2 * 5 * 40);
        assert_ok(r.be->ops->ramp_filter(r.be, &r.model.scan, 1, &all, &all));
        assert_ok(r.be->ops->ramp_filter(r.be, &slab, 1, &some, &some));
        float *whole = rig_pull(&r, &all, r.samples), *found = rig_pull(&r, &some, 2 * 5 * 40);
        for (int view = 0; view < 5; view++)
            assert_memory_equal(whole + view * 120 + 40, found + view * 80, 80 * sizeof *y);
        free(y);
        free(part);
        free(whole);
        free(found);
        rig_close(&r);
    }
    unsetenv("TOMOPROF_CUDA_FILTER");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_kernel_gives_what_cufft_gives),
        cmocka_unit_test(how_long_rows_may_be_is_the_cards),
        cmocka_unit_test(tables_follow_the_length_of_rows),
        cmocka_unit_test(slabs_of_rows_have_the_bits_of_the_whole),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
