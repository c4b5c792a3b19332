/* The sweep: error against bits for each stage alone, then the smallest bits of all stages together
 * that keep the quality, then the small floats. Deterministic. */
#ifndef TP_FPGA_WIDTH_WIDTH_SWEEP_H
#define TP_FPGA_WIDTH_WIDTH_SWEEP_H

#include <stdio.h>

#include "profiler/fpga/width/width_case.h"

#define WIDTH_CASES   4
#define WIDTH_FEWEST  3
#define WIDTH_WIDEST  28
#define WIDTH_FORMATS 12

struct width_quality {
    double own; /* of the primitive's own result: rms error over the range of the reference */
    double rmse, ssim; /* of the picture */
    struct number_faults faults;
};

struct width_limits {
    double rmse, ssim;
};

/* A format tried on all stages, or on all but the sums. */
struct width_format {
    char name[24]; /* "fp16", "bf16", "block 12" ... */
    int sums_wide;
    struct width_quality at[WIDTH_CASES];
};

struct width_sweep {
    const struct width_primitive *primitive;
    int cases;
    const char *case_names[WIDTH_CASES];
    struct width_limits limits;
    int range[WIDTH_CASES][WIDTH_STAGES]; /* bits of the whole part, without the sign */
    struct width_quality alone[WIDTH_CASES][WIDTH_STAGES][WIDTH_WIDEST + 1];
    int alone_bits[WIDTH_STAGES]; /* -1: none up to WIDTH_WIDEST keeps the quality */
    int bits[WIDTH_STAGES];       /* together; 0 no such stage */
    int reached;                  /* 0: no bits up to WIDTH_WIDEST keep the quality */
    struct width_quality together[WIDTH_CASES];
    struct width_format formats[WIDTH_FORMATS];
    int formats_count;
};

enum err width_sweep(const struct width_primitive *p, const struct width_case *cases, int n,
                     struct width_limits limits, struct width_sweep *out);
int width_keeps(const struct width_quality *q, struct width_limits limits);

/* Root mean square of a - b over the range of b; SSIM of Wang et al. 2004 with uniform 7 x 7
 * windows. 0 and 1 for equal arrays. */
double width_rmse(const double *a, const double *b, int n);
double width_ssim(const double *a, const double *b, int edge);

#define WIDTH_SCHEMA "tomoprof-width/1"
enum err width_write_json(const struct width_sweep *s, int n, const struct width_case *cases,
                          const char *version, FILE *out);
enum err width_write_svg(const struct width_sweep *s, int n, FILE *out);

#endif
