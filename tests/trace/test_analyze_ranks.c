/* links: tp_stage tp_report tp_trace */
/* Ranks with made times: who waits for whom in collective calls, messages and groups, and what
 * cannot be known. */
#include <math.h>
#include <string.h>

#include "tests/trace/stage.h"
#include "tests/unit/check.h"

enum { RANKS = 3, WORLD = 7 };

static struct stage rank[RANKS];

static void start(void)
{
    char text[16];
    stage_start();
    for (int r = 0; r < RANKS; r++) {
        stage_open(&rank[r], 100 + r, T0);
        snprintf(text, sizeof text, "%d of %d", r, RANKS);
        stage_meta(&rank[r], "mpi.rank", text);
        stage_meta(&rank[r], "mpi.library", "Open MPI v4.1.4");
    }
}

static struct model *end(void)
{
    for (int r = 0; r < RANKS; r++)
        stage_close(&rank[r], TRACE_EXIT, 0);
    return stage_model(NULL);
}

static void done(struct model *m)
{
    model_destroy(m);
    stage_end();
}

/* A call of rank r in line `line` of app.c. */
static void call(int r, uint64_t from_ms, uint64_t to_ms, enum trace_mpi_op op, const char *name,
                 int line, struct trace_mpi more)
{
    more.r.kind = TRACE_MPI;
    more.r.time_ns = T0 + to_ms * MS;
    more.spent_ns = (to_ms - from_ms) * MS;
    more.stack = line ? stage_at(&rank[r], AT(APP, line)) : 0;
    more.name = stage_text(&rank[r], name);
    more.tid = 100 + (uint32_t)r;
    more.op = (uint16_t)op;
    more.flags = TRACE_MPI_BYTES | TRACE_MPI_GROUP;
    more.group = more.group ? more.group : WORLD;
    stage_put(&rank[r], 0, &more);
}

#define COLLECTIVE(number) ((struct trace_mpi){.sequence = (number), .peer = -1, .tag = -1})
#define MESSAGE(rank_, tag_, bytes_)                                                               \
    ((struct trace_mpi){.peer = (rank_), .tag = (tag_), .bytes = (bytes_)})

static const struct model_mpi_line *at(const struct model *m, int line)
{
    for (int i = 0; i < m->mpi.lines_count; i++)
        if (m->mpi.lines[i].line == line)
            return &m->mpi.lines[i];
    fail_msg("no call of MPI in line %d", line);
    return NULL;
}

static void near(double found, double wanted)
{
    if (fabs(found - wanted) > 1e-9)
        fail_msg("%.9f, %.9f was wanted", found, wanted);
}

/* Rank 2 comes 80 ms after rank 0 and 50 after rank 1; all leave together. */
static void a_barrier_waits_for_the_last(void **state)
{
    (void)state;
    start();
    call(0, 10, 100, TRACE_MPI_BARRIER, "Barrier", 5, COLLECTIVE(0));
    call(1, 40, 100, TRACE_MPI_BARRIER, "Barrier", 5, COLLECTIVE(0));
    call(2, 90, 100, TRACE_MPI_BARRIER, "Barrier", 5, COLLECTIVE(0));
    struct model *m = end();
    const struct model_mpi_line *l = at(m, 5);
    near(l->spent_s, 0.160);
    near(l->late_s, 0.130);
    assert_int_equal(l->late_rank, 2);
    near(l->late_rank_s, 0.130);
    assert_int_equal(l->ranks, 3);
    near(m->mpi.ranks[2].delayed_s, 0.130);
    near(m->mpi.ranks[2].late_s, 0);
    near(m->mpi.ranks[0].late_s, 0.080);
    assert_string_equal(m->mpi.library, "Open MPI v4.1.4");
    done(m);
}

/* A rank is late by more than its partners' calls took: what they wait is their call. */
static void nobody_waits_longer_than_its_call(void **state)
{
    (void)state;
    start();
    call(0, 10, 20, TRACE_MPI_TO_ROOT, "Reduce", 6, (struct trace_mpi){.peer = 1, .tag = -1});
    call(1, 10, 70, TRACE_MPI_TO_ROOT, "Reduce", 7, (struct trace_mpi){.peer = 1, .tag = -1});
    call(2, 60, 65, TRACE_MPI_TO_ROOT, "Reduce", 8, (struct trace_mpi){.peer = 1, .tag = -1});
    call(0, 100, 110, TRACE_MPI_OF_ROOT, "Bcast", 9,
         (struct trace_mpi){.sequence = 1, .peer = 2, .tag = -1});
    call(1, 80, 110, TRACE_MPI_OF_ROOT, "Bcast", 9,
         (struct trace_mpi){.sequence = 1, .peer = 2, .tag = -1});
    call(2, 104, 105, TRACE_MPI_OF_ROOT, "Bcast", 9,
         (struct trace_mpi){.sequence = 1, .peer = 2, .tag = -1});
    struct model *m = end();
    near(at(m, 6)->late_s, 0); /* it gave and went */
    near(at(m, 7)->late_s, 0.050);
    assert_int_equal(at(m, 7)->late_rank, 2);
    near(at(m, 9)->late_s, 0.004 + 0.024);
    assert_int_equal(at(m, 9)->late_rank, 2);
    done(m);
}

