/* links: tp_traces pthread */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/trace/traces.h"
#include "tests/unit/check.h"

static const uint8_t run_id[16] = "run";

static struct trace_writer created(uint64_t byte_limit)
{
    struct trace_writer w;
    traces_empty();
    assert_int_equal(trace_create(&w, traces_folder, run_id, byte_limit), 0);
    return w;
}

static void checksums_are_crc32c(void **state)
{
    (void)state;
    static uint8_t bytes[70000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i >> 3);
    assert_int_equal(trace_crc(0, "123456789", 9), 0xe3069283);
    assert_int_equal(trace_crc(0, "", 0), 0);
    for (size_t n = 0; n < sizeof bytes; n = n < 40 ? n + 1 : n * 5 / 4 + 3) {
        uint32_t bitwise = ~0u;
        for (size_t i = 0; i < n; i++) {
            bitwise ^= bytes[i];
            for (int k = 0; k < 8; k++)
                bitwise = bitwise >> 1 ^ (bitwise & 1 ? 0x82f63b78 : 0);
        }
        assert_int_equal(trace_crc(0, bytes, n), ~bitwise);
        assert_int_equal(trace_crc(trace_crc(0, bytes, n / 3), bytes + n / 3, n - n / 3), ~bitwise);
    }
}

static void hashes_differ_by_content_length_and_seed(void **state)
{
    (void)state;
    static const char zeros[16];
    assert_true(trace_hash(zeros, 0, 0) != 0);
    assert_true(trace_hash(zeros, 8, 0) != trace_hash(zeros, 9, 0));
    assert_true(trace_hash(zeros, 8, 0) != trace_hash(zeros, 8, 1));
    assert_true(trace_hash("a", 1, 0) != trace_hash("b", 1, 0));
    assert_true(trace_hash("a", 1, 7) == trace_hash("a", 1, 7));
}

static void a_tail_too_long_is_cut_and_its_length_fits(void **state)
{
    (void)state;
    static uint64_t frames[6000];
    struct trace_writer w = created(0);
    struct trace_stream s;
    struct trace_stack stack = {.r.kind = TRACE_STACK, .id = 5, .native = 3000, .python = 1500};
    trace_stream_open(&s, &w, 1);
    assert_int_equal(put_text(&s, 1, TRACE_RECORD_MAX + 100), 1);
    assert_int_equal(put_text(&s, 2, TRACE_RECORD_MAX - sizeof(struct trace_text)), 1);
    assert_int_equal(trace_put2(&s, &stack.r, sizeof stack, frames, 24000, frames, 24000), 1);
    stack.native = 6000;
    assert_int_equal(trace_put2(&s, &stack.r, sizeof stack, frames, 48000, frames, 24000), 1);
    trace_stream_close(&s);

    struct trace_reader *reader;
    struct trace_item item;
    int more;
    size_t most = TRACE_RECORD_MAX - sizeof stack;
    assert_ok(trace_open(w.path, &reader));
    for (int i = 0; i < 4; i++) {
        assert_ok(trace_next(reader, &item, &more));
        assert_int_equal(more, 1);
        assert_int_equal(item.record->flags, i == 1 ? 0 : TRACE_CUT);
        const struct trace_stack *got = (const struct trace_stack *)item.record;
        if (i < 2)
            assert_int_equal(((const struct trace_text *)got)->bytes, most);
        else
            assert_int_equal(got->native, i == 2 ? 3000 : most / 8);
        if (i >= 2)
            assert_int_equal(got->python, i == 2 ? (most - 24000) / 16 : 0);
    }
    assert_ok(trace_next(reader, &item, &more));
    assert_int_equal(more, 0);
    trace_reader_free(reader);
    trace_abandon(&w);
}

struct job {
    pthread_t thread;
    struct trace_writer *writer;
    uint32_t tid;
    int records, size;
    pthread_barrier_t *together; /* NULL, or waits there for the others now and then */
};

static void *work(void *argument)
{
    struct job *job = argument;
    struct trace_stream s;
    trace_stream_open(&s, job->writer, job->tid);
    for (int i = 0; i < job->records; i++) {
        if (job->together && i % 1000 == 0)
            pthread_barrier_wait(job->together);
        put_text(&s, (uint64_t)i, (size_t)(i % job->size));
    }
    trace_stream_close(&s);
    return NULL;
}

