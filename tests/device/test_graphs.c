/* Passes of VCD on the device: the bits of the pieces that the host would call, with graphs and
 * without; graphs are recorded anew for other arguments, refused without harm, and leave nothing;
 * sorted lists are kept, and give way. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/geom/ct_model.h"
#include "host/recon/partition.h"
#include "host/recon/recon.h"
#include "tests/device/shim/shim.h"
#include "tests/operators/harness.h"

#define SUBSETS    5 /* of one pass */
#define ITERATIONS 5 /* partitions of 4, 16, 64, 128, 128 subsets */

static const struct test_case parallel = {"parallel", .views = 7, .rows = 6, .channels = 17};
static const struct test_case cone = {"cone",          .beam = BEAM_CONE, .views = 6,
                                      .rows = 7,       .channels = 16,    .source_detector = 60,
                                      .source_iso = 30};

enum how { PIECES, PLAIN, GRAPHS };

struct wish {
    const struct test_case *geometry;
    int weighted, positivity;
    double sigma_x;
    size_t memory; /* --device-memory */
};

static void open_rig(struct rig *r, const struct wish *wish, enum how how)
{
    static struct backend_ops pieces;
    const struct backend_options options = {.device_memory = wish->memory};
    memset(r, 0, sizeof *r);
    setenv("TOMOPROF_CUDA_GRAPHS", how == GRAPHS ? "1" : "0", 1);
    assert_ok(case_model(wish->geometry, &r->model));
    r->samples = scan_samples(&r->model.scan);
    r->voxels = volume_voxels(&r->model.volume);
    r->model.regularisation.automatic = 0;
    assert_ok(backend_open("cuda", &options, &r->be));
    if (how == PIECES) {
        pieces = *r->be->ops;
        pieces.vcd_iteration = NULL;
        r->be->ops = &pieces;
    }
}

static void close_rig(struct rig *r)
{
    backend_close(r->be);
    ct_model_free(&r->model);
    assert_int_equal(shim_counts().live, 0);
}

/* `work`: declared by all iterations. The volume is malloc'ed; NULL when it fails with *e. */
static float *reconstruct(struct rig *r, const struct wish *wish, enum err *e, struct work *work)
{
    float *host = random_floats(5, .5, 1.5, r->samples), *blank = floats(r->voxels);
    struct buffer y = rig_push(r, host, r->samples), w = rig_push(r, host, r->samples);
    struct buffer x = rig_push(r, blank, r->voxels);
    const struct mbir_options o = {
        .max_iterations = ITERATIONS, .seed = 3, .weights = wish->weighted ? &w : NULL};
    struct mbir_report report;
    r->model.regularisation.sigma_x = wish->sigma_x;
    r->model.regularisation.positivity = wish->positivity;
    backend_take_work(r->be);
    *e = mbir_recon(r->be, &r->model, &y, &o, &x, &report);
    *work = backend_take_work(r->be);
    mbir_report_free(&report);
    r->be->ops->release(r->be, &y);
    r->be->ops->release(r->be, &w);
    free(host);
    free(blank);
    if (*e == ERR_OK)
        return rig_pull(r, &x, r->voxels);
    r->be->ops->release(r->be, &x);
    return NULL;
}

static float *reconstruct_with(const struct wish *wish, enum how how, struct work *work)
{
    struct rig r;
    enum err e;
    open_rig(&r, wish, how);
    float *x = reconstruct(&r, wish, &e, work);
    assert_ok(e);
    close_rig(&r);
    return x;
}

static void assert_same(const float *a, const float *b, const struct wish *wish)
{
    struct ct_model m;
    assert_ok(case_model(wish->geometry, &m));
    const int64_t n = volume_voxels(&m.volume);
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a))
            fail_msg("%s: voxel %lld is %.9g and %.9g", wish->geometry->name, (long long)i,
                     (double)a[i], (double)b[i]);
    ct_model_free(&m);
}

static const struct wish wishes[] = {{&parallel, 0, 1, .1, 0}, {&cone, 1, 0, .5, 0}};
#define WISHES (int)(sizeof wishes / sizeof *wishes)

