/* A emulated GPU: driver and runtime calls with their real names and arguments, whose "work" is a
 * list of activities with exact times. Loads CUDA_INJECTION64_PATH inside cuInit, as the driver
 * does. The pretended CUPTI (cupti.c) attaches to it. */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include <stddef.h>
#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))

enum fake_kind { FAKE_COPY = 1, FAKE_SET = 2, FAKE_DEVICE = 8, FAKE_CONTEXT = 9, FAKE_KERNEL = 10 };
enum fake_more {
    FAKE_PEER = 22,
    FAKE_STREAM = 37,
    FAKE_SYNC = 38,
    FAKE_MEMORY = 49,
    FAKE_POOL = 50
};
enum fake_rare {
    FAKE_OVERHEAD = 17,
    FAKE_UNIFIED = 25,
    FAKE_GRAPH = 51,
    FAKE_JIT = 52,
    FAKE_DEVICE_GRAPH = 53,
    FAKE_DECOMPRESS = 54
};

struct fake_activity {
    uint32_t kind, correlation, runtime_correlation, device, context, stream;
    uint64_t start, end, bytes, address, pool, graph_node, queued, submitted;
    uint32_t graph, operation, memory_kind, peer; /* of memory: 1 allocate, 2 release */
    uint32_t grid, block;
    uint8_t copy_kind, from, to;
    const char *name;
};
struct fake_node {
    uint64_t id;
    uint32_t graph;
    struct fake_activity work;
};

/* Callbacks of a tool; the first of a call's nested domains is the runtime (2), then the driver
 * (1).
 */
struct fake_tool {
    void (*call)(int domain, const char *name, int leaving, uint32_t correlation,
                 const void *parameters, const char *symbol, int result);
    void (*resource)(int id, const void *a, const void *b, size_t n);
    void (*activity)(const struct fake_activity *a);
    uint64_t (*now)(void);
    int (*pending)(void); /* records that no buffer has been delivered with */
};
FAKE_API void fake_attach(const struct fake_tool *tool);
FAKE_API const struct fake_activity *fake_last(void); /* made by this thread's last call */
FAKE_API int fake_pending(void);
FAKE_API long fake_option(const char *key, long otherwise); /* FAKE="key=number,..." */

struct dim3 {
    unsigned x, y, z;
};
/* Returns the time that a stream's work takes together, ns: events are read by it, so no load of
 * the machine changes them. */
FAKE_API uint64_t fake_stream_busy(void *stream);
FAKE_API uint8_t fake_host_kind(const void *a, const void *b); /* 2 when one is pinned, else 1 */
FAKE_API int cuDriverGetVersion(int *version);
FAKE_API int cuInit(unsigned flags);
FAKE_API int cuModuleLoadData(void **module, const void *image);
FAKE_API int cuModuleUnload(void *module);
FAKE_API int cuModuleGetFunction(void **function, void *module, const char *name);
FAKE_API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
                            void **extra);
FAKE_API int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
FAKE_API int cudaSetDevice(int device);
FAKE_API int cudaStreamCreate(void **stream);
FAKE_API int cudaMalloc(void **at, size_t bytes);
FAKE_API int cudaMallocAsync(void **at, size_t bytes, void *stream);
FAKE_API int cudaMallocManaged(void **at, size_t bytes, unsigned flags);
FAKE_API int cudaFree(void *at);
FAKE_API int cudaFreeAsync(void *at, void *stream);
FAKE_API int cudaMallocHost(void **at, size_t bytes);
FAKE_API int cudaFreeHost(void *at);
FAKE_API int cudaEventCreate(void **event);
FAKE_API int cudaEventRecord(void *event, void *stream);
FAKE_API int cudaEventSynchronize(void *event);
FAKE_API int cudaEventElapsedTime(float *ms, void *from,
                                  void *to); /* FAKE event=PERCENT: too much */
FAKE_API int cudaMemGetInfo(size_t *left, size_t *all);
FAKE_API int cudaDeviceReset(void);
FAKE_API int cuDeviceGetCount(int *count);
FAKE_API int cuDeviceGet(int *device, int i);
FAKE_API int cuDeviceGetAttribute(int *value, int attribute, int device);
FAKE_API const char *cudaGetErrorString(int error);
FAKE_API int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
FAKE_API int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
FAKE_API int cudaMemcpyPeer(void *to, int to_device, const void *from, int device, size_t bytes);
FAKE_API int cudaMemset(void *at, int value, size_t bytes);
FAKE_API int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block,
                              void **args, size_t shared, void *stream);
FAKE_API int cudaDeviceSynchronize(void);
FAKE_API int cudaStreamSynchronize(void *stream);
FAKE_API int cudaStreamBeginCapture(void *stream, int mode);
FAKE_API int cudaStreamEndCapture(void *stream, void **graph);
FAKE_API int cudaGraphInstantiate(void **executable, void *graph, unsigned long long flags);
FAKE_API int cudaGraphLaunch(void *executable, void *stream);
/* The two that are not NVIDIA's arguments: `bytes` of `count` batches. */
FAKE_API int cuMemBatchDecompressAsync(size_t bytes, size_t count, void *stream);

#endif
