/* Arrays between the host and the device. Large ones pass through two pinned buffers, one of which
 * is copied by the host while the other is on its way: the driver's own way for memory that is not
 * pinned is a copy of its own, one piece after the other. */
#include <stdlib.h>
#include <string.h>

#include "cuda/common/device.cuh"

extern "C" {
#include "host/backend/streams.h"
}

#define SLOTS      2
#define SLOT_BYTES ((size_t)16 << 20)
#define LARGE      ((size_t)32 << 20)
#define PAGE       ((size_t)4096) /* pinned memory shares no page with other pinned memory */

struct transfer_ring {
    char *host[SLOTS];
    struct fence *moved[SLOTS];
};

static void free_ring(struct cuda_backend *be)
{
    const struct backend_streams *const streams = be->base.ops->streams;
    for (int i = 0; be->ring && i < SLOTS; i++) {
        if (be->ring->host[i])
            streams->unpin(&be->base, be->ring->host[i]);
        free(be->ring->host[i]);
        streams->fence_free(be->ring->moved[i]);
    }
    free(be->ring);
    be->ring = NULL;
}

const struct device_cache transfer_ring_cache = {free_ring, 0, NULL, NULL};

static enum err ring_fill(struct cuda_backend *be)
{
    const struct backend_streams *const streams = be->base.ops->streams;
    for (int i = 0; i < SLOTS; i++) {
        char *const host = static_cast<char *>(aligned_alloc(PAGE, SLOT_BYTES));
        FAIL_IF(!host, ERR_MEMORY, "no memory for copies of large arrays");
        const enum err e = streams->pin(&be->base, host, SLOT_BYTES);
        if (e)
            free(host);
        TRY(e);
        be->ring->host[i] = host;
        TRY(streams->fence_create(&be->base, &be->ring->moved[i]));
    }
    return ERR_OK;
}

static enum err hold_ring(struct cuda_backend *be)
{
    if (be->ring)
        return ERR_OK;
    be->ring = static_cast<struct transfer_ring *>(calloc(1, sizeof *be->ring));
    FAIL_IF(!be->ring, ERR_MEMORY, "no memory for copies of large arrays");
    const enum err e = ring_fill(be);
    if (e)
        free_ring(be);
    return e;
}

static size_t slot_piece(size_t at, size_t bytes)
{
    return bytes - at < SLOT_BYTES ? bytes - at : SLOT_BYTES;
}

static enum err upload_large(struct cuda_backend *be, const char *host, size_t bytes,
                             struct buffer *out)
{
    const struct backend_streams *const streams = be->base.ops->streams;
    int slot = 0;
    TRY(hold_ring(be));
    for (size_t at = 0; at < bytes; at += SLOT_BYTES, slot = (slot + 1) % SLOTS) {
        TRY(streams->fence_await(&be->base, be->ring->moved[slot]));
        memcpy(be->ring->host[slot], host + at, slot_piece(at, bytes));
        TRY(streams->send(&be->base, be->ring->host[slot], slot_piece(at, bytes), out, at));
        TRY(streams->fence_set(&be->base, be->ring->moved[slot], STREAM_UPLOAD));
    }
    return streams->finish(&be->base);
}

static enum err download_large(struct cuda_backend *be, const struct buffer *b, size_t bytes,
                               char *host)
{
    const struct backend_streams *const streams = be->base.ops->streams;
    TRY(hold_ring(be));
    TRY(cuda_sync(&be->base));
    for (size_t at = 0, slot = 0; at < bytes + SLOT_BYTES; at += SLOT_BYTES) {
        const size_t before = at - SLOT_BYTES;
        if (at < bytes) {
            TRY(streams->receive(&be->base, b, at, slot_piece(at, bytes), be->ring->host[slot]));
            TRY(streams->fence_set(&be->base, be->ring->moved[slot], STREAM_DOWNLOAD));
        }
        slot = (slot + 1) % SLOTS;
        if (at > 0 && before < bytes) {
            TRY(streams->fence_await(&be->base, be->ring->moved[slot]));
            memcpy(host + before, be->ring->host[slot], slot_piece(before, bytes));
        }
    }
    return ERR_OK;
}

enum err cuda_upload(struct backend *base, const void *host, size_t bytes, struct buffer *out)
{
    struct cuda_backend *be = device_of(base);
    enum err e;
    TRY(cuda_alloc(base, "an array to compute with", bytes, out));
    mark_push("upload", bytes);
    if (bytes > LARGE) {
        e = upload_large(be, static_cast<const char *>(host), bytes, out);
    } else {
        const cudaError_t code =
            cudaMemcpyAsync(out->ptr, host, bytes, cudaMemcpyHostToDevice, be->stream);
        e = code ? cuda_failed(code, "receiving an array") : cuda_sync(base);
        base->uploaded_bytes += e ? 0 : bytes;
    }
    mark_pop();
    if (e)
        cuda_release(base, out);
    return e;
}

enum err cuda_download(struct backend *base, const struct buffer *b, void *host, size_t bytes)
{
    struct cuda_backend *be = device_of(base);
    enum err e;
    FAIL_IF(bytes > b->bytes, ERR_INTERNAL, "download of %zu bytes from a buffer of %zu", bytes,
            b->bytes);
    mark_push("download", bytes);
    if (bytes > LARGE) {
        e = download_large(be, b, bytes, static_cast<char *>(host));
    } else {
        const cudaError_t code =
            cudaMemcpyAsync(host, b->ptr, bytes, cudaMemcpyDeviceToHost, be->stream);
        e = code ? cuda_failed(code, "sending a result") : cuda_sync(base);
        base->downloaded_bytes += e ? 0 : bytes;
    }
    mark_pop();
    return e;
}
