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
/* clang-format off */
#define FPGA_OPT_DATA(data)                                                                        \
    OPTION_INPUT("scan", 0, (data).scan, "FILE", "a Data Exchange scan, of which one row is used too"), \
    OPTION_NUMBER("center", 0, (data).center, "X", "its rotation axis (default: found)", 0, 65536), \
    OPTION_INT("size", 'n', (data).size, "N", "channels, views and edge of the slice (default 64)", 8, 256)
#define FPGA_OPT_QUALITY(widths)                                                                   \
    OPTION_NUMBER("rmse", 0, (widths).rmse, "X", "largest error over the range (default 1e-3)", 1e-9, 1), \
    OPTION_NUMBER("ssim", 0, (widths).ssim, "X", "smallest similarity (default 0.999)", 0, 1),     \
    OPTION_TEXT("only", 0, (widths).only, "NAME", "one primitive")
#define FPGA_OPT_OUT(widths) \
    OPTION_PLACE("out", 'o', (widths).out, "PREFIX", "of .json and .svg (default width)")
/* clang-format on */

/* Measures how many bits each stage of each primitive needs: a line for each on `lines`, then
 * out.json and out.svg. ERR_USAGE for an unknown `only`. */
enum err fpga_widths_measure(const struct fpga_data *data, const struct fpga_widths *widths,
                             FILE *lines);

/* Writes the folder of the primitive's HLS kernel, its vectors from the scan if given, else from
 * the phantom. ERR_USAGE for a primitive without a kernel. */
enum err fpga_hls_write(const struct fpga_data *data, const char *primitive, const char *folder);

#endif
