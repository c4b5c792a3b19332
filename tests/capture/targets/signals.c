/* Uses signals in the ways that programs may, one case per run; prints what it saw, the same bare
 * and recorded. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static volatile int counts[65], values[65], stop;

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void spin(double s)
{
    double end = seconds(CLOCK_THREAD_CPUTIME_ID) + s;
    while (seconds(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 10000; i++)
            sink += (unsigned long)i;
}

static void count(int n)
{
    counts[n]++;
}

static void count_value(int n, siginfo_t *info, void *context)
{
    (void)context;
    counts[n]++;
    values[n] += info->si_value.sival_int;
}

static void handle(int n)
{
    struct sigaction act = {.sa_sigaction = count_value, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(n, &act, NULL);
}

static void send(int n)
{
    sigqueue(getpid(), n, (union sigval){.sival_int = n});
}

static void block_all(void)
{
    sigset_t all, old, now;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    spin(0.3);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    int before = 0, after = 0;
    for (int i = 1; i <= SIGRTMAX; i++) {
        before += sigismember(&old, i) == 1;
        after += sigismember(&now, i) == 1;
    }
    printf("blocked before %d, after %d\n", before, after);
}

static void profiling_timer(void)
{
    struct itimerval every = {{0, 5000}, {0, 5000}};
    signal(SIGPROF, count);
    setitimer(ITIMER_PROF, &every, NULL);
    spin(0.3);
    /* A virtual machine that waits for its host may have no tick in all that time. */
    for (int more = 0; more < 1000 && counts[SIGPROF] <= 5; more++)
        spin(0.01);
    printf("SIGPROF came: %d\n", counts[SIGPROF] > 5);
}

static void all_real_time(void)
{
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++)
        handle(n);
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
        send(n);
        raise(n);
        spin(0.005);
    }
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++)
        printf("%d: %d %d\n", n, counts[n], values[n]);
}

static void default_action(void)
{
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
        int status;
        pid_t pid = fork();
        if (!pid) {
            spin(0.002);
            raise(n);
            _exit(1);
        }
        waitpid(pid, &status, 0);
        printf("%d: %d\n", n, WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    }
}

static void ignored(void)
{
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
        signal(n, SIG_IGN);
        raise(n);
        printf("%d: %d\n", n, signal(n, SIG_DFL) == SIG_IGN);
    }
}

static void waited_for(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++)
        sigaddset(&set, n);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    spin(0.1);
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++)
        send(n);
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
        siginfo_t info = {0};
        struct timespec t = {5, 0};
        int got = sigtimedwait(&set, &info, &t);
        printf("%d %d\n", got, info.si_value.sival_int);
    }
    spin(0.1);
    struct timespec t = {0, 50000000};
    printf("%d\n", sigtimedwait(&set, NULL, &t));
}

static void unblocked_late(void)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
        send(n);
        handle(n);
    }
    spin(0.05);
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++)
        printf("%d", counts[n]);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++)
        printf("%d", counts[n]);
    puts("");
}

static void reset_all(void)
{
    for (int n = 1; n <= SIGRTMAX; n++)
        signal(n, SIG_DFL);
    for (int n = 1; n <= SIGRTMAX; n++) {
        struct sigaction old = {0}, act = {.sa_handler = SIG_DFL};
        sigaction(n, &act, &old);
    }
    spin(0.3);
    puts("alive");
}

static void what_is_set(void)
{
    sigset_t now, waiting;
    for (int n = 1; n <= SIGRTMAX; n++) {
        struct sigaction old = {0};
        if (sigaction(n, NULL, &old) == 0)
            printf("%d:%d%d ", n, old.sa_handler == SIG_DFL, old.sa_flags);
    }
    spin(0.05);
    sigprocmask(SIG_BLOCK, NULL, &now);
    sigpending(&waiting);
    for (int n = 1; n <= SIGRTMAX; n++)
        printf("%d%d", sigismember(&now, n), sigismember(&waiting, n));
    puts("");
}

static void mask_after_exec(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    spin(0.05);
    char *argv[] = {(char *)"signals", (char *)"what_is_set", NULL};
    execv("/proc/self/exe", argv);
}

static void tiny_stack(void)
{
    static char stack[2048];
    stack_t s = {.ss_sp = stack, .ss_size = sizeof stack}, old;
    int refused = sigaltstack(&s, NULL);
    spin(0.3);
    sigaltstack(NULL, &old);
    printf("%d %d\n", refused, refused ? 0 : old.ss_sp == stack && old.ss_size == sizeof stack);
}

