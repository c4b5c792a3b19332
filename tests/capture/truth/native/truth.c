/* The clocks behind truth.h. */
#define _GNU_SOURCE
#include "truth.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAMES = 32, DEPTH = 8, CLOCKS = 3 };
static const clockid_t clocks[CLOCKS] = {CLOCK_THREAD_CPUTIME_ID, CLOCK_PROCESS_CPUTIME_ID,
                                         CLOCK_MONOTONIC};

static struct {
    char name[40];
    double sum[CLOCKS];
    long calls;
} phases[NAMES];
static int n_phases;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread double begun[DEPTH][CLOCKS];
static __thread int depth;

static void now(double s[CLOCKS])
{
    for (int i = 0; i < CLOCKS; i++) {
        struct timespec t;
        clock_gettime(clocks[i], &t);
        s[i] = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
    }
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
    for (int i = 0; i < n_phases; i++)
        fprintf(
            f,
            "%s\"%s\": {\"thread_s\": %.6f, \"process_s\": %.6f, \"wall_s\": %.6f, \"calls\": %ld}",
            i ? ", " : "", phases[i].name, phases[i].sum[0], phases[i].sum[1], phases[i].sum[2],
            phases[i].calls);
    fprintf(f, "}}\n");
    fclose(f);
}

__attribute__((constructor)) static void prepare(void)
{
    pthread_atfork(NULL, NULL, reset);
    atexit(truth_write);
}
