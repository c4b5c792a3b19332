/* CPU time inside of ranges. A sample belongs to the ranges that were open on its thread then; on a
 * thread that has none (a worker of OpenMP, of BLAS), to those of the main thread. */
#ifndef TP_ANALYZE_ATTRIBUTE_RANGE_CPU_H
#define TP_ANALYZE_ATTRIBUTE_RANGE_CPU_H

#include "profiler/analyze/state/image.h"

/* A time that a range was open, with the device operations launched inside on its thread. */
struct instance {
    uint64_t start, end; /* of the range on the host; end 0: open */
    uint64_t first, last;
    uint32_t parent, counter; /* parent + 1 */
    uint32_t thread;
};
/* CPU time of a context inside an outermost range. */
struct inside {
    uint32_t context, counter;
    double ns;
};
struct moment { /* a CPU sample */
    uint64_t time;
    double weight;
    uint32_t context;
};
struct range_cpu {
    VECTOR(struct moment) moments;
    VECTOR(struct inside) pairs;
    struct table by_pair;
};

void range_cpu_free(struct range_cpu *c);
enum err range_cpu_sample(struct image *im, struct range_cpu *c, uint64_t time, double weight,
                          uint32_t context);
/* Makes the pairs, and adds each sample to cpu_ns[counter] of all ranges around it. */
enum err range_cpu_finish(struct image *im, struct range_cpu *c, const struct instance *instances,
                          size_t n, double *cpu_ns);
/* The pairs become the run's: sites, and rows[counter]. */
enum err range_cpu_attribute(struct image *im, const struct range_cpu *c, const uint32_t *rows);

#endif
