/* links: tp_stage tp_analyze tp_trace */
#include <math.h>
#include <stdio.h>

#include "tests/trace/run_case.h"

#define MB         1048576.0
#define NEAR(a, b) assert_near(a, b, 1e-9)

static uint64_t at120, at210; /* stacks of one frame */

static int before_heap(void **state)
{
    before(state);
    at120 = stage_at(&st, AT(APP, 120));
    at210 = stage_at(&st, AT(APP, 210));
    return 0;
}

/* MB that the stacks ending at a line held at the peak. */
static double stacks_held(int line)
{
    double bytes = 0;
    for (int i = 0; i < m->stacks_count; i++)
        if (m->stacks[i].frame >= 0 && m->frames[m->stacks[i].frame].line == line)
            bytes += (double)m->stacks[i].peak_bytes;
    return bytes / MB;
}

static void peak_and_what_was_live_then(void **state)
{
    (void)state;
    stage_alloc(&st, 0, 0, at120, 16, 4 << 20, 4 * MB);
    stage_alloc(&st, 0, 1000, at210, 32, 2 << 20, 2 * MB);
    stage_free(&st, 0, 2000, 16);
    stage_alloc(&st, 0, 3000, at210, 48, 1 << 20, 1 * MB);
    analyse();
    const struct model_line *a = stage_line(m, APP_C, 120), *b = stage_line(m, APP_C, 210);
    NEAR(a->mem.alloc_mb, 4);
    NEAR(a->mem.n, 1);
    NEAR(a->mem.peak_mb, 4);
    NEAR(a->mem.at_peak_mb, 4);
    NEAR(a->mem.live_end_mb, 0);
    NEAR(a->mem.avg_mb, 4 * 2.0 / 10);
    NEAR(b->mem.peak_mb, 3);
    NEAR(b->mem.at_peak_mb, 2);
    NEAR(stacks_held(120), 4);
    NEAR(stacks_held(210), 2);
    NEAR(b->mem.live_end_mb, 3);
    NEAR(b->mem.avg_mb, (2 * 9.0 + 7.0) / 10);
    NEAR(m->totals.peak_heap_mb, 6);
    NEAR(m->memory.peak_s, 1);
    NEAR(m->totals.alloc_mb, 7);
    assert_int_equal(m->memory.peak_lines_count, 2);
    assert_int_equal(m->memory.peak_lines[0].line, 120);
    NEAR(stage_function(m, APP_C, "f2")->mem.peak_mb, 3);
    NEAR(b->scalene.n_malloc_mb, 3);
    assert_true(isnan(m->totals.peak_rss_mb)); /* no FOOTPRINT was recorded */
}

/* A run of 10 s has 38 bins of 2^28 ns. */
static void curve_is(const struct model_line *l, int bin, double mb)
{
    assert_int_equal(l->live_mb_count, 38);
    if (fabs(l->live_mb[bin] - mb) > 1e-3)
        fail_msg("bin %d of line %lld: %g MB, not %g", bin, (long long)l->line, l->live_mb[bin],
                 mb);
}

static void a_line_has_its_memory_over_time(void **state)
{
    (void)state;
    uint64_t at310 = stage_at(&st, AT(APP, 310));
    stage_alloc(&st, 0, 0, at120, 16, 4 << 20, 4 * MB);
    stage_alloc(&st, 0, 1000, at210, 32, 2 << 20, 2 * MB);
    stage_alloc(&st, 0, 1001, at310, 64, 1 << 10, 1 << 10); /* below 1 % of the largest heap */
    stage_free(&st, 0, 2000, 16);
    stage_alloc(&st, 0, 3000, at210, 48, 1 << 20, 1 * MB);
    stage_free(&st, 0, 3001, 48);
    stage_alloc(&st, 0, 9990, at120, 16, 1 << 20, 1 * MB);
    analyse();
    NEAR(m->memory.bin_s, 0.268435456);
    const struct model_line *a = stage_line(m, APP_C, 120), *b = stage_line(m, APP_C, 210);
    for (int i = 0; i < 38; i++) {
        curve_is(a, i, i <= 7 ? 4 : i == 37 ? 1 : 0);
        curve_is(b, i, i < 3 ? 0 : i == 11 ? 3 : 2);
    }
    assert_int_equal(stage_line(m, APP_C, 310)->live_mb_count, 0);
}

