/* links: tp_traces pthread */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/trace/brief.h"
#include "tests/trace/traces.h"
#include "tests/unit/check.h"

static const uint8_t run_id[16] = "run";

static struct trace_writer brief_created(struct trace_stream *s)
{
    struct trace_writer w;
    assert_int_equal(trace_create_brief(&w, traces_folder, run_id, 0, 0, NULL), 0);
    trace_stream_open(s, &w, 1);
    return w;
}

/* The only trace of the folder: `records` of it, undamaged. */
static struct trace_header only_trace(size_t records, int is_member)
{
    char **paths;
    size_t count;
    assert_ok(trace_list(traces_folder, &paths, &count));
    assert_int_equal(count, 1);
    assert_int_equal(strstr(paths[0], ".tpb@") != NULL, is_member);
    struct reading r = reading_of(paths[0]);
    assert_true(reading_clean(&r));
    assert_int_equal(r.count, records);
    struct trace_header h = r.header;
    reading_free(&r);
    trace_list_free(paths, count);
    return h;
}

static void what_ends_soon_is_added_whole(void **state)
{
    (void)state;
    enum { TRACES = 50 };
    char **paths;
    size_t count, records = 0, expected = 0;
    traces_empty();
    for (int i = 0; i < TRACES; i++) {
        struct trace_stream s;
        struct trace_writer w = brief_created(&s);
        s.writer = &w;
        for (int k = 0; k <= i; k++, expected++)
            assert_true(put_text(&s, (uint64_t)k + 1, (size_t)k));
        trace_lost(&w, TRACE_LOST_SAMPLES, (uint64_t)i);
        assert_true(access(w.path, F_OK));
        trace_finish(&w, TRACE_EXIT, i);
        trace_stream_close(&s);
        trace_abandon(&w);
    }
    assert_ok(trace_list(traces_folder, &paths, &count));
    assert_int_equal(count, TRACES);
    for (size_t i = 0; i < count; i++) {
        struct reading r = reading_of(paths[i]);
        assert_true(reading_clean(&r) && !r.damage.unsealed);
        assert_true(r.header.end == TRACE_EXIT && r.header.end_detail == (int)i);
        assert_int_equal(r.header.lost[TRACE_LOST_SAMPLES], i);
        records += r.count;
        struct trace_reader *reader;
        assert_ok(trace_open(paths[i], &reader));
        assert_true(trace_reader_is_own(reader));
        trace_reader_free(reader);
        reading_free(&r);
    }
    assert_int_equal(records, expected);
    trace_list_free(paths, count);
}

static void what_records_more_has_a_file(void **state)
{
    (void)state;
    struct trace_stream s;
    traces_empty();
    struct trace_writer w = brief_created(&s);
    s.writer = &w;
    assert_true(put_text(&s, 1, 100) && put_sample(&s, 2));
    trace_lost(&w, TRACE_LOST_SAMPLES, 3);
    assert_true(put_text(&s, 3, TRACE_CHUNK_FIRST) && put_sample(&s, 4));
    only_trace(4, 0); /* as after a SIGKILL now */
    trace_lost(&w, TRACE_LOST_SAMPLES, 4);
    trace_finish(&w, TRACE_QUICK, 5);
    trace_stream_close(&s);
    struct trace_header h = only_trace(4, 0);
    assert_true(h.end == TRACE_QUICK && h.end_detail == 5 && h.lost[TRACE_LOST_SAMPLES] == 7);
    trace_abandon(&w);
}

static void *other_thread(void *given)
{
    struct trace_stream s;
    trace_stream_open(&s, given, 2);
    int written = put_sample(&s, 50);
    trace_stream_close(&s);
    return written ? given : NULL;
}

