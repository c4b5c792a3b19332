/* JPEG XR by libjxr: tiles of CZI. The library ends its process where bytes are not what it
 * expects, so that each tile is decoded in a child, whose result lies in shared memory: some 0.5 ms
 * beside the 50 ms and more of a tile of 2000 x 2000. */
#include "base/child.h"
#include "host/store/codec/codecs.h"

#ifdef TP_JXR
#include <signal.h> /* before libjxr's, which define __reserved: a field of aarch64's registers */

#include <JXRGlue.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_S 120 /* of CPU time */

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

struct jxr_work {
    const struct codec_call *call;
    unsigned char *out;
};

/* In the child: what the library prints is not for the user, and no core is left. */
static int jxr_child(void *context, int fd)
{
    const struct jxr_work *w = context;
    const struct codec_call *c = w->call;
    struct WMPStream *stream = NULL;
    PKImageDecode *d = NULL;
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)fd;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    setrlimit(RLIMIT_CPU, &(struct rlimit){CHILD_S, CHILD_S});
    signal(SIGABRT, SIG_DFL);
    if (null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        return 1;
    return CreateWS_Memory(&stream, (void *)(uintptr_t)c->in, c->in_bytes) ||
           PKImageDecode_Create_WMP(&d) || d->Initialize(d, stream) ||
           jxr_decode_pixels(c, d, w->out);
}

enum err codec_jxr(const struct codec_call *c)
{
    unsigned char *out =
        mmap(NULL, c->out_bytes + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FAIL_IF(out == MAP_FAILED, ERR_MEMORY, "no memory left to decode %zu bytes", c->out_bytes);
    struct child child;
    struct jxr_work w = {c, out};
    const enum err e = child_fork(&child, jxr_child, &w);
    const int good = !e && child_wait(&child) == 0;
    if (good)
        memcpy(c->out, out, c->out_bytes);
    munmap(out, c->out_bytes + 1);
    TRY(e);
    return good ? ERR_OK
                : CODEC_DAMAGED(c, "it cannot be decoded, or its size or type is another one");
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
