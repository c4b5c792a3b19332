/* A dither mask of blue noise. */
#ifndef TP_RECON_BLUE_NOISE_H
#define TP_RECON_BLUE_NOISE_H

#include <stdint.h>

#define BLUE_NOISE_EDGE 64
#define BLUE_NOISE_SIZE (BLUE_NOISE_EDGE * BLUE_NOISE_EDGE)

/* Ranks 0..BLUE_NOISE_SIZE-1 of the places of a square tile that repeats, such that the places
 * below any rank lie evenly spread. Made once, the same on every machine. */
const int32_t *blue_noise_ranks(void);

#endif