/* Three roads to the same bits, and the declared work of each. */
static void graphs_launches_and_pieces_agree(void **state)
{
    (void)state;
    for (int i = 0; i < WISHES; i++) {
        struct work work[3];
        float *x[3];
        for (int how = PIECES; how <= GRAPHS; how++) {
            const struct shim_counts before = shim_counts();
            x[how] = reconstruct_with(&wishes[i], (enum how)how, &work[how]);
            const struct shim_counts after = shim_counts();
            /* The first subset of each iteration is no graph. */
            const int64_t graphs = how == GRAPHS ? 3 + 15 + 63 + 127 + 127 : 0;
            assert_int_equal(after.graphs - before.graphs, graphs);
            /* Even and odd turns of four lengths of subsets. */
            assert_int_equal(after.recordings - before.recordings, graphs ? 8 : 0);
            /* Cone beams without positivity project each step once, pieces twice. */
            const int once = how != PIECES && wishes[i].geometry == &cone && !wishes[i].positivity;
            const double flops = work[how].flops / work[0].flops;
            if (once ? flops < .5 || flops > .97 : fabs(flops - 1) > 1e-12)
                fail_msg("%s: %.6f of the work of its pieces", wishes[i].geometry->name, flops);
            if (!once)
                assert_near(work[how].bytes_min / work[0].bytes_min, 1, 1e-12);
        }
        assert_same(x[PIECES], x[PLAIN], &wishes[i]);
        assert_same(x[PIECES], x[GRAPHS], &wishes[i]);
        for (int how = PIECES; how <= GRAPHS; how++)
            free(x[how]);
    }
}

/* A pass over buffers that stay where they are. */
struct pass {
    struct rig r;
    struct partition part;
    struct buffer x, e, w, first_x, first_e, hessian, g, h, d[2];
    int32_t order[SUBSETS];
};

static void open_pass(struct pass *p, const struct wish *wish, enum how how)
{
    struct rng rng;
    int32_t *pixels;
    int64_t count;
    open_rig(&p->r, wish, how);
    struct rig *r = &p->r;
    const struct volume *v = &r->model.volume;
    assert_ok(r->be->ops->projector_create(r->be, &r->model.scan, v, &r->projector));
    assert_ok(volume_pixels_inside(v, &pixels, &count));
    rng_seed(&rng, 1);
    assert_ok(partition_create(pixels, count, SUBSETS, &rng, &p->part));
    free(pixels);
    float *some = random_floats(7, .5, 1.5, r->voxels + r->samples);
    struct buffer *const volumes[] = {&p->x, &p->first_x, &p->hessian, &p->g,
                                      &p->h, &p->d[0],    &p->d[1]};
    struct buffer *const sinograms[] = {&p->e, &p->first_e, &p->w};
    for (int i = 0; i < 7; i++)
        *volumes[i] = rig_push(r, some, r->voxels);
    for (int i = 0; i < 3; i++)
        *sinograms[i] = rig_push(r, some, r->samples);
    free(some);
    for (int i = 0; i < SUBSETS; i++)
        p->order[i] = (i * 2 + 1) % SUBSETS;
}

static void close_pass(struct pass *p)
{
    struct backend *be = p->r.be;
    struct buffer *const all[] = {&p->x, &p->first_x, &p->e,    &p->first_e, &p->w,
                                  &p->g, &p->h,       &p->d[0], &p->d[1],    &p->hessian};
    for (int i = 0; i < 10; i++)
        be->ops->release(be, all[i]);
    be->ops->projector_free(be, p->r.projector);
    partition_free(&p->part);
    close_rig(&p->r);
}

