#include <math.h>
#include <string.h>

#include "profiler/triage/width.h"

/* Measured: `tomoprof width --scan tests/data/tooth.h5` (docs/triage-width.md).
 * tests/unit/test_width.c tries each row on the phantom again. */
/* clang-format off */
static const struct width_needed rows[] = {
    {"median_filter3d", {8, 0, 0, 0, 0}, {0}, "all", "all", 8},
};
/* clang-format on */
#define ROWS (int)(sizeof rows / sizeof *rows)

const char *width_stage_name(enum width_stage stage)
{
    static const char *const names[WIDTH_STAGES] = {"sample", "coordinate", "coefficient",
                                                    "product", "sum"};
    return names[stage];
}

const struct width_needed *width_needed_at(int i)
{
    return i >= 0 && i < ROWS ? &rows[i] : NULL;
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
