/* Reads a capture whole; several members of gzip in one file are legal. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "profiler/import/read/input.h"

#define LIMIT_BYTES ((size_t)4 << 30)
#define LIMIT_RATIO 1000
#define RATIO_FROM  ((size_t)64 << 20) /* smaller results are always taken */

static enum err input_grow(struct import_input *out, size_t *room, const char *path)
{
    size_t more = *room ? *room * 2 : 65536;
    FAIL_IF(more > LIMIT_BYTES, ERR_INPUT, "%s: inflates to more than 4 GiB, which is the limit",
            path);
    TRY(mem_require(path, more - *room, "give it the memory, or import a part of the capture"));
    char *data = realloc(out->data, more + 1);
    FAIL_IF(!data, ERR_MEMORY, "%s: no memory for %zu bytes", path, more);
    out->data = data;
    *room = more;
    return ERR_OK;
}

static enum err inflate_all(z_stream *z, struct import_input *out, size_t bytes)
{
    size_t room = 0;
    for (int more = 1; more;) {
        if (out->bytes == room)
            TRY(input_grow(out, &room, out->path));
        z->next_out = (Bytef *)out->data + out->bytes;
        z->avail_out = room - out->bytes > 1 << 30 ? 1 << 30 : (uInt)(room - out->bytes);
        uInt before = z->avail_out;
        int code = inflate(z, Z_NO_FLUSH);
        out->bytes += before - z->avail_out;
        FAIL_IF(out->bytes > RATIO_FROM && out->bytes / LIMIT_RATIO > bytes, ERR_INPUT,
                "%s: inflates to more than %d times its size, which is the limit", out->path,
                LIMIT_RATIO);
        if (code == Z_STREAM_END) {
            more = z->avail_in > 1 && z->next_in[0] == 0x1f && z->next_in[1] == 0x8b;
            FAIL_IF(more && inflateReset(z) != Z_OK, ERR_MEMORY, "%s: no memory to inflate",
                    out->path);
        } else
            FAIL_IF(code != Z_OK, ERR_INPUT,
                    "%s: not whole gzip data (zlib: %s). Copy the file again.", out->path,
                    z->msg ? z->msg : "it ends early");
    }
    out->data[out->bytes] = 0;
    return ERR_OK;
}

static enum err input_inflate(struct import_input *in, char *data, size_t bytes)
{
    z_stream z = {.next_in = (Bytef *)data, .avail_in = (uInt)bytes};
    FAIL_IF(bytes > UINT32_MAX, ERR_INPUT, "%s: %zu bytes of gzip; the limit is 4 GiB", in->path,
            bytes);
    FAIL_IF(inflateInit2(&z, 15 + 16) != Z_OK, ERR_MEMORY, "%s: no memory to inflate", in->path);
    enum err e = inflate_all(&z, in, bytes);
    inflateEnd(&z);
    if (e)
        input_close(in);
    return e;
}

enum err input_open(struct import_input *in, const char *path)
{
    char *data;
    size_t bytes;
    *in = (struct import_input){.path = path};
    TRY(file_read_all(path, LIMIT_BYTES, &data, &bytes));
    if (bytes > 2 && !memcmp(data, "\x1f\x8b", 2)) {
        enum err e = input_inflate(in, data, bytes);
        free(data);
        return e;
    }
    *in = (struct import_input){path, data, bytes};
    return ERR_OK;
}

void input_close(struct import_input *in)
{
    free(in->data);
    in->data = NULL;
}