static enum err sweep(struct pass *p, const struct wish *wish, struct vcd_totals *totals)
{
    struct backend *be = p->r.be;
    struct regularisation r = p->r.model.regularisation;
    const struct prior prior = {&r, NULL};
    const struct vcd_iteration s = {.volume = &p->r.model.volume,
                                    .prior = &prior,
                                    .indices = p->part.indices,
                                    .order = p->order,
                                    .length = p->part.length,
                                    .subsets = SUBSETS,
                                    .hessian = &p->hessian,
                                    .weights = wish->weighted ? &p->w : NULL,
                                    .x = &p->x,
                                    .error = &p->e,
                                    .gP = &p->g,
                                    .hP = &p->h,
                                    .dP = {&p->d[0], &p->d[1]}};
    r.sigma_x = wish->sigma_x;
    r.positivity = wish->positivity;
    assert_ok(be->ops->copy(be, &p->first_x, &p->x));
    assert_ok(be->ops->copy(be, &p->first_e, &p->e));
    return be->ops->vcd_iteration(be, p->r.projector, &s, totals);
}

/* The volume after a pass, malloc'ed. */
static float *swept(struct pass *p, const struct wish *wish)
{
    struct vcd_totals totals;
    float *x = floats(p->r.voxels);
    assert_ok(sweep(p, wish, &totals));
    assert_true(totals.moved > 0 && totals.alpha > 0);
    assert_ok(p->r.be->ops->download(p->r.be, &p->x, x, (size_t)p->r.voxels * sizeof *x));
    return x;
}

/* Buffers where they were, but another prior, other signs, no weights. */
static void no_graph_outlives_its_arguments(void **state)
{
    (void)state;
    static const struct wish turns[] = {{&parallel, 1, 0, .5, 0}, {&parallel, 1, 0, .1, 0},
                                        {&parallel, 1, 1, .1, 0}, {&parallel, 0, 1, .1, 0},
                                        {&parallel, 1, 0, .5, 0}, {&parallel, 1, 0, .1, 0}};
    struct pass plain, graphs;
    float *x[6];
    open_pass(&plain, &turns[0], PLAIN);
    for (int i = 0; i < 6; i++)
        x[i] = swept(&plain, &turns[i]);
    close_pass(&plain);
    open_pass(&graphs, &turns[0], GRAPHS);
    const int64_t before = shim_counts().recordings;
    for (int i = 0; i < 6; i++) {
        float *again = swept(&graphs, &turns[i]);
        assert_same(x[i], again, &turns[i]);
        free(x[i]);
        free(again);
        /* The first four are kept. */
        assert_int_equal(shim_counts().recordings - before, 2 * (i < 4 ? i + 1 : 4));
    }
    close_pass(&graphs);
}

/* Scratch that grows for another call moves what the graphs write to. */
static void graphs_follow_their_scratch(void **state)
{
    (void)state;
    struct pass p;
    open_pass(&p, &wishes[0], GRAPHS);
    float *first = swept(&p, &wishes[0]);
    const int64_t recordings = shim_counts().recordings;
    struct buffer large = {0};
    double sum, l2, min, max;
    assert_ok(p.r.be->ops->alloc(p.r.be, "large", (size_t)32 << 20, &large));
    assert_ok(p.r.be->ops->zero(p.r.be, &large));
    assert_ok(p.r.be->ops->fingerprint(p.r.be, &large, &sum, &l2, &min, &max));
    p.r.be->ops->release(p.r.be, &large);
    float *second = swept(&p, &wishes[0]);
    assert_same(first, second, &wishes[0]);
    assert_int_equal(shim_counts().recordings, recordings + 2);
    free(first);
    free(second);
    close_pass(&p);
}

/* However many subsets: one wait, and two sums to the host. */
static void a_pass_waits_once(void **state)
{
    (void)state;
    struct pass p;
    struct vcd_totals totals;
    open_pass(&p, &wishes[0], GRAPHS);
    for (int i = 0; i < 2; i++) {
        const struct shim_counts before = shim_counts();
        assert_ok(sweep(&p, &wishes[0], &totals));
        const struct shim_counts after = shim_counts();
        assert_int_equal(after.waits - before.waits, 1);
        assert_int_equal(after.to_host - before.to_host, 2 * sizeof(double));
    }
    close_pass(&p);
}

