/* Number formats of hardware, simulated in float64: round to nearest even, saturate. */
#ifndef TP_FPGA_WIDTH_WIDTH_TWIN_H
#define TP_FPGA_WIDTH_WIDTH_TWIN_H

#include <stdint.h>

#include "base/err.h"
#include "profiler/triage/model/width_needed.h"

enum number_kind {
    NUMBER_WIDE,  /* float64 as it is */
    NUMBER_FIXED, /* two's complement of `bits`, in [-2^range, 2^range) */
    NUMBER_FLOAT, /* sign, exponent, fraction; subnormals; no infinity: it saturates */
    NUMBER_BLOCK, /* two's complement of `bits`, one exponent for NUMBER_BLOCK_LENGTH neighbours */
};
#define NUMBER_BLOCK_LENGTH 16
#define NUMBER_BITS_MOST    52 /* of a fixed-point number: float64 holds it and its halves exactly */

struct number_format {
    enum number_kind kind;
    int bits, range, exponent_bits;
    double step, inverse, most; /* fixed: 2^-fraction, its inverse, largest value; float: largest */
};

struct number_faults {
    int64_t saturated;
    int64_t invalid; /* NaN; where the format has none it becomes 0 */
};

struct number_format number_wide(void);
struct number_format number_fixed(int bits, int range);         /* 2 <= bits <= NUMBER_BITS_MOST */
struct number_format number_float(int bits, int exponent_bits); /* bf16 is (16, 8), fp16 (16, 5) */
struct number_format number_block(int bits);

/* NUMBER_BLOCK has no value on its own: it passes `v` on. */
double number_round(const struct number_format *f, double v, struct number_faults *faults);
/* An array in the order in which it is stored; `n` values. */
void number_round_all(const struct number_format *f, const double *v, int64_t n, double *out,
                      struct number_faults *faults);
/* "Q5.12" (bits of the whole part without the sign, of the fraction), "e8m7", "b12", "float64". */
char *number_name(const struct number_format *f, char out[24]);

/* Slow float64 twins of the primitives on one slice, with every stage passed through a number
 * format. One slice is enough: parallel beams do not mix slices; of a cone beam this is a slice of
 * an object that does not change along the axis, a quarter of the edge off the central plane: the
 * rows under a voxel hold the same samples, and their weights add up to 1. */

struct formats {
    struct number_format of[WIDTH_STAGES];
    double peak[WIDTH_STAGES]; /* largest magnitude that came by */
    struct number_faults faults;
};
struct formats formats_wide(void);

static inline double formats_pass(struct formats *f, enum width_stage stage, double v)
{
    const double magnitude = v < 0 ? -v : v;
    if (magnitude > f->peak[stage])
        f->peak[stage] = magnitude;
    return number_round(&f->of[stage], v, &f->faults);
}

/* n x n pixels, `views` views of n channels; position, width and height of the footprint of every
 * pixel in every view. */
#define TWIN_TAPS 4 /* W + 1 <= 2.5 for square pixels and the fan of twin_create */
#define TWIN_ROWS 3 /* W + 1 <= 2.4 rows under a voxel of it */
/* Geometry has 24 digits behind the point, as a kernel's tables have: products of two are exact in
 * float64, so that hardware can give the same bits. */
#define TWIN_GRID 0x1p24
struct twin {
    int n, views, fan;
    double centre; /* channel of the axis */
    double *angles, *position, *width, *height, *cosine;
    double *rows;  /* weights of the TWIN_ROWS rows under each voxel; NULL for parallel beams */
    double *exact; /* unrounded taps, TWIN_TAPS for each footprint */
};
enum err twin_create(struct twin *t, int n, int views, int fan, const double *angles,
                     double centre);
void twin_destroy(struct twin *t);

/* Callers hold the arrays: x[n n], y[views n]. ERR_MEMORY is the only failure. */
enum err twin_forward(const struct twin *t, struct formats *f, const double *x, double *y);
/* The two without rounding, 20 times as fast: for what is computed around the rounded primitive. */
void twin_exact_forward(const struct twin *t, const double *x, double *y);
void twin_exact_back(const struct twin *t, const double *y, double *x);
/* power 2: the Hessian's diagonal for y = 1 */
enum err twin_back(const struct twin *t, struct formats *f, int power, const double *y, double *x);
/* Ramp by convolution in the order of the taps, after the fan's cosine weights. */
enum err twin_filter(const struct twin *t, struct formats *f, const double *y, double *out);
double twin_ramp_tap(int m); /* 1/4 at 0, -1/(pi m)^2 at odd m, 0 at even */
/* log(white - dark) - log(|counts - dark|), logarithm by table and slope (TWIN_LOG_SEGMENTS). */
#define TWIN_LOG_SEGMENTS 256
/* ln(1 + x) = base + slope (x - i/256) from i/256 on */
void twin_log_segment(int i, double *base, double *slope);
enum err twin_flat_log(const struct twin *t, struct formats *f, const double *counts,
                       const double *white, const double *dark, double *y);
/* 3 x 3 x 3 of three slices, edges repeated; out: the middle one. */
enum err twin_median(int n, struct formats *f, const double *const x[3], double *out);

/* MBIR with a qGGMRF prior from x, `rounds` sweeps over 4 pixel subsets; f rounds the volume and
 * the prior's terms, the projections stay float64. */
struct twin_prior {
    double sigma_y, sigma_x, q;
    int rounds;
};
enum err twin_update(const struct twin *t, struct formats *f, const struct twin_prior *p,
                     const double *y, double *x);

#endif
