/* From a sample of chunks to the time of the whole array, with an interval that holds in 19 of 20
 * cases (tests/peers/estimate.py measures it). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/load/estimate.h"

#define STEADY_LEAST 3    /* chunks; fewer, and the first ones count too */
#define CPU_DRIFT    0.3  /* from run to run, of CPU time: clocks, caches, neighbours */
#define DISK_LESS    1.0  /* the same, of waits for storage: neighbours are read ahead, */
#define DISK_MORE    0.6  /* which chunks far from each other are not */
#define FETCH_LESS   0.6  /* of the CPU time of such reads: pages that were read ahead in vain */
#define LOAD_LESS    0.6  /* of the waits for a CPU may not come again, */
#define LOAD_MORE    1.0  /* and so many more may */
#define LOAD_SEEN_S  0.05 /* of work: in less, a busy machine may have let all of it pass */

/* Returns Student's t for 95 %, by degrees of freedom. */
static double estimate_t(int freedom)
{
    static const double t[] = {12.7, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
    const int known = sizeof t / sizeof *t;
    return freedom < 1 ? t[0] : freedom <= known ? t[freedom - 1] : 2 + 2.6 / freedom;
}

struct estimate_parts {
    double cpu, storage, error; /* quiet seconds of the whole; standard errors of its reading */
    double far; /* of `cpu`: fetching from storage, chunks that are far from each other */
};

static double parts_at(const struct estimate_parts *p, double load)
{
    return p->cpu * load + p->storage;
}

/* The mean steady chunk, and what came only once: the first chunks pay for memory and libraries. */
static struct estimate_parts estimate_parts_of(const struct load_sample *s)
{
    double sum = 0, squares = 0, all = 0, first = 0;
    int steady = 0;
    for (int i = 0; i < s->count; i++)
        steady += !s->first[i];
    const int use_first = steady < STEADY_LEAST;
    const int n = use_first ? s->count : steady;
    for (int i = 0; i < s->count; i++) {
        all += s->seconds[i];
        if (use_first || !s->first[i])
            sum += s->seconds[i];
    }
    const double mean = sum / n;
    for (int i = 0; i < s->count; i++) {
        if (use_first || !s->first[i])
            squares += (s->seconds[i] - mean) * (s->seconds[i] - mean);
        else
            first += s->seconds[i] - mean;
    }
    const double workers = fmin(fmax(s->workers, 1), s->whole),
                 share = all > 0 ? fmin(1, s->cpu_s / all) : 1, of = s->whole / workers,
                 busy = fmin(s->workers, s->count),
                 rest = fmax(0, s->read_s - (all + s->wait_s) / fmax(busy, 1)),
                 left = sqrt(fmax(0, 1 - n / s->whole)),
                 stored = all > 0 ? fmin(1, s->stored_s / all) : 0;
    return (struct estimate_parts){
        .cpu = s->once_s + rest + fmax(0, first) / workers + of * mean * share,
        .storage = of * mean * (1 - share),
        .far = of * mean * fmax(0, stored - (1 - share)),
        .error = n > 1 ? estimate_t(n - 1) * sqrt(squares / (n - 1) / n) * of * left : of * mean};
}

struct load_estimate load_estimate_of(const struct load_sample *s)
{
    const struct estimate_parts p = estimate_parts_of(s);
    const double cpu = s->once_s + s->cpu_s, waits = s->once_wait_s + s->wait_s,
                 load = cpu > 0 ? 1 + waits / cpu : 1, more = load - 1,
                 turn = (s->running + s->workers) / fmax(s->processors, 1),
                 high = fmax(1 + more * (1 + LOAD_MORE), cpu < LOAD_SEEN_S ? turn : 1),
                 low = 1 + more * (1 - LOAD_LESS);
    const double mid = parts_at(&p, load);
    const double spread = hypot(p.error, CPU_DRIFT * p.cpu),
                 below = hypot(spread * low, DISK_LESS * p.storage + FETCH_LESS * p.far),
                 above = hypot(spread * high, DISK_MORE * p.storage);
    return (struct load_estimate){fmax(0, parts_at(&p, low) - below), mid,
                                  parts_at(&p, high) + above};
}
