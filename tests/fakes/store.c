#include "sampling.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiler/capture/recorders/cuda/cupti_records.h"
#include "profiler/capture/recorders/cuda/cupti_records_graph.h"

cupti_request *store_request;
cupti_complete *store_complete;
uint64_t (*store_clock)(void);
uint8_t store_enabled[64], store_latency, store_hw_trace;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *buffer;
static size_t buffer_bytes, used, records;
static size_t dropped; /* atomic: clients ask on any thread, also while they take a buffer */
static uint64_t works;

static long (*option_of)(const char *, long);

long store_option(const char *key, long otherwise)
{
    void *symbol = option_of ? NULL : dlsym(RTLD_DEFAULT, "fake_option");
    if (symbol)
        memcpy(&option_of, &symbol, sizeof symbol);
    return option_of ? option_of(key, otherwise) : otherwise;
}

uint64_t store_now(void)
{
    struct timespec t;
    if (store_clock)
        return store_clock();
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec +
           (uint64_t)(works > 100 ? store_option("jump", 0) : 0);
}

static sem_t to_deliver, delivered;
static struct {
    uint8_t *buffer;
    size_t bytes, used;
} parcel;

static void *postman(void *unused)
{
    for (;;) {
        while (sem_wait(&to_deliver))
            ;
        store_complete(NULL, 0, parcel.buffer, parcel.bytes, parcel.used);
        sem_post(&delivered);
    }
    return unused;
}

/* With the lock held. */
static void deliver(void)
{
    static pthread_t thread;
    if (!buffer)
        return;
    if (store_option("deliver", 0)) {
        if (!thread) {
            sem_init(&to_deliver, 0, 0);
            sem_init(&delivered, 0, 0);
            pthread_create(&thread, NULL, postman, NULL);
        }
        parcel.buffer = buffer, parcel.bytes = buffer_bytes, parcel.used = used;
        sem_post(&to_deliver);
        while (sem_wait(&delivered))
            ;
    } else {
        store_complete(NULL, 0, buffer, buffer_bytes, used);
    }
    buffer = NULL;
}

static void append(const void *record, size_t known, size_t length)
{
    static int hoarded;
    for (; !hoarded && store_option("buffers", 0); hoarded = 1)
        for (long i = store_option("buffers", 0); i > 0; i--) {
            uint8_t *kept = NULL;
            size_t n, r;
            store_request(&kept, &n, &r);
        }
    if (buffer && used + length > buffer_bytes)
        deliver();
    if (!buffer) {
        used = 0;
        store_request(&buffer, &buffer_bytes, &records);
    }
    if (!buffer || buffer_bytes < length) {
        __atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
        return;
    }
    memset(buffer + used, 0x5a, length); /* what a client must not take for fields it knows */
    memcpy(buffer + used, record, known < length ? known : length);
    used += length;
}

/* Lengths of the records of CUDA 11.2, 12.0, 13.0 and of one to come. */
static const struct length {
    uint8_t kind;
    uint16_t of[4];
} lengths[] = {
    {CUPTI_KERNEL, {160, 200, 216, 264}},       {CUPTI_MEMCPY, {72, 80, 96, 128}},
    {CUPTI_MEMCPY_PEER, {80, 88, 96, 112}},     {CUPTI_MEMSET, {72, 80, 88, 104}},
    {CUPTI_MEMORY, {120, 120, 128, 160}},       {CUPTI_MEMORY_POOL, {72, 72, 80, 96}},
    {CUPTI_DEVICE, {176, 176, 184, 240}},       {CUPTI_CONTEXT, {16, 16, 40, 64}},
    {CUPTI_STREAM, {24, 24, 24, 32}},           {CUPTI_SYNC, {40, 48, 56, 72}},
    {CUPTI_OVERHEAD, {40, 48, 56, 80}},         {CUPTI_JIT, {64, 64, 72, 96}},
    {CUPTI_UNIFIED_MEMORY, {64, 64, 104, 120}}, {CUPTI_GRAPH, {48, 56, 56, 72}},
    {CUPTI_DEVICE_GRAPH, {56, 56, 56, 72}},     {CUPTI_DECOMPRESS, {64, 64, 64, 80}},
};

size_t store_length(uint32_t kind)
{
    long layout = store_option("layout", 13);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (lengths[i].kind == kind)
            return lengths[i].of[layout < 11 || layout > 14 ? 2 : layout - 11];
    return 48; /* of a kind that is unknown */
}

union any {
    uint32_t kind;
    struct cupti_kernel kernel;
    struct cupti_memcpy memcpy;
    struct cupti_memcpy_peer peer;
    struct cupti_memset memset;
    struct cupti_memory memory;
    struct cupti_memory_pool pool;
    struct cupti_device device;
    struct cupti_context context;
    struct cupti_stream stream;
    struct cupti_sync sync;
    struct cupti_overhead overhead;
    struct cupti_jit jit;
    struct cupti_unified_memory unified;
    struct cupti_graph_run graph;
    struct cupti_device_graph_run device_graph;
    struct cupti_decompress decompress;
};

