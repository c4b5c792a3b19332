#include "gpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DEVICES = 2, NODES = 1024 };

struct stream {
    uint32_t id, device;
    uint64_t free_at; /* when its last work ends */
    uint64_t busy;    /* how long all of its work takes */
    struct graph *capturing;
};
struct graph {
    uint32_t id;
    int count;
    struct fake_node nodes[NODES];
};
struct module {
    char *names; /* a page of its own, so that it can go with the module */
    size_t used;
    size_t bytes;
};

static struct fake_tool tool;
static pid_t initialised_by, here; /* here: getpid() without a system call */
static struct stream default_stream[DEVICES] = {{7, 0, 0, 0, NULL}, {7, 1, 0, 0, NULL}};
static int initialised, contexts[DEVICES];
static uint32_t correlations, streams = 13, graphs;
static uint64_t nodes, addresses = 0x700000000000;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int device;
static __thread struct fake_activity last;

FAKE_API void fake_attach(const struct fake_tool *t)
{
    tool = *t;
}

FAKE_API const struct fake_activity *fake_last(void)
{
    return &last;
}

FAKE_API int fake_pending(void)
{
    return tool.pending && tool.pending();
}

static uint64_t now(void)
{
    struct timespec t;
    if (tool.now)
        return tool.now();
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct frame {
    int domain;
    const char *name, *symbol;
    const void *parameters;
    uint32_t correlation;
};

static struct frame begin(int domain, const char *name, const void *parameters, const char *symbol)
{
    struct frame f = {domain, name, symbol, parameters,
                      __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED)};
    if (!f.correlation) /* 0 is none: a wrapped counter leaves it out */
        f.correlation = __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
    if (tool.call)
        tool.call(domain, name, 0, f.correlation, parameters, symbol, 0);
    return f;
}

static int finish(const struct frame *f, int result)
{
    if (tool.call)
        tool.call(f->domain, f->name, 1, f->correlation, f->parameters, f->symbol, result);
    return result;
}

static void resource(int id, const void *a, const void *b, size_t n)
{
    if (tool.resource)
        tool.resource(id, a, b, n);
}

/* A child of a process that initialised CUDA has no device: its calls reach callbacks, no work. */
static void put(const struct fake_activity *a)
{
    if (tool.activity && here == initialised_by)
        tool.activity(a);
}

static void need_context(void)
{
    cuInit(0);
    if (__atomic_exchange_n(&contexts[device], 1, __ATOMIC_RELAXED))
        return;
    uint32_t d = (uint32_t)device;
    resource(1, NULL, NULL, 0);
    put(&(struct fake_activity){.kind = FAKE_DEVICE, .device = d, .name = "Fake GPU"});
    put(&(struct fake_activity){.kind = FAKE_CONTEXT, .device = d, .context = d + 1, .stream = 7});
    put(&(struct fake_activity){.kind = FAKE_STREAM, .context = d + 1, .stream = 7});
}

/* Puts work into the queue of a stream: times are exact and known at once. */
static void enqueue(struct stream *s, struct fake_activity *a)
{
    static uint32_t work;
    uint32_t n = __atomic_fetch_add(&work, 1, __ATOMIC_RELAXED);
    uint64_t length = 1000 + n * 37 % 5000, at = now() + 2000;
    uint64_t early = n % 100 == 99 ? (uint64_t)fake_option("early", 0) : 0;
    pthread_mutex_lock(&lock);
    a->start = at > s->free_at ? at : s->free_at;
    if (early) /* begins before the call that asked for it */
        a->start = at - early;
    a->end = s->free_at = a->start + length;
    a->queued = at - 2000;
    a->submitted = at - 1500;
    s->busy += length;
    pthread_mutex_unlock(&lock);
    a->device = s->device;
    a->context = s->device + 1;
    a->stream = s->id;
    last = *a;
    put(a);
}

static struct stream *stream_of(void *stream)
{
    return stream ? stream : &default_stream[device];
}