/* Two messages of one pair and tag arrive in their order; another tag overtakes them. */
static void messages_meet_in_order(void **state)
{
    (void)state;
    start();
    call(0, 20, 21, TRACE_MPI_SEND, "Send", 3, MESSAGE(1, 5, 100));
    call(0, 60, 61, TRACE_MPI_SEND, "Send", 3, MESSAGE(1, 5, 200));
    call(0, 10, 11, TRACE_MPI_SEND, "Send", 3, MESSAGE(1, 6, 1000));
    call(1, 5, 22, TRACE_MPI_RECEIVE, "Recv", 11, MESSAGE(0, 5, 100));
    call(1, 30, 62, TRACE_MPI_RECEIVE, "Recv", 12, MESSAGE(0, 5, 200));
    call(1, 70, 71, TRACE_MPI_RECEIVE, "Recv", 13, MESSAGE(0, 6, 1000));
    call(1, 80, 90, TRACE_MPI_RECEIVE, "Recv", 14, MESSAGE(2, 6, 8)); /* its send is not recorded */
    call(2, 80, 90, TRACE_MPI_RECEIVE, "Recv", 15, MESSAGE(-1, 6, 8)); /* of any rank */
    struct model *m = end();
    near(at(m, 11)->late_s, 0.015);
    near(at(m, 12)->late_s, 0.030);
    near(at(m, 13)->late_s, 0);
    near(at(m, 14)->late_s, 0);
    assert_int_equal(at(m, 14)->late_rank, MODEL_UNKNOWN);
    assert_int_equal(m->mpi.unmatched, 2);
    assert_int_equal(m->mpi.pairs_count, 1);
    assert_int_equal(m->mpi.pairs[0].messages, 3);
    near(m->mpi.pairs[0].mb * 1048576, 1300);
    done(m);
}

/* A message that its sender has to hold until the receive begins; a posted receive and its wait. */
static void late_receivers_and_posted_receives(void **state)
{
    (void)state;
    start();
    call(0, 10, 55, TRACE_MPI_SEND, "Ssend", 3, MESSAGE(1, 1, 8));
    call(1, 50, 55, TRACE_MPI_RECEIVE, "Recv", 4, MESSAGE(0, 1, 8));
    call(2, 60, 61, TRACE_MPI_RECEIVE_POST, "Irecv", 5, MESSAGE(0, 2, 8));
    call(2, 70, 95, TRACE_MPI_WAIT, "Wait", 6, (struct trace_mpi){.peer = -1, .tag = -1});
    call(0, 90, 91, TRACE_MPI_SEND_POST, "Isend", 7, MESSAGE(2, 2, 8));
    struct model *m = end();
    near(at(m, 3)->late_s, 0.040);
    assert_int_equal(at(m, 3)->late_rank, 1);
    near(at(m, 4)->late_s, 0);
    near(at(m, 6)->late_s, 0.020);
    assert_int_equal(at(m, 6)->late_rank, 0);
    done(m);
}

/* The same number of a call in two groups is two calls; a rank that died has no call there. */
static void groups_are_apart_and_ranks_may_miss(void **state)
{
    (void)state;
    start();
    call(0, 10, 30, TRACE_MPI_ALL, "Allreduce", 5,
         (struct trace_mpi){.group = 8, .peer = -1, .tag = -1});
    call(1, 25, 30, TRACE_MPI_ALL, "Allreduce", 5,
         (struct trace_mpi){.group = 8, .peer = -1, .tag = -1});
    call(2, 90, 95, TRACE_MPI_ALL, "Allreduce", 6,
         (struct trace_mpi){.group = 9, .peer = -1, .tag = -1});
    call(0, 40, 99, TRACE_MPI_BARRIER, "Barrier", 7, COLLECTIVE(0)); /* the others never came */
    struct model *m = end();
    near(at(m, 5)->late_s, 0.015);
    assert_int_equal(at(m, 5)->late_rank, 1);
    near(at(m, 6)->late_s, 0);
    near(at(m, 7)->late_s, 0);
    assert_false(m->mpi.ranks[0].whole);
    done(m);
}

