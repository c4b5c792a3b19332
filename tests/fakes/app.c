/* A program on the emulated GPU, and the truth about it: one line of JSON per piece of work on the
 * file TRUTH, {"line", "what", "ns", "correlation", "bytes", "name"}. Every kind of work starts on
 * a source line of its own.
 *
 *   app SCENARIO [COUNT]     scenarios: the table at the end */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.h"

static FILE *truth;
static void *module;
static void *projector, *backprojector;

static void tell(int line, const char *what)
{
    const struct fake_activity *a = fake_last();
    if (truth)
        fprintf(truth,
                "{\"line\": %d, \"what\": \"%s\", \"ns\": %llu, \"correlation\": %u, \"bytes\": "
                "%llu, \"name\": \"%s\", \"device\": %u, \"stream\": %u, \"end\": %llu, "
                "\"delay\": %llu}\n",
                line, what, (unsigned long long)(a->end ? a->end - a->start : 0), a->correlation,
                (unsigned long long)a->bytes, a->kind == FAKE_KERNEL ? a->name : "", a->device,
                a->stream, (unsigned long long)a->end,
                (unsigned long long)(a->queued ? a->start - a->queued : 0));
}
#define TELL(what) tell(__LINE__, what)

static char *file_bytes(const char *path, size_t *n)
{
    char *bytes = NULL;
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        return NULL;
    *n = (size_t)ftell(f);
    rewind(f);
    bytes = malloc(*n + sizeof *n);
    if (bytes && fread(bytes + sizeof *n, 1, *n, f) != *n)
        return NULL;
    memcpy(bytes, n, sizeof *n);
    fclose(f);
    return bytes;
}

/* FAKE_CUBIN names the device code, as the driver would hand it to CUPTI. */
static void load(void)
{
    size_t n = 8;
    const char *path = getenv("FAKE_CUBIN");
    char *image = path ? file_bytes(path, &n) : NULL;
    char nothing[16] = {8};
    cuModuleLoadData(&module, image ? image : nothing);
    cuModuleGetFunction(&projector, module, "_Z7projectPfPKfi");
    cuModuleGetFunction(&backprojector, module, "_Z11backprojectPfPKfi");
}

