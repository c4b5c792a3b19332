/* links: tp_findings */
/* Rules D1, D3 to D6, D9, G2, G4 and G6 on made-up runs: each fires on its numbers, and not on
 * those beside them. */
#include <stdio.h>
#include <math.h>
#include <string.h>

#include "profiler/findings/findings.h"
#include "profiler/findings/rules.h"
#include "tests/unit/check.h"

/* 10 s, 9 of them on a CPU; one file was read, nothing waited. */
static struct model *run_of(void)
{
    struct model *m;
    assert_ok(model_create(&m));
    assert_ok(model_list(m, model_io_file, &m->io, files, 1));
    struct model_io_file *f = &m->io.files[0];
    f->path = "scan.raw";
    f->kind = "file";
    f->read = (struct model_io_calls){.calls = 100, .mb = 50, .s = 0.1, .p50_us = 10, .p95_us = 12};
    f->unique_mb = 50;
    f->reread = 1;
    m->io.read.s = m->io.read.mb = 50;
    m->io.read.waited_s = m->io.write.waited_s = 0;
    m->meta.wall_s = 10;
    m->totals.cpu.user = 9;
    m->totals.cpu.sys = 0;
    return m;
}

static const struct model_finding *found(struct model *m, const char *id)
{
    assert_ok(findings_add(m));
    for (int i = 0; i < m->findings_count; i++)
        if (!strcmp(m->findings[i].id, id)) {
            assert_non_null(m->findings[i].refuted_by);
            assert_non_null(strstr(m->findings[i].test, "tomoprof"));
            return &m->findings[i];
        }
    return NULL;
}

static void placing_longer_than_reading(void **state)
{
    (void)state;
    for (int fires = 0; fires < 2; fires++) {
        struct model *m = run_of();
        assert_ok(model_list(m, model_reading, &m->io, reading, 1));
        m->io.reading[0] = (struct model_reading){.file = "a.py",
                                                  .line = 3,
                                                  .mb = 50,
                                                  .copy_s = 1,
                                                  .decode_s = 1,
                                                  .place_s = 1.5 + fires};
        const struct model_finding *f = found(m, "io.placing");
        assert_true(fires ? f && f->gain_s > 2.4 && f->gain_s < 2.6 : !f);
        model_destroy(m);
    }
}

/* A pool's threads are one row, with all that they compute: they read 0.1 MiB. */
static void a_pool_that_reads_nothing_places_nothing(void **state)
{
    (void)state;
    struct model *m = run_of();
    assert_ok(model_list(m, model_reading, &m->io, reading, 1));
    m->io.reading[0] =
        (struct model_reading){.mb = 0.1, .calls = 22, .copy_s = 1e-5, .convert_s = 6};
    assert_null(found(m, "io.placing"));
    model_destroy(m);
}

/* Lines that decode are those of the finding, most first, so that their own sentence is enough. */
static void decoding_names_its_lines(void **state)
{
    (void)state;
    struct model *m = run_of();
    assert_ok(model_list(m, model_frame, m, frames, 1));
    m->frames[0] =
        (struct model_frame){.function = "inflate", .module = "libz.so.1", .kind = "native"};
    assert_ok(model_list(m, model_stack, m, stacks, 1));
    m->stacks[0] = (struct model_stack){.parent = -1, .frame = 0, .cpu_ns = 8000000000};
    assert_ok(model_list(m, model_reading, &m->io, reading, 3));
    m->io.reading[0] = (struct model_reading){.file = "a.py", .line = 3, .mb = 50};
    m->io.reading[1] = (struct model_reading){.file = "a.py", .line = 4, .decode_s = 3};
    m->io.reading[2] = (struct model_reading){.file = "a.py", .line = 5, .decode_s = 5};
    const struct model_finding *f = found(m, "io.decode");
    assert_non_null(f);
    assert_int_equal(f->lines_count, 2);
    assert_int_equal(f->lines[0].line, 5);
    model_destroy(m);
}

/* Imports have their own sentence, also for the time of the interpreter. */
static void imports_are_not_loops(void **state)
{
    (void)state;
    for (int fires = 0; fires < 2; fires++) {
        struct model *m = run_of();
        m->totals.cpu.python = 4;
        m->totals.cpu.samples = 900;
        assert_ok(model_list(m, model_own, m, own, 1));
        m->own[0].kind = fires ? "code" : "import";
        m->own[0].cpu_ns = 3000000000;
        assert_ok(findings_add(m));
        int n = 0;
        for (int i = 0; i < m->findings_count; i++)
            n += !strcmp(m->findings[i].id, "cpu.python");
        assert_int_equal(n, fires);
        model_destroy(m);
    }
}

