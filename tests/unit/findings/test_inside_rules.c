/* links: tp_findings */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/findings/findings.h"
#include "tests/unit/check.h"

/* A run of 10 s with one kernel of 4 s, whose samples lie at two lines. */
static struct model *run_of_kernel(void)
{
    struct model *m;
    assert_ok(model_create(&m));
    m->meta.wall_s = 10;
    m->totals.kernel_s = 4;
    m->totals.cpu.user = 1;
    m->totals.cpu.sys = 0;
    assert_ok(model_list(m, model_kernel, m, kernels, 1));
    struct model_kernel *k = &m->kernels[0];
    k->name = "project(float*)";
    k->time.total_s = 4;
    k->time.n = 2;
    k->share_of_kernel_time = 1;
    assert_ok(model_list(m, model_variant, k, variants, 1));
    k->variants[0].static_shared = 0;
    k->variants[0].dynamic_shared = 0;
    k->variants[0].occupancy = 0.9;
    assert_ok(model_list(m, model_device_line, m, device_lines, 2));
    for (int i = 0; i < 2; i++) {
        struct model_device_line *l = &m->device_lines[i];
        l->kernel = 0;
        l->file = "src/project.cu";
        l->line = 15 + i;
        l->samples = i ? 40 : 60;
        l->share = i ? 0.4 : 0.6;
        l->s = 4 * l->share;
        assert_ok(model_list(m, model_stall, l, stalls, 1));
        l->stalls[0] = (struct model_stall){"issues", "issues an instruction", l->samples};
    }
    return m;
}

static const struct model_finding *inside_finding(struct model *m, const char *id)
{
    assert_ok(findings_add(m));
    for (int i = 0; i < m->findings_count; i++)
        if (!strcmp(m->findings[i].id, id))
            return &m->findings[i];
    return NULL;
}

static void inside_holds(const struct model_finding *f, const char *text, int line)
{
    assert_non_null(f);
    if (!strstr(f->evidence, text))
        fail_msg("\"%s\" does not say \"%s\"", f->evidence, text);
    assert_int_equal(f->lines_count > 0 ? f->lines[0].line : 0, line);
    assert_string_equal(f->lines[0].file, "src/project.cu");
}

static void a_kernel_that_issues_has_no_finding(void **state)
{
    (void)state;
    struct model *m = run_of_kernel();
    assert_null(inside_finding(m, "gpu.memory_wait"));
    assert_int_equal(m->findings_count, 0);
    model_destroy(m);
}

static void lines_that_wait_for_memory_are_named(void **state)
{
    (void)state;
    struct model *m = run_of_kernel();
    m->device_lines[0].stalls[0] = (struct model_stall){"memory", "waits", 55};
    const struct model_finding *f = inside_finding(m, "gpu.memory_wait");
    inside_holds(f, "project.cu:15 in project(float*): 55 of the kernel's 100 samples", 15);
    assert_true(fabs(f->gain_s - 2.2) < 1e-9 && f->gain_low_s == 0);
    model_destroy(m);
    m = run_of_kernel(); /* a tenth of the samples is not worth a word */
    m->device_lines[0].stalls[0] = (struct model_stall){"memory", "waits", 10};
    assert_null(inside_finding(m, "gpu.memory_wait"));
    model_destroy(m);
}

static void uncoalesced_lines_are_named(void **state)
{
    (void)state;
    struct model *m = run_of_kernel();
    m->device_lines[1].sectors = 8000;
    m->device_lines[1].sectors_ideal = 1000;
    inside_holds(inside_finding(m, "gpu.uncoalesced"),
                 "project.cu:16 in project(float*): 8000 sectors of 32 bytes of memory where 1000",
                 16);
    model_destroy(m);
    m = run_of_kernel();
    m->device_lines[1].sectors = 1010;
    m->device_lines[1].sectors_ideal = 1000;
    assert_null(inside_finding(m, "gpu.uncoalesced"));
    model_destroy(m);
    m = run_of_kernel(); /* samples alone */
    m->device_lines[1].stalls[0] = (struct model_stall){"memory_queue", "queue", 40};
    inside_holds(inside_finding(m, "gpu.uncoalesced"), "40 of the kernel's 100 samples", 16);
    model_destroy(m);
}

static void bank_conflicts_are_named(void **state)
{
    (void)state;
    struct model *m = run_of_kernel();
    m->device_lines[0].wavefronts = 3200;
    m->device_lines[0].wavefronts_ideal = 100;
    inside_holds(inside_finding(m, "gpu.bank_conflicts"),
                 "3200 passes through shared memory where 100 would do", 15);
    model_destroy(m);
    m = run_of_kernel(); /* without shared memory the queue is full of something else */
    m->device_lines[0].stalls[0] = (struct model_stall){"shared_queue", "queue", 50};
    assert_null(inside_finding(m, "gpu.bank_conflicts"));
    model_destroy(m);
    m = run_of_kernel();
    m->device_lines[0].stalls[0] = (struct model_stall){"shared_queue", "queue", 50};
    m->kernels[0].variants[0].static_shared = 1024;
    inside_holds(inside_finding(m, "gpu.bank_conflicts"), "50 of the kernel's 100 samples", 15);
    model_destroy(m);
}

static void low_occupancy_names_the_line_that_waits_most(void **state)
{
    (void)state;
    struct model *m = run_of_kernel();
    m->kernels[0].variants[0].occupancy = 0.2;
    m->kernels[0].variants[0].limiter = "registers";
    inside_holds(inside_finding(m, "gpu.occupancy"), "limited by registers", 15);
    model_destroy(m);
}

static void a_kernel_of_little_time_is_left_alone(void **state)
{
    (void)state;
    struct model *m = run_of_kernel();
    m->kernels[0].share_of_kernel_time = 0.02;
    m->device_lines[0].stalls[0] = (struct model_stall){"memory", "waits", 55};
    assert_null(inside_finding(m, "gpu.memory_wait"));
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_issues_has_no_finding),
        cmocka_unit_test(lines_that_wait_for_memory_are_named),
        cmocka_unit_test(uncoalesced_lines_are_named),
        cmocka_unit_test(bank_conflicts_are_named),
        cmocka_unit_test(low_occupancy_names_the_line_that_waits_most),
        cmocka_unit_test(a_kernel_of_little_time_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
