/* Storms of small calls: `storm malloc|copy|threads|calm|tiny|fork N` does known numbers of malloc,
 * free and memcpy with no more work beside than a program must have, and prints them and its CPU
 * time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 64, COPY = 48, PLACES = 64 };

struct done {
    long mallocs, frees, copies, bytes;
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Blocks of 16 to 127 bytes, of which the last KEPT live. */
static __attribute__((noinline)) void allocate(struct done *d, long n)
{
    void *kept[KEPT] = {NULL};
    unsigned dice = 1;
    for (long i = 0; i < n; i++) {
        dice = dice * 1664525u + 1013904223u;
        void **at = &kept[dice >> 26];
        d->frees += *at != NULL;
        free(*at);
        *at = malloc(16 + (dice >> 12) % 112);
    }
    for (int i = 0; i < KEPT; i++) {
        d->frees += kept[i] != NULL;
        free(kept[i]);
    }
    d->mallocs += n;
}

/* Copies of COPY bytes to one place after the other; the compiler does not know how many. */
static __attribute__((noinline)) void copy(struct done *d, long n)
{
    static __thread char from[COPY], to[PLACES][COPY];
    size_t bytes = COPY;
    for (long i = 0; i < n; i++) {
        __asm__ volatile("" : "+r"(bytes));
        memcpy(to[i % PLACES], from, bytes);
        __asm__ volatile("" : : : "memory");
    }
    d->copies += n;
    d->bytes += n * COPY;
}

/* A call per some 200 ns of work. */
static __attribute__((noinline)) void calm(struct done *d, long n)
{
    unsigned dice = 1;
    for (long i = 0; i < n; i++) {
        for (int k = 0; k < 200; k++)
            dice = dice * 1664525u + 1013904223u;
        void *p = malloc(16 + dice % 112);
        __asm__ volatile("" : : "r"(p) : "memory");
        free(p);
    }
    d->mallocs += n;
    d->frees += n;
}

/* Allocates and copies blocks of 0 bytes. */
static __attribute__((noinline)) void tiny(struct done *d, long n)
{
    char from[1] = {0}, to[1];
    size_t none = 0;
    for (long i = 0; i < n; i++) {
        __asm__ volatile("" : "+r"(none));
        free(malloc(none));
        memcpy(to, from, none);
        __asm__ volatile("" : : "r"(to) : "memory");
    }
    d->mallocs += n;
    d->frees += n;
    d->copies += n;
}

/* A child that goes on with what its parent was doing. */
static void forks(struct done *d, long n)
{
    allocate(d, n);
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        allocate(d, n / 4);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        exit(1);
}

static long rounds;

static void *both(void *p)
{
    allocate(p, rounds);
    copy(p, rounds);
    return NULL;
}

static void threads(struct done *d)
{
    enum { THREADS = 3 };
    pthread_t t[THREADS];
    struct done each[THREADS] = {{0}};
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, both, &each[i]))
            exit(1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        d->mallocs += each[i].mallocs;
        d->frees += each[i].frees;
        d->copies += each[i].copies;
        d->bytes += each[i].bytes;
    }
}

int main(int argc, char **argv)
{
    struct done d = {0};
    const char *what = argc > 2 ? argv[1] : "";
    double begin = seconds();
    rounds = argc > 2 ? atol(argv[2]) : 0;
    if (!strcmp(what, "malloc"))
        allocate(&d, rounds);
    else if (!strcmp(what, "copy"))
        copy(&d, rounds);
    else if (!strcmp(what, "calm"))
        calm(&d, rounds);
    else if (!strcmp(what, "tiny"))
        tiny(&d, rounds);
    else if (!strcmp(what, "fork"))
        forks(&d, rounds);
    else if (!strcmp(what, "threads"))
        threads(&d);
    else
        return 2;
    return printf(
               "{\"cpu\": %.6f, \"malloc\": %ld, \"free\": %ld, \"copy\": %ld, \"bytes\": %ld}\n",
               seconds() - begin, d.mallocs, d.frees, d.copies, d.bytes) < 0;
}
