/* links: tp_stage tp_analyze tp_trace */
#include <stdio.h>

#include "base/file.h"
#include "tests/trace/gpu_case.h"

static void device_time_goes_to_the_line_that_launched(void **state)
{
    (void)state;
    const uint64_t words[] = {AT(APP, 210), AT(APP, 120)};
    uint64_t deep = stage_stack(&st, words, 2, 0);
    launch(10, deep, 1);
    launch(12, deep, 2);
    launch(14, at120, 3);
    kernel(20, 30, "_Z4fastPf", 1);
    kernel(30, 50, "_Z4fastPf", 2);
    kernel(50, 51, "_Z4slowPf", 3);
    analyse();
    const struct model_line *l = stage_line(m, APP_C, 210), *up = stage_line(m, APP_C, 120);
    NEAR(l->gpu_self_s, 0.030);
    NEAR(l->gpu_incl_s, 0.030);
    NEAR(up->gpu_self_s, 0.001);
    NEAR(up->gpu_incl_s, 0.031);
    assert_int_equal(l->gpu.launches, 2);
    NEAR(l->gpu.api_s, 0.002);
    assert_int_equal(m->kernels[l->gpu.kernels[0].kernel].line, MODEL_UNKNOWN);
    assert_string_equal(m->kernels[l->gpu.kernels[0].kernel].mangled, "_Z4fastPf");
    assert_int_equal(l->gpu.kernels[0].n, 2);
    assert_int_equal(m->kernels_count, 2);
    assert_int_equal(m->kernels[0].time.n, 2);
    NEAR(m->kernels[0].time.median_s, 0.015);
    NEAR(m->kernels[0].time.min_s, 0.010);
    NEAR(m->kernels[0].time.sd_s, sqrt(2) * 0.005);
    NEAR(m->kernels[0].share_of_kernel_time, 30.0 / 31);
    NEAR(m->kernels[0].queue_s, 0.009 + 0.017);
    NEAR(m->kernels[0].variants[0].occupancy, 1); /* 256 threads, 32 registers: 6 blocks */
    assert_string_equal(m->kernels[0].variants[0].limiter, "warps");
    assert_string_equal(m->kernels[0].launched_at[0].file, APP_C);
    assert_int_equal(m->kernels[0].launched_at[0].line, 210);
    NEAR(m->totals.gpu_busy_s, 0.031);
    assert_int_equal(m->totals.launches_without_record, 0);
    assert_true(m->quality.complete);
}

static void records_may_come_in_any_order(void **state)
{
    (void)state;
    kernel(40, 50, "a", 2); /* before the other, and both before their calls */
    kernel(20, 30, "a", 1);
    launch(12, at210, 2);
    launch(10, at120, 1);
    analyse();
    NEAR(stage_line(m, APP_C, 120)->gpu_self_s, 0.010);
    NEAR(stage_line(m, APP_C, 210)->gpu_self_s, 0.010);
    NEAR(m->totals.gpu_busy_s, 0.020);
    NEAR(m->totals.gpu_idle_s, 0.010);
    assert_int_equal(m->gpu.gaps_count, 1);
    NEAR(m->gpu.gaps[0].start_s, 0.030);
    assert_null(stage_item(m, "gpu.overlap"));
}

static void busy_time_is_a_union_per_device(void **state)
{
    (void)state;
    stage_device(&st, 1, 2);
    launch(1, at120, 1);
    launch(2, at120, 2);
    launch(3, at120, 3);
    kernel(10, 30, "a", 1);
    struct trace_kernel k = stage_kernel(&st, 20, 40, "a", 2);
    k.stream = 8;
    stage_put(&st, 0, &k);
    k = stage_kernel(&st, 20, 25, "a", 3);
    k.device = 1;
    stage_put(&st, 0, &k);
    analyse();
    NEAR(m->totals.gpu_sum_s, 0.045);
    NEAR(m->totals.gpu_busy_s, 0.035);
    assert_int_equal(m->devices_count, 2);
    NEAR(m->devices[0].busy_s, 0.030);
    NEAR(m->devices[0].sum_s, 0.040);
    NEAR(m->devices[1].busy_s, 0.005);
    assert_string_equal(m->devices[0].name, "Made GPU");
    assert_null(stage_item(m, "gpu.overlap"));
}