static int signal_fd_case(void)
{
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    for (int i = 0; i < 200; i++) {
        struct signalfd_siginfo info;
        spin(0.001);
        if (read(fd, &info, sizeof info) > 0)
            return printf("read signal %u\n", info.ssi_signo);
    }
    kill(getpid(), SIGUSR1);
    struct signalfd_siginfo info;
    return printf("%zd %u\n", read(fd, &info, sizeof info), info.ssi_signo);
}

static void say(const char *what, int r, int error, double took, double asked)
{
    printf("%s: %d %d %s\n", what, r, r < 0 ? error : 0,
           took >= asked * 0.999 && took < asked + 30 ? "in time" : "WRONG TIME");
}

/* Calls that end with EINTR after any handler. Kernels from 5.10 on handle CPU timers on the way
 * back to the program, so that these calls are not met; a thread here sends what older ones would:
 * the signal of the sampler's timer, as /proc/self/timers describes it. Bare there is none. */
#define FILES 4
static struct pollfd files[FILES];

static void *old_kernel(void *unused)
{
    int number = 0;
    void *value = NULL;
    char line[128];
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    FILE *f = fopen("/proc/self/timers", "r");
    int n = 0, tid;
    void *v = NULL;
    while (f && fgets(line, sizeof line, f)) {
        sscanf(line, "signal: %d/%p", &n, &v);
        if (sscanf(line, "notify: signal/tid.%d", &tid) == 1 && tid == getpid()) {
            number = n;
            value = v;
        }
    }
    if (f)
        fclose(f);
    (void)unused;
    siginfo_t info = {.si_signo = number, .si_code = SI_TIMER, .si_value.sival_ptr = value};
    const struct timespec pause_between = {0, 70000};
    while (number && !stop) {
        syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), number, &info);
        syscall(SYS_nanosleep, &pause_between, NULL);
    }
    fprintf(stderr, number ? "disturbed\n" : "");
    return NULL;
}

static sem_t nobody;
static sigset_t user_signal, no_signal;
static const struct timespec brief = {0, 200000};

static struct timespec soon(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += brief.tv_nsec;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static int brief_call(int which)
{
    struct timespec at = soon();
    struct timeval tv = {0, 200};
    struct epoll_event event;
    static int ep = -1;
    ep = ep < 0 ? epoll_create1(0) : ep;
    switch (which) {
    case 0:
        return nanosleep(&brief, NULL);
    case 1:
        return (errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL)) ? -1 : 0;
    case 2:
        return usleep(200);
    case 3:
        return poll(files, FILES, 1);
    case 4:
        return ppoll(files, FILES, &brief, &no_signal);
    case 5:
        return select(0, NULL, NULL, NULL, &tv);
    case 6:
        return pselect(0, NULL, NULL, NULL, &brief, &no_signal);
    case 7:
        return epoll_pwait2(ep, &event, 1, &brief, NULL);
    case 8:
        return sem_timedwait(&nobody, &at);
    default:
        return sigtimedwait(&user_signal, NULL, &brief);
    }
}

static void undisturbed(void)
{
    static const char *const names[] = {
        "nanosleep", "clock_nanosleep", "usleep",       "poll",          "ppoll",
        "select",    "pselect",         "epoll_pwait2", "sem_timedwait", "sigtimedwait"};
    int ends[2];
    if (pipe(ends))
        return;
    for (int i = 0; i < FILES; i++)
        files[i] = (struct pollfd){ends[0], POLLIN, 0};
    sem_init(&nobody, 0, 0);
    sigemptyset(&no_signal);
    sigemptyset(&user_signal);
    sigaddset(&user_signal, SIGUSR1);
    pthread_t t;
    if (pthread_create(&t, NULL, old_kernel, NULL))
        return;
    for (int which = 0; which < 10; which++) {
        int interrupted = 0, brief_ones = 0;
        for (int i = 0; i < 300; i++) {
            double begin = seconds(CLOCK_MONOTONIC);
            errno = 0;
            int r = brief_call(which);
            interrupted += r < 0 && errno == EINTR;
            brief_ones += seconds(CLOCK_MONOTONIC) - begin < 199e-6;
        }
        printf("%s: interrupted %d, too short %d\n", names[which], interrupted, brief_ones);
    }
    stop = 1;
    pthread_join(t, NULL);
}