static void threads_interleave_and_keep_their_own_order(void **state)
{
    (void)state;
    struct trace_writer w = created(0);
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, 2);
    struct job jobs[2] = {
        {.writer = &w, .tid = 10, .records = 30000, .size = 90, .together = &together},
        {.writer = &w, .tid = 11, .records = 30000, .size = 200, .together = &together}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&jobs[i].thread, NULL, work, &jobs[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(jobs[i].thread, NULL);
    pthread_barrier_destroy(&together);
    struct reading r = reading_of(w.path);
    assert_true(reading_clean(&r));
    assert_int_equal(r.damage.unsealed, 0);
    uint64_t next[2] = {0, 0};
    int changes = 0;
    for (size_t i = 0; i < r.count; i++) {
        assert_int_equal(r.seen[i].id, next[r.seen[i].tid - 10]++);
        changes += i && r.seen[i].tid != r.seen[i - 1].tid;
    }
    assert_true(next[0] == 30000 && next[1] == 30000 && changes > 1);
    assert_int_equal(w.header->lost[TRACE_LOST_RECORDS], 0);
    assert_int_equal(w.header->file_bytes % TRACE_PAGE, 0);
    reading_free(&r);
    trace_abandon(&w);
}

static void a_thousand_threads_work_and_their_memory_comes_back(void **state)
{
    (void)state;
    enum { THREADS = 1000 };
    static struct job jobs[THREADS];
    struct trace_writer w = created(0);
    uint64_t before = w.header->capture_bytes;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.writer = &w, .tid = (uint32_t)i + 1, .records = 50, .size = 40};
        assert_int_equal(pthread_create(&jobs[i].thread, &small, work, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(jobs[i].thread, NULL);
    pthread_attr_destroy(&small);
    struct reading r = reading_of(w.path);
    assert_true(reading_clean(&r));
    assert_int_equal(r.count, THREADS * 50);
    assert_int_equal(w.header->capture_bytes, before);
    assert_int_equal(w.header->file_bytes, TRACE_HEADER_BYTES + THREADS * TRACE_CHUNK_FIRST);
    reading_free(&r);
    trace_abandon(&w);
}

static void mapped_memory_is_accounted(void **state)
{
    (void)state;
    struct trace_writer w = created(0);
    struct trace_stream s;
    uint64_t before = w.header->capture_bytes;
    trace_stream_open(&s, &w, 1);
    assert_int_equal(w.header->capture_bytes, before);
    put_sample(&s, 1);
    assert_int_equal(w.header->capture_bytes, before + TRACE_CHUNK_FIRST);
    while (s.sequence < 5)
        put_text(&s, 1, 1000);
    assert_int_equal(w.header->capture_bytes, before + TRACE_CHUNK_BYTES);
    trace_stream_close(&s);
    assert_int_equal(w.header->capture_bytes, before);
    trace_abandon(&w);
}

/* Records lost by a full disk and the like are counted, the rest reads. */
static void fill(struct trace_writer *w, int why)
{
    struct trace_stream s;
    uint64_t written = 0, lost = 0;
    trace_stream_open(&s, w, 1);
    errno = 77;
    for (uint64_t i = 0; i < 20000; i++)
        *(put_text(&s, written, 100) ? &written : &lost) += 1;
    assert_int_equal(errno, 77);
    assert_int_equal(w->failed, why);
    assert_true(written > 100 && lost > 100);
    assert_int_equal(w->header->lost[TRACE_LOST_RECORDS], lost);
    trace_stream_close(&s);
    struct reading r = reading_of(w->path);
    assert_true(reading_clean(&r));
    assert_int_equal(r.count, written);
    assert_int_equal(r.header.lost[TRACE_LOST_RECORDS], lost);
    for (size_t i = 0; i < r.count; i++)
        assert_int_equal(r.seen[i].id, i);
    reading_free(&r);
    trace_abandon(w);
}

static void a_byte_limit_is_kept(void **state)
{
    (void)state;
    struct trace_writer w = created(300000);
    char path[512];
    memcpy(path, w.path, sizeof path);
    fill(&w, EFBIG);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size <= 300000);
}

static void a_file_size_limit_is_no_signal(void **state)
{
    (void)state;
    struct trace_writer w = created(0);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = (struct rlimit){300000, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    fill(&w, EFBIG);
    setrlimit(RLIMIT_FSIZE, &old);
}

/* In a process of its own, with a file system of its own. */
static int fill_disk(void)
{
    if (geteuid() ? unshare(CLONE_NEWUSER | CLONE_NEWNS) : unshare(CLONE_NEWNS))
        return 77;
    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    if (mount("tmpfs", traces_folder, "tmpfs", 0, "size=512k"))
        return 77;
    struct trace_writer w;
    if (trace_create(&w, traces_folder, run_id, 0))
        return 1;
    fill(&w, ENOSPC);
    return 0;
}

static void a_full_disk_is_no_signal(void **state)
{
    (void)state;
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child)
        _exit(fill_disk()); /* a failed check in it goes on to the end of the group: not 0 or 77 */
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("may not mount a file system here\n");
        skip();
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_folder_that_is_not_there_turns_the_trace_off(void **state)
{
    (void)state;
    struct trace_writer w;
    struct trace_stream s;
    char longer[600];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(trace_create(&w, longer, run_id, 0), ENAMETOOLONG);
    assert_int_equal(trace_create(&w, "/nonexistent", run_id, 0), ENOENT);
    assert_int_equal(w.failed, ENOENT);
    trace_stream_open(&s, &w, 1);
    assert_int_equal(put_sample(&s, 1), 0);
    trace_lost(&w, TRACE_LOST_SAMPLES, 1);
    trace_finish(&w, TRACE_EXIT, 0);
    trace_stream_close(&s);
    trace_abandon(&w);
}

static void the_end_is_recorded_and_may_be_taken_back(void **state)
{
    (void)state;
    struct trace_writer w = created(0);
    struct trace_stream s;
    trace_stream_open(&s, &w, 1);
    trace_finish(&w, TRACE_EXEC, 0);
    assert_true(w.header->end == TRACE_EXEC && w.header->end_ns >= w.header->start_ns);
    trace_finish(&w, TRACE_RUNNING, 0);
    assert_true(w.header->end == TRACE_RUNNING && w.header->end_ns == 0);
    assert_int_equal(put_sample(&s, 1), 1);
    trace_finish(&w, TRACE_SIGNAL, SIGSEGV);
    assert_int_equal(put_sample(&s, 2), 1);
    trace_stream_close(&s);
    struct reading r = reading_of(w.path);
    assert_true(r.count == 2 && r.header.end == TRACE_SIGNAL && r.header.end_detail == SIGSEGV);
    reading_free(&r);
    trace_abandon(&w);
}

static struct trace_stream *handled;
static volatile uint64_t from_handler, handler_calls;

static void handler(int signal)
{
    (void)signal;
    handler_calls++;
    from_handler += (uint64_t)put_sample(handled, 1u << 30);
}

static void a_signal_handler_is_refused_while_the_thread_writes(void **state)
{
    (void)state;
    struct trace_writer w = created(0);
    struct trace_stream s;
    timer_t timer;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    struct itimerspec period = {{0, 50000}, {0, 50000}};
    trace_stream_open(&s, &w, 1);
    handled = &s;
    sigaction(SIGALRM, &action, &old);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
    timer_settime(timer, 0, &period, NULL);
    uint64_t written = 0, tries = 0;
    /* until some came within a write and some did not */
    while ((!from_handler || from_handler == handler_calls) && tries < 20000000)
        written += (uint64_t)put_sample(&s, ++tries);
    timer_delete(timer);
    sigaction(SIGALRM, &old, NULL);
    trace_stream_close(&s);
    assert_int_equal(written, tries);
    assert_true(from_handler > 0 && from_handler < handler_calls);
    assert_int_equal(w.header->lost[TRACE_LOST_RECORDS], handler_calls - from_handler);
    struct reading r = reading_of(w.path);
    assert_true(reading_clean(&r));
    assert_int_equal(r.count, written + from_handler);
    reading_free(&r);

    s.writer = &w;
    s.busy = 1;
    assert_int_equal(put_sample(&s, 1), 0);
    trace_abandon(&w);
}

/* The program closed our descriptor and has a file of its own under the same number. */
static void a_descriptor_that_the_program_took_is_left_alone(void **state)
{
    (void)state;
    struct trace_writer w = created(0);
    struct trace_stream s;
    char other[256], byte;
    snprintf(other, sizeof other, "%s/other", traces_folder);
    trace_stream_open(&s, &w, 1);
    put_sample(&s, 1);
    int fd = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(dup2(fd, w.fd), w.fd);
    int taken = w.fd;
    for (uint64_t i = 0; s.sequence < 3; i++)
        assert_int_equal(put_text(&s, i, 1000), 1);
    assert_int_not_equal(w.fd, taken);
    assert_int_equal(pread(fd, &byte, 1, 0), 0); /* still empty */
    close(w.fd);
    assert_int_equal(unlink(w.path), 0);
    errno = 77;
    while (put_text(&s, 1, 1000))
        ;
    assert_int_equal(errno, 77);
    assert_int_equal(w.failed, EBADF);
    assert_int_equal(pread(fd, &byte, 1, 0), 0);
    trace_stream_close(&s);
    trace_abandon(&w);
    close(taken);
    close(fd);
}

static void *put_one(void *stream)
{
    return put_sample(stream, 1) ? stream : NULL;
}

/* A thread whose chunk would take one of the last numbers loses a record instead; the first thread,
 * in which the program does nothing meanwhile, takes it for a moment. */
static void few_descriptors_are_left_to_the_program(void **state)
{
    (void)state;
    struct trace_writer w = created(0);
    struct trace_stream s[2];
    struct rlimit all, few;
    pthread_t t;
    void *written;
    int fd = w.fd, left = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    few = (struct rlimit){0, all.rlim_max};
    while ((left += fcntl((int)few.rlim_cur, F_GETFD) < 0) < 4)
        few.rlim_cur++;
    for (int enough = 0; enough < 2; enough++, few.rlim_cur++) { /* 3, then 4 are free */
        w.fd = -1; /* as where no high number could be had */
        trace_stream_open(&s[0], &w, 1);
        trace_stream_open(&s[1], &w, 2);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        assert_int_equal(pthread_create(&t, NULL, put_one, &s[1]), 0);
        assert_int_equal(pthread_join(t, &written), 0);
        assert_int_equal(put_sample(&s[0], 1), 1);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
        assert_int_equal(written != NULL, enough);
        trace_stream_close(&s[0]);
        trace_stream_close(&s[1]);
    }
    w.fd = fd;
    trace_abandon(&w);
}

/* Children made by fork, and by a system call that no wrapper sees. */
static void a_forked_child_leaves_the_trace_alone(void **state)
{
    (void)state;
    if (getenv("TP_EMULATED"))
        skip(); /* qemu ignores MADV_WIPEONFORK, by which a forked child is noticed */
    struct trace_writer w = created(0);
    struct trace_stream s;
    char path[512];
    int status;
    memcpy(path, w.path, sizeof path);
    trace_stream_open(&s, &w, 1);
    put_sample(&s, 1);
    for (int raw = 0; raw < 2; raw++) {
        pid_t child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
        if (!child) {
            int bad = put_sample(&s, 99) + put_text(&s, 99, 30000);
            trace_lost(&w, TRACE_LOST_SAMPLES, 1);
            trace_finish(&w, TRACE_EXIT, 9);
            trace_stream_close(&s);
            trace_abandon(&w);
            bad += trace_create(&w, traces_folder, run_id, 0);
            trace_stream_open(&s, &w, 2);
            bad += !put_sample(&s, 50);
            trace_stream_close(&s);
            _exit(bad);
        }
        assert_true(put_sample(&s, 2));
        waitpid(child, &status, 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    put_sample(&s, 3);
    assert_int_equal(w.header->end, TRACE_RUNNING);
    assert_int_equal(w.header->lost[TRACE_LOST_SAMPLES], 0);
    trace_stream_close(&s);
    trace_abandon(&w);
    struct reading r = reading_of(path);
    assert_true(reading_clean(&r) && r.damage.unsealed == 0);
    assert_int_equal(r.count, 4);
    assert_int_equal(reading_count(&r, 1), 4);
    reading_free(&r);

    char **paths;
    size_t count;
    assert_ok(trace_list(traces_folder, &paths, &count));
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        r = reading_of(paths[i]);
        assert_true(reading_clean(&r));
        assert_int_equal(r.count, strcmp(paths[i], path) ? 1 : 4);
        reading_free(&r);
    }
    trace_list_free(paths, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_crc32c),
        cmocka_unit_test(hashes_differ_by_content_length_and_seed),
        cmocka_unit_test(a_tail_too_long_is_cut_and_its_length_fits),
        cmocka_unit_test(threads_interleave_and_keep_their_own_order),
        cmocka_unit_test(a_thousand_threads_work_and_their_memory_comes_back),
        cmocka_unit_test(mapped_memory_is_accounted),
        cmocka_unit_test(a_byte_limit_is_kept),
        cmocka_unit_test(a_file_size_limit_is_no_signal),
        cmocka_unit_test(a_full_disk_is_no_signal),
        cmocka_unit_test(a_folder_that_is_not_there_turns_the_trace_off),
        cmocka_unit_test(the_end_is_recorded_and_may_be_taken_back),
        cmocka_unit_test(a_signal_handler_is_refused_while_the_thread_writes),
        cmocka_unit_test(a_descriptor_that_the_program_took_is_left_alone),
        cmocka_unit_test(few_descriptors_are_left_to_the_program),
        cmocka_unit_test(a_forked_child_leaves_the_trace_alone),
    };
    return cmocka_run_group_tests(tests, traces_set_up, traces_tear_down);
}