static void two_processes_share_a_device(void **state)
{
    (void)state;
    launch(1, at120, 1);
    kernel(10, 30, "a", 1);
    kernel(50, 60, "a", 0);
    stage_close(&st, TRACE_EXIT, 0);
    stage_open(&st, 200, T0 + MS);
    stage_meta(&st, "cupti.clock", "monotonic");
    stage_device(&st, 0, 1);
    at120 = stage_at(&st, AT(APP, 120));
    launch(2, at120, 1);
    kernel(20, 40, "a", 1);
    analyse();
    assert_int_equal(m->devices_count, 1);
    NEAR(m->totals.gpu_sum_s, 0.050);
    NEAR(m->totals.gpu_busy_s, 0.040);
    NEAR(m->totals.gpu_idle_s, 0.010);
    NEAR(stage_line(m, APP_C, 120)->gpu_self_s, 0.040);
    assert_int_equal(m->totals.no_origin_n, 1);
    NEAR(m->totals.no_origin_s, 0.010);
    assert_int_equal(m->kernels_count, 1);
    assert_int_equal(m->kernels[0].time.n, 3);
}

static void copies_are_told_by_direction_and_memory(void **state)
{
    (void)state;
    stage_api(&st, 0, 1, 9, at120, "cudaMemcpy", TRACE_API_COPY, 1);
    stage_api(&st, 0, 10, 11, at210, "cudaMemcpyAsync", TRACE_API_COPY, 2);
    struct trace_gpu_copy c = stage_copy(2, 8, TRACE_COPY_HTOD, 1 << 20, 1);
    stage_put(&st, 0, &c);
    c = stage_copy(12, 14, TRACE_COPY_DTOH, 1 << 21, 2);
    c.from = TRACE_MEMORY_DEVICE;
    c.to = TRACE_MEMORY_PINNED;
    c.asynchronous = 1;
    stage_put(&st, 0, &c);
    struct trace_gpu_set s = {.r = {.kind = TRACE_GPU_SET},
                              .start = T0 + 20 * MS,
                              .end = T0 + 21 * MS,
                              .bytes = 4096,
                              .context = 1,
                              .stream = 7,
                              .correlation = 3,
                              .memory_kind = TRACE_MEMORY_DEVICE};
    stage_api(&st, 0, 15, 16, at210, "cudaMemset", TRACE_API_SET, 3);
    stage_put(&st, 0, &s);
    analyse();
    const struct model_line *a = stage_line(m, APP_C, 120), *b = stage_line(m, APP_C, 210);
    assert_int_equal(a->copy.h2d.bytes, 1 << 20);
    NEAR(a->copy.h2d.s, 0.006);
    assert_int_equal(a->copy.pageable_bytes, 1 << 20);
    NEAR(a->gpu.wait_s, 0.008); /* the call blocked */
    NEAR(a->gpu_self_s, 0.006);
    assert_int_equal(b->copy.d2h.bytes, 1 << 21);
    assert_int_equal(b->copy.pageable_bytes, 0);
    NEAR(b->gpu.wait_s, 0);
    NEAR(b->gpu.set_s, 0.001);
    NEAR(b->gpu_self_s, 0.003);
    assert_int_equal(m->transfers_count, 2);
    assert_string_equal(m->transfers[0].direction, "h2d");
    assert_string_equal(m->transfers[0].from, "pageable");
    assert_string_equal(m->transfers[1].to, "pinned");
    assert_true(m->transfers[1].asynchronous);
    NEAR(m->transfers[0].gb_s, 1048576 / 0.006 / 1e9);
    assert_int_equal(m->memsets[0].bytes, 4096);
    assert_int_equal(m->totals.h2d_bytes, 1 << 20);
    NEAR(m->totals.copy_s, 0.008);
}

