/* Reads and judges NIfTI headers, of both versions and byte orders. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "base/text.h"
#include "host/store/format/nifti.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "big-endian files are the swapped ones");

/* A header in either byte order. */
struct nifti_view {
    const unsigned char *bytes;
    int swap;
};

static uint64_t get_bits(const struct nifti_view *v, int at, int size)
{
    uint64_t x = 0;
    for (int i = 0; i < size; i++)
        x |= (uint64_t)v->bytes[at + (v->swap ? size - 1 - i : i)] << (8 * i);
    return x;
}

static int64_t get_int(const struct nifti_view *v, int at, int size)
{
    int unused = 64 - 8 * size;
    return (int64_t)(get_bits(v, at, size) << unused) >> unused;
}

static double get_float(const struct nifti_view *v, int at, int size)
{
    uint64_t wide = get_bits(v, at, size);
    uint32_t narrow = (uint32_t)wide;
    float f;
    double d;
    memcpy(&f, &narrow, sizeof f);
    memcpy(&d, &wide, sizeof d);
    return size == 4 ? (double)f : d;
}

/* Fields of the two versions that are read: offset and bytes of an element. */
static const struct nifti_layout {
    int version, bytes, magic;
    const char *alone, *pair; /* magic of .nii and of .hdr + .img */
    int dim, dim_size, datatype, bits, pixdim, float_size, offset;
} layouts[] = {
    {1, 348, 344, "n+1", "ni1", 40, 2, 70, 72, 76, 4, 108},
    {2, 540, 4, "n+2", "ni2", 16, 8, 12, 14, 104, 8, 168},
};

/* Datatype codes and their bits per voxel. */
static const struct {
    int code, bits;
} types[] = {{1, 1},     {2, 8},      {4, 16},     {8, 32},     {16, 32},  {32, 64},
             {64, 64},   {128, 24},   {256, 8},    {512, 16},   {768, 32}, {1024, 64},
             {1280, 64}, {1536, 128}, {1792, 128}, {2048, 256}, {2304, 32}};

static enum err read_sizes(const char *name, const struct nifti_view *v,
                           const struct nifti_layout *l, struct nifti_header *h)
{
    int64_t dims = get_int(v, l->dim, l->dim_size), voxels = 1;
    FAIL_IF(dims < 1 || dims > 7, ERR_INPUT,
            "%s: its header names %" PRId64 " dimensions; 1 to 7 are known", name, dims);
    h->dims = (int)dims;
    for (int i = 0; i < h->dims; i++) {
        h->shape[i] = get_int(v, l->dim + l->dim_size * (i + 1), l->dim_size);
        h->spacing[i] = get_float(v, l->pixdim + l->float_size * (i + 1), l->float_size);
        FAIL_IF(h->shape[i] < 1 || __builtin_mul_overflow(voxels, h->shape[i], &voxels) ||
                    voxels > INT64_MAX / 32,
                ERR_INPUT, "%s: its header names an impossible size (dimension %d: %" PRId64 ")",
                name, i + 1, h->shape[i]);
    }
    return ERR_OK;
}

static enum err read_offset(const char *name, const struct nifti_view *v,
                            const struct nifti_layout *l, int alone, struct nifti_header *h)
{
    /* An offset is a float in version 1 and an integer in version 2. */
    double offset = l->version == 1 ? get_float(v, l->offset, 4) : (double)get_int(v, l->offset, 8);
    int least = alone ? l->bytes + 4 : 0;
    FAIL_IF(!(offset >= least && offset < 0x1p53), ERR_INPUT,
            "%s: its header puts the voxels at byte %g, where they cannot be", name, offset);
    h->data_offset = (int64_t)offset;
    return ERR_OK;
}

/* A slope of 0, or one that is not a number, means that values are what is stored. Colours are
 * never scaled. */
static void header_set_scale(struct nifti_header *h)
{
    const struct nifti_details *d = &h->details;
    const int scaled = d->slope != 0 && isfinite(d->slope) && isfinite(d->intercept) &&
                       h->datatype != 128 && h->datatype != 2304;
    h->slope = scaled ? d->slope : 1;
    h->intercept = scaled ? d->intercept : 0;
}

/* Analyze has no magic: the length of its header, a datatype that it knows, and the name of a pair. */
static int is_analyze(const char *name, const struct nifti_view *v, const struct nifti_layout *l)
{
    static const int codes[] = {2, 4, 8, 16, 32, 64, 128};
    const int64_t code = get_int(v, l->datatype, 2), dims = get_int(v, l->dim, l->dim_size);
    int known = 0;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        known |= codes[i] == code;
    return l->version == 1 && known && dims >= 1 && dims <= 7 &&
           (text_ends(name, ".hdr") || text_ends(name, ".hdr.gz"));
}

