/* Parts of a reconstruction problem, as problems of their own, and the parts of its arrays. */
#ifndef TP_RECON_SLABS_TILE_H
#define TP_RECON_SLABS_TILE_H

#include "host/geom/scan.h"

struct index_range {
    int64_t first, count;
};

/* Some views, detector rows and slices of m, at their places in space: a problem that borrows m's
 * angles. Parallel beams: rows and slices must be the same. */
struct ct_model tile_model(const struct ct_model *m, struct index_range views,
                           struct index_range rows, struct index_range slices);

/* Detector rows under some slices in some views, and slices over some rows: never less than what
 * projections of the region of reconstruction touch. */
struct index_range tile_rows(const struct ct_model *m, struct index_range views,
                             struct index_range slices);
struct index_range tile_slices(const struct ct_model *m, struct index_range views,
                               struct index_range rows);

/* A part of an array in C order. */
struct box {
    int64_t size[3];
    struct index_range part[3];
};
int64_t box_count(const struct box *b);
/* Numbers [first, first + count) of the part, in C order, out of the array or into it. */
void box_pack(const struct box *b, const float *array, int64_t first, int64_t count, float *out);
void box_unpack(const struct box *b, const float *in, int64_t first, int64_t count, float *array);

#endif
