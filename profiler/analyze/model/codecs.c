/* Names of codecs, conversions and copies, as libraries call their functions. */
#include <string.h>

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
static const char *const conversions[] = {"astype",   "_cast_",      "cast_",     "convert",
                                          "byteswap", "strided_to_", "_swap_",    "ConvertType",
                                          "rescale",  "H5T_",        "_to_contig"};
static const char *const copies[] = {"memcpy",           "memmove",          "__memset",
                                     "raw_array_assign", "PyArray_CopyInto", "array_assign",
                                     "CopyWithOffset",   "H5D__gather",      "H5D__scatter"};
static const char *const reads[] = {"read",      "pread",       "pread64",     "readv",
                                    "preadv",    "recv",        "recvmsg",     "recvfrom",
                                    "__read",    "__GI___read", "__libc_read", "__libc_pread64",
                                    "__pread64", "__libc_recv", "fread"};

static int any(const char *name, const char *const *parts, size_t n)
{
    for (size_t i = 0; name && i < n; i++)
        if (strstr(name, parts[i]))
            return 1;
    return 0;
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum frame_work frame_work(const struct model_frame *f, const char **codec)
{
    const char *module = f->module ? strrchr(f->module, '/') : NULL;
    module = module ? module + 1 : f->module;
    *codec = NULL;
    if (f->kind && !strcmp(f->kind, "python"))
        return WORK_OTHER;
    for (size_t i = 0; i < COUNT(reads); i++)
        if (f->function && !strcmp(f->function, reads[i]))
            return WORK_CALL;
    for (size_t i = 0; i < COUNT(codecs); i++)
        if ((f->function && strstr(f->function, codecs[i][0])) ||
            (module && strstr(module, codecs[i][0]))) {
            *codec = codecs[i][1];
            return WORK_DECODE;
        }
    if (any(f->function, copies, COUNT(copies)))
        return WORK_PLACE;
    return any(f->function, conversions, COUNT(conversions)) ? WORK_CONVERT : WORK_OTHER;
}
