/* The state of the CUDA back end, and the memory of its device. Contracts of the entries of its
 * table: host/backend/backend.h. */
#ifndef TP_CUDA_COMMON_DEVICE_CUH
#define TP_CUDA_COMMON_DEVICE_CUH

#include "cuda/common/runtime.cuh"

/* Device memory that grows and is kept: calls that follow each other allocate nothing. */
struct workspace {
    void *ptr;
    size_t bytes;
};

/* Arrays that a file keeps between calls, with the function that frees them. */
struct device_cache {
    void (*free)(struct cuda_backend *be);
    int rebuilt; /* by the next call that needs it: it counts as room that is free */
    /* Gives back what nobody reads now; 1: there was some (optional). */
    int (*shrink)(struct cuda_backend *be);
    /* Gives back what belongs to a projector, which is freed (optional). */
    void (*forget)(struct cuda_backend *be, int64_t serial);
};

struct fft_plans;     /* filter.cu */
struct ramp_plan;     /* ramp.cu */
struct fourier_state; /* fourier.cu */
struct pixel_cache;   /* pixels.cu */
struct sorted_cache;  /* sorted_pixels.cu */
struct vcd_state;     /* iteration.cu */
struct transfer_ring; /* transfer.cu */

#define UNPINNED    8
#define CUDA_DEVICE 0 /* of those that CUDA_VISIBLE_DEVICES leaves */

struct cuda_backend {
    struct backend base; /* first: a struct backend * is one of these */
    cudaStream_t stream;
    cudaStream_t side[2];     /* uploads, downloads (streams.cu) */
    void *unpinned[UNPINNED]; /* of the host, which the system did not let us pin; NULL: free */
    int multiprocessors;
    size_t limit;             /* bytes, of --device-memory; 0 = none */
    int look;                 /* the device is given back when this closes */
    struct workspace scratch; /* of the call at hand */
    struct workspace partial; /* partial sums of the call at hand, and their total */
    struct workspace views;   /* the table of the projector that was freed last */
    double *result;           /* pinned host memory for MAX_SUMS numbers */
    char *tables;             /* behind them, for TABLE_ROOM bytes of tables on their way */
    size_t tables_used;
    size_t shared_most; /* bytes of shared memory that a block can have */
    struct fft_plans *plans;
    struct ramp_plan *ramp;
    struct fourier_state *fourier;
    struct pixel_cache *pixels; /* the last two pixel lists */
    struct sorted_cache *sorted;
    struct vcd_state *vcd;
    struct transfer_ring *ring;
    double launch_updates; /* of one launch at most, where views can be shared out */
    const struct device_cache *const *caches; /* of all files, up to a NULL */
    int64_t projectors;                       /* made so far */
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
/* The same after caches are freed; ERR_MEMORY (host/backend/streams.h). */
enum err device_room(struct backend *be, size_t *bytes);
enum err device_refuse(struct backend *be, const char *what, size_t need, const char *advice);
enum err device_alloc(struct cuda_backend *be, const char *what, size_t bytes, void **out);
void device_free(struct cuda_backend *be, void *ptr, size_t bytes);
/* At least `bytes` in *w; its contents are lost when it grows. */
enum err workspace_hold(struct cuda_backend *be, const char *what, size_t bytes,
                        struct workspace *w);
void workspace_drop(struct cuda_backend *be, struct workspace *w);
/* A projector is freed: what the caches hold for it goes. */
void caches_forget(struct cuda_backend *be, int64_t serial);
/* Tables from host memory, for a launch that follows; `from` is read at once. */
enum err device_put(struct cuda_backend *be, void *to, const void *from, size_t bytes);

enum err cuda_alloc(struct backend *be, const char *what, size_t bytes, struct buffer *out);
void cuda_release(struct backend *be, struct buffer *b);
/* transfer.cu */
extern const struct device_cache transfer_ring_cache;
enum err cuda_upload(struct backend *be, const void *host, size_t bytes, struct buffer *out);
enum err cuda_download(struct backend *be, const struct buffer *b, void *host, size_t bytes);
/* memory.cu */
enum err cuda_zero(struct backend *be, struct buffer *b);
enum err cuda_copy(struct backend *be, const struct buffer *from, struct buffer *to);
enum err cuda_sync(struct backend *be);

#endif
