/* Sorting of pixels by the first channel that they touch, view by view: a stable counting sort. The
 * list is cut into segments; a warp takes the pixels of one segment in order, 32 at a time, and
 * lanes with equal bins take ranks in the order of lanes. So a bin lists its pixels in the order of
 * the caller's list, always. */
#include "cuda/common/footprint.cuh"

#define SEGMENTS      64  /* at most: cursors of a view take SEGMENTS * bins * 4 bytes */
#define SEGMENT_LEAST 512 /* pixels */
#define SCAN_THREADS  128

struct sort {
    struct geometry g;
    struct pixel_list pixels;
    struct batch batch;
    int bins, segments;
    int64_t segment;
    int32_t *cursor; /* [views][segments][bins] */
    int32_t *first;  /* [views][bins + 1] */
    int32_t *list;   /* [views][count] */
};

static __device__ inline int sort_bin(const struct sort &s, int view, int64_t q)
{
    const int pixel = s.pixels.indices ? s.pixels.indices[q] : (int)q;
    struct fan_gain fan;
    const struct footprint f = s.g.cone ? cone_footprint_of(s.g, view, pixel, &fan)
                                        : parallel_footprint_of(s.g, view, pixel);
    return f.start + s.g.taps;
}

/* Counts (place = 0) or places the pixels of one segment in one view; a warp each. */
static __global__ void __launch_bounds__(WARP) segment_kernel(struct sort s, int place)
{
    const int lane = threadIdx.x, view = blockIdx.x / s.segments;
    const int64_t begin = (int64_t)(blockIdx.x % s.segments) * s.segment;
    const int64_t end = begin + s.segment < s.pixels.count ? begin + s.segment : s.pixels.count;
    volatile int32_t *cursor = s.cursor + (int64_t)blockIdx.x * s.bins;
    int32_t *list = s.list + (int64_t)view * s.pixels.count;
    for (int64_t at = begin; at < end; at += WARP) {
        const int64_t q = at + lane;
        const int bin = q < end ? sort_bin(s, s.batch.view + view, q) : -1;
        const unsigned same = __match_any_sync(ALL_LANES, bin);
        const int rank = __popc(same & ((1u << lane) - 1));
        const int32_t next = bin >= 0 ? cursor[bin] : 0;
        __syncwarp();
        if (bin >= 0 && rank == 0)
            cursor[bin] = next + __popc(same);
        if (place && bin >= 0)
            list[next + rank] = (int32_t)q;
        __syncwarp();
    }
}

/* Sum of the lanes up to this one. */
static __device__ inline int32_t warp_scan(int32_t value)
{
    const int lane = threadIdx.x % WARP;
    for (int step = 1; step < WARP; step *= 2) {
        const int32_t before = __shfl_up_sync(ALL_LANES, value, step);
        value += lane >= step ? before : 0;
    }
    return value;
}

/* Counts -> where each segment's pixels of a bin begin; a block per view. */
static __global__ void __launch_bounds__(SCAN_THREADS) scan_kernel(struct sort s)
{
    SHARED_ARRAY(int32_t, sums); /* of the warps */
    const int warp = threadIdx.x / WARP;
    int32_t *cursor = s.cursor + (int64_t)blockIdx.x * s.segments * s.bins;
    int32_t *first = s.first + (int64_t)blockIdx.x * (s.bins + 1);
    int32_t carry = 0;
    for (int base = 0; base < s.bins; base += SCAN_THREADS) {
        const int bin = base + threadIdx.x;
        int32_t total = 0;
        for (int i = 0; i < s.segments && bin < s.bins; i++)
            total += cursor[(int64_t)i * s.bins + bin];
        const int32_t inclusive = warp_scan(total);
        if (threadIdx.x % WARP == WARP - 1)
            sums[warp] = inclusive;
        __syncthreads();
        int32_t at = carry + inclusive - total;
        for (int w = 0; w < SCAN_THREADS / WARP; w++) {
            at += w < warp ? sums[w] : 0;
            carry += sums[w];
        }
        __syncthreads();
        if (bin < s.bins)
            first[bin] = at;
        for (int i = 0; i < s.segments && bin < s.bins; i++) {
            const int32_t n = cursor[(int64_t)i * s.bins + bin];
            cursor[(int64_t)i * s.bins + bin] = at;
            at += n;
        }
    }
    if (threadIdx.x == 0)
        first[s.bins] = carry;
}

