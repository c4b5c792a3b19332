/* Stops one thread for a moment. It is attached to for that moment alone, so that between two
 * samples, and after an end of this process of any kind, nothing distinguishes it. */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/outside/process.h"

#define NAP_NS  1000000u   /* where no signal tells of the stop */
#define WAIT_NS 20000000u  /* one that waits for a CPU, or is deep in the kernel */
#define LAST_NS 500000000u /* the same, when no later look comes */
#define LATE    64
#define RESTART (-514) /* the kernel's -ERESTARTNOHAND */

static pid_t late[LATE]; /* did not stop in time; 0: free */

static int thread_detach(pid_t tid, int signal)
{
    return ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)signal) == 0 || errno == ESRCH;
}

/* Returns the cause of a stop besides ours: a signal on its way to the thread, which it must
 * get. */
static int signal_of(int status)
{
    return status >> 16 == 0 ? WSTOPSIG(status) : 0;
}

/* 1 stopped, 0 not yet, -1 gone. */
static int has_stopped(pid_t tid, int *status)
{
    pid_t got = waitpid(tid, status, __WALL | WNOHANG);
    if (got == tid)
        return WIFSTOPPED(*status) ? 1 : -1;
    return got < 0 && errno != EINTR ? -1 : 0;
}

/* The same, asleep until the kernel's signal tells of the stop: questions in turns with naps of 50
 * us took 40 % of a CPU at 500 looks a second, and a thread on this CPU cannot stop meanwhile. */
static int wait_for_stop(pid_t tid, uint64_t patience_ns, int *status)
{
    const struct timespec nap = {0, NAP_NS};
    sigset_t child, old;
    int got = has_stopped(tid, status);
    if (got || !patience_ns)
        return got;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &old);
    uint64_t begin = trace_now();
    while (!(got = has_stopped(tid, status)) && trace_now() - begin < patience_ns)
        (void)sigtimedwait(&child, NULL, &nap);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return got;
}

static void keep_late(pid_t tid)
{
    for (int i = 0; i < LATE; i++)
        if (!late[i]) {
            late[i] = tid;
            return;
        }
}

static int is_late(pid_t tid)
{
    for (int i = 0; i < LATE; i++)
        if (late[i] == tid)
            return 1;
    return 0;
}

#ifdef __x86_64__
static void registers_of(const struct user_regs_struct *r, ucontext_t *u)
{
    const struct {
        int at;
        unsigned long long value;
    } rows[] = {{REG_RAX, r->rax}, {REG_RBX, r->rbx}, {REG_RCX, r->rcx}, {REG_RDX, r->rdx},
                {REG_RSI, r->rsi}, {REG_RDI, r->rdi}, {REG_RBP, r->rbp}, {REG_RSP, r->rsp},
                {REG_R8, r->r8},   {REG_R9, r->r9},   {REG_R10, r->r10}, {REG_R11, r->r11},
                {REG_R12, r->r12}, {REG_R13, r->r13}, {REG_R14, r->r14}, {REG_R15, r->r15},
                {REG_RIP, r->rip}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        u->uc_mcontext.gregs[rows[i].at] = (greg_t)rows[i].value;
}

/* Calls that end with EINTR after a stop (epoll_wait, sigtimedwait) must not: the thread was about
 * to begin one. The kernel makes them again where no handler of the program runs first. */
static int read_registers(pid_t tid, struct stopped *out)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, tid, NULL, &r))
        return 0;
    registers_of(&r, &out->registers);
    out->system = (long long)r.orig_rax >= 0;
    if (out->system && !out->signal && (long long)r.rax == -EINTR) {
        r.rax = (unsigned long long)(long long)RESTART;
        ptrace(PTRACE_SETREGS, tid, NULL, &r);
    }
    return 1;
}
#else
static int read_registers(pid_t tid, struct stopped *out)
{
    (void)tid, (void)out;
    return 0;
}
#endif

/* Lets a stopped thread go on as if it had not stopped. */
static int thread_release(pid_t tid, int status)
{
    struct stopped s = {.signal = signal_of(status)};
    (void)read_registers(tid, &s);
    return thread_detach(tid, s.signal);
}

void stop_late(int last)
{
    for (int i = 0; i < LATE; i++) {
        int status, got = late[i] ? wait_for_stop(late[i], last ? LAST_NS : 0, &status) : 0;
        if (got < 0 || (got && thread_release(late[i], status)))
            late[i] = 0;
    }
}

int stop_any_late(void)
{
    for (int i = 0; i < LATE; i++)
        if (late[i])
            return 1;
    return 0;
}

int stop_thread(pid_t tid, struct stopped *out)
{
    int status;
    if (is_late(tid) || ptrace(PTRACE_SEIZE, tid, NULL, NULL))
        return 0;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    int got = wait_for_stop(tid, WAIT_NS, &status);
    if (got <= 0) {
        if (!got)
            keep_late(tid);
        return 0;
    }
    out->signal = signal_of(status);
    if (read_registers(tid, out))
        return 1;
    thread_detach(tid, out->signal);
    return 0;
}

void stop_go_on(pid_t tid, struct stopped *s)
{
    if (!thread_detach(tid, s->signal))
        keep_late(tid);
}

int stop_errno(pid_t pid)
{
    int status;
    stop_late(0);
    if (is_late(pid)) /* it may: it is attached to */
        return 0;
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
        return errno;
    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
    int got = wait_for_stop(pid, WAIT_NS, &status);
    if (got > 0)
        thread_release(pid, status);
    else if (!got)
        keep_late(pid);
    return got < 0 ? ESRCH : 0;
}