static void processes_that_cost_their_start(void **state)
{
    (void)state;
    for (int fires = 0; fires < 2; fires++) {
        struct model *m = run_of();
        assert_ok(model_list(m, model_process, m, processes, 5));
        for (int i = 0; i < 5; i++) {
            m->processes[i].python = "3.12";
            m->processes[i].parent = i ? 1 : 0;
        }
        assert_ok(model_list(m, model_own, m, own, 1));
        m->own[0].kind = "import";
        m->own[0].cpu_ns = fires ? 4000000000 : 1000000000;
        const struct model_finding *f = found(m, "io.processes");
        assert_true(fires ? f && strstr(f->evidence, "4 processes") != NULL : !f);
        model_destroy(m);
    }
}

static void ranges_that_are_slow_or_begin_slowly(void **state)
{
    (void)state;
    struct model *m = run_of();
    assert_ok(model_list(m, model_range, m, ranges, 2));
    m->ranges[0].name = "tile";
    m->ranges[0].time = (struct model_stat){
        .n = 10, .total_s = 5, .min_s = 0.4, .median_s = 0.5, .p95_s = 0.6, .max_s = 0.6};
    m->ranges[1].name = "filter";
    m->ranges[1].time = (struct model_stat){
        .n = 10, .total_s = 1.1, .min_s = 0.01, .median_s = 0.01, .p95_s = 1, .max_s = 1};
    assert_ok(model_list(m, model_track, m, timeline, 1));
    m->timeline[0].kind = "range";
    m->timeline[0].resolution_ns = 0;
    assert_ok(model_list(m, model_event, &m->timeline[0], events, 2));
    m->timeline[0].events[0] = (struct model_event){0, 1000000000, 1000000000, 1, 1};
    m->timeline[0].events[1] = (struct model_event){2000000000, 10000000, 10000000, 1, 1};
    const struct model_finding *slow = found(m, "io.slow_part");
    assert_non_null(slow);
    assert_non_null(strstr(slow->evidence, "tile ran 10 times, median 0.5 s"));
    m->ranges[0].cpu_s = 4; /* it computes: storage is not what takes its time */
    assert_null(found(m, "io.slow_part"));
    m->ranges[0].cpu_s = 1;
    assert_non_null(found(m, "io.slow_part"));
    assert_non_null(strstr(found(m, "gpu.first")->evidence, "the first of 10 calls took 1 s"));
    m->timeline[0].events[0].length = 10000000; /* another one was the slow one */
    assert_null(found(m, "gpu.first"));
    model_destroy(m);
}

static void a_clock_below_its_highest(void **state)
{
    (void)state;
    for (int fires = 0; fires < 2; fires++) {
        struct model *m = run_of();
        assert_ok(model_list(m, model_device, m, devices, 1));
        m->devices[0].name = "a card";
        m->devices[0].clock_mhz = 2000;
        m->devices[0].busy_s = m->meta.wall_s / 2;
        m->devices[0].busy_mhz = fires ? 1500 : 1900;
        m->devices[0].least_mhz = 1200;
        m->devices[0].limited_share = 0.8;
        m->devices[0].limited_by = "heat";
        const struct model_finding *f = found(m, "gpu.clocks");
        assert_true(fires ? f != NULL : !f);
        if (f) {
            assert_non_null(strstr(f->evidence, "1500 MHz in the mean while it worked"));
            assert_non_null(strstr(f->evidence, "limited by heat"));
            assert_true(fabs(f->gain_s - m->meta.wall_s / 8) < 1e-9);
        }
        model_destroy(m);
    }
    struct model *m = run_of(); /* not known: nothing is said */
    assert_ok(model_list(m, model_device, m, devices, 1));
    m->devices[0].clock_mhz = 2000;
    m->devices[0].busy_s = m->meta.wall_s;
    assert_null(found(m, "gpu.clocks"));
    model_destroy(m);
}

static void memory_beyond_what_is_read(void **state)
{
    (void)state;
    for (int fires = 0; fires < 2; fires++) {
        struct model *m = run_of();
        m->totals.peak_rss_mb = fires ? 4000 : 400;
        assert_true(fires ? found(m, "io.memory") != NULL : !found(m, "io.memory"));
        model_destroy(m);
    }
}

