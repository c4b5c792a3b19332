/* The ramp filter in one kernel: a block takes two rows as one complex row into shared memory,
 * transforms it, multiplies by the spectrum and transforms back. Frequencies stay in the order in
 * which the forward transform leaves them, since the inverse takes the same steps backwards. Rows
 * are read and written by the first and the last step: 8 bytes of a sample pass memory. */
#include <stdlib.h>

#include "cuda/filter/filter.cuh"

#define THREADS_MOST 1024
#define TABLE        256 /* threads that fill the tables */
#define SHORTEST     64

struct ramp_plan {
    int64_t channels;
    int n;
    struct workspace tables; /* float2 [n] roots of 1, float [n] spectrum */
};

/* n = odd * 2^k: a step of `odd` (1: none) and one of 2 where k is odd come before those of 4. */
struct ramp_args {
    struct rows rows;
    int n, odd, odd_power;
    const float2 *roots; /* exp(-2 pi i k / n) */
    const float *spectrum;
};

static __device__ inline float2 complex_product(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

static __device__ inline float2 conjugate_if(int yes, float2 a)
{
    return make_float2(a.x, yes ? -a.y : a.y);
}

static __device__ inline float2 complex_add(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

static __device__ inline float2 complex_subtract(float2 a, float2 b)
{
    return make_float2(a.x - b.x, a.y - b.y);
}

/* v = its transform over R points. */
template <int R, int INVERSE>
static __device__ inline void ramp_butterfly(const struct ramp_args &a, float2 *v)
{
    if (R == 2) {
        const float2 first = v[0];
        v[0] = complex_add(first, v[1]);
        v[1] = complex_subtract(first, v[1]);
    } else if (R == 4) {
        const float2 p = complex_add(v[0], v[2]), q = complex_subtract(v[0], v[2]);
        const float2 r = complex_add(v[1], v[3]), s = complex_subtract(v[1], v[3]);
        const float2 turned = INVERSE ? make_float2(-s.y, s.x) : make_float2(s.y, -s.x);
        v[0] = complex_add(p, r);
        v[1] = complex_add(q, turned);
        v[2] = complex_subtract(p, r);
        v[3] = complex_subtract(q, turned);
    } else {
        float2 in[R];
        for (int j = 0; j < R; j++)
            in[j] = v[j];
        for (int k = 0; k < R; k++) {
            v[k] = in[0];
            for (int j = 1; j < R; j++)
                v[k] = complex_add(
                    v[k],
                    complex_product(in[j], conjugate_if(INVERSE, a.roots[j * k % R * (a.n / R)])));
        }
    }
}

/* Leaves one empty place after 16: threads that are 4 or 16 places apart use different banks. */
static __host__ __device__ inline int bank_padded(int i)
{
    return i + i / 16;
}

/* Does one step of radix R over pieces of `length` points: threads of a warp take neighbouring
 * points of a piece, or the same point of neighbouring pieces where pieces are short. Parts of a
 * piece are powers of 2 but in the outermost step, which has one piece. */
template <int R, int INVERSE, class LOAD, class STORE>
static __device__ inline void ramp_step(const struct ramp_args &a, int length, LOAD load,
                                        STORE store)
{
    const int part = length / R, pieces = a.n / length, shift = __ffs(part) - 1;
    for (int t = threadIdx.x; t < a.n / R; t += blockDim.x) {
        const int piece = pieces == 1 ? 0 : part >= 16 ? t >> shift : t % pieces;
        const int i = pieces == 1 ? t : part >= 16 ? t & (part - 1) : t / pieces;
        const int first = piece * length + i;
        float2 v[R];
        for (int j = 0; j < R; j++) {
            v[j] = load(first + j * part);
            if (INVERSE && j)
                v[j] = complex_product(v[j], conjugate_if(1, a.roots[i * j * pieces]));
        }
        ramp_butterfly<R, INVERSE>(a, v);
        for (int j = 0; j < R; j++)
            store(first + j * part,
                  INVERSE || !j ? v[j] : complex_product(v[j], a.roots[i * j * pieces]));
    }
    __syncthreads();
}

template <int INVERSE, class LOAD, class STORE>
static __device__ inline void outer_step(const struct ramp_args &a, LOAD load, STORE store)
{
    if (a.odd == 3)
        ramp_step<3, INVERSE>(a, a.n, load, store);
    else if (a.odd == 5)
        ramp_step<5, INVERSE>(a, a.n, load, store);
    else if (a.odd_power)
        ramp_step<2, INVERSE>(a, a.n, load, store);
    else
        ramp_step<4, INVERSE>(a, a.n, load, store);
}

/* The last step forward, which leaves frequencies, and the first one back. */
template <class LOAD, class STORE>
static __device__ inline void middle_step(const struct ramp_args &a, LOAD load, STORE store)
{
    for (int t = threadIdx.x; t < a.n / 4; t += blockDim.x) {
        float2 v[4];
        for (int j = 0; j < 4; j++)
            v[j] = load(4 * t + j);
        ramp_butterfly<4, 0>(a, v);
        for (int j = 0; j < 4; j++) {
            const float h = a.spectrum[4 * t + j];
            v[j] = make_float2(h * v[j].x, h * v[j].y);
        }
        ramp_butterfly<4, 1>(a, v);
        for (int j = 0; j < 4; j++)
            store(4 * t + j, v[j]);
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(THREADS_MOST)
    ramp_kernel(const __grid_constant__ struct ramp_args a)
{
    SHARED_ARRAY(float2, z);
    const int64_t row = pair_row(a.rows, blockIdx.x);
    auto read = [&](int i) { return sample_pair(a.rows, row, i); };
    auto write = [&](int i, float2 v) { store_pair(a.rows, row, i, v); };
    auto load = [&](int i) { return z[bank_padded(i)]; };
    auto store = [&](int i, float2 v) { z[bank_padded(i)] = v; };

    const int second = a.odd > 1 && a.odd_power; /* a step of 2 after the odd one */
    const int outer = a.odd > 1 ? a.odd : a.odd_power ? 2 : 4;
    const int fours = a.n / outer / (second ? 2 : 1);
    outer_step<0>(a, read, store);
    if (second)
        ramp_step<2, 0>(a, 2 * fours, load, store);
    for (int length = fours; length > 4; length /= 4)
        ramp_step<4, 0>(a, length, load, store);
    middle_step(a, load, store);
    for (int length = 16; length <= fours; length *= 4)
        ramp_step<4, 1>(a, length, load, store);
    if (second)
        ramp_step<2, 1>(a, 2 * fours, load, store);
    outer_step<1>(a, load, write);
}

/* The frequency at place p after the steps forward. */
static __device__ inline int frequency_at(const struct ramp_args &a, int p)
{
    int frequency = 0, weight = 1, length = a.n;
    while (length > 1) {
        const int radix = weight == 1 && a.odd > 1 ? a.odd : a.odd_power && weight <= a.odd ? 2 : 4;
        length /= radix;
        frequency += weight * (p / length);
        weight *= radix;
        p %= length;
    }
    return frequency;
}

static __global__ void __launch_bounds__(TABLE)
    table_kernel(const struct ramp_args a, float2 *roots, float *spectrum)
{
    const int k = (int)(blockIdx.x * TABLE + threadIdx.x);
    if (k >= a.n)
        return;
    const double angle = 2 * M_PI * (double)k / (double)a.n;
    roots[k] = make_float2((float)cos(angle), (float)-sin(angle));
    spectrum[k] = ramp_spectrum(frequency_at(a, k), a.rows.channels, a.n);
}

/* The shortest of 2^k, 3 * 2^k and 5 * 2^k that holds a row and its tail. */
static void choose_length(struct ramp_args *a)
{
    const int64_t least_length = size_max(2 * (int64_t)a->rows.channels - 1, SHORTEST);
    int64_t best = INT64_MAX;
    for (int odd = 1; odd <= 5; odd += 2) {
        int power = 4;
        while (((int64_t)odd << power) < least_length)
            power++;
        if ((int64_t)odd << power < best) {
            best = (int64_t)odd << power;
            a->odd = odd;
            a->odd_power = power % 2;
        }
    }
    a->n = (int)size_min(best, INT32_MAX);
}

static enum err ramp_prepare(struct cuda_backend *be, struct ramp_args *a, struct ramp_plan *p)
{
    const size_t n = (size_t)a->n;
    p->channels = 0; /* what is kept is lost */
    TRY(workspace_hold(be, "the ramp's spectrum", n * (sizeof(float2) + sizeof(float)),
                       &p->tables));
    float2 *const roots = static_cast<float2 *>(p->tables.ptr);
    LAUNCH(be, table_kernel, ceil_div(a->n, TABLE), TABLE, 0, *a, roots,
           reinterpret_cast<float *>(roots + n));
    p->channels = a->rows.channels;
    p->n = a->n;
    return ERR_OK;
}

static enum err ramp_filter(struct cuda_backend *be, struct ramp_args *a, size_t shared,
                            struct ramp_plan **plan)
{
    const int threads = (int)size_min(ceil_div(a->n, 4 * WARP) * WARP, THREADS_MOST);
    if (!*plan)
        *plan = static_cast<struct ramp_plan *>(calloc(1, sizeof **plan));
    struct ramp_plan *const p = *plan;
    FAIL_IF(!p, ERR_MEMORY, "no memory for a plan of the filter");
    if (p->channels != a->rows.channels || p->n != a->n)
        TRY(ramp_prepare(be, a, p));
    a->roots = static_cast<const float2 *>(p->tables.ptr);
    a->spectrum = reinterpret_cast<const float *>(a->roots + a->n);
    TRY_CUDA(
        cudaFuncSetAttribute(ramp_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared),
        "preparing the filter");
    LAUNCH(be, ramp_kernel, a->rows.pairs, threads, shared, *a);
    return ERR_OK;
}

size_t ramp_bytes(const struct cuda_backend *be, int64_t channels)
{
    struct ramp_args a = {};
    a.rows.channels = (int)channels;
    choose_length(&a);
    const size_t n = (size_t)a.n;
    return n > (1 << 20) || (size_t)bank_padded(a.n) * sizeof(float2) > be->shared_most
               ? 0
               : n * (sizeof(float2) + sizeof(float));
}

int ramp_rows(struct cuda_backend *be, const struct rows *r, struct ramp_plan **plan, enum err *e)
{
    struct ramp_args a = {};
    a.rows = *r;
    choose_length(&a);
    if (!ramp_bytes(be, r->channels))
        return 0;
    const size_t shared = (size_t)bank_padded(a.n) * sizeof(float2);
    *e = ramp_filter(be, &a, shared, plan);
    return 1;
}

static void free_plan(struct cuda_backend *be)
{
    if (be->ramp)
        workspace_drop(be, &be->ramp->tables);
    free(be->ramp);
    be->ramp = NULL;
}

const struct device_cache ramp_plan_cache = {free_plan, 1, NULL, NULL};
