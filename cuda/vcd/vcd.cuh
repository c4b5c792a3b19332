/* The pieces of VCD as launches alone, which can be recorded: update.cu and error_sinogram.cu make
 * entries of the table of them, iteration.cu whole passes over the subsets of a partition. Each
 * declares its work. */
#ifndef TP_CUDA_VCD_VCD_CUH
#define TP_CUDA_VCD_VCD_CUH

#include "cuda/common/projection.cuh"

/* A subset cut into blocks: SUM_THREADS slices of a few pixels. */
struct subset {
    struct pixel_list pixels;
    int slices, chunks;
};
struct subset subset_of(const struct volume *v, struct pixel_list pixels);
int64_t subset_blocks(const struct subset *s);

struct direction {
    struct subset s;
    float inverse; /* 1 / sigma_y^2 */
    const float *hessian, *g, *h;
    float *d;
    const float *pull; /* [slices] (1 - s_k) gbar_k, or NULL */
};

/* Scratch for the means of slices, and for `pull`, which follows from them and the damping of each
 * slice. */
struct means {
    double *mean;
    float *pull;
};
enum err means_hold(struct cuda_backend *be, const struct subset *s, struct means *out);
enum err means_launch(struct cuda_backend *be, struct direction *t, const float *damping,
                      const struct means *m);

/* `partial` has room for subset_blocks (+ 1) results; the total goes to `out` (device; NULL: the
 * partial results are added up elsewhere). */
enum err direction_launch(struct cuda_backend *be, const struct direction *t, double *partial,
                          double *out);
/* x += alpha d, of d = max(clip x, d) where `clip` is given; one partial result a block, of what
 * moved. `alone`: for lists that may name a pixel twice. */
enum err add_launch(struct cuda_backend *be, const struct subset *s, int alone, struct scalar alpha,
                    const struct scalar *clip, float *d, float *x, double *partial);

/* error_sinogram.cu. `kept`: the subset's sorted lists, or NULL: they are made for each batch in
 * scratch that `plan` describes. */
struct moving {
    struct pixel_list pixels;
    const struct cached_bins *kept;
    const float *delta;
    struct scalar alpha;
    float *product; /* A delta, which dots_launch writes and update_launch reads; NULL: not kept */
};
/* out NULL: the partial results alone, gather_warps of all views. */
enum err dots_launch(struct cuda_backend *be, const struct projector *p,
                     const struct projection_plan *plan, const struct moving *m, const float *e,
                     const float *w, double *partial, double *out);
/* m NULL: nothing moves; list of no pixel: nothing is back projected. */
enum err update_launch(struct cuda_backend *be, const struct projector *p,
                       const struct projection_plan *plan, const struct moving *m, float *e,
                       const float *w, const struct pixel_list *list, float *x);

/* prior.cu */
enum err prior_launch(struct cuda_backend *be, const struct volume *v,
                      const struct regularisation *r, const float *target,
                      const struct pixel_list *pixels, const float *x, float *g, float *h);

/* These implement entries of the back end's table. Contracts: host/backend/backend.h. */
enum err cuda_forward_dots(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                           const struct buffer *x, const struct buffer *e, const struct buffer *w,
                           struct vcd_sums *sums);
enum err cuda_update_back(struct backend *be, struct projector *p, const struct vcd_move *move,
                          struct buffer *e, const struct buffer *w, const struct pixel_set *pixels,
                          struct buffer *x);
enum err cuda_prior_terms(struct backend *be, const struct volume *v, const struct prior *prior,
                          const struct pixel_set *pixels, const struct buffer *x, struct buffer *g,
                          struct buffer *h);
enum err cuda_vcd_direction(struct backend *be, const struct volume *v,
                            const struct pixel_set *pixels, double sigma_y, const float *damping,
                            const struct buffer *hessian, const struct buffer *g,
                            const struct buffer *h, struct buffer *d, struct vcd_sums *sums);
enum err cuda_weighted_dots(struct backend *be, const struct buffer *w, const struct buffer *e,
                            const struct buffer *d, struct vcd_sums *sums);
enum err cuda_clip_positive(struct backend *be, const struct volume *v,
                            const struct pixel_set *pixels, const struct buffer *x, double alpha,
                            struct buffer *d);
enum err cuda_add_cylinders(struct backend *be, const struct volume *v,
                            const struct pixel_set *pixels, double alpha, const struct buffer *d,
                            struct buffer *x, double *moved);
enum err cuda_vcd_iteration(struct backend *be, struct projector *p, const struct vcd_iteration *s,
                            struct vcd_totals *totals);
extern const struct device_cache vcd_state_cache;

/* The pixels of a partition's subsets sorted for every view (bins.cu), kept over the passes that
 * use them. The back end owns them, as bytes of its memory plan; they go with their projector, and
 * when an allocation would fail otherwise. */

/* In device memory, subset after subset. */
struct sorted {
    const int32_t *indices;        /* [subsets][length] */
    struct cached_bins first;      /* of the first subset; list NULL: there was no room */
    int64_t list_step, first_step; /* from one subset to the next */
};

/* In use, which keeps it from being given back, until sorted_done. */
enum err sorted_get(struct cuda_backend *be, const struct projector *p,
                    const struct vcd_iteration *s, struct sorted *out);
void sorted_done(struct cuda_backend *be);
extern const struct device_cache sorted_pixels_cache;

#endif
