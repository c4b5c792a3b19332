/* Reconstructions and what they are made of. A composite operation's time is credited to the
 * primitives in it: from the named ranges of its traced pass where there are any, else by the
 * primitives' own rows times the number of calls. */
#ifndef TP_TRIAGE_INPUT_WORKLOAD_H
#define TP_TRIAGE_INPUT_WORKLOAD_H

#include "profiler/analyze/model/model.h"
#include "profiler/triage/model/primitive.h"
#include "profiler/triage/input/timing.h"

#define PARTS_MOST     8
#define WORKLOADS_MOST 8

struct workload_part {
    const struct primitive *primitive; /* NULL: the rest */
    double calls;                      /* NAN where only the time is known */
    double seconds, share;             /* shares of a workload add up to 1; NAN unknown */
    double uncut;                      /* share before the parts were made to fit, at most 1 */
    const char *source;                /* "range", "row", "remainder", "unknown" */
};
struct workload {
    const char *operation;
    double size, seconds;
    struct workload_part parts[PARTS_MOST];
    int count;
    int disagrees; /* the traced pass says another time of a part than its own row */
};
struct workloads {
    struct workload item[WORKLOADS_MOST];
    int count;
    int from_ranges; /* how many are decomposed by a profile's ranges */
};

/* The reconstructions measured at `size`. profile may be NULL. */
void workloads_find(const struct timing *t, const struct model *profile, double size,
                    struct workloads *out, struct notes *notes);
int workload_is_composite(const char *operation);
/* Row i of the operations at this size that have neither a model nor parts; NULL past the end. */
const struct timing_row *not_judged(const struct timing *t, double size, int i);

/* Seconds by primitive in the longest process of the profile that ran `operation`; 0 when the
 * profile has no such process with all its ranges. */
int ranges_seconds(const struct model *profile, const char *operation, double *whole,
                   double seconds[], int primitives);

/* Share of a reconstruction with p in it, or after it (median); NAN when that is not known. */
int workload_has(const struct workload *w, const struct primitive *p);
double workload_share(const struct workload *w, const struct primitive *p, const struct timing *t);

#endif
