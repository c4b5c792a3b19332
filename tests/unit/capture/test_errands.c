/* links: tp_stacks pthread */
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/raw/errands.h"
#include "profiler/capture/raw/system.h"
#include "tests/unit/check.h"

static int calls, stopping; /* a futex */

static int others_see(void)
{
    return 1;
}

static void wake_server(void)
{
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELEASE);
    raw_futex_wake(&calls, 1);
}

static void *server_main(void *tid)
{
    raw_files_unshare();
    *(long *)tid = syscall(SYS_gettid);
    while (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) {
        uint32_t seen = (uint32_t)__atomic_load_n(&calls, __ATOMIC_ACQUIRE);
        errands_serve();
        raw_futex_wait(&calls, seen, 10000000);
    }
    errands_refuse();
    return NULL;
}

static void tell_thread(struct errand *e)
{
    e->number[0] = (uint64_t)syscall(SYS_gettid);
}

static void *client_main(void *server)
{
    intptr_t wrong = 0;
    for (int i = 0; i < 200; i++) {
        char text[8192];
        struct errand *e = errand_begin(tell_thread);
        if (e && errand_do(e)) {
            wrong += e->number[0] != (uint64_t) * (long *)server;
            errand_end(e);
        }
        errands_needed(1); /* on a busy machine one may not be done in time */
        size_t n = raw_read_file("/proc/self/maps", text, sizeof text);
        wrong += n != strlen(text) || n < 100;
    }
    return (void *)wrong;
}

static void another_thread_does_them(void **state)
{
    (void)state;
    static long tid;
    pthread_t server, client[8];
    raw_files_seen_by(others_see);
    errands_take(wake_server);
    assert_int_equal(pthread_create(&server, NULL, server_main, &tid), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&client[i], NULL, client_main, &tid), 0);
    for (int i = 0; i < 8; i++) {
        void *wrong;
        pthread_join(client[i], &wrong);
        assert_null(wrong);
    }
    __atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
    wake_server();
    pthread_join(server, NULL);
    assert_false(errands_wanted());
}

/* Nobody does them: the caller goes on, and is not held up again until somebody does. */
static void one_that_is_not_done_is_given_up(void **state)
{
    (void)state;
    char text[64];
    raw_files_seen_by(others_see);
    errands_take(wake_server);
    struct errand *e = errand_begin(tell_thread);
    assert_non_null(e);
    assert_int_equal(errand_do(e), 0);
    assert_true(errands_wanted());
    assert_null(errand_begin(tell_thread));
    assert_int_equal(raw_read_file("/proc/self/statm", text, sizeof text), 0);
    errands_needed(1);
    assert_true(raw_read_file("/proc/self/statm", text, sizeof text) > 0);
    errands_needed(0);
    errands_serve();
    e = errand_begin(tell_thread);
    assert_non_null(e);
    assert_int_equal(e->number[0], 0); /* the one that was given up was not done */
    errand_end(e);
    errands_forked();
    assert_false(errands_wanted());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_not_done_is_given_up),
        cmocka_unit_test(another_thread_does_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