static void waiting_is_split_by_what_the_device_did(void **state)
{
    (void)state;
    launch(1, at120, 1);
    kernel(10, 30, "a", 1);
    stage_api(&st, 0, 5, 45, at210, "cudaDeviceSynchronize", TRACE_API_SYNC, 2);
    analyse();
    NEAR(stage_line(m, APP_C, 210)->gpu.wait_s, 0.040);
    NEAR(m->totals.gpu_wait_s, 0.040);
    NEAR(m->totals.gpu_wait_busy_s, 0.020);
    assert_string_equal(m->apis[0].name, "cudaDeviceSynchronize");
    NEAR(m->apis[0].share_of_api, 40.0 / 41);
}

static void graph_nodes_are_launched_here_and_built_there(void **state)
{
    (void)state;
    struct trace_graph_node n = {
        .r = {.kind = TRACE_GRAPH_NODE, .time_ns = T0}, .node = 70, .stack = at120, .graph = 1};
    stage_put(&st, 0, &n);
    n = (struct trace_graph_node){.r = {.kind = TRACE_GRAPH_NODE, .time_ns = T0},
                                  .node = 71,
                                  .graph = 2,
                                  .cloned = 1,
                                  .original = 70};
    stage_put(&st, 0, &n);
    struct trace_api captured = {.r = {.kind = TRACE_API, .time_ns = T0 + MS},
                                 .start_ns = T0,
                                 .end_ns = T0 + MS,
                                 .stack = at120,
                                 .tid = 100,
                                 .api_class = TRACE_API_LAUNCH,
                                 .flags = TRACE_API_CAPTURED,
                                 .correlations = 1,
                                 .correlation = {4}};
    stage_put(&st, 0, &captured);
    for (uint32_t i = 0; i < 3; i++) {
        stage_api(&st, 0, 5 + 10 * i, 6 + 10 * i, at210, "cudaGraphLaunch", TRACE_API_GRAPH, 9 + i);
        for (uint32_t k = 0; k < 2; k++) {
            struct trace_kernel kernel =
                stage_kernel(&st, 7 + 10 * i + k, 8 + 10 * i + k, "node", 9 + i);
            kernel.graph = 2;
            kernel.graph_node = 71;
            stage_put(&st, 0, &kernel);
        }
    }
    analyse();
    NEAR(stage_line(m, APP_C, 210)->gpu_self_s, 0.006);
    NEAR(stage_line(m, APP_C, 120)->gpu.built_s, 0.006);
    NEAR(stage_line(m, APP_C, 120)->gpu_self_s, 0);
    assert_int_equal(m->totals.launches, 0); /* captured, not executed */
    assert_int_equal(m->totals.launches_without_record, 0);
}

static void launches_and_activities_without_their_counterpart_are_counted(void **state)
{
    (void)state;
    launch(1, at120, 1);
    launch(3, at120, 2);
    kernel(10, 20, "a", 2);
    kernel(20, 25, "a", 77);
    struct trace_kernel k = stage_kernel(&st, 30, 40, "a", 1); /* no times */
    k.start = k.end = 0;
    stage_put(&st, 0, &k);
    k = stage_kernel(&st, 50, 40, "a", 1); /* ends before it begins */
    stage_put(&st, 0, &k);
    analyse();
    assert_int_equal(m->totals.launches, 2);
    assert_int_equal(m->totals.launches_without_record, 1);
    assert_int_equal(m->totals.no_origin_n, 1);
    NEAR(m->totals.no_origin_s, 0.005);
    NEAR(m->totals.gpu_sum_s, 0.015);
    assert_int_equal(stage_item(m, "gpu.zero_time")->count, 1);
    assert_int_equal(stage_item(m, "trace.bad_values")->count, 1);
    assert_non_null(stage_item(m, "gpu.no_record"));
    assert_false(m->quality.complete);
}

static void correlation_ids_are_used_again(void **state)
{
    (void)state;
    launch(10, at120, 5);
    kernel(20, 30, "a", 5);
    launch(100000, at210, 5);
    kernel(100010, 100030, "a", 5);
    struct trace_kernel lost = stage_kernel(&st, 50, 60, "a", 6); /* of an older id 6 */
    stage_put(&st, 0, &lost);
    launch(200000, at210, 6);
    analyse();
    NEAR(stage_line(m, APP_C, 120)->gpu_self_s, 0.010);
    NEAR(stage_line(m, APP_C, 210)->gpu_self_s, 0.020);
    assert_int_equal(m->totals.no_origin_n, 1);
    assert_int_equal(m->totals.launches_without_record, 1);
}

