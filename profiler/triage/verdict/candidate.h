/* A primitive: its evidence here, its estimates on cards, the verdict and why. */
#ifndef TP_TRIAGE_VERDICT_CANDIDATE_H
#define TP_TRIAGE_VERDICT_CANDIDATE_H

#include "profiler/triage/input/sass.h"
#include "profiler/triage/input/timing.h"
#include "profiler/triage/model/card.h"
#include "profiler/triage/model/fpga.h"

enum verdict { VERDICT_NO, VERDICT_LOW, VERDICT_MEDIUM, VERDICT_HIGH };
enum confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

#define REASONS_MOST 16

/* NAN: unknown. */
struct evidence {
    double size, seconds, calls, cv, run_share;
    double exponent, overhead_share;
    const char *exponent_reason; /* why there is none */
    double flops, bytes, intensity, gflops, gbytes_per_s;
    double gpu_s;            /* of a call, where the row has it */
    double host_s, device_s; /* of the profile's ranges, kernels or functions of that name */
    double flops_counted, bytes_counted; /* by the processor, a call */
    const char *counters_reason;         /* why not; NULL when both are there */
    double transfer_measured;            /* bytes of the larger direction in a call */
    const struct sass_kernel *mix;       /* of instructions; NULL: none, and why */
    const char *mix_source, *mix_reason;
    double mix_units; /* of the primitive in a trip of its loop; NAN unknown */
    int runs, sizes;
    const char *source; /* of seconds: "row", "range", "remainder", "profile", "none" */
};

/* Best of what one could run it on instead. */
struct alternative {
    const char *name;
    struct bounds seconds, watts; /* low NAN: none */
};

struct amdahl_ceiling {
    const char *workload;
    double share, value; /* 1 / (1 - share); NAN where the share is all of it */
    int follows;         /* it is not part of the workload but follows it: the share is of both */
};

struct score {
    double share, speed, energy, pattern, feed, total;
};

struct candidate {
    const struct primitive *primitive;
    struct access_pair access;
    struct evidence evidence;
    struct amdahl_ceiling ceilings[WORKLOADS_MOST];
    int ceilings_count;
    const struct amdahl_ceiling
        *ceiling; /* the largest; NULL: in no reconstruction that was measured */
    struct estimate estimates[CARDS_MOST];
    int estimates_count;
    const struct estimate *best;
    struct alternative measured, cpu, gpu;
    const struct alternative *rival, *lean; /* the quickest of them, the one of least energy */
    struct bounds speedup, speedup_cpu, speedup_gpu, speedup_rival, energy, break_even;
    struct score score;
    enum verdict verdict;
    enum confidence confidence;
    const char *rule; /* that of the reasons which names the rule */
    char *reasons[REASONS_MOST], *next[REASONS_MOST], *flips[REASONS_MOST];
    int reasons_count, next_count, flips_count;
};

struct triage_machine {
    int is_gpu, threads;
    const char *name;
    double ridge; /* flops per byte where the measured peaks meet; NAN unknown */
};

struct inputs {
    const struct timing *timing; /* may hold no rows */
    const struct workloads *workloads;
    const struct model *profile; /* or NULL */
    const struct sass *sass;     /* or NULL */
    const struct card *const *cards;
    int cards_count;
    const struct weights *weights;
    struct triage_machine machine;
    double size;
};

/* Fills what primitive and access imply; judges. Frees with candidate_free. */
enum err candidate_make(const struct inputs *in, const struct primitive *p, struct candidate *c);
void candidate_free(struct candidate *c);

/* The parts of it: evidence.c, judge.c, explain.c. */
void candidate_evidence(const struct inputs *in, struct candidate *c);
enum verdict candidate_judge(const struct inputs *in, const struct assumptions *s,
                             struct candidate *c);
void candidate_explain(const struct inputs *in, struct candidate *c);

const char *verdict_name(enum verdict v);
const char *confidence_name(enum confidence c);

/* Numbers as people say them. The text lasts until 64 more were asked for. */

/* 3 digits; "-": unknown. */
const char *quantity_number(double v);
/* Formats with the prefix of the SI: "8.9 us", "35 G". `unit` may be empty. */
const char *quantity(double v, const char *unit);
/* 2 digits, as ranges deserve: "0.89 to 1.9 us", "0.26 to 1.1". */
const char *quantity_bounds(struct bounds r, const char *unit);
const char *quantity_plain_bounds(struct bounds r);

#endif
