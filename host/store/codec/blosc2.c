/* HDF5's filter 32026 (Blosc2), by libblosc2: a frame with one chunk of bytes, or an array of
 * blocks. */
#include "host/store/codec/codecs.h"

#ifdef TP_BLOSC2
#include <b2nd.h>
#include <blosc2.h>

int blosc2_available(void)
{
    return 1;
}

/* Copies all blocks of an array in C order. 1: done. */
static int blosc2_array(const struct codec_call *c, blosc2_schunk *frame)
{
    b2nd_array_t *array = NULL;
    if (b2nd_from_schunk(frame, &array) < 0)
        return 0;
    int64_t bytes = array->sc->typesize;
    for (int i = 0; i < array->ndim; i++)
        if (__builtin_mul_overflow(bytes, array->shape[i], &bytes))
            bytes = -1;
    const int good = bytes == (int64_t)c->out_bytes && b2nd_to_cbuffer(array, c->out, bytes) >= 0;
    b2nd_free(array); /* its frame too */
    return good;
}

enum err codec_blosc2(const struct codec_call *c)
{
    static int begun;
    if (!begun)
        blosc2_init();
    begun = 1;
    FAIL_IF(c->out_bytes > INT32_MAX, ERR_UNSUPPORTED, "Blosc2 chunks above 2 GiB are not read");
    blosc2_schunk *frame =
        blosc2_schunk_from_buffer((uint8_t *)(uintptr_t)c->in, (int64_t)c->in_bytes, true);
    if (!frame)
        return CODEC_DAMAGED(c, "not a frame");
    int good;
    if (blosc2_meta_exists(frame, "b2nd") >= 0 || blosc2_meta_exists(frame, "caterva") >= 0) {
        good = blosc2_array(c, frame);
    } else {
        const int bytes = (int)c->out_bytes;
        good = frame->nbytes == bytes &&
               blosc2_schunk_decompress_chunk(frame, 0, c->out, bytes) == bytes;
        blosc2_schunk_free(frame);
    }
    return good ? ERR_OK : CODEC_DAMAGED(c, "it cannot be decompressed, or has another size");
}
#else
int blosc2_available(void)
{
    return 0;
}

enum err codec_blosc2(const struct codec_call *c)
{
    (void)c;
    return FAIL(ERR_UNSUPPORTED,
                "Blosc2 data cannot be read by this build: install libblosc2-dev and build again");
}
#endif
