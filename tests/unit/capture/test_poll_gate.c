/* links: tp_stacks tp_trace pthread */
/* Both the library's own thread and one of the program's wait for the gate, in this order: the first
 * is woken, and must wake the second. */
#include <pthread.h>
#include <unistd.h>

#include "profiler/capture/core/poll_gate.c"
#include "tests/unit/check.h"

enum { ROUNDS = 400, WAIT_US = 100 };
static long inside; /* under the gate */

static void *program_main(void *unused)
{
    poll_gate_lock();
    inside++;
    poll_gate_unlock();
    return unused;
}

static void *own_main(void *unused)
{
    poll_gate_lock_own();
    inside++;
    poll_gate_unlock();
    return unused;
}

static void nobody_sleeps_at_a_free_gate(void **state)
{
    (void)state;
    alarm(300); /* ends the program where one sleeps for ever */
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t own, program;
        poll_gate_lock();
        assert_int_equal(pthread_create(&own, NULL, own_main, NULL), 0);
        usleep(WAIT_US);
        assert_int_equal(pthread_create(&program, NULL, program_main, NULL), 0);
        usleep(WAIT_US);
        poll_gate_unlock();
        pthread_join(own, NULL);
        pthread_join(program, NULL);
    }
    alarm(0);
    assert_int_equal(inside, 2 * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_sleeps_at_a_free_gate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
