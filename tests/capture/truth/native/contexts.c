/* Stacks of the program's own: swapcontext between two, longjmp out of a deep call, and a signal
 * handler on an alternate stack that works. */
#define _GNU_SOURCE
#include "spin.h"
#include "truth.h"
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

static ucontext_t home, side;
static double shared = 1;
static jmp_buf back;

static void on_side(void)
{
    for (;;) {
        SPIN(shared, 10000000); /* truth: side */
        swapcontext(&side, &home);
    }
}

static void deep(int depth, double x)
{
    if (depth)
        deep(depth - 1, x + 1);
    SPIN(x, 5000000); /* truth: jump */
    shared += x > 0;
    longjmp(back, 1);
}

static void handler(int number)
{
    (void)number;
    double x = shared;
    SPIN(x, 5000000); /* truth: handler */
    shared = x;
}

int main(void)
{
    static char stack[256 << 10], other[256 << 10];
    sigaltstack(&(stack_t){.ss_sp = other, .ss_size = sizeof other}, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handler, .sa_flags = SA_ONSTACK}, NULL);
    getcontext(&side);
    side.uc_stack.ss_sp = stack;
    side.uc_stack.ss_size = sizeof stack;
    side.uc_link = &home;
    makecontext(&side, on_side, 0);
    for (volatile int i = 0; i < 40; i++) {
        truth_begin("side");
        swapcontext(&home, &side);
        truth_end("side");
        truth_begin("jump");
        if (!setjmp(back))
            deep(20, 0);
        truth_end("jump");
        truth_begin("handler");
        raise(SIGUSR1);
        truth_end("handler");
    }
    printf("%.6f\n", shared);
    return 0;
}
