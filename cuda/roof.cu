/* The ceilings of this GPU: multiply-adds from registers, and a copy through memory. */
#include "cuda/internal.cuh"

#define THREADS 256
#define CHAINS  8    /* independent multiply-adds of a thread */
#define STEPS   4096 /* of each chain */
#define REPEATS 5    /* the best counts */
#define COPY    ((size_t)512 << 20)

static __global__ void __launch_bounds__(THREADS)
    multiply_add_kernel(int steps, float a, float *out)
{
    float x[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = (float)(threadIdx.x + i);
    for (int s = 0; s < steps; s++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = x[i] * a + a;
    float sum = 0;
    for (int i = 0; i < CHAINS; i++)
        sum += x[i];
    if (sum == -1.f) /* never, which the compiler cannot know */
        out[threadIdx.x] = sum;
}

static __global__ void __launch_bounds__(THREADS)
    stream_kernel(const float4 *from, float4 *to, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        to[i] = from[i];
}

struct bench {
    struct cuda_backend *be;
    int64_t blocks, vectors;
    int steps;
    float *from, *to;
    cudaEvent_t begin, end;
};

static enum err arithmetic(const struct bench *b)
{
    LAUNCH(b->be, multiply_add_kernel, b->blocks, THREADS, 0, b->steps, 0.5f, b->to);
    return ERR_OK;
}

static enum err stream(const struct bench *b)
{
    LAUNCH(b->be, stream_kernel, ceil_div(b->vectors, THREADS), THREADS, 0,
           reinterpret_cast<const float4 *>(b->from), reinterpret_cast<float4 *>(b->to),
           b->vectors);
    return ERR_OK;
}

/* The shortest of REPEATS + 1; the first warms up. */
static enum err best(const struct bench *b, enum err (*once)(const struct bench *), double *seconds)
{
    *seconds = HUGE_VAL;
    for (int i = 0; i <= REPEATS; i++) {
        float ms = 0;
        TRY_CUDA(cudaEventRecord(b->begin, b->be->stream), "being calibrated");
        TRY(once(b));
        TRY_CUDA(cudaEventRecord(b->end, b->be->stream), "being calibrated");
        TRY_CUDA(cudaEventSynchronize(b->end), "being calibrated");
        TRY_CUDA(cudaEventElapsedTime(&ms, b->begin, b->end), "being calibrated");
        if (i > 0 && ms > 0)
            *seconds = fmin(*seconds, 1e-3 * (double)ms);
    }
    return ERR_OK;
}

static enum err measure(struct bench *b, size_t bytes, struct roof *out)
{
    double seconds;
    TRY_CUDA(cudaMemsetAsync(b->from, 0, bytes, b->be->stream), "being calibrated");
    TRY(best(b, arithmetic, &seconds));
    out->flops_per_s = 2.0 * CHAINS * (double)b->steps * (double)b->blocks * THREADS / seconds;
    TRY(best(b, stream, &seconds));
    out->bytes_per_s = 2.0 * (double)bytes / seconds;
    return ERR_OK;
}

enum err cuda_measure_roof(struct backend *base, struct roof *out)
{
    struct cuda_backend *be = device_of(base);
    struct bench b = {};
    size_t bytes = COPY, free_bytes = 0, total = 0;
    enum err e = ERR_OK;
    TRY_CUDA(cudaMemGetInfo(&free_bytes, &total), "being calibrated");
    bytes = bytes < free_bytes / 8 ? bytes : free_bytes / 8 / 256 * 256;
    b.be = be;
    b.blocks = 16 * be->multiprocessors;
    b.steps = STEPS;
    b.vectors = (int64_t)(bytes / sizeof(float4));
    mark_push("measure_roof", 0);
    TRY_OUT(device_alloc(be, "calibration of the copy bandwidth", bytes, (void **)&b.from));
    TRY_OUT(device_alloc(be, "calibration of the copy bandwidth", bytes, (void **)&b.to));
    if (cudaEventCreate(&b.begin) || cudaEventCreate(&b.end))
        TRY_OUT(cuda_failed(cudaErrorInvalidValue, "being calibrated"));
    e = measure(&b, bytes, out);
out:
    if (b.begin)
        cudaEventDestroy(b.begin);
    if (b.end)
        cudaEventDestroy(b.end);
    device_free(be, b.from, bytes);
    device_free(be, b.to, bytes);
    mark_pop();
    return e;
}
