/* Pipelines of codecs, in this process. */
#include <string.h>

#include "host/store/codec/children.h"
#include "host/store/codec/codecs.h"

static const struct {
    codec_fn *decode;
    int grows;
} table[] = {
#define X(name, text, function, grows) {function, grows},
    CODEC_LIST(X)
#undef X
};

#define SPARE_BYTES ((size_t)1 << 20) /* that a compressor may add to a chunk, and more */

static enum err codec_run_all(struct codec_worker *w, const struct codec_pipeline *p,
                              const void *in, size_t in_bytes, void *out, size_t out_bytes)
{
    size_t wanted[CODEC_STEPS + 1];
    if (p->count == 0) {
        FAIL_IF(in_bytes < out_bytes, ERR_INPUT, "%zu bytes are stored, %zu are needed", in_bytes,
                out_bytes);
        memcpy(out, in, out_bytes);
        return ERR_OK;
    }
    /* Sizes of each step's input, from the last step on; 0: not known, it is compressed. */
    wanted[p->count] = out_bytes;
    for (int i = p->count - 1; i >= 0; i--) {
        const int grows = table[p->step[i].codec].grows;
        wanted[i] = p->step[i].codec == CODEC_UNPACK ? unpack_stored(&p->step[i], wanted[i + 1])
                    : grows < 0 || !wanted[i + 1]    ? 0
                                                     : wanted[i + 1] + (size_t)grows;
    }
    if (p->step[0].codec == CODEC_UNPACK && in_bytes > wanted[0]) /* padding may follow */
        in_bytes = wanted[0];
    struct codec_call c = {.worker = w, .in = in, .in_bytes = in_bytes};
    for (int i = 0; i < p->count; i++) {
        const int grows = table[p->step[i].codec].grows;
        c.step = &p->step[i];
        c.out_bytes = wanted[i + 1];
        if (c.step->codec == CODEC_DEFLATE && !c.out_bytes && i + 1 < p->count) { /* ZIP's */
            size_t got = 0;
            TRY(inflate_unknown(&c, i & 1, 2 * out_bytes + SPARE_BYTES, &got));
            c.in = w->spare[i & 1];
            c.in_bytes = got;
            continue;
        }
        FAIL_IF(!c.out_bytes && grows < 0 && i + 1 < p->count, ERR_UNSUPPORTED,
                "two compressors follow each other (%s after %s)", codec_name(p->step[i + 1].codec),
                codec_name(c.step->codec));
        FAIL_IF((wanted[i] && c.in_bytes != wanted[i]) ||
                    (grows >= 0 && c.in_bytes < (size_t)grows),
                ERR_INPUT, "%zu bytes are stored, %zu are needed", c.in_bytes, wanted[i]);
        if (!c.out_bytes && i + 1 < p->count)
            c.out_bytes = c.in_bytes - (size_t)grows;
        if (i + 1 < p->count)
            TRY(codec_spare(w, i & 1, c.out_bytes + 1));
        c.out = i + 1 < p->count ? w->spare[i & 1] : out;
        TRY(table[c.step->codec].decode(&c));
        c.in = c.out;
        c.in_bytes = c.out_bytes;
    }
    return ERR_OK;
}

size_t codec_part_bytes(const struct codec_pipeline *p, size_t whole, size_t end)
{
    const int stream = p->count == 1 && p->step[0].codec == CODEC_GZIP_PART;
    return stream && (end < whole / 2 || !fast_inflate_available()) ? end : whole;
}

static int is_blosc_part(const struct codec_task *t)
{
    return t->part && t->pipeline.count == 1 && t->pipeline.step[0].codec == CODEC_BLOSC;
}

static struct codec_call codec_call_of(struct codec_worker *w, const struct codec_task *t,
                                       const void *in, void *out)
{
    return (struct codec_call){w, &t->pipeline.step[0], in, t->in_bytes, out, t->out_bytes};
}

enum err codec_run(struct codec_worker *w, const struct codec_task *t, const void *in, void *out)
{
    const struct codec_call c = codec_call_of(w, t, in, out);
    return is_blosc_part(t) ? blosc_part(&c, t->begin, t->end)
                            : codec_run_all(w, &t->pipeline, in, t->in_bytes, out, t->out_bytes);
}

/* Does what needs no library that has a child; !*done: nothing. */
enum err codec_run_own(struct codec_worker *w, const struct codec_task *t, const void *in,
                       void *out, int *done)
{
    const struct codec_call c = codec_call_of(w, t, in, out);
    *done = 0;
    if (t->pipeline.count != 1 || t->pipeline.step[0].codec != CODEC_BLOSC)
        return ERR_OK;
    return blosc_lz4_part(&c, t->part ? t->begin : 0, t->part ? t->end : t->out_bytes, done);
}

int codec_children_used = 1;

int codec_needs_child(const struct codec_pipeline *p)
{
    for (int i = 0; i < p->count; i++) {
        const enum codec k = p->step[i].codec;
        if (k == CODEC_JXR || k == CODEC_LIBTIFF || k == CODEC_DICOM || k == CODEC_BLOSC2)
            return 1;
        if (codec_children_used && (k == CODEC_JPEG || k == CODEC_BLOSC || k == CODEC_BZIP2))
            return 1;
    }
    return 0;
}