/* Rank 1 computes 80 of 100 ms, the others 40: mean 160/3, largest 80. */
static void efficiency_is_balance_times_communication(void **state)
{
    (void)state;
    start();
    for (int r = 0; r < RANKS; r++) {
        const uint64_t busy = r == 1 ? 80 : 40;
        call(r, 0, 10, TRACE_MPI_START, "Init", 1, COLLECTIVE(0));
        call(r, 10 + busy, 110, TRACE_MPI_ALL, "Allreduce", 5, COLLECTIVE(0));
        call(r, 110, 111, TRACE_MPI_END, "Finalize", 9, COLLECTIVE(1));
    }
    struct model *m = end();
    near(m->mpi.wall_s, 0.100);
    near(m->mpi.load_balance, 160.0 / 3 / 80);
    near(m->mpi.communication_efficiency, 0.8);
    near(m->mpi.parallel_efficiency, 160.0 / 3 / 100);
    near(m->mpi.ranks[0].late_s, 0.040);
    near(m->mpi.ranks[1].transfer_s, 0.020);
    assert_true(m->mpi.ranks[0].whole);
    assert_int_equal(m->processes[0].rank, 0);
    assert_string_equal(m->findings[0].id, "mpi.late");
    near(m->findings[0].gain_s, 0.080 - 0.160 / 3);
    done(m);
}

/* Rank r works (r + 1) * 10 ms in "step" and then waits in it; rank 0 alone has "write". */
static void ranges_are_compared_without_their_waits(void **state)
{
    (void)state;
    start();
    for (int r = 0; r < RANKS; r++) {
        const uint64_t busy = 10 * (uint64_t)(r + 1);
        for (uint64_t turn = 0; turn < 2; turn++) {
            stage_range(&rank[r], 0, 100 * turn, TRACE_PUSH, "step", 0);
            call(r, 100 * turn + busy, 100 * turn + 40, TRACE_MPI_ALL, "Allreduce", 5,
                 COLLECTIVE((uint32_t)turn));
            stage_range(&rank[r], 0, 100 * turn + 40, TRACE_POP, NULL, 0);
        }
    }
    stage_range(&rank[0], 0, 150, TRACE_PUSH, "write", 0);
    stage_range(&rank[0], 0, 156, TRACE_POP, NULL, 0);
    struct model *m = end();
    assert_int_equal(m->mpi.ranges_count, 2);
    const struct model_mpi_range *step = &m->mpi.ranges[0], *write = &m->mpi.ranges[1];
    assert_string_equal(m->ranges[step->range].name, "step");
    assert_int_equal(step->ranks, 3);
    assert_int_equal(step->n, 6);
    near(step->mean_s, 0.040);
    near(step->most_s, 0.060);
    assert_int_equal(step->most_rank, 2);
    near(step->imbalance, 0.5);
    near(step->in_mpi_s, 0.040);
    assert_string_equal(m->ranges[write->range].name, "write");
    assert_int_equal(write->ranks, 1);
    near(write->mean_s, 0.002);
    near(write->imbalance, 2);
    near(write->in_mpi_s, 0);
    done(m);
}

/* Room for what is received is not given. */
static void receives_give_nothing(void **state)
{
    (void)state;
    start();
    call(0, 10, 11, TRACE_MPI_SEND, "Send", 3, MESSAGE(1, 5, 1 << 20));
    call(1, 5, 12, TRACE_MPI_RECEIVE, "Recv", 4, MESSAGE(0, 5, 8 << 20));
    struct model *m = end();
    near(m->mpi.ranks[0].given_mb, 1);
    near(m->mpi.ranks[1].given_mb, 0);
    done(m);
}

/* No rank, no rows; a rank that its library does not tell is left out. */
static void without_ranks_all_is_null(void **state)
{
    (void)state;
    struct stage st;
    stage_start();
    stage_open(&st, 100, T0);
    struct trace_mpi c = {
        .r.kind = TRACE_MPI, .r.time_ns = T0 + 5 * MS, .spent_ns = MS, .tid = 100};
    stage_put(&st, 0, &c);
    stage_close(&st, TRACE_EXIT, 0);
    struct model *m = stage_model(NULL);
    assert_int_equal(m->mpi.size, MODEL_UNKNOWN);
    assert_int_equal(m->mpi.ranks_count, 0);
    assert_int_equal(m->mpi.lines_count, 0);
    done(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_waits_for_the_last),
        cmocka_unit_test(nobody_waits_longer_than_its_call),
        cmocka_unit_test(messages_meet_in_order),
        cmocka_unit_test(late_receivers_and_posted_receives),
        cmocka_unit_test(groups_are_apart_and_ranks_may_miss),
        cmocka_unit_test(efficiency_is_balance_times_communication),
        cmocka_unit_test(ranges_are_compared_without_their_waits),
        cmocka_unit_test(receives_give_nothing),
        cmocka_unit_test(without_ranks_all_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
