/* Copies beside computing: two streams for them, fences between the three, and pinned memory of the
 * host. Who plans what goes where: host/recon/slabs/pipeline.c. */
#include <stdlib.h>

#include "cuda/common/services.cuh"
#include "cuda/streams.cuh"

struct fence {
    cudaEvent_t event;
    int set;
};

static cudaStream_t cuda_stream_of(struct cuda_backend *be, enum stream_id stream)
{
    return stream == STREAM_COMPUTE ? be->stream : be->side[stream == STREAM_DOWNLOAD];
}

static void **unpinned_row(struct cuda_backend *be, const void *host)
{
    for (void *&p : be->unpinned)
        if (p == host)
            return &p;
    return NULL;
}

/* Memory that cannot be pinned (containers, WSL, a page that is pinned already) is copied all the
 * same, only more slowly: each copy is then waited for. */
static enum err streams_pin(struct backend *base, void *host, size_t bytes)
{
    void **free_row = unpinned_row(device_of(base), NULL);
    const cudaError_t code = cudaHostRegister(host, bytes, cudaHostRegisterDefault);
    if (!code)
        return ERR_OK;
    if (!free_row ||
        (code != cudaErrorMemoryAllocation && code != cudaErrorNotSupported &&
         code != cudaErrorOperatingSystem && code != cudaErrorHostMemoryAlreadyRegistered))
        return cuda_failed(code, "pinning memory of the host");
    cudaGetLastError();
    services->log_line(LOG_INFO, "memory of the host cannot be pinned (%s): copies take longer",
                       cudaGetErrorString(code));
    *free_row = host;
    return ERR_OK;
}

static void streams_unpin(struct backend *be, void *host)
{
    void **row = unpinned_row(device_of(be), host);
    if (row)
        *row = NULL;
    else
        let_pass(cudaHostUnregister(host));
}

/* The copy of `host` that was begun on this stream: waited for where that memory is not pinned. */
static enum err streams_begun(struct backend *be, const void *host, enum stream_id stream,
                              const char *doing)
{
    if (unpinned_row(device_of(be), host))
        TRY_CUDA(cudaStreamSynchronize(cuda_stream_of(device_of(be), stream)), doing);
    return ERR_OK;
}

static char *buffer_inside(const struct buffer *b, size_t at)
{
    return static_cast<char *>(b->ptr) + at;
}

static enum err streams_send(struct backend *be, const void *pinned, size_t bytes,
                             struct buffer *to, size_t at)
{
    FAIL_IF(at + bytes > to->bytes, ERR_INTERNAL, "%zu bytes at %zu of a buffer of %zu", bytes, at,
            to->bytes);
    TRY_CUDA(cudaMemcpyAsync(buffer_inside(to, at), pinned, bytes, cudaMemcpyHostToDevice,
                             cuda_stream_of(device_of(be), STREAM_UPLOAD)),
             "receiving an array");
    be->uploaded_bytes += bytes;
    return streams_begun(be, pinned, STREAM_UPLOAD, "receiving an array");
}

static enum err streams_receive(struct backend *be, const struct buffer *from, size_t at,
                                size_t bytes, void *pinned)
{
    FAIL_IF(at + bytes > from->bytes, ERR_INTERNAL, "%zu bytes at %zu of a buffer of %zu", bytes,
            at, from->bytes);
    TRY_CUDA(cudaMemcpyAsync(pinned, buffer_inside(from, at), bytes, cudaMemcpyDeviceToHost,
                             cuda_stream_of(device_of(be), STREAM_DOWNLOAD)),
             "sending a result");
    be->downloaded_bytes += bytes;
    return streams_begun(be, pinned, STREAM_DOWNLOAD, "sending a result");
}

static enum err fence_create(struct backend *, struct fence **out)
{
    struct fence *f = *out = static_cast<struct fence *>(calloc(1, sizeof *f));
    FAIL_IF(!f, ERR_MEMORY, "no memory for a fence");
    const cudaError_t code = cudaEventCreateWithFlags(&f->event, cudaEventDisableTiming);
    if (!code)
        return ERR_OK;
    free(f);
    *out = NULL;
    return cuda_failed(code, "preparing copies");
}

static void fence_free(struct fence *f)
{
    if (f)
        let_pass(cudaEventDestroy(f->event));
    free(f);
}

