/* links: tp_stacks tp_trace */
/* Stacks that are compared with the thread's last way are the stacks of the whole way: on trees of
 * calls that differ in their callers, their frames' sizes and the registers they count from. */
#include <alloca.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "profiler/capture/core/unwind/unwind_before.h"
#include "tests/unit/capture/unwind_case.h"

enum { ROOM = 400 };
static struct unwind_before before;
static volatile long stacks, differ, reused, incomplete;
static volatile long sink;

/* Is the last way used at all? Only x86-64 keeps it (docs/internals/arm.md). */
static void assert_reused(void)
{
#ifdef __x86_64__
    assert_true(reused > stacks / 2);
#endif
}

/* Both ways from the same place. */
static void compare(const struct unwind_registers *from)
{
    static uintptr_t pc[2][ROOM];
    struct unwind_registers r[2] = {*from, *from};
    size_t n[2];
    int complete[2];
    for (int k = 0; k < 2; k++) {
        struct unwind_memory m = {.low = stack_low,
                                  .high = stack_high,
                                  .window = window,
                                  .window_room = sizeof window,
                                  .scratch = &scratch,
                                  .before = k ? &before : NULL};
        n[k] = unwind(&r[k], &m, pc[k], ROOM, &complete[k]);
    }
    stacks++;
    incomplete += !complete[0];
    differ +=
        n[0] != n[1] || complete[0] != complete[1] || memcmp(pc[0], pc[1], n[0] * sizeof *pc[0]);
    reused += r[1].r[UNWIND_SP] < r[0].r[UNWIND_SP];
}

__attribute__((noinline, noclone)) static void leaf(void)
{
    struct unwind_registers r;
    unwind_from_here(&r);
    compare(&r);
    __asm__ volatile("");
}

static unsigned seed = 1;
static unsigned next(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 10) % below;
}

static void tree(int depth);

/* Two callers at the same depth, with frames of the same size. */
__attribute__((noinline, noclone)) static void left(int depth)
{
    tree(depth - 1);
    sink++;
}

__attribute__((noinline, noclone)) static void right(int depth)
{
    tree(depth - 1);
    sink--;
}

/* Leaves a hole that keeps what others left there: return addresses of gone frames. */
__attribute__((noinline, noclone)) static void hollow(int depth)
{
    volatile char room[512];
    room[next(512)] = 1;
    tree(depth - 1);
    sink += room[0];
}

/* Its end is counted from the frame pointer: the same code at the same place, with other ends. */
__attribute__((noinline, noclone)) static void grown(int depth)
{
    volatile char *room = alloca(16 + 16 * next(6));
    room[0] = 1;
    tree(depth - 1);
    sink += room[0];
}

__attribute__((noinline, noclone)) static void aligned(int depth)
{
    volatile double room[8] __attribute__((aligned(64)));
    room[0] = depth;
    tree(depth - 1);
    sink += (long)room[0];
}

static int by_value(const void *a, const void *b)
{
    if (!next(3))
        leaf();
    return *(const int *)a - *(const int *)b;
}

__attribute__((noinline, noclone)) static void tree(int depth)
{
    if (depth <= 0) {
        leaf();
        return;
    }
    for (unsigned i = 0, n = 1 + next(2); i < n; i++)
        switch (next(8)) {
        case 0:
        case 1:
            left(depth);
            break;
        case 2:
        case 3:
            right(depth);
            break;
        case 4:
            hollow(depth);
            break;
        case 5:
            grown(depth);
            break;
        case 6:
            aligned(depth);
            break;
        default: {
            int v[4] = {3, 1, 2, 4};
            qsort(v, 4, sizeof *v, by_value);
        }
        }
}

static void test_a_way_that_is_compared_is_the_way(void **state)
{
    (void)state;
    while (stacks < 30000)
        tree(16);
    print_message("%ld stacks, %ld compared with the one before\n", stacks, reused);
    assert_int_equal(incomplete, 0);
    assert_int_equal(differ, 0);
    assert_reused();
}

/* Frames that end elsewhere than the ones before, whose return addresses still lie there. */
__attribute__((noinline, noclone)) static void sized(size_t bytes)
{
    volatile char *room = alloca(bytes + 16);
    room[0] = 1;
    leaf();
    sink += room[0];
}

__attribute__((noinline, noclone)) static void slim(size_t bytes)
{
    leaf();
    sink += (long)bytes;
}

__attribute__((noinline, noclone)) static void wide(size_t bytes)
{
    volatile char room[600];
    room[bytes % 8] = 1;
    leaf();
    sink += room[0];
}

typedef void sized_fn(size_t bytes);

__attribute__((noinline, noclone)) static void over(size_t pad, sized_fn *call, size_t bytes)
{
    volatile char *room = alloca(pad + 16);
    room[0] = 1;
    call(bytes);
    sink += room[0];
}

__attribute__((noinline, noclone)) static void above(size_t pad, sized_fn *call, size_t bytes)
{
    volatile char *room = alloca(pad + 16);
    room[0] = 1;
    call(bytes);
    sink -= room[0];
}

static void test_words_of_frames_that_are_gone_are_not_believed(void **state)
{
    (void)state;
    stacks = differ = 0;
    for (size_t pad = 0; pad < 1024; pad += 16) {
        struct { /* all from one place */
            void (*outer)(size_t, sized_fn *, size_t);
            size_t pad;
            sized_fn *call;
            size_t bytes;
        } calls[] = {{over, pad, sized, 1024 - pad}, {above, 1024 - pad, sized, pad},
                     {over, pad, slim, 0},           {above, 0, wide, 0},
                     {above, pad, wide, 0},          {over, 1024, slim, 0}};
        for (int i = 0; i < 6; i++)
            calls[i].outer(calls[i].pad, calls[i].call, calls[i].bytes);
    }
    assert_int_equal(stacks, 64 * 6);
    assert_int_equal(differ, 0);
}

static void on_timer(int number, siginfo_t *info, void *context)
{
    struct unwind_registers r;
    (void)number;
    (void)info;
    unwind_from_context(&r, context);
    compare(&r);
}

static void test_a_way_from_any_instruction(void **state)
{
    (void)state;
    struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct itimerval every = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
    stacks = differ = reused = incomplete = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    while (stacks < 2000) {
        char text[64];
        double v[8];
        for (int i = 0; i < 8; i++)
            v[i] = sin(i + (double)next(1000));
        snprintf(text, sizeof text, "%.17g", v[next(8)]);
        sink += (long)strtod(text, NULL);
        free(realloc(malloc(100), 5000));
    }
    setitimer(ITIMER_REAL, &off, NULL);
    signal(SIGALRM, SIG_DFL);
    assert_int_equal(differ, 0);
    assert_reused();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_way_that_is_compared_is_the_way),
        cmocka_unit_test(test_words_of_frames_that_are_gone_are_not_believed),
        cmocka_unit_test(test_a_way_from_any_instruction),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
