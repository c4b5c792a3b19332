/* The registry of export formats, and how an export reaches its file, compressed or not. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/file.h"
#include "base/text.h"
#include "profiler/report/export/export.h"

extern const struct exporter export_speedscope, export_chrome, export_folded, export_csv,
    export_callgrind, export_pprof, export_perfetto, export_firefox, export_nvtx, export_svg;
const struct exporter *const exporters[] = {&export_speedscope,
                                            &export_chrome,
                                            &export_folded,
                                            &export_csv,
                                            &export_callgrind,
                                            &export_pprof,
                                            &export_perfetto,
                                            &export_firefox,
                                            &export_nvtx,
                                            &export_svg,
                                            NULL};

const struct exporter *exporter_find(const char *name)
{
    for (int i = 0; exporters[i]; i++)
        if (strcmp(exporters[i]->name, name) == 0)
            return exporters[i];
    return NULL;
}

int exporter_compresses(const struct exporter *x)
{
    return text_has_suffix(x->suffix, ".gz");
}

/* stdio stream whose bytes pass through deflate into `to` */
struct gzip_stream {
    z_stream z;
    struct outfile *to;
    int failed;
};

static ssize_t gzip_write(void *cookie, const char *data, size_t n, int finish)
{
    struct gzip_stream *p = cookie;
    unsigned char out[16384];
    p->z.next_in = (Bytef *)data;
    p->z.avail_in = (uInt)n;
    do {
        p->z.next_out = out;
        p->z.avail_out = sizeof out;
        int done = deflate(&p->z, finish ? Z_FINISH : Z_NO_FLUSH);
        if (done == Z_STREAM_ERROR ||
            outfile_write(p->to, out, sizeof out - p->z.avail_out) != ERR_OK)
            p->failed = 1;
    } while (p->z.avail_out == 0 && !p->failed);
    return p->failed ? 0 : (ssize_t)n;
}

static ssize_t gzip_data(void *cookie, const char *data, size_t n)
{
    return gzip_write(cookie, data, n, 0);
}

static int gzip_close(void *cookie)
{
    struct gzip_stream *p = cookie;
    gzip_write(p, NULL, 0, 1);
    deflateEnd(&p->z);
    return p->failed ? -1 : 0;
}

enum err export_write(const struct model *m, const struct exporter *x,
                      const struct export_options *o, FILE *out)
{
    const int of_events = x == &export_chrome || x == &export_perfetto || x == &export_firefox;
    struct arena *a = NULL;
    struct model with = *m;
    enum err e = of_events ? arena_create(&a) : ERR_OK;
    if (!e && of_events)
        e = export_place_accounts(&with, a);
    if (!e)
        x->write(&with, o, out);
    arena_free(a);
    return e;
}

enum err export_file(const struct model *m, const struct exporter *x,
                     const struct export_options *o, int gzip, const char *path)
{
    struct outfile f = {0};
    enum err e = ERR_OK;
    TRY(outfile_open(&f, path));
    if (!gzip && !exporter_compresses(x)) {
        e = export_write(m, x, o, f.stream);
        if (!e)
            return outfile_commit(&f);
        goto out;
    }
    struct gzip_stream p = {.to = &f};
    FILE *stream = NULL;
    if (deflateInit2(&p.z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        stream =
            fopencookie(&p, "w", (cookie_io_functions_t){.write = gzip_data, .close = gzip_close});
    if (!stream) {
        e = FAIL(ERR_MEMORY, "no memory left to compress %s", path);
        goto out;
    }
    e = export_write(m, x, o, stream);
    int bad = ferror(stream);
    if ((fclose(stream) || bad || p.failed) && !e)
        e = FAIL(ERR_IO, "%s could not be written completely", path);
    else if (!e)
        e = outfile_commit(&f);
out:
    outfile_abort(&f);
    return e;
}
