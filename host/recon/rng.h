/* NumPy's legacy global generator (MT19937), so that a seeded reconstruction visits pixels in
 * MBIRJAX's order. */
#ifndef TP_RECON_RNG_H
#define TP_RECON_RNG_H

#include <stdint.h>

struct rng {
    uint32_t key[624];
    int position;
};

void rng_seed(struct rng *r, uint32_t seed); /* numpy.random.seed(seed) */
uint32_t rng_interval(struct rng *r,
                      uint32_t max); /* uniform in 0..max, masked rejection; 0 draws nothing */
void rng_shuffle(struct rng *r, int32_t *a,
                 int64_t n); /* numpy.random.permutation's order, in place */

#endif