/* A turn: begin, prior, update, back projection, direction, sums, step, add, with positivity and
 * without. A pass: a start before them, the last sum and the last update behind. */
static void a_turn_is_eight_launches(void **state)
{
    (void)state;
    static const struct wish turns[] = {
        {&parallel, 1, 0, .5, 0}, {&parallel, 1, 1, .1, 0}, {&cone, 1, 0, .5, 0}};
    for (int i = 0; i < 3; i++) {
        struct pass p;
        struct vcd_totals totals;
        open_pass(&p, &turns[i], PLAIN);
        assert_ok(sweep(&p, &turns[i], &totals)); /* sorts the lists */
        const int64_t before = shim_counts().launches;
        assert_ok(sweep(&p, &turns[i], &totals));
        assert_int_equal(shim_counts().launches - before, 1 + 8 * SUBSETS + 2);
        close_pass(&p);
    }
}

/* Sorted once for all passes; again when the lists had to give way to an array. */
static void sorted_lists_are_kept_while_there_is_room(void **state)
{
    (void)state;
    const struct wish wish = {&parallel, 1, 0, .5, (size_t)80 << 20};
    struct pass p;
    struct buffer large;
    size_t bytes = (size_t)80 << 20;
    open_pass(&p, &wish, GRAPHS);
    const int64_t start = shim_runs_of("segment_kernel");
    float *first = swept(&p, &wish), *second = swept(&p, &wish);
    const int64_t sorts = shim_runs_of("segment_kernel") - start;
    assert_int_equal(sorts, 2 * SUBSETS); /* counting and placing; all views at once */
    /* More than the lists leave: they go. */
    while (p.r.be->ops->alloc(p.r.be, "large", bytes, &large))
        bytes -= 4096;
    float *third = swept(&p, &wish);
    assert_int_equal(shim_runs_of("segment_kernel") - start, sorts + 2 * (2 * SUBSETS));
    p.r.be->ops->release(p.r.be, &large);
    float *fourth = swept(&p, &wish);
    assert_int_equal(shim_runs_of("segment_kernel") - start, sorts + 6 * SUBSETS);
    assert_same(first, second, &wish);
    assert_same(first, third, &wish);
    assert_same(first, fourth, &wish);
    free(first);
    free(second);
    free(third);
    free(fourth);
    close_pass(&p);
}

/* Less memory than all of it takes: the same bits down to some amount, and a refusal below. */
static void any_amount_of_memory_gives_the_bits_or_a_refusal(void **state)
{
    (void)state;
    struct wish wish = {&parallel, 1, 0, .5, 0};
    struct pass p;
    struct vcd_totals totals;
    int64_t refused = 0, done = 0, step;
    shim_reset_peaks();
    open_pass(&p, &wish, PLAIN);
    const int64_t least = shim_counts().peak;
    float *expected = swept(&p, &wish);
    const int64_t most = shim_counts().peak;
    close_pass(&p);
    step = (2 * (most - least)) / 32 + 1;
    for (int64_t limit = least; limit <= 2 * most - least; limit += step) {
        wish.memory = (size_t)limit;
        open_pass(&p, &wish, PLAIN);
        if (sweep(&p, &wish, &totals) == ERR_OK) {
            float *x = swept(&p, &wish);
            assert_same(expected, x, &wish);
            free(x);
            done++;
        } else {
            assert_non_null(strstr(err_text(), "of GPU memory"));
            assert_int_equal(done, 0); /* what less memory was enough for */
            refused++;
        }
        close_pass(&p);
    }
    assert_true(refused > 0 && done > 8);
    free(expected);
}

