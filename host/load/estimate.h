/* How long the whole array takes, from some of its chunks. */
#ifndef TP_LOAD_ESTIMATE_H
#define TP_LOAD_ESTIMATE_H

#include "host/load/loading.h"

/* All in seconds, without waits for a CPU, which are counted apart. */
struct load_sample {
    const double *seconds; /* of the work on each chunk that was read */
    const char *first;     /* 1: its worker's first */
    int count;
    double whole; /* chunks of the whole */
    double workers, processors;
    double stored_s;            /* of `seconds`: fetching what was not in the page cache */
    double read_s, cpu_s;       /* elapsed, with waits; CPU time of all workers */
    double wait_s;              /* for a CPU, all workers added */
    double once_s, once_wait_s; /* opening, index, memory: once, however much is read */
    double running;             /* threads of others that are ready to run; 0: unknown */
};

struct load_estimate load_estimate_of(const struct load_sample *s);

#endif
