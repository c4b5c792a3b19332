/* The clocks behind truth.h. */
#define _GNU_SOURCE
#include "truth.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAMES = 32, DEPTH = 8, WALL = 2, OWN = 3, CLOCKS = 4 };
static const clockid_t clocks[] = {CLOCK_THREAD_CPUTIME_ID, CLOCK_PROCESS_CPUTIME_ID,
                                   CLOCK_MONOTONIC};
static const char *const keys[CLOCKS] = {"thread_s", "process_s", "wall_s", "own_s"};

static struct {
    char name[40];
    double sum[CLOCKS];
    long calls;
} phases[NAMES];
static int n_phases;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread double begun[DEPTH][CLOCKS];
static __thread int depth;

static int with_delay; /* TRUTH_DELAY is set: own_s is written */

/* Returns the seconds that this thread has waited for a CPU. */
static double delay_now(void)
{
    unsigned long long run, delay = 0;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (!f || fscanf(f, "%llu %llu", &run, &delay) != 2)
        abort();
    fclose(f);
    return (double)delay * 1e-9;
}

static void now(double s[CLOCKS])
{
    for (int i = 0; i < OWN; i++) {
        struct timespec t;
        clock_gettime(clocks[i], &t);
        s[i] = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
    }
    s[OWN] = with_delay ? s[WALL] - delay_now() : 0;
}

void truth_begin(const char *phase)
{
    (void)phase;
    if (depth == DEPTH)
        abort();
    now(begun[depth++]);
}

void truth_end(const char *phase)
{
    double end[CLOCKS];
    now(end);
    depth--;
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < n_phases && strcmp(phases[i].name, phase) != 0)
        i++;
    if (i == NAMES)
        abort();
    if (i == n_phases)
        snprintf(phases[n_phases++].name, sizeof phases[0].name, "%s", phase);
    for (int k = 0; k < CLOCKS; k++)
        phases[i].sum[k] += end[k] - begun[depth][k];
    phases[i].calls++;
    pthread_mutex_unlock(&lock);
}

/* A child of fork has a truth of its own; a phase that is open goes on in both. */
static void reset(void)
{
    n_phases = 0;
    memset(phases, 0, sizeof phases);
    for (int i = 0; i < depth; i++)
        now(begun[i]);
}

void truth_write(void)
{
    const char *folder = getenv("TRUTH");
    double end[CLOCKS];
    char path[4096];
    now(end);
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%ld-%.6f.json", folder, (long)getpid(), end[2]);
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    fprintf(f, "{\"pid\": %ld, \"process_s\": %.6f, \"phases\": {", (long)getpid(), end[1]);
    for (int i = 0; i < n_phases; i++) {
        fprintf(f, "%s\"%s\": {\"calls\": %ld", i ? ", " : "", phases[i].name, phases[i].calls);
        for (int k = 0; k < (with_delay ? CLOCKS : OWN); k++)
            fprintf(f, ", \"%s\": %.6f", keys[k], phases[i].sum[k]);
        fprintf(f, "}");
    }
    fprintf(f, "}}\n");
    fclose(f);
}

__attribute__((constructor)) static void prepare(void)
{
    with_delay = getenv("TRUTH_DELAY") != NULL;
    pthread_atfork(NULL, NULL, reset);
    atexit(truth_write);
}
