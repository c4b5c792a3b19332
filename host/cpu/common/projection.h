/* Projections on the CPU: what project.c, parallel.c, cone.c and their kernels share.
 *
 * Work is done on tiles: a block of views, detector rows fastest, with `taps` guard columns on
 * either side, so that no tap needs a bounds test: tile[(view*columns + taps + channel)*ld + row].
 * In a pixel's footprint, `start` is the first of `taps` consecutive tile columns (guards included)
 * and weight[0..taps) their entries of A; a footprint that misses the detector starts in a guard.
 */
#ifndef TP_CPU_COMMON_PROJECTION_H
#define TP_CPU_COMMON_PROJECTION_H

#include "host/backend/backend.h"
#include "host/cpu/common/isa.h"
#include "host/geom/windows.h"

#define BATCH     64 /* pixels whose footprints are computed together */
#define MAX_VIEWS 8  /* views of a block: their columns under 8 x 8 pixels fit L1 */

struct view_geometry {
    double cos, sin; /* of the float32 angle, in float64 */
    double z_shift;
    double x, y;    /* translation: the object's shift */
    double upright; /* multi-axis: cosine of the elevation, else 1 */
    double rise;    /* rows that a step along the rays moves a voxel up */
    double stretch; /* of path lengths: rows of a slice at elevation 0 / rows under a voxel */
    double spread;  /* rows under a voxel beyond those of its slice, on either side */
};

/* How 1/cos(psi) of a voxel is found from q = (v/D)^2: a square root, or a polynomial. */
enum cosine_form { COSINE_EXACT, COSINE_CUBIC, COSINE_QUADRATIC };

struct projector {
    struct scan scan; /* angles, z_shifts and moves not kept: see views */
    struct volume volume;
    struct view_geometry *views;
    double magnification;
    struct tap_windows windows;
    int taps;        /* channels that a footprint can touch */
    int64_t columns; /* scan.channels + 2*taps */

    double shadow_row; /* row pitch as footprints know it: 0 for translation scans */

    /* cone: vertical fan, rows = (edge of slice 0) + width * slice; width = g * delta_slice /
     * delta_row */
    enum cosine_form cosine;
    double cos_poly[4]; /* sqrt(1 + q) ~ sum cos_poly[i] q^i, relative error < 3e-8 */
    float *z_squared;   /* [views or 1][slices padded], (z - shift)^2 */
    int64_t z_stride;   /* 0 when one table serves every view */
};

/* Centre coordinates of a batch of pixels before rotation (ALU), and where their cylinders start.
 */
struct pixel_batch {
    int n;
    double x[BATCH], y[BATCH];
    int64_t cylinder[BATCH]; /* offset of slice 0 in the volume or packed array, floats */
};

/* Footprints of a batch in one view. The last three for cone beams only. */
struct footprints {
    int32_t start[BATCH];
    float *weight;      /* [taps][BATCH] */
    double edge[BATCH]; /* row coordinate of the lower edge of slice 0, cells centred at integers */
    double width[BATCH]; /* rows per slice */
    double slices_per_row[BATCH];
    double slope[BATCH];                 /* g/D: tan of the fan angle = slope * z */
    double spread;                       /* of view_geometry */
    float breadth[BATCH], height[BATCH]; /* channels under a pixel; weight of a whole channel */
};

struct footprint_kernels {
    /* power 1 or 2: entries of A, or their squares */
    void (*compute)(const struct projector *p, int64_t view, const struct pixel_batch *b, int power,
                    struct footprints *out);
    /* Start and weight alone, where pixels and view are those of `like` turned, but for the rounding
     * of angles: breadth and height are the same. For cones with a flat detector. */
    void (*turned)(const struct projector *p, int64_t view, const struct pixel_batch *b, int power,
                   const struct footprints *like, struct footprints *out);
};
ISA_TABLES(footprint_kernels);

/* A pixel set cut into groups that share detector columns: rectangles of the image where the order
 * of pixels is free (volume arrays), else runs of the list. Group g holds entries [first[g],
 * first[g + 1]) of `set`. */
struct pixel_groups {
    struct pixel_set set;
    int64_t count, *first;
    int32_t *indices; /* owned, NULL when the set's own order is kept */
};
enum err pixel_groups_create(const struct projector *p, const struct pixel_set *pixels,
                             int64_t rows, int64_t cols, struct pixel_groups *out);
void pixel_groups_free(struct pixel_groups *g);

/* Entries [first, first + BATCH) of the set, up to `end`. */
void batch_fill(const struct projector *p, const struct pixel_set *pixels, int64_t first,
                int64_t end, struct pixel_batch *b);

/* Floats of scratch that a projection may take: 1/10 of volume and sinogram (if it has one), at
 * least 4 MiB. */
int64_t scratch_floats(const struct projector *p, const struct pixel_set *pixels, int sinogram);

/* Tiles. `rows` may be a range of detector rows [row0, row0 + rows). */
struct tile_kernels {
    /* tile column c (0..channels) row r = source[r*channels + c]; rows beyond, up to ld, become 0
     */
    void (*load)(const float *y, const float *w, int64_t channels, int64_t rows, float *tile,
                 int64_t ld);
    void (*store)(const float *tile, int64_t ld, int64_t channels, int64_t rows, float *y);
};
ISA_TABLES(tile_kernels);

/* Fills a tile (columns x ld) of `view`, guards 0, from rows [row0, row0 + rows) of w*y; NULLs are
 * ones. */
void tile_load(const struct projector *p, struct sinogram y, struct sinogram w, int64_t view,
               int64_t row0, int64_t rows, float *tile, int64_t ld);
void tile_store(const struct projector *p, const float *tile, int64_t ld, int64_t view,
                int64_t row0, int64_t rows, struct sinogram y);

#endif
