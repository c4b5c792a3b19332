/* The seam between algorithms and machines. A back end is a table of functions; the algorithms of
 * host/recon and the suite are written against this header alone.
 *
 * Rules: no compute function transfers; a buffer says where it lives; every compute function
 * declares its ideal work (see struct work); results of forward projection are the same bits for
 * any number of threads. Functions return ERR_OK or leave a sentence (base/err.h). Pointers
 * marked (optional) may be NULL. */
#ifndef TP_BACKEND_BACKEND_H
#define TP_BACKEND_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "host/backend/prepare.h"
#include "host/backend/volume.h"
#include "base/err.h"
#include "host/geom/scan.h"

enum place { PLACE_HOST, PLACE_DEVICE };

/* `bytes` bytes at `ptr` in `place`. `owned` is 0 when another buffer holds the memory. */
struct buffer {
    enum place place;
    int owned;
    size_t bytes;
    void *ptr;
};

/* Cost of a computation on an ideal machine: floating-point operations (a multiply-add is 2), bytes
 * that must cross main memory at least once (inputs + outputs), and bytes through the cache nearest
 * to the arithmetic if nothing were reused there. */
struct work {
    double flops, bytes_min, bytes_ideal_cache;
};

/* Ceilings of the machine, measured in the same process and with as many threads. */
struct peak {
    double flops_per_s; /* float32 multiply-add, all threads */
    double bytes_per_s; /* copy: read + written bytes, array far larger than the caches */
};

/* Another ceiling; its name gives the unit. */
struct ceiling {
    const char *name; /* "l2_bytes_per_s" */
    double value;
};
#define CEILINGS_MOST 16

struct backend_options {
    int threads;          /* 0 = all that the process may use */
    size_t device_memory; /* 0 = all; lowers a device's memory to simulate a smaller card */
    int look;             /* closing leaves nothing on the device, which other processes will use */
};

/* Pixels of a projection. indices NULL: all pixels of the volume; cylinders of the volume array are
 * then at pixel * slices. packed: cylinder number q of the list is at q * slices. */
struct pixel_set {
    const int32_t *indices; /* host memory, any order, repeats add up */
    int64_t count;
    int packed;
};

/* Order of a sinogram in memory: as users hold it, or with detector rows fastest, which lets
 * repeated sparse projections skip a transposition. */
enum sino_order { SINO_CHANNELS_FASTEST /* (V, Mr, Nc) */, SINO_ROWS_FASTEST /* (V, Nc, Mr) */ };

struct sinogram {
    struct buffer *data;
    enum sino_order order;
};

/* qGGMRF (sigma_x, p, q, T, 6 face neighbours) or proximal (sigma_prox, target) prior of VCD. */
struct prior {
    const struct regularisation *regularisation; /* qGGMRF */
    const struct buffer *prox_target; /* volume; non-NULL selects the proximal prior (optional) */
};

/* Weights of MBIR from a sinogram y: how certain each sample is. */
enum weights_kind {
    WEIGHTS_ONE,
    WEIGHTS_TRANSMISSION,
    WEIGHTS_ROOT,
    WEIGHTS_EMISSION,
    WEIGHTS_MAR
};
struct weights_rule {
    enum weights_kind kind;
    double beta, gamma, threshold; /* of WEIGHTS_MAR: samples of metal lie above the threshold */
};

/* Operations of a sample, an exponential as 20. */
double weights_flops(enum weights_kind kind);

/* Sums over one subset of VCD, float64. */
struct vcd_sums {
    double linear, quadratic;
};

/* A step that is decided, and still to leave the error sinogram: e -= alpha A delta. */
struct vcd_move {
    struct pixel_set pixels;
    const struct buffer *delta;
    double alpha;
};

/* Does an iteration of VCD: all subsets of a partition, each by the pieces of VCD below. */
struct vcd_iteration {
    const struct volume *volume;
    const struct prior *prior; /* also sigma_y, positivity, max_overrelaxation */
    const int32_t *indices;    /* host: [subsets][length], ascending within a subset */
    const int32_t *order;      /* host: [subsets], which comes when */
    int64_t length;
    int subsets;
    const float *damping;                   /* as for vcd_direction */
    const struct buffer *hessian, *weights; /* weights: in another order while it lasts */
    struct buffer *x, *error;       /* error: e, SINO_ROWS_FASTEST, up to date before and after */
    struct buffer *gP, *hP, *dP[2]; /* room for `length` cylinders each */
    const volatile int *stop;       /* non-zero: no more subsets (optional) */
};

struct vcd_totals {
    double moved, alpha; /* sum |alpha dP|, sum of alpha */
};

struct backend;
struct backend_streams; /* streams.h */
struct projector;       /* a geometry prepared for one back end: view tables, footprint bounds */

struct backend_ops {
    const char *name; /* "cpu", "cuda": what --backend takes */
    enum err (*open)(const struct backend_options *options, struct backend **out);
    void (*close)(struct backend *be);

