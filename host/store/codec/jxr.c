/* JPEG XR by libjxr: tiles of CZI. */
#include "host/store/codec/codecs.h"

#ifdef TP_JXR
#include <JXRGlue.h>

int jxr_available(void)
{
    return 1;
}

/* Bits of a pixel in the stream; 0: not one of those that CZI has. */
static int pixel_bits(PKImageDecode *d)
{
    static const struct {
        const PKPixelFormatGUID *format;
        int bits;
    } rows[] = {{&GUID_PKPixelFormat8bppGray, 8},  {&GUID_PKPixelFormat16bppGray, 16},
                {&GUID_PKPixelFormat24bppBGR, 24}, {&GUID_PKPixelFormat24bppRGB, 24},
                {&GUID_PKPixelFormat48bppRGB, 48}, {&GUID_PKPixelFormat32bppGrayFloat, 32}};
    PKPixelFormatGUID format;
    if (d->GetPixelFormat(d, &format))
        return 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (IsEqualGUID(&format, rows[i].format))
            return rows[i].bits;
    return 0;
}

static enum err decode(const struct codec_call *c, PKImageDecode *d)
{
    const struct codec_step *s = c->step;
    I32 width, height;
    const int pixel = s->item * s->samples;
    if (d->GetSize(d, &width, &height) || width < 1 || height < 1)
        return CODEC_DAMAGED(c, "it has no size");
    if (pixel_bits(d) != 8 * pixel)
        return CODEC_DAMAGED(c, "its pixels are of another type");
    if ((size_t)width * (size_t)height * (size_t)pixel != c->out_bytes)
        return CODEC_DAMAGED(c, "its size is another one");
    const PKRect all = {0, 0, width, height};
    if (d->Copy(d, &all, c->out, (U32)(width * pixel)))
        return CODEC_DAMAGED(c, "it cannot be decoded");
    return ERR_OK;
}

enum err codec_jxr(const struct codec_call *c)
{
    struct WMPStream *stream = NULL;
    PKImageDecode *d = NULL;
    if (CreateWS_Memory(&stream, (void *)(uintptr_t)c->in, c->in_bytes))
        return FAIL(ERR_MEMORY, "no memory left for JPEG XR");
    enum err e =
        PKImageDecode_Create_WMP(&d) ? FAIL(ERR_MEMORY, "no memory left for JPEG XR") : ERR_OK;
    if (!e)
        e = d->Initialize(d, stream) ? CODEC_DAMAGED(c, "its header is unknown") : decode(c, d);
    if (d)
        d->Release(&d);
    CloseWS_Memory(&stream);
    return e;
}
#else
int jxr_available(void)
{
    return 0;
}

enum err codec_jxr(const struct codec_call *c)
{
    (void)c;
    return FAIL(ERR_UNSUPPORTED, "JPEG XR data cannot be read by this build: install libjxr-dev "
                                 "and build again");
}
#endif
