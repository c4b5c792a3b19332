/* The primitives that could move to an FPGA: what one unit of their work costs there, how they
 * access memory, what software reaches. An operation of the suite is one of these or made of them.
 */
#ifndef TP_TRIAGE_MODEL_PRIMITIVE_H
#define TP_TRIAGE_MODEL_PRIMITIVE_H

#include "profiler/triage/access/access_trace.h"
#include "profiler/triage/model/card.h"

enum unit { UNIT_UPDATE, UNIT_VOXEL, UNIT_SAMPLE, UNIT_PIXEL };
enum dependency { DEPENDS_NOT, DEPENDS_SUM, DEPENDS_FEEDBACK };

/* Arithmetic of one unit: what a lane needs to take one unit a clock in fixed point. */
struct unit_work {
    double products, sums, compares;
    double ports;  /* of on-chip RAM */
    double stages; /* that are controlled apart; 0 counts as 1 */
};

struct primitive {
    const char *name; /* of the operation in timing.json where there is one */
    enum unit unit;
    double flops; /* per unit */
    enum access_trace trace;
    enum dependency dependency;
    const char *branches; /* data-dependent ones */
    struct unit_work work;
    /* Array passes through the card's memory when the window fits on chip: of the volume per 32
     * views and at least, of the sinogram. */
    double volume_passes, volume_per_32_views, sinogram_passes;
    double volumes_moved, sinograms_moved; /* over the link for one call, the larger direction */
    double most_lanes;                     /* of serial work; 0: as many as fit */
    double steps;                          /* dependent ones, of a call */
    int streams;    /* 1: can stand between detector and host, where its data pass anyway */
    int hls_kernel; /* 1: profiler/fpga/hls has a C++ kernel for it */
    /* Units per second that software reaches: this project's CPU back end per thread, and a
     * data-centre GPU (H200). */
    struct bounds cpu_rate, gpu_rate;
    const char *rate_source;
    /* Parts of names of kernels and functions by which other programs call it; up to 4. */
    const char *names[4];
};

const struct primitive *primitive_at(int i);
const struct primitive *primitive_named(const char *name);

/* Returns the units of the published set-up: volume N^3, N/2 views of N x N; updates inside the
 * circle. */
double primitive_units(const struct primitive *p, double size);
/* Elements through the card's memory; `passes`: tiles in which the window has to be cut, >= 1. */
double primitive_traffic(const struct primitive *p, double size, double passes);
/* Elements over the link, the larger direction. */
double primitive_moved(const struct primitive *p, double size);
const char *unit_name(enum unit unit);
/* Returns 1 where a kernel, function or range of that name may be it. */
int primitive_called(const struct primitive *p, const char *name);

struct unmodelled {
    const char *name;   /* may hold * */
    const char *access; /* as `tomoprof run --list` has it */
    const char *flops;  /* what the floating-point operations are counted by; NULL: not counted */
    const char *reason; /* why it has none; where flops is NULL, why not */
};

/* NULL: nothing is known of an operation of that name. */
const struct unmodelled *unmodelled_named(const char *name);

#endif