static size_t fill_work(union any *r, const struct fake_activity *a)
{
    switch (a->kind) {
    case FAKE_KERNEL:
        r->kernel =
            (struct cupti_kernel){CUPTI_KERNEL,
                                  .registers = 32,
                                  .start = a->start,
                                  .end = a->end,
                                  .device = a->device,
                                  .context = a->context,
                                  .stream = a->stream,
                                  .grid = {(int)a->grid, 1, 1},
                                  .block = {(int)a->block, 1, 1},
                                  .static_shared = strstr(a->name, "backproject") ? 2048 : 0,
                                  .correlation = a->correlation,
                                  .name = a->name,
                                  .queued = store_latency ? a->queued : 0,
                                  .submitted = store_latency ? a->submitted : 0,
                                  .shared_executed = store_hw_trace ? 32768 : 65536,
                                  .graph_node = a->graph_node,
                                  .graph = a->graph,
                                  .local_total = 7,
                                  .local_total_64 = 9};
        return sizeof r->kernel;
    case FAKE_COPY:
        r->memcpy = (struct cupti_memcpy){CUPTI_MEMCPY,
                                          a->copy_kind,
                                          a->from,
                                          a->to,
                                          1,
                                          a->bytes,
                                          a->start,
                                          a->end,
                                          a->device,
                                          a->context,
                                          a->stream,
                                          a->correlation,
                                          a->runtime_correlation,
                                          0,
                                          NULL,
                                          a->graph_node,
                                          a->graph,
                                          .copies = 1};
        return sizeof r->memcpy;
    case FAKE_PEER:
        r->peer = (struct cupti_memcpy_peer){
            CUPTI_MEMCPY_PEER, a->copy_kind,     a->from,    a->to,     1,
            a->bytes,          a->start,         a->end,     a->device, a->context,
            a->stream,         a->device,        a->context, a->peer,   a->peer + 1,
            a->correlation,    .graph = a->graph};
        return sizeof r->peer;
    case FAKE_SET:
        r->memset = (struct cupti_memset){CUPTI_MEMSET,
                                          0,
                                          a->bytes,
                                          a->start,
                                          a->end,
                                          a->device,
                                          a->context,
                                          a->stream,
                                          a->correlation,
                                          0,
                                          (uint16_t)a->memory_kind,
                                          .graph = a->graph};
        return sizeof r->memset;
    default:
        r->sync = (struct cupti_sync){CUPTI_SYNC,     3,          a->start,  a->end,
                                      a->correlation, a->context, a->stream, 0};
        return sizeof r->sync;
    }
}

static size_t fill(union any *r, const struct fake_activity *a)
{
    switch (a->kind) {
    case FAKE_MEMORY:
        r->memory = (struct cupti_memory){CUPTI_MEMORY,
                                          a->operation,
                                          a->memory_kind,
                                          a->correlation,
                                          a->address,
                                          a->bytes,
                                          a->start,
                                          .device = a->device,
                                          .context = a->context,
                                          .pool_type = a->pool ? 1 : 0,
                                          .pool = a->pool,
                                          .pool_size = a->pool ? 1 << 25 : 0,
                                          .pool_used = a->bytes};
        return sizeof r->memory;
    case FAKE_POOL:
        r->pool = (struct cupti_memory_pool){
            CUPTI_MEMORY_POOL,     a->operation,    1,
            .address = a->address, .size = 1 << 25, .timestamp = a->start};
        return sizeof r->pool;
    case FAKE_DEVICE:
        r->device = (struct cupti_device){CUPTI_DEVICE,
                                          .bandwidth = 1000000,
                                          .memory = 8ull << 30,
                                          .warp = 32,
                                          .clock = 1500000,
                                          .multiprocessors = 20,
                                          .warps_per_sm = 48,
                                          .blocks_per_sm = 24,
                                          .shared_per_sm = 102400,
                                          .registers_per_sm = 65536,
                                          .shared_per_block = 49152,
                                          .major = 8,
                                          .minor = 6,
                                          .id = a->device,
                                          .uuid = {(uint8_t)a->device, 1, 2, 3},
                                          .name = a->name};
        return sizeof r->device;
    case FAKE_OVERHEAD:
        r->overhead = (struct cupti_overhead){CUPTI_OVERHEAD, 5 << 16, .start = a->start,
                                              .end = a->end, .correlation = a->correlation};
        if (store_option("full", 0)) {
            r->overhead.overhead = CUPTI_COMMAND_BUFFER_FULL;
            r->overhead.data = malloc(24); /* the client's to free */
        }
        return sizeof r->overhead;
    case FAKE_JIT:
        r->jit = (struct cupti_jit){CUPTI_JIT, 1, 3, a->device, a->start, a->end, a->correlation};
        return sizeof r->jit;
    case FAKE_UNIFIED:
        r->unified = (struct cupti_unified_memory){
            CUPTI_UNIFIED_MEMORY, 1, a->bytes, a->start, a->end, a->address, .to = 1};
        return sizeof r->unified;
    case FAKE_GRAPH:
        r->graph = (struct cupti_graph_run){CUPTI_GRAPH, a->correlation, a->start,   a->end,
                                            a->device,   a->graph,       a->context, a->stream};
        return sizeof r->graph;
    case FAKE_DEVICE_GRAPH:
        r->device_graph = (struct cupti_device_graph_run){
            CUPTI_DEVICE_GRAPH, a->device, a->start,   a->end,   a->graph + 100,
            a->graph,           1,         a->context, a->stream};
        return sizeof r->device_graph;
    case FAKE_DECOMPRESS:
        r->decompress = (struct cupti_decompress){CUPTI_DECOMPRESS,
                                                  a->device,
                                                  a->context,
                                                  a->stream,
                                                  .correlation = a->correlation,
                                                  .operations = a->operation,
                                                  .bytes = a->bytes,
                                                  .start = a->start,
                                                  .end = a->end};
        return sizeof r->decompress;
    case FAKE_CONTEXT:
        r->context =
            (struct cupti_context){CUPTI_CONTEXT, a->context, a->device, 1, (uint16_t)a->stream};
        return sizeof r->context;
    case FAKE_STREAM:
        r->stream = (struct cupti_stream){CUPTI_STREAM, a->context, a->stream, 0, 1};
        return sizeof r->stream;
    default:
        return fill_work(r, a);
    }
}

