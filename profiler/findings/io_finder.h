/* What rules about loading share: the run's numbers, and how a row is made. */
#ifndef TP_FINDINGS_IO_FINDER_H
#define TP_FINDINGS_IO_FINDER_H

#include <math.h>

#include "profiler/analyze/model/model.h"

struct io_finder {
    struct model *m;
    struct model_finding *rows;
    int count, most;
    double wall, cpu;
    double quiet;     /* the wall time without waits for a CPU, about: what shares of a run go by */
    double waited;    /* in reads and writes of files, without waits for a CPU */
    double waited_mb; /* their bytes */
    double network;   /* likewise for connections that the program made */
    double real;      /* share of waits that were not for a CPU */
    double decode_s;  /* CPU time in codec libraries */
    double unnamed_s; /* part of it: functions without a name */
    const char *codec;
};

struct io_finding {
    const char *id, *severity, *title, *confidence;
    const struct model_io_file *file; /* whose places it shows; NULL none */
    double gain_low, gain;
    const char *advice, *refuted_by;
    const char *test; /* %s: the command that records again */
};

void io_finder_begin(struct io_finder *f, struct model *m, struct model_finding *rows, int most);
/* A row with `format` as its evidence; left out where the list is full. ERR_MEMORY. */
enum err io_found(struct io_finder *f, const struct io_finding *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline double io_known(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

#endif
