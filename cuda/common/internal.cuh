/* Inside the CUDA back end: its state, its memory, and the entries of its table, one family per
 * file. Contracts: host/backend/backend.h. */
#ifndef TP_CUDA_COMMON_INTERNAL_CUH
#define TP_CUDA_COMMON_INTERNAL_CUH

#include "cuda/common/runtime.cuh"

/* Device memory that grows and is kept: calls that follow each other allocate nothing. */
struct workspace {
    void *ptr;
    size_t bytes;
};

struct fft_plans;    /* filter.cu */
struct ramp_plan;    /* ramp.cu */
struct pixel_cache;  /* pixels.cu */
struct sorted_cache; /* sorted_pixels.cu */
struct descent;      /* iteration.cu */

struct cuda_backend {
    struct backend base; /* first: a struct backend * is one of these */
    cudaStream_t stream;
    cudaStream_t side[2]; /* uploads, downloads (streams.cu) */
    int multiprocessors;
    size_t limit;             /* bytes, of --device-memory; 0 = none */
    struct workspace scratch; /* of the call at hand */
    struct workspace partial; /* partial sums of the call at hand, and their total */
    struct workspace views;   /* the table of the projector that was freed last */
    double *result;           /* pinned host memory for MAX_SUMS numbers */
    char *tables;             /* behind them, for TABLE_ROOM bytes of tables on their way */
    size_t tables_used;
    size_t shared_most; /* bytes of shared memory that a block can have */
    struct fft_plans *plans;
    struct ramp_plan *ramp;
    struct pixel_cache *pixels; /* the last two pixel lists */
    struct sorted_cache *sorted;
    struct descent *descent;
    int64_t projectors; /* made so far */
};
#define MAX_SUMS   4
#define TABLE_ROOM ((size_t)256 << 10)

static inline struct cuda_backend *device_of(struct backend *be)
{
    return reinterpret_cast<struct cuda_backend *>(be);
}

/* For calls that give back: what they say must not be taken for the next launch's failure. */
static inline void let_pass(cudaError_t code)
{
    if (code != cudaSuccess)
        cudaGetLastError();
}

static inline float *floats_of(const struct buffer *b)
{
    return b ? static_cast<float *>(b->ptr) : NULL;
}

/* memory.cu */
/* Bytes that an allocation may still take. */
enum err device_available(const struct cuda_backend *be, size_t *out);
enum err device_alloc(struct cuda_backend *be, const char *what, size_t bytes, void **out);
void device_free(struct cuda_backend *be, void *ptr, size_t bytes);
/* At least `bytes` in *w; its contents are lost when it grows. */
enum err workspace_hold(struct cuda_backend *be, const char *what, size_t bytes,
                        struct workspace *w);
void workspace_drop(struct cuda_backend *be, struct workspace *w);
/* Tables from host memory, for a launch that follows; `from` is read at once. */
enum err device_put(struct cuda_backend *be, void *to, const void *from, size_t bytes);

enum err cuda_alloc(struct backend *be, const char *what, size_t bytes, struct buffer *out);
void cuda_release(struct backend *be, struct buffer *b);
enum err cuda_upload(struct backend *be, const void *host, size_t bytes, struct buffer *out);
enum err cuda_download(struct backend *be, const struct buffer *b, void *host, size_t bytes);
enum err cuda_zero(struct backend *be, struct buffer *b);
enum err cuda_copy(struct backend *be, const struct buffer *from, struct buffer *to);
enum err cuda_sync(struct backend *be);

/* open.cu */
enum err cuda_open(const struct backend_options *options, struct backend **out);
void cuda_close(struct backend *be);

/* projector.cu, project.cu (with parallel.cu, cone.cu) */
enum err cuda_projector_create(struct backend *be, const struct scan *s, const struct volume *v,
                               struct projector **out);
void cuda_projector_free(struct backend *be, struct projector *p);
enum err cuda_forward(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                      const struct buffer *x, struct sinogram y);
enum err cuda_back(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                   struct sinogram y, struct sinogram w, int power, struct buffer *x);
enum err cuda_sino_reorder(struct backend *be, const struct scan *s, struct sinogram in,
                           struct sinogram out);

/* error_sinogram.cu */
enum err cuda_forward_dots(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                           const struct buffer *x, const struct buffer *e, const struct buffer *w,
                           struct vcd_sums *sums);
enum err cuda_update_back(struct backend *be, struct projector *p, const struct vcd_move *move,
                          struct buffer *e, const struct buffer *w, const struct pixel_set *pixels,
                          struct buffer *x);

/* pixels.cu, sorted_pixels.cu, iteration.cu */
void pixel_cache_free(struct cuda_backend *be);
/* Kept lists that nobody reads now are given back; 1: there were some. */
int sorted_drop(struct cuda_backend *be);
void sorted_free(struct cuda_backend *be);
enum err cuda_vcd_sweep(struct backend *be, struct projector *p, const struct vcd_sweep *s,
                        struct vcd_totals *totals);
void descent_free(struct cuda_backend *be);

/* filter.cu, median.cu, prior.cu */
enum err cuda_ramp_filter(struct backend *be, const struct scan *s, double scale,
                          const struct buffer *y, struct buffer *out);
void fft_plans_free(struct fft_plans *plans);
void ramp_plan_free(struct cuda_backend *be, struct ramp_plan *plan);
enum err cuda_median3(struct backend *be, int64_t rows, int64_t cols, int64_t slices,
                      const struct buffer *in, struct buffer *out);
enum err cuda_prior_terms(struct backend *be, const struct volume *v, const struct prior *prior,
                          const struct pixel_set *pixels, const struct buffer *x, struct buffer *g,
                          struct buffer *h);

/* update.cu */
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

/* elementwise.cu, peak.cu */
enum err cuda_scale(struct backend *be, double alpha, struct buffer *x);
enum err cuda_scale_slices(struct backend *be, const struct volume *v, const float *factor,
                           struct buffer *x);
enum err cuda_sum_abs(struct backend *be, const struct buffer *x, double *out);
enum err cuda_fingerprint(struct backend *be, const struct buffer *b, double *sum, double *l2,
                          double *min, double *max);
enum err cuda_measure_peak(struct backend *be, struct peak *out);
enum err cuda_measure_ceilings(struct backend *be, struct ceiling out[CEILINGS_MOST], int *count);
void cuda_measured(struct backend *be, int begins);

#endif
