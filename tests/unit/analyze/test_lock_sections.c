/* links: tp_analyze */
/* Tests which line of a thread's stack holds a lock, from stacks that asked for it. */
#include <string.h>

#include "profiler/analyze/locks/locks_state.h"
#include "tests/unit/check.h"

enum { LOCK = 7, DEPTH = 4, ME = 1, OTHER = 2 };
static const char file[] = "app.c", worker[] = "worker", take[] = "take", work[] = "work",
                  add[] = "add", other[] = "other";

/* Adds a stack, outermost first; its place. */
static uint32_t stack_of(struct locks *l, const struct lock_frame frames[DEPTH])
{
    struct lock_place p = {.frames = l->frames.count, .known = 1};
    for (int i = 0; i < DEPTH && frames[i].function; i++, p.depth++) {
        assert_ok(vector_add(&l->frames, frames[i]));
        p.file = frames[i].file;
        p.function = frames[i].function;
        p.line = frames[i].line;
    }
    assert_ok(vector_add(&l->places, p));
    return (uint32_t)l->places.count - 1;
}
#define STACK(...) stack_of(&l, (const struct lock_frame[DEPTH]){__VA_ARGS__})
#define HELD(at)   lock_section(&l, LOCK, ME, &l.places.items[at])

static void locks_free(struct locks *l)
{
    vector_free(&l->frames);
    vector_free(&l->places);
    vector_free(&l->takers);
    table_free(&l->asked);
    table_free(&l->takers_of);
}

static void the_function_that_takes_the_lock_holds_it(void **state)
{
    (void)state;
    struct locks l = {0};
    const uint32_t at = STACK({file, worker, 26}, {file, work, 17});
    assert_int_equal(HELD(at).at.line, 17); /* nobody asked for it yet */
    assert_ok(lock_asks(&l, LOCK, ME, STACK({file, worker, 25})));
    assert_int_equal(HELD(at).at.line, 26);
    assert_null(HELD(at).locked.file);
    assert_int_equal(lock_section(&l, 0, ME, &l.places.items[at]).at.line, 17);
    locks_free(&l);
}

static void a_helper_that_takes_it_is_told_apart(void **state)
{
    (void)state;
    struct locks l = {0};
    const uint32_t at = STACK({file, worker, 26}, {file, work, 17});
    assert_ok(lock_asks(&l, LOCK, ME, STACK({file, worker, 40}, {file, take, 12})));
    assert_ok(lock_asks(&l, LOCK, ME, STACK({file, worker, 25}, {file, take, 12})));
    assert_ok(lock_asks(&l, LOCK, ME, STACK({file, worker, 10}, {file, take, 12})));
    assert_int_equal(HELD(at).at.line, 25); /* of three sections, the one that it is in */
    assert_ptr_equal(HELD(at).at.function, worker);
    assert_int_equal(HELD(at).locked.line, 12);
    locks_free(&l);
}

/* Locked, used and unlocked inside of a method. */
static void the_innermost_of_both_stacks_counts(void **state)
{
    (void)state;
    struct locks l = {0};
    const uint32_t at = STACK({file, worker, 25}, {file, add, 8}, {file, work, 17});
    const uint32_t foreign = STACK({file, other, 3}, {file, work, 17});
    assert_ok(lock_asks(&l, LOCK, ME, STACK({file, worker, 30}, {file, other, 5})));
    assert_ok(lock_asks(&l, LOCK, ME, STACK({file, worker, 25}, {file, add, 7})));
    assert_int_equal(HELD(at).at.line, 8);
    assert_null(HELD(at).locked.file);
    assert_int_equal(HELD(foreign).at.line, 17); /* no frame in common */
    locks_free(&l);
}

/* The line that runs both a reader and a writer is no section of either. */
static void what_another_thread_called_took_nothing_for_this_one(void **state)
{
    (void)state;
    struct locks l = {0};
    const uint32_t at = STACK({file, worker, 26}, {file, work, 17});
    assert_ok(lock_asks(&l, LOCK, OTHER, STACK({file, worker, 25}, {file, other, 5})));
    assert_ok(lock_asks(&l, LOCK, ME, STACK({file, worker, 26}, {file, other, 5})));
    assert_int_equal(HELD(at).at.line, 17);
    assert_ok(lock_asks(&l, LOCK, ME, STACK({file, worker, 25}, {file, other, 5})));
    assert_int_equal(HELD(at).at.line, 25);
    locks_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_function_that_takes_the_lock_holds_it),
        cmocka_unit_test(a_helper_that_takes_it_is_told_apart),
        cmocka_unit_test(the_innermost_of_both_stacks_counts),
        cmocka_unit_test(what_another_thread_called_took_nothing_for_this_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
