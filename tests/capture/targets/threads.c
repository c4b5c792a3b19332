/* Threads in odd ways, one case per run; the same output and exit code bare and recorded. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile unsigned long sink;

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

static void *spin_a_little(void *p)
{
    spin(0.02);
    return p;
}

static pthread_barrier_t all_there;
static void *spin_together(void *p)
{
    pthread_barrier_wait(&all_there);
    spin(0.002);
    return p;
}

static int three_hundred(void)
{
    pthread_t t[300];
    pthread_barrier_init(&all_there, NULL, 300);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32768);
    for (int i = 0; i < 300; i++)
        if (pthread_create(&t[i], i % 2 ? &small : NULL, spin_together, NULL))
            return 1;
    for (int i = 0; i < 300; i++)
        pthread_join(t[i], NULL);
    return puts("300") < 0;
}

static void *spin_then_end(void *p)
{
    spin(0.3);
    puts("last");
    return p;
}

static int main_ends_first(void)
{
    pthread_t t;
    pthread_create(&t, NULL, spin_then_end, NULL);
    pthread_exit(NULL);
}

static void *spin_then_exit(void *p)
{
    (void)p;
    spin(0.1);
    exit(7);
}

static int main_gone_then_exit(void)
{
    pthread_t t;
    pthread_create(&t, NULL, spin_then_exit, NULL);
    pthread_exit(NULL);
}

static int main_alone_ends(void)
{
    spin(0.1);
    pthread_exit(NULL);
}

static void *fork_and_wait(void *p)
{
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (!pid) {
            spin(0.005);
            _exit(i);
        }
        int status;
        if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != i)
            puts("lost a child");
    }
    return p;
}

static int forks_and_threads(void)
{
    pthread_t t[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, i % 2 ? fork_and_wait : spin_a_little, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    return puts("joined") < 0;
}

static void *end_at_once(void *p)
{
    free(malloc(1000));
    return p;
}

static void *make_detached(void *p)
{
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    for (;;) {
        pthread_t t;
        pthread_create(&t, &a, end_at_once, NULL);
        usleep(300);
    }
    return p;
}

static int exit_among_threads(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, make_detached, NULL);
    spin(0.15);
    return 9;
}

static void cleaned(void *p)
{
    printf("cleaned %s\n", (char *)p);
}

static void *sleep_long(void *p)
{
    struct timespec t = {100, 0};
    pthread_cleanup_push(cleaned, p);
    spin(0.02);
    if (*(char *)p == 'n')
        nanosleep(&t, NULL);
    else if (*(char *)p == 'p')
        poll(NULL, 0, 100000);
    else
        pause();
    pthread_cleanup_pop(1);
    return NULL;
}

static int cancelled(void)
{
    const char *const how[] = {"nanosleep", "poll", "wait"};
    for (int i = 0; i < 3; i++) {
        pthread_t t;
        void *result;
        pthread_create(&t, NULL, sleep_long, (void *)how[i]);
        usleep(50000);
        pthread_cancel(t);
        pthread_join(t, &result);
        printf("%d\n", result == PTHREAD_CANCELED);
    }
    return 0;
}

/* Threads that the program does not make by pthread_create: C11's, a timer's (made inside the C
 * library, whose call tells of them), and that of asynchronous input, which nothing announces. */
static void on_event(union sigval v)
{
    spin(0.25);
    *(volatile int *)v.sival_ptr = 1;
}

static int c11(void *p)
{
    spin(0.25);
    return p ? 5 : 0;
}

static int other_threads(void)
{
    static volatile int timed, written;
    static char text[] = "text";
    int ends[2], result = 0;
    struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_ptr = (void *)&timed};
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    timer_t timer;
    thrd_t t;
    if (pipe(ends))
        return 1;
    struct aiocb request = {.aio_fildes = ends[1], .aio_buf = text, .aio_nbytes = 4};
    e.sigev_notify_function = on_event;
    timer_create(CLOCK_MONOTONIC, &e, &timer);
    timer_settime(timer, 0, &soon, NULL);
    thrd_create(&t, c11, &result);
    request.aio_sigevent = e;
    request.aio_sigevent.sigev_value.sival_ptr = (void *)&written;
    aio_write(&request);
    while (!timed || !written)
        usleep(1000);
    thrd_join(t, &result);
    return printf("%d\n", result) < 0;
}

/* Each does its work in less than the library needs to find a thread by itself. */
static volatile int begun, ended;

static void on_brief_event(union sigval unused)
{
    (void)unused;
    if (__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED) >= 100)
        return;
    spin(0.005);
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELEASE);
}

static int brief_timer(void)
{
    struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_brief_event};
    struct itimerspec often = {{0, 10000000}, {0, 10000000}}, never = {{0, 0}, {0, 0}};
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &e, &timer);
    timer_settime(timer, 0, &often, NULL);
    while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) < 100)
        usleep(1000);
    timer_settime(timer, 0, &never, NULL);
    return puts("100 events") < 0;
}

static ucontext_t back, fiber;
static void on_fiber(void)
{
    spin(0.2);
    swapcontext(&fiber, &back);
}

static int small_fiber(void)
{ /* 12 KiB of stack above a page that must not be touched */
    char *stack = mmap(NULL, 4096 * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack, 4096, PROT_NONE);
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack + 4096;
    fiber.uc_stack.ss_size = 4096 * 3;
    makecontext(&fiber, on_fiber, 0);
    swapcontext(&back, &fiber);
    return puts("back") < 0;
}

static pthread_key_t key;
static void again(void *p)
{
    spin(0.02);
    free(malloc(100000));
    if (p != (void *)4)
        pthread_setspecific(key, (char *)p + 1);
}

static void *with_key(void *p)
{
    pthread_setspecific(key, (void *)1);
    return p;
}

static int late_destructors(void)
{
    pthread_key_create(&key, again);
    for (int i = 0; i < 20; i++) {
        pthread_t t;
        pthread_create(&t, NULL, with_key, NULL);
        pthread_join(t, NULL);
    }
    return puts("ended") < 0;
}

static int raw_fork(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!pid) {
        for (int i = 0; i < 1000; i++)
            free(malloc(100000));
        spin(0.1);
        _exit(3);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return printf("%d\n", WEXITSTATUS(status)) < 0;
}

static int new_namespace(void)
{ /* refused to a process with several threads */
    int r = unshare(CLONE_NEWUSER);
    return printf("%d %d\n", r, r ? errno : 0) < 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {
#define CASE(f)                                                                                    \
    {                                                                                              \
#f, f                                                                                      \
    }
    CASE(three_hundred),   CASE(main_ends_first),   CASE(main_gone_then_exit),
    CASE(main_alone_ends), CASE(forks_and_threads), CASE(exit_among_threads),
    CASE(cancelled),       CASE(other_threads),     CASE(brief_timer),
    CASE(small_fiber),     CASE(late_destructors),  CASE(raw_fork),
    CASE(new_namespace),
};

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc == 1)
            puts(cases[i].name);
        else if (!strcmp(cases[i].name, argv[1]))
            return cases[i].run();
    }
    return argc == 1 ? 0 : 2;
}