    /* Buffers. upload makes host memory usable by compute functions, download makes a result
     * readable on the host; where the place is the host both are an alias and move no byte. */
    enum err (*alloc)(struct backend *be, const char *what, size_t bytes, struct buffer *out);
    void (*release)(struct backend *be, struct buffer *b);
    enum err (*upload)(struct backend *be, const void *host, size_t bytes, struct buffer *out);
    enum err (*download)(struct backend *be, const struct buffer *b, void *host, size_t bytes);
    enum err (*zero)(struct backend *be, struct buffer *b);
    enum err (*copy)(struct backend *be, const struct buffer *from, struct buffer *to);
    enum err (*sync)(struct backend *be); /* all work done when it returns */

    /* Projection. x is a volume array, or (count, slices) when pixels->packed. */
    enum err (*projector_create)(struct backend *be, const struct scan *s, const struct volume *v,
                                 struct projector **out);
    void (*projector_free)(struct backend *be, struct projector *p);
    /* y = A x over the given pixels; y is overwritten. */
    enum err (*forward)(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                        const struct buffer *x, struct sinogram y);
    /* x = A' (w y) over the given pixels with the entries of A raised to `power` (1 or 2); other
     * pixels of a volume array are left alone. y.data or w.data NULL stands for ones. */
    enum err (*back)(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                     struct sinogram y, struct sinogram w, int power, struct buffer *x);
    /* Cone beams: x = sum over views of weight * (y at the voxel's centre, bilinear between cells,
     * 0 beside the detector), weight = magnification^2 * volume of a voxel / area of a cell. Not
     * the transpose of forward: for FDK only. Optional: NULL. */
    enum err (*back_voxel)(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                           struct sinogram y, struct buffer *x);

    /* Parallel beams: x = A' y inside the region of reconstruction, 0 outside, through the plane of
     * frequencies, within 1e-3 of the direct sum for filtered views of solids
     * (docs/internals/operations.md). Optional: NULL. */
    enum err (*fourier_back)(struct backend *be, const struct scan *s, const struct volume *v,
                             const struct buffer *y, struct buffer *x);

    /* Stripes removed by sorting: the values of each channel of a detector row in ascending order,
     * then a median of `size` (odd) channels at each rank. In and out differ. Optional: NULL. */
    enum err (*remove_stripes)(struct backend *be, const struct scan *s, int64_t size,
                               const struct buffer *y, struct buffer *out);

    /* Does a step on views; in and out differ. frames (of PREPARE_FLAT): dark, flat fields before
     * and after, each (rows, channels). ERR_UNSUPPORTED: this back end has none of that kind. */
    enum err (*prepare_step)(struct backend *be, const struct prepare_step *step,
                             const struct buffer *frames, const struct buffer *in,
                             struct buffer *out);

    /* out = y times the factor (host, [views][channels]) of its view and channel; in place too. */
    enum err (*weigh_rays)(struct backend *be, const struct scan *s, const float *factor,
                           const struct buffer *y, struct buffer *out);

    /* Ramp filter along channels, y -> out (may be the same buffer): out = scale * (h * (cosine
     * y)), h the band-limited ramp of 2*channels-1 taps, cosine weights for cone beams. */
    enum err (*ramp_filter)(struct backend *be, const struct scan *s, double scale,
                            const struct buffer *y, struct buffer *out);

    /* 3x3x3 median with replicated edges; in and out differ. */
    enum err (*median3)(struct backend *be, int64_t rows, int64_t cols, int64_t slices,
                        const struct buffer *in, struct buffer *out);

    /* Does a step on a volume; in and out differ. */
    enum err (*volume_step)(struct backend *be, const struct volume_step *step,
                            const struct buffer *in, struct buffer *out);
    /* w = 1, exp(-y), exp(-y/2), 1/(|y| + 0.1) or exp(-y (1 + gamma m)/beta), m = 1 where `metal`
     * (y where that is NULL) is above the threshold, else 0. */
    enum err (*make_weights)(struct backend *be, const struct weights_rule *rule,
                             const struct buffer *y, const struct buffer *metal, struct buffer *w);

