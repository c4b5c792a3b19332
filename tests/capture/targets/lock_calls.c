/* Checks return values of lock calls, and errno, cancelled threads and forked children. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"

static void say(const char *what, int r)
{
    printf("%s: %d, errno %d\n", what, r, errno);
    errno = 0;
}
static struct timespec soon(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += 3000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t robust;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static mtx_t c11;
static int cleaned;
static int waiter; /* the thread that waits next, or has the lock that it is to die with */
static int in_main;

static void comes(int *tid)
{
    __atomic_store_n(tid, own_tid(), __ATOMIC_RELEASE);
}

static void *dies(void *unused)
{
    pthread_mutex_lock(&robust);
    return unused;
}
static void *dies_later(void *unused)
{
    pthread_mutex_lock(&robust);
    comes(&waiter);
    until_asleep(&in_main); /* in its wait for the mutex */
    return unused;
}
static void clean(void *mutex)
{
    cleaned++;
    if (mutex)
        pthread_mutex_unlock(mutex);
}
static void *waits_for_condition(void *unused)
{
    pthread_mutex_lock(&plain);
    pthread_cleanup_push(clean, &plain);
    comes(&waiter);
    for (;;)
        pthread_cond_wait(&never, &plain);
    pthread_cleanup_pop(0);
    return unused;
}
static void *waits_for_semaphore(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    comes(&waiter);
    for (;;)
        sem_wait(&semaphore);
    pthread_cleanup_pop(0);
    return unused;
}
static void *locks_once(void *unused)
{
    int *r = unused;
    comes(&waiter);
    *r = pthread_mutex_lock(&plain);
    if (!*r)
        pthread_mutex_unlock(&plain);
    return NULL;
}
static void handler(int number)
{
    (void)number;
    sem_post(&semaphore);
}
static void *rings(void *thread)
{
    until_asleep(&in_main);
    pthread_kill(*(pthread_t *)thread, SIGALRM);
    return NULL;
}

static void of_kind(int kind, const char *name)
{
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, kind);
    pthread_mutex_init(&m, &a);
    say(name, pthread_mutex_lock(&m));
    say(name, kind == PTHREAD_MUTEX_NORMAL ? pthread_mutex_trylock(&m) : pthread_mutex_lock(&m));
    say(name, pthread_mutex_unlock(&m));
    say(name, pthread_mutex_unlock(&m) == EPERM);
    pthread_mutex_destroy(&m);
}

static void robust_ones(void *(*body)(void *))
{
    pthread_mutexattr_t a;
    pthread_t t;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&a, body == dies ? PTHREAD_PRIO_NONE : PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&robust, &a);
    waiter = in_main = 0;
    pthread_create(&t, NULL, body, NULL);
    if (body == dies)
        pthread_join(t, NULL);
    else
        while (!__atomic_load_n(&waiter, __ATOMIC_ACQUIRE))
            usleep(500);
    errno = 0;
    comes(&in_main);
    int r = pthread_mutex_lock(&robust);
    say("robust", r);
    if (r == EOWNERDEAD)
        say("consistent", pthread_mutex_consistent(&robust));
    say("robust", pthread_mutex_unlock(&robust));
    if (body != dies)
        pthread_join(t, NULL);
}

static void with_times(void)
{
    struct timespec real = soon(CLOCK_REALTIME), steady = soon(CLOCK_MONOTONIC), wrong = {0, -1};
    pthread_mutex_lock(&plain);
    say("timedlock", pthread_mutex_timedlock(&plain, &real));
    say("clocklock", pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &steady));
    say("timedlock, wrong time", pthread_mutex_timedlock(&plain, &wrong));
    real = soon(CLOCK_REALTIME);
    say("timedwait", pthread_cond_timedwait(&never, &plain, &real));
    steady = soon(CLOCK_MONOTONIC);
    say("clockwait", pthread_cond_clockwait(&never, &plain, CLOCK_MONOTONIC, &steady));
    pthread_mutex_unlock(&plain);
    pthread_rwlock_wrlock(&rwlock);
    say("rdlock, own", pthread_rwlock_rdlock(&rwlock));
    say("wrlock, own", pthread_rwlock_wrlock(&rwlock));
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_rdlock(&rwlock);
    real = soon(CLOCK_REALTIME);
    say("timedwrlock", pthread_rwlock_timedwrlock(&rwlock, &real));
    pthread_rwlock_unlock(&rwlock);
    real = soon(CLOCK_REALTIME);
    say("sem_timedwait", sem_timedwait(&semaphore, &real));
    steady = soon(CLOCK_MONOTONIC);
    say("sem_clockwait", sem_clockwait(&semaphore, CLOCK_MONOTONIC, &steady));
    say("sem_trywait", sem_trywait(&semaphore));
    mtx_init(&c11, mtx_timed);
    mtx_lock(&c11);
    real = soon(CLOCK_REALTIME);
    say("mtx_timedlock", mtx_timedlock(&c11, &real) == thrd_timedout);
    mtx_unlock(&c11);
    int word = 1;
    struct timespec short_time = {0, 2000000};
    say("futex", (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &short_time, NULL, 0));
    say("futex", (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, &short_time, NULL, 0));
}

static void cancelled(void *(*body)(void *), const char *name)
{
    pthread_t t;
    void *result;
    waiter = 0;
    pthread_create(&t, NULL, body, NULL);
    until_asleep(&waiter);
    pthread_cancel(t);
    pthread_join(t, &result);
    printf("%s: cancelled %d, cleaned %d\n", name, result == PTHREAD_CANCELED, cleaned);
    say("the mutex is free", pthread_mutex_lock(&plain));
    pthread_mutex_unlock(&plain);
}

static void forked(void)
{
    int status, r = -1;
    pthread_t t;
    pthread_mutex_lock(&plain);
    waiter = 0;
    pthread_create(&t, NULL, locks_once, &r);
    until_asleep(&waiter);
    pid_t child = fork();
    if (!child) { /* it has the mutex, as its parent; the thread that waits is not here */
        pthread_mutex_unlock(&plain);
        int again = pthread_mutex_lock(&plain);
        pthread_mutex_unlock(&plain);
        struct timespec real = soon(CLOCK_REALTIME);
        int timed = sem_timedwait(&semaphore, &real);
        _exit(again == 0 && timed == -1 && errno == ETIMEDOUT ? 7 : 1);
    }
    waitpid(child, &status, 0);
    pthread_mutex_unlock(&plain);
    pthread_join(t, NULL);
    printf("fork: child %d, thread %d\n", WEXITSTATUS(status), r);
}

int main(void)
{
    struct sigaction act = {.sa_handler = handler};
    sem_init(&semaphore, 0, 0);
    of_kind(PTHREAD_MUTEX_NORMAL, "normal");
    of_kind(PTHREAD_MUTEX_RECURSIVE, "recursive");
    of_kind(PTHREAD_MUTEX_ERRORCHECK, "errorcheck");
    robust_ones(dies);
    robust_ones(dies_later);
    with_times();
    cancelled(waits_for_condition, "condition");
    cancelled(waits_for_semaphore, "semaphore");
    forked();
    sigaction(SIGALRM, &act, NULL);
    struct timespec late = soon(CLOCK_REALTIME);
    late.tv_sec += 300;
    pthread_t t, self = pthread_self();
    in_main = 0;
    pthread_create(&t, NULL, rings, &self);
    comes(&in_main);
    int woken = sem_timedwait(&semaphore, &late) == 0 || errno == EINTR;
    errno = 0;
    say("woken by its handler", woken);
    pthread_join(t, NULL);
    return 0;
}
