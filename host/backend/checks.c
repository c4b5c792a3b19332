/* Checks of pixel lists and sizes of buffers. */
#include "host/backend/checks.h"

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
