/* Ranges on a profiler's timeline: nested as docs/internals/cuda.md says, with payloads, and closed
 * again whatever fails. The linker leads mark_push and mark_pop here (CMakeLists.txt). */
#include <stdio.h>
#include <string.h>

#include "host/recon/recon.h"
#include "base/mark/mark.h"
#include "tests/device/problem.h"
#include "tests/device/shim/shim.h"

#define DEEPEST 16

static struct {
    const char *names[DEEPEST];
    int depth;
    int64_t iterations, launches, empty; /* ranges; launches of no block */
    char under[200];                     /* the ranges around the last launch of `wanted` */
    const char *wanted;
} seen;

void __wrap_mark_push(const char *name, uint64_t payload);
void __wrap_mark_pop(void);

void __wrap_mark_push(const char *name, uint64_t payload)
{
    const size_t length = strlen(name);
    const int launch = (length > 7 && !strcmp(name + length - 7, "_kernel")) ||
                       !strcmp(name, "forward_projection") || !strcmp(name, "back_projection");
    assert_in_range(seen.depth, 0, DEEPEST - 1);
    seen.launches += launch;
    seen.empty += launch && payload == 0;
    if (!strcmp(name, "iteration"))
        assert_int_equal(payload, ++seen.iterations);
    seen.names[seen.depth++] = name;
    if (!seen.wanted || strcmp(name, seen.wanted) != 0)
        return;
    seen.under[0] = 0;
    for (int i = 0; i < seen.depth; i++)
        snprintf(seen.under + strlen(seen.under), sizeof seen.under - strlen(seen.under), "%s%s",
                 i ? " > " : "", seen.names[i]);
}

void __wrap_mark_pop(void)
{
    assert_in_range(seen.depth, 1, DEEPEST);
    seen.depth--;
}

static const struct test_case tiny = {"tiny",          .beam = BEAM_CONE, .views = 4,
                                      .rows = 5,       .channels = 6,     .source_detector = 24,
                                      .source_iso = 12};

static enum err reconstruct(const struct problem *p)
{
    struct backend *be = device(0);
    struct buffer y = {0}, x = {0};
    struct mbir_report report = {0};
    const struct mbir_options o = {.max_iterations = 2};
    enum err e = be->ops->upload(be, p->y, (size_t)p->samples * sizeof(float), &y);
    if (!e)
        e = be->ops->alloc(be, "volume", (size_t)p->voxels * sizeof(float), &x);
    if (!e)
        e = mbir_recon(be, &p->model, &y, &o, &x, &report);
    mbir_report_free(&report);
    be->ops->release(be, &y);
    be->ops->release(be, &x);
    backend_close(be);
    return e;
}

static void launches_lie_in_phases_of_iterations(void **state)
{
    (void)state;
    static const struct {
        const char *launch, *under;
    } rows[] = {
        {"qggmrf_kernel", "iteration > sweep > subset > prior > qggmrf_kernel"},
        {"back_projection",
         "iteration > sweep > subset > sinogram update and back projection > back_projection"},
        {"step_kernel", "iteration > sweep > subset > step > step_kernel"},
        {"forward_projection",
         "iteration > sweep > subset > forward projection and sums > forward_projection"},
        {"subtract_kernel", "iteration > sweep > sinogram update > subtract_kernel"},
    };
    struct problem p;
    problem_open(&tiny, &p);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(&seen, 0, sizeof seen);
        seen.wanted = rows[i].launch;
        assert_ok(reconstruct(&p));
        assert_int_equal(seen.depth, 0);
        assert_int_equal(seen.iterations, 2);
        assert_true(seen.launches > 20);
        assert_int_equal(seen.empty, 0);
        if (!strstr(seen.under, rows[i].under))
            fail_msg("%s lies in %s", rows[i].launch, seen.under);
    }
    problem_close(&p);
}

static void ranges_are_closed_whatever_fails(void **state)
{
    (void)state;
    struct problem p;
    problem_open(&tiny, &p);
    for (int64_t n = 1, reached = 1; reached; n += 13) {
        memset(&seen, 0, sizeof seen);
        shim_faults.launch = n;
        const enum err e = reconstruct(&p);
        reached = shim_faults.launch == 0;
        shim_faults = (struct shim_faults){0};
        assert_int_equal(e, reached ? ERR_FAILED : ERR_OK);
        assert_int_equal(seen.depth, 0);
    }
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_lie_in_phases_of_iterations),
        cmocka_unit_test(ranges_are_closed_whatever_fails),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