static void submit(struct stream *s, struct fake_activity *a)
{
    struct graph *g = s->capturing;
    if (!g) {
        enqueue(s, a);
        return;
    }
    struct fake_node *node = &g->nodes[g->count++ % NODES];
    *node = (struct fake_node){++nodes, g->id, *a};
    resource(13, node, NULL, 0);
}

FAKE_API uint64_t fake_stream_busy(void *stream)
{
    return stream_of(stream)->busy;
}

static void wait_until(uint64_t at)
{
    uint64_t t = now();
    struct timespec rest = {0, (long)(at - t)};
    if (at > t && at - t < 1000000000)
        nanosleep(&rest, NULL);
}

FAKE_API int cuDriverGetVersion(int *version)
{
    *version = (int)fake_option("serves", 13000);
    return 0;
}

static void in_child(void)
{
    here = getpid();
}

FAKE_API int cuInit(unsigned flags)
{
    (void)flags;
    if (__atomic_exchange_n(&initialised, 1, __ATOMIC_ACQ_REL))
        return 0;
    if (!here)
        pthread_atfork(NULL, NULL, in_child);
    initialised_by = here = getpid();
    correlations = (uint32_t)fake_option("correlation", 0);
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*initialise)(void);
    void *symbol = library ? dlsym(library, "InitializeInjection") : NULL;
    memcpy(&initialise, &symbol, sizeof symbol);
    if (symbol)
        initialise();
    resource(5, NULL, NULL, 0);
    return 0;
}

FAKE_API int cuModuleLoadData(void **out, const void *image)
{
    need_context();
    struct frame f = begin(1, "cuModuleLoadData", NULL, NULL);
    struct module *m = calloc(1, sizeof *m);
    m->names = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(&m->bytes, image, sizeof m->bytes); /* the fake's images begin with their length */
    resource(6, (const char *)image + sizeof m->bytes, NULL, m->bytes);
    *out = m;
    uint64_t t = now();
    put(&(struct fake_activity){
        .kind = FAKE_JIT, .correlation = f.correlation, .start = t - 3000, .end = t});
    put(&(struct fake_activity){
        .kind = FAKE_OVERHEAD, .correlation = f.correlation, .start = t - 400, .end = t});
    return finish(&f, 0);
}

FAKE_API int cuModuleUnload(void *module)
{
    struct frame f = begin(1, "cuModuleUnload", NULL, NULL);
    struct module *m = module;
    resource(7, NULL, NULL, 0);
    if (fake_option("free_names", 0))
        munmap(m->names, 65536);
    return finish(&f, 0);
}

FAKE_API int cuModuleGetFunction(void **function, void *module, const char *name)
{
    struct module *m = module;
    char *copy = m->names + m->used;
    strcpy(copy, name);
    m->used += (strlen(name) + 8) & ~7ull;
    *function = copy;
    return 0;
}

FAKE_API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
                            void **extra)
{
    (void)args, (void)extra, (void)shared;
    need_context();
    struct frame f = begin(1, "cuLaunchKernel", NULL, function);
    struct fake_activity a = {.kind = FAKE_KERNEL,
                              .correlation = f.correlation,
                              .grid = gx * gy * gz,
                              .block = bx * by * bz,
                              .name = function};
    submit(stream_of(stream), &a);
    return finish(&f, 0);
}

FAKE_API int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block,
                              void **args, size_t shared, void *stream)
{
    need_context();
    struct frame f = begin(2, "cudaLaunchKernel", NULL, function);
    return finish(&f, cuLaunchKernel((void *)(uintptr_t)function, grid.x, grid.y, grid.z, block.x,
                                     block.y, block.z, (unsigned)shared, stream, args, NULL));
}

static int copy(const char *driver, uint32_t runtime, size_t bytes, int kind, void *stream,
                uint8_t host)
{
    const uint8_t from[] = {host, host, 3, 3}, to[] = {host, 3, host, 3}, kinds[] = {9, 1, 2, 8};
    struct frame f = begin(1, driver, &(uint64_t[]){0, 0, bytes}, NULL);
    struct fake_activity a = {.kind = FAKE_COPY,
                              .correlation = f.correlation,
                              .runtime_correlation = runtime,
                              .bytes = bytes,
                              .copy_kind = kinds[kind & 3],
                              .from = from[kind & 3],
                              .to = to[kind & 3]};
    submit(stream_of(stream), &a);
    return finish(&f, 0);
}

