/* Removal of stripes by sorting, as host/cpu/prepare/stripes.c explains: the columns of some
 * detector rows are sorted side by side (bitonic, a pass for each step), then a thread finds the
 * median of one rank around one channel. */
#include "cuda/prepare/prepare.cuh"

#define ROOM ((size_t)128 << 20)

struct stripe_ranks {
    const float *in; /* (views, rows, channels) */
    float *out;
    int64_t views, rows, channels;
    int64_t first, count; /* detector rows from `first` on */
    int64_t padded;       /* views, to a power of two */
    int64_t half;         /* of the median's channels */
    uint64_t *keys;       /* [padded][count][channels]: the value, then its view */
};

/* Ascending as the values are; the lower half is the view, so that equal values keep their order.
 * Zeros are alike. */
static __device__ inline uint64_t stripe_key(float x, int64_t view)
{
    const float y = x == 0 ? 0.0f : x;
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (uint64_t)bits << 32 | (uint32_t)view;
}

static __device__ inline float stripe_value(uint64_t key)
{
    uint32_t bits = (uint32_t)(key >> 32);
    float x;
    bits = bits & 0x80000000u ? bits & 0x7fffffffu : ~bits;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static __global__ void __launch_bounds__(PREPARE_THREADS)
    stripes_fill_kernel(const __grid_constant__ struct stripe_ranks p)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    const int64_t columns = p.count * p.channels;
    if (i >= p.padded * columns)
        return;
    const int64_t v = i / columns, column = i - v * columns;
    p.keys[i] = v < p.views ? stripe_key(p.in[(v * p.rows + p.first) * p.channels + column], v)
                            : ~(uint64_t)0;
}

/* Does one step of the network: pairs `apart` in runs of `run`. */
static __global__ void __launch_bounds__(PREPARE_THREADS)
    stripes_sort_kernel(const __grid_constant__ struct stripe_ranks p, int64_t run, int64_t apart)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    const int64_t columns = p.count * p.channels;
    if (i >= p.padded / 2 * columns)
        return;
    const int64_t pair = i / columns, column = i - pair * columns;
    const int64_t low = (pair & ~(apart - 1)) * 2 + (pair & (apart - 1));
    uint64_t *const a = p.keys + low * columns + column, *const b = a + apart * columns;
    const uint64_t x = *a, y = *b;
    if ((x > y) == !(low & run)) {
        *a = y;
        *b = x;
    }
}

/* d c b a | a b c d | d c b a, as often as needed. */
static __device__ inline int64_t window_reflect(int64_t i, int64_t n)
{
    const int64_t turn = ((i % (2 * n)) + 2 * n) % (2 * n);
    return turn < n ? turn : 2 * n - 1 - turn;
}

static __global__ void __launch_bounds__(PREPARE_THREADS)
    stripes_median_kernel(const __grid_constant__ struct stripe_ranks p)
{
    const int64_t i = (int64_t)blockIdx.x * PREPARE_THREADS + threadIdx.x;
    const int64_t columns = p.count * p.channels;
    if (i >= p.views * columns)
        return;
    const int64_t column = i % columns, row = column / p.channels, c = column - row * p.channels;
    const uint64_t *line = p.keys + (i - c); /* this rank in the row */
    float median = 0;
    for (int64_t k = -p.half; k <= p.half; k++) {
        const float x = stripe_value(line[window_reflect(c + k, p.channels)]);
        int64_t less = 0, most = 0;
        for (int64_t j = -p.half; j <= p.half; j++) {
            const float y = stripe_value(line[window_reflect(c + j, p.channels)]);
            less += y < x;
            most += y <= x;
        }
        if (less <= p.half && most > p.half)
            median = x;
    }
    const int64_t view = (int64_t)(uint32_t)p.keys[i];
    p.out[(view * p.rows + p.first + row) * p.channels + c] = median;
}

static enum err stripes_some_rows(struct cuda_backend *be, const struct stripe_ranks *p)
{
    const int64_t columns = p->count * p->channels;
    const int64_t pairs = ceil_div(p->padded / 2 * columns, PREPARE_THREADS);
    LAUNCH(be, stripes_fill_kernel, ceil_div(p->padded * columns, PREPARE_THREADS), PREPARE_THREADS,
           0, *p);
    for (int64_t run = 2; run <= p->padded; run *= 2)
        for (int64_t apart = run / 2; apart > 0; apart /= 2)
            LAUNCH(be, stripes_sort_kernel, pairs, PREPARE_THREADS, 0, *p, run, apart);
    LAUNCH(be, stripes_median_kernel, ceil_div(p->views * columns, PREPARE_THREADS),
           PREPARE_THREADS, 0, *p);
    return ERR_OK;
}

enum err cuda_remove_stripes(struct backend *base, const struct scan *s, int64_t size,
                             const struct buffer *y, struct buffer *out)
{
    struct cuda_backend *be = device_of(base);
    struct stripe_ranks p = {};
    FAIL_IF(size < 1 || size % 2 == 0, ERR_USAGE, "a median of %lld channels: must be odd",
            (long long)size);
    p.in = floats_of(y);
    p.out = floats_of(out);
    p.views = s->views;
    p.rows = s->rows;
    p.channels = s->channels;
    p.half = size / 2;
    for (p.padded = 1; p.padded < p.views;)
        p.padded *= 2;
    const size_t one = (size_t)(p.padded * p.channels) * sizeof(uint64_t);
    const int64_t together = size_max(1, size_min(p.rows, (int64_t)(ROOM / one)));
    TRY(workspace_hold(be, "removal of stripes", one * (size_t)together, &be->scratch));
    p.keys = static_cast<uint64_t *>(be->scratch.ptr);
    mark_push("remove_stripes", y->bytes);
    enum err e = ERR_OK;
    for (; p.first < p.rows && !e; p.first += together) {
        p.count = size_min(together, p.rows - p.first);
        e = stripes_some_rows(be, &p);
    }
    mark_pop();
    const double bytes = (double)(y->bytes + out->bytes);
    backend_declare(base, 0, bytes, 8 * bytes);
    return e;
}
