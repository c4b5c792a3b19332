/* Projections on the GPU: what projector.cu, bins.cu, project.cu, parallel.cu, cone.cu and
 * error_sinogram.cu share.
 *
 * Both directions work on a batch of views whose sinogram has rows fastest. Forward gathers: each
 * view's pixels are sorted by the first channel that they touch (bins.cu), a warp owns some
 * channels and rows of one view and adds up the pixels of their bins in the order of the list, so
 * that nobody adds to what another adds to, and sums have one order. Back gathers too: a warp owns
 * a pixel and some slices and adds up the views. */
#ifndef TP_CUDA_COMMON_PROJECTION_CUH
#define TP_CUDA_COMMON_PROJECTION_CUH

#include "cuda/common/device.cuh"

extern "C" {
#include "host/geom/windows.h"
}

/* Scratch of a projection or a filter: a tenth of its arrays, and this at least. */
#define SCRATCH_LEAST ((size_t)64 << 20)

/* Registers a thread may have so that so many blocks of 4 warps fit: 8 blocks 64, 7 72, 6 80, 5 96.
 * Without a number ptxas spills to reach one more block. */
#define WARPS 4 /* of a projection's block: they share columns (back) or pixels (forward) in L1 */

/* Channels under a tile of pixels (parallel/tiles.cu) that its shared memory has room for. */
#define WIDEST_TILE 40

/* Cells of one grid per cell of the other that the overlap of two or three cells can serve; below
 * the 2 that the narrowest tap window holds, so that what stays within it is never clipped. */
#define WIDEST 1.9f

/* Constant in a view. Positions: that of pixel (0, 0), and the steps of i and j. */
struct parallel_pose {
    int64_t from, along_i, along_j; /* in 2^-shift channels */
    float width, height;            /* of every footprint */
};
struct cone_pose {
    double x, x_i, x_j, gain, gain_i, gain_j; /* across the axis, in channels; 1 / magnification */
    double bottom;                            /* edge of the lowest slice, in slices */
    float z;                                  /* middle of the first slice */
    float cos, sin;                           /* of the float32 angle */
    /* Multi-axis: rows per slice and the inverse, under a voxel; rows that pixels lie higher. */
    double rows, slices, under, rise, rise_i, rise_j;
    float stretch; /* of path lengths: rows per slice, level, / under */
};
union view_pose {
    struct parallel_pose parallel;
    struct cone_pose cone;
};

/* A scan and a volume as kernels see them. Offsets are 64-bit; single sizes fit 31 bits. */
struct geometry {
    int cone, curved, taps;
    int views, rows, channels;
    int image_rows, cols, slices;
    int tile_span; /* parallel: channels that hold the footprints of 8 x 8 pixels */
    int window_back, window_forward; /* host/geom/windows.h */
    int shift;                       /* positions count 2^-shift channels */
    float first_offset;              /* taps / 2 - 1 */
    double scale, furthest;          /* 2^shift, largest position */
    double first_centre;             /* middle of the detector, as a first channel of taps */
    float delta, shadow_row /* row pitch; 0 for translation scans */, pixel_area, inverse_cell;
    double fan_channels, inverse_fan_channels; /* from the source to the detector, in channels */
    float cell_tangent, inverse_d, dz;
    double rows_per_slice, slices_per_row; /* of a pixel with magnification 1 */
    double row_centre, highest_slice;      /* rows of a slice, at most, inside the mask */
    int tilted;                            /* multi-axis */
    const union view_pose *view;
};

struct projector {
    struct geometry g;
    int64_t serial;         /* tells it from one that was at the same address */
    union view_pose *views; /* device */
    struct workspace table;
};

/* The caller's pixels, indices in device memory. */
struct pixel_list {
    const int32_t *indices; /* NULL: all */
    int64_t count;
    int packed;
    int ascending; /* without repeats, for certain */
};

/* Views [view, view + views) of a projection. */
struct batch {
    int view, views;
};

