/* Facts are what the rules look at: the model, and the numbers that several of them need. */
#ifndef TP_FINDINGS_RUN_FACTS_H
#define TP_FINDINGS_RUN_FACTS_H

#include <math.h>

#include "profiler/analyze/model/model.h"

/* The kind of lock that costs most in the process with most contention, and who holds it. */
struct lock_facts {
    const struct model_contention *c; /* NULL: no thread waited long enough for a lock */
    const char *rule;                 /* id of the one that applies */
    const char *kind, *name;          /* "gil", "the GIL" */
    int64_t threads;
    double wait, asleep, held;
    const struct model_lock *waits;    /* the row with the longest wait */
    const struct model_holder *holder; /* the line that held it most */
    double holder_s;
    double quiet; /* share of the waits in which the holder did not wait for a CPU */
};

/* Waits of ranks for each other; seconds, added over ranks but for `wall`. */
struct rank_facts {
    const char *rule; /* id of the one that applies where ranks are late */
    double wall, late, transfer;
    double all;     /* wall time of all ranks; 0: no rank waits for another */
    double delayed; /* by the rank that was waited for most */
    double root;    /* part of late: in calls of which one rank has the data */
    int64_t rank;
    const struct model_mpi_line *line; /* with the longest wait for a late rank */
};

struct run_facts {
    const struct model *m;
    double wall, cpu; /* s */
    double own;       /* s of the wall time without waits for a CPU, on the critical path */
    int cpus;         /* that the program may use; 0 unknown */
    int64_t threads;  /* that compute at one time, at most */
    int busy;         /* the program waited long for a CPU */
    int has_io;       /* input and output were recorded */
    double quiet;     /* the wall time without waits for a CPU, about: what shares of a run go by */
    double waited;    /* in reads and writes of files, without waits for a CPU */
    double waited_mb; /* their bytes */
    double network;   /* likewise for connections that the program made */
    double real;      /* share of waits that were not for a CPU */
    double decode_s;  /* CPU time in codec libraries */
    double unnamed_s; /* part of it: functions without a name */
    const char *codec;
    struct lock_facts lock;
    struct rank_facts ranks;
};

void run_facts_of(const struct model *m, struct run_facts *out);

int lock_is_of(const struct lock_facts *k, const struct model_lock *l); /* one of its rows */

/* A note on the data; NULL: there is none of that name. */
const struct model_item *quality_item(const struct model *m, const char *id);

/* CPU seconds of the program's imports. */
double imports_s(const struct model *m);

/* 0 where a number is unknown or below it. */
static inline double positive_or_0(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

#endif
