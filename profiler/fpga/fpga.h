/* Commands of `tomoprof-fpga`, for its command line and for `tomoprof width`, the older name of two
 * of them. */
#ifndef TP_FPGA_FPGA_H
#define TP_FPGA_FPGA_H

#include <stdint.h>
#include <stdio.h>

#include "base/options.h"
#include "profiler/triage/model/width_needed.h"

/* Data that primitives are simulated on: the phantom, and a row of a scan if given. */
struct fpga_data {
    const char *scan; /* path of a Data Exchange file, NULL: the phantom alone */
    double center;    /* its rotation axis in channels, -1: found */
    int64_t size;     /* channels, views and edge of the slice */
};
#define FPGA_DATA                                                                                  \
    {                                                                                              \
        NULL, -1, WIDTH_SIZE                                                                       \
    }

struct fpga_widths {
    double rmse, ssim; /* the quality to keep */
    const char *only;  /* one primitive, NULL: all */
    const char *out;   /* prefix of .json and .svg */
};
#define FPGA_WIDTHS                                                                                \
    {                                                                                              \
        WIDTH_RMSE, WIDTH_SSIM, NULL, "width"                                                      \
    }

/* Rows of options that set them. */
#define FPGA_OPT_DATA(data)                                                                        \
    {.name = "scan",                                                                               \
     .kind = OPT_INPUT,                                                                            \
     .value = &(data).scan,                                                                        \
     .meta = "FILE",                                                                               \
     .help = "a Data Exchange scan, of which one row is used too"},                                \
        {.name = "center",                                                                         \
         .kind = OPT_NUMBER,                                                                       \
         .value = &(data).center,                                                                  \
         .meta = "X",                                                                              \
         .help = "its rotation axis (default: found)",                                             \
         .max = 65536},                                                                            \
    {                                                                                              \
        .name = "size", .letter = 'n', .kind = OPT_INT, .value = &(data).size, .meta = "N",        \
        .help = "channels, views and edge of the slice (default 64)", .min = 8, .max = 256         \
    }
#define FPGA_OPT_QUALITY(widths)                                                                   \
    {.name = "rmse",                                                                               \
     .kind = OPT_NUMBER,                                                                           \
     .value = &(widths).rmse,                                                                      \
     .meta = "X",                                                                                  \
     .help = "largest error over the range (default 1e-3)",                                        \
     .min = 1e-9,                                                                                  \
     .max = 1},                                                                                    \
        {.name = "ssim",                                                                           \
         .kind = OPT_NUMBER,                                                                       \
         .value = &(widths).ssim,                                                                  \
         .meta = "X",                                                                              \
         .help = "smallest similarity (default 0.999)",                                            \
         .max = 1},                                                                                \
    {                                                                                              \
        .name = "only", .kind = OPT_TEXT, .value = &(widths).only, .meta = "NAME",                 \
        .help = "one primitive"                                                                    \
    }
#define FPGA_OPT_OUT(widths)                                                                       \
    {                                                                                              \
        .name = "out", .letter = 'o', .kind = OPT_PLACE, .value = &(widths).out, .meta = "PREFIX", \
        .help = "of .json and .svg (default width)"                                                \
    }

/* Measures how many bits each stage of each primitive needs: a line for each on `lines`, then
 * out.json and out.svg. ERR_USAGE for an unknown `only`. */
enum err fpga_widths_measure(const struct fpga_data *data, const struct fpga_widths *widths,
                             FILE *lines);

/* Writes the folder of the primitive's HLS kernel, its vectors from the scan if given, else from
 * the phantom. ERR_USAGE for a primitive without a kernel. */
enum err fpga_hls_write(const struct fpga_data *data, const char *primitive, const char *folder);

#endif