static void emit(const struct fake_activity *a)
{
    union any r = {0};
    struct fake_activity copy = *a;
    int work =
        copy.end && a->kind != FAKE_OVERHEAD && a->kind != FAKE_JIT && a->kind != FAKE_UNIFIED;
    if (work)
        works++;
    long lose = store_option("lose", 0), steal = store_option("steal", 0);
    if (work && ((lose && works == (uint64_t)lose) || (steal && works > (uint64_t)steal)))
        return;
    if (work && store_option("zero", 0) && works % (uint64_t)store_option("zero", 0) == 0)
        copy.start = copy.end = 0;
    size_t known = fill(&r, &copy);
    append(&r, known, store_length(a->kind));
    if (work && store_option("unknown", 0) && works % (uint64_t)store_option("unknown", 0) == 0) {
        uint32_t strange[2] = {61, 0};
        append(strange, sizeof strange, store_length(61));
    }
}

/* A mixed order: works wait in a window of 8 and leave it in turns. */
static struct fake_activity window[8];
static uint8_t in_window[8];

static void empty_window(void)
{
    for (int i = 7; i >= 0; i--)
        if (in_window[i]) {
            emit(&window[i]);
            in_window[i] = 0;
        }
}

/* The launch of a graph whose nodes are adding up to one record. */
static struct fake_activity whole;

static void emit_whole(void)
{
    if (!whole.end)
        return;
    emit(&whole);
    whole.kind = FAKE_DEVICE_GRAPH;
    if (store_option("device_graph", 0) && store_enabled[FAKE_DEVICE_GRAPH])
        emit(&whole);
    whole.end = 0;
}

void store_activity(const struct fake_activity *a)
{
    static unsigned turn;
    if (!store_request || a->kind >= sizeof store_enabled || !store_enabled[a->kind])
        return;
    if (a->kind == FAKE_KERNEL)
        sampling_launch(a->name);
    pthread_mutex_lock(&lock);
    const int node = a->graph && store_enabled[FAKE_GRAPH];
    if (!node || whole.correlation != a->correlation)
        emit_whole();
    if (node) {
        const uint64_t start = whole.end ? whole.start : a->start;
        whole = *a;
        whole.kind = FAKE_GRAPH;
        whole.start = start;
    } else if (a->end && store_option("shuffle", 0)) {
        unsigned i = (turn += 5) % 8;
        if (in_window[i])
            emit(&window[i]);
        window[i] = *a;
        in_window[i] = 1;
    } else {
        emit(a);
    }
    pthread_mutex_unlock(&lock);
}

size_t store_dropped(void)
{
    return __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
}

void store_flush(void)
{
    pthread_mutex_lock(&lock);
    emit_whole();
    empty_window();
    deliver();
    pthread_mutex_unlock(&lock);
}

int store_pending(void)
{
    pthread_mutex_lock(&lock);
    int waiting = buffer != NULL || whole.end;
    for (int i = 0; i < 8; i++)
        waiting |= in_window[i];
    pthread_mutex_unlock(&lock);
    return waiting;
}
