/* Reconstruction algorithms, written against host/backend/backend.h alone: MBIRJAX 0.7 semantics.
 * Arrays are buffers of one back end: sinogram (views, rows, channels), volume (rows, cols,
 * slices). Operations that recon_place sends out of core take buffers in host memory and
 * pass them through the device in slabs. */
#ifndef TP_RECON_RECON_H
#define TP_RECON_RECON_H

#include "host/backend/backend.h"
#include "host/geom/scan.h"

enum recon_op {
    RECON_FORWARD,
    RECON_BACK,
    RECON_HESSIAN,
    RECON_FILTER,
    RECON_DIRECT,
    RECON_MEDIAN,
    RECON_MBIR
};
/* Before anything is allocated: 0 in *out_of_core when `arrays` bytes of buffers fit into the back
 * end's memory beside what the operation takes, 1 when its arrays must stay in host memory.
 * ERR_MEMORY with the numbers when neither can be done (MBIR of cones in host memory never can). */
enum err recon_place(struct backend *be, enum recon_op op, const struct ct_model *m, int has_input,
                     size_t arrays, int *out_of_core);

/* y = A x over the region of reconstruction. */
enum err forward_project(struct backend *be, const struct ct_model *m, const struct buffer *x,
                         struct buffer *y);
/* y = A x, and x = A' y with A's entries raised to `power`, for some pixels; 0 elsewhere. */
enum err sparse_forward_project(struct backend *be, const struct ct_model *m,
                                const struct pixel_set *pixels, const struct buffer *x,
                                struct buffer *y);
enum err sparse_back_project(struct backend *be, const struct ct_model *m,
                             const struct pixel_set *pixels, const struct buffer *y, int power,
                             struct buffer *x);
/* x = A' y inside the region of reconstruction, 0 outside. */
enum err back_project(struct backend *be, const struct ct_model *m, const struct buffer *y,
                      struct buffer *x);
/* Cone beams, for FDK: x = sum over views of y at the voxel's centre, bilinear, times
 * magnification^2 and the volume of a voxel over the area of a cell, inside the region of
 * reconstruction, 0 outside. Faster than A' and not its equal. ERR_UNSUPPORTED where the back end
 * has none. */
enum err back_project_voxel(struct backend *be, const struct ct_model *m, const struct buffer *y,
                            struct buffer *x);
/* H = sum A^2 w over all pixels, no mask; w NULL = ones. */
enum err hessian_diagonal(struct backend *be, const struct ct_model *m, const struct buffer *w,
                          struct buffer *h);

/* FBP filter (parallel) or FDK filter (cone); y and out may be the same.
 * parallel: scale pi/V / (delta * delta_row);  cone: also * delta_det_row / (delta_slice * M). */
enum err direct_filter(struct backend *be, const struct ct_model *m, const struct buffer *y,
                       struct buffer *out);
/* back_project(direct_filter(y)); for helical scans each slice k times V / #views that see it (0
 * where none). `scratch` is a sinogram-sized buffer that receives the filtered sinogram; it may be
 * y itself, and is not used in slabs. */
enum err direct_recon(struct backend *be, const struct ct_model *m, const struct buffer *y,
                      struct buffer *scratch, struct buffer *x);
/* The same for cone beams with back_project_voxel. */
enum err fdk_voxel_recon(struct backend *be, const struct ct_model *m, const struct buffer *y,
                         struct buffer *scratch, struct buffer *x);

/* The same for parallel beams with the back end's back projection through the plane of frequencies:
 * close to direct_recon. ERR_UNSUPPORTED where the back end has none. */
enum err fourier_recon(struct backend *be, const struct ct_model *m, const struct buffer *y,
                       struct buffer *scratch, struct buffer *x);

/* Stripes of a sinogram removed by sorting, with a median over `size` channels (odd). y and out
 * differ. ERR_UNSUPPORTED where the back end has none. */
#define STRIPES_MEDIAN 21
enum err remove_stripes(struct backend *be, const struct ct_model *m, int64_t size,
                        const struct buffer *y, struct buffer *out);

/* 3x3x3 median with replicated edges of a volume of m's size; in and out differ. */
enum err median_filter(struct backend *be, const struct ct_model *m, const struct buffer *in,
                       struct buffer *out);

struct mbir_options {
    int64_t max_iterations, first_iteration; /* 15; 0: of the schedule, where a run goes on */
    double stop_threshold_percent;           /* 0.2; 0 = exactly max_iterations */
    uint32_t seed; /* of NumPy's generator, seeded once before the partitions are drawn */
    const struct buffer *weights;       /* NULL = ones */
    const struct buffer *initial;       /* NULL = direct_recon with a fitted scale */
    const struct buffer *prox_target;   /* volume: the proximal prior (x - it)^2/(2 sigma_prox^2) in
                                         place of qGGMRF (optional) */
    const struct mbir_subsets *subsets; /* NULL = the schedule; arrays must fit the back end */
    int64_t samples; /* of the whole sinogram, where m is a rank's part of it; 0: m's */
    int fast;        /* mbir_schedule.c's own subsets, and momentum: its own results */
    int compat_06;   /* the schedule of MBIRJAX 0.6: its subsets, its draws, no damping of slices */
    void (*on_iteration)(void *context, int64_t done, int64_t total); /* progress (optional) */
    void *context;
    const volatile int *stop; /* non-zero: ERR_INTERRUPTED after the subset at hand (optional) */
};

/* Filled in afterwards, an entry per iteration (malloc'ed; free with mbir_report_free). */
struct mbir_report {
    int64_t iterations;
    int stopped_by_threshold;
    double initial_scale; /* alpha_0 */
    double sigma_y, sigma_x, sigma_prox;
    double *fm_rmse, *change_percent, *alpha;
    int64_t *subsets; /* of the partition used */
};

/* VCD with the qGGMRF prior. granularity 1 2 4 8 16 32 64 128 128 128 128, sequence 2 4 6 then 7 8
 * 9 10 repeating. x receives the reconstruction. The sentence of ERR_INPUT says what is wrong with
 * y or the weights (not finite, negative, all zero). Parallel beams: all buffers may lie in host
 * memory where the back end computes elsewhere; then slices go in groups. */
enum err mbir_recon(struct backend *be, const struct ct_model *m, const struct buffer *y,
                    const struct mbir_options *o, struct buffer *x, struct mbir_report *report);
void mbir_report_free(struct mbir_report *r);

/* Bytes that mbir_recon needs beside y, weights and x. */
size_t mbir_scratch_bytes(const struct ct_model *m);

/* Automatic sigma_y, sigma_x, sigma_prox (each rounded to float32) from host arrays; w NULL = ones.
 */
enum err auto_regularise(const struct backend *be, const struct ct_model *m, const float *y,
                         const float *w, struct regularisation *out);

#endif
