/* Work that does not fit into memory at once, in slabs along one axis: how thick they may be, and
 * where each lies. Pure functions of sizes. */
#ifndef TP_RECON_SLABS_SLAB_H
#define TP_RECON_SLABS_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "host/geom/scan.h"

/* Slabs of equal thickness along an axis of `length`; the last one may be thinner. */
struct slabs {
    int64_t length, thickness, count;
};

/* Bytes that are held while slabs of this thickness (>= 1) are worked on; must not shrink as they
 * grow. */
typedef size_t slab_bytes(const void *context, int64_t thickness);

/* As few slabs as fit into `available` bytes, of nearly equal thickness. ERR_MEMORY with both
 * numbers and `where` ("of memory") when the thinnest does not fit. No slab for a length of 0. */
enum err slabs_plan(const char *what, const char *where, int64_t length, slab_bytes *bytes,
                    const void *context, size_t available, struct slabs *out);

/* Results [first, first + count) need [from, from + length) of the input: `halo` more on both
 * sides, cut off at the ends of the axis. */
struct slab {
    int64_t first, count, from, length;
};
struct slab slab_at(const struct slabs *plan, int64_t index, int64_t halo);

/* Parts of a reconstruction problem, as problems of their own, and the parts of its arrays. */

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