/* The program's own signals must still end its calls. */
static void interrupted(void)
{
    struct itimerval soon = {{1, 0}, {0, 30000}}; /* again: the first may come before the call */
    struct timespec t = {100, 0}, left = {0, 0};  /* who is not interrupted sleeps them out */
    struct sigaction act = {.sa_handler = count};
    sigset_t none;
    sigemptyset(&none);
    sigaction(SIGALRM, &act, NULL);
    for (int i = 0; i < 20; i++) {
        spin(0.005);
        double begin = seconds(CLOCK_MONOTONIC);
        setitimer(ITIMER_REAL, &soon, NULL);
        int r = i % 5 == 0   ? nanosleep(&t, &left)
                : i % 5 == 1 ? poll(NULL, 0, 100000)
                : i % 5 == 2 ? pause()
                : i % 5 == 3 ? sigsuspend(&none)
                             : select(0, NULL, NULL, NULL, NULL);
        say("call", r, errno, seconds(CLOCK_MONOTONIC) - begin, 0.03);
    }
    printf("left %d, handled %d\n", left.tv_sec >= 70, counts[SIGALRM] >= 20);
    setitimer(ITIMER_REAL, &soon, NULL);
    printf("sleep leaves %d\n", sleep(100) >= 70);
}

static sigjmp_buf start_over;
static void jump(int n)
{
    (void)n;
    siglongjmp(start_over, 1);
}

/* Handlers that never return leave whatever they interrupted, copies that are being recorded too.
 */
static void jumps_out(void)
{
    static char from[4096], to[4096];
    static volatile int jumps;
    struct itimerval every = {{0, 1000}, {0, 1000}}, never = {0};
    signal(SIGALRM, jump);
    if (sigsetjmp(start_over, 1))
        jumps++;
    else
        setitimer(ITIMER_REAL, &every, NULL);
    while (jumps < 300) {
        volatile size_t n = sizeof to;
        memcpy(to, from, n);
        sink += (unsigned long)to[n / 2];
    }
    setitimer(ITIMER_REAL, &never, NULL);
    spin(1);
    puts("through");
}

/* Past the C library, where a profiler would notice it. */
static long counter_set(long how)
{
    long r = -1;
#ifdef __x86_64__
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(SYS_prctl), "D"(PR_SET_TSC), "S"(how)
                     : "rcx", "r11", "memory");
#endif
    (void)how;
    return r;
}

/* The clock that the library reads, once it has entered, needs the processor's counter, which is
 * forbidden for a moment: there the signal comes, so that the handler leaves it for certain. */
static void jumped_out(void)
{
    static char from[4096], to[4096];
    volatile size_t n = sizeof to;
    signal(SIGSEGV, jump);
    if (sigsetjmp(start_over, 1) || counter_set(PR_TSC_SIGSEGV)) {
        counter_set(PR_TSC_ENABLE);
        return;
    }
    for (int i = 0; i < 100; i++) {
        memcpy(to, from, n);
        sink += (unsigned long)to[n / 2];
    }
    counter_set(PR_TSC_ENABLE); /* bare: nobody looked at the clock */
}

/* Frames that lie lower than those of the library did. */
static void spin_deep(double s, int depth)
{
    volatile char frame[512];
    memset((char *)frame, depth, sizeof frame);
    if (depth)
        spin_deep(s, depth - 1);
    else
        spin(s);
    sink += (unsigned long)frame[depth];
}

static void jumps_out_then_spins(void)
{
    jumped_out();
    spin(0.4);
    puts("through");
}

static void jumps_out_then_deeper(void)
{
    jumped_out();
    spin_deep(0.4, 20);
    puts("through");
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"block_all", block_all},
    {"profiling_timer", profiling_timer},
    {"all_real_time", all_real_time},
    {"default_action", default_action},
    {"ignored", ignored},
    {"waited_for", waited_for},
    {"unblocked_late", unblocked_late},
    {"reset_all", reset_all},
    {"what_is_set", what_is_set},
    {"mask_after_exec", mask_after_exec},
    {"tiny_stack", tiny_stack},
    {"undisturbed", undisturbed},
    {"interrupted", interrupted},
    {"jumps_out", jumps_out},
    {"jumps_out_then_spins", jumps_out_then_spins},
    {"jumps_out_then_deeper", jumps_out_then_deeper},
    {"signal_fd", (void (*)(void))signal_fd_case},
};

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc == 1)
            puts(cases[i].name);
        else if (!strcmp(cases[i].name, argv[1])) {
            cases[i].run();
            return 0;
        }
    }
    return argc == 1 ? 0 : 2;
}
