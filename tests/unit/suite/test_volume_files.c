/* links: tp_suite tp_cpu */
/* Operations on volumes in the suite: what is read of a file for a box, and a result that came too
 * fast to be one. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/cpu/cpu.h"
#include "host/store/engine/engine.h"
#include "host/store/format/nifti.h"
#include "host/suite/catalogue/volume.h"
#include "host/suite/statistics/stats.h"
#include "host/suite/statistics/targets.h"
#include "tests/unit/check.h"

#define FILE_NAME "test_volume_files.nii"

/* The engine reads of a file what a box needs, and no more than the gaps that join its reads. */
static void a_box_reads_only_its_part(void **state)
{
    (void)state;
    enum { N = 96 };
    static const double spacing[3] = {1, 1, 1};
    float *x = calloc((size_t)N * N * N, sizeof *x);
    struct store *s;
    struct store_array *a;
    struct engine_plan *p;
    assert_non_null(x);
    assert_ok(nifti_write(FILE_NAME, N, N, N, spacing, x));
    free(x);
    assert_ok(store_open(FILE_NAME, &s));
    assert_ok(store_find(s, NULL, &a));
    struct engine_box box = engine_all(a);
    box.start[2] = 40; /* slices */
    box.count[2] = 8;
    const struct engine_options o = {0};
    assert_ok(engine_plan(s, a, &box, &o, &p));
    const struct engine_facts *f = engine_facts(p);
    assert_int_equal(f->bytes_wanted, 4 * N * N * 8);
    assert_true(f->bytes_fetched >= f->bytes_wanted);
    assert_true(f->bytes_fetched <= f->bytes_wanted + f->bytes_wanted / 4);
    engine_plan_free(p);
    store_close(s);
    unlink(FILE_NAME);
}

/* The load of a crop, as `run` does it: every voxel is compared with what was written. */
static void a_loaded_box_is_that_box(void **state)
{
    (void)state;
    static const char *const settings[] = {"start=3,0,5", "shape=4,9,6"};
    static const struct backend_options options = {.threads = 1};
    struct run_state s = {
        .op = operation_named("volume_load_nii_crop"), .settings = settings, .settings_count = 2};
    struct backend *be;
    assert_ok(cpu_backend.open(&options, &be));
    s.be = be;
    assert_ok(model_for_size(s.op, 12, &s.model));
    assert_ok(state_prepare(&s));
    assert_ok(s.op->run(&s));
    assert_ok(s.op->check(&s));
    float *y = s.out.buffer.ptr;
    y[17] += 1; /* the check can fail */
    assert_error(s.op->check(&s), ERR_FAILED, "voxel 17");
    state_free(&s);
    cpu_backend.close(be);
}

/* Published by medrs: load and z-norm of 512^3 in 1.01 ms, 531 GB/s where memory has some 20: the
 * result was lazy. */
static void a_lazy_result_is_implausible(void **state)
{
    (void)state;
    const double bytes = 4.0 * 512 * 512 * 512;
    const struct work work = {0, 2 * bytes, 2 * bytes};
    const struct peak peak = {1e12, 200e9}; /* of a server, generously */
    const struct rates r = rates_of(1.01e-3, &work, 0, &peak);
    assert_near(bytes / 1.01e-3 * 1e-9, 531, 1);
    assert_int_equal(r.implausible, 1);
    struct targets t;
    struct target_value value;
    assert_ok(targets_read(TARGETS_SHIPPED, &t));
    const struct target_row row = {.operation = "volume_z_norm",
                                   .shape = "512",
                                   .size = 512,
                                   .seconds = 1.01e-3,
                                   .bytes_in = bytes,
                                   .bytes_out = bytes,
                                   .bytes_moved = 2 * bytes,
                                   .copy_bytes_per_s = 200e9,
                                   .implausible = r.implausible};
    int judged = 0;
    for (int i = 0; i < t.targets_count; i++) {
        const enum target_verdict v = target_judge(&t.targets[i], &row, &value);
        assert_int_not_equal(v, TARGET_PASSED);
        judged += v == TARGET_MISSED;
    }
    assert_int_equal(judged, 2);
    targets_free(&t);
    assert_int_equal(rates_of(0.02, &work, 0, &peak).implausible, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_reads_only_its_part),
        cmocka_unit_test(a_loaded_box_is_that_box),
        cmocka_unit_test(a_lazy_result_is_implausible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
