/* Arrays larger than the device pass through it in slabs: the same results as with all of them on
 * it, in the memory that was planned, in any order of the streams' work. */
#include <stdio.h>

#include "base/memory.h"
#include "tests/device/problem.h"
#include "tests/device/shim/shim.h"

/* Kernels give a slice of a parallel beam, a voxel's neighbours and a view the same bits wherever
 * its slab begins; with fewer views at a time sums are rounded in another order, as they are where
 * a cone's float32 positions count from another slice, and where rows are filtered in other pairs.
 */
static double limit_of(const struct problem *p, int op, const struct out_of_core_plan *l)
{
    const struct scan *s = &p->model.scan;
    if (op == MEDIAN)
        return 0;
    if (op == FILTER)
        return l->thickness % 2 && l->results > 1 ? 1e-6 : 0;
    if (s->beam == BEAM_CONE)
        return 1e-6;
    return op == FORWARD || l->views == s->views ? 0 : 1e-6;
}

struct tally {
    struct worst error, margin;
    int64_t thin, single, whole;
};

static void check_room(const struct problem *p, int op, size_t room, unsigned seed,
                       const float *expected, struct tally *t)
{
    char where[80];
    const int64_t n = output_length(p, op);
    struct out_of_core_plan l;
    struct backend *be = device(room);
    float *found = floats(n);
    double *wide = widen(expected, n);
    assert_ok(plan_large(be, p, op, room, &l));
    snprintf(where, sizeof where, "%s of %s: %lld pieces of %lld, %lld views", op_names[op],
             p->name, (long long)l.pieces, (long long)l.thickness, (long long)l.views);
    shim_streams(seed);
    shim_reset_peaks();
    if (run_large(be, p, op, found))
        fail_msg("%s: %s", where, err_text());
    const double limit = limit_of(p, op, &l), error = relative_l2(found, wide, n);
    if (!(error <= limit))
        fail_msg("%s: %.3g from the result in one piece, the limit is %.3g", where, error, limit);
    worst_note(&t->error, where, error);
    const double peak = (double)shim_counts().peak;
    if (peak > (double)l.bytes || l.bytes > room)
        fail_msg("%s: %.0f bytes held, %zu planned, %zu available", where, peak, l.bytes, room);
    worst_note(&t->margin, where, ((double)l.bytes - peak) / (double)l.bytes);
    t->thin += l.thickness == 1 && l.results > 1;
    t->single += l.depth == 1;
    t->whole += l.pieces == 1;
    shim_streams(0);
    free(found);
    free(wide);
    backend_close(be);
    assert_int_equal(shim_counts().live, 0);
}

static void results_in_slabs_equal_those_in_one_piece(void **state)
{
    (void)state;
    struct tally t = {.error = {.what = "slabs against one piece", .limit = 1e-6},
                      .margin = {.what = "memory planned and not used", .limit = 0}};
    for (int i = 0; i < case_count; i++) {
        struct problem p;
        problem_open(&cases[i], &p);
        for (int op = 0; op < OPS; op++) {
            float *expected = resident(&p, op);
            const size_t least = least_room(&p, op), thirds = (size_t)((i + op) % 3);
            check_room(&p, op, least + thirds * least / 3, 7919u * (unsigned)thirds, expected, &t);
            free(expected);
        }
        problem_close(&p);
    }
    worst_check(&t.error);
    worst_check(&t.margin);
    print_message("one slice at a time: %lld, without overlap: %lld, in one piece: %lld\n",
                  (long long)t.thin, (long long)t.single, (long long)t.whole);
    assert_true(t.thin > 50 && t.single > 50 && t.whole > 10);
}

/* Makes the case `name` with room for two buffers and several pieces of an operation on it. */
static size_t some_pieces(const char *name, int op, struct problem *p)
{
    struct out_of_core_plan l = {0};
    for (int i = 0; i < case_count; i++)
        if (!strcmp(cases[i].name, name))
            problem_open(&cases[i], p);
    size_t room = least_room(p, op);
    struct backend *be = device(0);
    for (; l.depth != 2 || l.views != p->model.scan.views; room += room / 8)
        assert_ok(plan_large(be, p, op, room, &l));
    assert_in_range(l.pieces, 4, 100);
    backend_close(be);
    return room - room / 9;
}

