/* The command `convert`: an array into another format, checked before it gets its name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/storage/sandbox.h"
#include "host/store/writer/writer.h"

static void print_lost(const char *names)
{
    log_info("Not kept: %s.", names);
}

static struct writer_options request = {.zarr = 3, .lost = print_lost};
static const char *chunk, *codec, *dtype, *order;

static struct opt options[] = {
    OPTION_FLAG("apply-scale", 0, request.scale,
                "apply slope and intercept to the values (default: keep both)"),
    OPTION_TEXT("array", 0, request.array, "NAME", "the array to convert (default: the largest)"),
    OPTION_TEXT("chunk", 0, chunk, "A,B,C",
                "elements of a chunk of Zarr and HDF5 (default: about 1 MiB)"),
    OPTION_TEXT("codec", 0, codec, "raw|zstd[:L]|gzip[:L]|zlib[:L]",
                "compression of Zarr, HDF5 and .nii.gz, with its level\n(default zstd:3 in Zarr, "
                "gzip:3 in HDF5,\ngzip:1 in .nii.gz)"),
    OPTION_TEXT("dtype", 0, dtype, "float32|float64", "convert the numbers (default: as stored)"),
    OPTION_TEXT("order", 0, order, "2,0,1",
                "dimensions of the array, from 0, in the order of OUT\n(default: its own)"),
    CLI_OPT_LINKS,
    OPTION_INT("zarr", 0, request.zarr, "2|3", "version of Zarr (default 3)", 2, 3),
    {0},
};

static enum err parse_order(struct writer_options *o)
{
    int64_t dims[STORE_DIMS];
    FAIL_IF(!storage_numbers(order, 0, STORE_DIMS - 1, dims, &o->order_dims), ERR_USAGE,
            "--order %s: give the dimensions from 0 on, as 2,0,1", order);
    for (int i = 0; i < o->order_dims; i++)
        o->order[i] = (int)dims[i];
    return ERR_OK;
}

static enum err parse_codec(struct writer_options *o)
{
    static const struct {
        const char *name;
        enum codec codec;
        int level, most;
    } rows[] = {
        {"zstd", CODEC_ZSTD, 3, 19}, {"gzip", CODEC_GZIP, 5, 9}, {"zlib", CODEC_ZLIB, 5, 9}};
    if (!codec)
        return ERR_OK;
    o->raw = !strcmp(codec, "raw");
    if (o->raw)
        return ERR_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t n = strlen(rows[i].name);
        char reason[CODEC_REASON];
        char *end = NULL;
        if (strncmp(codec, rows[i].name, n) != 0 || (codec[n] && codec[n] != ':'))
            continue;
        const long level = codec[n] ? strtol(codec + n + 1, &end, 10) : rows[i].level;
        FAIL_IF((codec[n] && (end == codec + n + 1 || *end)) || level < 1 || level > rows[i].most,
                ERR_USAGE, "--codec %s: the level must be between 1 and %d", codec, rows[i].most);
        FAIL_IF(codec_missing(rows[i].codec, reason, sizeof reason), ERR_UNSUPPORTED,
                "--codec %s: %s", codec, reason);
        o->codec = (struct codec_step){.codec = rows[i].codec, .level = (int)level};
        o->has_codec = 1;
        return ERR_OK;
    }
    return FAIL(ERR_USAGE, "--codec %s: must be raw, zstd, gzip or zlib, as zstd:3", codec);
}

static enum err convert_words(char **word)
{
    struct writer_result r;
    const int64_t begin = clock_ns();
    FAIL_IF(!storage_numbers(chunk, 1, INT32_MAX, request.chunk, &request.chunk_dims), ERR_USAGE,
            "--chunk %s: give sizes of at least 1, as 64,64,64", chunk);
    TRY(parse_order(&request));
    TRY(parse_codec(&request));
    if (dtype) {
        FAIL_IF(strcmp(dtype, "float32") && strcmp(dtype, "float64"), ERR_USAGE,
                "--dtype %s: must be float32 or float64", dtype);
        request.type = (struct store_dtype){'f', dtype[5] == '3' ? 4 : 8, 0};
    }
    TRY((text_has_suffix(word[1], ".ome.zarr") ? store_pyramid : store_convert)(word[0], word[1],
                                                                                &request, &r));
    const double s = clock_seconds_since(begin);
    log_info("%s: %.1f MB in %.2f s, %s", word[1], (double)r.bytes / 1e6, s,
             r.references ? "as references"
             : r.encoded  ? "chunks read back as they were encoded, the first and the last decoded"
                          : "read back and equal");
    if (r.levels)
        log_info("OME-Zarr 0.5: %d levels", r.levels);
    return ERR_OK;
}

static enum err run_convert(int words, char **word)
{
    (void)words;
    return storage_sandboxed(convert_words, word, 1, word[1]);
}

const struct command cmd_convert = {
    .name = "convert",
    .summary = "Converts an array into another format without loss.",
    .words = "IN OUT",
    .text = "IN is any file that `load` reads. The end of OUT chooses the format: .npy, .nii, "
            ".nii.gz,\n"
            ".tif (BigTIFF), .h5, .mrc, .nrrd, .mha, .zarr, .ome.zarr (0.5: the array and its "
            "halves),\n"
            "or .json for\n"
            "references (kerchunk), which make IN a Zarr store without copying it. What was "
            "written is\n"
            "read back and compared before OUT appears. What the format cannot hold is listed "
            "before it "
            "is\n"
            "written. Values stay as stored, with their slope and intercept; --apply-scale applies "
            "both.\n\n"
            "Examples:\n"
            "  tomoprof convert tests/data/tooth.h5 tooth.zarr --codec zstd:3\n"
            "  tomoprof convert scan.czi scan.npy\n",
    .options = options,
    .min_words = 2,
    .max_words = 2,
    .flags = CMD_WRITES,
    .run = run_convert,
};
