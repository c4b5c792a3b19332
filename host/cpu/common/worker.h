/* A thread uses this to project lists of pixels against tiles. The loops over pixels and views are
 * here; what happens to a batch of pixels is the beam's (cone_worker.h, parallel.h). */
#ifndef TP_CPU_COMMON_WORKER_H
#define TP_CPU_COMMON_WORKER_H

#include "host/cpu/common/projection.h"

/* A tile covers views [view, view + views); for parallel beams also slices [slice, slice + slices),
 * whose first is row 0 of the tile. Cone tiles hold all rows. */
struct tile_region {
    int64_t view, views, slice, slices;
};

struct worker;

/* A beam's part: the worker's batch, whose footprints are known, against `views` <= MAX_VIEWS views
 * from `view` on, the first of the tile. */
struct beam_worker {
    void (*forward)(struct worker *w, struct tile_region at, int64_t view, int views,
                    const float *x, float *tile);
    /* adds to x, or sets it when `set` */
    void (*back)(struct worker *w, struct tile_region at, int64_t view, int views,
                 const float *tile, int set, float *x);
};

struct worker {
    const struct beam_worker *beam;
    const struct projector *projector;
    int power;
    int64_t view_stride; /* tile: floats between views */
    struct footprints footprints[MAX_VIEWS];
    struct pixel_batch batch;
};

/* Floats of scratch per worker for its footprints, to which a beam adds its own. */
size_t worker_floats(const struct projector *p);
void worker_init(struct worker *w, const struct beam_worker *beam, const struct projector *p,
                 float *scratch, int64_t view_stride, int power);

/* Entries [first, end) of a pixel set: adds their projection to the tile, */
void worker_forward(struct worker *w, const struct pixel_set *set, int64_t first, int64_t end,
                    struct tile_region at, const float *x, float *tile);
/* or adds the back projection of the tile to them (sets them first when `overwrite`). */
void worker_back(struct worker *w, const struct pixel_set *set, int64_t first, int64_t end,
                 struct tile_region at, const float *tile, int overwrite, float *x);

#endif
