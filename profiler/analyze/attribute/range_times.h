/* CPU samples and waits inside of ranges: which were open then, and what each of them gets. */
#ifndef TP_ANALYZE_ATTRIBUTE_RANGE_TIMES_H
#define TP_ANALYZE_ATTRIBUTE_RANGE_TIMES_H

#include "base/array.h"
#include "profiler/analyze/attribute/ranges.h"
#include "profiler/analyze/common/dist.h"

/* A time that a range was open, with the device operations launched inside on its thread. */
struct instance {
    uint64_t start, end; /* of the range on the host; end 0: open */
    uint64_t first, last;
    uint32_t parent, counter, detail; /* parent + 1; detail: counter of its payload + 1, 0 none */
    uint32_t thread;
};
/* Time of a context inside a range; outer_ns: part of the CPU time where that was the outermost one. */
struct inside {
    uint32_t context, counter;
    double ns, outer_ns, wait_ns;
};
struct moment { /* a CPU sample, or a wait that ended then */
    uint64_t time;
    double weight;
    uint32_t context;
    enum range_spent spent;
};
struct range_counter { /* of one name, or of one payload of it */
    uint64_t domain, message, payload;
    uint32_t style, of; /* of: of a payload, the counter of its name + 1 */
    uint64_t marks, opened, closed;
    double operations, gpu_sum, cpu, wait, ready;
    struct dist time;
};
struct range_times {
    VECTOR(struct moment) moments;
    VECTOR(struct inside) pairs;
    struct table by_pair;
};

void range_times_free(struct range_times *c);
/* Makes the pairs, and adds each moment to the counters of all ranges around it. A thread without
 * ranges computes for the main thread's. */
enum err range_times_finish(struct image *im, struct range_times *c,
                            const struct instance *instances, size_t n,
                            struct range_counter *counters);
/* The pairs become the run's: sites, rows of own code, and rows[counter]. */
enum err range_times_attribute(struct image *im, const struct range_times *c, const uint32_t *rows);

#endif
