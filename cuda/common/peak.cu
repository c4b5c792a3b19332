/* The ceilings of this GPU: how often its units can do the one thing that each probe does. Texture
 * units have none: no kernel uses them. */
#include <time.h>

#include "cuda/common/elementwise.cuh"

#define THREADS 256
#define CHAINS  8  /* independent results of a thread, which hide the latency of one */
#ifndef FMA        /* the emulator computes a small part of it (tests/device/CMakeLists.txt) */
#define FMA   4096 /* steps of each chain: multiply-add */
#define STEPS 512  /* of the others */
#endif
#define WINDOW  1024 /* floats that a block reads again and again, from L1 or shared memory */
#define VECTORS 4    /* loads of 16 bytes in flight, from L2 */
#define REPEATS 5    /* the best counts */
#define COPY    ((size_t)512 << 20)
#define BLOCKS  16 /* per multiprocessor */
#define STARTS  32 /* launches in a row */
#define DOING   "being calibrated"

/* Never true, which the compiler cannot know: the chains are computed. */
static __device__ inline void chains_store(const float (&x)[CHAINS], float *out)
{
    float sum = 0;
    for (int i = 0; i < CHAINS; i++)
        sum += x[i];
    if (sum == -1.f)
        out[threadIdx.x] = sum;
}

static __device__ inline void begin_chains(float (&x)[CHAINS])
{
    for (int i = 0; i < CHAINS; i++)
        x[i] = (float)(threadIdx.x + i + 1);
}

static __global__ void __launch_bounds__(THREADS)
    multiply_add_kernel(int steps, float a, float *out)
{
    float x[CHAINS];
    begin_chains(x);
    for (int s = 0; s < steps; s++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = x[i] * a + a;
    chains_store(x, out);
}

static __global__ void __launch_bounds__(THREADS) min_max_kernel(int steps, float *out)
{
    float x[CHAINS];
    begin_chains(x);
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < CHAINS; i++)
            x[i] = fminf(x[i], x[(i + 1) % CHAINS]);
        for (int i = 0; i < CHAINS; i++)
            x[i] = fmaxf(x[i], x[(i + 3) % CHAINS]);
    }
    chains_store(x, out);
}