static const struct backend_streams *sound;
static enum stream_id broken; /* STREAM_COUNT: the waits of the host */

static enum err hold(struct backend *be, struct fence *f, enum stream_id stream)
{
    return stream == broken ? ERR_OK : sound->fence_hold(be, f, stream);
}

static enum err await(struct backend *be, struct fence *f)
{
    return broken == STREAM_COUNT ? ERR_OK : sound->fence_await(be, f);
}

/* 1: the result has other bits when `stream` waits for nobody. */
static int differs(const struct problem *p, size_t room, enum stream_id stream, unsigned seed,
                   const float *expected)
{
    struct backend *be = device(room);
    float *found = floats(output_length(p, BACK));
    struct backend_ops ops = *be->ops;
    struct backend_streams streams = *ops.streams;
    sound = be->ops->streams;
    broken = stream;
    streams.fence_hold = hold;
    streams.fence_await = await;
    ops.streams = &streams;
    be->ops = &ops;
    shim_streams(seed);
    assert_ok(run_large(be, p, BACK, found));
    shim_streams(0);
    const int other = memcmp(found, expected, (size_t)p->voxels * sizeof *found) != 0;
    free(found);
    backend_close(be);
    return other;
}

static void a_stream_that_does_not_wait_is_noticed(void **state)
{
    (void)state;
    struct problem p;
    const size_t room = some_pieces("par_37_slices", BACK, &p);
    float *expected = resident(&p, BACK);
    for (int stream = STREAM_COMPUTE; stream <= STREAM_COUNT; stream++) {
        int noticed = 0;
        for (unsigned seed = 0; seed < 40 && !noticed; seed++)
            noticed = differs(&p, room, (enum stream_id)stream, seed, expected);
        if (!noticed)
            fail_msg("stream %d can do without waiting", stream);
    }
    for (unsigned seed = 0; seed < 5; seed++) /* none is broken: the check sees no ghosts */
        assert_false(differs(&p, room, (enum stream_id)(STREAM_COUNT + 1), seed, expected));
    free(expected);
    problem_close(&p);
}

static void copies_have_work_while_the_device_computes(void **state)
{
    (void)state;
    struct problem p;
    const size_t room = some_pieces("cone_37_slices", DIRECT, &p);
    struct backend *be = device(room);
    float *found = floats(p.voxels);
    shim_reset_peaks();
    assert_ok(run_large(be, &p, DIRECT, found));
    assert_int_equal(shim_counts().busy_streams, 3);
    free(found);
    backend_close(be);
    problem_close(&p);
}

/* Fails at the 1st, 2nd, ... until the run ends well; returns how many did not. */
static int64_t sweep(const struct problem *p, size_t room, int64_t *counter, enum err expected,
                     const char *words, int64_t step)
{
    float *found = floats(p->voxels);
    const size_t held = mem_held();
    for (int64_t n = 1;; n += step) {
        struct backend *be = device(room);
        *counter = n;
        const enum err e = run_large(be, p, DIRECT, found);
        const int reached = *counter == 0;
        shim_faults = (struct shim_faults){0};
        if (reached && (e != expected || !strstr(err_text(), words)))
            fail_msg("failure %lld: %s (%s), expected %s (%s)", (long long)n, err_name(e),
                     err_text(), err_name(expected), words);
        assert_true(reached || e == ERR_OK);
        backend_close(be);
        assert_int_equal(shim_counts().live, 0);
        assert_int_equal(mem_held(), held);
        if (!reached) {
            free(found);
            return n - 1;
        }
    }
}

