/* A CUDA program that knows what it did: the file $TRUTH gets, as JSON, how many kernels, copies
 * and allocations began on which line, and what its own events say of their time. Options: --short
 * N kernels of a microsecond, --kill (SIGKILL at the end), --reset (cudaDeviceReset at the end).
 * Without nvcc it is C for the emulated GPU of tests/fakes. What is counted stands on one line. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define KERNEL(name, mangled, parameters) __global__ void name parameters
#define LAUNCH(name, blocks, threads, stream, ...)                                                 \
    name<<<(blocks), (threads), 0, (stream)>>>(__VA_ARGS__)
#define WRONG_LINE 0
#define SETTLE()   sleep(1) /* ten flushes of the recorder */
#else
#include "known_fake.h"
#endif

#if defined __has_include
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define RANGES 1
#endif
#endif
#ifndef RANGES
#define RANGES               0
#define nvtxRangePushA(text) (void)(text)
#define nvtxRangePop()       (void)0
#endif

enum { N = 1 << 20, REPEATS = 6, GRAPHS = 5, SMALL = 4096 };
#define LEAD  40000000l /* cycles, 20 ms: the host has queued the rest by then */
#define TIMED 6000000l  /* 3 ms each: a gap of a few microseconds between two does not count */

KERNEL(spin, _Z4spinPfl, (float *a, long cycles))
{
    long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
    if (threadIdx.x == 0)
        a[blockIdx.x] += 1;
}

KERNEL(scale, _Z5scalePfi, (float *a, int n))
{
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += 65536)
        a[i] = a[i] * 2 + 1;
}

KERNEL(tiny, _Z4tinyPf, (float *a))
{
    if (threadIdx.x == 0)
        a[0] += 1;
}

static FILE *truth;
static int rows;

/* Prints one row of the truth: `what` happened n times on `line`. */
static void tell(const char *what, int line, long n, size_t bytes, const char *detail)
{
    if (truth)
        fprintf(
            truth,
            "%s\n {\"what\": \"%s\", \"line\": %d, \"n\": %ld, \"bytes\": %zu, \"detail\": \"%s\"}",
            rows++ ? "," : "", what, line + WRONG_LINE, n, bytes, detail);
}

static void check(int code, int line)
{
    if (!code)
        return;
    printf("known: line %d: %s\n", line, cudaGetErrorString((cudaError_t)code));
    exit(3);
}

#define CALL(...) check((int)(__VA_ARGS__), __LINE__)
/* The work and its row, which belong to one line. */
#define DO(what, n, bytes, detail, ...)                                                            \
    do {                                                                                           \
        __VA_ARGS__;                                                                               \
        tell(what, __LINE__, n, bytes, detail);                                                    \
    } while (0)

#define H2D                                cudaMemcpyHostToDevice
#define D2H                                cudaMemcpyDeviceToHost
#define D2D                                cudaMemcpyDeviceToDevice
#define COPY(way, host, to, from, n, kind) DO(way, 1, n, host, CALL(cudaMemcpy(to, from, n, kind)))
#define ASYNC(way, host, to, from, n, kind, stream)                                                \
    DO(way, 1, n, host, CALL(cudaMemcpyAsync(to, from, n, kind, stream)))
#define ALLOCATE(at) DO("allocation", 1, ALL, "", CALL(cudaMalloc((void **)(at), ALL)))

static const size_t ALL = N * sizeof(float);
static float *device, *other;
static cudaStream_t first, second;

static void timed(cudaStream_t stream)
{
    cudaEvent_t from, to;
    float ms = 0;
    CALL(cudaEventCreate(&from));
    CALL(cudaEventCreate(&to));
    DO("kernel", 1, 0, "spin", LAUNCH(spin, 1, 32, stream, device, LEAD));
    CALL(cudaEventRecord(from, stream));
    for (int i = 0; i < REPEATS; i++)
        DO("timed", 1, 0, "spin", LAUNCH(spin, 8, 64, stream, device, TIMED));
    for (int i = 0; i < REPEATS; i++)
        DO("timed", 1, 0, "spin", LAUNCH(spin, 16, 32, stream, other, TIMED / 2));
    CALL(cudaEventRecord(to, stream));
    CALL(cudaEventSynchronize(to));
    CALL(cudaEventElapsedTime(&ms, from, to));
    tell("event_ns", 0, (long)((double)ms * 1e6), 0, "");
}

