/* links: tp_stacks tp_trace */
/* The unwinder against glibc's, on whole, foreign and interrupted stacks. */
#include <errno.h>
#include <execinfo.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/unit/capture/unwind_case.h"

enum { ROOM = 200, DEPTH = 128 };
struct taken {
    uintptr_t pc[ROOM];
    size_t n;
    int complete;
};

__attribute__((noinline, noclone)) static void take(struct taken *t, const void *ucontext)
{
    struct unwind_registers r;
    struct unwind_memory m = memory();
    if (ucontext)
        unwind_from_context(&r, ucontext);
    else
        unwind_from_here(&r);
    t->n = unwind(&r, &m, t->pc, DEPTH, &t->complete);
}

/* 1 when all of `t` behind its first `skip` frames is in glibc's view from the same frame on. */
static int agrees(const struct taken *t, size_t skip, void **theirs, size_t n)
{
    for (size_t from = 0; from < n; from++) {
        size_t i = 0;
        while (skip + i < t->n && from + i < n &&
               (t->pc[skip + i] == (uintptr_t)theirs[from + i] ||
                t->pc[skip + i] - 1 == (uintptr_t)theirs[from + i]))
            i++;
        if (skip + i == t->n && i >= 2)
            return from + i == n;
    }
    return 0;
}

static struct taken last;
static void *theirs[ROOM];
static int their_n;

__attribute__((noinline, noclone)) static void both(void)
{
    their_n = backtrace(theirs, ROOM);
    take(&last, NULL);
    __asm__ volatile(""); /* so that it is no tail call, which would leave no frame */
}

static void check_both(void)
{
    assert_true(last.complete);
    assert_true(agrees(&last, 2, theirs, (size_t)their_n));
}

__attribute__((noinline)) static int recurse(int depth)
{
    volatile char pad[64];
    pad[depth % 64] = 1;
    if (!depth)
        both();
    else
        recurse(depth - 1);
    return pad[depth % 64];
}

static void test_recursion_is_followed_to_the_root(void **state)
{
    (void)state;
    recurse(50);
    check_both();
    assert_true(last.n > 50);
}

static void test_a_stack_above_the_limit_is_cut(void **state)
{
    (void)state;
    recurse(500);
    assert_int_equal(last.n, DEPTH);
    assert_false(last.complete);
}

enum { DEEP = 5000 };
static void *frames[DEEP + ROOM], **all; /* all: from the caller of backtrace on */
static int all_n;
static uintptr_t ends[UNWIND_ROOM];
static struct unwind_outer outer;

/* Takes the stack by unwind_both_ends and compares it with glibc's; the marker's number. */
__attribute__((noinline, noclone)) static uint64_t take_ends(void)
{
    struct unwind_registers r;
    struct unwind_memory m = memory();
    int complete, deep;
    all_n = backtrace(all = frames, DEEP + ROOM);
    unwind_from_here(&r);
    size_t n = unwind_both_ends(&r, &m, ends, &outer, &complete, &deep), at = 0;
    assert_true(complete);
    assert_true(deep);
    assert_int_equal(n, UNWIND_ROOM);
    if ((uintptr_t)all[1] != ends[1]) { /* ASan's backtrace begins with a frame of its own */
        all++;
        all_n--;
    }
    for (size_t i = 1; i < UNWIND_INNER; i++) /* the first is another line of this function */
        assert_int_equal(ends[i], (uintptr_t)all[i]);
    for (size_t i = 0; i < UNWIND_OUTER; i++)
        at += ends[UNWIND_INNER + 1 + i] == (uintptr_t)all[(size_t)all_n - UNWIND_OUTER + i];
    assert_int_equal(at, UNWIND_OUTER);
    assert_true(ends[UNWIND_INNER] & TRACE_LEFT_OUT);
    return ends[UNWIND_INNER] & ~TRACE_LEFT_OUT;
}

__attribute__((noinline, noclone)) static int down(int depth)
{
    volatile int pad[4] = {depth};
    if (depth) {
        down(depth - 1);
    } else {
        uint64_t left_out = take_ends();
        assert_int_equal(left_out, all_n - UNWIND_OUTER - UNWIND_INNER);
        assert_true(outer.known);
        outer.deep.after = UINT64_MAX; /* the way must not be gone again */
        assert_int_equal(take_ends(), 0);
    }
    return pad[depth % 4];
}

/* Another caller: what is known of the root holds no longer. */
__attribute__((noinline, noclone)) static int down_elsewhere(int depth)
{
    volatile int pad[8] = {depth};
    if (depth) {
        down_elsewhere(depth - 1);
    } else {
        outer.deep.after = 0;
        uint64_t left_out = take_ends();
        assert_int_equal(left_out, all_n - UNWIND_OUTER - UNWIND_INNER);
    }
    return pad[depth % 8];
}