static void all(void)
{
    void *at, *stream, *more, *graph, *executable;
    float host[256];
    struct dim3 grid = {64, 2, 1}, block = {256, 1, 1};
    load();
    cudaMalloc(&at, 1 << 20), TELL("memory");
    cudaMemcpy(at, host, sizeof host, 1), TELL("copy");
    cudaMemset(at, 0, 4096), TELL("set");
    cudaStreamCreate(&stream);
    for (int i = 0; i < 10; i++) {
        cudaLaunchKernel(projector, grid, block, NULL, 0, stream), TELL("kernel");
        cudaLaunchKernel(backprojector, grid, block, NULL, 0, NULL), TELL("kernel");
    }
    cuLaunchKernel(projector, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), TELL("kernel");
    cudaMemcpyAsync(host, at, sizeof host, 2, stream), TELL("copy");
    cudaMemcpyAsync(at, at, 512, 3, stream), TELL("copy");
    cuMemcpyHtoD_v2((uintptr_t)at, host, 128), TELL("copy");
    cudaStreamSynchronize(stream);
    cudaMallocAsync(&more, 4096, stream), TELL("memory");
    cudaSetDevice(1);
    cudaLaunchKernel(projector, grid, block, NULL, 0, NULL), TELL("kernel");
    cudaMemcpyPeer(at, 0, more, 1, 1024), TELL("copy");
    cudaDeviceSynchronize();
    cudaSetDevice(0);
    cudaStreamBeginCapture(stream, 0);
    cudaLaunchKernel(projector, grid, block, NULL, 0, stream);
    cudaLaunchKernel(backprojector, grid, block, NULL, 0, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    for (int i = 0; i < 3; i++)
        cudaGraphLaunch(executable, stream), TELL("graph");
    cuMemBatchDecompressAsync(700, 3, stream), TELL("decompress");
    cudaFree(at);
    cudaDeviceSynchronize();
    cuModuleUnload(module);
}

static void launches(long count)
{
    struct dim3 grid = {8, 1, 1}, block = {128, 1, 1};
    load();
    for (long i = 0; i < count; i++)
        cudaLaunchKernel(i & 1 ? projector : backprojector, grid, block, NULL, 0, NULL);
}

static void many(long count)
{
    launches(count);
    cudaDeviceSynchronize();
}

static void *one_thread(void *unused)
{
    void *stream;
    struct dim3 grid = {8, 1, 1}, block = {128, 1, 1};
    cudaStreamCreate(&stream);
    for (int i = 0; i < 500; i++)
        cudaLaunchKernel(projector, grid, block, NULL, 0, stream);
    cudaStreamSynchronize(stream);
    return unused;
}

static void threads(long count)
{
    pthread_t id[64];
    load();
    for (long i = 0; i < count && i < 64; i++)
        pthread_create(&id[i], NULL, one_thread, NULL);
    for (long i = 0; i < count && i < 64; i++)
        pthread_join(id[i], NULL);
}

static void forks(long count)
{
    launches(count);
    pid_t child = fork();
    if (child == 0) {
        launches(10); /* a real driver would refuse: nothing of this may reach the trace */
        exit(0);
    }
    waitpid(child, NULL, 0);
    launches(count);
}

static void forks_first(long count)
{
    pid_t child = fork();
    launches(count);
    if (child)
        waitpid(child, NULL, 0);
}

static void quick_end(long count)
{
    launches(count);
    _exit(3);
}

/* Delivered records are in the trace; waits a minute at most. */
static void until_flushed(void)
{
    for (int i = 0; i < 6000 && fake_pending(); i++)
        usleep(10000);
}

static void killed(long count)
{
    void *at;
    cudaMallocManaged(&at, 4096, 1);
    launches(count / 2); /* two flushes: the second begins after managed memory was seen */
    until_flushed();
    launches(count - count / 2);
    until_flushed();
    cudaDeviceSynchronize();
    until_flushed();
    kill(getpid(), SIGKILL);
}

static void exec(long count)
{
    launches(count);
    execl("/bin/true", "true", NULL);
}

static void *work_and_end(void *unused)
{
    usleep(50000);
    launches(50);
    return unused;
}

static void main_ends(long unused)
{
    pthread_t id;
    (void)unused;
    cuInit(0);
    pthread_create(&id, NULL, work_and_end, NULL);
    pthread_exit(NULL); /* the process ends with its last thread, which must not be ours */
}

static void reload(long count)
{
    struct dim3 grid = {8, 1, 1}, block = {128, 1, 1};
    for (long i = 0; i < count; i++) {
        load();
        cudaLaunchKernel(projector, grid, block, NULL, 0, NULL), TELL("kernel");
        cuModuleUnload(module);
    }
}

static void everything(long unused)
{
    (void)unused;
    all();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(long count);
    } scenarios[] = {{"all", everything},
                     {"many", many},
                     {"threads", threads},
                     {"fork", forks},
                     {"fork_first", forks_first},
                     {"_exit", quick_end},
                     {"kill", killed},
                     {"reload", reload},
                     {"exec", exec},
                     {"main_ends", main_ends}};
    const char *path = getenv("TRUTH");
    truth = path ? fopen(path, "w") : NULL;
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof *scenarios; i++)
        if (!strcmp(scenarios[i].name, argv[1])) {
            scenarios[i].run(argc > 2 ? atol(argv[2]) : 100);
            if (truth)
                fclose(truth);
            return 0;
        }
    fprintf(stderr, "usage: app SCENARIO [COUNT]\n");
    return 2;
}