    /* Pieces of VCD. Arrays named with a capital P below are packed (count, slices). */
    /* Gradient gP and curvature hP of the prior at the pixels of x. */
    enum err (*prior_terms)(struct backend *be, const struct volume *v, const struct prior *prior,
                            const struct pixel_set *pixels, const struct buffer *x,
                            struct buffer *gP, struct buffer *hP);
    /* On entry dP = back(w e). With g = gP - dP/sigma_y^2, h = hP + H/sigma_y^2 at the pixels:
     * dP = -g/h, or, with damping s_k per slice (host, [slices], optional),
     * dP = -(g - (1 - s_k) gbar_k)/h, gbar_k = sum(g/h)/sum(1/h) over the subset.
     * sums->linear = <gP, dP>, sums->quadratic = <hP dP, dP>. */
    enum err (*vcd_direction)(struct backend *be, const struct volume *v,
                              const struct pixel_set *pixels, double sigma_y, const float *damping,
                              const struct buffer *hessian, const struct buffer *gP,
                              const struct buffer *hP, struct buffer *dP, struct vcd_sums *sums);
    /* sums->linear = <w e, d>, sums->quadratic = <w d, d>; w NULL = ones. Orders must agree. */
    enum err (*weighted_dots)(struct backend *be, const struct buffer *w, const struct buffer *e,
                              const struct buffer *d, struct vcd_sums *sums);
    /* The two passes of a subset over the error sinogram e and the weights w (NULL = ones), both
     * SINO_ROWS_FASTEST. First: sums->linear = <w e, A x>, sums->quadratic = <w A x, A x>. */
    enum err (*forward_dots)(struct backend *be, struct projector *p,
                             const struct pixel_set *pixels, const struct buffer *x,
                             const struct buffer *e, const struct buffer *w, struct vcd_sums *sums);
    /* Second: the move (optional) leaves e, then x = A' (w e) over pixels (count 0: none). */
    enum err (*update_back)(struct backend *be, struct projector *p, const struct vcd_move *move,
                            struct buffer *e, const struct buffer *w,
                            const struct pixel_set *pixels, struct buffer *x);
    /* dP = max(-x/(alpha + eps), dP): keeps x + alpha dP >= 0. */
    enum err (*clip_positive)(struct backend *be, const struct volume *v,
                              const struct pixel_set *pixels, const struct buffer *x, double alpha,
                              struct buffer *dP);
    /* x[pixels] += alpha dP; *moved = sum |alpha dP|. A pixel listed twice takes the last of both
     * sums as MBIRJAX's indexed add does: both are added. */
    enum err (*add_cylinders)(struct backend *be, const struct volume *v,
                              const struct pixel_set *pixels, double alpha, const struct buffer *dP,
                              struct buffer *x, double *moved);
    /* All of it without the host, which then learns the totals alone (optional). */
    enum err (*vcd_iteration)(struct backend *be, struct projector *p,
                              const struct vcd_iteration *s, struct vcd_totals *totals);
    /* Returns 1 where vcd_iteration can do this one, else the pieces do it (optional: always 1). */
    int (*vcd_iteration_fits)(const struct backend *be, const struct projector *p,
                              const struct vcd_iteration *s);
    enum err (*scale)(struct backend *be, double alpha, struct buffer *x);
    /* x[pixel][k] *= factor[k] (host, [slices]). */
    enum err (*scale_slices)(struct backend *be, const struct volume *v, const float *factor,
                             struct buffer *x);
    /* Some slices of the pixels of x, to or from packed, which is (pixels, count) (volume.h). */
    enum err (*move_slices)(struct backend *be, const struct slices_move *move,
                            const struct pixel_set *pixels, struct buffer *x,
                            struct buffer *packed);
    enum err (*sum_abs)(struct backend *be, const struct buffer *x, double *out);
    /* (V, Mr, Nc) <-> (V, Nc, Mr), in and out differ. */
    enum err (*sino_reorder)(struct backend *be, const struct scan *s, struct sinogram in,
                             struct sinogram out);

    /* float64 sum and l2 norm, float32 min and max: identifies a result. */
    enum err (*fingerprint)(struct backend *be, const struct buffer *b, double *sum, double *l2,
                            double *min, double *max);
    enum err (*measure_peak)(struct backend *be, struct peak *out);
    /* Its arithmetic in 4 ms, less where `enough` is reached (optional: else peaks are not kept). */
    enum err (*glance_peak)(struct backend *be, double enough, double *flops_per_s);
    /* The peak and what else bounds operations, about a second of work (optional). */
    enum err (*measure_ceilings)(struct backend *be, struct ceiling out[CEILINGS_MOST], int *count);
    /* Tells profilers where the measured part begins (1) and ends (0) (optional). */
    void (*measured)(struct backend *be, int begins);

    const struct backend_streams *streams; /* NULL where the place of buffers is the host */
};

struct backend {
    const struct backend_ops *ops;
    int threads;
    char device[128];     /* "Intel(R) Xeon(R), 2 threads, avx512" */
    struct work declared; /* grows with each compute call; read and cleared by backend_take_work */
    const volatile int *stop;          /* non-zero: what is left of a call is left out (optional) */
    struct backend_progress *progress; /* NULL: nobody asks for it (course.h) */
    void (*look)(void *looker); /* called again and again during a call; may set *stop (optional) */
    void *looker;
    uint64_t uploaded_bytes, downloaded_bytes;
    uint64_t device_bytes, device_peak; /* held on a device now; most since backend_reset_peak */
};

struct work backend_take_work(struct backend *be);
void backend_reset_peak(struct backend *be);

/* Used by launchers. */
void backend_declare(struct backend *be, double flops, double bytes_min, double bytes_ideal_cache);

#endif
