/* Arrays as .npy: the header, then slabs as they come. */
#include <stdio.h>
#include <string.h>

#include "host/store/writer/bricks.h"

void writer_dtype(struct store_dtype t, char out[8])
{
    snprintf(out, 8, "%c%c%d", t.bytes == 1 ? '|' : '<', t.kind, t.bytes);
}

static enum err npy_begin(struct writer *w)
{
    char text[500], head[640], dtype[8];
    writer_dtype(w->type, dtype);
    int n =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", dtype);
    for (int i = 0; i < w->dims; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%lld%s", (long long)w->shape[i],
                      i + 1 < w->dims ? ", "
                      : w->dims == 1  ? ","
                                      : "");
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    const size_t total = ((size_t)(10 + n + 1) + 63) / 64 * 64;
    memset(head, ' ', total);
    memcpy(head, "\x93NUMPY\x01", 8);
    head[8] = (char)((total - 10) & 255);
    head[9] = (char)((total - 10) >> 8);
    memcpy(head + 10, text, (size_t)n);
    head[total - 1] = '\n';
    w->at = (int64_t)total;
    TRY(outfile_open(&w->file, w->path));
    snprintf(w->made, sizeof w->made, "%s", w->file.temporary ? w->file.temporary : "");
    return outfile_write(&w->file, head, total);
}

static enum err npy_slab(struct writer *w, int64_t first, int64_t count, const void *data)
{
    int64_t bytes = w->type.bytes * count;
    (void)first;
    for (int i = 1; i < w->dims; i++)
        bytes *= w->shape[i];
    return outfile_write(&w->file, data, (size_t)bytes);
}

static enum err npy_finish(struct writer *w, enum err e)
{
    return e ? e : outfile_flush(&w->file);
}

const struct writer_format write_npy = {.suffix = ".npy",
                                        .begin = npy_begin,
                                        .slab = npy_slab,
                                        .put = writer_put,
                                        .finish = npy_finish};
