/* Reads .npy headers as the text that they are, and arrays whole or by rows; writes them. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "host/store/format/npy.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               ".npy data are copied as they lie in memory");

/* NumPy itself refuses headers above 10000 bytes. */
#define HEAD_MAX 65536

/* The header's dictionary, e.g. {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } */
struct cursor {
    const char *at, *end;
};

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at)
        c->at++;
}

static int npy_take(struct cursor *c, char wanted)
{
    skip_space(c);
    if (c->at >= c->end || *c->at != wanted)
        return 0;
    c->at++;
    return 1;
}

static int npy_take_word(struct cursor *c, const char *word)
{
    size_t n = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n))
        return 0;
    c->at += n;
    return 1;
}

/* A quoted string without escapes, cut to `room` with its NUL. */
static int npy_take_string(struct cursor *c, char *out, size_t room)
{
    char quote = npy_take(c, '\'') ? '\'' : '"';
    if (quote == '"' && !npy_take(c, '"'))
        return 0;
    size_t n = 0;
    for (; c->at < c->end && *c->at != quote; c->at++) {
        if ((unsigned char)*c->at < ' ' || (unsigned char)*c->at > '~')
            return 0;
        if (n + 1 < room)
            out[n++] = *c->at;
    }
    out[n] = 0;
    return npy_take(c, quote);
}

static int npy_take_size(struct cursor *c, int64_t *out)
{
    int64_t n = 0;
    skip_space(c);
    const char *first = c->at;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *c->at - '0', &n))
            return 0;
    *out = n;
    return c->at > first;
}

static int npy_take_shape(struct cursor *c, struct npy_header *h)
{
    if (!npy_take(c, '('))
        return 0;
    while (!npy_take(c, ')')) {
        if (h->dims == NPY_DIMS || !npy_take_size(c, &h->shape[h->dims]))
            return 0;
        h->dims++;
        if (!npy_take(c, ',')) /* (5) is not a tuple, but unambiguous */
            return npy_take(c, ')');
    }
    return 1;
}

static int npy_take_dictionary(struct cursor *c, struct npy_header *h)
{
    int descr = 0, order = 0, shape = 0;
    if (!npy_take(c, '{'))
        return 0;
    while (!npy_take(c, '}')) {
        char key[16];
        int good = npy_take_string(c, key, sizeof key) && npy_take(c, ':');
        if (good && !strcmp(key, "descr") && !descr++)
            good = npy_take_string(c, h->dtype, sizeof h->dtype);
        else if (good && !strcmp(key, "fortran_order") && !order++)
            good = (h->fortran = npy_take_word(c, "True")) || npy_take_word(c, "False");
        else if (good && !strcmp(key, "shape") && !shape++)
            good = npy_take_shape(c, h);
        else
            return 0;
        if (!good)
            return 0;
        if (!npy_take(c, ',')) {
            if (!npy_take(c, '}'))
                return 0;
            break;
        }
    }
    skip_space(c);
    return descr && order && shape && c->at == c->end;
}

enum err npy_parse(const char *path, const unsigned char *head, size_t bytes, struct npy_header *h)
{
    static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    *h = (struct npy_header){0};
    FAIL_IF(bytes < sizeof magic || memcmp(head, magic, sizeof magic), ERR_INPUT,
            "%s: is not a .npy file (NumPy array): write it with numpy.save", path);
    FAIL_IF(bytes < 12, ERR_INPUT, "%s: ends within its header", path);
    size_t start = head[6] == 1 ? 10 : 12;
    FAIL_IF(head[6] < 1 || head[6] > 3, ERR_INPUT,
            "%s: has .npy format version %d; 1 to 3 are known", path, head[6]);
    size_t length = (size_t)head[8] | (size_t)head[9] << 8;
    if (start == 12)
        length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    FAIL_IF(length > HEAD_MAX, ERR_INPUT, "%s: invalid header length %zu", path, length);
    FAIL_IF(start + length > bytes, ERR_INPUT, "%s: ends within its header", path);
    struct cursor c = {(const char *)head + start, (const char *)head + start + length};
    FAIL_IF(!npy_take_dictionary(&c, h), ERR_INPUT,
            "%s: its header is not that of a plain array (descr, fortran_order and shape of up to "
            "%d sizes)",
            path, NPY_DIMS);
    h->data_offset = (int64_t)(start + length);
    return ERR_OK;
}

static enum err check_layout(const char *path, const struct npy_header *h)
{
    FAIL_IF(
        strcmp(h->dtype, "<f4"), ERR_INPUT,
        "%s: holds numbers of type %s, but float32 (<f4) is needed: save x.astype(numpy.float32)",
        path, h->dtype);
    FAIL_IF(h->fortran, ERR_INPUT,
            "%s: is in Fortran order, but C order is needed: save numpy.ascontiguousarray(x)",
            path);
    return ERR_OK;
}

