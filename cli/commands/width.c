/* Hidden: the older name of `tomoprof-fpga widths`, and with --hls of `tomoprof-fpga hls`. */
#include "cli/cli.h"
#include "profiler/fpga/fpga.h"
#include "profiler/fpga/width/width_case.h"

static struct fpga_data data = FPGA_DATA;
static struct fpga_widths widths = FPGA_WIDTHS;
static const char *hls;

static struct opt options[] = {
    FPGA_OPT_DATA(data),
    FPGA_OPT_QUALITY(widths),
    {.name = "hls",
     .kind = OPT_PLACE,
     .value = &hls,
     .meta = "FOLDER",
     .help = "no sweep: write the C++ kernel of --only with its widths there"},
    FPGA_OPT_OUT(widths),
    {0},
};

static enum err run_width(int words, char **word)
{
    (void)words, (void)word;
    if (!hls)
        return fpga_widths_measure(&data, &widths, stdout);
    FAIL_IF(!widths.only, ERR_USAGE, "--hls needs --only NAME, the primitive");
    FAIL_IF(!width_primitive_named(widths.only), ERR_USAGE,
            "--only %s: no such primitive; docs/internals/triage-width.md lists them", widths.only);
    return fpga_hls_write(&data, widths.only, hls);
}

const struct command cmd_width = {
    .name = "width",
    .summary =
        "Measures how many bits each stage of a primitive needs; writes its kernel for an FPGA.",
    .words = "",
    .text = "The older name of `tomoprof-fpga widths` and, with --hls, of `tomoprof-fpga hls`.\n\n"
            "Simulates each primitive with rounded stages against itself in float64, on the "
            "two-ellipsoid\n"
            "phantom and on a scan. A line for each: bits of sample, coordinate, coefficient, "
            "product and\n"
            "sum, error and similarity for each data set, small formats that keep the quality (*: "
            "sums in\n"
            "float32). PREFIX.json and PREFIX.svg hold the curves.\n\n"
            "Example: tomoprof width --scan tests/data/tooth.h5\n",
    .options = options,
    .flags = CMD_HIDDEN,
    .run = run_width,
};