static void test_both_ends_of_a_deep_stack_are_kept(void **state)
{
    (void)state;
    if (getenv("TP_EMULATED")) {
        print_message("the way to the root takes longer than it may in an emulator\n");
        skip();
    }
    outer.known = 0;
    outer.deep.after = 0;
    down(DEEP - ROOM);
    down_elsewhere(DEEP - 2 * ROOM);
}

__attribute__((noinline, optimize("omit-frame-pointer"))) static int bare(int depth)
{
    volatile int keep = depth;
    if (depth)
        keep += bare(depth - 1);
    else
        both();
    return keep;
}

static void test_functions_without_frame_pointer(void **state)
{
    (void)state;
    bare(20);
    check_both();
    assert_true(last.n > 20);
}

__attribute__((noinline)) static int aligned(int depth)
{
    volatile double pad[8] __attribute__((aligned(64)));
    pad[0] = depth;
    if (depth)
        aligned(depth - 1);
    else
        both();
    return (int)pad[0];
}

static void test_frames_that_are_aligned_by_hand(void **state)
{
    (void)state;
    aligned(10);
    check_both();
}

static int compare(const void *a, const void *b)
{
    if (!last.n)
        both();
    return *(const int *)a - *(const int *)b;
}

static void test_a_callback_through_libc(void **state)
{
    (void)state;
    int values[] = {3, 1, 2};
    last.n = 0;
    qsort(values, 3, sizeof *values, compare);
    check_both();
}

static struct taken interrupted;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    both();
    take(&interrupted, context);
}

static void with_signal(int flags)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags}, old;
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &old, NULL);
}

static void test_through_a_signal_frame(void **state)
{
    (void)state;
    with_signal(0);
    check_both();
    assert_true(interrupted.complete);
    assert_true(agrees(&interrupted, 0, theirs, (size_t)their_n));
}

static void test_from_an_alternate_stack(void **state)
{
    (void)state;
    void *place = malloc(65536);
    stack_t alternate = {.ss_sp = place, .ss_size = 65536}, none = {.ss_flags = SS_DISABLE};
    assert_int_equal(sigaltstack(&alternate, NULL), 0);
    with_signal(SA_ONSTACK);
    sigaltstack(&none, NULL);
    free(place);
    check_both();
    assert_true(interrupted.complete);
    assert_true(agrees(&interrupted, 0, theirs, (size_t)their_n));
}

static ucontext_t here, there;

static void on_fiber(void)
{
    recurse(5);
}

static void test_on_a_stack_that_nobody_announced(void **state)
{
    (void)state;
    char *place = malloc(65536);
    getcontext(&there);
    there.uc_stack.ss_sp = place;
    there.uc_stack.ss_size = 65536;
    there.uc_link = &here;
    makecontext(&there, on_fiber, 0);
    assert_int_equal(swapcontext(&here, &there), 0);
    free(place);
    check_both();
}

static int holds(const struct taken *t, uintptr_t pc)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->pc[i] == pc)
            return 1;
    return 0;
}

/* Generated code: known to no image. One function with a frame, one without. */
static void test_code_without_tables(void **state)
{
    (void)state;
#if defined __x86_64__
    enum { BEHIND_CALL = 6 };
    static const uint8_t with_frame[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    static const uint8_t without[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
                                      0x48, 0x83, 0xc4, 0x08, 0xc3};
#else
    enum { BEHIND_CALL = 12 };
    static const uint32_t with_frame[] = {0xa9bf7bfd, 0x910003fd,  /* stp x29, x30; mov x29, sp */
                                          0xd63f0000,              /* blr x0 */
                                          0xa8c17bfd, 0xd65f03c0}; /* ldp; ret */
    static const uint32_t without[] = {0xd10043ff, 0xf90003fe,     /* sub sp; str x30 */
                                       0xd63f0000,                 /* blr x0 */
                                       0xf94003fe, 0x910043ff, 0xd65f03c0};
#endif
    uint8_t *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) {
        print_message("no memory for generated code here: %s\n", strerror(errno));
        skip();
    }
    memcpy(code, with_frame, sizeof with_frame);
    memcpy(code + 64, without, sizeof without);
    __builtin___clear_cache((char *)code, (char *)code + 4096);
    ((void (*)(void (*)(void)))code)(both);
    assert_true(last.complete);
    assert_true(holds(&last, (uintptr_t)code + BEHIND_CALL));
    size_t whole = last.n;
    ((void (*)(void (*)(void)))(code + 64))(both);
    assert_true(holds(&last, (uintptr_t)code + 64 + BEHIND_CALL));
    assert_true(!last.complete || last.n <= whole); /* the caller may be skipped, no more */
    munmap(code, 4096);
}

static int pipe_ends[2];
static volatile pid_t waiter;