static enum err npy_check_shape(const char *path, const struct npy_header *h, int dims,
                                const int64_t *want, const char *const *names)
{
    FAIL_IF(h->dims != dims, ERR_INPUT, "%s: has %d dimensions, but %d are needed", path, h->dims,
            dims);
    for (int i = 0; i < dims; i++) {
        const char *name = names ? names[i] : "elements";
        FAIL_IF(h->shape[i] < 1, ERR_INPUT, "%s: holds no %s (dimension %d is 0)", path, name, i);
        FAIL_IF(want[i] >= 0 && h->shape[i] != want[i], ERR_INPUT,
                "%s: has %" PRId64 " %s (dimension %d), but %" PRId64 " are needed", path,
                h->shape[i], name, i, want[i]);
    }
    return ERR_OK;
}

/* Bytes of the array, checked against the size of the file before anybody allocates them. */
static enum err data_bytes(const char *path, const struct npy_header *h, int64_t file_bytes,
                           size_t *bytes)
{
    int64_t n = sizeof(float);
    for (int i = 0; i < h->dims; i++)
        FAIL_IF(__builtin_mul_overflow(n, h->shape[i], &n), ERR_INPUT,
                "%s: its header names a shape that is too large for any machine", path);
    int64_t there = file_bytes - h->data_offset;
    FAIL_IF(there < n, ERR_INPUT,
            "%s: is cut short: its header names %" PRId64 " bytes of data, %" PRId64 " follow",
            path, n, there);
    FAIL_IF(there > n, ERR_INPUT,
            "%s: holds %" PRId64 " bytes more than its header says: write one array per file", path,
            there - n);
    *bytes = (size_t)n;
    return ERR_OK;
}

static enum err check_finite(const char *path, const float *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        FAIL_IF(!isfinite(data[i]), ERR_INPUT,
                "%s: holds a value that is not a finite number (flat index %zu)", path, i);
    return ERR_OK;
}

/* Opens an array and checks it; *bytes of data lie at h->data_offset. */
static enum err open_array(FILE *f, const char *path, int dims, int64_t *shape,
                           const char *const *names, struct npy_header *h, size_t *bytes)
{
    unsigned char head[HEAD_MAX];
    struct stat st;
    FAIL_IF(fstat(fileno(f), &st), ERR_INPUT, "%s: cannot read: %s", path, strerror(errno));
    TRY(npy_parse(path, head, fread(head, 1, sizeof head, f), h));
    TRY(check_layout(path, h));
    TRY(npy_check_shape(path, h, dims, shape, names));
    TRY(data_bytes(path, h, st.st_size, bytes));
    memcpy(shape, h->shape, (size_t)dims * sizeof *shape);
    return ERR_OK;
}

static enum err npy_read_at(FILE *f, const char *path, int64_t offset, void *to, size_t bytes)
{
    errno = 0;
    FAIL_IF(fseeko(f, offset, SEEK_SET) || fread(to, 1, bytes, f) != bytes, ERR_IO,
            "%s: reading failed: %s", path, strerror(errno ? errno : EIO));
    return ERR_OK;
}

static enum err npy_read_row_range(FILE *f, const char *path, int64_t *shape,
                                   const char *const *names, int finite, int64_t first,
                                   int64_t count, float **data)
{
    struct npy_header h;
    size_t bytes;
    void *block;
    TRY(open_array(f, path, 3, shape, names, &h, &bytes));
    FAIL_IF(first < 0 || count < 1 || first > shape[1] - count, ERR_INTERNAL,
            "%s: rows %" PRId64 " to %" PRId64 " of %" PRId64, path, first, first + count,
            shape[1]);
    const int64_t part = count * shape[2];
    TRY(mem_alloc(path, (size_t)(shape[0] * part) * sizeof(float), &block));
    enum err e = ERR_OK;
    for (int64_t i = 0; i < shape[0] && !e; i++) {
        const int64_t from = (i * shape[1] + first) * shape[2] * (int64_t)sizeof(float);
        e = npy_read_at(f, path, h.data_offset + from, (float *)block + i * part,
                        (size_t)part * sizeof(float));
    }
    if (!e && finite)
        e = check_finite(path, block, (size_t)(shape[0] * part));
    if (e)
        mem_free(block);
    else
        *data = block;
    return e;
}

static enum err read_open(FILE *f, const char *path, int dims, int64_t *shape,
                          const char *const *names, int finite, float **data)
{
    struct npy_header h;
    size_t bytes = 0;
    void *block;
    TRY(open_array(f, path, dims, shape, names, &h, &bytes));
    TRY(mem_alloc(path, bytes, &block));
    enum err e = npy_read_at(f, path, h.data_offset, block, bytes);
    if (!e && finite)
        e = check_finite(path, block, bytes / sizeof(float));
    if (e)
        mem_free(block);
    else
        *data = block;
    return e;
}

