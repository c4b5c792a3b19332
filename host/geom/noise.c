/* Reproducible Gaussian noise: xoshiro256** and Box-Muller, the same numbers on every machine. */
#include <math.h>

#include "host/geom/phantom.h"

/* xoshiro256** (Blackman and Vigna, 2018), its state filled by splitmix64. */
struct xoshiro {
    uint64_t s[4];
};

static uint64_t bits_rotate(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

static struct xoshiro xoshiro_seed(uint64_t seed)
{
    struct xoshiro r;
    for (int i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15u;
        uint64_t z = seed;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        r.s[i] = z ^ z >> 31;
    }
    return r;
}

static uint64_t xoshiro_next(struct xoshiro *r)
{
    uint64_t *s = r->s, result = bits_rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = bits_rotate(s[3], 45);
    return result;
}

/* Uniform in (0, 1]: never 0, of which the logarithm is taken. */
static double noise_uniform(struct xoshiro *r)
{
    return (double)((xoshiro_next(r) >> 11) + 1) * 0x1p-53;
}

void noise_add(float *y, int64_t n, double relative, uint64_t seed)
{
    float largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(y[i]));
    double sigma = relative * (double)largest;
    struct xoshiro r = xoshiro_seed(seed);
    for (int64_t i = 0; i < n; i += 2) { /* Box-Muller makes two at a time */
        double radius = sigma * sqrt(-2 * log(noise_uniform(&r))),
               phase = 2 * M_PI * noise_uniform(&r);
        y[i] = (float)((double)y[i] + radius * cos(phase));
        if (i + 1 < n)
            y[i + 1] = (float)((double)y[i + 1] + radius * sin(phase));
    }
}
