/* CUDA's language and runtime for g++, as far as cuda/ uses them: kernels run on the host, one
 * block after the other, each thread a fiber that yields at barriers and shuffles. Device memory
 * lies in an address range that only kernels can touch. */
#ifndef TP_SHIM_CUDA_RUNTIME_H
#define TP_SHIM_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>
#include <tuple>

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
    {
    }
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline void sincospi(double x, double *s, double *c)
{
    sincos(M_PI * x, s, c);
}

static inline float2 make_float2(float x, float y)
{
    return float2{x, y};
}

/* The running thread; set at every switch. */
extern struct uint3 threadIdx, blockIdx;
extern struct dim3 blockDim, gridDim;

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorDevicesUnavailable = 46,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorECCUncorrectable = 214,
    cudaErrorOperatingSystem = 304,
    cudaErrorLaunchTimeout = 702,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorNotSupported = 801,
    cudaErrorJitCompilerNotFound = 221,
    cudaErrorUnsupportedPtxVersion = 222,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchFailure = 719,
    cudaErrorSystemNotReady = 802,
    cudaErrorSystemDriverMismatch = 803,
    cudaErrorCompatNotSupportedOnDevice = 804,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorUnknown = 999
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice
};
#define cudaStreamNonBlocking   1
#define cudaHostRegisterDefault 0
#define cudaEventDisableTiming  2
typedef struct shim_stream *cudaStream_t;
typedef struct shim_event *cudaEvent_t;
typedef struct shim_graph *cudaGraph_t;
typedef struct shim_exec *cudaGraphExec_t;
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlockOptin;
    int major, minor, multiProcessorCount, l2CacheSize;
};
enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
};
struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
struct cudaFuncAttributes {
    int binaryVersion;
};

extern "C" {
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *p);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total);
cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **out, size_t bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *p);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t *out);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorName(cudaError_t code);
const char *cudaGetErrorString(cudaError_t code);
}
cudaError_t shim_allow_shared(const void *kernel, int bytes);
cudaError_t shim_code_of(struct cudaFuncAttributes *out);
template <class K> cudaError_t cudaFuncSetAttribute(K *kernel, enum cudaFuncAttribute, int value)
{
    return shim_allow_shared(reinterpret_cast<const void *>(kernel), value);
}
template <class K> cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, K *)
{
    return shim_code_of(out);
}

/* Fibers. */
void __syncthreads(void);
void __syncwarp(unsigned mask = 0xffffffffu);
/* Gives `bits` to the warp and returns the slots of all lanes, valid until the next exchange. All
 * lanes of the mask must come to the same instruction. */
enum shim_instruction {
    SHIM_SYNC,
    SHIM_SHFL,
    SHIM_DOWN,
    SHIM_UP,
    SHIM_XOR,
    SHIM_MATCH,
    SHIM_BALLOT
};
const uint64_t *shim_exchange(enum shim_instruction which, unsigned mask, uint64_t bits);
int shim_lane(void);
void shim_check_lane(unsigned mask, int from); /* a lane that gives nothing gives anything */

template <class T> T shim_take(enum shim_instruction which, unsigned mask, T value, int from)
{
    uint64_t bits = 0;
    static_assert(sizeof value <= sizeof bits, "a shuffle moves at most 8 bytes");
    memcpy(&bits, &value, sizeof value);
    const uint64_t *slots = shim_exchange(which, mask, bits);
    shim_check_lane(mask, from);
    memcpy(&value, &slots[from], sizeof value);
    return value;
}
template <class T> T __shfl_sync(unsigned mask, T value, int lane)
{
    return shim_take(SHIM_SHFL, mask, value, lane & 31);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned by)
{
    const int lane = shim_lane(), from = lane + (int)by;
    return shim_take(SHIM_DOWN, mask, value, from < 32 ? from : lane);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned by)
{
    const int lane = shim_lane(), from = lane - (int)by;
    return shim_take(SHIM_UP, mask, value, from >= 0 ? from : lane);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int by)
{
    return shim_take(SHIM_XOR, mask, value, shim_lane() ^ by);
}
unsigned __match_any_sync(unsigned mask, int value);
unsigned __ballot_sync(unsigned mask, int predicate);

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (by & 31));
}
static inline int __float_as_int(float x)
{
    int bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float __int_as_float(int bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
template <class T> T __ldg(const T *p)
{
    return *p;
}
template <class T> T __ldcg(const T *p)
{
    return *p;
}
static inline int min(int a, int b)
{
    return a < b ? a : b;
}
static inline int max(int a, int b)
{
    return a > b ? a : b;
}

/* The approximations of the special-function unit, as far off as PTX allows (approximate.cpp). */
float reciprocal_approx(float x);
double reciprocal_approx(double x);
float rsqrt_approx(float x);
float root_approx(float x);

static inline float __saturatef(float x) /* 0 for what is not a number */
{
    return x > 0 ? x < 1 ? x : 1 : 0;
}

/* Launches. A kernel's arguments must not lead to host memory. */
void shim_check_argument(const char *kernel, const void *bytes, size_t size);
void *shim_shared(void);
int shim_may_launch(const char *name, const void *kernel, cudaStream_t stream, dim3 grid,
                    dim3 block, size_t shared);
void shim_run(const char *kernel, dim3 grid, dim3 block, size_t shared, void (*thread)(void *),
              void *context);
void shim_enqueue(cudaStream_t stream, std::function<void()> work);

template <class... P> struct shim_call {
    void (*kernel)(P...);
    std::tuple<P...> arguments;
    static void thread(void *context)
    {
        const shim_call *call = static_cast<const shim_call *>(context);
        std::apply(call->kernel, call->arguments);
    }
};
/* Finds what nvcc made of a kernel (ptx.cpp); it takes the addresses of its arguments. NULL: the
 * kernel itself runs, for no PTX was given, or it is the emulator's own. */
typedef void (*shim_ptx)(void *const *arguments);
shim_ptx shim_ptx_of(const void *kernel, const char *name);
void shim_run_ptx(const char *kernel, dim3 grid, dim3 block, size_t shared, shim_ptx ptx,
                  void *const *arguments);

template <class... P, class... A>
void shim_launch(const char *name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                 cudaStream_t stream, A... arguments)
{
    static_assert((sizeof(P) + ...) <= 4096, "a kernel takes 4 KiB of arguments");
    shim_call<P...> call = {kernel, std::tuple<P...>(arguments...)};
    std::apply([&](const P &...p) { (shim_check_argument(name, &p, sizeof p), ...); },
               call.arguments);
    if (shim_may_launch(name, reinterpret_cast<const void *>(kernel), stream, grid, block, shared))
        shim_enqueue(stream, [=]() mutable {
            const shim_ptx ptx = shim_ptx_of(reinterpret_cast<const void *>(kernel), name);
            if (!ptx) {
                shim_run(name, grid, block, shared, shim_call<P...>::thread, &call);
                return;
            }
            std::apply(
                [&](P &...p) {
                    void *const addresses[] = {&p...};
                    shim_run_ptx(name, grid, block, shared, ptx, addresses);
                },
                call.arguments);
        });
}
#define CALL_KERNEL(kernel, grid, block, shared, stream, ...)                                      \
    shim_launch(#kernel, kernel, grid, block, shared, stream, __VA_ARGS__)
#define SHARED_ARRAY(type, name) type *const name = static_cast<type *>(shim_shared())

#endif