static enum err fence_set(struct backend *be, struct fence *f, enum stream_id stream)
{
    TRY_CUDA(cudaEventRecord(f->event, cuda_stream_of(device_of(be), stream)), "computing");
    f->set = 1;
    return ERR_OK;
}

static enum err fence_hold(struct backend *be, struct fence *f, enum stream_id stream)
{
    if (f->set)
        TRY_CUDA(cudaStreamWaitEvent(cuda_stream_of(device_of(be), stream), f->event, 0),
                 "computing");
    return ERR_OK;
}

static enum err fence_await(struct backend *, struct fence *f)
{
    if (f->set)
        TRY_CUDA(cudaEventSynchronize(f->event), "computing");
    return ERR_OK;
}

static enum err streams_finish(struct backend *be)
{
    for (int stream = 0; stream < STREAM_COUNT; stream++)
        TRY_CUDA(cudaStreamSynchronize(cuda_stream_of(device_of(be), (enum stream_id)stream)),
                 "computing");
    return ERR_OK;
}

static enum err streams_enter(struct backend *, int *outer)
{
    TRY_CUDA(cudaGetDevice(outer), "beginning a call");
    if (*outer != CUDA_DEVICE)
        TRY_CUDA(cudaSetDevice(CUDA_DEVICE), "beginning a call");
    return ERR_OK;
}

static void streams_leave(struct backend *, int outer)
{
    if (outer != CUDA_DEVICE)
        let_pass(cudaSetDevice(outer));
}

/* Finds where an address of the caller lies, in words; NULL: on this device. */
static enum err find_foreign(const void *p, const char **wrong)
{
    struct cudaPointerAttributes where;
    TRY_CUDA(cudaPointerGetAttributes(&where, p), "looking at an array of the caller");
    const int ours = where.type == cudaMemoryTypeManaged ||
                     (where.type == cudaMemoryTypeDevice && where.device == CUDA_DEVICE);
    *wrong = ours                                 ? NULL
             : where.type == cudaMemoryTypeDevice ? "memory of another GPU"
             : where.type == cudaMemoryTypeHost   ? "pinned memory of the host"
                                                  : "not memory of a GPU";
    return ERR_OK;
}

static enum err streams_take_foreign(struct backend *be, const char *name, const void *p,
                                     size_t bytes, void *stream)
{
    const char *const first = static_cast<const char *>(p), *wrong;
    TRY(find_foreign(first, &wrong));
    FAIL_IF(wrong, ERR_USAGE,
            "%s: the address %p is %s; expected memory of the GPU that the context computes on, "
            "device %d (%s)",
            name, p, wrong, CUDA_DEVICE, be->device);
    TRY(find_foreign(first + (bytes ? bytes - 1 : 0), &wrong));
    FAIL_IF(wrong, ERR_USAGE,
            "%s: the address %p is memory of the GPU, but its last byte, %zu further, is %s; pass "
            "the whole array",
            name, p, bytes - 1, wrong);
    TRY_CUDA(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "waiting for the caller");
    return ERR_OK;
}

#define THREADS 256

static __global__ void __launch_bounds__(THREADS)
    accumulate_kernel(const float *from, float *to, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        to[i] += from[i];
}

static enum err streams_accumulate(struct backend *base, int64_t n, const struct buffer *from,
                                   struct buffer *to)
{
    struct cuda_backend *be = device_of(base);
    LAUNCH(be, accumulate_kernel, ceil_div(n, THREADS), THREADS, 0,
           static_cast<const float *>(floats_of(from)), floats_of(to), n);
    return ERR_OK;
}

const struct backend_streams cuda_streams = {
    device_room,          memory_of_call,     device_refuse,  streams_pin,   streams_unpin,
    streams_send,         streams_receive,    fence_create,   fence_free,    fence_set,
    fence_hold,           fence_await,        streams_finish, streams_enter, streams_leave,
    streams_take_foreign, streams_accumulate,
};

enum err streams_open(struct cuda_backend *be)
{
    struct cudaFuncAttributes code; /* of a kernel: is there any for this GPU? */
    TRY_CUDA(cudaFuncGetAttributes(&code, accumulate_kernel), "being opened");
    for (cudaStream_t &side : be->side)
        TRY_CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), "being opened");
    return ERR_OK;
}

void streams_close(struct cuda_backend *be)
{
    for (cudaStream_t &side : be->side)
        if (side)
            let_pass(cudaStreamDestroy(side));
}
