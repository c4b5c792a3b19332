/* Locks whose waits are known by the program's own clock: one JSON line of seconds by kind. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"

enum { THREADS = 4, TURNS = 15 };
static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#define WALL now(CLOCK_MONOTONIC)
#define CPU  now(CLOCK_THREAD_CPUTIME_ID)

static double total[8], longest[8];
static long count[8];
static void waited(int kind, double s)
{
    if (s < 1e-4)
        return;
    __atomic_fetch_add(&count[kind], 1, __ATOMIC_RELAXED);
    static int adding; /* no lock that is recorded */
    while (__atomic_exchange_n(&adding, 1, __ATOMIC_ACQUIRE))
        ;
    total[kind] += s;
    longest[kind] = s > longest[kind] ? s : longest[kind];
    __atomic_store_n(&adding, 0, __ATOMIC_RELEASE);
}
static void spin(double s)
{
    volatile double x = 1;
    for (double end = CPU + s; CPU < end;)
        for (int i = 0; i < 1000; i++)
            x = x * 1.0000001 + 1e-9;
}
#define TIMED(kind, call)                                                                          \
    do {                                                                                           \
        double begin = WALL;                                                                       \
        call;                                                                                      \
        waited(kind, WALL - begin);                                                                \
    } while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *with_mutex(void *unused)
{
    for (int i = 0; i < TURNS; i++) {
        TIMED(0, pthread_mutex_lock(&mutex)); /* waits for the mutex */
        spin(0.008);                          /* holds the mutex */
        pthread_mutex_unlock(&mutex);
        usleep(1000);
    }
    return unused;
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static void *writer(void *unused)
{
    for (int i = 0; i < TURNS; i++) {
        TIMED(1, pthread_rwlock_wrlock(&rwlock)); /* waits to write */
        spin(0.02);                               /* writes */
        pthread_rwlock_unlock(&rwlock);
        usleep(2000);
    }
    return unused;
}
static void *reader(void *unused)
{
    for (int i = 0; i < TURNS; i++) {
        TIMED(2, pthread_rwlock_rdlock(&rwlock)); /* waits to read */
        pthread_rwlock_unlock(&rwlock);
        usleep(5000);
    }
    return unused;
}

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static int queued, closed;
static void *worker(void *unused)
{
    pthread_mutex_lock(&queue_mutex);
    while (!closed || queued) {
        while (!queued && !closed)
            TIMED(3, pthread_cond_wait(&queue_filled, &queue_mutex)); /* waits for work */
        queued -= queued > 0;
    }
    pthread_mutex_unlock(&queue_mutex);
    return unused;
}
static void *producer(void *unused)
{
    for (int i = 0; i < 10; i++) {
        spin(0.03);
        pthread_mutex_lock(&queue_mutex);
        queued++;
        pthread_cond_signal(&queue_filled);
        pthread_mutex_unlock(&queue_mutex);
    }
    pthread_mutex_lock(&queue_mutex);
    closed = 1;
    pthread_cond_broadcast(&queue_filled);
    pthread_mutex_unlock(&queue_mutex);
    return unused;
}

static int word; /* 0 free, 1 held, 2 held and waited for */
static void *with_futex(void *unused)
{
    for (int i = 0; i < TURNS; i++) {
        double begin = WALL;
        int was = 0;
        if (!__atomic_compare_exchange_n(&word, &was, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE))
                syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL); /* waits in the kernel */
        waited(4, WALL - begin);
        spin(0.004);
        if (__atomic_exchange_n(&word, 0, __ATOMIC_RELEASE) == 2)
            syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
        usleep(500);
    }
    return unused;
}

static sem_t semaphore;
static void *with_semaphore(void *unused)
{
    for (int i = 0; i < TURNS; i++) {
        TIMED(5, sem_wait(&semaphore)); /* waits for the semaphore */
        spin(0.004);                    /* holds the semaphore */
        sem_post(&semaphore);
        usleep(500);
    }
    return unused;
}

static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
static void *across_a_sleep(void *unused)
{
    for (int i = 0; i < 3; i++) {
        TIMED(6, pthread_mutex_lock(&kept)); /* waits for a sleeper */
        usleep(120000);                      /* sleeps with the mutex */
        pthread_mutex_unlock(&kept);
        usleep(1000);
    }
    return unused;
}
static int last;
static void *for_ever(void *unused)
{
    __atomic_store_n(&last, own_tid(), __ATOMIC_RELEASE);
    pthread_mutex_lock(&kept); /* waits until the end */
    return unused;
}

/* The lock is the writer's, who does not run yet and so has not signed it: as on a busy machine. */
static int next_writer, in_handler;
static void naps(int number)
{
    (void)number;
    __atomic_store_n(&in_handler, 1, __ATOMIC_RELEASE);
    usleep(100000);
}
static void *writes_next(void *unused)
{
    __atomic_store_n(&next_writer, own_tid(), __ATOMIC_RELEASE);
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    return unused;
}
static void handed_over(void)
{
    pthread_t t;
    signal(SIGUSR1, naps);
    pthread_rwlock_rdlock(&rwlock);
    pthread_create(&t, NULL, writes_next, NULL);
    until_asleep(&next_writer);
    pthread_kill(t, SIGUSR1);
    while (!__atomic_load_n(&in_handler, __ATOMIC_ACQUIRE))
        usleep(500);
    pthread_rwlock_unlock(&rwlock);
    TIMED(7, pthread_rwlock_rdlock(&rwlock)); /* waits for one that is to write */
    pthread_rwlock_unlock(&rwlock);
    pthread_join(t, NULL);
}

/* Takes its own mutex in one thread again and again: nothing waits. */
static void *recursive(void *unused)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t own;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&own, &attr);
    for (int i = 0; i < 1000; i++)
        pthread_mutex_lock(&own);
    spin(0.05);
    for (int i = 0; i < 1000; i++)
        pthread_mutex_unlock(&own);
    return unused;
}

/* Else one could be through with its turns before the next is there. */
static pthread_barrier_t here;
static void *together(void *body)
{
    pthread_barrier_wait(&here);
    return ((void *(*)(void *))body)(NULL);
}
static void all(void *(*first)(void *), void *(*others)(void *), int n)
{
    pthread_t t[THREADS];
    pthread_barrier_init(&here, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, together, (void *)(i ? others : first));
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&here);
}

int main(void)
{
    static const char *const names[] = {"mutex", "write",     "read",    "condition",
                                        "futex", "semaphore", "sleeper", "handed"};
    sem_init(&semaphore, 0, 1);
    all(with_mutex, with_mutex, THREADS);
    all(writer, reader, 3);
    all(producer, worker, 3);
    all(with_futex, with_futex, 3);
    all(with_semaphore, with_semaphore, 3);
    all(across_a_sleep, across_a_sleep, 2);
    all(recursive, recursive, 1);
    handed_over();
    for (int i = 0; i < 8; i++)
        printf("%s\"%s\": [%ld, %.6f, %.6f]", i ? ", " : "{", names[i], count[i], total[i],
               longest[i]);
    printf("}\n");
    pthread_t t;
    pthread_mutex_lock(&kept);
    pthread_create(&t, NULL, for_ever, NULL);
    until_asleep(&last);
    usleep(200000);
    return 0;
}
