/* Writes NIfTI volumes, plain or gzip, a few transposed slices at a time. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "host/store/format/bgzf.h"
#include "host/store/format/nifti.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "headers and voxels are copied as they lie");

/* Byte offsets of the fields in the two headers (NIfTI-1: 348 bytes, NIfTI-2: 540), and their
 * types. */
enum {
    N1_DIM = 40,
    N1_DATATYPE = 70,
    N1_BITPIX = 72,
    N1_PIXDIM = 76,
    N1_VOX_OFFSET = 108,
    N1_SLOPE = 112,
    N1_INTER = 116,
    N1_UNITS = 123,
    N1_SFORM = 254,
    N1_SROW = 280,
    N1_MAGIC = 344,
    N2_MAGIC = 4,
    N2_DATATYPE = 12,
    N2_BITPIX = 14,
    N2_DIM = 16,
    N2_PIXDIM = 104,
    N2_VOX_OFFSET = 168,
    N2_SLOPE = 176,
    N2_INTER = 184,
    N2_SFORM = 348,
    N2_SROW = 400,
    N2_UNITS = 500,
    N1_BYTES = 348,
    N2_BYTES = 540,
    FLOAT32 = 16,
    MILLIMETRES = 2,
    SCANNER_FRAME = 1,
};
static const char magic1[4] = "n+1", magic2[8] = "n+2\0\r\n\x1a\n";

#define PUT(type, at, value)                                                                       \
    do {                                                                                           \
        type put_ = (type)(value);                                                                 \
        memcpy(h + (at), &put_, sizeof put_);                                                      \
    } while (0)

/* The volume's centre is the origin of the scanner frame. */
static size_t make_header1(unsigned char *h, const int64_t size[3], const double spacing[3])
{
    PUT(int32_t, 0, N1_BYTES);
    PUT(int16_t, N1_DIM, 3);
    PUT(float, N1_PIXDIM, 1);
    for (int i = 0; i < 7; i++)
        PUT(int16_t, N1_DIM + 2 * (i + 1), i < 3 ? size[i] : 1);
    for (int i = 0; i < 3; i++) {
        PUT(float, N1_PIXDIM + 4 * (i + 1), spacing[i]);
        PUT(float, N1_SROW + 16 * i + 4 * i, spacing[i]);
        PUT(float, N1_SROW + 16 * i + 12, -spacing[i] * (double)(size[i] - 1) / 2);
    }
    PUT(int16_t, N1_DATATYPE, FLOAT32);
    PUT(int16_t, N1_BITPIX, 32);
    PUT(float, N1_VOX_OFFSET, 352);
    PUT(float, N1_SLOPE, 1);
    h[N1_UNITS] = MILLIMETRES;
    PUT(int16_t, N1_SFORM, SCANNER_FRAME);
    memcpy(h + N1_MAGIC, magic1, sizeof magic1);
    return 352; /* 4 bytes of "no extension" follow the header */
}

static size_t make_header2(unsigned char *h, const int64_t size[3], const double spacing[3])
{
    PUT(int32_t, 0, N2_BYTES);
    memcpy(h + N2_MAGIC, magic2, sizeof magic2);
    PUT(int64_t, N2_DIM, 3);
    PUT(double, N2_PIXDIM, 1);
    for (int i = 0; i < 7; i++)
        PUT(int64_t, N2_DIM + 8 * (i + 1), i < 3 ? size[i] : 1);
    for (int i = 0; i < 3; i++) {
        PUT(double, N2_PIXDIM + 8 * (i + 1), spacing[i]);
        PUT(double, N2_SROW + 32 * i + 8 * i, spacing[i]);
        PUT(double, N2_SROW + 32 * i + 24, -spacing[i] * (double)(size[i] - 1) / 2);
    }
    PUT(int16_t, N2_DATATYPE, FLOAT32);
    PUT(int16_t, N2_BITPIX, 32);
    PUT(int64_t, N2_VOX_OFFSET, 544);
    PUT(double, N2_SLOPE, 1);
    PUT(int32_t, N2_UNITS, MILLIMETRES);
    PUT(int32_t, N2_SFORM, SCANNER_FRAME);
    return 544;
}