enum err npy_read(const char *path, int dims, int64_t *shape, const char *const *names, int finite,
                  float **data)
{
    *data = NULL;
    FILE *f;
    TRY(file_open(path, &f));
    enum err e = read_open(f, path, dims, shape, names, finite, data);
    fclose(f);
    return e;
}

enum err npy_read_rows(const char *path, int64_t *shape, const char *const *names, int finite,
                       int64_t first, int64_t count, float **data)
{
    *data = NULL;
    FILE *f;
    TRY(file_open(path, &f));
    enum err e = npy_read_row_range(f, path, shape, names, finite, first, count, data);
    fclose(f);
    return e;
}

/* Header of format 1.0, padded with spaces so that the data begin at a multiple of 64. */
static size_t npy_make_header(char out[512], const char *dtype, int dims, const int64_t *shape)
{
    char text[400];
    int n =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", dtype);
    for (int i = 0; i < dims; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%" PRId64 "%s", shape[i],
                      dims == 1      ? ","
                      : i + 1 < dims ? ", "
                                     : "");
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    size_t total = ((size_t)(10 + n + 1) + 63) / 64 * 64;
    memset(out, ' ', total);
    memcpy(out, "\x93NUMPY\x01", 8);
    out[8] = (char)((total - 10) & 255);
    out[9] = (char)((total - 10) >> 8);
    memcpy(out + 10, text, (size_t)n);
    out[total - 1] = '\n';
    return total;
}

size_t npy_float_header(const int64_t shape[3], char out[512])
{
    return npy_make_header(out, "<f4", 3, shape);
}

enum err npy_write_type(const char *path, const char *dtype, int element, int dims,
                        const int64_t *shape, const void *data)
{
    int64_t bytes = element;
    FAIL_IF(dims < 1 || dims > NPY_DIMS, ERR_INTERNAL, "%s: %d dimensions", path, dims);
    for (int i = 0; i < dims; i++)
        FAIL_IF(shape[i] < 0 || __builtin_mul_overflow(bytes, shape[i], &bytes), ERR_INTERNAL,
                "%s: dimension %d is %" PRId64, path, i, shape[i]);
    char head[512];
    size_t head_bytes = npy_make_header(head, dtype, dims, shape);
    struct outfile f = {0};
    enum err e;
    TRY_OUT(outfile_open(&f, path));
    TRY_OUT(outfile_write(&f, head, head_bytes));
    TRY_OUT(outfile_write(&f, data, (size_t)bytes));
    return outfile_commit(&f);
out:
    outfile_abort(&f);
    return e;
}

enum err npy_write(const char *path, int dims, const int64_t *shape, const float *data)
{
    return npy_write_type(path, "<f4", 4, dims, shape, data);
}

enum err npy_write_int32(const char *path, int dims, const int64_t *shape, const int32_t *data)
{
    return npy_write_type(path, "<i4", 4, dims, shape, data);
}

struct npy_slabs {
    struct outfile file;
    int64_t pixels, slices;
    size_t head_bytes;
};

enum err npy_slabs_open(const char *path, const int64_t shape[3], struct npy_slabs **out)
{
    char head[512];
    struct npy_slabs *w = calloc(1, sizeof *w);
    FAIL_IF(!w, ERR_MEMORY, "%s: no memory left to write", path);
    w->pixels = shape[0] * shape[1];
    w->slices = shape[2];
    w->head_bytes = npy_make_header(head, "<f4", 3, shape);
    enum err e = outfile_open(&w->file, path);
    if (!e)
        e = outfile_write(&w->file, head, w->head_bytes);
    if (e) {
        npy_slabs_close(w, e);
        return e;
    }
    *out = w;
    return ERR_OK;
}

enum err npy_slabs_write(struct npy_slabs *w, int64_t first, int64_t count, const float *x)
{
    const size_t bytes = (size_t)count * sizeof *x;
    if (count == w->slices)
        return outfile_write(&w->file, x, bytes * (size_t)w->pixels);
    TRY(outfile_flush(&w->file));
    for (int64_t p = 0; p < w->pixels; p++) {
        const off_t at = (off_t)w->head_bytes + (p * w->slices + first) * (off_t)sizeof *x;
        errno = 0;
        FAIL_IF(pwrite(fileno(w->file.stream), x + p * count, bytes, at) != (ssize_t)bytes, ERR_IO,
                "%s: writing failed: %s", w->file.path, strerror(errno ? errno : ENOSPC));
    }
    return ERR_OK;
}

enum err npy_slabs_close(struct npy_slabs *w, enum err e)
{
    if (!e)
        e = outfile_commit(&w->file);
    outfile_abort(&w->file);
    free(w);
    return e;
}
