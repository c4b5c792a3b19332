/* CUDA's runtime, or its emulator of tests/device, and what every kernel and launcher uses. */
#ifndef TP_CUDA_COMMON_RUNTIME_CUH
#define TP_CUDA_COMMON_RUNTIME_CUH

#include <cuda_runtime.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include "host/backend/backend.h"
#include "host/backend/checks.h"
#include "base/mark/mark.h"
}

/* Kernels take their shared memory at launch only: one way in, which the emulator can bound and
 * fill with NaN. */
#ifdef __CUDACC__
#define CALL_KERNEL(kernel, grid, block, shared, stream, ...)                                      \
    kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#define SHARED_ARRAY(type, name)                                                                   \
    extern __shared__ __align__(16) unsigned char shared_bytes_[];                                 \
    type *const name = reinterpret_cast<type *>(shared_bytes_)
#define PRAGMA(words) _Pragma(#words)
#define UNROLLED(n)   PRAGMA(unroll n)
#define NOT_UNROLLED  UNROLLED(1)
#define SPECIAL_UNIT(name, instruction)                                                            \
    static __device__ inline float name(float x)                                                   \
    {                                                                                              \
        float y;                                                                                   \
        asm(instruction ".approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));                             \
        return y;                                                                                  \
    }
SPECIAL_UNIT(rsqrt_approx, "rsqrt")    /* off by 1.3e-7 at most */
SPECIAL_UNIT(root_approx, "sqrt")      /* by 1.2e-7 */
SPECIAL_UNIT(reciprocal_approx, "rcp") /* by 1.2e-7 */
/* A pointer read from shared memory: that it leads to global memory, which spares the test. */
static __device__ inline const float *in_global(const float *p)
{
    __builtin_assume(__isGlobal(p));
    return p;
}
/* 1 / x within 2^-20 or so: of the upper half of x, into the upper half of the result. */
static __device__ inline double reciprocal_approx(double x)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}
#endif

#ifndef __CUDACC__
#define UNROLLED(n)
#define NOT_UNROLLED
static inline const float *in_global(const float *p)
{
    return p;
}
#endif

/* 1 / x of a normal float64 number, by two steps of Newton: division is a call, around which
 * registers are spilled. */
static __device__ inline double reciprocal_newton(double x)
{
    double y = reciprocal_approx(x);
    y = fma(y, fma(-x, y, 1.0), y);
    return fma(y, fma(-x, y, 1.0), y);
}

#define WARP      32
#define ALL_LANES 0xffffffffu

struct cuda_backend;

/* Launches blocks of `threads` (numbered along x alone), within a range of the kernel's name, and
 * returns from the calling function when the launch fails. No block: nothing to do. */
#define LAUNCH(be, kernel, blocks, threads, shared, ...)                                           \
    do {                                                                                           \
        const int64_t blocks_ = (blocks);                                                          \
        TRY(launch_allowed(#kernel, blocks_));                                                     \
        if (blocks_ > 0) {                                                                         \
            mark_push(#kernel, (uint64_t)blocks_);                                                 \
            CALL_KERNEL(kernel, dim3((unsigned)blocks_), dim3(threads), shared, (be)->stream,      \
                        __VA_ARGS__);                                                              \
            mark_pop();                                                                            \
            TRY(launch_done(#kernel));                                                             \
        }                                                                                          \
    } while (0)
enum err launch_allowed(const char *kernel, int64_t blocks);
enum err launch_done(const char *kernel);

/* The sentence for what CUDA reports: `doing` completes "the GPU failed while ...". */
enum err cuda_failed(cudaError_t code, const char *doing);
#define TRY_CUDA(call, doing)                                                                      \
    do {                                                                                           \
        cudaError_t code_ = (call);                                                                \
        if (code_ != cudaSuccess)                                                                  \
            return cuda_failed(code_, doing);                                                      \
    } while (0)

static inline int64_t ceil_div(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

static inline int64_t size_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t size_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
