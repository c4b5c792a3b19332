/* Partitions of the region of reconstruction into equal pixel subsets. */
#ifndef TP_RECON_PARTITION_H
#define TP_RECON_PARTITION_H

#include <stdint.h>

#include "base/err.h"
#include "host/geom/scan.h"

/* NumPy's legacy global generator (MT19937), so that a seeded reconstruction visits pixels in
 * MBIRJAX's order. */

struct rng {
    uint32_t key[624];
    int position;
};

void rng_seed(struct rng *r, uint32_t seed); /* numpy.random.seed(seed) */
uint32_t rng_interval(struct rng *r,
                      uint32_t max); /* uniform in 0..max, masked rejection; 0 draws nothing */
void rng_shuffle(struct rng *r, int32_t *a,
                 int64_t n); /* numpy.random.permutation's order, in place */

/* `subsets` rows of `length` ascending pixel indices, row after row. The last row may repeat up to
 * subsets*length - P pixels of other rows. Free with partition_free. */
struct partition {
    int64_t subsets, length;
    int32_t *indices;
};

/* MBIRJAX's gen_pixel_partition over `count` pixels (ascending). subsets is lowered to count when
 * larger (0 pixels give 1 empty subset). With one subset 0.7 draws nothing from the generator. */
enum err partition_create(const int32_t *pixels, int64_t count, int64_t subsets, struct rng *r,
                          struct partition *out);
/* Makes the same over the region of reconstruction of `v`. */
enum err partition_create_inside(const struct volume *v, int64_t subsets, struct rng *r,
                                 struct partition *out);
/* MBIRJAX's other two, over the region of reconstruction of `v`: the subset of a pixel is that of
 * its place in a tile that repeats. Subsets are filled up to equal length with pixels of those that
 * follow. grid: a tile of side ceil(sqrt(subsets)), so that there are side^2 subsets, in random
 * order; rows ascend but for the repeats at their ends. blue noise: the tile of partition_tiled.c; where
 * it leaves a subset empty, partition_create. */
enum err partition_create_grid(const struct volume *v, int64_t subsets, struct rng *r,
                               struct partition *out);
enum err partition_create_blue_noise(const struct volume *v, int64_t subsets, struct rng *r,
                                     struct partition *out);
/* Random subsets of whole orbits under quarter turns, of 4 pixels each, for square images of an even
 * side whose region of reconstruction has that symmetry: else partition_create_inside. */
enum err partition_create_turns(const struct volume *v, int64_t subsets, struct rng *r,
                                struct partition *out);
/* Draws one of the first three, by a generator of its own. */
enum partition_method { PARTITION_RANDOM, PARTITION_GRID, PARTITION_BLUE_NOISE, PARTITION_METHODS };
#define PARTITION_NAMES "random|grid|blue_noise"
enum err partition_draw(const struct volume *v, enum partition_method how, int64_t subsets,
                        uint32_t seed, struct partition *out);
void partition_free(struct partition *p);

/* Partitions of the caller's in place of the schedule. */
struct mbir_subsets {
    const struct partition *partitions;
    int64_t count;
    const int32_t *sequence; /* [max_iterations] index of an iteration's partition */
    const int32_t *orders;   /* the order of its subsets, for one iteration after the other */
};

#endif