static void reads_of_which_some_wait(void **state)
{
    (void)state;
    for (int fires = 0; fires < 2; fires++) {
        struct model *m = run_of();
        struct model_io_calls *c = &m->io.files[0].read;
        c->waited = fires ? 30 : 100; /* all waited: nothing is uneven */
        c->waited_s = 3;
        c->s = 3.1;
        c->p95_us = 1e5;
        const struct model_finding *f = found(m, "io.uneven");
        assert_true(fires ? f && strstr(f->evidence, "30 of 100 reads waited, 100 ms each") != NULL
                          : !f);
        model_destroy(m);
    }
}

static void transfers_and_launches(void **state)
{
    (void)state;
    struct model *m = run_of();
    m->totals.kernel_s = 4;
    m->totals.copy_s = 1;
    m->totals.launches = 100;
    m->totals.launches_without_record = 2;
    assert_null(found(m, "gpu.transfers"));
    assert_null(found(m, "gpu.hidden"));
    m->totals.copy_s = 3;
    m->totals.launches_without_record = 50;
    assert_near(found(m, "gpu.transfers")->gain_s, 3, 1e-9);
    assert_non_null(found(m, "gpu.hidden"));
    model_destroy(m);
}

/* 1000 requests of 50 ms: one after the other 50 s, ten at a time 5 s. */
static void requests_count_by_how_many_are_in_flight(void **state)
{
    (void)state;
    for (int depth = 1; depth <= 10; depth += 9) {
        struct model *m = run_of();
        m->meta.wall_s = 60;
        assert_ok(model_list(m, model_io_file, &m->io, endpoints, 1));
        struct model_io_file *e = &m->io.endpoints[0];
        e->path = "store:443";
        e->requests = 1000;
        e->connects = 4;
        e->first_byte_ms = 50;
        e->in_flight = depth;
        e->read.mb = 200;
        const struct model_finding *f = found(m, "io.requests");
        assert_non_null(f);
        assert_near(f->gain_s, 50.0 / depth * 7 / 8, 1e-6);
        assert_non_null(strstr(f->evidence, "1000 requests over 4 connections (250 each)"));
        model_destroy(m);
    }
}

/* Calls of MPI outside of its start and end are needed: without one there is no line to name. */
static void transfers_need_a_line(void **state)
{
    (void)state;
    for (int lines = 1; lines <= 2; lines++) {
        struct model *m = run_of();
        m->mpi.size = 2;
        m->mpi.wall_s = 10;
        assert_ok(model_list(m, model_rank, &m->mpi, ranks, 2));
        for (int i = 0; i < 2; i++)
            m->mpi.ranks[i] = (struct model_rank){.rank = i, .transfer_s = 8, .compute_s = 1};
        assert_ok(model_list(m, model_mpi_line, &m->mpi, lines, (size_t)lines));
        m->mpi.lines[0] = (struct model_mpi_line){.call = "Init", .spent_s = 8};
        if (lines > 1)
            m->mpi.lines[1] = (struct model_mpi_line){.call = "Send", .spent_s = 16};
        const struct model_finding *f = found(m, "mpi.transfer");
        assert_int_equal(f != NULL, lines > 1);
        assert_int_equal(m->findings_count, lines > 1);
        assert_true(!f || strstr(f->evidence, "most in Send."));
        model_destroy(m);
    }
}

static void every_row_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < finding_rules_count; i++) {
        const struct cause_rule *r = &finding_rules[i].rule;
        assert_ptr_equal(finding_rule_find(r->id), &finding_rules[i]); /* no id comes twice */
        assert_true(r->title && r->fires && r->advice[0].text && r->advice[0].effort_days > 0);
        assert_true(!strcmp(r->severity, "info") || !strcmp(r->severity, "warning"));
        assert_true(!r->refuted_by == !r->test);
        assert_non_null(finding_rules[i].evaluate);
    }
    assert_null(finding_rule_find("io.unheard_of"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placing_longer_than_reading),
        cmocka_unit_test(a_pool_that_reads_nothing_places_nothing),
        cmocka_unit_test(decoding_names_its_lines),
        cmocka_unit_test(imports_are_not_loops),
        cmocka_unit_test(processes_that_cost_their_start),
        cmocka_unit_test(ranges_that_are_slow_or_begin_slowly),
        cmocka_unit_test(a_clock_below_its_highest),
        cmocka_unit_test(memory_beyond_what_is_read),
        cmocka_unit_test(reads_of_which_some_wait),
        cmocka_unit_test(transfers_and_launches),
        cmocka_unit_test(requests_count_by_how_many_are_in_flight),
        cmocka_unit_test(transfers_need_a_line),
        cmocka_unit_test(every_row_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