static void more_correlation_ids_than_fit_one_record(void **state)
{
    (void)state;
    struct trace_api more = {.r = {.kind = TRACE_API, .time_ns = T0 + MS},
                             .tid = 100,
                             .flags = TRACE_API_MORE,
                             .correlations = 4,
                             .correlation = {1, 2, 3, 4}};
    stage_put(&st, 0, &more);
    stage_api(&st, 0, 1, 2, at120, "cudaGraphLaunch", TRACE_API_GRAPH, 5);
    for (uint32_t i = 1; i <= 5; i++)
        kernel(10 * i, 10 * i + 1, "a", i);
    analyse();
    NEAR(stage_line(m, APP_C, 120)->gpu_self_s, 0.005);
    assert_int_equal(m->totals.no_origin_n, 0);
}

static void ranges_are_projected_on_the_device(void **state)
{
    (void)state;
    stage_range(&st, 0, 0, TRACE_PUSH, "step", 0);
    stage_range(&st, 0, 5, TRACE_START, "phase", 42);
    launch(10, at120, 1);
    launch(12, at120, 2);
    stage_range(&st, 0, 20, TRACE_STOP, NULL, 42);
    launch(25, at120, 3);
    stage_range(&st, 0, 30, TRACE_POP, NULL, 0);
    launch(40, at120, 4);
    stage_range(&st, 0, 45, TRACE_PUSH, "open", 0);
    stage_range(&st, 0, 46, TRACE_MARK, "here", 0);
    kernel(50, 60, "a", 1);
    kernel(70, 80, "a", 2);
    kernel(80, 85, "a", 3);
    kernel(90, 99, "a", 4);
    analyse();
    assert_int_equal(m->ranges_count, 4);
    for (int i = 0; i < 4; i++) {
        const struct model_range *r = &m->ranges[i];
        if (!strcmp(r->name, "step")) {
            NEAR(r->time.total_s, 0.030);
            assert_int_equal(r->gpu_n, 3);
            NEAR(r->gpu_sum_s, 0.025);
            NEAR(r->gpu_projected_s, 0.035);
        } else if (!strcmp(r->name, "phase")) {
            assert_string_equal(r->style, "start_stop");
            assert_int_equal(r->gpu_n, 2);
            NEAR(r->gpu_projected_s, 0.030);
        } else if (!strcmp(r->name, "open")) {
            assert_int_equal(r->open, 1);
            assert_int_equal(r->time.n, 0);
        } else {
            assert_string_equal(r->style, "mark");
            assert_int_equal(r->time.n, 1);
        }
    }
}

static void device_memory_is_charged_to_its_call(void **state)
{
    (void)state;
    stage_api(&st, 0, 1, 2, at120, "cudaMalloc", TRACE_API_MEMORY, 1);
    stage_api(&st, 0, 3, 4, at210, "cudaMalloc", TRACE_API_MEMORY, 2);
    struct trace_gpu_memory e = {.r = {.kind = TRACE_GPU_MEMORY},
                                 .at = T0 + 2 * MS,
                                 .address = 16,
                                 .bytes = 1 << 20,
                                 .correlation = 1,
                                 .operation = 1,
                                 .memory_kind = TRACE_MEMORY_DEVICE};
    stage_put(&st, 0, &e);
    e.at = T0 + 4 * MS, e.address = 32, e.bytes = 3 << 20, e.correlation = 2;
    stage_put(&st, 0, &e);
    e.at = T0 + 9 * MS, e.operation = 2, e.correlation = 3;
    stage_put(&st, 0, &e);
    analyse();
    NEAR(stage_line(m, APP_C, 120)->dev_mem.live_end_mb, 1);
    NEAR(stage_line(m, APP_C, 210)->dev_mem.peak_mb, 3);
    NEAR(stage_line(m, APP_C, 210)->dev_mem.live_end_mb, 0);
    NEAR(m->totals.peak_device_mb, 4);
    assert_int_equal(m->memory.device_peak_lines_count, 2);
    assert_int_equal(m->memory.device_peak_lines[0].line, 210);
}

