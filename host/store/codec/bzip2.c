/* HDF5's filter 307, by libbz2. */
#include "host/store/codec/codecs.h"

#ifdef TP_BZIP2
#include <bzlib.h>
#include <limits.h>

int bzip2_available(void)
{
    return 1;
}

enum err codec_bzip2(const struct codec_call *c)
{
    unsigned got = (unsigned)c->out_bytes;
    FAIL_IF(c->in_bytes > INT_MAX || c->out_bytes > INT_MAX, ERR_UNSUPPORTED,
            "bzip2 chunks above 2 GiB are not read");
    const int r = BZ2_bzBuffToBuffDecompress((char *)c->out, &got, (char *)(uintptr_t)c->in,
                                             (unsigned)c->in_bytes, 0, 0); /* not small, silent */
    if (r == BZ_MEM_ERROR)
        return FAIL(ERR_MEMORY, "no memory left for bzip2");
    if (r != BZ_OK || got != c->out_bytes)
        return CODEC_DAMAGED(c, r == BZ_OK             ? "it ends early"
                                : r == BZ_OUTBUFF_FULL ? "it holds more than the chunk"
                                                       : "it cannot be decompressed");
    return ERR_OK;
}
#else
int bzip2_available(void)
{
    return 0;
}

enum err codec_bzip2(const struct codec_call *c)
{
    (void)c;
    return FAIL(ERR_UNSUPPORTED,
                "bzip2 data cannot be read by this build: install libbz2-dev and build again");
}
#endif
