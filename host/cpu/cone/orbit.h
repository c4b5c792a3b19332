/* Orbits of a cone beam's scan: views that are quarter (or half) turns of each other, and pixels
 * that such turns map onto each other. A pixel in a view is as far from the source as the turned
 * pixel in the turned view. So both see the same rows under each slice, and 1/cos(psi) is the same:
 * that is computed once for all members of an orbit, two thirds of the arithmetic of an update.
 * Channels are not shared: float32 angles are quarter turns within 2e-7 only, which moves a pixel
 * on the detector by up to 1e-4 channels, but its rows by 1e-5. */
#ifndef TP_CPU_CONE_ORBIT_H
#define TP_CPU_CONE_ORBIT_H

#include "host/cpu/cone/cone_worker.h"

#define ORBIT_MOST 4 /* members of an orbit */

struct orbits {
    int members; /* views of an orbit: 4 or 2, 0 where the scan or the set of pixels has no orbits */
    int turns;   /* pixels of an orbit, by turns of 360/turns degrees */
    int backward;               /* the angle decreases from member to member */
    int64_t views;              /* orbits of views: member m of orbit v is view v + m * views */
    struct pixel_groups groups; /* of pixels, one for each orbit: at most BATCH in a group */
    struct pixel_set rest;      /* pixels whose orbits are not whole in the set */
    const int32_t *place;       /* of each pixel in packed arrays; NULL: those of the whole image */
    int32_t *indices;
};

/* Finds the orbits of the scan's views; of pixels there are none yet. */
void orbits_of_views(const struct projector *p, struct orbits *out);
/* Writes the place of each pixel of a list, [pixels of the image], and one pixel of each orbit.
 * Returns how many orbits there are, or -1 where not all are whole. */
int64_t orbits_of_list(const struct projector *p, const struct orbits *o, const int32_t *indices,
                       int64_t count, int32_t *place, int32_t *first);

enum err orbits_create(const struct projector *p, const struct pixel_set *pixels,
                       struct orbits *out);
void orbits_free(struct orbits *o);

/* The pixels of a batch after a turn. */
void orbit_turn_batch(const struct projector *p, const struct orbits *o,
                      const struct pixel_batch *from, struct pixel_batch *to);

/* A batch of pixels against views of all members; member m sees pixels[m]. */
struct orbit_block {
    /* `views`: orbits; footprints: [views][members]; reach: [views], of rows and slices that of the
     * first member, taps of all. */
    const struct cone_block *cone;
    const struct pixel_batch *pixels[ORBIT_MOST];
    int members;
    int64_t member_stride; /* tile: floats between members */
};

struct orbit_kernels {
    void (*forward)(const struct orbit_block *b, const float *x, float *tile);
    void (*back)(const struct orbit_block *b, const float *tile, float *x);
};
ISA_TABLES(orbit_kernels);

/* A worker, its pixels in all turns, and what a kernel takes of them. */
struct orbit_worker {
    struct cone_worker cone;
    struct pixel_batch turned[ORBIT_MOST];
    struct orbit_block block;
};

/* Views of an orbit's tile, of each member. */
struct orbit_views {
    int64_t first, count;
};

/* scratch: cone_worker_floats() floats; `views` of each member lie next to each other in a tile. */
void orbit_worker_init(struct orbit_worker *w, const struct projector *p, const struct orbits *o,
                       float *scratch, int64_t ld, int64_t view_stride, int64_t views, int power);
/* Orbits [first, end): adds their projection to the tile, or the tile's back projection to them,
 * which the first views set. */
void orbit_worker_forward(struct orbit_worker *w, const struct orbits *o, int64_t first,
                          int64_t end, struct orbit_views at, const float *x, float *tile);
void orbit_worker_back(struct orbit_worker *w, const struct orbits *o, int64_t first, int64_t end,
                       struct orbit_views at, const float *tile, float *x);

/* y += A x and x = A' (w y) over all of the set but `rest`, as in cone.h. */
enum err orbit_forward(struct backend *be, const struct projector *p, const struct orbits *o,
                       const struct pixel_set *pixels, const float *x, struct sinogram y);
enum err orbit_back(struct backend *be, const struct projector *p, const struct orbits *o,
                    const struct pixel_set *pixels, struct sinogram y, struct sinogram w, int power,
                    float *x);

#endif