/* The batch's lists, sorted by bin = first channel + taps: entries first[bin] to first[bin + 1] of
 * list. A bin of 0 or channels + taps misses the detector. */
struct bins {
    const int32_t *list;            /* [views][count] */
    const int32_t *first;           /* [views][bins + 1] */
    int bins;                       /* channels + taps + 1 */
    const struct cached_bins *kept; /* device: lists of all views, instead of the batch's */
};

/* Sorted lists of all views, kept over passes (sorted_pixels.cu). */
struct cached_bins {
    const int32_t *list, *first;
};

/* A number, or one that lies in device memory: a recorded launch reads what it is by then. */
struct scalar {
    float value;
    const float *at; /* NULL: value */
};

/* A finished sample d of the forward projection is handled in one of these ways. */
enum sink_mode { SINK_STORE, SINK_DOTS, SINK_UPDATE };
struct sample_sink {
    enum sink_mode mode;
    float *y;        /* STORE, and DOTS if not NULL: y = d; the batch's first view */
    float *e;        /* DOTS: <w e, d>, <w d, d>; UPDATE: e -= alpha d */
    const float *w;  /* NULL: ones */
    float *weighted; /* UPDATE: w e afterwards; NULL: not wanted */
    struct scalar alpha;
    double *partial; /* DOTS: [warps][2] */
};

static __device__ inline float scalar_value(const struct scalar &s)
{
    return s.at ? *s.at : s.value;
}

/* Scratch of a projection, carved from the workspace. */
struct projection_plan {
    int views; /* of a batch */
    int32_t *list, *first, *cursor;
    float *tile; /* [views][channels][rows], NULL when not wanted */
    int segments;
    int64_t segment; /* pixels */
};

struct geometry geometry_of(const struct scan *s, const struct volume *v);

/* Bytes of one view in a plan; of the plan for n views. */
struct plan_parts {
    size_t list, cursor, first, tile;
};
struct plan_parts plan_parts_of(const struct geometry *g, int64_t sorted, int tile);
size_t plan_bytes(const struct plan_parts *p, size_t n);

extern const struct device_cache pixel_lists_cache;
enum err list_put(struct cuda_backend *be, const struct pixel_set *pixels, struct pixel_list *out);
/* With room for the sorted lists of `sorted` pixels (-1: none) and, when `tile`, for a batch of the
 * sinogram. */
enum err plan_create(struct cuda_backend *be, const struct projector *p, int64_t sorted, int tile,
                     struct projection_plan *out);
enum err bins_fill(struct cuda_backend *be, const struct projector *p,
                   const struct projection_plan *plan, const struct pixel_list *pixels,
                   struct batch b, struct bins *out);
static inline int bins_of(const struct geometry *g)
{
    return g->channels + g->taps + 1;
}

/* Views of a batch: what the plan has room for, and what one launch may take. */
int views_at_once(const struct cuda_backend *be, const struct projector *p,
                  const struct projection_plan *plan, int64_t pixels);

/* Warps that gather_views launches for a batch. */
int64_t gather_warps(const struct projector *p, int views);
enum err gather_views(struct cuda_backend *be, const struct projector *p,
                      const struct pixel_list *pixels, const struct bins *bins, struct batch b,
                      const float *x, struct sample_sink sink);
/* y: the batch's first view. Adds to x, or sets it. */
enum err spread_views(struct cuda_backend *be, const struct projector *p,
                      const struct pixel_list *pixels, struct batch b, const float *y, int power,
                      int set, float *x);

/* out = y w with rows fastest, `views` planes from their first; NULLs are ones. */
enum err planes_load(struct cuda_backend *be, const struct projector *p, int views, const float *y,
                     const float *w, enum sino_order order, float *out);
/* Transposes planes of (rows, channels) to (channels, rows) or back. */
enum err planes_transpose(struct cuda_backend *be, const struct projector *p, int views,
                          enum sino_order from, const float *in, float *out);

#endif