/* The first one sleeps: what it has recorded is there before it wakes. */
static void a_second_thread_moves_the_first_ones_records(void **state)
{
    (void)state;
    struct trace_stream s;
    pthread_t thread;
    void *written;
    traces_empty();
    struct trace_writer w = brief_created(&s);
    s.writer = &w;
    for (int i = 1; i <= 5; i++)
        assert_true(put_sample(&s, (uint64_t)i));
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &w), 0);
    pthread_join(thread, &written);
    assert_non_null(written);
    only_trace(6, 0);
    for (int i = 6; i <= 5000; i++)
        assert_true(put_sample(&s, (uint64_t)i));
    trace_finish(&w, TRACE_EXIT, 0);
    trace_stream_close(&s);
    only_trace(5001, 0);
    trace_abandon(&w);
}

/* Records while another thread moves the trace: none is lost or twice there. */
static void records_beside_the_move_are_kept(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        struct trace_stream s;
        pthread_t thread;
        uint64_t n = 0;
        traces_empty();
        struct trace_writer w = brief_created(&s);
        s.writer = &w;
        assert_true(put_sample(&s, ++n));
        assert_int_equal(pthread_create(&thread, NULL, other_thread, &w), 0);
        while (w.state != TRACE_IN_FILE && n < 150)
            assert_true(put_sample(&s, ++n));
        pthread_join(thread, NULL);
        assert_true(put_sample(&s, ++n));
        trace_finish(&w, TRACE_EXIT, 0);
        trace_stream_close(&s);
        only_trace(n + 1, 0);
        trace_abandon(&w);
    }
}

/* The process ends while the library's thread moves the trace. */
static void an_end_beside_the_move_is_kept(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct trace_stream s;
        pthread_t thread;
        traces_empty();
        struct trace_writer w = brief_created(&s);
        s.writer = &w;
        assert_true(put_sample(&s, 1) && put_sample(&s, 2));
        assert_int_equal(pthread_create(&thread, NULL, other_thread, &w), 0);
        for (volatile int i = 0; i < round * 500; i++)
            ;
        trace_finish(&w, TRACE_EXIT, round);
        trace_stream_close(&s);
        char **paths;
        size_t count;
        assert_ok(trace_list(traces_folder, &paths, &count));
        assert_int_equal(count, 1);
        struct reading r = reading_of(paths[0]);
        assert_true(reading_clean(&r) && r.header.end == TRACE_EXIT);
        assert_true(r.header.end_detail == round && reading_count(&r, 1) == 2);
        reading_free(&r);
        trace_list_free(paths, count);
        pthread_join(thread, NULL);
        trace_abandon(&w);
    }
}

static void an_exec_that_fails_leaves_one_trace(void **state)
{
    (void)state;
    struct trace_stream s;
    traces_empty();
    struct trace_writer w = brief_created(&s);
    s.writer = &w;
    put_sample(&s, 1);
    trace_finish(&w, TRACE_EXEC, 0);
    assert_int_equal(only_trace(1, 1).end, TRACE_EXEC);
    trace_finish(&w, TRACE_RUNNING, 0);
    put_sample(&s, 2);
    assert_int_equal(only_trace(2, 0).end, TRACE_RUNNING);
    trace_finish(&w, TRACE_QUICK, 127);
    trace_stream_close(&s);
    assert_int_equal(only_trace(2, 0).end_detail, 127);
    trace_abandon(&w);
}

