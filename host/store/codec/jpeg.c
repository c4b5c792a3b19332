/* JPEG of 8-bit pixels by libjpeg-turbo: tiles of TIFF, whose tables may stand apart, and of CZI.
 */
#include <string.h>

#include "host/store/codec/codecs.h"

#ifdef TP_JPEG
#include <turbojpeg.h>

int jpeg_available(void)
{
    return 1;
}

void jpeg_free(struct codec_worker *w)
{
    if (w->jpeg)
        tjDestroy(w->jpeg);
    w->jpeg = NULL;
}

/* The tables without their end mark, then the tile without its beginning mark. */
static enum err join(const struct codec_call *c, const unsigned char **in, size_t *n)
{
    const struct codec_step *s = c->step;
    *in = c->in;
    *n = c->in_bytes;
    if (s->tables_bytes < 4 || c->in_bytes < 2)
        return ERR_OK;
    TRY(codec_spare(c->worker, 2, s->tables_bytes + c->in_bytes));
    unsigned char *both = c->worker->spare[2];
    memcpy(both, s->tables, s->tables_bytes - 2);
    memcpy(both + s->tables_bytes - 2, c->in + 2, c->in_bytes - 2);
    *in = both;
    *n = s->tables_bytes - 2 + c->in_bytes - 2;
    return ERR_OK;
}

static enum err decode(const struct codec_call *c)
{
    const struct codec_step *s = c->step;
    const unsigned char *in;
    size_t n;
    int width, height, sampling, space;
    if (!c->worker->jpeg && !(c->worker->jpeg = tjInitDecompress()))
        return FAIL(ERR_MEMORY, "no memory left for JPEG");
    TRY(join(c, &in, &n));
    if (tjDecompressHeader3(c->worker->jpeg, in, n, &width, &height, &sampling, &space))
        return CODEC_DAMAGED(c, tjGetErrorStr2(c->worker->jpeg));
    const int samples = space == TJCS_GRAY ? 1 : space == TJCS_CMYK || space == TJCS_YCCK ? 4 : 3;
    if (samples != s->samples || samples > 3)
        return CODEC_DAMAGED(c, "it has another number of colours");
    if ((s->row && width != s->row) ||
        (size_t)width * (size_t)height * (size_t)samples != c->out_bytes)
        return CODEC_DAMAGED(c, "its size is another one");
    const int format = samples == 1 ? TJPF_GRAY : s->swap ? TJPF_BGR : TJPF_RGB;
    if (tjDecompress2(c->worker->jpeg, in, n, c->out, width, 0, height, format,
                      TJFLAG_STOPONWARNING))
        return CODEC_DAMAGED(c, tjGetErrorStr2(c->worker->jpeg));
    return ERR_OK;
}

/* A decoder keeps tables of a damaged tile for the next one: it is made anew. */
enum err codec_jpeg(const struct codec_call *c)
{
    enum err e = decode(c);
    if (e)
        jpeg_free(c->worker);
    return e;
}
#else
int jpeg_available(void)
{
    return 0;
}

void jpeg_free(struct codec_worker *w)
{
    (void)w;
}

enum err codec_jpeg(const struct codec_call *c)
{
    (void)c;
    return FAIL(ERR_UNSUPPORTED, "JPEG data cannot be read by this build: install "
                                 "libturbojpeg0-dev and build again");
}
#endif