static void copies(void)
{
    float *pageable = (float *)calloc(N, sizeof(float)), *pinned = NULL;
    CALL(cudaMallocHost((void **)&pinned, ALL));
    memset(pinned, 0, ALL);
    COPY("h2d", "pageable", device, pageable, ALL, H2D);
    ASYNC("h2d", "pinned", device, pinned, ALL / 2, H2D, first);
    CALL(cudaStreamSynchronize(first));
    ASYNC("d2d", "device", other, device, ALL / 4, D2D, first);
    DO("set", 1, SMALL, "", CALL(cudaMemset(other, 0, SMALL)));
    ASYNC("d2h", "pinned", pinned, other, ALL / 8, D2H, second);
    CALL(cudaStreamSynchronize(second));
    COPY("d2h", "pageable", pageable, other, ALL / 16, D2H);
    printf("known: %g %g\n", (double)pageable[0], (double)pinned[SMALL]);
    CALL(cudaFreeHost(pinned));
    free(pageable);
}

static void pools(void)
{
    void *at = NULL;
    DO("pool", 1, 8 * SMALL, "", CALL(cudaMallocAsync(&at, 8 * SMALL, first)));
    DO("kernel", 1, 0, "tiny", LAUNCH(tiny, 1, 32, first, (float *)at));
    CALL(cudaFreeAsync(at, first));
    CALL(cudaStreamSynchronize(first));
}

static void graphs(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CALL(cudaStreamBeginCapture(second, cudaStreamCaptureModeGlobal));
    DO("node", GRAPHS, 0, "scale", LAUNCH(scale, 64, 256, second, device, N));
    DO("node", GRAPHS, 0, "tiny", LAUNCH(tiny, 1, 32, second, device));
    DO("node", GRAPHS, 0, "scale", LAUNCH(scale, 32, 256, second, other, N));
    CALL(cudaStreamEndCapture(second, &graph));
    CALL(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < GRAPHS; i++)
        DO("kernel", 3, 0, "graph", CALL(cudaGraphLaunch(executable, second)));
    CALL(cudaStreamSynchronize(second));
}

static void shorts(long count)
{
    if (count)
        tell("kernel", __LINE__ + 2, count, 0, "tiny");
    for (long i = 0; i < count; i++)
        LAUNCH(tiny, 1, 32, first, device);
    CALL(cudaDeviceSynchronize());
}

static void work(long count)
{
    size_t left = 0, all = 0;
    ALLOCATE(&device);
    ALLOCATE(&other);
    CALL(cudaStreamCreate(&first));
    CALL(cudaStreamCreate(&second));
    nvtxRangePushA("timed work");
    timed(first);
    nvtxRangePop();
    DO("kernel", 1, 0, "scale", LAUNCH(scale, 64, 256, NULL, device, N));
    nvtxRangePushA("copies and graphs");
    copies();
    pools();
    graphs();
    nvtxRangePop();
    if (RANGES) {
        tell("range", 0, 1, 0, "timed work");
        tell("range", 0, 1, 0, "copies and graphs");
    }
    shorts(count);
    tell("complete", 0, 1, 0, "");
    tell("streams", 0, 3, 0, "");
    CALL(cudaMemGetInfo(&left, &all));
    tell("device_used", 0, 1, all - left, "");
}

int main(int argc, char **argv)
{
    const char *path = getenv("TRUTH");
    long count = 0;
    int kill_it = 0, reset = 0;
    for (int i = 1; i < argc; i++) {
        kill_it |= !strcmp(argv[i], "--kill");
        reset |= !strcmp(argv[i], "--reset");
        if (!strcmp(argv[i], "--short") && i + 1 < argc)
            count = atol(argv[++i]);
    }
    truth = path ? fopen(path, "w") : NULL;
    if (truth)
        fprintf(truth, "[");
    work(count);
    if (truth && (fprintf(truth, "\n]\n") < 0 || fclose(truth)))
        return 4;
    if (kill_it) {
        SETTLE();
        kill(getpid(), SIGKILL);
    }
    if (reset)
        CALL(cudaDeviceReset());
    printf("known: done\n");
    return 0;
}
