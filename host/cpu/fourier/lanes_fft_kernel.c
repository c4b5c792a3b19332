/* Passes of Stockham's FFT: x[q + s (p + m/r k)] -> y[q + s (r p + j)], m points in s interleaved
 * transforms. No element moves twice, and no order needs to be undone. */
#include "host/cpu/fourier/lanes_fft.h"

/* z (cos + sign i sin); turn = sign LANES_I */
#define TWIDDLED(z, w, turn) ((z) * (w)[0] + turned(z) * ((turn) * (w)[1]))

#define INLINE static inline __attribute__((always_inline))

INLINE void radix2(const lanes *x, int64_t far, lanes *y, int64_t s, const float *w,
                   const lanes *turn)
{
    const lanes b = x[0] - x[far];
    y[0] = x[0] + x[far];
    y[s] = TWIDDLED(b, w, *turn);
}

INLINE void radix3(const lanes *x, int64_t far, lanes *y, int64_t s, const float *w,
                   const lanes *turn)
{
    const float sine = 0.866025403784438647f;
    const lanes a = x[0], sum = x[far] + x[2 * far], apart = x[far] - x[2 * far];
    const lanes middle = a - 0.5f * sum, side = turned(apart) * (*turn * sine);
    const lanes one = middle + side, two = middle - side;
    y[0] = a + sum;
    y[s] = TWIDDLED(one, w, *turn);
    y[2 * s] = TWIDDLED(two, w + 2, *turn);
}

INLINE void radix4(const lanes *x, int64_t far, lanes *y, int64_t s, const float *w,
                   const lanes *turn)
{
    const lanes a = x[0] + x[2 * far], b = x[0] - x[2 * far];
    const lanes c = x[far] + x[3 * far], d = x[far] - x[3 * far];
    const lanes e = turned(d) * *turn;
    const lanes one = b + e, two = a - c, three = b - e;
    y[0] = a + c;
    y[s] = TWIDDLED(one, w, *turn);
    y[2 * s] = TWIDDLED(two, w + 2, *turn);
    y[3 * s] = TWIDDLED(three, w + 4, *turn);
}

INLINE void radix5(const lanes *x, int64_t far, lanes *y, int64_t s, const float *w,
                   const lanes *turn)
{
    const float c1 = 0.309016994374947424f, c2 = -0.809016994374947424f;
    const float s1 = 0.951056516295153572f, s2 = 0.587785252292473129f;
    const lanes a = x[0], b = x[far] + x[4 * far], c = x[2 * far] + x[3 * far];
    const lanes d = x[far] - x[4 * far], e = x[2 * far] - x[3 * far];
    const lanes p = a + c1 * b + c2 * c, q = a + c2 * b + c1 * c;
    const lanes u = s1 * d + s2 * e, v = s2 * d - s1 * e;
    const lanes iu = turned(u) * *turn, iv = turned(v) * *turn;
    const lanes one = p + iu, two = q + iv, three = q - iv, four = p - iu;
    y[0] = a + b + c;
    y[s] = TWIDDLED(one, w, *turn);
    y[2 * s] = TWIDDLED(two, w + 2, *turn);
    y[3 * s] = TWIDDLED(three, w + 4, *turn);
    y[4 * s] = TWIDDLED(four, w + 6, *turn);
}

#define PASS(r)                                                                                    \
    static const float *pass##r(int64_t m, int64_t s, const float *w, const lanes *turn,           \
                                const lanes *x, lanes *y)                                          \
    {                                                                                              \
        const int64_t far = m / (r)*s;                                                             \
        for (int64_t p = 0; p < m / (r); p++, w += 2 * ((r)-1))                                    \
            for (int64_t q = 0; q < s; q++)                                                        \
                radix##r(x + q + s * p, far, y + q + s * (r)*p, s, w, turn);                       \
        return w;                                                                                  \
    }
PASS(2)
PASS(3)
PASS(4)
PASS(5)

static float *lanes_run(const struct lanes_fft *f, int sign, float *a, float *b)
{
    const lanes turn = LANES_I * (float)sign;
    const float *w = f->twiddle;
    lanes *x = (lanes *)a, *y = (lanes *)b;
    int64_t m = f->n, s = 1;
    for (int i = 0; i < f->passes; i++) {
        const int r = f->radix[i];
        w = r == 4   ? pass4(m, s, w, &turn, x, y)
            : r == 2 ? pass2(m, s, w, &turn, x, y)
            : r == 3 ? pass3(m, s, w, &turn, x, y)
                     : pass5(m, s, w, &turn, x, y);
        lanes *other = x;
        x = y;
        y = other;
        m /= r;
        s *= r;
    }
    return (float *)x;
}

const struct lanes_fft_kernels ISA_NAME(lanes_fft_kernels) = {lanes_run};
