/* links: m */
/* Sampled blocks that are in use: freed, moved, grown, forked, by several threads. */
#include "tests/unit/capture/heap_case.h"

static void a_reused_address_frees_what_stood_there(void **state)
{
    (void)state;
    allocate(4096, 2 * MIB);
    allocate(4096, 3 * MIB); /* the free between was not seen */
    assert_int_equal(seen.frees, 1);
    assert_int_equal(seen.free.bytes, 2 * MIB);
    assert_int_equal(heap_live(), 3 * MIB);
    release(4096);
    release(4096);
    assert_int_equal(seen.frees, 2);
}

static void heaps_do_not_free_each_others_blocks(void **state)
{
    (void)state;
    heap_allocated((void *)4096, 2 * MIB, TRACE_PYTHON_HEAP, NULL);
    release(4096);
    assert_int_equal(seen.frees, 0);
    heap_freed((void *)4096, TRACE_PYTHON_HEAP);
    assert_int_equal(seen.frees, 1);
    assert_true(filter_is_empty());
}

static void move(uintptr_t from, uintptr_t to, size_t bytes)
{
    struct heap_move m = {0};
    heap_move_begin(&m, (void *)from, TRACE_MALLOC);
    now += 100; /* others run meanwhile */
    heap_move_end(&m, (void *)to, bytes, TRACE_MALLOC, NULL);
}

static void a_moved_block_is_freed_before_it_moved(void **state)
{
    (void)state;
    allocate(4096, 2 * MIB);
    uint64_t before = now;
    move(4096, 8192, 4 * MIB);
    assert_int_equal(seen.allocs, 2);
    assert_int_equal(seen.free.address, 4096);
    assert_true(seen.free.r.time_ns <= before + 2);
    assert_true(seen.alloc.r.time_ns > before + 100);
    assert_int_equal(seen.alloc.address, 8192);
    assert_int_equal(heap_live(), 4 * MIB);
}

static void growing_in_place_step_by_step_is_one_allocation(void **state)
{
    (void)state;
    allocate(4096, 8 * MIB);
    for (int i = 1; i < 1000; i++)
        move(4096, 4096, 8 * MIB + (size_t)i * 8);
    assert_int_equal(seen.allocs, 1);
    assert_int_equal(seen.frees, 0);
    move(4096, 4096, 16 * MIB); /* and this is another */
    assert_int_equal(seen.allocs, 2);
    assert_int_equal(seen.frees, 1);
    assert_int_equal(heap_live(), 16 * MIB);
}

static void a_failed_realloc_leaves_the_block(void **state)
{
    (void)state;
    allocate(4096, 2 * MIB);
    move(4096, 0, 1 << 30);
    assert_int_equal(seen.allocs + seen.frees, 1);
    release(4096);
    assert_int_equal(seen.frees, 1);
    allocate(4096, 2 * MIB);
    move(4096, 0, 0); /* realloc(p, 0) is free */
    assert_int_equal(seen.frees, 2);
    assert_int_equal(heap_live(), 0);
}

static void what_finds_no_room_is_counted_and_is_not_live(void **state)
{
    (void)state;
    capture.config.alloc_mean = 1; /* every block */
    for (uintptr_t i = 1; i <= 2 * LIVE_BLOCKS; i++) {
        now += 2000000;
        allocate(i * 16, 1000);
    }
    assert_int_equal(seen.allocs, 2 * LIVE_BLOCKS);
    assert_true(seen.lost >= LIVE_BLOCKS && seen.lost < LIVE_BLOCKS * 11 / 10);
    assert_int_equal(seen.frees, seen.lost);
    for (uintptr_t i = 1; i <= 2 * LIVE_BLOCKS; i++)
        release(i * 16);
    assert_int_equal(seen.frees, seen.allocs);
    assert_int_equal(heap_live(), 0);
    assert_true(filter_is_empty());
    seen.lost = 0;
    allocate(16, 1000); /* room again */
    assert_int_equal(seen.lost, 0);
}

static void a_forked_child_starts_empty(void **state)
{
    (void)state;
    allocate(4096, 2 * MIB);
    stripes[live_bucket(4096) / STRIPE_BUCKETS].locked = 1; /* by a thread that is gone */
    heap_recorder.fork_child();
    assert_int_equal(heap_live(), 0);
    assert_true(filter_is_empty());
    release(4096);
    assert_int_equal(seen.frees, 0);
    allocate(4096, 2 * MIB);
    release(4096);
    assert_int_equal(seen.frees, 1);
    assert_int_equal(seen.lost, 0);
}

static void a_lock_that_is_never_given_back_costs_records_only(void **state)
{
    (void)state;
    allocate(4096, 2 * MIB);
    stripes[live_bucket(4096) / STRIPE_BUCKETS].locked = 1;
    release(4096);
    assert_int_equal(seen.frees, 0);
    allocate(4096, 2 * MIB);
    assert_int_equal(seen.lost, 2);
    assert_int_equal(seen.allocs, 2);
    assert_int_equal(seen.frees, 1);
}

enum { THREADS = 8, ROUNDS = 40000 };
static struct live_block *mail[THREADS]; /* each thread frees what another one made */

static void *adds_and_takes(void *argument)
{
    uintptr_t me = (uintptr_t)argument, lost = 0;
    static struct live_block blocks[THREADS][ROUNDS];
    struct live_block stale, out;
    for (uintptr_t i = 0; i < ROUNDS; i++) {
        struct live_block *b = &blocks[me][i];
        *b = (struct live_block){(i * THREADS + me + 1) * 16, i, (double)i, TRACE_MALLOC};
        enum live_added added = live_add(b, &stale);
        if (added == LIVE_LOST) {
            lost++;
            continue;
        }
        if (added != LIVE_NEW)
            return (void *)UINTPTR_MAX;
        struct live_block *theirs =
            __atomic_exchange_n(&mail[(me + 1) % THREADS], b, __ATOMIC_ACQ_REL);
        if (!theirs)
            continue;
        int taken;
        while ((taken = live_take(theirs->address, TRACE_MALLOC, &out)) < 0)
            ;
        if (!taken || out.bytes != theirs->bytes)
            return (void *)UINTPTR_MAX;
    }
    return (void *)lost;
}

static void threads_do_not_lose_each_others_blocks(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, adds_and_takes, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *lost;
        pthread_join(threads[i], &lost);
        assert_true((uintptr_t)lost < ROUNDS / 10);
    }
    struct live_block out;
    for (int i = 0; i < THREADS; i++) {
        if (mail[i])
            assert_int_equal(live_take(mail[i]->address, TRACE_MALLOC, &out), 1);
    }
    assert_true(filter_is_empty());
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, set_up)
    const struct CMUnitTest tests[] = {
        CASE(a_reused_address_frees_what_stood_there),
        CASE(heaps_do_not_free_each_others_blocks),
        CASE(a_moved_block_is_freed_before_it_moved),
        CASE(growing_in_place_step_by_step_is_one_allocation),
        CASE(a_failed_realloc_leaves_the_block),
        CASE(what_finds_no_room_is_counted_and_is_not_live),
        CASE(a_forked_child_starts_empty),
        CASE(a_lock_that_is_never_given_back_costs_records_only),
        CASE(threads_do_not_lose_each_others_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