/* As an unoptimised program has them: the system call's wrapper does not save the frame pointer. */
__attribute__((noinline, optimize("O0"))) static void wait_inside(void)
{
    char c;
    their_n = backtrace(theirs, ROOM);
    waiter = gettid();
    while (read(pipe_ends[0], &c, 1) < 0)
        ;
}

__attribute__((noinline, optimize("O0"))) static void *waiting_thread(void *unused)
{
    volatile char space[300];
    space[0] = 1;
    wait_inside();
    return space[0] ? unused : NULL;
}

static int where_blocked(pid_t tid, uintptr_t *sp, uintptr_t *pc)
{
    char path[64], text[256] = "";
    unsigned long v[2];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)tid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    if (!n || sscanf(text, "%*s %*s %*s %*s %*s %*s %*s %lx %lx", &v[0], &v[1]) != 2)
        return 0;
    *sp = v[0];
    *pc = v[1];
    return 1;
}

static void test_another_thread_that_waits(void **state)
{
    (void)state;
    pthread_t thread;
    uintptr_t sp = 0, pc = 0;
    if (getenv("TP_EMULATED")) {
        print_message("/proc/self/task/TID/syscall is the emulator's, not the program's\n");
        skip();
    }
    assert_int_equal(pipe(pipe_ends), 0);
    assert_int_equal(pthread_create(&thread, NULL, waiting_thread, NULL), 0);
    for (int i = 0; i < 30000 && (!waiter || !where_blocked(waiter, &sp, &pc)); i++)
        usleep(10000);
    struct unwind_registers r = {.pc = pc, .known = 1ull << UNWIND_SP};
    struct unwind_memory m = {.window = window, .window_room = sizeof window, .scratch = &scratch};
    r.r[UNWIND_SP] = sp;
    last.n = unwind(&r, &m, last.pc, DEPTH, &last.complete);
    assert_int_equal(write(pipe_ends[1], "x", 1), 1);
    pthread_join(thread, NULL);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    if (!pc) {
        print_message("/proc/self/task/TID/syscall tells nothing here\n");
        skip();
    }
    assert_true(last.complete);
    size_t at = 0; /* of waiting_thread's frame, which looks the same from both sides */
    while (at < last.n && !agrees(&last, at, theirs, (size_t)their_n))
        at++;
    assert_true(at + 3 <= last.n); /* waiting_thread, start_thread, clone3 at the least */
}

enum { SAMPLES = 3000 };
static volatile int samples, whole_stacks, same_stacks;

static void on_timer(int number, siginfo_t *info, void *context)
{
    static struct taken t;
    static void *view[ROOM];
    (void)number;
    (void)info;
    if (samples >= SAMPLES)
        return;
    take(&t, context);
    int n = backtrace(view, ROOM);
    samples++;
    whole_stacks += t.complete;
    same_stacks += agrees(&t, 0, view, (size_t)n);
}

static volatile double sink;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

__attribute__((noinline)) static void work(void)
{
    double v[64];
    char text[64];
    for (int i = 0; i < 64; i++)
        v[i] = sin((double)(next_random() % 1000)) * pow(1.01, (double)i);
    qsort(v, 64, sizeof *v, by_value);
    for (int i = 0; i < 8; i++) {
        snprintf(text, sizeof text, "%.17g %d", v[i], i);
        sink += strtod(text, NULL);
    }
    free(realloc(malloc(100), 5000));
    sink += v[0];
}

static void test_random_points_of_a_busy_program(void **state)
{
    (void)state;
    void *warm[4];
    backtrace(warm, 4);
    struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART}, old;
    sigaction(SIGALRM, &action, &old);
    struct itimerval every = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, NULL);
    while (samples < SAMPLES)
        work();
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &old, NULL);
    print_message("%d samples: %.2f %% complete, %.2f %% as glibc's\n", samples,
                  100.0 * whole_stacks / samples, 100.0 * same_stacks / samples);
    assert_true(whole_stacks > 0.99 * samples);
    /* glibc's does not get through stubs of aarch64's procedure linkage table. */
    assert_true(same_stacks > (UNWIND_RETURN == 16 ? 0.99 : 0.9) * samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recursion_is_followed_to_the_root),
        cmocka_unit_test(test_a_stack_above_the_limit_is_cut),
        cmocka_unit_test(test_both_ends_of_a_deep_stack_are_kept),
        cmocka_unit_test(test_functions_without_frame_pointer),
        cmocka_unit_test(test_frames_that_are_aligned_by_hand),
        cmocka_unit_test(test_a_callback_through_libc),
        cmocka_unit_test(test_through_a_signal_frame),
        cmocka_unit_test(test_from_an_alternate_stack),
        cmocka_unit_test(test_on_a_stack_that_nobody_announced),
        cmocka_unit_test(test_code_without_tables),
        cmocka_unit_test(test_another_thread_that_waits),
        cmocka_unit_test(test_random_points_of_a_busy_program),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
