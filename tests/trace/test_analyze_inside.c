/* links: tp_stage tp_analyze tp_trace */
/* Samples inside kernels become lines of device code, with the chain of inlined calls. Offsets and
 * lines of sm_90.cubin are nvdisasm's. */
#include <stdio.h>

#include "base/file.h"
#include "profiler/trace/stalls.h"
#include "tests/trace/gpu_case.h"

enum { HASH = 0xabc };
#define PROJECT "_Z7projectPfPKfi"

static void inside_code(const char *name)
{
    char from[300], to[300], *bytes;
    size_t n;
    snprintf(from, sizeof from, TP_DATA "/cubins/%s.cubin", name);
    snprintf(to, sizeof to, "%s/trace/cubin-%016x.bin", stage_folder, HASH);
    assert_ok(file_read_all(from, 1 << 24, &bytes, &n));
    struct outfile f;
    assert_ok(outfile_open(&f, to));
    assert_ok(outfile_write(&f, bytes, n));
    assert_ok(outfile_commit(&f));
    free(bytes);
    struct trace_cubin c = {
        .r = {.kind = TRACE_CUBIN, .time_ns = T0}, .hash = HASH, .bytes = n, .saved = 1};
    stage_put(&st, 0, &c);
}

/* The record says that it has `named` reasons; it has two. */
static void inside_sample(uint64_t cubin, uint64_t offset, uint32_t reason, uint32_t count,
                          uint32_t named)
{
    const struct trace_stall_count tail[] = {{reason, count}, {TRACE_STALL_ISSUES, 1}};
    struct trace_gpu_samples s = {.r = {.kind = TRACE_GPU_SAMPLES, .time_ns = T0},
                                  .cubin = cubin,
                                  .name = stage_text(&st, PROJECT),
                                  .offset = offset,
                                  .stalls = named};
    trace_put(&st.s[0], &s.r, sizeof s, tail, sizeof tail);
}

static const struct model_device_line *inside_line(int line, int called)
{
    for (int i = 0; i < m->device_lines_count; i++)
        if (m->device_lines[i].line == line && (!called || m->device_lines[i].called_at_count))
            return &m->device_lines[i];
    return NULL;
}

static void lines_have_their_part_of_the_kernel(void **state)
{
    (void)state;
    inside_code("sm_90");
    launch(1, at120, 1);
    kernel(10, 30, PROJECT, 1);
    inside_sample(HASH, 0x1d0, TRACE_STALL_MEMORY, 5, 2); /* weight at 15 in sample at 25 */
    inside_sample(HASH, 0x1d0, TRACE_STALL_MEMORY, 3, 2); /* a later fetch of the same */
    inside_sample(HASH, 0x430, 77, 9, 2);                 /* a reason of a later version, at 26 */
    analyse();
    assert_int_equal(m->device_lines_count, 2);
    const struct model_device_line *l = inside_line(5, 1), *own = inside_line(26, 0);
    assert_non_null(l);
    assert_non_null(own);
    assert_string_equal(l->function, "weight(float, float)");
    assert_int_equal(l->called_at_count, 2);
    assert_int_equal(l->called_at[0].line, 15);
    assert_int_equal(l->called_at[1].line, 25);
    assert_int_equal(l->samples, 10);
    assert_string_equal(l->stalls[0].reason, "memory");
    assert_int_equal(l->stalls[0].samples, 8);
    assert_string_equal(own->stalls[0].reason, "other");
    assert_null(own->function);
    NEAR(l->share, 0.5);
    NEAR(l->s, 0.010);
    NEAR(stage_line(m, l->file, 5)->gpu.inside_s, 0.010);
    NEAR(stage_line(m, l->file, 25)->gpu.inside_s, 0);
    NEAR(stage_line(m, l->file, 25)->gpu.inside_incl_s, 0.010);
    NEAR(stage_line(m, l->file, 26)->gpu.inside_incl_s, 0.010);
}

static void code_without_lines_has_a_row_of_its_kernel(void **state)
{
    (void)state;
    inside_code("plain");
    launch(1, at120, 1);
    kernel(10, 30, PROJECT, 1);
    inside_sample(HASH, 0x1d0, TRACE_STALL_MEMORY, 5, 2);
    inside_sample(0x123, 0x40, TRACE_STALL_MEMORY, 3, 2); /* its code was not saved */
    analyse();
    assert_int_equal(m->device_lines_count, 1);
    assert_null(m->device_lines[0].file);
    assert_int_equal(m->device_lines[0].line, MODEL_UNKNOWN);
    assert_int_equal(m->device_lines[0].samples, 10);
    NEAR(m->device_lines[0].s, 0.020);
}

static void a_record_that_names_too_many_reasons_is_torn(void **state)
{
    (void)state;
    inside_sample(HASH, 0x1d0, TRACE_STALL_MEMORY, 5, 1000);
    launch(1, at120, 1);
    kernel(10, 30, PROJECT, 1);
    analyse();
    assert_int_equal(m->device_lines_count, 0);
    assert_non_null(stage_item(m, "damage.torn"));
    assert_true(isnan(stage_line(m, APP_C, 120)->gpu.inside_s));
}

static void names_of_reasons_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum trace_stall stall;
    } rows[] = {{"long_scoreboard", TRACE_STALL_MEMORY},
                {"long_sb", TRACE_STALL_MEMORY},
                {"short_scoreboard", TRACE_STALL_SHARED},
                {"short_sb", TRACE_STALL_SHARED},
                {"lg_throttle", TRACE_STALL_MEMORY_QUEUE},
                {"mio_throttle", TRACE_STALL_SHARED_QUEUE},
                {"mio", TRACE_STALL_SHARED_QUEUE},
                {"math_pipe_throttle", TRACE_STALL_MATH},
                {"membar", TRACE_STALL_FENCE},
                {"misc", TRACE_STALL_OTHER},
                {"no_instruction", TRACE_STALL_FETCH},
                {"no_inst", TRACE_STALL_FETCH},
                {"not_selected", TRACE_STALL_NOT_CHOSEN},
                {"selected", TRACE_STALL_ISSUES},
                {"sleeping", TRACE_STALL_SLEEPS},
                {"wait", TRACE_STALL_FIXED},
                {"warpgroup_arrive", TRACE_STALL_GROUP},
                {"branch_resolving", TRACE_STALL_BRANCH},
                {"dispatch_stall", TRACE_STALL_DISPATCH},
                {"a_new_one", TRACE_STALL_OTHER}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(trace_stall_of(rows[i].name), rows[i].stall);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, before_gpu, after)
    const struct CMUnitTest tests[] = {
        CASE(lines_have_their_part_of_the_kernel),
        CASE(code_without_lines_has_a_row_of_its_kernel),
        CASE(a_record_that_names_too_many_reasons_is_torn),
        cmocka_unit_test(names_of_reasons_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
