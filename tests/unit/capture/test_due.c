/* links: tp_base */
/* Samples of a simulated thread under a kernel that looks at its timer at each tick and delivers
 * at the end of a system call: shares of what the thread does. */
#include "profiler/capture/recorders/cpu/due.h"
#include "tests/unit/check.h"

enum { PHASES = 3, ROUNDS = 20000 };
#define TICK   4000000u
#define PERIOD 10000000u

struct phase {
    uint64_t ns;
    int is_call; /* one system call */
};

static const struct phase *at(const struct phase *p, uint64_t *t)
{
    while (*t >= p->ns)
        *t -= p++->ns;
    return p;
}

/* Shares of the samples' weights. */
static void sampled(const struct phase p[PHASES], double share[PHASES])
{
    uint64_t round = p[0].ns + p[1].ns + p[2].ns, asked = PERIOD, last = 0, sum[PHASES] = {0};
    srand(1);
    while (last < ROUNDS * round) {
        uint64_t noticed = (asked + TICK - 1) / TICK * TICK, t = noticed % round;
        const struct phase *here = at(p, &t);
        uint64_t now = here->is_call ? noticed + here->ns - t : noticed;
        uint64_t gap = PERIOD / 2 + (uint64_t)rand() % PERIOD;
        struct sample_due due = sample_due(asked, now, last, gap, TICK, here->is_call, 0);
        sum[here - p] += due.at - last;
        last = due.at;
        asked = due.next;
    }
    for (int i = 0; i < PHASES; i++)
        share[i] = (double)sum[i] / (double)last;
}

static void long_calls_get_their_share(void **state)
{
    static const uint64_t calls[] = {300, 1000003, 5000011, 9000017, 31000003};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct phase p[PHASES] = {{23721331, 0}, {calls[i], 1}, {8917717, 0}};
        double share[PHASES], round = (double)(p[0].ns + p[1].ns + p[2].ns);
        sampled(p, share);
        for (int k = 0; k < PHASES; k++)
            if (fabs(share[k] - (double)p[k].ns / round) > 0.012)
                fail_msg("a call of %.3f ms: part %d has %.3f, truth %.3f", 1e-6 * (double)p[1].ns,
                         k, share[k], (double)p[k].ns / round);
    }
}

static void only_a_late_call_is_due_before(void **state)
{
    static const struct {
        uint64_t now, last;
        int in_call, slept;
        uint64_t at, next;
    } cases[] = {
        {30000000, 5, 1, 1, 30000000, 40000000}, /* sleeps: ticks missed it */
        {30000000, 5, 0, 0, 30000000, 40000000}, /* no call that a signal would wait for */
        {1000000 + TICK, 5, 1, 0, 1000000 + TICK, 11000000},
        {7000000, 5, 1, 0, 1000000 + TICK / 2, 11000000},
        {14000000, 5, 1, 0, 11000000 + TICK / 2, 21000000}, /* two were due in it */
        {12000000, 5, 1, 0, 1000000 + TICK / 2, 12000001},
        {30000000, 29000000, 1, 0, 30000000, 40000000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample_due due = sample_due(1000000, cases[i].now, cases[i].last, PERIOD, TICK,
                                           cases[i].in_call, cases[i].slept);
        assert_int_equal(due.at, cases[i].at);
        assert_int_equal(due.next, cases[i].next);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_calls_get_their_share),
                                       cmocka_unit_test(only_a_late_call_is_due_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
