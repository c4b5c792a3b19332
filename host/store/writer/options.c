/* Applies the options of `convert` to an array and to a format. */
#include "host/store/writer/writer.h"

enum err writer_order(const struct writer_options *o, int dims, int from[STORE_DIMS])
{
    int seen = 0;
    FAIL_IF(o->order_dims != dims, ERR_USAGE, "`order` has %d numbers; the array has %d dimensions",
            o->order_dims, dims);
    for (int i = 0; i < dims; i++) {
        FAIL_IF(o->order[i] < 0 || o->order[i] >= dims || seen >> o->order[i] & 1, ERR_USAGE,
                "`order`: give each of the dimensions 0 to %d once", dims - 1);
        seen |= 1 << o->order[i];
        from[i] = o->order[i];
    }
    return ERR_OK;
}

enum err writer_deflate_level(const struct writer *w, int usual, int *level)
{
    const struct writer_options *o = w->options;
    FAIL_IF(o->has_codec && o->codec.codec == CODEC_ZSTD, ERR_USAGE,
            "`codec=zstd`: %s is read by programs that know gzip alone; take gzip:N", w->path);
    *level = o->raw ? 0 : o->has_codec ? o->codec.level : usual;
    return ERR_OK;
}

int writer_keeps_members(const struct writer *w)
{
    const struct store_dtype from = w->source->dtype;
    return w->source->members_count && from.kind == w->type.kind && from.bytes == w->type.bytes;
}