static __global__ void __launch_bounds__(THREADS) logic_kernel(int steps, int a, float *out)
{
    int x[CHAINS];
    float sums[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = (int)threadIdx.x + i;
    for (int s = 0; s < steps; s++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = (x[i] & a) ^ x[(i + 1) % CHAINS];
    for (int i = 0; i < CHAINS; i++)
        sums[i] = (float)x[i];
    chains_store(sums, out);
}

static __global__ void __launch_bounds__(THREADS) rsqrt_kernel(int steps, float *out)
{
    float x[CHAINS];
    begin_chains(x);
    for (int s = 0; s < steps; s++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = rsqrt_approx(x[i]);
    chains_store(x, out);
}

static __global__ void __launch_bounds__(THREADS)
    stream_kernel(const float4 *from, float4 *to, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        to[i] = from[i];
}

/* All blocks over the same `mask` + 1 vectors, past L1. */
static __global__ void __launch_bounds__(THREADS)
    l2_kernel(const float4 *from, int64_t mask, int steps, float *out)
{
    const int64_t stride = (int64_t)gridDim.x * THREADS;
    int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    float x[CHAINS] = {};
    for (int s = 0; s < steps; s++)
        for (int i = 0; i < VECTORS; i++, at += stride) {
            const float4 v = __ldcg(&from[at & mask]);
            x[i] += v.x + v.y;
            x[i + VECTORS] += v.z + v.w;
        }
    chains_store(x, out);
}

/* Lanes read neighbours; the first of the CHAINS loads is in the window's first half. */
static __device__ inline void read_window(const float *window, int steps, float *out)
{
    float x[CHAINS] = {};
    for (int s = 0; s < steps; s++) {
        const float *first = window + ((threadIdx.x + WARP * (unsigned)s) & (WINDOW / 2 - 1));
        for (int i = 0; i < CHAINS; i++)
            x[i] += first[i * (WINDOW / 2 / CHAINS)];
    }
    chains_store(x, out);
}

static __global__ void __launch_bounds__(THREADS)
    l1_kernel(const float *from, int steps, float *out)
{
    read_window(from + (size_t)(blockIdx.x % BLOCKS) * WINDOW, steps, out);
}

static __global__ void __launch_bounds__(THREADS)
    shared_kernel(const float *from, int steps, float *out)
{
    SHARED_ARRAY(float, window);
    for (int i = (int)threadIdx.x; i < WINDOW; i += THREADS)
        window[i] = from[i];
    __syncthreads();
    read_window(window, steps, out);
}

static __global__ void __launch_bounds__(WARP) empty_kernel(float *out)
{
    if (blockIdx.x)
        out[threadIdx.x] = 0;
}

struct bench {
    struct cuda_backend *be;
    int64_t blocks, vectors, mask;
    float *from, *to;
    cudaEvent_t begin, end;
    cudaGraphExec_t graph; /* STARTS launches */
};

static enum err bench_arithmetic(const struct bench *b)
{
    LAUNCH(b->be, multiply_add_kernel, b->blocks, THREADS, 0, FMA, 0.5f, b->to);
    return ERR_OK;
}

static enum err bench_stream(const struct bench *b)
{
    LAUNCH(b->be, stream_kernel, ceil_div(b->vectors, THREADS), THREADS, 0,
           reinterpret_cast<const float4 *>(b->from), reinterpret_cast<float4 *>(b->to),
           b->vectors);
    return ERR_OK;
}

static enum err read_l2(const struct bench *b)
{
    LAUNCH(b->be, l2_kernel, b->blocks, THREADS, 0, reinterpret_cast<const float4 *>(b->from),
           b->mask, STEPS, b->to);
    return ERR_OK;
}

static enum err read_l1(const struct bench *b)
{
    LAUNCH(b->be, l1_kernel, b->blocks, THREADS, 0, b->from, STEPS, b->to);
    return ERR_OK;
}

static enum err read_shared(const struct bench *b)
{
    LAUNCH(b->be, shared_kernel, b->blocks, THREADS, WINDOW * sizeof(float), b->from, STEPS, b->to);
    return ERR_OK;
}

static enum err min_max(const struct bench *b)
{
    LAUNCH(b->be, min_max_kernel, b->blocks, THREADS, 0, STEPS, b->to);
    return ERR_OK;
}

static enum err bench_logic(const struct bench *b)
{
    LAUNCH(b->be, logic_kernel, b->blocks, THREADS, 0, STEPS, 0x55555555, b->to);
    return ERR_OK;
}

static enum err bench_root(const struct bench *b)
{
    LAUNCH(b->be, rsqrt_kernel, b->blocks, THREADS, 0, STEPS, b->to);
    return ERR_OK;
}

static enum err bench_starts(const struct bench *b)
{
    for (int i = 0; i < STARTS; i++)
        LAUNCH(b->be, empty_kernel, 1, WARP, 0, b->to);
    return ERR_OK;
}

static enum err graph_starts(const struct bench *b)
{
    TRY_CUDA(cudaGraphLaunch(b->graph, b->be->stream), DOING);
    return ERR_OK;
}

/* Rates: `amount` by each thread of all blocks, or `samples` bytes per float that is copied.
 * Latencies: one of `starts`. */
static const struct peak_probe {
    const char *name;
    enum err (*once)(const struct bench *b);
    double per_thread, per_vector, starts;
} probes[] = {
    {"flops_per_s", bench_arithmetic, 2.0 * CHAINS *FMA, 0, 0},
    {"memory_bytes_per_s", bench_stream, 0, 2 * sizeof(float4), 0},
    {"l2_bytes_per_s", read_l2, (double)STEPS *VECTORS * sizeof(float4), 0, 0},
    {"l1_loads_per_s", read_l1, (double)STEPS *CHAINS, 0, 0},
    {"shared_loads_per_s", read_shared, (double)STEPS *CHAINS, 0, 0},
    {"min_max_per_s", min_max, 2.0 * STEPS *CHAINS, 0, 0},
    {"logic_per_s", bench_logic, (double)STEPS *CHAINS, 0, 0},
    {"rsqrt_per_s", bench_root, (double)STEPS *CHAINS, 0, 0},
    {"launch_s", bench_starts, 0, 0, STARTS},
    {"graph_launch_s", graph_starts, 0, 0, STARTS},
};
enum { PROBES = sizeof probes / sizeof *probes, PROBE_FLOPS = 0, PROBE_COPY = 1 };

/* The shortest of REPEATS + 1; the first warms up. */
static enum err bench_best(const struct bench *b, const struct peak_probe *p, double *out)
{
    double seconds = HUGE_VAL;
    for (int i = 0; i <= REPEATS; i++) {
        float ms = 0;
        TRY_CUDA(cudaEventRecord(b->begin, b->be->stream), DOING);
        TRY(p->once(b));
        TRY_CUDA(cudaEventRecord(b->end, b->be->stream), DOING);
        TRY_CUDA(cudaEventSynchronize(b->end), DOING);
        TRY_CUDA(cudaEventElapsedTime(&ms, b->begin, b->end), DOING);
        if (i > 0 && ms > 0)
            seconds = fmin(seconds, 1e-3 * (double)ms);
    }
    const double amount =
        p->per_thread * (double)b->blocks * THREADS + p->per_vector * (double)b->vectors;
    *out = p->starts > 0 ? seconds / p->starts : amount / seconds;
    return ERR_OK;
}

static void bench_end(struct bench *b, size_t bytes)
{
    if (b->graph)
        let_pass(cudaGraphExecDestroy(b->graph));
    if (b->begin)
        let_pass(cudaEventDestroy(b->begin));
    if (b->end)
        let_pass(cudaEventDestroy(b->end));
    device_free(b->be, b->from, bytes);
    device_free(b->be, b->to, bytes);
    mark_pop();
}

/* Finds the largest power of two of vectors that fits a quarter of L2 and the array. */
static enum err bench_find_window(struct bench *b)
{
    struct cudaDeviceProp properties;
    TRY_CUDA(cudaGetDeviceProperties(&properties, 0), DOING);
    const int64_t room =
        size_min(b->vectors, (int64_t)((size_t)properties.l2CacheSize / 4 / sizeof(float4)));
    int64_t n = 1;
    while (2 * n <= room)
        n *= 2;
    b->mask = n - 1;
    return ERR_OK;
}

/* To be ended by bench_end, failed or not. */
static enum err bench_begin(struct bench *b, size_t *bytes)
{
    size_t free_bytes = 0, total = 0;
    mark_push("measure_peak", 0);
    TRY_CUDA(cudaMemGetInfo(&free_bytes, &total), DOING);
    *bytes = COPY < free_bytes / 32 ? COPY : free_bytes / 32 / 256 * 256;
    b->blocks = (int64_t)BLOCKS * b->be->multiprocessors;
    b->vectors = (int64_t)(*bytes / sizeof(float4));
    TRY(device_alloc(b->be, "calibration of the copy bandwidth", *bytes, (void **)&b->from));
    TRY(device_alloc(b->be, "calibration of the copy bandwidth", *bytes, (void **)&b->to));
    TRY_CUDA(cudaEventCreate(&b->begin), DOING);
    TRY_CUDA(cudaEventCreate(&b->end), DOING);
    TRY_CUDA(cudaMemsetAsync(b->from, 0, *bytes, b->be->stream), DOING);
    return bench_find_window(b);
}

static enum err record_starts(struct bench *b)
{
    cudaGraph_t recorded = NULL;
    TRY(bench_starts(b)); /* drivers before CUDA 12.3 load no kernel while a stream records */
    TRY_CUDA(cudaStreamBeginCapture(b->be->stream, cudaStreamCaptureModeThreadLocal), DOING);
    const enum err e = bench_starts(b);
    const cudaError_t ended = cudaStreamEndCapture(b->be->stream, &recorded);
    const cudaError_t made = e || ended ? ended : cudaGraphInstantiate(&b->graph, recorded, 0);
    if (recorded)
        let_pass(cudaGraphDestroy(recorded));
    TRY(e);
    TRY_CUDA(made, DOING);
    return ERR_OK;
}

/* From the host's call until the host knows that it is done. */
static enum err round_trip(const struct bench *b, double *out)
{
    *out = HUGE_VAL;
    for (int i = 0; i < STARTS; i++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        LAUNCH(b->be, empty_kernel, 1, WARP, 0, b->to);
        TRY(cuda_sync(&b->be->base));
        clock_gettime(CLOCK_MONOTONIC, &to);
        *out = fmin(*out,
                    (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
    }
    return ERR_OK;
}

enum err cuda_measure_peak(struct backend *base, struct peak *out)
{
    struct bench b = {};
    size_t bytes = 0;
    b.be = device_of(base);
    enum err e = bench_begin(&b, &bytes);
    if (!e)
        e = bench_best(&b, &probes[PROBE_FLOPS], &out->flops_per_s);
    if (!e)
        e = bench_best(&b, &probes[PROBE_COPY], &out->bytes_per_s);
    bench_end(&b, bytes);
    return e;
}

enum err cuda_measure_ceilings(struct backend *base, struct ceiling out[CEILINGS_MOST], int *count)
{
    static_assert(PROBES + 2 <= CEILINGS_MOST, "one more than there is room for");
    struct bench b = {};
    size_t bytes = 0;
    *count = 0;
    b.be = device_of(base);
    enum err e = bench_begin(&b, &bytes);
    if (!e)
        e = record_starts(&b);
    for (int i = 0; i < PROBES && !e; i++) {
        out[i].name = probes[i].name;
        e = bench_best(&b, &probes[i], &out[i].value);
    }
    out[PROBES].name = "launch_and_wait_s";
    if (!e)
        e = round_trip(&b, &out[PROBES].value);
    out[PROBES + 1] = ceiling{"multiprocessors", (double)b.be->multiprocessors};
    *count = e ? 0 : PROBES + 2;
    bench_end(&b, bytes);
    return e;
}
