/* links: tp_findings */
/* rootcause.md and rootcause.json of a recording: what was not measured is null, with the reason.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/findings/causes.h"
#include "tests/unit/check.h"

static char *text_of(const char *folder, const char *name)
{
    char path[300];
    char *text = calloc(1, 1 << 16);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(unlink(path), 0);
    return text;
}

/* Writes one finding with a test, and a kernel where `kernels`. */
static void written(const char *folder, int kernels)
{
    struct model *m;
    int there;
    assert_ok(model_create(&m));
    m->meta.wall_s = 10;
    m->meta.started = "2026-11-22T00:00:00Z";
    assert_ok(model_list(m, model_finding, m, findings, 1));
    m->findings[0] = (struct model_finding){.id = "gpu.gaps",
                                            .severity = "warning",
                                            .title = "The GPU waits for the host",
                                            .evidence = "4 s.",
                                            .advice = "Launch ahead.",
                                            .gain_s = 4,
                                            .gain_low_s = 2,
                                            .refuted_by = "Refuted if not.",
                                            .test = "Record it again.",
                                            .confidence = "medium"};
    assert_ok(model_list(m, model_kernel, m, kernels, kernels));
    m->totals.gpu_sum_s = kernels ? 5 : 0;
    m->totals.gpu_busy_s = kernels ? 5 : 0;
    assert_ok(causes_write(m, folder, &there));
    assert_int_equal(there, 1);
    model_destroy(m);
}

static void access_patterns_are_not_measured(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_causes-XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (int kernels = 0; kernels < 2; kernels++) {
        written(folder, kernels);
        char *json = text_of(folder, "rootcause.json"), *md = text_of(folder, "rootcause.md");
        const char *row = strstr(json, "access pattern of kernels (G3)");
        assert_true(!row == !kernels);
        assert_true(!strstr(md, "access pattern of kernels (G3) | not measured | hardware") ==
                    !kernels);
        assert_true(!strstr(md, "This recording does not tell") == !kernels);
        if (row) {
            const char *value = strstr(row, "\"value\"");
            assert_non_null(value);
            assert_true(!strncmp(value, "\"value\": null", 13) ||
                        !strncmp(value, "\"value\":null", 12));
            assert_non_null(strstr(row, "are not recorded"));
        }
        free(json);
        free(md);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* Returns 1 if the lock is the first cause: threads wait for it for 7 of 10 s, it may save 1 to 2
 * s, and reading again costs 3 to 6 s. Two or more threads wanted to run for `both` seconds; the run
 * waited for a CPU for `queued`. */
static int lock_leads(const char *folder, double both, double queued)
{
    struct model *m;
    int there;
    assert_ok(model_create(&m));
    m->meta.wall_s = 10;
    m->totals.path_ready_s = queued;
    m->meta.started = "2026-11-23T00:00:00Z";
    assert_ok(model_list(m, model_contention, m, contention, 1));
    m->contention[0].any_s = 7;
    m->contention[0].both_s = both;
    assert_ok(model_list(m, model_finding, m, findings, 2));
    m->findings[0] = (struct model_finding){.id = "lock.gil_python",
                                            .title = "Threads wait for the GIL",
                                            .gain_low_s = 1,
                                            .gain_s = 2,
                                            .refuted_by = "Refuted if not.",
                                            .test = "Record it again."};
    m->findings[1] = (struct model_finding){.id = "io.reread",
                                            .title = "Bytes are read again",
                                            .gain_low_s = 3,
                                            .gain_s = 6,
                                            .refuted_by = "Refuted if not.",
                                            .test = "Record it again."};
    assert_ok(causes_write(m, folder, &there));
    model_destroy(m);
    char *json = text_of(folder, "rootcause.json");
    free(text_of(folder, "rootcause.md"));
    const char *lock = strstr(json, "lock.gil_python"), *again = strstr(json, "io.reread");
    assert_non_null(lock);
    assert_non_null(again);
    const int first = lock < again;
    free(json);
    return first;
}

static void a_lock_leads_where_it_keeps_threads_from_running(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_causes-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_true(lock_leads(folder, 4, NAN)); /* 1 of 2 threads ran */
    assert_true(lock_leads(folder, 7.9, 0));
    assert_false(lock_leads(folder, 9, 0)); /* 1.6 of 2 */
    assert_true(lock_leads(folder, 9, 4));  /* of 6 s with a CPU, as the first */
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(access_patterns_are_not_measured),
        cmocka_unit_test(a_lock_leads_where_it_keeps_threads_from_running),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