FAKE_API int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    (void)to, (void)from;
    need_context();
    return copy("cuMemcpyHtoD_v2", 0, bytes, 1, NULL, 1);
}

FAKE_API int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    need_context();
    struct frame f =
        begin(2, "cudaMemcpyAsync", &(uint64_t[]){(uintptr_t)to, (uintptr_t)from, bytes}, NULL);
    return finish(
        &f, copy("cuMemcpyAsync", f.correlation, bytes, kind, stream, fake_host_kind(to, from)));
}

FAKE_API int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    need_context();
    struct frame f =
        begin(2, "cudaMemcpy", &(uint64_t[]){(uintptr_t)to, (uintptr_t)from, bytes}, NULL);
    int result = copy("cuMemcpy", f.correlation, bytes, kind, NULL, fake_host_kind(to, from));
    wait_until(default_stream[device].free_at);
    return finish(&f, result);
}

FAKE_API int cuMemBatchDecompressAsync(size_t bytes, size_t count, void *stream)
{
    need_context();
    struct frame f = begin(1, "cuMemBatchDecompressAsync", NULL, NULL);
    struct fake_activity a = {.kind = FAKE_DECOMPRESS,
                              .correlation = f.correlation,
                              .bytes = bytes,
                              .operation = (uint32_t)count};
    submit(stream_of(stream), &a);
    return finish(&f, 0);
}

FAKE_API int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                            size_t bytes)
{
    need_context();
    uint64_t parameters[] = {(uintptr_t)to, (unsigned)to_device, (uintptr_t)from,
                             (unsigned)from_device, bytes};
    struct frame f = begin(2, "cudaMemcpyPeer", parameters, NULL);
    struct fake_activity a = {.kind = FAKE_PEER,
                              .correlation = f.correlation,
                              .bytes = bytes,
                              .copy_kind = 10,
                              .from = 3,
                              .to = 3,
                              .peer = (uint32_t)to_device};
    submit(&default_stream[from_device], &a);
    return finish(&f, 0);
}

FAKE_API int cudaMemset(void *at, int value, size_t bytes)
{
    need_context();
    struct frame f =
        begin(2, "cudaMemset", &(uint64_t[]){(uintptr_t)at, (unsigned)value, bytes}, NULL);
    struct fake_activity a = {
        .kind = FAKE_SET, .correlation = f.correlation, .bytes = bytes, .memory_kind = 3};
    submit(&default_stream[device], &a);
    return finish(&f, 0);
}

static int allocate(const char *name, void **at, size_t bytes, uint64_t pool, uint32_t kind)
{
    need_context();
    struct frame f = begin(2, name, &(uint64_t[]){(uintptr_t)at, bytes}, NULL);
    *at = (void *)(uintptr_t)__atomic_fetch_add(&addresses, (bytes + 511) & ~511ull,
                                                __ATOMIC_RELAXED);
    last = (struct fake_activity){.kind = FAKE_MEMORY,
                                  .correlation = f.correlation,
                                  .device = (uint32_t)device,
                                  .context = (uint32_t)device + 1,
                                  .start = now(),
                                  .bytes = bytes,
                                  .address = (uintptr_t)*at,
                                  .pool = pool,
                                  .operation = 1,
                                  .memory_kind = kind};
    put(&last);
    return finish(&f, 0);
}

FAKE_API int cudaMalloc(void **at, size_t bytes)
{
    return allocate("cudaMalloc", at, bytes, 0, 3);
}

FAKE_API int cudaMallocManaged(void **at, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate("cudaMallocManaged", at, bytes, 0, 5);
}

FAKE_API int cudaMallocAsync(void **at, size_t bytes, void *stream)
{
    static int pool_made;
    (void)stream;
    need_context();
    if (!__atomic_exchange_n(&pool_made, 1, __ATOMIC_RELAXED))
        put(&(struct fake_activity){
            .kind = FAKE_POOL, .operation = 1, .address = 0x600000000000, .start = now()});
    return allocate("cudaMallocAsync", at, bytes, 0x600000000000, 3);
}

