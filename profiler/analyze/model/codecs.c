/* Names of codecs, conversions and copies, as libraries call their functions. */
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/model/codecs.h"

/* Parts of names. */
static const char *const codecs[][2] = {{"libz.", "zlib"},        {"inflate", "zlib"},
                                        {"zlib", "zlib"},         {"zstd", "zstd"},
                                        {"ZSTD_", "zstd"},        {"HUF_", "zstd"},
                                        {"lzma", "lzma"},         {"bz2", "bzip2"},
                                        {"blosc", "blosc"},       {"lz4", "lz4"},
                                        {"LZ4", "lz4"},           {"isal", "ISA-L"},
                                        {"deflate", "deflate"},   {"jpeg", "JPEG"},
                                        {"openjp2", "JPEG 2000"}, {"jxr", "JPEG XR"},
                                        {"JXR", "JPEG XR"},       {"imagecodecs", "imagecodecs"},
                                        {"webp", "WebP"},         {"brotli", "Brotli"},
                                        {"snappy", "Snappy"},     {"crc32_z", "zlib"},
                                        {"adler32", "zlib"},      {"bitshuffle", "bitshuffle"},
                                        {"libjxr", "JPEG XR"},    {"ImageStrDec", "JPEG XR"}};
static const char *const conversions[] = {"astype",   "_cast_",      "convert", "ConvertType",
                                          "byteswap", "strided_to_", "_swap_",  "_to_contig",
                                          "rescale",  "H5T_"};
static const char *const copies[] = {"memcpy",           "memmove",          "__memset",
                                     "raw_array_assign", "PyArray_CopyInto", "array_assign",
                                     "CopyWithOffset",   "H5D__gather",      "H5D__scatter"};
static const char *const reads[] = {"read",
                                    "pread",
                                    "pread64",
                                    "readv",
                                    "preadv",
                                    "recv",
                                    "recvmsg",
                                    "recvfrom",
                                    "__GI___libc_read",
                                    "__GI___libc_pread64",
                                    "__read",
                                    "__GI___read",
                                    "__libc_read",
                                    "__libc_pread64",
                                    "__pread64",
                                    "__libc_recv",
                                    "fread"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static int name_has_any(const char *name, const char *const *parts, size_t n)
{
    for (size_t i = 0; name && i < n; i++)
        if (strstr(name, parts[i]))
            return 1;
    return 0;
}

/* XLA's "broadcast_multiply" and "bitcast_copy" change no type. */
static int name_converts(const char *name)
{
    return name &&
           (name_has_any(name, conversions, COUNT(conversions)) || !strncmp(name, "cast_", 5));
}

static const char *base_of(const struct model_frame *f)
{
    return base_name(f->module);
}

static int is_python(const struct model_frame *f)
{
    return f->kind && !strcmp(f->kind, "python");
}

/* Functions that compress: what a program writes. */
int codec_encodes(const char *name)
{
    int packs =
        name && strstr(name, "ompress") && !strstr(name, "ecompress") && !strstr(name, "ncompress");
    return packs || (name && (!strncmp(name, "deflate", 7) || strstr(name, "longest_match")));
}

const char *codec_of(const char *name)
{
    for (size_t i = 0; name && i < COUNT(codecs); i++)
        if (strstr(name, codecs[i][0]))
            return codecs[i][1];
    return NULL;
}

void codec_modules(const struct model *m, struct codec_modules *out)
{
    out->count = 0;
    for (int i = 0; i < m->frames_count && out->count < CODEC_MODULES; i++) {
        const char *module = base_of(&m->frames[i]), *codec = codec_of(m->frames[i].function);
        int k = 0;
        if (is_python(&m->frames[i]) || !module || !codec || codec_encodes(m->frames[i].function) ||
            strstr(module, "python3") || !strncmp(module, "libc.", 5))
            continue;
        while (k < out->count && strcmp(out->module[k], module))
            k++;
        if (k == out->count) {
            out->module[out->count] = module;
            out->codec[out->count++] = codec;
        }
    }
}

enum frame_work frame_work(const struct model_frame *f, const struct codec_modules *in,
                           const char **codec, int *unnamed)
{
    const char *module = base_of(f);
    *codec = NULL;
    *unnamed = 0;
    if (is_python(f))
        return WORK_OTHER;
    for (size_t i = 0; i < COUNT(reads); i++)
        if (f->function && !strcmp(f->function, reads[i]))
            return WORK_CALL;
    if (codec_encodes(f->function))
        return WORK_ENCODE;
    *codec = codec_of(f->function);
    *codec = *codec ? *codec : codec_of(module);
    for (int i = 0; i < in->count && !*codec && !f->function && module; i++)
        if (!strcmp(in->module[i], module)) {
            *codec = in->codec[i];
            *unnamed = 1;
        }
    if (*codec)
        return WORK_DECODE;
    if (name_has_any(f->function, copies, COUNT(copies)))
        return WORK_PLACE;
    return name_converts(f->function) ? WORK_CONVERT : WORK_OTHER;
}
