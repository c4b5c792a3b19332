/* links: tp_suite */
/* Pairs of calls and copies: intervals of known ranks, verdicts over times whose truth is known. */
#include "host/suite/statistics/targets.h"
#include "tests/unit/check.h"

#define SERIES  200
#define LONGEST 300

/* A generator of its own: the same numbers everywhere. */
static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

/* Times of a machine that others use: its speed wanders between 1 and 3, each time scatters by a
 * third and more, one in ten loses its processor. */
struct machine {
    uint64_t state;
    double slow, share; /* share: copy's time over the call's, the truth */
    const struct targets *targets;
    struct target_row row;
};

static double taken(struct machine *m, double seconds)
{
    const double lost = uniform(&m->state) < 0.1 ? 20 * uniform(&m->state) : 0;
    return seconds * m->slow * (1 - 0.4 * log(uniform(&m->state)) + lost);
}

static enum err next(void *context, double *copy, double *call)
{
    struct machine *m = context;
    m->slow *= exp(0.4 * (uniform(&m->state) - 0.5));
    m->slow = m->slow < 1 ? 1 : m->slow > 3 ? 3 : m->slow;
    *copy = taken(m, 1e-4);
    *call = taken(m, 1e-4 / m->share);
    return ERR_OK;
}

static int enough(void *context, const struct pair_share *share)
{
    struct machine *m = context;
    m->row.pairs = *share;
    return !targets_open(m->targets, &m->row) || share->n >= LONGEST;
}

static void read_target(double at_least, struct targets *t)
{
    static struct speed_target target;
    target = (struct speed_target){
        .operation = "volume_*", .measure = "copy_share", .at_least = at_least, .at_most = NAN};
    *t = (struct targets){.targets = &target, .targets_count = 1};
}

/* Series of that truth by verdict, held against 0.8. */
static void judge_series(double share, int count[TARGET_UNKNOWN + 1])
{
    struct targets t;
    read_target(0.8, &t);
    memset(count, 0, (TARGET_UNKNOWN + 1) * sizeof *count);
    for (uint64_t i = 0; i < SERIES; i++) {
        struct machine m = {.state = 1000 + i, .slow = 1, .share = share, .targets = &t};
        const struct pair_source source = {&m, next, enough};
        struct pair_share found;
        struct target_value value;
        m.row = (struct target_row){.operation = "volume_crop",
                                    .shape = "128",
                                    .size = 128,
                                    .seconds = 1e-4,
                                    .bytes_moved = 2e6,
                                    .pair_bytes = 2e6};
        assert_true(targets_ask_pairs(&t, &m.row));
        assert_ok(pairs_gather(&source, &found));
        assert_int_equal(found.n, m.row.pairs.n);
        count[target_judge(&t.targets[0], &m.row, &value)]++;
        assert_true(value.low <= value.value && value.value <= value.high);
    }
}

static void a_miss_is_never_hidden(void **state)
{
    (void)state;
    int count[TARGET_UNKNOWN + 1];
    judge_series(0.6, count);
    assert_int_equal(count[TARGET_PASSED], 0);
    assert_true(count[TARGET_MISSED] >= SERIES * 9 / 10);
    judge_series(0.7, count);
    assert_true(count[TARGET_PASSED] <= SERIES / 50);
}

static void what_is_met_is_never_missed(void **state)
{
    (void)state;
    int count[TARGET_UNKNOWN + 1];
    judge_series(1.06, count);
    assert_int_equal(count[TARGET_MISSED], 0);
    assert_true(count[TARGET_PASSED] >= SERIES * 9 / 10);
    judge_series(0.91, count);
    assert_true(count[TARGET_MISSED] <= SERIES / 50);
}

static void at_the_limit_nothing_is_decided(void **state)
{
    (void)state;
    int count[TARGET_UNKNOWN + 1];
    judge_series(0.8, count);
    assert_true(count[TARGET_UNDECIDED] >= SERIES * 9 / 10);
}

static void the_interval_holds_the_median(void **state)
{
    (void)state;
    static const struct {
        int n, out; /* values left out on either side */
    } rows[] = {{9, 0}, {12, 1}, {20, 3}, {100, 36}};
    double x[PAIRS_MOST];
    uint64_t random = 7;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const int n = rows[r].n;
        for (int i = 0; i < n; i++)
            x[i] = i * 37 % n; /* 0 to n - 1 in another order */
        const struct pair_share s = pair_share_of(x, n);
        assert_int_equal(s.n, n);
        assert_near(s.median, (n - 1) / 2.0, 0);
        assert_near(s.low, rows[r].out, 0);
        assert_near(s.high, n - 1 - rows[r].out, 0);
    }
    int held = 0;
    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < 50; k++)
            x[k] = uniform(&random);
        const struct pair_share s = pair_share_of(x, 50);
        held += s.low <= 0.5 && 0.5 <= s.high;
    }
    assert_true(held >= 985 && held < 1000);
}

static void few_pairs_say_nothing(void **state)
{
    (void)state;
    double x[] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct pair_share s = pair_share_of(x, 8);
    assert_true(s.median == 1 && s.low == 0 && isinf(s.high));
    s = pair_share_of(x, 0);
    assert_true(s.n == 0 && isnan(s.median));
}

static void processes_are_joined(void **state)
{
    (void)state;
    const struct pair_share found[] = {
        {20, 0.9, 0.85, 0.95}, {30, 0.7, 0.68, 0.72}, {10, 0.8, 0.6, 0.99}, {10, 9, 0, 10}};
    const struct pair_share expected[] = {
        {20, 0.9, 0.85, 0.95}, {50, 0.7, 0.68, 0.95}, {60, 0.8, 0.6, 0.99}, {60, 0.8, 0.6, 0.99}};
    struct pairs_joined all = {0};
    for (int i = 0; i < 4; i++) {
        pairs_join(&all, &found[i]);
        assert_int_equal(all.share.n, expected[i].n);
        assert_near(all.share.median, expected[i].median, 0);
        assert_near(all.share.low, expected[i].low, 0);
        assert_near(all.share.high, expected[i].high, 0);
    }
}

static enum err still(void *context, double *copy, double *call)
{
    (void)context;
    *copy = 1;
    *call = 0;
    return ERR_OK;
}

static void a_clock_that_stands_is_an_error(void **state)
{
    (void)state;
    const struct pair_source source = {NULL, still, enough};
    struct pair_share found;
    assert_error(pairs_gather(&source, &found), ERR_FAILED, "the clock does not move");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_miss_is_never_hidden),
        cmocka_unit_test(what_is_met_is_never_missed),
        cmocka_unit_test(at_the_limit_nothing_is_decided),
        cmocka_unit_test(the_interval_holds_the_median),
        cmocka_unit_test(few_pairs_say_nothing),
        cmocka_unit_test(processes_are_joined),
        cmocka_unit_test(a_clock_that_stands_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
