/* Parses headers of MRC (binary), NRRD and MetaImage (lines of text). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "host/store/format/flat.h"

#define LINE      1024
#define MRC_BYTES 1024

/* ---- MRC2014 ---- */

static int32_t mrc_word(const unsigned char *head, int at, int swap)
{
    uint32_t v;
    memcpy(&v, head + at, sizeof v);
    v = swap ? __builtin_bswap32(v) : v;
    return (int32_t)v;
}

static double mrc_real(const unsigned char *head, int at, int swap)
{
    const int32_t bits = mrc_word(head, at, swap);
    float v;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

int mrc_is(const unsigned char *head, size_t n)
{
    return n >= MRC_BYTES && !memcmp(head + 208, "MAP", 3) && (head[211] == ' ' || !head[211]);
}

enum err mrc_parse(const char *path, const unsigned char *head, size_t n, struct flat_header *h)
{
    static const struct {
        int mode;
        const char *dtype;
    } modes[] = {{0, "i1"}, {1, "i2"}, {2, "f4"}, {4, "c8"}, {6, "u2"}, {12, "f2"}};
    FAIL_IF(!mrc_is(head, n), ERR_INPUT, "%s: not an MRC file (no MAP at byte 208)", path);
    const int swap = head[212] == 0x11, mode = mrc_word(head, 12, swap);
    const int32_t extension = mrc_word(head, 92, swap);
    *h = (struct flat_header){.dims = 3, .offset = MRC_BYTES + (int64_t)extension};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (modes[i].mode == mode)
            snprintf(h->dtype, sizeof h->dtype, "%c%s", swap ? '>' : '<', modes[i].dtype);
    FAIL_IF(!*h->dtype, ERR_UNSUPPORTED,
            "%s: MRC mode %d is not read; modes 0, 1, 2, 4, 6 and 12 are", path, mode);
    FAIL_IF(extension < 0, ERR_INPUT, "%s: an extended header of %d bytes", path, (int)extension);
    for (int d = 0; d < 3; d++) {
        const double cell = mrc_real(head, 40 + 4 * d, swap);
        const int32_t grid = mrc_word(head, 28 + 4 * d, swap);
        h->shape[d] = mrc_word(head, 4 * d, swap);
        h->spacing[d] = grid > 0 && cell > 0 && isfinite(cell) ? cell / grid : 0;
    }
    return ERR_OK;
}

/* ---- lines of text ---- */

struct flat_lines {
    const char *at, *end;
};

/* The next line without its end, cut to LINE; 0: there is none that is whole. */
static int lines_next(struct flat_lines *l, char out[LINE])
{
    const char *end = memchr(l->at, '\n', (size_t)(l->end - l->at));
    if (!end)
        return 0;
    size_t n = (size_t)(end - l->at);
    n = n && l->at[n - 1] == '\r' ? n - 1 : n;
    n = n < LINE ? n : LINE - 1;
    memcpy(out, l->at, n);
    out[n] = 0;
    l->at = end + 1;
    return 1;
}

/* "key: value" in two; value NULL: another line. Blanks around both are cut. */
static char *line_split(char *line, char separator)
{
    char *value = strchr(line, separator);
    if (!value)
        return NULL;
    char *end = value;
    while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = 0;
    value++;
    value += strspn(value, " \t=");
    for (size_t n = strlen(value); n && (value[n - 1] == ' ' || value[n - 1] == '\t'); n--)
        value[n - 1] = 0;
    return value;
}

/* Reads numbers with blanks between them, FLAT_DIMS at most; -1: something else. */
static int line_numbers(const char *text, double out[FLAT_DIMS])
{
    int n = 0;
    for (char *end; *(text += strspn(text, " \t")); text = end) {
        const double v = strtod(text, &end);
        if (end == text || n == FLAT_DIMS || (*end && *end != ' ' && *end != '\t'))
            return -1;
        out[n++] = v;
    }
    return n;
}

static enum err header_sizes(const char *path, const char *text, struct flat_header *h)
{
    double sizes[FLAT_DIMS];
    h->dims = line_numbers(text, sizes);
    FAIL_IF(h->dims < 1, ERR_INPUT, "%s: sizes are \"%.60s\"; expected 1 to %d numbers", path, text,
            FLAT_DIMS);
    for (int d = 0; d < h->dims; d++) {
        FAIL_IF(!(sizes[d] >= 1 && sizes[d] < 9e15) || sizes[d] != floor(sizes[d]), ERR_INPUT,
                "%s: sizes are \"%.60s\"; each must be an integer of at least 1", path, text);
        h->shape[d] = (int64_t)sizes[d];
    }
    return ERR_OK;
}

static void header_spacing(const char *text, struct flat_header *h)
{
    double step[FLAT_DIMS];
    const int n = line_numbers(text, step);
    for (int d = 0; d < n; d++)
        h->spacing[d] = step[d] > 0 && isfinite(step[d]) ? step[d] : 0;
}

static enum err header_file(const char *path, const char *name, struct flat_header *h)
{
    FAIL_IF(!strncmp(name, "LIST", 4) || strchr(name, '%'), ERR_UNSUPPORTED,
            "%s: its data are in several files (%.60s); one file is read", path, name);
    name += text_begins(name, "./") ? 2 : 0;
    FAIL_IF(!*name || strlen(name) >= sizeof h->file, ERR_INPUT,
            "%s: names no file of less than %zu characters for its data", path, sizeof h->file);
    snprintf(h->file, sizeof h->file, "%s", name);
    return ERR_OK;
}

static int word_is_true(const char *text)
{
    return !strcasecmp(text, "true") || !strcmp(text, "1");
}

struct type_name {
    const char *name, *dtype;
};

static const char *type_find(const struct type_name *types, const char *name)
{
    for (; types->name; types++)
        if (!strcasecmp(types->name, name))
            return types->dtype;
    return NULL;
}

/* ---- NRRD ---- */

static const struct type_name nrrd_types[] = {
    {"signed char", "i1"},
    {"int8", "i1"},
    {"int8_t", "i1"},
    {"uchar", "u1"},
    {"unsigned char", "u1"},
    {"uint8", "u1"},
    {"uint8_t", "u1"},
    {"short", "i2"},
    {"short int", "i2"},
    {"signed short", "i2"},
    {"int16", "i2"},
    {"int16_t", "i2"},
    {"ushort", "u2"},
    {"unsigned short", "u2"},
    {"uint16", "u2"},
    {"uint16_t", "u2"},
    {"int", "i4"},
    {"signed int", "i4"},
    {"int32", "i4"},
    {"int32_t", "i4"},
    {"uint", "u4"},
    {"unsigned int", "u4"},
    {"uint32", "u4"},
    {"uint32_t", "u4"},
    {"longlong", "i8"},
    {"long long", "i8"},
    {"int64", "i8"},
    {"int64_t", "i8"},
    {"ulonglong", "u8"},
    {"unsigned long long", "u8"},
    {"uint64", "u8"},
    {"uint64_t", "u8"},
    {"float", "f4"},
    {"double", "f8"},
    {NULL, NULL},
};

struct nrrd_fields {
    const char *type;
    int big, skips;
    double skip;
    char encoding[16];
};

int nrrd_is(const unsigned char *head, size_t n)
{
    return n >= 9 && !memcmp(head, "NRRD000", 7);
}

/* "(0.5,0,0) none (0,0,2)": the lengths of vectors. */
static void nrrd_directions(const char *text, struct flat_header *h)
{
    for (int d = 0; d < FLAT_DIMS && *(text += strspn(text, " ")); d++) {
        double sum = 0;
        char *end;
        if (*text != '(') {
            text += strcspn(text, " ");
            continue;
        }
        for (text++; *text && *text != ')'; text = end + (*end == ',')) {
            const double v = strtod(text, &end);
            if (end == text)
                return;
            sum += v * v;
        }
        text += *text == ')';
        h->spacing[d] = isfinite(sum) ? sqrt(sum) : 0;
    }
}

static enum err nrrd_field(const char *path, const char *key, const char *value,
                           struct nrrd_fields *f, struct flat_header *h)
{
    double number[FLAT_DIMS];
    if (!strcasecmp(key, "type")) {
        f->type = type_find(nrrd_types, value);
        FAIL_IF(!f->type, ERR_UNSUPPORTED, "%s: NRRD type \"%.40s\" is not read; numbers are", path,
                value);
    } else if (!strcasecmp(key, "sizes")) {
        TRY(header_sizes(path, value, h));
    } else if (!strcasecmp(key, "endian")) {
        f->big = !strcasecmp(value, "big");
    } else if (!strcasecmp(key, "encoding")) {
        snprintf(f->encoding, sizeof f->encoding, "%s", value);
    } else if (!strcasecmp(key, "spacings")) {
        header_spacing(value, h);
    } else if (!strcasecmp(key, "space directions")) {
        nrrd_directions(value, h);
    } else if (!strcasecmp(key, "data file") || !strcasecmp(key, "datafile")) {
        TRY(header_file(path, value, h));
    } else if (!strcasecmp(key, "byte skip") || !strcasecmp(key, "byteskip")) {
        FAIL_IF(line_numbers(value, number) != 1 || !(number[0] >= -1 && number[0] < 9e15),
                ERR_INPUT, "%s: byte skip is \"%.40s\"; expected -1 or more", path, value);
        f->skip = number[0];
    } else if (!strcasecmp(key, "line skip") || !strcasecmp(key, "lineskip")) {
        f->skips = strcmp(value, "0") != 0;
    }
    return ERR_OK;
}

enum err nrrd_parse(const char *path, const unsigned char *head, size_t n, struct flat_header *h)
{
    struct flat_lines l = {(const char *)head, (const char *)head + n};
    struct nrrd_fields f = {0};
    char line[LINE] = "";
    int found = 0;
    *h = (struct flat_header){0};
    FAIL_IF(!nrrd_is(head, n) || !lines_next(&l, line), ERR_INPUT, "%s: not an NRRD file", path);
    while ((found = lines_next(&l, line)) && *line) {
        char *value = *line == '#' || strstr(line, ":=") ? NULL : line_split(line, ':');
        if (value)
            TRY(nrrd_field(path, line, value, &f, h));
    }
    /* A header beside its data may end without a blank line. */
    FAIL_IF(!found && !*h->file, ERR_INPUT, "%s: the NRRD header has no end within %zu bytes", path,
            n);
    FAIL_IF(!f.type || !h->dims, ERR_INPUT, "%s: an NRRD header without type or sizes", path);
    const int gzip = !strcasecmp(f.encoding, "gzip") || !strcasecmp(f.encoding, "gz");
    FAIL_IF(!gzip && strcasecmp(f.encoding, "raw") != 0, ERR_UNSUPPORTED,
            "%s: NRRD encoding \"%s\" is not read; raw and gzip are", path, f.encoding);
    FAIL_IF(f.skips || (gzip && f.skip > 0), ERR_UNSUPPORTED,
            "%s: NRRD data behind skipped lines, or behind skipped bytes of gzip, are not read",
            path);
    h->coding = gzip ? FLAT_GZIP : FLAT_RAW;
    h->offset = f.skip < 0 ? -1 : (int64_t)f.skip + (*h->file ? 0 : l.at - (const char *)head);
    h->offset = gzip && h->offset < 0 ? l.at - (const char *)head : h->offset;
    snprintf(h->dtype, sizeof h->dtype, "%c%s", f.big ? '>' : '<', f.type);
    return ERR_OK;
}

/* ---- MetaImage ---- */

static const struct type_name metaimage_types[] = {
    {"MET_CHAR", "i1"},  {"MET_UCHAR", "u1"},  {"MET_SHORT", "i2"},     {"MET_USHORT", "u2"},
    {"MET_INT", "i4"},   {"MET_UINT", "u4"},   {"MET_LONG", "i4"},      {"MET_ULONG", "u4"},
    {"MET_FLOAT", "f4"}, {"MET_DOUBLE", "f8"}, {"MET_LONG_LONG", "i8"}, {"MET_ULONG_LONG", "u8"},
    {NULL, NULL},
};

struct metaimage_fields {
    const char *type;
    int big, compressed, text, size; /* size: a header's size is given */
    double channels, header;
};

int metaimage_is(const unsigned char *head, size_t n)
{
    static const char *const first[] = {"ObjectType", "NDims", "Comment"};
    for (int i = 0; i < 3; i++) {
        const size_t k = strlen(first[i]);
        if (n > k + 2 && !memcmp(head, first[i], k) && memchr(head + k, '=', 3))
            return 1;
    }
    return 0;
}

static enum err metaimage_field(const char *path, const char *key, const char *value,
                                struct metaimage_fields *f, struct flat_header *h)
{
    double number[FLAT_DIMS];
    if (!strcmp(key, "DimSize")) {
        TRY(header_sizes(path, value, h));
    } else if (!strcmp(key, "ElementType")) {
        f->type = type_find(metaimage_types, value);
        FAIL_IF(!f->type, ERR_UNSUPPORTED, "%s: ElementType %.40s is not read; numbers are", path,
                value);
    } else if (!strcmp(key, "BinaryDataByteOrderMSB") || !strcmp(key, "ElementByteOrderMSB")) {
        f->big = word_is_true(value);
    } else if (!strcmp(key, "CompressedData")) {
        f->compressed = word_is_true(value);
    } else if (!strcmp(key, "BinaryData")) {
        f->text = !word_is_true(value);
    } else if (!strcmp(key, "ElementSpacing") || (!strcmp(key, "ElementSize") && !h->spacing[0])) {
        header_spacing(value, h);
    } else if (!strcmp(key, "ElementNumberOfChannels")) {
        FAIL_IF(line_numbers(value, &number[0]) != 1 || !(number[0] >= 1 && number[0] < 65536) ||
                    number[0] != floor(number[0]),
                ERR_INPUT, "%s: ElementNumberOfChannels is \"%.40s\"; expected 1 or more", path,
                value);
        f->channels = number[0];
    } else if (!strcmp(key, "HeaderSize")) {
        FAIL_IF(line_numbers(value, number) != 1 || !(number[0] >= -1 && number[0] < 9e15),
                ERR_INPUT, "%s: HeaderSize is \"%.40s\"; expected -1 or more", path, value);
        f->header = number[0];
        f->size = 1;
    } else if (!strcmp(key, "ElementDataFile") && strcasecmp(value, "LOCAL") != 0) {
        TRY(header_file(path, value, h));
    }
    return ERR_OK;
}

/* Components of an element are the fastest dimension. */
static enum err metaimage_channels(const char *path, int64_t channels, struct flat_header *h)
{
    FAIL_IF(h->dims == FLAT_DIMS, ERR_UNSUPPORTED, "%s: more than %d dimensions", path, FLAT_DIMS);
    memmove(h->shape + 1, h->shape, (size_t)h->dims * sizeof *h->shape);
    memmove(h->spacing + 1, h->spacing, (size_t)h->dims * sizeof *h->spacing);
    h->shape[0] = channels;
    h->spacing[0] = 0;
    h->dims++;
    h->channels = 1;
    return ERR_OK;
}

enum err metaimage_parse(const char *path, const unsigned char *head, size_t n,
                         struct flat_header *h)
{
    struct flat_lines l = {(const char *)head, (const char *)head + n};
    struct metaimage_fields f = {0};
    char line[LINE];
    int last = 0;
    *h = (struct flat_header){0};
    FAIL_IF(!metaimage_is(head, n), ERR_INPUT, "%s: not a MetaImage", path);
    while (!last && lines_next(&l, line)) {
        char *value = line_split(line, '=');
        last = value && !strcmp(line, "ElementDataFile");
        if (value)
            TRY(metaimage_field(path, line, value, &f, h));
    }
    FAIL_IF(!last || !f.type || !h->dims, ERR_INPUT,
            "%s: a MetaImage header without ElementDataFile, ElementType or DimSize", path);
    FAIL_IF(f.text, ERR_UNSUPPORTED, "%s: a MetaImage of text is not read; BinaryData = True is",
            path);
    h->offset = f.size ? (int64_t)f.header : 0;
    if (!*h->file)
        h->offset = l.at - (const char *)head;
    FAIL_IF(f.compressed && h->offset < 0, ERR_UNSUPPORTED,
            "%s: compressed data at the end of a file are not read", path);
    h->coding = f.compressed ? FLAT_ZLIB : FLAT_RAW;
    snprintf(h->dtype, sizeof h->dtype, "%c%s", f.big ? '>' : '<', f.type);
    return f.channels > 1 ? metaimage_channels(path, (int64_t)f.channels, h) : ERR_OK;
}