FAKE_API int cudaFree(void *at)
{
    need_context();
    struct frame f = begin(2, "cudaFree", NULL, NULL);
    put(&(struct fake_activity){.kind = FAKE_MEMORY,
                                .correlation = f.correlation,
                                .start = now(),
                                .address = (uintptr_t)at,
                                .operation = 2,
                                .memory_kind = 3});
    return finish(&f, 0);
}

FAKE_API int cudaSetDevice(int d)
{
    cuInit(0);
    struct frame f = begin(2, "cudaSetDevice", NULL, NULL);
    if (d < 0 || d >= DEVICES)
        return finish(&f, 101); /* cudaErrorInvalidDevice */
    device = d;
    need_context();
    return finish(&f, 0);
}

FAKE_API int cudaStreamCreate(void **out)
{
    need_context();
    struct stream *s = calloc(1, sizeof *s);
    s->id = __atomic_fetch_add(&streams, 1, __ATOMIC_RELAXED);
    s->device = (uint32_t)device;
    put(&(struct fake_activity){
        .kind = FAKE_STREAM, .context = (uint32_t)device + 1, .stream = s->id});
    *out = s;
    return 0;
}

static int synchronise(const char *name, struct stream *s)
{
    need_context();
    struct frame f = begin(2, name, NULL, NULL);
    struct fake_activity a = {.kind = FAKE_SYNC,
                              .correlation = f.correlation,
                              .context = (uint32_t)device + 1,
                              .stream = s->id,
                              .start = now()};
    wait_until(s->free_at);
    a.end = now();
    put(&a);
    put(&(struct fake_activity){.kind = FAKE_UNIFIED,
                                .start = a.end - 70,
                                .end = a.end,
                                .bytes = 65536,
                                .address = 0x1000});
    return finish(&f, 0);
}

FAKE_API int cudaDeviceSynchronize(void)
{
    return synchronise("cudaDeviceSynchronize", &default_stream[device]);
}

FAKE_API int cudaStreamSynchronize(void *stream)
{
    return synchronise("cudaStreamSynchronize", stream_of(stream));
}

FAKE_API int cudaStreamBeginCapture(void *stream, int mode)
{
    (void)mode;
    struct frame f = begin(2, "cudaStreamBeginCapture", NULL, NULL);
    struct graph *g = calloc(1, sizeof *g);
    g->id = ++graphs;
    stream_of(stream)->capturing = g;
    return finish(&f, 0);
}

FAKE_API int cudaStreamEndCapture(void *stream, void **graph)
{
    struct frame f = begin(2, "cudaStreamEndCapture", NULL, NULL);
    *graph = stream_of(stream)->capturing;
    stream_of(stream)->capturing = NULL;
    return finish(&f, 0);
}

FAKE_API int cudaGraphInstantiate(void **executable, void *graph, unsigned long long flags)
{
    (void)flags;
    struct frame f = begin(2, "cudaGraphInstantiate", NULL, NULL);
    struct graph *from = graph, *g = malloc(sizeof *g);
    *g = *from;
    g->id = ++graphs;
    for (int i = 0; i < g->count; i++) {
        g->nodes[i].id = ++nodes;
        g->nodes[i].graph = g->id;
        resource(20, &g->nodes[i], &from->nodes[i], 0);
    }
    *executable = g;
    return finish(&f, 0);
}

FAKE_API int cudaGraphLaunch(void *executable, void *stream)
{
    struct frame f = begin(2, "cudaGraphLaunch", NULL, NULL);
    struct graph *g = executable;
    for (int i = 0; i < g->count; i++) {
        struct fake_activity a = g->nodes[i].work;
        a.correlation = f.correlation;
        a.runtime_correlation = 0;
        a.graph = g->id;
        a.graph_node = g->nodes[i].id;
        enqueue(stream_of(stream), &a);
    }
    return finish(&f, 0);
}