/* The bins of the first process are short; the second one's length makes them longer. */
static void curves_of_processes_share_their_bins(void **state)
{
    (void)state;
    stage_alloc(&st, 0, 600, at120, 16, 4 << 20, 4 * MB);
    stage_free(&st, 0, 900, 16);
    for (int i = 0; i < st.threads; i++)
        trace_stream_close(&st.s[i]);
    trace_abandon(&st.w); /* killed: it ends with its last record */
    stage_open(&st, 200, T0 + 4 * MS);
    at120 = stage_at(&st, AT(APP, 120));
    stage_alloc(&st, 0, 7000, at120, 16, 2 << 20, 2 * MB);
    analyse();
    for (int i = 0; i < 38; i++)
        curve_is(stage_line(m, APP_C, 120), i, i == 2 || i == 3 ? 4 : i >= 26 ? 2 : 0);
}

static void sampled_allocations_stand_for_more(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++) /* 1 KiB each, one in 512 seen */
        stage_alloc(&st, 0, i, at120, 16 + i, 1024, 512 * 1024.0);
    analyse();
    const struct model_line *a = stage_line(m, APP_C, 120);
    NEAR(a->mem.alloc_mb, 50);
    NEAR(a->mem.n, 51200);
    NEAR(a->mem.n_error, sqrt(100 * 512.0 * 511));
    NEAR(a->mem.error_mb, sqrt(100 * 524288.0 * (524288 - 1024)) / MB);
}

static void another_thread_frees(void **state)
{
    (void)state;
    int other = stage_thread(&st, 101, "other", 0);
    stage_free(&st, other, 500, 16); /* its chunk stands before the allocation's */
    for (uint64_t i = 0; i < 2000; i++)
        stage_alloc(&st, 0, 0, at210, 1000 + i, 8, 8);
    stage_alloc(&st, 0, 100, at120, 16, 1 << 20, MB);
    analyse();
    NEAR(stage_line(m, APP_C, 120)->mem.live_end_mb, 0);
    NEAR(stage_line(m, APP_C, 120)->mem.avg_mb, 0.4 / 10);
    assert_null(stage_item(m, "heap.no_free"));
}

/* XLA's workers allocate what the main thread's line asked for. */
static void workers_borrow_the_line_of_the_main_thread(void **state)
{
    (void)state;
    uint64_t code = stage_code(&st, "/p/prog.py", "main", 1);
    const uint64_t main_at[] = {AT(EVAL, 1), 5 | TRACE_PYTHON_ENTRY, code};
    const uint64_t own[] = {AT(EVAL, 1), 9 | TRACE_PYTHON_ENTRY, code};
    uint64_t a = stage_stack(&st, main_at, 1, 1), b = stage_stack(&st, own, 1, 1);
    uint64_t work = stage_at(&st, AT(NATIVE_LIB, 9));
    int worker = stage_thread(&st, 101, "worker", 0);
    stage_alloc(&st, worker, 150, work, 16, 1 << 20, 8 * MB); /* while main waits at line 5 */
    stage_alloc(&st, worker, 151, b, 32, 2 << 20, 2 * MB);    /* has Python itself */
    stage_alloc(&st, worker, 900, work, 48, 4 << 20, 4 * MB); /* nothing near */
    stage_free(&st, 0, 160, 16);
    stage_wait(&st, 100, 200, a, 100, TRACE_SLEEP);
    analyse();
    const struct model_line *line = stage_line(m, ".../prog.py", 5);
    NEAR(line->mem.alloc_mb, 8);
    NEAR(line->mem.n, 8);
    assert_near(line->mem.error_mb, sqrt(56), 1e-6);
    NEAR(line->mem.peak_mb, 1); /* one that stands for eight: no more is certain */
    NEAR(line->mem.live_end_mb, 0);
    NEAR(stage_line(m, ".../prog.py", 9)->mem.alloc_mb, 2);
    assert_int_equal(m->unattributed_count, 1);
    NEAR(m->unattributed[0].alloc_mb, 4);
    NEAR(m->totals.alloc_mb, 14);
    NEAR(stage_item(m, "mem.borrowed")->share, 8.0 / 14);
}