static void a_forked_child_has_its_own(void **state)
{
    (void)state;
    struct trace_stream s;
    int status;
    traces_empty();
    struct trace_writer w = brief_created(&s);
    s.writer = &w;
    put_sample(&s, 1);
    pid_t child = fork();
    if (!child) {
        int bad = put_sample(&s, 99);
        trace_finish(&w, TRACE_EXIT, 9);
        trace_stream_close(&s);
        trace_abandon(&w);
        bad += trace_create_brief(&w, traces_folder, run_id, 0, 0, NULL);
        trace_stream_open(&s, &w, 2);
        bad += !put_sample(&s, 50) + !put_sample(&s, 51);
        trace_finish(&w, TRACE_EXIT, 0);
        trace_stream_close(&s);
        _exit(bad);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(only_trace(2, 1).pid, child);
    trace_stream_close(&s);
    trace_abandon(&w);
}

/* A process that ends asleep gives its own memory, which is used again where the exec failed. */
static void memory_of_the_caller_serves_again(void **state)
{
    (void)state;
    static char memory[BRIEF_BYTES] __attribute__((aligned(TRACE_PAGE)));
    struct trace_stream s;
    struct trace_writer w;
    int status;
    for (int round = 0; round < 2; round++) {
        traces_empty();
        assert_int_equal(trace_create_brief(&w, traces_folder, run_id, 0, 0, memory), 0);
        trace_stream_open(&s, &w, 1);
        assert_true(put_sample(&s, 1));
        trace_finish(&w, TRACE_EXEC, 0);
        assert_int_equal(only_trace(1, 1).end, TRACE_EXEC);
        trace_finish(&w, TRACE_RUNNING, 0);
        assert_true(put_sample(&s, 2));
        pid_t child = fork();
        if (!child)
            _exit(put_sample(&s, 99));
        waitpid(child, &status, 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        trace_finish(&w, TRACE_EXIT, round);
        trace_stream_close(&s);
        struct trace_header h = only_trace(2, 0);
        assert_true(h.end == TRACE_EXIT && h.end_detail == round);
        trace_abandon(&w);
    }
}

/* The clock of another process is taken where its offset is that of this one. */
static void a_clock_that_is_told(void **state)
{
    (void)state;
    char told[TRACE_CLOCK_TEXT], other[TRACE_CLOCK_TEXT];
    const uint64_t own = trace_clock_id();
    trace_clock_text(told);
    assert_true(own && strtoull(told, NULL, 16) == own);
    const long long offset = atoll(strchr(told, ':') + 1);
    const char *const bad[] = {"", ":", "12", "12:", "12:x", "x:12", "12:-5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        trace_clock_given(bad[i]);
    snprintf(other, sizeof other, "1234:%lld", offset + 1000000);
    trace_clock_given(other);
    assert_int_equal(trace_clock_id(), own);
    snprintf(other, sizeof other, "1234:%lld", offset);
    for (int i = 0; i < 100 && trace_clock_id() == own; i++) /* each reading may be interrupted */
        trace_clock_given(other);
    assert_int_equal(trace_clock_id(), 0x1234);
    for (int i = 0; i < 100 && trace_clock_id() != own; i++)
        trace_clock_given(told);
    assert_int_equal(trace_clock_id(), own);
}

/* Another thread has begun to move it and does not go on, as on a busy machine: the file that it made
 * has a part of the records by then, in the worst case. */
static void an_end_beside_a_move_that_stands_still_is_kept(void **state)
{
    (void)state;
    static const enum trace_end ends[] = {TRACE_EXIT, TRACE_QUICK, TRACE_EXEC};
    for (size_t i = 0; i < 2 * sizeof ends / sizeof *ends; i++) {
        struct trace_stream s;
        traces_empty();
        struct trace_writer w = brief_created(&s);
        s.writer = &w;
        put_sample(&s, 1);
        if (i & 1) {
            struct trace_writer whole = w;
            assert_int_equal(trace_to_file(&whole), 0);
            syscall(SYS_close, whole.fd);
        }
        w.state = TRACE_MOVING;
        w.mover = 1;
        put_sample(&s, 2);
        trace_finish(&w, ends[i / 2], 7);
        struct trace_header h = only_trace(2, 1);
        assert_true(h.end == (uint32_t)ends[i / 2] && h.end_detail == 7);
        trace_stream_close(&s);
        trace_abandon(&w);
    }
}

/* The thread goes on after all, and so does the program. */
static void an_exec_that_fails_beside_a_move_leaves_one_trace(void **state)
{
    (void)state;
    struct trace_stream s;
    traces_empty();
    struct trace_writer w = brief_created(&s);
    s.writer = &w;
    put_sample(&s, 1);
    struct trace_writer mover = w;
    assert_int_equal(trace_to_file(&mover), 0);
    w.state = TRACE_MOVING;
    w.mover = 1;
    trace_finish(&w, TRACE_EXEC, 0);
    only_trace(1, 1);
    w = mover;
    w.hidden = 1;
    trace_finish(&w, TRACE_RUNNING, 0);
    put_sample(&s, 2);
    trace_finish(&w, TRACE_EXIT, 3);
    assert_int_equal(only_trace(2, 0).end_detail, 3);
    trace_stream_close(&s);
    trace_abandon(&w);
}

/* Leaves out what a full disk has kept of the last write. */
static void a_torn_member_harms_no_other(void **state)
{
    (void)state;
    char **paths, file[600];
    size_t count;
    traces_empty();
    for (int i = 0; i < 3; i++) {
        struct trace_stream s;
        struct trace_writer w = brief_created(&s);
        s.writer = &w;
        put_text(&s, 1, 100);
        trace_finish(&w, TRACE_EXIT, i);
        trace_stream_close(&s);
        trace_abandon(&w);
        if (i)
            continue;
        assert_ok(trace_list(traces_folder, &paths, &count));
        snprintf(file, sizeof file, "%.*s", (int)(strchr(paths[0], '@') - paths[0]), paths[0]);
        trace_list_free(paths, count);
    }
    struct stat st;
    assert_int_equal(stat(file, &st), 0);
    char bytes[64];
    for (off_t cut = st.st_size - 1; cut > st.st_size * 2 / 3; cut -= 16) {
        assert_int_equal(truncate(file, cut), 0);
        assert_ok(trace_list(traces_folder, &paths, &count));
        assert_int_equal(count, 2);
        trace_list_free(paths, count);
    }
    memset(bytes, 0xa5, sizeof bytes);
    patch(file, 0, bytes, sizeof bytes);
    assert_ok(trace_list(traces_folder, &paths, &count));
    assert_int_equal(count, 1);
    struct reading r = reading_of(paths[0]);
    assert_true(reading_clean(&r) && r.header.end_detail == 1);
    reading_free(&r);
    trace_list_free(paths, count);
}

/* The common file grows with every process: a limit on its size would be met by the wrong one. */
static void a_limit_of_size_gives_it_a_file(void **state)
{
    (void)state;
    struct rlimit was, limit;
    struct trace_stream s;
    traces_empty();
    getrlimit(RLIMIT_FSIZE, &was);
    limit = (struct rlimit){1 << 20, was.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    struct trace_writer w = brief_created(&s);
    s.writer = &w;
    put_sample(&s, 1);
    trace_finish(&w, TRACE_EXIT, 4);
    trace_stream_close(&s);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_int_equal(only_trace(1, 0).end_detail, 4);
    trace_abandon(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ends_soon_is_added_whole),
        cmocka_unit_test(what_records_more_has_a_file),
        cmocka_unit_test(a_second_thread_moves_the_first_ones_records),
        cmocka_unit_test(records_beside_the_move_are_kept),
        cmocka_unit_test(an_end_beside_the_move_is_kept),
        cmocka_unit_test(an_exec_that_fails_leaves_one_trace),
        cmocka_unit_test(an_end_beside_a_move_that_stands_still_is_kept),
        cmocka_unit_test(an_exec_that_fails_beside_a_move_leaves_one_trace),
        cmocka_unit_test(a_forked_child_has_its_own),
        cmocka_unit_test(memory_of_the_caller_serves_again),
        cmocka_unit_test(a_clock_that_is_told),
        cmocka_unit_test(a_torn_member_harms_no_other),
        cmocka_unit_test(a_limit_of_size_gives_it_a_file),
    };
    return cmocka_run_group_tests(tests, traces_set_up, traces_tear_down);
}
