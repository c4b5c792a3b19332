/* The state of one VCD reconstruction, shared by all of mbir*.c. */
#ifndef TP_RECON_MBIR_H
#define TP_RECON_MBIR_H

#include "host/recon/partition.h"
#include "host/recon/recon.h"
#include "host/recon/slabs/slab.h"
#include "base/mark/mark.h"

#define PARTITIONS 11

/* All partitions of the granularity of 0.7 or 0.6, drawn in order after one seeding: which of them
 * the iterations use does not change what the generator gives to them. */
struct schedule {
    struct rng rng;
    int compat_06, fast, coarse; /* fast: parallel beams' schedule; coarse: cone beams' */
    struct partition partitions[PARTITIONS];
};

enum err schedule_create(const int32_t *pixels, int64_t count, uint32_t seed, int compat_06,
                         struct schedule *out);
/* The partitions of 0.7 of whole orbits under quarter turns, where the image has them. */
enum err schedule_create_turns(const struct volume *v, uint32_t seed, struct schedule *out);
/* 0.6 shuffled all pixels for each projection of the first image, and sorted them again. */
enum err schedule_start(struct schedule *s, int64_t count, int has_initial);
void schedule_free(struct schedule *s);
const struct partition *schedule_at(const struct schedule *s, int64_t iteration);
/* Pixels of the largest subset that any iteration uses. */
int64_t schedule_longest(int64_t pixels, int compat_06);
/* Bytes of all index lists. */
size_t schedule_bytes(int64_t pixels);

/* Cone beams damp each slice's mean update (0.7): s_k into *damping, malloc'ed, [slices]; NULL for
 * parallel beams.  s_k = mean over views of (c t^p + a b^p)/(t^p + b^p), a, b, p, c = 0.25, 100,
 * 0.7, 0.5, t = rows*delta * |z_k - h| / (source_iso * delta_slice). */
enum err slice_damping(const struct ct_model *m, float **damping);

/* Sinograms are kept with detector rows fastest, the order that projections work in. */
struct vcd {
    struct backend *be;
    const struct ct_model *m;
    const struct mbir_options *options;
    const struct buffer *target;     /* of the proximal prior (optional) */
    const struct vcd_passes *passes; /* mbir_large.h; NULL: those of the back end, over `error` */
    struct regularisation r;
    struct projector *projector;
    int32_t *pixels; /* of the region of reconstruction */
    int64_t count;
    struct schedule schedule;
    int64_t visited; /* subsets of options->subsets */
    float *damping;
    double mean_weight;
    struct buffer error, weights;      /* e, w (empty: ones); rows fastest */
    struct buffer hessian;             /* volume */
    struct buffer gradient, curvature; /* packed, room for the longest subset */
    struct buffer delta[2], step[2];   /* this subset's and the last one's; step: the part in use */
    struct vcd_move move;              /* still in e while `pending` */
    int pending;
    int64_t moves;
};

/* Checks y and the weights, finds sigma_*, allocates. */
enum err vcd_create(struct vcd *t, const struct buffer *y);
/* Parts of it; the first of arrays in host memory (w NULL: ones), it finds the mean weight too. */
enum err vcd_check_host(struct vcd *t, const float *y, const float *w);
enum err vcd_regularise(struct vcd *t, const struct buffer *y);
enum err vcd_find_pixels(struct vcd *t);
enum err vcd_allocate_steps(struct vcd *t); /* the packed arrays */
/* Bytes of all arrays beside y, x and the weights as given; `sinograms`: e, and weights. */
size_t vcd_bytes(const struct ct_model *m, int64_t pixels, int sinograms, int compat_06);
void vcd_free(struct vcd *t);
/* x = initial image (scaled by *scale), e = y - A x, H. */
enum err vcd_start(struct vcd *t, const struct buffer *y, struct buffer *x, double *scale);

/* With e = y: the factor of x that fits y best, then e = y - A x. */
enum err vcd_fit_scale(struct vcd *t, const struct pixel_set *inside, struct buffer *x,
                       double *scale);
/* Brings e up to date. */
enum err vcd_take_move(struct vcd *t);
/* The two passes over e, by `passes` or the back end. */
enum err vcd_update_back(struct vcd *t, const struct vcd_move *move, const struct pixel_set *pixels,
                         struct buffer *x);
enum err vcd_forward_dots(struct vcd *t, const struct pixel_set *pixels, const struct buffer *x,
                          struct vcd_sums *sums);

/* Result of an iteration: its steps (alpha: their sum), <w e, e>, sum |x|. */
struct vcd_outcome {
    struct vcd_totals steps;
    double residual, size;
};
/* Iterates once over the subsets of `part` in that order; fewer when options->stop is set. */
typedef enum err vcd_iterate(void *context, const struct partition *part, const int32_t *order,
                             struct vcd_outcome *out);
/* As many as options and threshold say. */
enum err vcd_iterations(struct vcd *t, vcd_iterate *iterate, void *context,
                        struct mbir_report *report);
enum err vcd_visit_subsets(struct vcd *t, const struct partition *part, const int32_t *order,
                           struct buffer *x, struct vcd_totals *totals);

/* mbir_recon with all buffers where the back end computes; the report's room is for all iterations. */
enum err mbir_whole(struct backend *be, const struct ct_model *m, const struct buffer *y,
                    const struct mbir_options *o, struct buffer *x, struct mbir_report *report);

int vcd_stopped(const struct vcd *t); /* by options->stop or the back end's */
/* NULL when all weights are 1. */
const struct buffer *vcd_weights(const struct vcd *t);
/* Counts the samples of the whole sinogram. */
int64_t vcd_samples(const struct vcd *t);

/* Marks a phase on the profiler's timeline; returns from the caller when it fails. */
#define PHASE(name, expression)                                                                    \
    do {                                                                                           \
        mark_push(name, 0);                                                                        \
        enum err phase_err_ = (expression);                                                        \
        mark_pop();                                                                                \
        if (phase_err_ != ERR_OK)                                                                  \
            return phase_err_;                                                                     \
    } while (0)

#endif
