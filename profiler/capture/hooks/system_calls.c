/* syscall() and prctl: the ways to a filter of system calls (libseccomp takes them), to the
 * sampler's signal past sigaction (Chromium sets all signals to their defaults between fork and
 * exec), to futexes and queues of requests, to what the kernel refuses to a process with two
 * threads, to a tracer, and to a processor's counter that ends the program (PR_SET_TSC). A program
 * that uses the instruction itself passes by (core/filter.c notices most). */
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/core/filter.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/cpu/phase.h"
#include "profiler/capture/recorders/failure/fatal.h"

call_fn filter_hook_rare;

extern void *filter_hook_next; /* the C library's */
void *filter_hook_next;

/* Returns 1 where this would put a filter on the process. Questions whether the kernel could do so
 * have no filter with them. */
static int is_filter(long number, long a, long b, long c)
{
    if (number == SYS_prctl && a == PR_SET_SECCOMP)
        return b == SECCOMP_MODE_STRICT || (b == SECCOMP_MODE_FILTER && c);
    if (number == SYS_seccomp)
        return a == SECCOMP_SET_MODE_STRICT || (a == SECCOMP_SET_MODE_FILTER && c);
    return 0;
}

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

/* As the kernel has it, 8 bytes of mask. */
struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* rt_sigaction for the sampler's number, SIGSYS or a fatal one, of which the program sees its own actions. */
static long set_action(int number, const struct kernel_action *act, struct kernel_action *old)
{
    struct sigaction set = {0}, was;
    if (act) {
        set.sa_handler = act->handler;
        set.sa_flags = (int)(act->flags & ~(unsigned long)SA_RESTORER);
        memcpy(&set.sa_mask, &act->mask, sizeof act->mask);
    }
    if (hook_sigaction(number, act ? &set : NULL, &was))
        return -1;
    if (old) {
        *old = (struct kernel_action){.handler = was.sa_handler, .flags = (unsigned)was.sa_flags};
        memcpy(&old->mask, &was.sa_mask, sizeof old->mask);
    }
    return 0;
}

long filter_hook_rare(long number, long a, long b, long c, long d, long e, long f)
{
    call_fn *next = (call_fn *)raw_next(&filter_hook_next, "syscall");
    if (!next) {
        errno = ENOSYS;
        return -1;
    }
    if (number == SYS_rt_sigaction && d == 8 &&
        (a == SIGSYS || signals_is_ours((int)a) || fatal_covers((int)a)))
        return set_action((int)a, (const struct kernel_action *)b, (struct kernel_action *)c);
    int traced = number == SYS_ptrace && a == PTRACE_TRACEME && process_traced_begin();
    int alone = (number == SYS_unshare || number == SYS_setns) && process_alone();
    int begun = is_filter(number, a, b, c) && filter_begin();
    long r = next(number, a, b, c, d, e, f);
    int saved = errno;
    if (alone)
        process_alone_end(alone);
    if (traced)
        process_traced_end(r == 0);
    if (number == SYS_prctl && a == PR_SET_TSC && r == 0)
        raw_clock_check();
    errno = saved;
    if (r && begun)
        filter_refused();
    return r;
}

call_fn filter_hook_paused, filter_hook_now;

/* syscall() while the sampler has a timer that would end a sleep. */
long filter_hook_paused(long number, long a, long b, long c, long d, long e, long f)
{
    phase_pause();
    long r = filter_hook_now(number, a, b, c, d, e, f);
    phase_resume();
    return r;
}

/* A jump: the C library's function returns to the program, which is its caller in stacks too. The
 * compiler's jump would write the last argument back to its place on the stack, which is the
 * caller's own where it gave fewer. */
#ifdef __x86_64__
_Static_assert(SYS_rt_sigaction == 13 && SYS_ptrace == 101 && SYS_prctl == 157 &&
                   SYS_futex == 202 && SYS_io_getevents == 208 && SYS_unshare == 272 &&
                   SYS_setns == 308 && SYS_seccomp == 317 && SYS_io_pgetevents == 333 &&
                   SYS_io_uring_setup == 425 && SYS_io_uring_register == 427,
               "written into the instructions below");
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "cmpl $0, phase_on(%rip)\n"
        "jne filter_hook_paused\n"
        ".hidden filter_hook_now\n"
        "filter_hook_now:\n"
        "cmpq $13, %rdi\n"
        "je filter_hook_rare\n"
        "cmpq $101, %rdi\n"
        "je filter_hook_rare\n"
        "cmpq $157, %rdi\n"
        "je filter_hook_rare\n"
        "cmpq $202, %rdi\n"
        "je hook_futex\n"
        "cmpq $208, %rdi\n"
        "je hook_ring\n"
        "cmpq $333, %rdi\n"
        "je hook_ring\n"
        "leaq -425(%rdi), %rax\n"
        "cmpq $2, %rax\n"
        "jbe hook_ring\n"
        "cmpq $272, %rdi\n"
        "je filter_hook_rare\n"
        "cmpq $308, %rdi\n"
        "je filter_hook_rare\n"
        "cmpq $317, %rdi\n"
        "je filter_hook_rare\n"
        "movq filter_hook_next(%rip), %rax\n"
        "testq %rax, %rax\n"
        "je filter_hook_rare\n"
        "jmp *%rax\n"
        ".cfi_endproc\n"
        ".size syscall, .-syscall\n");
#else
long filter_hook_now(long number, long a, long b, long c, long d, long e, long f)
{
    call_fn *next = (call_fn *)__atomic_load_n(&filter_hook_next, __ATOMIC_RELAXED);
    if (__builtin_expect(!next || number == SYS_rt_sigaction || number == SYS_prctl ||
                             number == SYS_ptrace || number == SYS_unshare || number == SYS_setns ||
                             number == SYS_seccomp,
                         0))
        return filter_hook_rare(number, a, b, c, d, e, f);
    if (number == SYS_futex)
        return hook_futex(number, a, b, c, d, e, f);
    if (number == SYS_io_getevents || number == SYS_io_pgetevents ||
        (number >= SYS_io_uring_setup && number <= SYS_io_uring_register))
        return hook_ring(number, a, b, c, d, e, f);
    return next(number, a, b, c, d, e, f);
}

CAPTURE_API call_fn hook_syscall __asm__("syscall");
long hook_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    return (__builtin_expect(phase_on, 0) ? filter_hook_paused : filter_hook_now)(number, a, b, c,
                                                                                  d, e, f);
}
#endif

CAPTURE_API int prctl(int option, ...)
{
    va_list list;
    long word[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        word[i] = va_arg(list, long);
    va_end(list);
    return (int)filter_hook_rare(SYS_prctl, option, word[0], word[1], word[2], word[3], 0);
}

void filter_hooks_setup(void)
{
    raw_next(&filter_hook_next, "syscall");
}
