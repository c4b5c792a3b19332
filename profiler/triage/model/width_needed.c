/* The table of the bits that each stage needs, as the sweep found them. */
#include <math.h>
#include <string.h>

#include "profiler/triage/model/width_needed.h"

/* Measured: `tomoprof-fpga widths --scan tests/data/tooth.h5` (docs/internals/triage-width.md).
 * tests/unit/fpga/test_width.c tries each row on the phantom again. */
/* clang-format off */
static const struct width_needed rows[] = {
    {"parallel_forward_project", {11, 16, 9, 11, 15}, {0, 1, 0, 0, 1}, "no", "no", 8},
    {"parallel_back_project", {10, 14, 8, 11, 14}, {0, 1, 0, 0, 1}, "all", "no", 8},
    {"parallel_hessian_diagonal", {3, 16, 9, 9, 14}, {0, 1, 0, 0, 1}, "no", "no", 8},
    {"parallel_fbp_filter", {11, 0, 17, 16, 16}, {0, 0, 2, 1, 1}, "all", "no", 10},
    {"cone_forward_project", {11, 15, 10, 11, 15}, {0, 1, 0, 0, 1}, "no", "no", 8},
    {"cone_back_project", {9, 14, 9, 11, 14}, {0, 1, 0, 0, 1}, "all", "no", 8},
    {"cone_hessian_diagonal", {3, 15, 11, 12, 15}, {0, 1, 0, 0, 1}, "no", "no", 8},
    {"cone_fdk_filter", {11, 0, 17, 17, 17}, {0, 0, 2, 1, 1}, "all", "no", 12},
    {"mbir_prior_and_updates", {13, 0, 4, 3, 5}, {0}, "all", "all", 10},
    {"median_filter3d", {11, 0, 0, 0, 0}, {0}, "all", "all", 10},
    {"flat_field_and_log", {12, 0, 15, 3, 15}, {0}, "no", "no", 12},
};
/* clang-format on */
#define ROWS (int)(sizeof rows / sizeof *rows)

const char *width_stage_name(enum width_stage stage)
{
    static const char *const names[WIDTH_STAGES] = {"sample", "coordinate", "coefficient",
                                                    "product", "sum"};
    return names[stage];
}

const struct width_needed *width_needed(const char *primitive)
{
    for (int i = 0; primitive && i < ROWS; i++)
        if (!strcmp(rows[i].primitive, primitive))
            return &rows[i];
    return NULL;
}

int width_bits_at(const struct width_needed *w, enum width_stage stage, double size)
{
    if (!w->bits[stage] || !(size > WIDTH_SIZE))
        return w->bits[stage];
    return w->bits[stage] + w->growth[stage] * (int)ceil(log2(size / WIDTH_SIZE));
}
