/* The slices of a volume as a folder of TIFF or PNG files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "host/store/engine/engine.h"
#include "host/store/format/png.h"
#include "host/store/writer/outdir.h"
#include "host/store/writer/slices.h"
#include "host/store/writer/writer.h"

#define SLAB_BYTES ((int64_t)64 << 20)
#define TAGS       11
#define DIRECTORY  (2 + 12 * TAGS + 4)

static void slices_put(unsigned char *at, uint64_t v, int bytes)
{
    memcpy(at, &v, (size_t)bytes);
}

/* Writes one uncompressed strip of float32, classic TIFF: every program reads it. */
static enum err write_tiff_slice(const char *path, const struct writer *w, const float *x)
{
    const int64_t bytes = writer_slab_bytes(w);
    const struct {
        int tag, type;
        int64_t value;
    } rows[TAGS] = {{256, 4, w->shape[2]},
                    {257, 4, w->shape[1]},
                    {258, 3, 32},
                    {259, 3, 1},
                    {262, 3, 1},
                    {273, 4, 8 + DIRECTORY},
                    {277, 3, 1},
                    {278, 4, w->shape[1]},
                    {279, 4, bytes},
                    {284, 3, 1},
                    {339, 3, 3}};
    unsigned char d[8 + DIRECTORY] = {'I', 'I', 42, 0, 8};
    struct outfile f;
    slices_put(d + 8, TAGS, 2);
    for (int i = 0; i < TAGS; i++) {
        unsigned char *entry = d + 10 + 12 * i;
        slices_put(entry, (uint64_t)rows[i].tag, 2);
        slices_put(entry + 2, (uint64_t)rows[i].type, 2);
        slices_put(entry + 4, 1, 4);
        slices_put(entry + 8, (uint64_t)rows[i].value, rows[i].type == 3 ? 2 : 4);
    }
    TRY(outfile_open(&f, path));
    enum err e = outfile_write(&f, d, sizeof d);
    if (!e)
        e = outfile_write(&f, x, (size_t)bytes);
    if (!e)
        return outfile_commit(&f);
    outfile_abort(&f);
    return e;
}

static enum err slices_write_one(const struct slices_request *r, const struct writer *w, int64_t k,
                                 float *x)
{
    char path[4500];
    snprintf(path, sizeof path, "%s/slice_%05lld.%s", w->made, (long long)k,
             r->png ? "png" : "tif");
    if (!r->png)
        return write_tiff_slice(path, w, x);
    if (r->bar)
        scale_bar(w->shape[1], w->shape[2], x, r->pitch, r->low, r->high);
    return png_write_grey(path, w->shape[1], w->shape[2], x, w->shape[2], 1, r->low, r->high);
}

/* The window of the middle slice is that of all. */
static enum err slices_find_window(struct store *s, struct store_array *a, const struct writer *w,
                                   struct slices_request *r, float *slab)
{
    TRY(writer_read(s, a, w, w->from, w->shape[0] / 2, 1, slab));
    image_window(w->shape[1], w->shape[2], slab, w->shape[2], 1, &r->low, &r->high);
    return ERR_OK;
}

static enum err slices_write_all(struct store *s, struct store_array *a, const struct writer *w,
                                 struct slices_request *r)
{
    const int64_t plane = writer_slab_bytes(w), fits = SLAB_BYTES / plane;
    const int64_t step = fits < 1 ? 1 : fits < w->shape[0] ? fits : w->shape[0];
    void *slab = NULL;
    TRY(mem_alloc("a slab", (size_t)(plane * step), &slab));
    enum err e = r->png ? slices_find_window(s, a, w, r, slab) : ERR_OK;
    for (int64_t i = 0; i < w->shape[0] && !e; i += step) {
        const int64_t n = w->shape[0] - i < step ? w->shape[0] - i : step;
        e = writer_read(s, a, w, w->from, i, n, slab);
        for (int64_t k = 0; k < n && !e; k++)
            e = slices_write_one(r, w, i + k, (float *)slab + k * w->shape[1] * w->shape[2]);
    }
    mem_free(slab);
    return e;
}

enum err slices_write(const char *in, const char *folder, struct slices_request *r)
{
    struct writer w = {.path = folder, .options = &r->options, .dims = 3, .step = 1};
    struct store *s;
    struct store_array *a;
    struct stat st;
    FAIL_IF(!stat(folder, &st), ERR_INPUT, "%s: exists already: remove it, or choose another name",
            folder);
    const int n = snprintf(w.made, sizeof w.made, "%s.%ld.tmp", folder, (long)getpid());
    FAIL_IF(n >= 4200, ERR_USAGE, "%s: the path is too long", folder);
    w.type = (struct store_dtype){'f', 4, 0};
    TRY(store_open(in, &s));
    enum err e = store_find(s, NULL, &a);
    if (!e)
        e = writer_order(&r->options, a->dims, w.from);
    for (int d = 0; d < 3 && !e; d++)
        w.shape[d] = a->shape[w.from[d]];
    if (!e && !r->png && writer_slab_bytes(&w) > UINT32_MAX - 4096)
        e = FAIL(ERR_UNSUPPORTED, "%s: a slice has more than 4 GB; take a name that ends in .tif",
                 folder);
    if (!e)
        e = writer_require_space(s, a, folder, store_bytes(a, w.type.bytes), r->png);
    if (!e)
        e = outdir_begin(w.made);
    if (!e) {
        e = slices_write_all(s, a, &w, r);
        const enum err ended = outdir_end(w.made, e ? NULL : folder);
        e = e ? e : ended;
    }
    r->count = w.shape[0];
    store_close(s);
    return e;
}
