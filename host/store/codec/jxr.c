/* JPEG XR by libjxr: tiles of CZI. The library ends its process where bytes are not what it
 * expects. */
#include "host/store/codec/codecs.h"

#ifdef TP_JXR
#include <signal.h> /* before libjxr's, which define __reserved: a field of aarch64's registers */

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

/* 0: `out` holds the pixels. */
static int jxr_decode_pixels(const struct codec_call *c, PKImageDecode *d, unsigned char *out)
{
    const struct codec_step *s = c->step;
    I32 width, height;
    const int pixel = s->item * s->samples;
    if (d->GetSize(d, &width, &height) || width < 1 || height < 1 || pixel_bits(d) != 8 * pixel ||
        (size_t)width * (size_t)height * (size_t)pixel != c->out_bytes)
        return 1;
    const PKRect all = {0, 0, width, height};
    return d->Copy(d, &all, out, (U32)(width * pixel)) != 0;
}

/* The library may end the process, which is a child. */
enum err codec_jxr(const struct codec_call *c)
{
    struct WMPStream *stream = NULL;
    PKImageDecode *d = NULL;
    const int bad = CreateWS_Memory(&stream, (void *)(uintptr_t)c->in, c->in_bytes) ||
                    PKImageDecode_Create_WMP(&d) || d->Initialize(d, stream) ||
                    jxr_decode_pixels(c, d, c->out);
    if (d)
        d->Release(&d);
    else if (stream)
        stream->Close(&stream);
    return bad ? CODEC_DAMAGED(c, "it cannot be decoded, or its size or type is another one")
               : ERR_OK;
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