/* A file that is compressed on its way when its name ends in .gz. */
struct nifti_sink {
    struct outfile file;
    int compressed;
};

static enum err sink_open(struct nifti_sink *k, const char *path)
{
    k->compressed = text_has_suffix(path, ".gz");
    return outfile_open(&k->file, path);
}

/* Uses level 1: float32 noise gains a tenth at any level. */
static enum err sink_write(struct nifti_sink *k, const void *data, size_t bytes)
{
    return k->compressed ? bgzf_write(&k->file, data, bytes, 1)
                         : outfile_write(&k->file, data, bytes);
}

/* `count` slices from `first`: (rows, cols, slices) becomes (count, rows, cols). */
static void slices_transpose(const float *volume, int64_t pixels, int64_t slices, int64_t first,
                             int64_t count, float *slab)
{
    for (int64_t p = 0; p < pixels; p++)
        for (int64_t q = 0; q < count; q++)
            slab[q * pixels + p] = volume[p * slices + first + q];
}

/* 16 slices at a time: one cache line of the volume, read once; fewer where they are larger than
 * this. */
#define SLAB_BYTES ((int64_t)64 << 20)

static enum err sink_write_volume(struct nifti_sink *k, int64_t pixels, int64_t slices,
                                  const float *volume)
{
    int64_t count = SLAB_BYTES / (pixels * (int64_t)sizeof(float));
    count = count < 1 ? 1 : count > NIFTI_SLICES ? NIFTI_SLICES : count;
    count = count > slices ? slices : count;
    void *slab;
    TRY(mem_alloc("slices of the file", (size_t)(count * pixels) * sizeof(float), &slab));
    enum err e = ERR_OK;
    for (int64_t first = 0; first < slices && !e; first += count) {
        int64_t now = first + count < slices ? count : slices - first;
        slices_transpose(volume, pixels, slices, first, now, slab);
        e = sink_write(k, slab, (size_t)(now * pixels) * sizeof(float));
    }
    mem_free(slab);
    return e;
}

struct nifti_slabs {
    struct nifti_sink sink;
    int64_t pixels;
};

size_t nifti_float_header(int64_t rows, int64_t cols, int64_t slices, const double spacing[3],
                          unsigned char h[544])
{
    const int64_t size[3] = {cols, rows, slices};
    const int large = cols > INT16_MAX || rows > INT16_MAX || slices > INT16_MAX;
    memset(h, 0, 544);
    return large ? make_header2(h, size, spacing) : make_header1(h, size, spacing);
}

enum err nifti_slabs_open(const char *path, int64_t rows, int64_t cols, int64_t slices,
                          const double spacing[3], struct nifti_slabs **out)
{
    unsigned char h[544];
    const size_t bytes = nifti_float_header(rows, cols, slices, spacing, h);
    struct nifti_slabs *w = calloc(1, sizeof *w);
    FAIL_IF(!w, ERR_MEMORY, "%s: no memory left to write", path);
    w->pixels = rows * cols;
    enum err e = sink_open(&w->sink, path);
    if (!e)
        e = sink_write(&w->sink, h, bytes);
    if (e) {
        nifti_slabs_close(w, e);
        return e;
    }
    *out = w;
    return ERR_OK;
}

enum err nifti_slabs_write(struct nifti_slabs *w, int64_t count, const float *x)
{
    return sink_write_volume(&w->sink, w->pixels, count, x);
}

enum err nifti_slabs_close(struct nifti_slabs *w, enum err e)
{
    if (!e && w->sink.compressed)
        e = bgzf_end(&w->sink.file);
    if (!e)
        e = outfile_commit(&w->sink.file);
    outfile_abort(&w->sink.file);
    free(w);
    return e;
}

enum err nifti_write(const char *path, int64_t rows, int64_t cols, int64_t slices,
                     const double spacing[3], const float *volume)
{
    struct nifti_slabs *w;
    TRY(nifti_slabs_open(path, rows, cols, slices, spacing, &w));
    return nifti_slabs_close(w, nifti_slabs_write(w, slices, volume));
}
