/* Gzip in members that say how long they are, compressed by all threads. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "host/store/codec/codecs.h"
#include "host/store/format/bgzf.h"

#define PIECE  65280 /* what does not compress still fits a member, whose length has 16 bits */
#define MEMBER 65536
#define HEAD   18
#define TAIL   8
#define BATCH  64 /* members between two writes: 4 MiB */

static void bgzf_put(unsigned char *at, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(v >> 8 * i);
}

#define ROOM (MEMBER - HEAD - TAIL)

static size_t bgzf_deflate(z_stream *z, const unsigned char *in, size_t n, int level,
                           unsigned char *out)
{
    const size_t fast = fast_deflate(0, level, in, n, out, ROOM);
    if (fast)
        return fast;
    deflateReset(z);
    z->next_in = (unsigned char *)(uintptr_t)in;
    z->avail_in = (uInt)n;
    z->next_out = out;
    z->avail_out = ROOM;
    deflate(z, Z_FINISH);
    return ROOM - z->avail_out;
}

/* Packs `n` bytes as a member, by raw deflate; returns its length. A room of MEMBER is always
 * enough. */
static size_t bgzf_pack(z_stream *z, const unsigned char *in, size_t n, int level,
                        unsigned char *out)
{
    static const unsigned char head[HEAD] = {31, 139, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 'B', 'C', 2};
    memcpy(out, head, HEAD);
    const size_t packed = bgzf_deflate(z, in, n, level, out + HEAD), whole = HEAD + packed + TAIL;
    bgzf_put(out + 16, (uint32_t)whole - 1, 2);
    bgzf_put(out + HEAD + packed, (uint32_t)crc32(0, in, (uInt)n), 4);
    bgzf_put(out + HEAD + packed + 4, (uint32_t)n, 4);
    return whole;
}

/* 0: a thread had no memory. */
static int pack_batch(const unsigned char *in, size_t bytes, int level, unsigned char *out,
                      size_t *lengths, int pieces)
{
    int good = 1;
#pragma omp parallel
    {
        z_stream z = {0};
        const int there = deflateInit2(&z, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK;
#pragma omp for schedule(dynamic)
        for (int i = 0; i < pieces; i++) {
            const size_t from = (size_t)i * PIECE, left = bytes - from;
            lengths[i] = there ? bgzf_pack(&z, in + from, left < PIECE ? left : PIECE, level,
                                           out + (size_t)i * MEMBER)
                               : 0;
        }
        if (there)
            deflateEnd(&z);
        else
#pragma omp atomic write
            good = 0;
    }
    return good;
}

enum err bgzf_write(struct outfile *f, const void *data, size_t bytes, int level)
{
    const unsigned char *from = data;
    size_t lengths[BATCH];
    unsigned char *out = malloc((size_t)BATCH * MEMBER);
    enum err e = out ? ERR_OK : FAIL(ERR_MEMORY, "%s: no memory left to compress", f->path);
    while (bytes && !e) {
        const size_t most = (size_t)BATCH * PIECE, n = bytes < most ? bytes : most;
        const int pieces = (int)((n + PIECE - 1) / PIECE);
        if (!pack_batch(from, n, level, out, lengths, pieces))
            e = FAIL(ERR_MEMORY, "%s: no memory left to compress", f->path);
        for (int i = 0; i < pieces && !e; i++)
            e = outfile_write(f, out + (size_t)i * MEMBER, lengths[i]);
        from += n;
        bytes -= n;
    }
    free(out);
    return e;
}

enum err bgzf_end(struct outfile *f)
{
    static const unsigned char empty[] = {31, 139, 8,  4, 0, 0, 0, 0, 0, 255, 6, 0, 'B', 'C',
                                          2,  0,   27, 0, 3, 0, 0, 0, 0, 0,   0, 0, 0,   0};
    return outfile_write(f, empty, sizeof empty);
}
