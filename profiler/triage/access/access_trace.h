/* How a primitive accesses memory, measured: a plain reference of it on a small volume is run for
 * its addresses alone (elements of 4 bytes, in the order of the loops), and these are counted.
 * Nothing is tabulated: the numbers are computed when they are asked for. */
#ifndef TP_TRIAGE_ACCESS_ACCESS_TRACE_H
#define TP_TRIAGE_ACCESS_ACCESS_TRACE_H

#include <stdint.h>

#include "base/err.h"

enum access_trace {
    ACCESS_PARALLEL_FORWARD,
    ACCESS_PARALLEL_BACK,
    ACCESS_CONE_FORWARD,
    ACCESS_CONE_BACK,
    ACCESS_FILTER,
    ACCESS_MEDIAN,
    ACCESS_PRIOR,
    ACCESS_PARTITION,
    ACCESS_CORRECT, /* flat field and logarithm */
    ACCESS_COPY,    /* volume to volume, voxel by voxel */
    ACCESS_RESAMPLE,
    ACCESS_TRACES
};

enum access_pattern { PATTERN_STREAM, PATTERN_WINDOW, PATTERN_GATHER, PATTERN_SCATTER };

#define ACCESS_BUCKETS 24

struct access {
    int size;
    double accesses, reads, writes;
    double distinct;      /* elements touched: the working set */
    double unit_share;    /* of the accesses that follow their array's last one by 0 or 1 */
    double entropy;       /* of the strides within an array, bits */
    double write_entropy; /* of the strides of writes alone */
    /* Step of an array from one turn of the outer loop to the next. */
    double jump_entropy;       /* bits */
    double write_jump_entropy; /* of what is written */
    double jumps;              /* distinct ones that 99 % of the steps need */
    double reuse_share;        /* accesses of an element seen before */
    double window;  /* elements that must be on chip for 95 % of the reuses to be served there */
    double trip_cv; /* spread of the accesses per step of the outer loop over their mean */
    /* Share of the reuses at a distance of [2^i, 2^(i+1)) distinct other elements; [0]: 0 and 1. */
    double reuse[ACCESS_BUCKETS];
};

/* size >= 4: volume size^3, size/2 views of size x size. */
enum err access_measure(enum access_trace trace, int size, struct access *out);

/* Two sizes of one trace, and what they say together. */
struct access_pair {
    struct access small, large;
    enum access_pattern pattern;
    double window_growth; /* p of window ~ N^p, within 0..3 */
};
#define ACCESS_SMALL 16
#define ACCESS_LARGE 32
enum err access_pair_measure(enum access_trace trace, struct access_pair *out);

/* Elements of the window at an edge N, by its measured growth. */
double access_window_at(const struct access_pair *a, double size);

const char *pattern_name(enum access_pattern pattern);

/* Access traces: the loops of plain references, which send each address to a sink; access_measure()
 * counts them. */

/* Arrays of a trace; those from ACCESS_LOCAL on are buffers that an FPGA keeps on chip by design,
 * so they count for the window but not for the pattern. */
enum { ARRAY_IN, ARRAY_OUT, ARRAY_AUX, ARRAY_AUX2, ACCESS_LOCAL, ACCESS_ARRAYS = 6 };

struct access_sink {
    void (*access)(struct access_sink *s, int array, int64_t index, int write);
    void (*step)(struct access_sink *s); /* of the outer loop */
};

void access_trace_run(enum access_trace trace, int size, struct access_sink *sink);

#endif