/* The n-th recording, launch in a recording, or instantiation fails: the same bits. */
static void a_refused_graph_changes_nothing(void **state)
{
    (void)state;
    struct pass p;
    open_pass(&p, &wishes[1], PLAIN);
    float *expected = swept(&p, &wishes[1]);
    close_pass(&p);
    int64_t *const faults[] = {&shim_faults.capture, &shim_faults.recorded,
                               &shim_faults.instantiate};
    for (int f = 0; f < 3; f++)
        for (int64_t n = 1;; n++) {
            const int64_t before = shim_counts().graphs;
            open_pass(&p, &wishes[1], GRAPHS);
            *faults[f] = n;
            float *x = swept(&p, &wishes[1]);
            const int reached = *faults[f] == 0;
            shim_faults = (struct shim_faults){0};
            const int64_t graphs = shim_counts().graphs - before;
            assert_same(expected, x, &wishes[1]);
            free(x);
            close_pass(&p);
            /* The turn goes without a graph, and the next of its kind tries again. */
            if (!reached) {
                assert_int_equal(graphs, SUBSETS - 1);
                assert_true(n > 2);
                break;
            }
            assert_int_equal(graphs, SUBSETS - 2);
        }
    free(expected);
}

/* Kernels cannot be loaded while a stream records: the first turn without a graph loads them. */
static void drivers_that_load_late_still_get_graphs(void **state)
{
    (void)state;
    struct pass p;
    int status;
    const pid_t child = fork(); /* that has loaded none */
    assert_true(child >= 0);
    if (child == 0) {
        shim_new_process();
        shim_faults.lazy = 1;
        open_pass(&p, &wishes[1], GRAPHS);
        struct ceiling ceilings[CEILINGS_MOST];
        int count;
        assert_ok(p.r.be->ops->measure_ceilings(p.r.be, ceilings, &count));
        const int64_t before = shim_counts().graphs;
        free(swept(&p, &wishes[1]));
        _exit(shim_counts().graphs - before == SUBSETS - 2 ? 0 : 3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Two in a row: no more are tried, in this pass or later ones. */
static void a_driver_without_graphs_is_asked_twice(void **state)
{
    (void)state;
    struct pass p;
    open_pass(&p, &wishes[0], GRAPHS);
    const struct shim_counts before = shim_counts();
    shim_faults.no_graphs = 1;
    for (int i = 0; i < 2; i++)
        free(swept(&p, &wishes[0]));
    shim_faults = (struct shim_faults){0};
    assert_int_equal(shim_counts().graphs, before.graphs);
    assert_int_equal(shim_counts().recordings - before.recordings, 2);
    close_pass(&p);
}

static void a_graph_that_does_not_start_ends_in_a_sentence(void **state)
{
    (void)state;
    for (int64_t n = 1; n < SUBSETS; n++) {
        struct pass p;
        struct vcd_totals totals;
        open_pass(&p, &wishes[0], GRAPHS);
        shim_faults.graph_launch = n;
        assert_error(sweep(&p, &wishes[0], &totals), ERR_FAILED,
                     "the GPU failed while starting a graph");
        close_pass(&p);
    }
}

/* The emulator's own check. */
static int ends(int living)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); /* cmocka catches it */
        if (!freopen("/dev/null", "w", stderr))
            _exit(3);
        shim_new_process();
        _exit(shim_graph_of(living) == 3 * 64 - 1 ? 0 : 4);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_graph_with_freed_memory_is_seen(void **state)
{
    (void)state;
    assert_int_equal(ends(1), 0);
    const int status = ends(0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drivers_that_load_late_still_get_graphs), /* before any kernel ran */
        cmocka_unit_test(a_driver_without_graphs_is_asked_twice),
        cmocka_unit_test(graphs_launches_and_pieces_agree),
        cmocka_unit_test(no_graph_outlives_its_arguments),
        cmocka_unit_test(graphs_follow_their_scratch),
        cmocka_unit_test(a_pass_waits_once),
        cmocka_unit_test(a_turn_is_eight_launches),
        cmocka_unit_test(sorted_lists_are_kept_while_there_is_room),
        cmocka_unit_test(any_amount_of_memory_gives_the_bits_or_a_refusal),
        cmocka_unit_test(a_refused_graph_changes_nothing),
        cmocka_unit_test(a_graph_that_does_not_start_ends_in_a_sentence),
        cmocka_unit_test(a_graph_with_freed_memory_is_seen),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