/* The other fields mean something else there. SPM writes a slope, where NIfTI has its own. */
static void keep_analyze(struct nifti_details *d)
{
    struct nifti_details kept = {.slope = d->slope, .units = 2 /* mm */};
    memcpy(kept.pixdim, d->pixdim, sizeof kept.pixdim);
    kept.pixdim[0] = 1;
    kept.cal_max = d->cal_max;
    kept.cal_min = d->cal_min;
    memcpy(kept.description, d->description, sizeof kept.description);
    memcpy(kept.aux_file, d->aux_file, sizeof kept.aux_file);
    *d = kept;
}

enum err nifti_parse(const char *name, const unsigned char *bytes, size_t n, struct nifti_header *h)
{
    *h = (struct nifti_header){0};
    FAIL_IF(n < 4, ERR_INPUT, "%s: is not a NIfTI file", name);
    struct nifti_view v = {bytes, 0};
    const struct nifti_layout *l = NULL;
    for (int i = 0; i < 4 && !l; i++) {
        v.swap = i & 1;
        l = get_int(&v, 0, 4) == layouts[i / 2].bytes ? &layouts[i / 2] : NULL;
    }
    FAIL_IF(!l, ERR_INPUT, "%s: is not a NIfTI file (it begins with neither 348 nor 540)", name);
    FAIL_IF(n < (size_t)l->bytes, ERR_INPUT, "%s: ends within its header", name);
    const int alone = !memcmp(bytes + l->magic, l->alone, 4);
    h->analyze = !alone && memcmp(bytes + l->magic, l->pair, 4) != 0 && is_analyze(name, &v, l);
    FAIL_IF(!alone && !h->analyze && memcmp(bytes + l->magic, l->pair, 4), ERR_INPUT,
            "%s: is not a NIfTI file (\"%s\" is missing at byte %d)", name, l->alone, l->magic);
    h->version = l->version;
    h->big_endian = v.swap;
    h->pair = !alone; /* Analyze too */
    h->extensions = !h->analyze && n > (size_t)l->bytes && bytes[l->bytes] != 0;
    TRY(read_sizes(name, &v, l, h));
    TRY(read_offset(name, &v, l, alone, h));
    h->datatype = (int)get_int(&v, l->datatype, 2);
    h->bits = (int)get_int(&v, l->bits, 2);
    nifti_details_read(bytes, l->version, v.swap, &h->details);
    if (h->analyze)
        keep_analyze(&h->details);
    header_set_scale(h);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == h->datatype && types[i].bits == h->bits)
            return ERR_OK;
    return FAIL(ERR_INPUT, "%s: its header names datatype %d of %d bits, which does not exist",
                name, h->datatype, h->bits);
}

/* Bytes of voxels after the header against the size of an uncompressed single file. */
static enum err check_length(const char *path, const struct nifti_header *h)
{
    struct stat st;
    int64_t bits = h->bits;
    for (int i = 0; i < h->dims; i++)
        FAIL_IF(__builtin_mul_overflow(bits, h->shape[i], &bits), ERR_INPUT,
                "%s: its header names more voxels than any file holds", path);
    int64_t need = h->data_offset + bits / 8 + (bits % 8 != 0);
    FAIL_IF(!stat(path, &st) && S_ISREG(st.st_mode) && st.st_size < need, ERR_INPUT,
            "%s: is cut short: its header names %" PRId64 " bytes, it has %" PRId64, path, need,
            (int64_t)st.st_size);
    return ERR_OK;
}

enum err nifti_read_header(const char *path, struct nifti_header *h)
{
    unsigned char bytes[544] = {0}; /* with the byte that announces extensions */
    *h = (struct nifti_header){0};
    FILE *file;
    TRY(file_open(path, &file)); /* zlib would wait for a pipe's other end */
    fclose(file);
    errno = 0;
    gzFile f = gzopen(path, "rbe"); /* reads plain files as they are */
    FAIL_IF(!f, ERR_INPUT, "%s: cannot read: %s", path, strerror(errno ? errno : ENOMEM));
    int n = gzread(f, bytes, sizeof bytes), plain = gzdirect(f), failed;
    const char *why = gzerror(f, &failed);
    enum err e = ERR_OK;
    if (n < 0)
        e = FAIL(ERR_INPUT, "%s: cannot read: %s", path, failed == Z_ERRNO ? strerror(errno) : why);
    else
        e = nifti_parse(path, bytes, (size_t)n, h);
    gzclose(f);
    return e || !plain || h->pair ? e : check_length(path, h);
}
