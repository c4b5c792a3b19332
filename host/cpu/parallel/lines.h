/* Parallel projection of few slices: a line of pixels is resampled to channels, and back. */
#ifndef TP_CPU_PARALLEL_LINES_H
#define TP_CPU_PARALLEL_LINES_H

#include "host/cpu/common/cell_grid.h"
#include "host/cpu/parallel/parallel.h"

/* Along the axis on which pixels lie farther apart on the detector, the footprints of neighbours
 * touch and do not overlap: a line of pixels and the row of channels are two uniform grids. So a
 * vector takes 16 pixels or channels of one slice, where pixel_blocks.h has 16 slices of one pixel:
 * with few slices, lanes are not left empty. Positions and weights serve all slices. */

#define LINES_SLICES 12 /* from so many slices on pixel_blocks.h is as fast */
#define LINE_PAD     64 /* floats of zeros on either side of cells: a window may start 30 before */

struct line_range {
    int32_t low, high;
};

/* Resamples neighbouring lines. Cells are pixels and intervals channels (forward), or the other way
 * round (back). */
struct line_pass {
    struct cell_grid grid; /* intervals of the first line */
    double step;           /* of the grid's edge, from line to line */
    int64_t lines;
    const struct line_range *pixels; /* [lines] that count */
    int32_t channels;
    int slices;
    const float *source;               /* cell 0 of the first line, */
    int64_t source_line, source_slice; /* and floats between lines, between slices */
    float *out; /* interval 0, added to; up to 15 intervals beyond a range are touched */
    int64_t out_line, out_slice;
    float *fraction; /* scratch: longest row of intervals / 4 + 16 of each */
    int32_t *cell;
};

struct line_kernels {
    int fast; /* 0: pixel_blocks.h is faster with this instruction set */
    void (*forward)(const struct line_pass *t);
    void (*back)(const struct line_pass *t);
};
ISA_TABLES(line_kernels);

/* Returns 1 where lines serve: few slices in the whole volume, so that its parts have the same bits,
 * and pixels neither larger than channels nor much smaller. */
int lines_fit(const struct projector *p, const struct pixel_set *pixels, int power);

/* y = A x, and x = A' (w y), as in backend.h. Pixels listed twice count once: not
 * for such sets. */
enum err lines_forward(struct backend *be, const struct projector *p,
                       const struct pixel_set *pixels, const float *x, struct sinogram y);
enum err lines_back(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                    struct sinogram y, struct sinogram w, float *x);

#endif
