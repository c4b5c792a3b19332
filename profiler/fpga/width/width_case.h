/* Data that a primitive is simulated on, and the way from its result to a picture: each primitive
 * runs with rounded stages inside a reconstruction that is float64 everywhere else. */
#ifndef TP_FPGA_WIDTH_WIDTH_CASE_H
#define TP_FPGA_WIDTH_WIDTH_CASE_H

#include "profiler/fpga/width/width_twin.h"

struct width_case {
    const char *name;
    int n, views;
    struct twin parallel, fan;
    double *sinogram, *fan_sinogram, *picture, *below, *above, *counts, *white, *dark;
};
/* From one row of parallel line integrals, views x n: the object is its filtered back projection,
 * the fan's views are projections of that, the counts are made with an uneven flat field, the
 * slices beside it are its copies moved by a pixel. */
enum err width_case_create(struct width_case *c, const char *name, int n, int views,
                           const double *angles, double centre, const double *sinogram);
void width_case_destroy(struct width_case *c);

/* A primitive's own result and the picture that it leads to. */
struct width_result {
    double *own, *picture;
    int own_length, picture_length;
};
void width_result_destroy(struct width_result *r);

struct width_primitive {
    const char *name;
    const char *leads_to;     /* how its result becomes a picture */
    int stages[WIDTH_STAGES]; /* which it has */
    int growth[WIDTH_STAGES]; /* bits more per doubling of the size */
    int fan;
    enum err (*run)(const struct width_case *c, const struct width_primitive *p, struct formats *f,
                    struct width_result *out);
};
const struct width_primitive *width_primitive_at(int i); /* NULL past the end */
const struct width_primitive *width_primitive_named(const char *name);

int width_range(double peak); /* the smallest with peak < 2^range; 0 for no peak */
/* Fixed point of `bits` (0: float64) that holds the peaks of a run in float64. */
struct formats width_formats(const struct width_primitive *p, const struct formats *peaks,
                             const int bits[WIDTH_STAGES]);
enum err width_run(const struct width_case *c, const struct width_primitive *p, struct formats *f,
                   struct width_result *out);

/* The slices that primitives are simulated on: the phantom's, and a row of a scan. */

/* Makes the two-ellipsoid phantom's central slice by its exact line integrals, with 1 % of noise: n
 * channels and views. */
enum err width_case_phantom(int n, struct width_case *c);

/* Row 0 of a Data Exchange scan with its channels averaged in n bins, and n of its views. `axis`:
 * channel of the rotation axis, below 0: found. ERR_INPUT when it has fewer channels or views. */
enum err width_case_scan(const char *path, double axis, int n, struct width_case *c);

#endif
