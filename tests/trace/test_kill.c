/* links: tp_traces pthread */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/trace/traces.h"
#include "tests/unit/check.h"

enum { ROUNDS = 200, THREADS = 3 };

/* Shared with the child: a thread raises its counter after trace_put said that the record is in. */
static struct shared {
    struct trace_writer writer;
    volatile uint64_t committed[THREADS];
} * shared;

static void *write_on(void *argument)
{
    uint32_t thread = (uint32_t)(uintptr_t)argument;
    struct trace_stream s;
    trace_stream_open(&s, &shared->writer, thread + 1);
    for (uint64_t i = 1;; i++) {
        int written = i % 3 ? put_sample(&s, i) : put_text(&s, i, i % (thread ? 500 : 50));
        if (!written)
            abort();
        __atomic_store_n(&shared->committed[thread], i, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void child(void)
{
    pthread_t threads[THREADS];
    if (trace_create(&shared->writer, traces_folder, (const uint8_t *)"0123456789abcdef", 0))
        abort();
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, write_on, (void *)i))
            abort();
    for (;;)
        pause();
}

static void check_round(const char *path, size_t *records)
{
    uint64_t next[THREADS] = {1, 1, 1};
    struct reading r = reading_of(path);
    assert_ok(r.error);
    assert_true(reading_clean(&r));
    assert_int_equal(r.header.end, TRACE_RUNNING);
    for (size_t i = 0; i < r.count; i++) {
        assert_in_range(r.seen[i].tid, 1, THREADS);
        assert_int_equal(r.seen[i].id, next[r.seen[i].tid - 1]++);
    }
    for (int i = 0; i < THREADS; i++) /* a record may be in whose counter was not raised yet */
        assert_in_range(next[i] - 1, shared->committed[i], shared->committed[i] + 1);
    assert_int_equal(r.header.lost[TRACE_LOST_RECORDS], 0);
    *records += r.count;
    reading_free(&r);
}

static void what_was_committed_before_a_kill_is_there(void **state)
{
    (void)state;
    unsigned seed = 1;
    size_t records = 0;
    for (int round = 0; round < ROUNDS; round++) {
        traces_empty();
        memset(shared, 0, sizeof *shared);
        fflush(NULL);
        pid_t pid = fork();
        if (!pid)
            child();
        while (!shared->committed[rand_r(&seed) % THREADS])
            sched_yield();
        nanosleep(&(struct timespec){0, rand_r(&seed) % 4000000}, NULL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        check_round(shared->writer.path, &records);
    }
    print_message("%d kills, %zu records, none missing\n", ROUNDS, records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_committed_before_a_kill_is_there)};
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, traces_set_up, traces_tear_down);
}
