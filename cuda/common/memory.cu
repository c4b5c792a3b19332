/* Device memory: refused with both numbers before the driver is asked, counted, kept between calls
 * where a call needs scratch. */
#include <string.h>

#include "cuda/common/device.cuh"
#include "cuda/common/services.cuh"

enum err device_available(const struct cuda_backend *be, size_t *out)
{
    size_t free_bytes = 0, total = 0;
    TRY_CUDA(cudaMemGetInfo(&free_bytes, &total), "asking for its free memory");
    *out = free_bytes;
    if (be->limit) {
        const size_t held = be->base.device_bytes;
        const size_t left = held < be->limit ? be->limit - held : 0;
        *out = left < free_bytes ? left : free_bytes;
    }
    return ERR_OK;
}

static enum err memory_refuse(const struct cuda_backend *be, const char *what, size_t bytes,
                              size_t left)
{
    char need[16], have[16];
    return FAIL(ERR_MEMORY,
                "%s needs %s of GPU memory, %s available%s: use a smaller size or "
                "`backend=cpu`",
                what, services->human((double)bytes, need), services->human((double)left, have),
                be->limit ? " (limited by `device_memory`)" : "");
}

enum err device_refuse(struct backend *base, const char *what, size_t need, const char *advice)
{
    const struct cuda_backend *be = device_of(base);
    char needs[16], have[16];
    size_t left = 0;
    TRY(device_available(be, &left));
    return FAIL(ERR_MEMORY, "%s needs %s of GPU memory, %s available%s: %s", what,
                services->human((double)need, needs), services->human((double)left, have),
                be->limit ? " (limited by `device_memory`)" : "", advice);
}

/* The driver's own tables grow while kernels are loaded: a part of its free memory is left to it.
 */
#define DRIVER_SHARE 32

enum err device_room(struct backend *base, size_t *bytes)
{
    struct cuda_backend *be = device_of(base);
    struct workspace *const left[] = {&be->scratch, &be->partial, &be->views};
    for (struct workspace *w : left)
        workspace_drop(be, w);
    for (const struct device_cache *const *c = be->caches; *c; c++)
        if ((*c)->rebuilt)
            (*c)->free(be);
    TRY(device_available(be, bytes));
    if (!be->limit)
        *bytes -= *bytes / DRIVER_SHARE;
    return ERR_OK;
}

/* Frees caches that nobody reads now; returns 1 if there were some. */
static int caches_shrink(struct cuda_backend *be)
{
    int some = 0;
    for (const struct device_cache *const *c = be->caches; *c; c++)
        if ((*c)->shrink)
            some |= (*c)->shrink(be);
    return some;
}

void caches_forget(struct cuda_backend *be, int64_t serial)
{
    for (const struct device_cache *const *c = be->caches; *c; c++)
        if ((*c)->forget)
            (*c)->forget(be, serial);
}

enum err device_alloc(struct cuda_backend *be, const char *what, size_t bytes, void **out)
{
    size_t left = 0;
    *out = NULL;
    TRY(device_available(be, &left));
    if (bytes > left && caches_shrink(be))
        TRY(device_available(be, &left));
    if (bytes > left)
        return memory_refuse(be, what, bytes, left);
    const cudaError_t code = cudaMalloc(out, bytes ? bytes : 1);
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError(); /* this error does not stick */
        return memory_refuse(be, what, bytes, left);
    }
    if (code != cudaSuccess)
        return cuda_failed(code, "allocating memory");
    be->base.device_bytes += bytes;
    if (be->base.device_peak < be->base.device_bytes)
        be->base.device_peak = be->base.device_bytes;
    return ERR_OK;
}

void device_free(struct cuda_backend *be, void *ptr, size_t bytes)
{
    if (!ptr)
        return;
    let_pass(cudaFree(ptr));
    be->base.device_bytes -= bytes;
}

enum err workspace_hold(struct cuda_backend *be, const char *what, size_t bytes,
                        struct workspace *w)
{
    if (bytes <= w->bytes && w->ptr)
        return ERR_OK;
    workspace_drop(be, w);
    TRY(device_alloc(be, what, bytes, &w->ptr));
    w->bytes = bytes;
    return ERR_OK;
}

void workspace_drop(struct cuda_backend *be, struct workspace *w)
{
    device_free(be, w->ptr, w->bytes);
    *w = workspace{};
}

/* When CUDA reads memory that is not pinned is not promised: small tables wait in pinned memory,
 * large ones are waited for. */
enum err device_put(struct cuda_backend *be, void *to, const void *from, size_t bytes)
{
    const int small = bytes <= TABLE_ROOM;
    if (!bytes)
        return ERR_OK;
    if (small && bytes > TABLE_ROOM - be->tables_used)
        TRY(cuda_sync(&be->base));
    if (small) {
        from = memcpy(be->tables + be->tables_used, from, bytes);
        be->tables_used += bytes;
    }
    TRY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, be->stream),
             "receiving a table");
    return small ? ERR_OK : cuda_sync(&be->base);
}

enum err cuda_alloc(struct backend *be, const char *what, size_t bytes, struct buffer *out)
{
    *out = buffer{PLACE_DEVICE, 1, bytes, NULL};
    return device_alloc(device_of(be), what, bytes, &out->ptr);
}

void cuda_release(struct backend *be, struct buffer *b)
{
    if (b->owned)
        device_free(device_of(be), b->ptr, b->bytes);
    *b = buffer{};
}

enum err cuda_sync(struct backend *be)
{
    TRY_CUDA(cudaStreamSynchronize(device_of(be)->stream), "computing");
    device_of(be)->tables_used = 0;
    return ERR_OK;
}

enum err cuda_zero(struct backend *be, struct buffer *b)
{
    if (b->bytes)
        TRY_CUDA(cudaMemsetAsync(b->ptr, 0, b->bytes, device_of(be)->stream), "clearing memory");
    return ERR_OK;
}

enum err cuda_copy(struct backend *be, const struct buffer *from, struct buffer *to)
{
    FAIL_IF(from->bytes != to->bytes, ERR_INTERNAL, "copy of %zu bytes into a buffer of %zu",
            from->bytes, to->bytes);
    if (from->bytes && from->ptr != to->ptr)
        TRY_CUDA(cudaMemcpyAsync(to->ptr, from->ptr, from->bytes, cudaMemcpyDeviceToDevice,
                                 device_of(be)->stream),
                 "copying memory");
    return ERR_OK;
}
