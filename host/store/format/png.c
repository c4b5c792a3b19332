/* Grey PNG files, and the window of values that shows an object. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/file.h"
#include "base/memory.h"
#include "host/store/format/png.h"

static void png_put32(unsigned char *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* Writes length, type, data, checksum over type and data (PNG specification, 5.3). */
static enum err write_chunk(struct outfile *f, const char *type, const unsigned char *data,
                            uint32_t bytes)
{
    unsigned char head[8], tail[4];
    png_put32(head, bytes);
    memcpy(head + 4, type, 4);
    uLong crc = crc32(0, head + 4, 4);
    if (bytes) /* crc32 of NULL would start anew */
        crc = crc32(crc, data, bytes);
    png_put32(tail, (uint32_t)crc);
    TRY(outfile_write(f, head, sizeof head));
    TRY(outfile_write(f, data, bytes));
    return outfile_write(f, tail, sizeof tail);
}

/* Each line begins with its filter type, 0 = none. NaN becomes black. */
static void fill_lines(unsigned char *out, int64_t rows, int64_t cols, const float *values,
                       int64_t row_stride, int64_t col_stride, double low, double high)
{
    double scale = high > low ? 255 / (high - low) : 0;
    for (int64_t i = 0; i < rows; i++) {
        *out++ = 0;
        for (int64_t j = 0; j < cols; j++) {
            double grey = ((double)values[i * row_stride + j * col_stride] - low) * scale;
            *out++ = (unsigned char)(grey > 0 ? grey < 255 ? grey + .5 : 255 : 0);
        }
    }
}

static enum err write_stream(struct outfile *f, int64_t rows, int64_t cols,
                             const unsigned char *packed, uLong bytes)
{
    unsigned char header[13] = {[8] = 8}; /* 8 bits, grey, deflate, no interlace */
    png_put32(header, (uint32_t)cols);
    png_put32(header + 4, (uint32_t)rows);
    TRY(outfile_write(f, "\x89PNG\r\n\x1a\n", 8));
    TRY(write_chunk(f, "IHDR", header, sizeof header));
    TRY(write_chunk(f, "IDAT", packed, (uint32_t)bytes));
    return write_chunk(f, "IEND", NULL, 0);
}

/* A picture into a stream; `name` is for messages. */
static enum err write_picture(struct outfile *f, const char *name, int64_t rows, int64_t cols,
                              const float *values, int64_t row_stride, int64_t col_stride,
                              double low, double high)
{
    FAIL_IF(rows < 1 || cols < 1 || rows > (1 << 30) / (cols + 1), ERR_INPUT,
            "%s: a picture of %lld x %lld pixels cannot be written", name, (long long)cols,
            (long long)rows);
    uLong bytes = (uLong)(rows * (cols + 1)), packed_bytes = compressBound(bytes);
    void *lines = NULL, *packed = NULL;
    enum err e;
    TRY_OUT(mem_alloc("picture", bytes, &lines));
    TRY_OUT(mem_alloc("picture", packed_bytes, &packed));
    fill_lines(lines, rows, cols, values, row_stride, col_stride, low, high);
    e = compress2(packed, &packed_bytes, lines, bytes, 6) == Z_OK
            ? write_stream(f, rows, cols, packed, packed_bytes)
            : FAIL(ERR_MEMORY, "%s: no memory left to compress the picture", name);
out:
    mem_free(lines);
    mem_free(packed);
    return e;
}

enum err png_write_grey(const char *path, int64_t rows, int64_t cols, const float *values,
                        int64_t row_stride, int64_t col_stride, double low, double high)
{
    struct outfile f = {0};
    TRY(outfile_open(&f, path));
    enum err e = write_picture(&f, path, rows, cols, values, row_stride, col_stride, low, high);
    if (!e)
        e = outfile_commit(&f);
    outfile_abort(&f);
    return e;
}

enum err png_encode_grey(int64_t rows, int64_t cols, const float *values, double low, double high,
                         unsigned char **png, size_t *bytes)
{
    char *data = NULL;
    struct outfile f = {.stream = open_memstream(&data, bytes), .path = "a picture"};
    FAIL_IF(!f.stream, ERR_MEMORY, "no memory left for a picture");
    enum err e = write_picture(&f, f.path, rows, cols, values, cols, 1, low, high);
    if (fclose(f.stream) && !e)
        e = FAIL(ERR_MEMORY, "no memory left for a picture");
    *png = (unsigned char *)data;
    return e;
}

/* Percentiles of at most this many values, evenly taken: 327 of them lie beyond either end of the
 * window. */
#define SAMPLES 65536

void image_window(int64_t rows, int64_t cols, const float *values, int64_t row_stride,
                  int64_t col_stride, double *low, double *high)
{
    float sample[SAMPLES];
    int64_t pixels = rows * cols, step = pixels / SAMPLES + 1, n = 0;
    for (int64_t p = 0; p < pixels; p += step) {
        float x = values[p / cols * row_stride + p % cols * col_stride];
        if (isfinite(x))
            sample[n++] = x;
    }
    *low = 0;
    *high = 1;
    if (!n)
        return;
    qsort(sample, (size_t)n, sizeof *sample, ascending_float);
    *low = (double)sample[(n - 1) / 200];
    *high = (double)sample[(n - 1) - (n - 1) / 200];
    if (*high <= *low) /* flat: mid-grey */
        *low -= .5, *high = *low + 1;
}

double scale_bar(int64_t rows, int64_t cols, float *values, double pitch, double low, double high)
{
    const double most = 0.25 * (double)cols * pitch, ten = pow(10, floor(log10(most)));
    const double length = most >= 5 * ten ? 5 * ten : most >= 2 * ten ? 2 * ten : ten;
    const int64_t wide = (int64_t)rint(length / pitch), thick = rows / 100 + 1;
    const int64_t left = cols / 32 + 1, bottom = rows - rows / 32 - 2;
    for (int64_t i = bottom - thick; i <= bottom + 1; i++)
        for (int64_t j = left - 1; j <= left + wide; j++) {
            const int frame = i == bottom - thick || i > bottom || j < left || j == left + wide;
            if (i >= 0 && i < rows && j < cols)
                values[i * cols + j] = (float)(frame ? low : high);
        }
    return length;
}
