/* The files of tests/data/store and what is in them, for the tests of reading. */
#ifndef TP_TESTS_UNIT_STORE_CASE_H
#define TP_TESTS_UNIT_STORE_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/engine/engine.h"
#include "tests/unit/check.h"

static const int64_t usual[] = {5, 37, 41};

/* Element i (C order) of the files' arrays. */
static inline int64_t value(int64_t i, int bytes)
{
    const int64_t v = (i * i + 3 * i) % 1021;
    return bytes == 1 ? v % 251 : v;
}

struct known {
    const char *file, *array; /* array NULL: the first */
    const char *dtype;
    int whole; /* 0: all but the first 3 x 20 x 24 elements are the fill value 7 */
    const char *library;
};

static const struct known all[] = {
    {"npy/f4.npy", NULL, "float32", 1, NULL},
    {"npy/u2_big.npy", NULL, "uint16", 1, NULL},
    {"npy/i4_fortran.npy", NULL, "int32", 1, NULL},
    {"npy/u2.npz", NULL, "uint16", 1, NULL},
    {"npy/u2_deflate.npz", NULL, "uint16", 1, NULL},
    {"mrc/u2.mrc", NULL, "uint16", 1, NULL},
    {"mrc/f4.mrc", NULL, "float32", 1, NULL},
    {"mrc/i2_big.mrc", NULL, "int16", 1, NULL},
    {"nrrd/i2.nrrd", NULL, "int16", 1, NULL},
    {"nrrd/i2_gzip.nrrd", NULL, "int16", 1, NULL},
    {"nrrd/i2.nhdr", NULL, "int16", 1, NULL},
    {"metaimage/i2.mha", NULL, "int16", 1, NULL},
    {"metaimage/i2_zlib.mha", NULL, "int16", 1, NULL},
    {"metaimage/i2.mhd", NULL, "int16", 1, NULL},
    {"nifti/i2.nii", NULL, "int16", 1, NULL},
    {"nifti/i2.nii.gz", NULL, "int16", 1, NULL},
    {"nifti/i2_bgzf.nii.gz", NULL, "int16", 1, NULL},
    {"nifti/i2_members.nii.gz", NULL, "int16", 1, NULL},
    {"nifti/analyze.hdr", NULL, "int16", 1, NULL},
    {"nifti/f4_v2.nii", NULL, "float32", 1, NULL},
    {"tiff/u2_pages.tif", NULL, "uint16", 1, NULL},
    {"tiff/u2_big.tif", NULL, "uint16", 1, NULL},
    {"tiff/u2_deflate_tiles.tif", NULL, "uint16", 1, NULL},
    {"tiff/u1_lzw.tif", NULL, "uint8", 1, NULL},
    {"tiff/u2_lzw_predict.tif", NULL, "uint16", 1, NULL},
    {"tiff/f4_predict3.tif", NULL, "float32", 1, NULL},
    {"tiff/u1_packbits.tif", NULL, "uint8", 1, NULL},
    {"tiff/u2_zstd.tif", NULL, "uint16", 1, "zstd"},
    {"tiff/u2_12bits.tif", NULL, "uint16", 1, NULL},
    {"tiff/u2_imagej.tif", NULL, "uint16", 1, NULL},
    {"tiff/stack", NULL, "uint16", 1, NULL},
    {"tiff_rare/u2_lzma.tif", NULL, "uint16", 1, "tiff"},
    {"tiff_rare/u2_lzma_tiles.tif", NULL, "uint16", 1, "tiff"},
    {"tiff_rare/f4_lzma_predict.tif", NULL, "float32", 1, "tiff"},
    {"tiff_rare/f4_lerc.tif", NULL, "float32", 1, "tiff"},
    {"tiff_rare/u2_reversed.tif", NULL, "uint16", 1, "tiff"},
    {"tiff_rare/u1_lzw_old.tif", NULL, "uint8", 1, "tiff"},
    {"tiff_rare/u4_24bits.tif", NULL, "uint32", 1, NULL},
    {"tiff_rare/u4_24bits_big.tif", NULL, "uint32", 1, NULL},
    {"dicom/series", NULL, "int16", 1, "dicom"},
    {"dicom/frames.dcm", NULL, "uint16", 1, "dicom"},
    {"dicom/implicit.dcm", NULL, "uint16", 1, "dicom"},
    {"dicom/rle.dcm", NULL, "uint16", 1, "dicom"},
    {"dicom/jpeg2000.dcm", NULL, "uint16", 1, "dicom"},
    {"dicom/jpeg_ls.dcm", NULL, "uint16", 1, "dicom"},
    {"dicom/jpeg_lossless.dcm", NULL, "uint16", 1, "dicom"},
    {"hdf5/kinds.h5", "contiguous", "uint16", 1, "hdf5"},
    {"hdf5/kinds.h5", "gzip", "uint16", 1, "hdf5"},
    {"hdf5/kinds.h5", "lzf", "uint16", 1, "hdf5"},
    {"hdf5/kinds.h5", "big", "uint16", 1, "hdf5"},
    {"hdf5/kinds.h5", "f8", "float64", 1, "hdf5"},
    {"hdf5/kinds.h5", "blosc", "uint16", 1, "hdf5 blosc"},
    {"hdf5/kinds.h5", "lz4", "uint16", 1, "hdf5 lz4"},
    {"hdf5/kinds.h5", "zstd", "uint16", 1, "hdf5 zstd"},
    {"hdf5/kinds.h5", "holes", "uint16", 0, "hdf5"},
    {"hdf5/user_block.h5", "gzip", "uint16", 1, "hdf5"},
    {"hdf5/user_block.h5", "contiguous", "uint16", 1, "hdf5"},
    {"hdf5/scale_offset.h5", "u2", "uint16", 1, "hdf5"},
    {"hdf5/scale_offset.h5", "i4", "int32", 1, "hdf5"},
    {"hdf5/scale_offset.h5", "f4", "float32", 1, "hdf5"},
    {"hdf5/skipped_filter.h5", "data", "uint16", 1, "hdf5"},
    {"hdf5/rare.h5", "bzip2", "uint16", 1, "hdf5 bzip2"},
    {"hdf5/rare.h5", "bzip2_shuffle", "float64", 1, "hdf5 bzip2"},
    {"hdf5/rare.h5", "blosc2", "uint16", 1, "hdf5 frames"},
    {"hdf5/rare.h5", "blosc2_f8", "float64", 1, "hdf5 frames"},
    {"hdf5/filters.h5", "bitshuffle_lz4", "uint16", 1, "hdf5 lz4"},
    {"hdf5/filters.h5", "bitshuffle_zstd", "uint16", 1, "hdf5 zstd"},
    {"hdf5/filters.h5", "bitshuffle", "uint16", 1, "hdf5"},
    {"hdf5/filters.h5", "bitshuffle_f8", "float64", 1, "hdf5 lz4"},
    {"hdf5/filters.h5", "blosc_bits", "uint16", 1, "hdf5 blosc"},
    {"hdf5/filters.h5", "szip_nn", "uint16", 1, "hdf5 szip"},
    {"hdf5/filters.h5", "szip_f8", "float64", 1, "hdf5 szip"},
    {"hdf5/filters.h5", "szip_big", "uint16", 1, "hdf5 szip"},
    {"zarr/zarr2", "raw", "uint16", 1, NULL},
    {"zarr/zarr2", "zlib", "uint16", 1, NULL},
    {"zarr/zarr2", "gzip", "uint16", 1, NULL},
    {"zarr/zarr2", "zstd", "uint16", 1, "zstd"},
    {"zarr/zarr2", "blosc", "uint16", 1, "blosc"},
    {"zarr/zarr2", "lz4", "uint16", 1, "lz4"},
    {"zarr/zarr2", "fortran", "uint16", 1, NULL},
    {"zarr/zarr2", "slash", "uint16", 1, NULL},
    {"zarr/zarr2", "shuffle", "uint16", 1, NULL},
    {"zarr/zarr2", "big", "uint16", 1, NULL},
    {"zarr/zarr2", "holes", "uint16", 0, NULL},
    {"zarr/zarr3", "raw", "uint16", 1, NULL},
    {"zarr/zarr3", "gzip", "uint16", 1, NULL},
    {"zarr/zarr3", "zstd", "uint16", 1, "zstd"},
    {"zarr/zarr3", "zstd_crc", "uint16", 1, "zstd"},
    {"zarr/zarr3", "blosc", "uint16", 1, "blosc"},
    {"zarr/zarr3", "transpose", "uint16", 1, NULL},
    {"zarr/zarr3", "big", "uint16", 1, NULL},
    {"zarr/zarr3", "sharded", "uint16", 1, "zstd"},
    {"zarr/zarr3", "sharded_holes", "uint16", 0, NULL},
    {"zarr/zarr3", "v2keys", "uint16", 1, NULL},
    {"zarr/u2.zarr.zip", NULL, "uint16", 1, NULL},
    {"zarr/ome.zarr", "0", "uint16", 1, NULL},
    {"zarr/ome5.zarr", "0", "uint16", 1, "zstd"},
    {"txrm/u2.txrm", NULL, "uint16", 1, NULL},
    {"hdf5/refs.json", "contiguous", "uint16", 1, NULL},
    {"hdf5/refs.json", "big", "uint16", 1, NULL},
    {"hdf5/refs.json", "f8", "float64", 1, NULL},
    {"hdf5/refs.json", "holes", "uint16", 0, NULL},
};
#define KNOWN (sizeof all / sizeof *all)

