/* Bookkeeping that all back ends share: declared work and peak memory. */
#include "host/backend/backend.h"
#include "host/backend/checks.h"

struct work backend_take_work(struct backend *be)
{
    struct work w = be->declared;
    be->declared = (struct work){0};
    return w;
}

void backend_reset_peak(struct backend *be)
{
    be->device_peak = be->device_bytes;
}

void backend_declare(struct backend *be, double flops, double bytes_min, double bytes_ideal_cache)
{
    be->declared.flops += flops;
    be->declared.bytes_min += bytes_min;
    be->declared.bytes_ideal_cache += bytes_ideal_cache;
}

/* Checks of pixel lists and sizes of buffers. */

int pixels_ascend(const struct pixel_set *pixels)
{
    for (int64_t q = 1; pixels->indices && q < pixels->count; q++)
        if (pixels->indices[q] <= pixels->indices[q - 1])
            return 0;
    return 1;
}

enum err backend_check_sizes(const char *what, size_t read, size_t written, const struct buffer *in,
                             const struct buffer *out)
{
    FAIL_IF(in->bytes < read || out->bytes < written, ERR_INTERNAL,
            "%s of %zu and %zu bytes with buffers of %zu and %zu", what, read, written, in->bytes,
            out->bytes);
    return ERR_OK;
}

enum err backend_check_buffers(const char *what, size_t read, size_t written,
                               const struct buffer *in, const struct buffer *out)
{
    TRY(backend_check_sizes(what, read, written, in, out));
    FAIL_IF(in->ptr == out->ptr, ERR_INTERNAL, "%s cannot work in place", what);
    return ERR_OK;
}