/* No --device-memory: the card itself is too small, and a part of it is its driver's. */
static void a_small_card_keeps_some_memory_for_its_driver(void **state)
{
    (void)state;
    struct problem p;
    const size_t before = shim_memory;
    size_t room = some_pieces("cone_37_slices", BACK, &p);
    struct out_of_core_plan l = {0};
    struct backend *be = device(0);
    /* A card of which a plan would take what the driver is left. */
    for (; l.bytes <= room - room / 32; room += 256)
        assert_ok(plan_large(be, &p, BACK, room, &l));
    room -= 256;
    backend_close(be);
    float *expected = resident(&p, BACK), *found = floats(p.voxels);
    double *wide = widen(expected, p.voxels);
    shim_memory = room;
    shim_reset_peaks();
    be = device(0);
    assert_ok(run_large(be, &p, BACK, found));
    assert_true(relative_l2(found, wide, p.voxels) <= 1e-6);
    assert_in_range(shim_counts().peak, room / 2, room - room / 32);
    backend_close(be);
    shim_memory = before;
    free(expected);
    free(found);
    free(wide);
    problem_close(&p);
}

/* Every call of the runtime, alone or with all that follow. */
static void every_call_among_slabs_ends_in_a_sentence(void **state)
{
    (void)state;
    struct problem p;
    const size_t room = some_pieces("par_37_slices", BACK, &p);
    float *found = floats(p.voxels);
    for (int64_t n = 1, reached = 1; reached; n += 7) {
        struct backend *be = device(room);
        shim_faults = (struct shim_faults){.call = n, .sticky = (int)(n % 2)};
        const enum err e = run_large(be, &p, BACK, found);
        reached = shim_faults.call == 0;
        const int sticky = shim_faults.sticky, passes = reached && may_pass(shim_counts().failed);
        const int said = e && strstr(err_text(), "the GPU failed while") != NULL;
        shim_faults = (struct shim_faults){0};
        if (reached ? !(e ? said && (sticky || !passes) : passes) : e)
            fail_msg("%s, call %lld: %s (%s)", shim_counts().failed, (long long)n, err_name(e),
                     err_text());
        backend_close(be);
        assert_int_equal(shim_counts().live, 0);
    }
    free(found);
    problem_close(&p);
}

static void every_failure_among_slabs_ends_in_a_sentence(void **state)
{
    (void)state;
    struct problem p;
    const size_t room = some_pieces("cone_37_slices", DIRECT, &p);
    assert_true(sweep(&p, room, &shim_faults.allocation, ERR_MEMORY, "of GPU memory", 1) > 5);
    assert_true(
        sweep(&p, room, &shim_faults.launch, ERR_FAILED, "the GPU failed while starting", 5) > 10);
    assert_true(sweep(&p, room, &shim_faults.lost, ERR_FAILED, "the GPU was lost while", 1) > 8);
    problem_close(&p);
}

/* Each of the pieces of memory, and all of them: the result has the same bits. */
static void memory_that_cannot_be_pinned_is_copied_all_the_same(void **state)
{
    (void)state;
    struct problem p;
    const size_t room = some_pieces("par_37_slices", BACK, &p);
    float *expected = resident(&p, BACK), *found = floats(p.voxels);
    for (int64_t n = 1; n <= 5; n++) {
        struct backend *be = device(room);
        shim_faults = (struct shim_faults){.pin = n <= 4 ? n : 1, .pin_all = n == 5};
        assert_ok(run_large(be, &p, BACK, found));
        assert_int_equal(shim_faults.pin, 0);
        shim_faults = (struct shim_faults){0};
        assert_memory_equal(found, expected, (size_t)p.voxels * sizeof *found);
        backend_close(be);
        assert_int_equal(shim_counts().live, 0);
    }
    free(expected);
    free(found);
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_in_slabs_equal_those_in_one_piece),
        cmocka_unit_test(a_stream_that_does_not_wait_is_noticed),
        cmocka_unit_test(copies_have_work_while_the_device_computes),
        cmocka_unit_test(every_failure_among_slabs_ends_in_a_sentence),
        cmocka_unit_test(memory_that_cannot_be_pinned_is_copied_all_the_same),
        cmocka_unit_test(a_small_card_keeps_some_memory_for_its_driver),
        cmocka_unit_test(every_call_among_slabs_ends_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