static inline int there(const char *libraries)
{
    if (!libraries)
        return 1;
#ifndef TP_HDF5
    if (strstr(libraries, "hdf5"))
        return 0;
#endif
    return (!strstr(libraries, "zstd") || codec_available(CODEC_ZSTD)) &&
           (!strstr(libraries, "blosc") || codec_available(CODEC_BLOSC)) &&
           (!strstr(libraries, "szip") || codec_available(CODEC_SZIP)) &&
           (!strstr(libraries, "bzip2") || codec_available(CODEC_BZIP2)) &&
           (!strstr(libraries, "frames") || codec_available(CODEC_BLOSC2)) &&
           (!strstr(libraries, "tiff") || codec_available(CODEC_LIBTIFF)) &&
           (!strstr(libraries, "dicom") || codec_available(CODEC_DICOM)) &&
           (!strstr(libraries, "lz4") || codec_available(CODEC_LZ4));
}

static inline void open_known(const struct known *k, struct store **s, struct store_array **a)
{
    char path[512], dtype[16];
    snprintf(path, sizeof path, "%s/store/%s", TP_DATA, k->file);
    assert_ok(store_open(path, s));
    assert_ok(store_find(*s, k->array, a));
    store_dtype_name((*a)->dtype, dtype);
    assert_string_equal(dtype, k->dtype);
    assert_int_equal((*a)->dims, 3);
    assert_memory_equal((*a)->shape, usual, sizeof usual);
}

