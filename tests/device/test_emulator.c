/* The emulator itself: what a GPU would punish, or get wrong without a word, ends the process. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/device/shim/shim.h"

/* Returns the exit status of a child that misuses the emulator; its stderr in `said`. */
static int misuse(int what, char *said, size_t size)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); /* cmocka catches both */
        signal(SIGSEGV, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        shim_misuse((enum shim_misuse)what);
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; (n = read(ends[0], said + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    said[length] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void what_a_gpu_would_punish_is_seen(void **state)
{
    (void)state;
    static const char *const words[SHIM_MISUSES] = {
        [SHIM_NO_BLOCKS] = "a grid of 0 x 1 x 1 blocks",
        [SHIM_TALL_GRID] = "a grid of 1 x 65536 x 1 blocks",
        [SHIM_SHARED_NOT_ASKED_FOR] = "49156 bytes of shared memory were not asked for",
        [SHIM_LANES_APART] = "lanes of a warp meet at different instructions",
        [SHIM_LANES_MISSING] = "wait for others that never come",
        [SHIM_HOST_MEMORY_CHANGED] = "is not pinned, and changed before it was copied",
        [SHIM_HOST_POINTER] = "is launched with the host address",
        [SHIM_DESTROYED_STREAM] = "was destroyed",
        [SHIM_DESTROYED_EVENT] = "was destroyed",
        [SHIM_UNFINISHED_EVENT] = "which nobody waited for",
        [SHIM_EVENT_IN_GRAPH] = "an event is recorded in a graph",
        [SHIM_WAIT_IN_GRAPH] = "a graph would wait for an event",
        [SHIM_BEYOND_SHARED] = ""}; /* the system ends it, or ASan */
    char said[400];
    for (int i = 0; i < SHIM_MISUSES; i++) {
        const int status = misuse(i, said, sizeof said);
        if (*words[i] ? !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT : !status)
            fail_msg("misuse %d ends with status %x: %s", i, (unsigned)status, said);
        if (!strstr(said, words[i]))
            fail_msg("misuse %d: status %x, said \"%s\"", i, (unsigned)status, said);
    }
    assert_int_equal(misuse(SHIM_MISUSES, said, sizeof said), 0); /* the rest of it is sound */
}

/* As PTX's specification has them; what is built on them loses none of it. */
static void approximations_are_as_far_off_as_a_gpus(void **state)
{
    (void)state;
    static const double least[] = {[SHIM_RECIPROCAL] = 6e-8,
                                   [SHIM_INVERSE_ROOT] = 1.2e-7,
                                   [SHIM_ROOT] = 1.1e-7,
                                   [SHIM_ROUGH] = 5e-7};
    static const double most[] = {[SHIM_RECIPROCAL] = 1.8e-7,
                                  [SHIM_INVERSE_ROOT] =
                                      1.9e-7,           /* with the rounding of the result */
                                  [SHIM_ROOT] = 1.8e-7, /* the same */
                                  [SHIM_ROUGH] = 2e-6,
                                  [SHIM_NEWTON] = 4e-16};
    for (int i = SHIM_RECIPROCAL; i <= SHIM_ROUGH; i++)
        assert_true(shim_worst_error(i) > least[i]);
    for (int i = SHIM_RECIPROCAL; i <= SHIM_NEWTON; i++)
        assert_true(shim_worst_error(i) < most[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_gpu_would_punish_is_seen),
                                       cmocka_unit_test(approximations_are_as_far_off_as_a_gpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