/* Rare samples of small blocks that live for a moment, 64 MiB each: they stand for a rate, not for
 * memory that was ever there at once. */
static void a_heavy_sample_is_no_peak(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 500; i++) {
        stage_alloc(&st, 0, 10 + 10 * i, at120, 16 + 32 * i, 4096, 64 * MB);
        stage_free(&st, 0, 10 + 10 * i, 16 + 32 * i);
    }
    stage_alloc(&st, 0, 6000, at210, 8, 4 << 20, 4 * MB);
    analyse();
    NEAR(stage_line(m, APP_C, 120)->mem.alloc_mb, 500 * 64);
    NEAR(stage_line(m, APP_C, 120)->mem.peak_mb, 4096 / 1048576.0);
    NEAR(m->totals.peak_heap_mb, 4);
    NEAR(m->memory.peak_s, 6);
}

static void an_address_that_comes_again_was_freed(void **state)
{
    (void)state;
    stage_alloc(&st, 0, 0, at120, 16, 1 << 20, MB);
    stage_alloc(&st, 0, 10, at210, 16, 1 << 20, MB);
    analyse();
    NEAR(stage_line(m, APP_C, 120)->mem.live_end_mb, 0);
    NEAR(stage_line(m, APP_C, 210)->mem.live_end_mb, 1);
    assert_int_equal(stage_item(m, "heap.no_free")->count, 1);
}

static void mappings_go_in_parts(void **state)
{
    (void)state;
    struct trace_alloc a = {.r = {.kind = TRACE_ALLOC, .time_ns = T0 + MS},
                            .address = 1 << 30,
                            .bytes = 8 << 20,
                            .stack = at120,
                            .weight = 8 * MB,
                            .heap = TRACE_MMAP,
                            .tid = 100};
    stage_put(&st, 0, &a);
    struct trace_free f = {.r = {.kind = TRACE_FREE, .time_ns = T0 + 2 * MS},
                           .address = (1 << 30) + (1 << 20),
                           .bytes = 2 << 20,
                           .heap = TRACE_MMAP,
                           .tid = 100};
    stage_put(&st, 0, &f);
    f.address = 1 << 30, f.bytes = 1 << 20, f.r.time_ns += MS;
    stage_put(&st, 0, &f);
    analyse();
    NEAR(stage_line(m, APP_C, 120)->mem.live_end_mb, 5);
    NEAR(stage_line(m, APP_C, 120)->mem.peak_mb, 8);
}

static void what_is_hardly_ever_freed_is_suspected(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 40; i++) {
        stage_alloc(&st, 0, 100 * i, at120, 1000 + i, 1 << 20, MB);
        stage_alloc(&st, 0, 100 * i, at210, 2000 + i, 1 << 20, MB);
        stage_free(&st, 0, 100 * i + 50, 2000 + i);
    }
    analyse();
    assert_int_equal(m->memory.leaks_count, 1);
    const struct model_leak *l = &m->memory.leaks[0];
    assert_int_equal(l->line, 120);
    NEAR(l->score, 1 - 1.0 / 42);
    NEAR(l->live_mb, 40);
    NEAR(l->velocity_mb_s, 4);
    assert_true(stage_line(m, APP_C, 210)->mem.leak_score < 0.1);
    int told = 0;
    for (int i = 0; i < m->findings_count; i++)
        told += !strcmp(m->findings[i].id, "mem.leak");
    assert_int_equal(told, 1);
}