static void a_kernel_shows_the_line_where_its_code_begins(void **state)
{
    (void)state;
    char from[] = TP_DATA "/cubins/sm_90.cubin", to[200], *bytes;
    size_t n;
    snprintf(to, sizeof to, "%s/trace/cubin-%016x.bin", stage_folder, 0xabc);
    assert_ok(file_read_all(from, 1 << 24, &bytes, &n));
    struct outfile f;
    assert_ok(outfile_open(&f, to));
    assert_ok(outfile_write(&f, bytes, n));
    assert_ok(outfile_commit(&f));
    free(bytes);
    struct trace_cubin c = {.r = {.kind = TRACE_CUBIN, .time_ns = T0}, .hash = 0xabc, .saved = 1};
    stage_put(&st, 0, &c);
    c.hash = 0xdef; /* its file is missing */
    stage_put(&st, 0, &c);
    launch(1, at120, 1);
    kernel(10, 30, "_Z11backprojectPfPKfi", 1);
    analyse();
    const struct model_kernel *k = &m->kernels[0];
    assert_string_equal(k->name, "backproject(float*, float const*, int)");
    assert_int_equal(k->line, 29);
    assert_non_null(strstr(k->file, "project.cu"));
    const struct model_line *l = stage_line(m, k->file, 29);
    NEAR(l->gpu.device_s, 0.020);
    NEAR(l->gpu_self_s, 0);
    assert_string_equal(stage_function(m, k->file, k->name)->name, k->name);
    assert_int_equal(stage_item(m, "gpu.cubins")->count, 1);
}

static void a_gap_names_the_lines_of_the_host(void **state)
{
    (void)state;
    launch(1, at120, 1);
    kernel(10, 20, "a", 1);
    for (uint64_t i = 30; i < 900; i += 10)
        stage_sample(&st, 0, i, at210, 10, TRACE_USER);
    launch(900, at120, 2);
    kernel(910, 920, "a", 2);
    analyse();
    assert_int_equal(m->gpu.gaps[0].lines[0].line, 210);
    NEAR(m->gpu.gaps[0].lines[0].value, 0.870);
    const struct model_finding *f = NULL;
    for (int i = 0; i < m->findings_count; i++)
        if (!strcmp(m->findings[i].id, "gpu.gaps"))
            f = &m->findings[i];
    assert_null(f); /* 0.9 s of a run of 10 s are not much */
}

static void pageable_copies_are_found(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        stage_api(&st, 0, 100 * i, 100 * i + 90, at120, "cudaMemcpyAsync", TRACE_API_COPY, i + 1);
        struct trace_gpu_copy c =
            stage_copy(100 * i + 1, 100 * i + 81, TRACE_COPY_HTOD, 1 << 26, i + 1);
        c.asynchronous = i % 2;
        stage_put(&st, 0, &c);
    }
    analyse();
    assert_int_equal(m->findings_count, 3);
    assert_string_equal(m->findings[0].id, "gpu.transfers");
    NEAR(m->findings[0].gain_s, 0.8);
    assert_string_equal(m->findings[1].id, "copy.pageable");
    assert_string_equal(m->findings[2].id, "copy.pageable_async");
    assert_int_equal(m->findings[1].lines[0].line, 120);
    NEAR(m->findings[1].gain_s, 0.4);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, before_gpu, after)
    const struct CMUnitTest tests[] = {
        CASE(device_time_goes_to_the_line_that_launched),
        CASE(records_may_come_in_any_order),
        CASE(busy_time_is_a_union_per_device),
        CASE(two_processes_share_a_device),
        CASE(copies_are_told_by_direction_and_memory),
        CASE(waiting_is_split_by_what_the_device_did),
        CASE(graph_nodes_are_launched_here_and_built_there),
        CASE(launches_and_activities_without_their_counterpart_are_counted),
        CASE(correlation_ids_are_used_again),
        CASE(more_correlation_ids_than_fit_one_record),
        CASE(ranges_are_projected_on_the_device),
        CASE(device_memory_is_charged_to_its_call),
        CASE(a_kernel_shows_the_line_where_its_code_begins),
        CASE(a_gap_names_the_lines_of_the_host),
        CASE(pageable_copies_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
