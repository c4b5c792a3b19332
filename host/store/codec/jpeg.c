/* JPEG of 8-bit pixels by libjpeg-turbo: tiles of TIFF, whose tables may stand apart, and of CZI.
 */
#include <string.h>

#include "host/store/codec/codecs.h"

#ifdef TP_JPEG
#include <turbojpeg.h>

#ifdef TP_JPEG_LIBRARY
#include "base/jail/late.h"

static struct {
    __typeof__(tjInitDecompress) *tjInitDecompress;
    __typeof__(tjDestroy) *tjDestroy;
    __typeof__(tjDecompressHeader3) *tjDecompressHeader3;
    __typeof__(tjDecompress2) *tjDecompress2;
    __typeof__(tjGetErrorStr2) *tjGetErrorStr2;
} jpeg_calls;

static const struct late_symbol jpeg_symbols[] = {
    LATE_SYMBOL(jpeg_calls, tjInitDecompress), LATE_SYMBOL(jpeg_calls, tjDestroy),
    LATE_SYMBOL(jpeg_calls, tjDecompressHeader3), LATE_SYMBOL(jpeg_calls, tjDecompress2),
    LATE_SYMBOL(jpeg_calls, tjGetErrorStr2)};
static struct late_library jpeg_library =
    LATE_LIBRARY(TP_JPEG_LIBRARY, TP_JPEG_PATH, jpeg_symbols, "libturbojpeg",
                 "libturbojpeg0 (Debian), turbojpeg (Fedora) or libjpeg-turbo (Arch)");

int jpeg_available(void)
{
    return late_open(&jpeg_library);
}

const char *jpeg_why(void)
{
    return late_why(&jpeg_library);
}

/* Fails where this process has it not: it may be a child of one that did not open it. */
static enum err jpeg_require(void)
{
    FAIL_IF(!late_open(&jpeg_library) || !jpeg_calls.tjGetErrorStr2, ERR_UNSUPPORTED, "%s",
            *jpeg_why() ? jpeg_why() : "libturbojpeg was not opened before its child began");
    return ERR_OK;
}

#define tjInitDecompress    jpeg_calls.tjInitDecompress
#define tjDestroy           jpeg_calls.tjDestroy
#define tjDecompressHeader3 jpeg_calls.tjDecompressHeader3
#define tjDecompress2       jpeg_calls.tjDecompress2
#define tjGetErrorStr2      jpeg_calls.tjGetErrorStr2
#else
int jpeg_available(void)
{
    return 1;
}

const char *jpeg_why(void)
{
    return "";
}

static enum err jpeg_require(void)
{
    return ERR_OK;
}
#endif

void jpeg_free(struct codec_worker *w)
{
    if (w->jpeg)
        tjDestroy(w->jpeg);
    w->jpeg = NULL;
}

/* Adobe's marker: its last byte is 0 for colours as they are stored, 1 for YCbCr. */
static const unsigned char adobe[] = {0xff, 0xee, 0,   14, 'A', 'd', 'o', 'b',
                                      'e',  0,    100, 0,  0,   0,   0,   0};

/* Copies the segments of a header without those that name the colours (APP0, APP14), up to the
 * first that is not of a header; *n of `in` were read. */
static unsigned char *copy_header(const unsigned char *in, size_t bytes, size_t *n,
                                  unsigned char *out)
{
    size_t at = 0;
    while (bytes - at >= 4 && in[at] == 0xff && in[at + 1] >= 0xc0 && in[at + 1] != 0xda &&
           in[at + 1] != 0xd9) {
        const size_t length = 2 + (size_t)(in[at + 2] << 8 | in[at + 3]);
        if (length < 4 || length > bytes - at)
            break;
        if (in[at + 1] != 0xe0 && in[at + 1] != 0xee) {
            memcpy(out, in + at, length);
            out += length;
        }
        at += length;
    }
    *n = at;
    return out;
}

/* The tables without their end mark, then the tile without its beginning mark; the page says which
 * colours they are. */
static enum err jpeg_join_tables(const struct codec_call *c, const unsigned char **in, size_t *n)
{
    const struct codec_step *s = c->step;
    size_t used;
    *in = c->in;
    *n = c->in_bytes;
    if ((s->tables_bytes < 4 && !s->colours) || c->in_bytes < 2)
        return ERR_OK;
    TRY(codec_spare(c->worker, 2, s->tables_bytes + c->in_bytes + 2 + sizeof adobe));
    unsigned char *both = c->worker->spare[2], *out = both;
    *out++ = 0xff;
    *out++ = 0xd8;
    if (s->colours) {
        memcpy(out, adobe, sizeof adobe);
        out += sizeof adobe;
        out[-1] = s->colours == CODEC_YCBCR;
    }
    if (s->tables_bytes >= 4)
        out = copy_header(s->tables + 2, s->tables_bytes - 4, &used, out);
    if (s->colours)
        out = copy_header(c->in + 2, c->in_bytes - 2, &used, out);
    else
        used = 0;
    memcpy(out, c->in + 2 + used, c->in_bytes - 2 - used);
    *in = both;
    *n = (size_t)(out - both) + c->in_bytes - 2 - used;
    return ERR_OK;
}

static enum err jpeg_decode_pixels(const struct codec_call *c)
{
    const struct codec_step *s = c->step;
    const unsigned char *in;
    size_t n;
    int width, height, sampling, space;
    TRY(jpeg_require());
    if (!c->worker->jpeg && !(c->worker->jpeg = tjInitDecompress()))
        return FAIL(ERR_MEMORY, "no memory left for JPEG");
    TRY(jpeg_join_tables(c, &in, &n));
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
    enum err e = jpeg_decode_pixels(c);
    if (e)
        jpeg_free(c->worker);
    return e;
}
#else
int jpeg_available(void)
{
    return 0;
}

const char *jpeg_why(void)
{
    return "";
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