static inline double wanted(const struct known *k, const struct store_array *a, int64_t z,
                            int64_t y, int64_t x)
{
    if (!k->whole && (z >= 3 || y >= 20 || x >= 24))
        return 7;
    return (double)value((z * usual[1] + y) * usual[2] + x, a->dtype.bytes);
}

/* Counts wrong elements of the box, in float64. */
static inline int64_t wrong(const struct known *k, const struct store_array *a,
                            const struct engine_box *b, const double *x)
{
    int64_t bad = 0, i = 0;
    for (int64_t z = 0; z < b->count[0]; z++)
        for (int64_t y = 0; y < b->count[1]; y++)
            for (int64_t c = 0; c < b->count[2]; c++, i++)
                bad += x[i] != wanted(k, a, b->start[0] + z, b->start[1] + y, b->start[2] + c);
    return bad;
}

static const struct store_dtype f8 = {'f', 8, 0};

static inline void check_box(const struct known *k, struct store *s, struct store_array *a,
                             const struct engine_box *b, const struct engine_options *o)
{
    struct engine_plan *p;
    struct engine_result r;
    const size_t bytes = (size_t)(b->count[0] * b->count[1] * b->count[2]) * sizeof(double);
    double *x = NULL;
    assert_ok(engine_shared(bytes, (void **)&x));
    memset(x, 0xab, bytes);
    assert_ok(engine_plan(s, a, b, o, &p));
    assert_ok(engine_run(p, f8, x, NULL, NULL, &r));
    const int64_t bad = wrong(k, a, b, x);
    if (bad)
        fail_msg("%s %s: %lld of %lld values are wrong", k->file, a->name, (long long)bad,
                 (long long)(bytes / sizeof(double)));
    assert_int_equal(r.tasks_done, engine_facts(p)->tasks);
    engine_plan_free(p);
    engine_unshare(x, bytes);
}

static inline void open_named(const char *file, const char *array, struct store **s,
                              struct store_array **a)
{
    const struct known *k = all;
    while (strcmp(k->file, file) || (array && strcmp(k->array, array)))
        k++;
    open_known(k, s, a);
}

#endif
