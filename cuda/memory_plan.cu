/* Bounds the memory of each call: the sizes of bins.cu's plan and filter.cu's transforms, written
 * so that a smaller problem never counts more. */
#include "cuda/filter/fft.cuh"
#include "cuda/filter/filter.cuh"
#include "cuda/streams.cuh"
#include "cuda/common/projection.cuh"
#include "cuda/common/reduce.cuh"

/* n rounds of `each` bytes in batches: all of them, or what the budget holds, or one. */
static size_t plan_batches(double n, double each, double budget)
{
    return (size_t)fmax(each, fmin(budget, n * each));
}

/* Adds up the parts of bins.cu's plan. */
static size_t plan_scratch(const struct geometry *g, int64_t sorted, double budget)
{
    const struct plan_parts parts = plan_parts_of(g, sorted, 1);
    const size_t n = (size_t)g->views, each = parts.list + parts.cursor + parts.first + parts.tile;
    if ((double)n * (double)each <= budget)
        return plan_bytes(&parts, n);
    return plan_bytes(&parts, 1) + plan_batches((double)n, (double)each, budget);
}

static struct call_memory of_projection(const struct scan *s, const struct volume *v,
                                        int64_t pixels, int sorted)
{
    const struct geometry g = geometry_of(s, v);
    const double samples = (double)s->views * (double)s->rows * (double)s->channels;
    const double voxels = sorted ? (double)pixels * (double)v->slices : 0;
    struct call_memory m = {(size_t)s->views * sizeof(union view_pose), 0};
    m.kept += v->ror == ROR_NONE ? 0 : (size_t)pixels * sizeof(int32_t);
    m.shared =
        plan_scratch(&g, sorted ? pixels : -1, fmax(SCRATCH_LEAST, 4.0 * (samples + voxels) / 10));
    return m;
}

/* Counts one kernel, or transforms and cuFFT's work area (no more than the data, at lengths of
 * small primes). */
static struct call_memory of_filter(const struct cuda_backend *be, const struct scan *s)
{
    const size_t tables = ramp_bytes(be, s->channels);
    const double rows = (double)s->views * (double)s->rows, channels = (double)s->channels;
    const double pairs = ceil(0.5 * (double)s->views) * (double)s->rows;
    const double n = (double)fft_length(2 * s->channels - 1);
    const size_t data =
        plan_batches(pairs, 8.0 * n, fmax(SCRATCH_LEAST, 4.0 * rows * channels / 10));
    const struct call_memory one = {tables, 0}, two = {data + (size_t)(4.0 * n), data};
    return tables && !wants_cufft() ? one : two;
}

struct call_memory memory_of_call(const struct backend *be, enum backend_call call,
                                  const struct scan *s, const struct volume *v, int64_t pixels)
{
    const struct call_memory nothing = {0, 0};
    switch (call) {
    case CALL_FORWARD:
        return of_projection(s, v, pixels, 1);
    case CALL_BACK:
        return of_projection(s, v, pixels, 0);
    case CALL_FILTER:
        return of_filter(reinterpret_cast<const struct cuda_backend *>(be), s);
    case CALL_SLICES:
        return call_memory{0, (size_t)v->slices * sizeof(float)};
    case CALL_SUMS:
        return call_memory{reduce_bytes(size_max(scan_samples(s), volume_voxels(v))), 0};
    case CALL_MEDIAN:
        break;
    }
    return nothing;
}
