/* links: tp_base */
/* Slow calls of a simulated thread that shares its CPU: some calls are timed, some sleep, and the
 * kernel gives the CPU to others wherever the thread is. */
#include "profiler/capture/recorders/io/weight.h"
#include "tests/unit/check.h"

#define SHORT_NS 1000u
#define SLOW_NS  20000u

struct thread {
    struct capture_thread own;
    uint64_t now, sleeps, told, slept;
};

static uint64_t drawn(uint64_t one_in)
{
    return (uint64_t)rand() % one_in == 0;
}

/* A call that sleeps for `sleep` ns where that is not 0, and is ready for `ready` more. */
static void thread_call(struct thread *t, uint64_t one_in, uint64_t sleep, uint64_t ready)
{
    const uint64_t ns = SHORT_NS + sleep + ready, timed = drawn(one_in);
    if (timed)
        t->own.io_slept = t->sleeps;
    t->now += ns;
    t->sleeps += sleep > 0;
    t->slept += sleep;
    if (timed && ns >= SLOW_NS)
        t->told += ns * io_slow_weight(&t->own, t->sleeps, one_in, ns, t->now);
}

static void calls_that_sleep_get_their_time(void **state)
{
    static const uint64_t rates[] = {64, 256, 1024};
    (void)state;
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
        struct thread t = {.now = 0};
        srand(1);
        for (int i = 0; i < 4000000; i++)
            thread_call(&t, rates[k], i % 20 ? 0 : 100000, 0);
        const double over = (double)t.told / (double)t.slept;
        if (over < 0.85 || over > 1.15) /* 200 of them are timed at the least: 7 % */
            fail_msg("one in %d: %.2f times the time that it slept", (int)rates[k], over);
    }
}

/* It sleeps in other calls, that neither read nor write, and has a tenth of the CPU. */
static void a_cpu_that_others_have_is_no_wait(void **state)
{
    struct thread t = {.now = 0};
    uint64_t lost = 0;
    (void)state;
    srand(1);
    for (int i = 0; i < 4000000; i++) {
        const uint64_t ready = drawn(4000) ? 40000000 : 0;
        t.sleeps += i % 50 == 0;
        lost += ready;
        thread_call(&t, 256, 0, ready);
    }
    if (t.told > lost / 10)
        fail_msg("%.3f s told of calls that never slept, others had the CPU for %.1f s",
                 1e-9 * (double)t.told, 1e-9 * (double)lost);
}

/* Threads in which few such calls are timed: without the bound one of them was told 41 s of 4. */
static void no_more_is_told_than_went_by(void **state)
{
    uint64_t told = 0;
    (void)state;
    srand(1);
    for (int k = 0; k < 100; k++) {
        struct thread t = {.now = 0};
        for (int i = 0; i < 100000; i++)
            thread_call(&t, 1024, i % 1000 ? 0 : 100000, i % 1000 ? 0 : 40000000);
        if (t.told > t.now)
            fail_msg("%.3f s told after %.3f s", 1e-9 * (double)t.told, 1e-9 * (double)t.now);
        told += t.told;
    }
    assert_true(told > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_sleep_get_their_time),
        cmocka_unit_test(a_cpu_that_others_have_is_no_wait),
        cmocka_unit_test(no_more_is_told_than_went_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