static void a_large_block_that_stays_is_no_leak(void **state)
{
    (void)state;
    stage_alloc(&st, 0, 0, at120, 16, 1 << 30, 1024 * MB);
    analyse();
    assert_int_equal(m->memory.leaks_count, 0);
}

static void footprints_are_thinned_and_keep_their_peak(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 5000; i++) {
        struct trace_footprint f = {.r = {.kind = TRACE_FOOTPRINT, .time_ns = T0 + i * MS},
                                    .rss = i == 3333 ? 900 << 20 : 100 << 20,
                                    .heap_live = 5 << 20};
        stage_put(&st, 0, &f);
    }
    struct trace_copy c = {
        .r = {.kind = TRACE_COPY, .time_ns = T0}, .stack = at120, .weight = 3 * MB, .tid = 100};
    stage_put(&st, 0, &c);
    analyse();
    NEAR(m->totals.peak_rss_mb, 900);
    NEAR(m->processes[0].peak_rss_mb, 900);
    assert_int_equal(m->memory.series_count, 1);
    assert_in_range(m->memory.series[0].t_s_count, 400, 1000);
    NEAR(stage_line(m, APP_C, 120)->copy.host_mb, 3);
    NEAR(stage_line(m, APP_C, 120)->copy.host_mb_s, 0.3);
}

static void impossible_values_are_left_out(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, -1, 1e300};
    for (int i = 0; i < 4; i++)
        stage_alloc(&st, 0, 1, at120, 16 + (uint64_t)i, 1024, bad[i]);
    stage_alloc(&st, 0, 1, at120, 99, UINT64_MAX, 1);
    stage_sample(&st, 0, 1, at120, 1ull << 40, TRACE_USER);
    struct trace_sample s = {.r = {.kind = TRACE_SAMPLE, .time_ns = UINT64_MAX},
                             .stack = at120,
                             .weight_ns = MS,
                             .tid = 100};
    stage_put(&st, 0, &s);
    struct trace_wait w = {.r = {.kind = TRACE_WAIT, .time_ns = 1},
                           .stack = at120,
                           .weight_ns = MS,
                           .tid = 100,
                           .state = -7};
    stage_put(&st, 0, &w);
    w.state = TRACE_SLEEP;
    stage_put(&st, 0, &w);
    struct trace_range r = {.r = {.kind = TRACE_RANGE, .time_ns = T0}, .op = 99, .tid = 100};
    stage_put(&st, 0, &r);
    r.op = TRACE_POP;
    stage_put(&st, 0, &r);
    stage_text(&st, "\001\002\377\"</script>");
    stage_meta(&st, "bad\nkey\377", "\377\376\001");
    analyse();
    NEAR(stage_line(m, APP_C, 120)->cpu.user, 0.001);
    NEAR(m->totals.alloc_mb, 0);
    assert_true(stage_item(m, "trace.bad_values")->count >= 9);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, before_heap, after)
    const struct CMUnitTest tests[] = {
        CASE(peak_and_what_was_live_then),
        CASE(a_heavy_sample_is_no_peak),
        CASE(a_line_has_its_memory_over_time),
        CASE(curves_of_processes_share_their_bins),
        CASE(sampled_allocations_stand_for_more),
        CASE(another_thread_frees),
        CASE(workers_borrow_the_line_of_the_main_thread),
        CASE(an_address_that_comes_again_was_freed),
        CASE(mappings_go_in_parts),
        CASE(what_is_hardly_ever_freed_is_suspected),
        CASE(a_large_block_that_stays_is_no_leak),
        CASE(footprints_are_thinned_and_keep_their_peak),
        CASE(impossible_values_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
