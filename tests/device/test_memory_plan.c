/* The memory that fits into a device is known before anything is allocated. */
#include "tests/device/problem.h"
#include "tests/device/shim/shim.h"

static enum err place(const struct problem *p, enum recon_op op, int has_input, size_t arrays,
                      size_t room, int *large)
{
    struct backend *be = device(room);
    const enum err e = recon_place(be, op, &p->model, has_input, arrays, large);
    backend_close(be);
    return e;
}

/* The least memory of a card that takes the arrays whole. */
static size_t least_card(const struct problem *p, enum recon_op op, int has_input, size_t arrays)
{
    size_t fails = 0, fits = (size_t)1 << 27;
    while (fits - fails > 1) {
        const size_t middle = fails + (fits - fails) / 2;
        int large = 1;
        if (place(p, op, has_input, arrays, middle, &large) || large)
            fails = middle;
        else
            fits = middle;
    }
    return fits;
}

/* A card of that size takes the operation whole, and the operation takes all of the card; sums of
 * a fingerprint are counted for the larger of its two arrays. */
static void what_is_said_to_fit_does(void **state)
{
    (void)state;
    struct worst margin = {.what = "memory counted and not used", .limit = .02};
    for (int i = 0; i < case_count; i += 3) {
        struct problem p;
        problem_open(&cases[i], &p);
        for (int op = 0; op < OPS; op++) {
            const int64_t in = input_length(&p, op), n = output_length(&p, op);
            const size_t card =
                least_card(&p, ops_of[op], in > 0, (size_t)(in + n) * sizeof(float));
            struct backend *be = device(card);
            float *found = floats(n);
            shim_reset_peaks();
            assert_ok(run_resident(be, &p, op, found));
            worst_note(&margin, p.name, ((double)card - (double)shim_counts().peak) / (double)card);
            free(found);
            backend_close(be);
        }
        problem_close(&p);
    }
    worst_check(&margin);
}

static enum err run_mbir(struct backend *be, const struct problem *p)
{
    struct buffer y = {0}, x = {0};
    struct mbir_report report = {0};
    const struct mbir_options o = {.max_iterations = 4};
    enum err e = be->ops->upload(be, p->y, (size_t)p->samples * sizeof(float), &y);
    if (!e)
        e = be->ops->alloc(be, "volume", (size_t)p->voxels * sizeof(float), &x);
    if (!e)
        e = mbir_recon(be, &p->model, &y, &o, &x, &report);
    mbir_report_free(&report);
    be->ops->release(be, &y);
    be->ops->release(be, &x);
    return e;
}

/* Parallel beams go on in groups of slices on a smaller card. */
static void mbir_fits_or_it_is_known_before_it_begins(void **state)
{
    (void)state;
    static const char *const names[] = {"par_offset", "cone_offsets"};
    for (int i = 0; i < 2 * case_count; i++) {
        struct problem p;
        int large;
        if (strcmp(cases[i / 2].name, names[i % 2]) != 0)
            continue;
        problem_open(&cases[i / 2], &p);
        const size_t arrays =
            (size_t)(p.voxels + p.samples) * sizeof(float) + mbir_scratch_bytes(&p.model);
        const size_t card = least_card(&p, RECON_MBIR, 1, arrays);
        struct backend *be = device(card);
        assert_ok(run_mbir(be, &p));
        backend_close(be);
        if (p.model.scan.beam == BEAM_CONE) {
            assert_error(place(&p, RECON_MBIR, 1, arrays, card - 1, &large), ERR_MEMORY,
                         "available (limited by `device_memory`): every subset of cone beams");
        } else {
            assert_ok(place(&p, RECON_MBIR, 1, arrays, card - 1, &large));
            assert_int_equal(large, 1);
            assert_error(place(&p, RECON_MBIR, 1, arrays, 4096, &large), ERR_MEMORY,
                         "mbir_recon of one slice at a time needs");
        }
        problem_close(&p);
    }
}

static void too_small_a_card_is_refused_with_both_numbers(void **state)
{
    (void)state;
    struct problem p;
    int large;
    problem_open(&cases[0], &p);
    const int64_t before = shim_counts().allocations;
    assert_error(place(&p, RECON_BACK, 1, (size_t)1 << 20, 2048, &large), ERR_MEMORY,
                 "the thinnest slab of back projection needs");
    assert_non_null(strstr(err_text(), "of GPU memory, 2.0 KiB available (limited by "
                                       "`device_memory`): use `backend=cpu`"));
    assert_int_equal(shim_counts().allocations, before);
    problem_close(&p);
}

/* Nothing of that size is allocated: 32 GiB of volume, 16 GiB of sinogram, a card of 12 GiB. */
static void large_problems_are_planned(void **state)
{
    (void)state;
    struct backend *be = device(0);
    const struct test_case beams[] = {
        {"parallel 2048", .beam = BEAM_PARALLEL, .views = 1024, .rows = 2048, .channels = 2048},
        {"cone 2048", .beam = BEAM_CONE, .views = 1024, .rows = 2048, .channels = 2048,
         .source_detector = 8192, .source_iso = 4096, .delta = 1, .shape = {2048, 2048, 2048}}};
    for (int i = 0; i < 2; i++) {
        struct problem p = {.name = beams[i].name};
        float one;
        assert_ok(case_model(&beams[i], &p.model));
        p.x = p.y = &one;
        for (int op = 0; op < OPS; op++) {
            struct out_of_core_plan l;
            assert_ok(plan_large(be, &p, op, (size_t)12 << 30, &l));
            print_message("%s of %s: %lld pieces of %lld, %lld views, %.1f GiB\n", op_names[op],
                          p.name, (long long)l.pieces, (long long)l.thickness, (long long)l.views,
                          (double)l.bytes / 0x1p30);
            assert_int_equal(l.depth, 2);
            assert_in_range(l.pieces, 2, 200);
            assert_in_range(l.bytes, (size_t)5 << 30, (size_t)12 << 30);
        }
        ct_model_free(&p.model);
    }
    backend_close(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_to_fit_does),
        cmocka_unit_test(mbir_fits_or_it_is_known_before_it_begins),
        cmocka_unit_test(large_problems_are_planned),
        cmocka_unit_test(too_small_a_card_is_refused_with_both_numbers),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
