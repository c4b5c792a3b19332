/* Translation and multi-axis scans: automatic volumes, checks, and what windows.c needs of them. */
#ifndef TP_GEOM_MOVES_H
#define TP_GEOM_MOVES_H

#include "base/err.h"
#include "host/geom/scan.h"

/* Tables of the wrong range, or beside what belongs to another geometry. */
enum err moves_check(const struct scan *s);

/* MBIRJAX's values for what is 0 in *v: voxel pitch, row aspect (translation), sizes. */
void moves_automatic(const struct scan *s, struct volume *v);

/* Translation: smallest and largest shift along the rays. */
void moves_depth(const struct scan *s, double *least, double *most);

/* Makes the tables of an example, on the heap: the object on a square grid of positions, up to
 * `reach` from the middle along x and z, or rays at `elevation`. */
enum err moves_example(struct scan *s, double reach, double elevation);

/* Multi-axis, rows of the detector: between neighbouring slices, and under one voxel, which is
 * wider where its horizontal edges show. */
double moves_rows_per_slice(const struct scan *s, const struct volume *v, int64_t view);
double moves_rows_per_voxel(const struct scan *s, const struct volume *v, int64_t view);

#endif