enum err bins_fill(struct cuda_backend *be, const struct projector *p,
                   const struct projection_plan *plan, const struct pixel_list *pixels,
                   struct batch b, struct bins *out)
{
    struct sort s = {};
    s.g = p->g;
    s.pixels = *pixels;
    s.batch = b;
    s.bins = bins_of(&p->g);
    s.segments = plan->segments;
    s.segment = plan->segment;
    s.cursor = plan->cursor;
    s.first = plan->first;
    s.list = plan->list;
    const int64_t warps = (int64_t)b.views * s.segments;
    TRY_CUDA(cudaMemsetAsync(s.cursor, 0, (size_t)(warps * s.bins) * sizeof *s.cursor, be->stream),
             "sorting pixels");
    LAUNCH(be, segment_kernel, warps, WARP, 0, s, 0);
    LAUNCH(be, scan_kernel, b.views, SCAN_THREADS, SCAN_THREADS / WARP * sizeof(int32_t), s);
    LAUNCH(be, segment_kernel, warps, WARP, 0, s, 1);
    *out = bins{s.list, s.first, s.bins, NULL};
    return ERR_OK;
}

static size_t bins_align(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Allows a tenth of volume and sinogram, at least 64 MiB, and one view in any case. */
static size_t bins_budget(const struct geometry *g, int64_t pixels)
{
    const double floats = (double)g->views * (double)g->rows * (double)g->channels +
                          (double)pixels * (double)g->slices;
    const size_t tenth = (size_t)(floats * sizeof(float) / 10);
    return tenth > SCRATCH_LEAST ? tenth : SCRATCH_LEAST;
}

static int segments_of(int64_t sorted)
{
    return (int)size_max(1, size_min(SEGMENTS, ceil_div(sorted, SEGMENT_LEAST)));
}

struct plan_parts plan_parts_of(const struct geometry *g, int64_t sorted, int tile)
{
    const int64_t bins = bins_of(g);
    struct plan_parts p = {0, 0, 0, 0};
    if (sorted >= 0) {
        p.list = (size_t)sorted * sizeof(int32_t);
        p.cursor = (size_t)(segments_of(sorted) * bins) * sizeof(int32_t);
        p.first = (size_t)(bins + 1) * sizeof(int32_t);
    }
    p.tile = tile ? (size_t)g->rows * (size_t)g->channels * sizeof(float) : 0;
    return p;
}

size_t plan_bytes(const struct plan_parts *p, size_t n)
{
    return bins_align(n * p->list) + bins_align(n * p->cursor) + bins_align(n * p->first) +
           bins_align(n * p->tile);
}

enum err plan_create(struct cuda_backend *be, const struct projector *p, int64_t sorted, int tile,
                     struct projection_plan *out)
{
    const struct geometry *g = &p->g;
    const struct plan_parts parts = plan_parts_of(g, sorted, tile);
    const size_t each = parts.list + parts.cursor + parts.first + parts.tile;
    out->segments = segments_of(sorted);
    out->segment = size_max(1, ceil_div(sorted, out->segments));
    out->views = (int)size_max(
        1, size_min(g->views, each ? (int64_t)(bins_budget(g, sorted) / each) : g->views));
    const size_t n = (size_t)out->views;
    TRY(workspace_hold(be, "scratch of a projection", plan_bytes(&parts, n), &be->scratch));
    char *at = static_cast<char *>(be->scratch.ptr);
    out->list = reinterpret_cast<int32_t *>(at);
    at += bins_align(n * parts.list);
    out->cursor = reinterpret_cast<int32_t *>(at);
    at += bins_align(n * parts.cursor);
    out->first = reinterpret_cast<int32_t *>(at);
    at += bins_align(n * parts.first);
    out->tile = tile ? reinterpret_cast<float *>(at) : NULL;
    return ERR_OK;
}
